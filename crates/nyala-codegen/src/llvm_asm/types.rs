//! Types as LLVM writes them, with the layout of [`nyala_ir::layout`].
//!
//! `bool` is `i1`, which takes a byte in memory. Lanes that are `bool` are bits in registers, and bytes in memory
//! and in aggregates, which may be stored. Structs are LLVM structs: both have natural alignment. An enum is
//! storage for its largest payload, and the tag behind it. On the host there is one address space; on devices LLVM
//! numbers address spaces as the language does.

use nyala_ir::layout::{enum_layout, layout};
use nyala_ir::{EnumId, StructId, Ty, TyKind, Types};
use rustc_hash::FxHashMap;

use super::value::{Scalar, Type};
use crate::skeleton::names::Names;

/// The types that have been written.
pub(crate) struct TypeWriter<'a> {
    types: &'a Types,
    /// Whether pointers have address spaces.
    has_spaces: bool,
    names: Names,
    structs: FxHashMap<StructId, String>,
    enums: FxHashMap<EnumId, String>,
    /// Definitions of named types.
    pub(crate) definitions: String,
}

impl<'a> TypeWriter<'a> {
    pub(crate) fn new(types: &'a Types, has_spaces: bool) -> TypeWriter<'a> {
        TypeWriter {
            types,
            has_spaces,
            names: Names::new('.'),
            structs: FxHashMap::default(),
            enums: FxHashMap::default(),
            definitions: String::new(),
        }
    }

    /// The type of values. A function value is a pair of code and environment.
    pub(crate) fn ty(&mut self, ty: Ty) -> Type {
        if let Some(scalar) = self.scalar(ty) {
            return Type::Scalar(scalar);
        }
        match self.types.kind(ty) {
            TyKind::Simd { elem, lanes } => Type::vector(*lanes, self.scalar(*elem).unwrap_or(Scalar::PTR)),
            TyKind::Cn(_) => Type::Aggregate(FUNCTION.into()),
            TyKind::Tuple(parts) => self.sequence(parts),
            TyKind::Array { elem, len } => Type::array(*len, &self.part(*elem)),
            TyKind::Slice(elem) => Type::array(0, &self.part(*elem)),
            TyKind::Struct(id) => Type::Aggregate(self.structure(*id)),
            TyKind::Enum(id) => Type::Aggregate(self.enumeration(*id)),
            TyKind::Prim(_) | TyKind::Ptr { .. } | TyKind::Mem => Type::structure(&[]),
        }
    }

    /// A type of numbers or pointers; lanes have no others.
    pub(crate) fn scalar(&self, ty: Ty) -> Option<Scalar> {
        match *self.types.kind(ty) {
            TyKind::Prim(prim) => Some(prim.into()),
            TyKind::Ptr { space, .. } => Some(Scalar::Ptr(if self.has_spaces { space } else { 0 })),
            _ => None,
        }
    }

    /// The result type of a function with these results.
    pub(crate) fn results(&mut self, results: &[Ty]) -> Type {
        match results {
            [] => Type::Void,
            [one] => self.ty(*one),
            several => {
                let results: Vec<Type> = several.iter().map(|&result| self.ty(result)).collect();
                Type::structure(&results)
            }
        }
    }

    /// The type of values as parts of aggregates, and in memory.
    pub(crate) fn part(&mut self, ty: Ty) -> Type {
        match bool_lanes(self.types, ty) {
            Some(lanes) => Type::vector(lanes, Scalar::Int(8)),
            None => self.ty(ty),
        }
    }

    fn sequence(&mut self, parts: &[Ty]) -> Type {
        let parts: Vec<Type> = parts.iter().map(|&part| self.part(part)).collect();
        Type::structure(&parts)
    }

    fn structure(&mut self, id: StructId) -> String {
        if let Some(name) = self.structs.get(&id) {
            return name.clone();
        }
        let data = &self.types.structs[id];
        let fields: Vec<Ty> = data.fields.iter().map(|field| field.ty).collect();
        let name = format!("%{}", self.names.unique(data.name.as_str()));
        self.structs.insert(id, name.clone());
        let body = self.sequence(&fields);
        self.definitions += &format!("{name} = type {body}\n");
        name
    }

    fn enumeration(&mut self, id: EnumId) -> String {
        if let Some(name) = self.enums.get(&id) {
            return name.clone();
        }
        let name = format!("%{}", self.names.unique(self.types.enums[id].name.as_str()));
        self.enums.insert(id, name.clone());
        self.definitions += &format!("{name} = type {{ {}, {} }}\n", self.storage(id), self.tag(id));
        name
    }

    /// The type of an enum's tag.
    pub(crate) fn tag(&self, id: EnumId) -> Type {
        Type::int(8 * enum_layout(self.types, id).2 as u32)
    }

    /// Storage for any payload: words as wide as the payloads' alignment.
    fn storage(&self, id: EnumId) -> String {
        let payloads = self.types.enums[id].options.iter().map(|option| layout(self.types, option.payload));
        let (size, align) =
            payloads.fold((0, 1), |(size, align), one| (one.size.max(size), one.align.max(align)));
        let words = size.div_ceil(align);
        match align {
            1 | 2 | 4 | 8 => format!("[{words} x i{}]", align * 8),
            _ => format!("[{words} x <{} x i64>]", align / 8),
        }
    }
}

/// The number of lanes of `simd[bool * n]`.
pub(crate) fn bool_lanes(types: &Types, ty: Ty) -> Option<u32> {
    match types.kind(ty) {
        TyKind::Simd { elem, lanes } if *elem == types.bool() => Some(*lanes),
        _ => None,
    }
}

/// The type of function values.
pub(crate) const FUNCTION: &str = "{ ptr, ptr }";
