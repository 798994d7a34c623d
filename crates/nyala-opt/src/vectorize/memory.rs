//! Side effects, for all lanes.
//!
//! Contiguous accesses become one vector load or store; varying addresses become gathers and scatters.
//! A uniform address is accessed once; a store writes the value of the last active lane. A variable of
//! the function becomes an array with one element per lane; a private variable has the vector form of
//! its type.

use nyala_ir::layout::enum_layout;
use nyala_ir::{
    ArithFlags, ArithOp, CmpOp, Def, EnumId, LaneOp, MathOp, Node, Prim, Reduction, Ty, TyKind, World,
};

use super::Refusal;
use super::emit::{Emitter, Rep, Var, value_ty};
use super::lanewise;
use super::runs::{self, Groups};
use super::shapes::{Shape, Wraps};

/// The largest number of lanes that a ballot has.
pub(super) const MAX_BALLOT: u32 = 64;

/// The largest number of scalars of an aggregate that is accessed with varying addresses.
const MAX_SCALARS: usize = 64;

impl Emitter<'_> {
    /// Writes a side effect of a block.
    pub fn effect(&mut self, def: Def, block: usize) -> Result<(), Refusal> {
        match self.world.node(def) {
            Node::Load { ptr, .. } => {
                let at = self.rep(ptr, block);
                let ty = value_ty(self.world, def);
                let value = match at.shape {
                    _ if self.task.shapes.is_private(ptr) => {
                        self.check_access(def, ty)?;
                        self.load_private(at, ty)
                    }
                    Shape::Uniform => {
                        let (mem, value) = self.world.load(self.mem, at.def);
                        self.mem = mem;
                        self.shaped(def, Rep::uniform(value), ty)
                    }
                    _ => {
                        self.check_access(def, ty)?;
                        match self.groups(def, block) {
                            Some(_) if self.is_at_known_offsets(at) => self.load_varying(at, ptr, ty, block),
                            Some(Groups::Contiguous(lanes)) => self.load_run(ptr, ty, lanes, block),
                            Some(Groups::Repeated(lanes)) => self.load_repeated(ptr, ty, lanes, block),
                            None => self.load_varying(at, ptr, ty, block),
                        }
                    }
                };
                self.set(def, value);
            }
            Node::Store { ptr, value, .. } => {
                let (at, ty) = (self.rep(ptr, block), self.world.ty(value));
                let value = self.rep(value, block);
                match at.shape {
                    _ if self.task.shapes.is_private(ptr) => {
                        self.check_access(def, ty)?;
                        let value = self.lanes_of(value, ty);
                        self.store_private(at, ty, value);
                    }
                    Shape::Uniform => {
                        let value = self.last_lane(value, ty);
                        self.mem = self.world.store(self.mem, at.def, value);
                    }
                    _ => {
                        self.check_access(def, ty)?;
                        let value = self.lanes_of(value, ty);
                        match self.groups(def, block) {
                            Some(Groups::Contiguous(lanes)) => self.store_run(ptr, value, lanes, block),
                            _ => self.store_varying(at, ptr, ty, value, block),
                        }
                    }
                }
            }
            Node::Demand { value, .. } => {
                let value = self.rep(value, block);
                self.mem = self.world.demand(self.mem, value.def);
            }
            Node::Slot { .. } => self.slot(def),
            Node::Alloc { count, .. } => self.allocate(def, count, block),
            _ => return self.refuse(def, "inline assembly"),
        }
        Ok(())
    }

    /// Whether the distances between all lanes' addresses are known and small. Back ends load all elements at once, and
    /// shuffle them.
    fn is_at_known_offsets(&mut self, at: Rep) -> bool {
        let Node::Lea { ptr, index } = self.world.node(at.def) else { return false };
        let own = match self.world.node(index) {
            Node::Arith { op: ArithOp::Add, lhs, rhs, .. } => [lhs, rhs],
            _ => [index; 2],
        };
        let is_scalar = !self.world.types.is_simd(self.world.ty(ptr));
        is_scalar && self.is_full() && own.into_iter().any(|own| self.are_small_literals(own))
    }

    /// Whether lanes are different literals that are less than twice the number of lanes apart.
    fn are_small_literals(&self, lanes: Def) -> bool {
        let Node::Aggregate(parts) = self.world.node(lanes) else { return false };
        let numbers: Option<Vec<i64>> =
            self.world.list(parts).iter().map(|&part| self.world.as_int(part)).collect();
        let Some(numbers) = numbers else { return false };
        let (least, most) = (numbers.iter().min().copied(), numbers.iter().max().copied());
        let span = most.unwrap_or(0) - least.unwrap_or(0);
        (1..2 * i64::from(self.task.lanes)).contains(&span)
    }

    /// The groups of lanes of a load or store.
    fn groups(&mut self, def: Def, block: usize) -> Option<Groups> {
        let is_full = self.is_full();
        runs::of_access(self.world, (self.task.flow, self.task.shapes), def, block, is_full)
    }

    fn refuse<T>(&self, def: Def, why: &str) -> Result<T, Refusal> {
        Err(Refusal { at: self.world.span_of(def), why: why.into() })
    }

    fn check_access(&self, def: Def, ty: Ty) -> Result<(), Refusal> {
        if !lanewise::is_supported(self.world, ty) || n_scalars(self.world, ty) > MAX_SCALARS {
            let ty = self.world.types.display(ty).to_string();
            return self.refuse(def, &format!("an access to a `{ty}` at a varying address"));
        }
        Ok(())
    }

    /// A variable for each lane.
    fn slot(&mut self, def: Def) {
        let (ty, _) = self.world.types.as_ptr(value_ty(self.world, def)).expect("a slot gives an address");
        let is_private = self.task.shapes.is_private(def);
        let all = match is_private {
            true => lanewise::lanes_ty(self.world, ty, self.task.lanes),
            false => self.world.types.array(ty, u64::from(self.task.lanes)),
        };
        let (mem, slot) = self.world.slot(self.mem, all);
        self.mem = mem;
        if is_private {
            return self.set(def, slot);
        }
        let first = self.world.lit_i32(0);
        let first = self.world.lea(slot, first);
        self.set(def, first);
    }

    pub fn load(&mut self, at: Rep, ty: Ty) -> Def {
        if lanewise::is_scalar(self.world, ty) {
            return self.load_scalars(at, ty);
        }
        if let TyKind::Enum(id) = *self.world.types.kind(ty) {
            return self.load_enum(at, ty, id);
        }
        let n_parts = lanewise::parts(self.world, ty).len();
        let mut parts = vec![];
        for index in 0..n_parts {
            let (at, part) = self.part_of(at, ty, index);
            parts.push(self.load(at, part));
        }
        lanewise::join(self.world, ty, self.task.lanes, &parts)
    }

    pub fn store(&mut self, at: Rep, ty: Ty, value: Def) {
        if lanewise::is_scalar(self.world, ty) {
            return self.store_scalars(at, ty, value);
        }
        if let TyKind::Enum(id) = *self.world.types.kind(ty) {
            return self.store_enum(at, ty, id, value);
        }
        for index in 0..lanewise::parts(self.world, ty).len() {
            let (at, part_ty) = self.part_of(at, ty, index);
            let part = lanewise::part(self.world, ty, value, index);
            self.store(at, part_ty, part);
        }
    }

    // ---- Private variables ----------------------------------------------------------------

    /// The type of the representation of a private address.
    pub fn private_ty(&mut self, var: Var, old: Def) -> Ty {
        let lanes = self.task.lanes;
        let address = self.world.types.as_ptr(value_ty(self.world, old));
        let (pointee, space) = address.expect("a private address is one");
        let pointee = lanewise::lanes_ty(self.world, pointee, lanes);
        let ptr = self.world.types.ptr(pointee, space);
        let varies = matches!(var, Var::LiveOut(_)) || self.task.shapes.of(old) == Shape::Varying;
        if varies { self.world.types.simd(ptr, lanes) } else { ptr }
    }

    /// The private address of part `index` of a `ty`.
    fn private_part(&mut self, at: Def, ty: Ty, index: Def) -> Def {
        match lanewise::is_single_part(self.world, ty) {
            true => at,
            false => self.world.lea(at, index),
        }
    }

    fn load_private(&mut self, at: Rep, ty: Ty) -> Def {
        if lanewise::is_scalar(self.world, ty) {
            let own = self.private_scalars(at, ty);
            return self.load_scalars(own, ty);
        }
        let mut parts = vec![];
        for (index, part_ty) in (0..).zip(lanewise::parts(self.world, ty)) {
            let index = self.world.lit_u32(index);
            let part = Rep { shape: at.shape, def: self.private_part(at.def, ty, index) };
            parts.push(self.load_private(part, part_ty));
        }
        lanewise::join(self.world, ty, self.task.lanes, &parts)
    }

    fn store_private(&mut self, at: Rep, ty: Ty, value: Def) {
        if lanewise::is_scalar(self.world, ty) {
            let own = self.private_scalars(at, ty);
            return self.store_scalars(own, ty, value);
        }
        for (number, part_ty) in lanewise::parts(self.world, ty).into_iter().enumerate() {
            let index = self.world.lit_u32(number as u32);
            let part = Rep { shape: at.shape, def: self.private_part(at.def, ty, index) };
            let value = lanewise::part(self.world, ty, value, number);
            self.store_private(part, part_ty, value);
        }
    }

    /// The addresses of the lanes' scalars of type `ty` in a private variable.
    fn private_scalars(&mut self, at: Rep, ty: Ty) -> Rep {
        match at.shape {
            Shape::Varying => {
                let lane = lanewise::steps(self.world, Prim::I32, 1, self.task.lanes);
                Rep::varying(self.world.lea(at.def, lane))
            }
            _ => {
                let size = self.world.layout(ty).size as i64;
                let first = self.world.lit_i32(0);
                Rep { shape: Shape::strided(size, Wraps::Never), def: self.world.lea(at.def, first) }
            }
        }
    }

    // ---- Enums ----------------------------------------------------------------------------

    /// Each lane reads the payload of its option.
    fn load_enum(&mut self, at: Rep, ty: Ty, id: EnumId) -> Def {
        let (tag_at, tag_ty) = self.tag_of(at, id);
        let tag = self.load_scalars(tag_at, tag_ty);
        let u32 = self.world.types.prim(Prim::U32);
        let tags = self.world.types.simd(u32, self.task.lanes);
        let tag = self.world.cast(tags, tag);
        let mut parts = vec![tag];
        let all = self.mask;
        for (option, payload) in (0..).zip(lanewise::parts(self.world, ty).split_off(1)) {
            self.mask = self.lanes_with(all, tag, option);
            let at = self.moved(at, payload, 0);
            parts.push(self.load(at, payload));
        }
        self.mask = all;
        lanewise::join(self.world, ty, self.task.lanes, &parts)
    }

    fn store_enum(&mut self, at: Rep, ty: Ty, id: EnumId, value: Def) {
        let tag = lanewise::part(self.world, ty, value, 0);
        let all = self.mask;
        for (option, payload_ty) in (0..).zip(lanewise::parts(self.world, ty).split_off(1)) {
            self.mask = self.lanes_with(all, tag, option);
            let at = self.moved(at, payload_ty, 0);
            let payload = lanewise::part(self.world, ty, value, 1 + option as usize);
            self.store(at, payload_ty, payload);
        }
        self.mask = all;
        let (tag_at, tag_ty) = self.tag_of(at, id);
        let tags = self.world.types.simd(tag_ty, self.task.lanes);
        let tag = self.world.cast(tags, tag);
        self.store_scalars(tag_at, tag_ty, tag);
    }

    /// The addresses of the tags in memory, and their type there.
    fn tag_of(&mut self, at: Rep, id: EnumId) -> (Rep, Ty) {
        let (_, offset, size) = enum_layout(&self.world.types, id);
        let prim = match size {
            1 => Prim::U8,
            2 => Prim::U16,
            _ => Prim::U32,
        };
        let ty = self.world.types.prim(prim);
        (self.moved(at, ty, offset as i64), ty)
    }

    /// The lanes of `mask` that have an option.
    fn lanes_with(&mut self, mask: Def, tag: Def, option: u32) -> Def {
        let option = self.world.lit_u32(option);
        let option = self.world.splat(option, self.task.lanes);
        let equal = self.world.cmp(CmpOp::Eq, tag, option);
        self.and(mask, equal)
    }

    /// The address of a `ty` at an offset in bytes.
    fn moved(&mut self, at: Rep, ty: Ty, offset: i64) -> Rep {
        let (ptr, offset) = (self.pointer_to(at, ty), self.world.lit_i64(offset));
        Rep { shape: at.shape, def: self.bytes_from(at.def, ptr, offset) }
    }

    /// The address and type of a part of an aggregate in memory.
    fn part_of(&mut self, at: Rep, ty: Ty, index: usize) -> (Rep, Ty) {
        let part = lanewise::parts(self.world, ty)[index];
        let index = self.world.lit_u32(index as u32);
        (Rep { shape: at.shape, def: self.world.lea(at.def, index) }, part)
    }

    fn load_scalars(&mut self, at: Rep, ty: Ty) -> Def {
        if let Some(at) = self.only_address(at, ty) {
            let (mem, value) = self.world.load(self.mem, at);
            self.mem = mem;
            return self.world.splat(value, self.task.lanes);
        }
        let (ptr, is_reversed) = self.pointers(at, ty);
        let mask = if is_reversed { self.reversed(self.mask) } else { self.mask };
        let (mem, value) = self.world.load_lanes(self.mem, ptr, mask);
        self.mem = mem;
        if is_reversed { self.reversed(value) } else { value }
    }

    fn store_scalars(&mut self, at: Rep, ty: Ty, value: Def) {
        if let (Some(at), Some(lane)) = (self.only_address(at, ty), self.only_lane) {
            let value = self.world.extract(value, lane);
            self.mem = self.world.store(self.mem, at, value);
            return;
        }
        let (ptr, is_reversed) = self.pointers(at, ty);
        let (mut mask, mut value) = (self.mask, value);
        if is_reversed {
            (mask, value) = (self.reversed(mask), self.reversed(value));
        }
        self.mem = self.world.store_lanes(self.mem, ptr, mask, value);
    }

    /// The address of the only active lane.
    fn only_address(&mut self, at: Rep, ty: Ty) -> Option<Def> {
        let lane = self.only_lane?;
        let ptr_ty = self.pointer_to(at, ty);
        Some(match at.shape {
            Shape::Uniform => at.def,
            Shape::Strided { stride, .. } => {
                let stride = self.world.lit_i64(stride);
                let bytes = self.world.arith(ArithOp::Mul, ArithFlags::WRAP, lane, stride);
                self.bytes_from(at.def, ptr_ty, bytes)
            }
            Shape::Varying => {
                let lanes = self.lanes_of(at, ptr_ty);
                self.address_of_lane(lanes, lane)
            }
        })
    }

    /// The address of a lane. Where only the indices differ, it is computed from the lane's index, which is narrower.
    fn address_of_lane(&mut self, addresses: Def, lane: Def) -> Def {
        match self.world.node(addresses) {
            Node::Lea { ptr, index } if !self.world.types.is_simd(self.world.ty(ptr)) => {
                let index = match self.world.node(index) {
                    Node::Cast(from) if self.world.types.is_simd(self.world.ty(from)) => {
                        let own = self.world.extract(from, lane);
                        let ty = self.world.ty(index);
                        let ty = self.world.types.elem(ty).unwrap_or(ty);
                        self.world.cast(ty, own)
                    }
                    _ => self.world.extract(index, lane),
                };
                self.world.lea(ptr, index)
            }
            _ => self.world.extract(addresses, lane),
        }
    }

    /// The addresses of the lanes' scalars of type `ty`: one address if they are contiguous, and
    /// whether they are in reverse order.
    fn pointers(&mut self, at: Rep, ty: Ty) -> (Def, bool) {
        let size = self.world.layout(ty).size as i64;
        let ptr_ty = self.pointer_to(at, ty);
        match at.shape {
            Shape::Strided { stride, .. } if stride == size => (at.def, false),
            Shape::Strided { stride, .. } if stride == -size => {
                let back = self.world.lit_i64(stride * i64::from(self.task.lanes - 1));
                (self.bytes_from(at.def, ptr_ty, back), true)
            }
            _ => (self.lanes_of(at, ptr_ty), false),
        }
    }

    /// The type of one lane's address of a `ty`.
    fn pointer_to(&mut self, at: Rep, ty: Ty) -> Ty {
        let space = self.world.types.lane_ptr(self.world.ty(at.def)).map_or(0, |(_, space)| space);
        self.world.types.ptr(ty, space)
    }

    /// Reverses the order of lanes.
    fn reversed(&mut self, lanes: Def) -> Def {
        let last = i64::from(self.task.lanes) - 1;
        let first = self.world.lit_i32(last as i32);
        let first = self.world.splat(first, self.task.lanes);
        let steps = lanewise::steps(self.world, Prim::I32, 1, self.task.lanes);
        let order = self.world.arith(ArithOp::Sub, ArithFlags::WRAP, first, steps);
        self.world.lanes(LaneOp::Permute, &[lanes, order])
    }

    /// The value of the last active lane.
    pub fn last_lane(&mut self, value: Rep, ty: Ty) -> Def {
        if value.shape == Shape::Uniform {
            return value.def;
        }
        let lanes = self.lanes_of(value, ty);
        let last = if let Some(lane) = self.only_lane {
            lane
        } else if self.is_full() {
            self.world.lit_i64(i64::from(self.task.lanes) - 1)
        } else if self.task.lanes > MAX_BALLOT {
            self.number_of_last()
        } else {
            let votes = self.world.lanes(LaneOp::Ballot, &[self.mask]);
            let above = self.world.math(MathOp::Clz, ArithFlags::STRICT, &[votes]);
            let top = self.world.lit(Prim::U64, 63);
            self.world.arith(ArithOp::Sub, ArithFlags::STRICT, top, above)
        };
        lanewise::lane(self.world, ty, lanes, last)
    }
}

impl Emitter<'_> {
    /// The number of the last active lane of more lanes than a ballot has.
    fn number_of_last(&mut self) -> Def {
        let own = lanewise::steps(self.world, Prim::I32, 1, self.task.lanes);
        let none = self.world.lit_i32(0);
        let none = self.world.splat(none, self.task.lanes);
        let active = self.world.select(self.mask, own, none);
        self.world.reduce(Reduction::Max, active)
    }
}

/// The number of scalars of a type.
pub(super) fn n_scalars(world: &World, ty: Ty) -> usize {
    match lanewise::is_scalar(world, ty) {
        true => 1,
        false => lanewise::parts(world, ty).into_iter().map(|part| n_scalars(world, part)).sum(),
    }
}

impl Rep {
    /// A value that is the same in all lanes.
    pub fn uniform(def: Def) -> Rep {
        Rep { shape: Shape::Uniform, def }
    }

    /// A value with stride 1.
    pub fn counting(def: Def) -> Rep {
        Rep { shape: Shape::strided(1, Wraps::Never), def }
    }

    /// A value that may differ in each lane.
    pub fn varying(def: Def) -> Rep {
        Rep { shape: Shape::Varying, def }
    }
}
