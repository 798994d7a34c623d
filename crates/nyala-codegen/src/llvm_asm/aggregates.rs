//! Tuples, structs, arrays, vectors and enums as values.
//!
//! They are first-class values of LLVM. Where LLVM has no instruction, as for an index that is known only at run
//! time, the value is stored to a local variable, which LLVM removes where it can.

use nyala_ir::{Def, Node, Ty, TyKind};

use super::function::FunctionWriter;
use super::value::Type;

impl FunctionWriter<'_, '_> {
    /// Writes an operation on aggregates; nothing if `def` is another operation.
    pub(crate) fn aggregate_operation(&mut self, def: Def) -> Option<String> {
        Some(match self.world.node(def) {
            Node::Aggregate(parts) => self.aggregate(def, self.world.list(parts)),
            // The parts of operations with effects; see `memory`.
            Node::Extract { agg, .. } if self.is_effect(agg) => return None,
            Node::Extract { agg, index } => self.extract(def, agg, index),
            Node::Insert { agg, index, value } => self.insert(def, agg, index, value),
            Node::Variant { option, payload } => self.variant(def, option, payload),
            Node::VariantTag(value) => self.tag(value),
            Node::VariantPayload { value, .. } => self.through_memory(def, value),
            _ => return None,
        })
    }

    fn is_simd(&self, def: Def) -> bool {
        self.world.types.is_simd(self.world.ty(def))
    }

    fn aggregate(&mut self, def: Def, parts: &[Def]) -> String {
        let ty = self.module.ty_of(def);
        if self.is_simd(def) && parts.windows(2).all(|pair| pair[0] == pair[1]) {
            return self.splat_of(self.world.ty(def), parts[0]);
        }
        let mut all = "poison".to_owned();
        for (index, &part) in parts.iter().enumerate() {
            let text = match self.is_simd(def) {
                true => format!("insertelement {ty} {all}, {}, i32 {index}", self.typed(part)),
                false => format!("insertvalue {ty} {all}, {}, {index}", self.typed_part(part)),
            };
            all = self.compute("all", text);
        }
        all
    }

    fn extract(&mut self, def: Def, agg: Def, index: Def) -> String {
        if self.is_checked(def) {
            self.check_index(def, agg, index);
        }
        if self.is_simd(agg) {
            let (whole, index) = (self.typed(agg), self.typed(index));
            return self.compute("lane", format!("extractelement {whole}, {index}"));
        }
        match self.known_part(agg, index) {
            Some(index) if self.address(agg).is_none() => {
                let whole = self.typed(agg);
                let part = self.compute("part", format!("extractvalue {whole}, {index}"));
                self.unpacked(&part, self.world.ty(def))
            }
            _ => {
                let variable = self.variable_with(agg);
                let at = self.part_address(&variable, agg, index);
                self.load_from(&at, self.world.ty(def))
            }
        }
    }

    fn insert(&mut self, def: Def, agg: Def, index: Def, value: Def) -> String {
        if self.is_checked(def) {
            self.check_index(def, agg, index);
        }
        if self.is_simd(agg) {
            let (whole, part, index) = (self.typed(agg), self.typed(value), self.typed(index));
            return self.compute("lanes", format!("insertelement {whole}, {part}, {index}"));
        }
        match self.known_part(agg, index) {
            Some(index) => {
                let (whole, part) = (self.typed(agg), self.typed_part(value));
                self.compute("all", format!("insertvalue {whole}, {part}, {index}"))
            }
            None => {
                let variable = self.local_of(self.world.ty(agg));
                self.insert_at(&variable, agg, index, value);
                self.load_from(&variable, self.world.ty(agg))
            }
        }
    }

    /// Stores `agg` with part `index` replaced to a variable.
    fn insert_at(&mut self, variable: &str, agg: Def, index: Def, value: Def) {
        self.store_to(variable, agg);
        let at = self.part_address(variable, agg, index);
        self.store_to(&at, value);
    }

