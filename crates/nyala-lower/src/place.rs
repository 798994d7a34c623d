//! Places: what can be read, assigned and pointed at.

use nyala_ir::{Def, Ty, TyKind};
use nyala_sema::tree::{Expr, ExprKind, LocalId, StaticId};
use nyala_sema::types as sema;

use crate::instance::Binding;
use crate::lowerer::Lowerer;
use crate::vectors;

/// A place, with the indices of the part that is meant.
///
/// Behind a pointer, the path is empty as long as parts have addresses, which
/// is all the way down to the lanes of a simd value.
#[derive(Clone)]
pub(crate) struct Place {
    root: Root,
    path: Vec<Def>,
    /// The index of a lane of the vector that is there, and the type of the lane.
    lane: Option<(Def, Ty)>,
}

/// What a place is part of.
#[derive(Clone, Copy)]
enum Root {
    /// A variable whose value is in the frame.
    Var(LocalId),
    /// Memory.
    Ptr(Def),
    /// A value without a place of its own.
    Value(Def),
    /// A value that never changes, and its address.
    Stored { value: Def, ptr: Def },
    /// An immutable static with its value, which has an address if need be.
    Static(StaticId, Def),
    /// A constant with its value, which has an address if need be.
    Constant(Def),
}

impl<'p> Lowerer<'p> {
    /// Evaluates what a place consists of: pointers and indices, left to right.
    pub(crate) fn place(&mut self, expr: &'p Expr) -> Option<Place> {
        let root = match &expr.kind {
            ExprKind::Local(local) => self.local_root(expr, *local),
            ExprKind::Static(id) => self.static_root(*id),
            ExprKind::Deref(ptr) => Root::Ptr(self.value(ptr)?),
            ExprKind::Str(text) => Root::Constant(self.string(text)),
            ExprKind::Field { base, index } => return self.field_place(expr, base, *index),
            ExprKind::Index { base, index } => return self.index_place(expr, base, index),
            _ => Root::Value(self.value(expr)?),
        };
        Some(Place { root, path: vec![], lane: None })
    }

    fn local_root(&mut self, expr: &Expr, local: LocalId) -> Root {
        match self.binding(local).expect("variables are bound before they are used") {
            Binding::Value(value) => Root::Value(value),
            Binding::Var => Root::Var(local),
            Binding::Slot(ptr) => Root::Ptr(ptr),
            Binding::Stored { value, slot } => Root::Stored { value, ptr: slot },
            Binding::Return(ret) => {
                let ty = self.ty(expr.ty);
                Root::Value(self.adapt(ret, ty))
            }
            Binding::Jump(_) => unreachable!("a jump that is used as a value is a block"),
        }
    }

    fn static_root(&mut self, id: StaticId) -> Root {
        match self.static_value(id) {
            Some(value) => Root::Static(id, value),
            None => Root::Ptr(self.static_address(id)),
        }
    }

    fn field_place(&mut self, expr: &'p Expr, base: &'p Expr, index: u32) -> Option<Place> {
        let place = self.place(base)?;
        self.at(expr.span);
        let index = self.world.lit_u32(index);
        Some(self.part_of(place, index))
    }

    fn index_place(&mut self, expr: &'p Expr, base: &'p Expr, index: &'p Expr) -> Option<Place> {
        let place = self.place(base)?;
        let index = self.value(index)?;
        self.at(expr.span);
        // The vector of a parameter may be the array or tuple of vectors in an instance.
        let &sema::TyKind::Simd(_, lanes) = self.types.kind(base.ty) else {
            return Some(self.part_of(place, index));
        };
        let lanes = self.close_ty(lanes);
        let (vector, elem) = (self.ty(base.ty), self.ty(expr.ty));
        Some(match self.world.types.kind(vector) {
            // One lane is the lane itself.
            _ if self.types.as_number(lanes) == Some(1) || vector == elem => place,
            TyKind::Simd { .. } => self.part_of(place, index),
            _ => Place { lane: Some((index, elem)), ..place },
        })
    }

    /// Part `index` of a lane of a vector of structs: the lane of that part.
    fn part_of_lane(&mut self, place: Place, (lane, ty): (Def, Ty), index: Def) -> Place {
        let number = self.world.as_lit(index).unwrap_or(0);
        let ty = self.world.types.part(ty, number).expect("a part of a struct, tuple or array");
        let vector = self.part_of(Place { lane: None, ..place }, index);
        match self.place_ty(&vector) == ty {
            true => vector,
            false => Place { lane: Some((lane, ty)), ..vector },
        }
    }

