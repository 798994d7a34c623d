//! Tuples, arrays, vectors, structs, and their parts.

use nyala_span::{Name, Span};
use nyala_syntax::ast::{self, FieldInit, FieldName, Ident, PtrKind};
use rustc_hash::FxHashMap;

use crate::checker::Checker;
use crate::convert::substitution;
use crate::errors::{Because, Error, Method, Namespace};
use crate::resolve::most_similar;
use crate::scope::Def;
use crate::tree::{Coercion, Expr, ExprKind, Field};
use crate::types::{StructId, Ty, TyKind, TyParam};

use super::operator::Obligation;
use super::unify::{Origin, VarKind};

/// The struct or option of a literal with named fields.
struct Record {
    ty: Ty,
    name: Name,
    option: Option<u32>,
    fields: Vec<RecordField>,
    with: FxHashMap<TyParam, Ty>,
    /// Of a vector of structs, the length.
    lanes: Option<Ty>,
}

/// A field of a [`Record`].
struct RecordField {
    name: Name,
    span: Span,
    ty: Ty,
    has_default: bool,
    is_uniform: bool,
}

fn record_fields(fields: &[Field]) -> Vec<RecordField> {
    let field = |field: &Field| RecordField {
        name: field.name,
        span: field.span,
        ty: field.ty,
        has_default: field.default.is_some(),
        is_uniform: field.is_uniform,
    };
    fields.iter().map(field).collect()
}

impl<'a> Checker<'a> {
    pub(super) fn tuple(&mut self, parts: &'a [ast::Expr], span: Span, hint: Option<Ty>) -> Expr {
        let hints = hint.map(|hint| self.tuple_hints(hint)).unwrap_or_default();
        let infer = |(i, part)| {
            let value = self.infer_expr(part, hints.get(i).copied());
            let ty = self.sized(value.ty, value.span);
            Expr { ty, ..value }
        };
        let parts: Vec<Expr> = parts.iter().enumerate().map(infer).collect();
        let tys: Vec<Ty> = parts.iter().map(|part| part.ty).collect();
        let ty = self.program.types.tuple(&tys);
        Expr { kind: ExprKind::Tuple(parts), ty, span }
    }

    fn tuple_hints(&mut self, hint: Ty) -> Vec<Ty> {
        let hint = self.resolve(hint);
        match self.program.types.kind(hint) {
            TyKind::Tuple(parts) => parts.to_vec(),
            _ => vec![],
        }
    }