    /// Writes an operation whose result is a large aggregate; whether `def` is one.
    pub(crate) fn large_operation(&mut self, def: Def) -> bool {
        let ty = self.world.ty(def);
        match self.world.node(def) {
            _ if !self.module.is_large(ty) => return false,
            Node::Extract { agg, index } if !self.is_effect(agg) => {
                if self.is_checked(def) {
                    self.check_index(def, agg, index);
                }
                let whole = self.variable_with(agg);
                let address = self.part_address(&whole, agg, index);
                self.set_address(def, address);
            }
            Node::Insert { agg, index, value } => {
                if self.is_checked(def) {
                    self.check_index(def, agg, index);
                }
                let variable = self.local_of(ty);
                self.insert_at(&variable, agg, index, value);
                self.set_address(def, variable);
            }
            Node::Aggregate(parts) => {
                let variable = self.local_of(ty);
                for (index, &part) in self.world.list(parts).iter().enumerate() {
                    let text = self.module.ty(ty);
                    let part_at =
                        format!("getelementptr inbounds {text}, ptr {variable}, i32 0, i32 {index}");
                    let at = self.compute("at", part_at);
                    self.store_to(&at, part);
                }
                self.set_address(def, variable);
            }
            _ => return false,
        }
        true
    }

    /// The address of a large value: of its variable, or of a private constant.
    pub(crate) fn large_address(&mut self, def: Def) -> Option<String> {
        if let Some(address) = self.address(def) {
            return Some(address);
        }
        if !self.module.is_large(self.world.ty(def)) {
            return None;
        }
        self.module.constant(def).map(|constant| self.module.private_constant(self.world.ty(def), &constant))
    }

    /// A literal index that is in range.
    fn known_part(&self, agg: Def, index: Def) -> Option<u64> {
        let index = self.world.as_lit(index)?;
        self.world.types.part(self.world.ty(agg), index).map(|_| index)
    }

    /// The address of a variable with the value of `def`; it must not be written.
    fn variable_with(&mut self, def: Def) -> String {
        if let Some(address) = self.large_address(def) {
            return address;
        }
        let variable = self.local_of(self.world.ty(def));
        self.store_to(&variable, def);
        variable
    }

    /// The address of a part of an aggregate in a variable.
    fn part_address(&mut self, variable: &str, agg: Def, index: Def) -> String {
        let ty = self.world.ty(agg);
        match self.world.types.elem(ty) {
            Some(elem) => {
                let (elem, index) = (self.module.part_ty(elem), self.index(index));
                self.compute("at", format!("getelementptr inbounds {elem}, ptr {variable}, i64 {index}"))
            }
            None => {
                let (text, index) = (self.module.ty(ty), self.value(index));
                self.compute(
                    "at",
                    format!("getelementptr inbounds {text}, ptr {variable}, i32 0, i32 {index}"),
                )
            }
        }
    }

    /// The first bytes of `from`, as a value of the type of `def`.
    pub(crate) fn through_memory(&mut self, def: Def, from: Def) -> String {
        let (to_ty, from_ty) = (self.world.ty(def), self.world.ty(from));
        // The larger one, so that both accesses are in bounds.
        let size = |ty: Ty| nyala_ir::layout::layout(&self.world.types, ty).size;
        let room = if size(to_ty) > size(from_ty) { to_ty } else { from_ty };
        let align = self.module.align_of(to_ty).max(self.module.align_of(from_ty));
        let text = self.module.part_ty(room);
        let variable = self.local("tmp", &text, align);
        self.store_to(&variable, from);
        self.load_from(&variable, to_ty)
    }

    fn variant(&mut self, def: Def, option: u32, payload: Def) -> String {
        let ty = self.world.ty(def);
        let TyKind::Enum(id) = *self.world.types.kind(ty) else { unreachable!("a variant is of an enum") };
        let variable = self.local_of(ty);
        self.store_to(&variable, payload);
        let (text, tag) = (self.module.ty(ty), self.module.types.tag(id));
        let at = self.compute("at", format!("getelementptr inbounds {text}, ptr {variable}, i32 0, i32 1"));
        self.line(format!("store {tag} {option}, ptr {at}"));
        self.load_from(&variable, ty)
    }

    fn tag(&mut self, value: Def) -> String {
        let TyKind::Enum(id) = *self.world.types.kind(self.world.ty(value)) else {
            unreachable!("only enums have tags")
        };
        let (tag, value) = (self.module.types.tag(id), self.typed(value));
        let narrow = self.compute("tag", format!("extractvalue {value}, 1"));
        match tag {
            Type::I32 => narrow,
            // The highest bit of the tag is never set.
            Type::I8 if self.world.types.enums[id].options.len() <= 1 << 7 => {
                self.compute("tag", format!("zext nneg {tag} {narrow} to i32"))
            }
            _ => self.compute("tag", format!("zext {tag} {narrow} to i32")),
        }
    }
}