    /// The type of what a place is, without the lane.
    fn place_ty(&mut self, place: &Place) -> Ty {
        let root = match place.root {
            Root::Ptr(ptr) => self.world.types.as_ptr(self.world.ty(ptr)).expect("an address is a pointer").0,
            root => {
                let value = self.read_root(root);
                self.world.ty(value)
            }
        };
        place.path.iter().fold(root, |ty, &index| {
            let number = self.world.as_lit(index).unwrap_or(0);
            self.world.types.part(ty, number).expect("a path leads to parts")
        })
    }

    /// Part `index` of a place.
    pub(crate) fn part_of(&mut self, mut place: Place, index: Def) -> Place {
        if let Some(lane) = place.lane {
            return self.part_of_lane(place, lane, index);
        }
        // An unknown element is read from memory, if it is there, rather than from a large value.
        let is_in_memory = matches!(place.root, Root::Stored { .. }) || self.is_constant_place(&place);
        if self.world.as_lit(index).is_none() && is_in_memory {
            place = Place { root: Root::Ptr(self.address(&place)), path: vec![], lane: None };
        }
        match place.root {
            Root::Ptr(ptr) if place.path.is_empty() && !self.points_to_simd(ptr) => {
                Place { root: Root::Ptr(self.world.lea(ptr, index)), path: vec![], lane: None }
            }
            _ => {
                place.path.push(index);
                place
            }
        }
    }

    fn is_constant_place(&self, place: &Place) -> bool {
        match place.root {
            Root::Static(..) | Root::Constant(_) => true,
            Root::Value(value) => self.is_constant_data(value),
            Root::Var(_) | Root::Ptr(_) | Root::Stored { .. } => false,
        }
    }

    fn points_to_simd(&self, ptr: Def) -> bool {
        let types = &self.world.types;
        types.as_ptr(self.world.ty(ptr)).is_some_and(|(to, _)| matches!(types.kind(to), TyKind::Simd { .. }))
    }

    /// The value at a place.
    pub(crate) fn read(&mut self, place: &Place) -> Def {
        if let (Root::Ptr(ptr), Some((lane, ty)), []) = (place.root, place.lane, &place.path[..]) {
            return self.load_lane(ptr, lane, ty);
        }
        let root = self.read_root(place.root);
        let value = place.path.iter().fold(root, |value, &index| {
            let part = self.world.extract(value, index);
            self.demanded(part)
        });
        match place.lane {
            Some((lane, ty)) => {
                let lane = vectors::lane(&mut self.world, value, lane, ty);
                self.demanded(lane)
            }
            None => value,
        }
    }

    fn read_root(&mut self, root: Root) -> Def {
        match root {
            Root::Var(local) => self.frame.var(local).expect("a variable has a value where it is in scope"),
            Root::Ptr(ptr) => self.load(ptr),
            Root::Value(value)
            | Root::Stored { value, .. }
            | Root::Static(_, value)
            | Root::Constant(value) => value,
        }
    }

    /// Assigns to a place.
    pub(crate) fn write(&mut self, place: &Place, value: Def) {
        if let Some((lane, _)) = place.lane {
            return self.write_lane(place, lane, value);
        }
        // Other lanes of `vectorize` may write other elements of a vector at the same time.
        if let (Root::Ptr(ptr), &[index]) = (place.root, &place.path[..])
            && self.world.as_lit(index).is_none()
        {
            let address = self.lane_address(ptr, &[index]);
            return self.store(address, value);
        }
        let value = match &place.path[..] {
            [] => value,
            path => {
                let root = self.read_root(place.root);
                self.with_part(root, path, value)
            }
        };
        match place.root {
            Root::Var(local) => {
                self.name_after(local, value);
                self.frame.set_var(local, value);
            }
            Root::Ptr(ptr) => {
                // The variable may turn out to need no memory.
                if let Some(name) = self.world.name(ptr) {
                    self.name_value(name, value);
                }
                self.store(ptr, value);
            }
            // Checking rejects assignments to these.
            Root::Value(_) | Root::Stored { .. } | Root::Static(..) | Root::Constant(_) => {}
        }
    }

    /// Assigns to a lane of a vector. In memory, only that lane is written: other lanes may be written at the same
    /// time.
    fn write_lane(&mut self, place: &Place, lane: Def, value: Def) {
        let vector = Place { lane: None, ..place.clone() };
        match vector.root {
            Root::Ptr(ptr) if vector.path.is_empty() => self.store_lane(ptr, lane, value),
            _ => {
                let old = self.read(&vector);
                let new = vectors::with_lane(&mut self.world, old, lane, value);
                let new = self.demanded(new);
                self.write(&vector, new);
            }
        }
    }

