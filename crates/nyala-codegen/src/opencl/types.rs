//! Types as OpenCL C writes them.
//!
//! Tuples, arrays and enums are structs. A pointer to an array of unknown length is one to its elements, a pointer to
//! another array one to its struct.

use nyala_ir::layout::enum_layout;
use nyala_ir::{EnumId, Prim, StructId, Ty, TyKind, Types};
use rustc_hash::FxHashMap;

use super::spaces::{CONSTANT, PRIVATE};
use crate::skeleton::names::Names;

/// The types that have been written.
pub(super) struct TypeWriter<'a> {
    types: &'a Types,
    names: Names,
    arrays: FxHashMap<Ty, String>,
    /// By their fields, as C writes them.
    tuples: FxHashMap<String, String>,
    structs: FxHashMap<StructId, String>,
    enums: FxHashMap<EnumId, String>,
    /// Definitions, in the order of need.
    pub(super) definitions: String,
}

impl<'a> TypeWriter<'a> {
    pub(super) fn new(types: &'a Types) -> TypeWriter<'a> {
        let mut names = Names::new('_');
        super::RESERVED.iter().for_each(|name| names.reserve(name));
        TypeWriter {
            types,
            names,
            arrays: FxHashMap::default(),
            tuples: FxHashMap::default(),
            structs: FxHashMap::default(),
            enums: FxHashMap::default(),
            definitions: String::new(),
        }
    }

    /// The type of values, also in memory.
    pub(super) fn ty(&mut self, ty: Ty) -> String {
        match self.types.kind(ty) {
            TyKind::Prim(prim) => prim_type(*prim).into(),
            TyKind::Ptr { pointee, space } => format!("{}{}*", space_name(*space), self.pointee(*pointee)),
            TyKind::Tuple(parts) => self.tuple(parts),
            TyKind::Array { elem, len } => self.array(ty, *elem, *len),
            TyKind::Slice(elem) => self.ty(*elem),
            TyKind::Struct(id) => self.structure(*id),
            TyKind::Enum(id) => self.enumeration(*id),
            TyKind::Simd { elem, lanes } => format!("{}{lanes}", self.ty(*elem)),
            // Kernels have no function values, and memory tokens are not written.
            TyKind::Cn(_) | TyKind::Mem => "void*".into(),
        }
    }

    /// The pointee of a pointer type. A struct may be defined later.
    pub(super) fn pointee(&mut self, pointee: Ty) -> String {
        match self.types.kind(pointee) {
            TyKind::Slice(elem) => self.pointee(*elem),
            _ => self.ty(pointee),
        }
    }

    /// The struct of a tuple; tuples with the same fields in C share one.
    pub(super) fn tuple(&mut self, parts: &[Ty]) -> String {
        let fields: Vec<String> =
            parts.iter().enumerate().map(|(index, &part)| format!("{} e{index};", self.ty(part))).collect();
        let body = if fields.is_empty() { "char nothing;".into() } else { fields.join(" ") };
        if let Some(name) = self.tuples.get(&body) {
            return name.clone();
        }
        let name = self.names.unique("Tuple");
        self.definitions += &format!("typedef struct {{ {body} }} {name};\n");
        self.tuples.insert(body, name.clone());
        name
    }

    fn array(&mut self, ty: Ty, elem: Ty, len: u64) -> String {
        if let Some(name) = self.arrays.get(&ty) {
            return name.clone();
        }
        let elem = self.ty(elem);
        let name = self.names.unique("Array");
        self.definitions += &format!("typedef struct {{ {elem} e[{}]; }} {name};\n", len.max(1));
        self.arrays.insert(ty, name.clone());
        name
    }

    fn structure(&mut self, id: StructId) -> String {
        if let Some(name) = self.structs.get(&id) {
            return name.clone();
        }
        let data = &self.types.structs[id];
        let name = self.names.unique(data.name.as_str());
        // It may point to itself.
        self.structs.insert(id, format!("struct {name}"));
        let fields: Vec<String> = data
            .fields
            .iter()
            .enumerate()
            .map(|(index, field)| format!("{} e{index};", self.ty(field.ty)))
            .collect();
        let body = if fields.is_empty() { "char nothing;".into() } else { fields.join(" ") };
        self.definitions += &format!("struct {name} {{ {body} }};\n");
        format!("struct {name}")
    }

    fn enumeration(&mut self, id: EnumId) -> String {
        if let Some(name) = self.enums.get(&id) {
            return name.clone();
        }
        let data = &self.types.enums[id];
        let name = self.names.unique(data.name.as_str());
        self.enums.insert(id, format!("struct {name}"));
        let unit = self.types.unit();
        let options: Vec<String> = data
            .options
            .iter()
            .enumerate()
            .filter(|(_, option)| option.payload != unit)
            .map(|(index, option)| format!("{} o{index};", self.ty(option.payload)))
            .collect();
        let tag = match enum_layout(self.types, id).2 {
            1 => "uchar",
            2 => "ushort",
            _ => "uint",
        };
        let payload = match options.is_empty() {
            true => String::new(),
            false => format!("union {{ {} }} data; ", options.join(" ")),
        };
        self.definitions += &format!("struct {name} {{ {payload}{tag} tag; }};\n");
        format!("struct {name}")
    }
}

/// The address space of pointers, as it is written in front of their pointee. Pointers that are loaded from memory
/// are never private; they are taken for global ones.
pub(super) fn space_name(space: u32) -> String {
    format!("__{} ", space_word(space))
}

/// The name of an address space.
pub(super) fn space_word(space: u32) -> &'static str {
    match space {
        3 => "local",
        CONSTANT => "constant",
        PRIVATE => "private",
        _ => "global",
    }
}

/// A primitive type.
pub(super) fn prim_type(prim: Prim) -> &'static str {
    match prim {
        Prim::Bool | Prim::U8 => "uchar",
        Prim::I8 => "char",
        Prim::I16 => "short",
        // See `halves`.
        Prim::U16 | Prim::F16 => "ushort",
        Prim::I32 => "int",
        Prim::U32 => "uint",
        Prim::I64 => "long",
        Prim::U64 => "ulong",
        Prim::F32 => "float",
        Prim::F64 => "double",
    }
}
