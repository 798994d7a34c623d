//! Types in SIMD mode: the type of one lane's part of a value.
//!
//! A vector becomes its element, a tuple, array, function or struct what its parts become. A struct with vectors as fields
//! becomes another struct. A pointer stays, and so does what it points to.

use crate::tree::Field;
use crate::types::{StructId, Ty, TyKind};

use super::SimdMode;

impl SimdMode<'_> {
    /// Whether a value of this type contains a vector.
    pub(super) fn has_vectors(&self, ty: Ty) -> bool {
        let mut lengths = vec![];
        self.lengths(ty, &mut lengths);
        !lengths.is_empty()
    }

    /// The lengths of the vectors in a value of this type, each once.
    pub(super) fn lengths(&self, ty: Ty, into: &mut Vec<Ty>) {
        let types = &self.program.types;
        match types.kind(ty) {
            TyKind::Simd(_, lanes) if !into.contains(lanes) => into.push(*lanes),
            TyKind::Tuple(parts) => parts.iter().for_each(|&part| self.lengths(part, into)),
            TyKind::Array(elem, _) => self.lengths(*elem, into),
            TyKind::Fn { params, ret } => {
                params.iter().chain([ret]).for_each(|&part| self.lengths(part, into));
            }
            TyKind::Struct(id, args) => {
                args.iter().for_each(|&arg| self.lengths(arg, into));
                // A field may have the length of a parameter.
                let item = &self.program.structs[*id];
                for field in &item.fields {
                    let before = into.len();
                    self.lengths(field.ty, into);
                    for length in &mut into[before..] {
                        let argument = item.tparams.iter().zip(args).find(
                            |(param, _)| matches!(types.kind(*length), TyKind::Param(it) if it == *param),
                        );
                        *length = argument.map_or(*length, |(_, &arg)| arg);
                    }
                }
                into.sort_unstable();
                into.dedup();
            }
            TyKind::Enum(id, args) => {
                args.iter().for_each(|&arg| self.lengths(arg, into));
                let options = &self.program.enums[*id].options;
                options
                    .iter()
                    .flat_map(|option| &option.fields)
                    .for_each(|field| self.lengths(field.ty, into));
            }
            _ => {}
        }
    }

    /// Whether the parts of a value have a form for one lane.
    pub(super) fn has_lane_form(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Enum(..) => !self.has_vectors(ty),
            TyKind::Tuple(parts) => parts.iter().all(|&part| self.has_lane_form(part)),
            TyKind::Array(elem, _) => self.has_lane_form(*elem),
            TyKind::Struct(id, _) => {
                self.program.structs[*id].fields.iter().all(|field| self.has_lane_form(field.ty))
            }
            _ => true,
        }
    }

    /// The type of one lane's part.
    pub(super) fn lane_ty(&mut self, ty: Ty) -> Ty {
        if !self.has_vectors(ty) {
            return ty;
        }
        if let Some(&known) = self.lane_types.get(&ty) {
            return known;
        }
        let lane = self.new_lane_ty(ty);
        self.lane_types.insert(ty, lane);
        lane
    }

    fn new_lane_ty(&mut self, ty: Ty) -> Ty {
        match self.program.types.kind(ty).clone() {
            TyKind::Simd(elem, _) => elem,
            TyKind::Tuple(parts) => {
                let parts = self.lane_tys(&parts);
                self.program.types.tuple(&parts)
            }
            TyKind::Array(elem, len) => {
                let elem = self.lane_ty(elem);
                self.program.types.intern(TyKind::Array(elem, len))
            }
            TyKind::Fn { params, ret } => {
                let (params, ret) = (self.lane_tys(&params), self.lane_ty(ret));
                self.program.types.func(&params, ret)
            }
            TyKind::Struct(id, args) => {
                let (id, args) = (self.lane_struct(id), self.lane_tys(&args));
                self.program.types.intern(TyKind::Struct(id, args.into()))
            }
            _ => ty,
        }
    }

    /// The types of one lane's parts.
    pub(super) fn lane_tys(&mut self, tys: &[Ty]) -> Vec<Ty> {
        tys.iter().map(|&ty| self.lane_ty(ty)).collect()
    }

    /// The struct of one lane's parts: the same, unless a field is declared as a vector.
    fn lane_struct(&mut self, id: StructId) -> StructId {
        if let Some(&known) = self.lane_structs.get(&id) {
            return known;
        }
        let mut item = self.program.structs[id].clone();
        let has_vectors = item.fields.iter().any(|field| self.has_vectors(field.ty));
        let lane = match has_vectors {
            false => id,
            true => {
                let lane_field = |field: Field| Field { ty: self.lane_ty(field.ty), default: None, ..field };
                item.fields = item.fields.into_iter().map(lane_field).collect();
                self.program.types.struct_names.push(item.name);
                self.program.structs.push(item)
            }
        };
        self.lane_structs.insert(id, lane);
        lane
    }
}