    /// Loads a lane of the vector at `ptr`, part by part.
    fn load_lane(&mut self, ptr: Def, lane: Def, ty: Ty) -> Def {
        let types = &self.world.types;
        let (vector, _) = types.as_ptr(self.world.ty(ptr)).expect("an address is a pointer");
        if vector == ty {
            return self.load(ptr);
        }
        if !vectors::has_parts(&self.world, ty) {
            let address = self.lane_address(ptr, &[lane]);
            return self.load(address);
        }
        let mut parts = vec![];
        for part in 0..types.part_count(ty).unwrap_or(0) {
            let ty = self.world.types.part(ty, part).expect("a part within the count");
            let index = self.world.lit_u32(part as u32);
            let address = self.world.lea(ptr, index);
            parts.push(self.load_lane(address, lane, ty));
        }
        self.world.aggregate(ty, &parts)
    }

    /// Stores a lane of the vector at `ptr`, part by part.
    fn store_lane(&mut self, ptr: Def, lane: Def, value: Def) {
        let types = &self.world.types;
        let (vector, _) = types.as_ptr(self.world.ty(ptr)).expect("an address is a pointer");
        let ty = self.world.ty(value);
        if vector == ty {
            return self.store(ptr, value);
        }
        if !vectors::has_parts(&self.world, ty) {
            let address = self.lane_address(ptr, &[lane]);
            return self.store(address, value);
        }
        for part in 0..types.part_count(ty).unwrap_or(0) as u32 {
            let index = self.world.lit_u32(part);
            let (address, value) = (self.world.lea(ptr, index), self.world.extract(value, index));
            self.store_lane(address, lane, value);
        }
    }

    /// `whole` with the part at `path` replaced.
    fn with_part(&mut self, whole: Def, path: &[Def], part: Def) -> Def {
        let mut around = vec![whole];
        for &index in &path[..path.len() - 1] {
            let inner = around[around.len() - 1];
            around.push(self.world.extract(inner, index));
        }
        let levels = around.into_iter().zip(path).rev();
        levels.fold(part, |part, (whole, &index)| {
            let whole = self.world.insert(whole, index, part);
            self.demanded(whole)
        })
    }

    /// The address of a place; a value is stored for it first, and a constant one
    /// becomes a global.
    pub(crate) fn address(&mut self, place: &Place) -> Def {
        if let Some((lane, ty)) = place.lane {
            return self.address_of_lane(place, lane, ty);
        }
        match place.root {
            Root::Ptr(ptr) => self.lane_address(ptr, &place.path),
            Root::Stored { ptr, .. } => self.part_address(ptr, &place.path),
            Root::Static(id, _) => {
                let ptr = self.static_address(id);
                self.part_address(ptr, &place.path)
            }
            Root::Constant(value) => {
                let ptr = self.world.constant(value);
                self.part_address(ptr, &place.path)
            }
            Root::Var(_) | Root::Value(_) => {
                let value = self.read(place);
                if self.is_constant_data(value) {
                    return self.world.constant(value);
                }
                let ty = self.world.ty(value);
                self.slot(ty, Some(value))
            }
        }
    }

    /// The address of a lane; that of a struct, whose parts are apart, is the address of a copy.
    fn address_of_lane(&mut self, place: &Place, lane: Def, ty: Ty) -> Def {
        let vector = Place { lane: None, ..place.clone() };
        if vectors::has_parts(&self.world, ty) {
            let value = self.read(place);
            return self.slot(ty, Some(value));
        }
        let address = self.address(&vector);
        self.lane_address(address, &[lane])
    }

    fn part_address(&mut self, ptr: Def, path: &[Def]) -> Def {
        path.iter().fold(ptr, |ptr, &index| self.lane_address(ptr, &[index]))
    }

    /// The address of a lane: lanes lie in memory like elements of an array.
    fn lane_address(&mut self, ptr: Def, path: &[Def]) -> Def {
        let &[index] = path else { return ptr };
        let (pointee, space) = self.world.types.as_ptr(self.world.ty(ptr)).expect("an address is a pointer");
        let ptr = match *self.world.types.kind(pointee) {
            TyKind::Simd { elem, lanes } => {
                let array = self.world.types.array(elem, u64::from(lanes));
                let ty = self.world.types.ptr(array, space);
                self.world.bitcast(ty, ptr)
            }
            _ => ptr,
        };
        self.world.lea(ptr, index)
    }

    // ---- Memory ------------------------------------------------------------------

    /// A fresh variable in memory.
    pub(crate) fn slot(&mut self, ty: Ty, value: Option<Def>) -> Def {
        let (mem, ptr) = self.world.slot(self.frame.mem, ty);
        self.frame.mem = mem;
        if let Some(value) = value {
            self.store(ptr, value);
        }
        ptr
    }

    /// Reads memory.
    pub(crate) fn load(&mut self, ptr: Def) -> Def {
        let (mem, value) = self.world.load(self.frame.mem, ptr);
        self.frame.mem = mem;
        value
    }

    /// Writes memory.
    pub(crate) fn store(&mut self, ptr: Def, value: Def) {
        self.frame.mem = self.world.store(self.frame.mem, ptr, value);
    }
}