    /// The element type of an expected array or vector, or of a pointer to one.
    fn elem_hint(&mut self, hint: Option<Ty>) -> Option<Ty> {
        let hint = self.resolve(hint?);
        match *self.program.types.kind(hint) {
            TyKind::Array(elem, _) | TyKind::Slice(elem) | TyKind::Simd(elem, _) => Some(elem),
            TyKind::Ptr { pointee, .. } => {
                let pointee = self.resolve(pointee);
                match *self.program.types.kind(pointee) {
                    TyKind::Array(elem, _) | TyKind::Slice(elem) | TyKind::Simd(elem, _) => Some(elem),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    pub(super) fn array(
        &mut self,
        is_simd: bool,
        elems: &'a [ast::Expr],
        span: Span,
        hint: Option<Ty>,
    ) -> Expr {
        let mut elem_ty = self.elem_hint(hint);
        let mut because = Because::Nothing;
        let mut typed = Vec::with_capacity(elems.len());
        for elem in elems {
            let value = match elem_ty {
                Some(ty) => self.check_expr(elem, ty, because),
                None => self.infer_expr(elem, None),
            };
            if elem_ty.is_none() && !self.is_error(value.ty) && !self.is_never(value.ty) {
                elem_ty = Some(self.sized(value.ty, value.span));
                because = Because::Elem(value.span);
            }
            typed.push(value);
        }
        let elem_ty = match elem_ty {
            Some(ty) => ty,
            None => self.fresh(VarKind::General, Origin::Expr(span)),
        };
        let len = self.program.types.number(elems.len() as i128);
        let ty = self.array_type(is_simd, elem_ty, len, span);
        Expr { kind: ExprKind::Array(typed), ty, span }
    }

    pub(super) fn repeat(
        &mut self,
        is_simd: bool,
        value: &'a ast::Expr,
        len: &'a ast::Expr,
        span: Span,
        hint: Option<Ty>,
    ) -> Expr {
        let value = match self.elem_hint(hint) {
            Some(ty) => self.check_expr(value, ty, Because::Nothing),
            None => self.infer_expr(value, None),
        };
        let elem = self.sized(value.ty, value.span);
        let len = if is_simd { self.lanes(len) } else { self.length(len) };
        let ty = match len {
            Some(len) => self.array_type(is_simd, elem, len, span),
            None => self.program.types.error(),
        };
        let is_scalar = matches!(self.program.types.kind(elem), TyKind::Prim(_) | TyKind::Ptr { .. });
        let kind = match is_simd && !is_scalar {
            true => ExprKind::Coerce { kind: Coercion::Broadcast, expr: Box::new(value) },
            false => ExprKind::Repeat(Box::new(value)),
        };
        Expr { kind, ty, span }
    }

    pub(super) fn array_type(&mut self, is_simd: bool, elem: Ty, len: Ty, span: Span) -> Ty {
        if !is_simd {
            return self.program.types.intern(TyKind::Array(elem, len));
        }
        let Some(lane) = self.lane(elem, span) else { return self.program.types.error() };
        match self.check_lanes(len, span) {
            Some(lanes) => self.program.types.vector(lane, lanes),
            None => self.program.types.error(),
        }
    }

    pub(super) fn heap_array(&mut self, len: &'a ast::Expr, elem: &'a ast::TypeExpr, span: Span) -> Expr {
        let len = self.index(len);
        let elem = self.convert_sized(elem);
        let slice = self.program.types.intern(TyKind::Slice(elem));
        let ty = self.program.types.ptr(PtrKind::Owned, 0, slice);
        Expr { kind: ExprKind::HeapArray { len: Box::new(len), elem }, ty, span }
    }

    /// An integer of any type.
    pub(super) fn index(&mut self, index: &'a ast::Expr) -> Expr {
        let index = self.infer_expr(index, None);
        self.body.obligations.push(Obligation::Index { ty: index.ty, span: index.span });
        index
    }

    /// `S { x: a }`, `E::C { x = a }`
    pub(super) fn struct_literal(
        &mut self,
        path: &'a ast::Path,
        args: &'a [ast::TypeExpr],
        inits: &'a [FieldInit],
        span: Span,
        hint: Option<Ty>,
    ) -> Expr {
        let lanes = self.lanes_of_structs(hint);
        let hint = match lanes {
            Some((elem, _)) => Some(elem),
            None => hint,
        };
        let Some(mut record) = self.record(path, args, hint) else {
            for init in inits {
                self.infer_expr(&init.value, None);
            }
            return self.error_expr(span);
        };
        if let Some((_, lanes)) = lanes {
            self.make_vector(&mut record, lanes);
        }
        let fields = self.field_inits(&mut record, inits);
        // A misspelled field explains a missing one: one report is enough.
        let all_known = fields.len() == inits.len();
        let missing = self.missing_fields(&record, &fields);
        if !missing.is_empty() && all_known {
            self.report(Error::MissingFields { of: record.name, names: missing, span: path.span });
        }
        let ty = record.ty;
        let kind = match record.option {
            Some(option) => ExprKind::Variant { option, fields },
            None => ExprKind::Struct { base: None, fields },
        };
        Expr { kind, ty, span }
    }

    /// The struct or option of a path in front of `{ .. }`.
    fn record(&mut self, path: &'a ast::Path, args: &'a [ast::TypeExpr], hint: Option<Ty>) -> Option<Record> {
        let span = path.span;
        let name = path.segments.last().expect("a path has at least one segment").name;
        let def = self.resolve_path(path, Namespace::Type).0;
        let given = &self.generic_args(args, &self.tparams_of(def));
        let what = match def {
            Def::Struct(id) if !matches!(self.structs[id].ast.fields, ast::Fields::Record(_)) => {
                self.report(Error::NotAType {
                    name,
                    what: "tuple-like struct",
                    wanted: "a struct with named fields",
                    span,
                });
                return None;
            }
            Def::Struct(id) => {
                let (ty, args) = self.struct_type(id, given, span, hint);
                return Some(self.struct_record(id, ty, &args));
            }
            Def::Alias(id) => {
                let tparams = self.aliases[id].tparams.clone();
                let args = self.instantiate(&tparams, given, &format_args!("`{name}`"), span);
                let target = self.aliases[id].ty?;
                let ty = self.program.types.substitute(target, &substitution(&tparams, &args));
                self.prefer(ty, hint);
                match self.program.types.kind(ty).clone() {
                    TyKind::Struct(id, args) => return Some(self.struct_record(id, ty, &args)),
                    TyKind::Error => return None,
                    _ => {
                        self.report(Error::StructNeeded { ty, span, method: None });
                        return None;
                    }
                }
            }
            Def::Option(of, option) => {
                let (ty, args) = self.enum_type(of, given, span, hint);
                let with = substitution(&self.program.enums[of].tparams, &args);
                let info = self.program.enums[of].options.get(option as usize)?;
                if info.is_record || info.fields.is_empty() {
                    let fields = record_fields(&info.fields);
                    let option = Some(option);
                    return Some(Record { ty, name, option, fields, with, lanes: None });
                }
                "option without named fields"
            }
            Def::Error => return None,
            other => other.noun(),
        };
        self.report(Error::NotAType { name, what, wanted: "a struct", span });
        None
    }

    fn struct_record(&mut self, id: StructId, ty: Ty, args: &[Ty]) -> Record {
        let it = &self.program.structs[id];
        let with = substitution(&it.tparams, args);
        Record { ty, name: it.name, option: None, fields: record_fields(&it.fields), with, lanes: None }
    }

    /// The struct or enum and the length, if `ty` is a vector of them.
    fn lanes_of_structs(&mut self, ty: Option<Ty>) -> Option<(Ty, Ty)> {
        let ty = self.resolve(ty?);
        let TyKind::Simd(elem, lanes) = *self.program.types.kind(ty) else { return None };
        self.is_nominal(elem).then_some((elem, lanes))
    }

    fn make_vector(&mut self, record: &mut Record, lanes: Ty) {
        record.lanes = Some(lanes);
        record.ty = self.program.types.vector(record.ty, lanes);
    }

    /// The type of a field in a literal.
    fn init_type(&mut self, record: &Record, field: &RecordField) -> Ty {
        let ty = self.program.types.substitute(field.ty, &record.with);
        match record.lanes {
            Some(lanes) if !field.is_uniform => self.program.types.vector(ty, lanes),
            _ => ty,
        }
    }

    /// Makes a literal one of a vector of structs or enums, if a field that is no vector gets one.
    fn vector_of_inits(&mut self, record: &mut Record, typed: &[(u32, Expr)]) {
        if record.lanes.is_some() {
            return;
        }
        for (number, value) in typed {
            let field = &record.fields[*number as usize];
            let (ty, is_uniform) = (field.ty, field.is_uniform);
            let ty = self.program.types.substitute(ty, &record.with);
            let (own, given) = (self.resolve(ty), self.resolve(value.ty));
            let is_scalar = !matches!(self.program.types.kind(own), TyKind::Infer(_));
            if let Some(lanes) = self.lanes_in(given)
                && is_scalar
                && !is_uniform
                && self.lanes_in(own).is_none()
            {
                return self.make_vector(record, lanes);
            }
        }
    }

    /// The length of the first vector in a value.
    pub(super) fn lanes_in(&mut self, ty: Ty) -> Option<Ty> {
        let ty = self.resolve(ty);
        match self.program.types.kind(ty).clone() {
            TyKind::Simd(_, lanes) => Some(lanes),
            TyKind::Tuple(parts) => parts.iter().find_map(|&part| self.lanes_in(part)),
            TyKind::Array(elem, _) => self.lanes_in(elem),
            _ => None,
        }
    }

    fn field_inits(&mut self, record: &mut Record, inits: &'a [FieldInit]) -> Vec<(u32, Expr)> {
        let numbers: FxHashMap<Name, u32> =
            record.fields.iter().enumerate().map(|(i, field)| (field.name, i as u32)).collect();
        let mut given: FxHashMap<Name, Span> = FxHashMap::default();
        let mut typed = Vec::with_capacity(inits.len());
        for init in inits {
            let Ident { name, span } = init.name;
            let Some(&number) = numbers.get(&name) else {
                let similar = most_similar(name, record.fields.iter().map(|field| field.name));
                let ty = self.shown(record.ty);
                self.report(Error::NoSuchField { ty, name, span, similar });
                self.infer_expr(&init.value, None);
                continue;
            };
            let ty = self.init_type(record, &record.fields[number as usize]);
            let value = self.infer_expr(&init.value, Some(ty));
            match given.insert(name, span) {
                Some(first) => self.report(Error::FieldTwice { name, span, first }),
                None => typed.push((number, value)),
            }
        }
        self.vector_of_inits(record, &typed);
        let coerced = typed.into_iter().map(|(number, value)| {
            let field = &record.fields[number as usize];
            let (ty, because) = (self.init_type(record, field), Because::Field(field.span));
            (number, self.coerce(value, ty, because))
        });
        coerced.collect()
    }

    /// The omitted fields without default. Defaults are inserted when the body is finished,
    /// because their types are final.
    fn missing_fields(&self, record: &Record, fields: &[(u32, Expr)]) -> Vec<Name> {
        let mut is_given = vec![false; record.fields.len()];
        for (number, _) in fields {
            is_given[*number as usize] = true;
        }
        let fields = record.fields.iter().zip(is_given);
        let missing = fields.filter(|(field, is_given)| !is_given && !field.has_default);
        missing.map(|(field, _)| field.name).collect()
    }

    /// `e.{ x = a }`
    pub(super) fn update(
        &mut self,
        base: &'a ast::Expr,
        inits: &'a [FieldInit],
        span: Span,
        hint: Option<Ty>,
    ) -> Expr {
        let base = self.infer_expr(base, hint);
        self.solve_for(base.ty);
        let base = self.auto_deref(base);
        let ty = self.resolve(base.ty);
        let (structs, lanes) =
            self.lanes_of_structs(Some(ty)).map_or((ty, None), |(elem, n)| (elem, Some(n)));
        let structs = self.resolve(structs);
        match self.program.types.kind(structs).clone() {
            TyKind::Struct(id, args) => {
                let mut record = self.struct_record(id, structs, &args);
                if let Some(lanes) = lanes {
                    self.make_vector(&mut record, lanes);
                }
                let fields = self.field_inits(&mut record, inits);
                let base = self.coerce(base, record.ty, Because::Nothing);
                Expr { kind: ExprKind::Struct { base: Some(Box::new(base)), fields }, ty: record.ty, span }
            }
            kind => {
                if kind != TyKind::Error {
                    let ty = self.shown(ty);
                    self.report(Error::StructNeeded { ty, span: base.span, method: None });
                }
                for init in inits {
                    self.infer_expr(&init.value, None);
                }
                self.error_expr(span)
            }
        }
    }

    /// `e.f`, `e.0`
    pub(super) fn field(&mut self, base: &'a ast::Expr, field: &'a FieldName, span: Span) -> Expr {
        let base = self.infer_expr(base, None);
        if self.is_unknown(base.ty) {
            return self.defer_field(base, *field, span);
        }
        self.field_of(base, field, span)
    }

    /// Field `field` of a value of known type.
    pub(super) fn field_of(&mut self, base: Expr, field: &FieldName, span: Span) -> Expr {
        let base = self.auto_deref(base);
        let ty = self.resolve(base.ty);
        let (name, name_span) = match field {
            FieldName::Named(ident) => (ident.name, ident.span),
            FieldName::Index { index, span } => (Name::new(&index.to_string()), *span),
        };
        match self.program.types.kind(ty).clone() {
            TyKind::Struct(id, args) => self.struct_field(base, (id, &args, None), name, (span, name_span)),
            TyKind::Simd(elem, lanes) if let Some((id, args)) = self.as_struct(elem) => {
                self.struct_field(base, (id, &args, Some(lanes)), name, (span, name_span))
            }
            TyKind::Tuple(parts) => match field {
                FieldName::Index { index, .. } => {
                    self.tuple_part(base, &parts, u64::from(*index), span, name_span)
                }
                FieldName::Named(_) => {
                    let ty = self.shown(ty);
                    self.report(Error::NoSuchField { ty, name, span: name_span, similar: None });
                    self.error_expr(span)
                }
            },
            TyKind::Error => self.error_expr(span),
            _ => {
                let (ty, method) = (self.shown(ty), self.method(ty, name));
                self.report(Error::StructNeeded { ty, span: base.span, method });
                self.error_expr(span)
            }
        }
    }

    /// The struct that `ty` is known to be, with its arguments.
    pub(super) fn as_struct(&mut self, ty: Ty) -> Option<(StructId, Box<[Ty]>)> {
        let ty = self.resolve(ty);
        match self.program.types.kind(ty) {
            TyKind::Struct(id, args) => Some((*id, args.clone())),
            _ => None,
        }
    }

    /// The field `name` of a struct, or of a vector of so many structs.
    fn struct_field(
        &mut self,
        base: Expr,
        (id, args, lanes): (StructId, &[Ty], Option<Ty>),
        name: Name,
        (span, name_span): (Span, Span),
    ) -> Expr {
        let Some(&index) = self.structs[id].fields.get(&name) else {
            let fields = &self.program.structs[id].fields;
            let similar = most_similar(name, fields.iter().map(|field| field.name));
            let ty = self.shown(base.ty);
            self.report(Error::NoSuchField { ty, name, span: name_span, similar });
            return self.error_expr(span);
        };
        let mut ty = self.field_type(id, args, index);
        if let Some(lanes) = lanes.filter(|_| !self.program.structs[id].fields[index as usize].is_uniform) {
            ty = self.program.types.vector(ty, lanes);
        }
        Expr { kind: ExprKind::Field { base: Box::new(base), index }, ty, span }
    }

    /// What `name` is after a value of a type without fields, in languages with methods.
    fn method(&mut self, ty: Ty, name: Name) -> Option<Method> {
        let is_array = matches!(self.program.types.kind(ty), TyKind::Array(..) | TyKind::Slice(_));
        if is_array && matches!(name.as_str(), "len" | "length" | "size") {
            return Some(Method::Length);
        }
        matches!(self.lookup(name), Some(Def::Fn(_))).then_some(Method::Function(name))
    }

    pub(super) fn field_type(&mut self, id: StructId, args: &[Ty], index: u32) -> Ty {
        let it = &self.program.structs[id];
        let with = substitution(&it.tparams, args);
        let ty = it.fields[index as usize].ty;
        self.program.types.substitute(ty, &with)
    }

    /// Part `index` of a tuple.
    pub(super) fn tuple_part(
        &mut self,
        base: Expr,
        parts: &[Ty],
        index: u64,
        span: Span,
        index_span: Span,
    ) -> Expr {
        match parts.get(usize::try_from(index).unwrap_or(usize::MAX)) {
            Some(&ty) => {
                Expr { kind: ExprKind::Field { base: Box::new(base), index: index as u32 }, ty, span }
            }
            None => {
                let ty = self.shown(base.ty);
                self.report(Error::TupleIndex { ty, span: index_span });
                self.error_expr(span)
            }
        }
    }

    /// Reads through one pointer, if there is one.
    pub(super) fn auto_deref(&mut self, base: Expr) -> Expr {
        let ty = self.resolve(base.ty);
        match *self.program.types.kind(ty) {
            TyKind::Ptr { pointee, .. } => {
                let span = base.span;
                Expr { kind: ExprKind::Deref(Box::new(base)), ty: pointee, span }
            }
            TyKind::Simd(elem, lanes) => {
                let elem = self.resolve(elem);
                let TyKind::Ptr { pointee, .. } = *self.program.types.kind(elem) else { return base };
                let (ty, span) = (self.in_lanes(pointee, lanes, base.span), base.span);
                Expr { kind: ExprKind::Deref(Box::new(base)), ty, span }
            }
            _ => base,
        }
    }
}
