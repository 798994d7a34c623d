//! The types of the graph.
//!
//! Types are interned: equal types have equal [`Ty`]. Structs and enums are
//! nominal and monomorphic; they are declared first and get their fields later,
//! because they may refer to themselves through pointers.
//!
//! Mutability is a matter of the source language and is gone here. Signedness is
//! part of the integer types, as the meaning of operators depends on it.

use std::collections::hash_map::Entry;
use std::fmt;

use cranelift_entity::{PrimaryMap, entity_impl};
use nyala_span::Name;
pub use nyala_span::Prim;
use rustc_hash::FxHashMap;

use crate::text::TypeIdent;

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ty(u32);
entity_impl!(Ty, "t");

/// A struct declared in [`Types`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StructId(u32);
entity_impl!(StructId, "struct");

/// An enum declared in [`Types`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumId(u32);
entity_impl!(EnumId, "enum");

/// The kinds of types.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TyKind {
    /// The token that orders side effects.
    Mem,
    /// A primitive type.
    Prim(Prim),
    /// `(A, B)`; the empty one is unit. Never has exactly one part.
    Tuple(Box<[Ty]>),
    /// `[T * n]`
    Array {
        /// The element.
        elem: Ty,
        /// How many.
        len: u64,
    },
    /// `[T]`: any number of elements; only as the target of pointers.
    Slice(Ty),
    /// `simd[T * n]`: lanes of a primitive type or of pointers.
    Simd {
        /// The lane.
        elem: Ty,
        /// How many.
        lanes: u32,
    },
    /// `&T` in an address space (0 is generic).
    Ptr {
        /// The type of the target.
        pointee: Ty,
        /// Where.
        space: u32,
    },
    /// `cn(A, B)`: a continuation.
    Cn(Box<[Ty]>),
    /// A struct.
    Struct(StructId),
    /// An enum.
    Enum(EnumId),
}

/// A struct.
#[derive(Clone, Debug)]
pub struct StructData {
    /// Its name, unique in the world.
    pub name: Name,
    /// Its fields, in memory order. Empty until set.
    pub fields: Vec<FieldData>,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct FieldData {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Ty,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct EnumData {
    /// Its name, unique in the world.
    pub name: Name,
    /// Its options, by tag. Empty until set.
    pub options: Vec<OptionData>,
}

/// An option of an enum.
#[derive(Clone, Debug)]
pub struct OptionData {
    /// Its name.
    pub name: Name,
    /// Its payload: unit, one type, or a tuple.
    pub payload: Ty,
}

/// All types of a world.
#[derive(Clone)]
pub struct Types {
    kinds: PrimaryMap<Ty, TyKind>,
    interned: FxHashMap<TyKind, Ty>,
    /// The structs.
    pub structs: PrimaryMap<StructId, StructData>,
    /// The enums.
    pub enums: PrimaryMap<EnumId, EnumData>,
    order: FxHashMap<Ty, u32>,
}

impl Default for Types {
    fn default() -> Types {
        Types::new()
    }
}

impl Types {
    /// Only the memory token, unit and the primitive types.
    pub fn new() -> Types {
        let mut types = Types {
            kinds: PrimaryMap::new(),
            interned: FxHashMap::default(),
            structs: PrimaryMap::new(),
            enums: PrimaryMap::new(),
            order: FxHashMap::default(),
        };
        // The order that `mem`, `unit` and `prim` rely on.
        types.intern(TyKind::Mem);
        types.intern(TyKind::Tuple(Box::new([])));
        for prim in Prim::ALL {
            types.intern(TyKind::Prim(prim));
        }
        types
    }

    /// The type with this kind.
    pub fn intern(&mut self, kind: TyKind) -> Ty {
        match self.interned.entry(kind) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let ty = self.kinds.push(entry.key().clone());
                *entry.insert(ty)
            }
        }
    }

    /// The kind of `ty`.
    #[inline]
    pub fn kind(&self, ty: Ty) -> &TyKind {
        &self.kinds[ty]
    }

    /// How many types there are.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Never: the primitive types are always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The memory token's type.
    #[inline]
    pub fn mem(&self) -> Ty {
        Ty(0)
    }

    /// `()`
    pub fn unit(&self) -> Ty {
        Ty(1)
    }

