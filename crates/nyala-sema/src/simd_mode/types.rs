//! Types in SIMD mode: the type of one lane's part of a value.
//!
//! A vector becomes its element, a tuple, array, function, struct or enum what its parts become. A struct or an enum with vectors as
//! fields becomes another one. A pointer stays, and so does what it points to.

use crate::tree::Field;
use crate::types::{EnumId, StructId, Ty, TyKind, TyParam};

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
            TyKind::Simd(elem, lanes) => {
                into.extend((!into.contains(lanes)).then_some(*lanes));
                self.lengths(*elem, into);
            }
            TyKind::Tuple(parts) => parts.iter().for_each(|&part| self.lengths(part, into)),
            TyKind::Array(elem, _) => self.lengths(*elem, into),
            TyKind::Fn { params, ret } => {
                params.iter().chain([ret]).for_each(|&part| self.lengths(part, into));
            }
            TyKind::Struct(id, args) => {
                let item = &self.program.structs[*id];
                self.lengths_of_fields(item.fields.iter(), &item.tparams, args, into);
            }
            TyKind::Enum(id, args) => {
                let item = &self.program.enums[*id];
                let fields = item.options.iter().flat_map(|option| &option.fields);
                self.lengths_of_fields(fields, &item.tparams, args, into);
            }
            _ => {}
        }
    }

    /// The lengths in the fields of a struct or enum with these arguments.
    fn lengths_of_fields<'f>(
        &self,
        fields: impl Iterator<Item = &'f Field>,
        tparams: &[TyParam],
        args: &[Ty],
        into: &mut Vec<Ty>,
    ) {
        args.iter().for_each(|&arg| self.lengths(arg, into));
        for field in fields {
            let mut own = vec![];
            self.lengths(field.ty, &mut own);
            // A field may have the length of a parameter.
            for length in own {
                let is_param = |param: &TyParam| matches!(self.program.types.kind(length), TyKind::Param(it) if it == param);
                let argument = tparams.iter().zip(args).find(|(param, _)| is_param(param));
                let length = argument.map_or(length, |(_, &arg)| arg);
                into.extend((!into.contains(&length)).then_some(length));
            }
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
            // Its fields may have been vectors before.
            TyKind::Simd(elem, _) => self.lane_ty(elem),
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
            TyKind::Enum(id, args) => {
                let (id, args) = (self.lane_enum(id), self.lane_tys(&args));
                self.program.types.intern(TyKind::Enum(id, args.into()))
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

    /// The enum of one lane's parts: the same, unless a field is declared as a vector.
    fn lane_enum(&mut self, id: EnumId) -> EnumId {
        if let Some(&known) = self.lane_enums.get(&id) {
            return known;
        }
        let mut item = self.program.enums[id].clone();
        let mut fields = item.options.iter().flat_map(|option| &option.fields);
        let lane = match fields.any(|field| self.has_vectors(field.ty)) {
            false => id,
            true => {
                let fields = item.options.iter_mut().flat_map(|option| &mut option.fields);
                fields.for_each(|field| field.ty = self.lane_ty(field.ty));
                self.program.types.enum_names.push(item.name);
                self.program.enums.push(item)
            }
        };
        self.lane_enums.insert(id, lane);
        lane
    }
}