    /// A primitive type.
    pub fn prim(&self, prim: Prim) -> Ty {
        Ty(2 + prim as u32)
    }

    /// `bool`
    pub fn bool(&self) -> Ty {
        self.prim(Prim::Bool)
    }

    /// `(A, B)`; one type is itself.
    pub fn tuple(&mut self, parts: &[Ty]) -> Ty {
        match parts {
            [one] => *one,
            parts => self.intern(TyKind::Tuple(parts.into())),
        }
    }

    /// `[T * n]`
    pub fn array(&mut self, elem: Ty, len: u64) -> Ty {
        self.intern(TyKind::Array { elem, len })
    }

    /// `[T]`
    pub fn slice(&mut self, elem: Ty) -> Ty {
        self.intern(TyKind::Slice(elem))
    }

    /// `simd[T * n]`; one lane is the lane's own type.
    pub fn simd(&mut self, elem: Ty, lanes: u32) -> Ty {
        if lanes == 1 { elem } else { self.intern(TyKind::Simd { elem, lanes }) }
    }

    /// `&T` in an address space.
    pub fn ptr(&mut self, pointee: Ty, space: u32) -> Ty {
        self.intern(TyKind::Ptr { pointee, space })
    }

    /// `cn(A, B)`
    pub fn cn(&mut self, params: &[Ty]) -> Ty {
        self.intern(TyKind::Cn(params.into()))
    }

    /// Declares a struct; its fields are set by writing to [`Types::structs`].
    pub fn declare_struct(&mut self, name: Name) -> (StructId, Ty) {
        let id = self.structs.push(StructData { name, fields: vec![] });
        (id, self.intern(TyKind::Struct(id)))
    }

    /// Declares an enum; its options are set by writing to [`Types::enums`].
    pub fn declare_enum(&mut self, name: Name) -> (EnumId, Ty) {
        let id = self.enums.push(EnumData { name, options: vec![] });
        (id, self.intern(TyKind::Enum(id)))
    }

    /// The primitive type that `ty` is.
    pub fn as_prim(&self, ty: Ty) -> Option<Prim> {
        match self.kind(ty) {
            TyKind::Prim(prim) => Some(*prim),
            _ => None,
        }
    }

    /// The primitive type of `ty` or of its lanes.
    pub fn lane_prim(&self, ty: Ty) -> Option<Prim> {
        match self.kind(ty) {
            TyKind::Simd { elem, .. } => self.as_prim(*elem),
            _ => self.as_prim(ty),
        }
    }

    /// The target type of `ty`, and its address space.
    pub fn as_ptr(&self, ty: Ty) -> Option<(Ty, u32)> {
        match self.kind(ty) {
            TyKind::Ptr { pointee, space } => Some((*pointee, *space)),
            _ => None,
        }
    }

    /// The target type of `ty` or its lanes, and its address space.
    pub fn lane_ptr(&self, ty: Ty) -> Option<(Ty, u32)> {
        match self.kind(ty) {
            TyKind::Simd { elem, .. } => self.as_ptr(*elem),
            _ => self.as_ptr(ty),
        }
    }

    /// The number of lanes of a simd type; `None` for other types.
    pub fn lanes(&self, ty: Ty) -> Option<u32> {
        match self.kind(ty) {
            TyKind::Simd { lanes, .. } => Some(*lanes),
            _ => None,
        }
    }

    /// The parameters of a continuation type.
    pub fn as_cn(&self, ty: Ty) -> Option<&[Ty]> {
        match self.kind(ty) {
            TyKind::Cn(params) => Some(params),
            _ => None,
        }
    }

    /// The type of part `index` of a tuple, struct, array, slice or simd type.
    pub fn part(&self, ty: Ty, index: u64) -> Option<Ty> {
        let at = usize::try_from(index).ok()?;
        match self.kind(ty) {
            TyKind::Tuple(parts) => parts.get(at).copied(),
            TyKind::Struct(id) => self.structs[*id].fields.get(at).map(|field| field.ty),
            TyKind::Array { elem, len } => (index < *len).then_some(*elem),
            TyKind::Simd { elem, lanes } => (index < u64::from(*lanes)).then_some(*elem),
            TyKind::Slice(elem) => Some(*elem),
            _ => None,
        }
    }

    /// How many parts a tuple, struct, array or simd type has.
    pub fn part_count(&self, ty: Ty) -> Option<u64> {
        match self.kind(ty) {
            TyKind::Tuple(parts) => Some(parts.len() as u64),
            TyKind::Struct(id) => Some(self.structs[*id].fields.len() as u64),
            TyKind::Array { len, .. } => Some(*len),
            TyKind::Simd { lanes, .. } => Some(u64::from(*lanes)),
            _ => None,
        }
    }

    /// Whether `ty` is a simd type.
    pub fn is_simd(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Simd { .. })
    }

    /// The common element type of an array, slice or simd type.
    pub fn elem(&self, ty: Ty) -> Option<Ty> {
        match self.kind(ty) {
            TyKind::Array { elem, .. } | TyKind::Slice(elem) | TyKind::Simd { elem, .. } => Some(*elem),
            _ => None,
        }
    }

    /// The order of a type: 0 for data, 1 + the highest parameter for a
    /// continuation, the maximum over the parts of an aggregate. Pointers are data.
    pub fn order(&mut self, ty: Ty) -> u32 {
        if let Some(&order) = self.order.get(&ty) {
            return order;
        }
        if matches!(self.kind(ty), TyKind::Struct(_) | TyKind::Enum(_)) {
            // One that reaches itself does so through a function, or else through a
            // pointer, which ends the descent: its order has no bound, and 2 says so.
            self.order.insert(ty, 2);
        }
        let order = match self.kind(ty).clone() {
            TyKind::Cn(params) => 1 + params.iter().map(|&param| self.order(param)).max().unwrap_or(0),
            TyKind::Tuple(parts) => parts.iter().map(|&part| self.order(part)).max().unwrap_or(0),
            TyKind::Array { elem, .. } | TyKind::Slice(elem) | TyKind::Simd { elem, .. } => self.order(elem),
            TyKind::Struct(id) => {
                let parts: Vec<Ty> = self.structs[id].fields.iter().map(|field| field.ty).collect();
                parts.into_iter().map(|part| self.order(part)).max().unwrap_or(0)
            }
            TyKind::Enum(id) => {
                let parts: Vec<Ty> = self.enums[id].options.iter().map(|option| option.payload).collect();
                parts.into_iter().map(|part| self.order(part)).max().unwrap_or(0)
            }
            TyKind::Mem | TyKind::Prim(_) | TyKind::Ptr { .. } => 0,
        };
        self.order.insert(ty, order);
        order
    }

    /// `ty` as the text form writes it.
    pub fn display(&self, ty: Ty) -> TyDisplay<'_> {
        TyDisplay { types: self, ty }
    }
}

/// A type ready to be printed; see [`Types::display`].
pub struct TyDisplay<'a> {
    types: &'a Types,
    ty: Ty,
}

impl fmt::Display for TyDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |ty: Ty| self.types.display(ty);
        let list = |f: &mut fmt::Formatter<'_>, open: &str, parts: &[Ty]| {
            f.write_str(open)?;
            for (i, &part) in parts.iter().enumerate() {
                if i > 0 {
                    f.write_str(", ")?;
                }
                write!(f, "{}", show(part))?;
            }
            f.write_str(")")
        };
        match self.types.kind(self.ty) {
            TyKind::Mem => f.write_str("mem"),
            TyKind::Prim(prim) => write!(f, "{prim}"),
            TyKind::Tuple(parts) => list(f, "(", parts),
            TyKind::Array { elem, len } => write!(f, "[{} * {len}]", show(*elem)),
            TyKind::Slice(elem) => write!(f, "[{}]", show(*elem)),
            TyKind::Simd { elem, lanes } => write!(f, "simd[{} * {lanes}]", show(*elem)),
            TyKind::Ptr { pointee, space: 0 } => write!(f, "&{}", show(*pointee)),
            TyKind::Ptr { pointee, space } => write!(f, "&[{space}]{}", show(*pointee)),
            TyKind::Cn(params) => list(f, "cn(", params),
            TyKind::Struct(id) => TypeIdent(self.types.structs[*id].name.as_str()).fmt(f),
            TyKind::Enum(id) => TypeIdent(self.types.enums[*id].name.as_str()).fmt(f),
        }
    }
}
