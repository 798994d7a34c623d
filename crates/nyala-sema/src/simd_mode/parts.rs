//! The lane's part of a value with vectors: in memory, or of a variable for all lanes.

use nyala_span::{Name, Span};
use nyala_syntax::ast::BinaryOp;

use crate::tree::{ChainLink, Cond, EnumOption, Expr, ExprKind, Pat, PatKind, Stmt};
use crate::types::{Ty, TyKind};

use super::SimdMode;
use super::lane::Lanes;

/// The longest array whose elements are written out.
const MAX_ARRAY: i128 = 64;

/// A part of a composite value.
struct Part {
    place: Expr,
    value: Option<Expr>,
}

impl SimdMode<'_> {
    /// The lane's part of a place.
    pub(super) fn lane_of(&mut self, place: Expr, lanes: &Lanes) -> Expr {
        let (ty, span) = (place.ty, place.span);
        if !self.has_vectors(ty) {
            return place;
        }
        if let Some(elem) = self.elem_without_parts(ty) {
            // Other lanes may write their elements at the same time.
            return match is_in_memory(&place, lanes) {
                true => self.element_in_memory(place, elem, lanes),
                false => self.element(place, elem, lanes),
            };
        }
        if let TyKind::Enum(..) = self.program.types.kind(ty) {
            return self.lane_of_enum(place, lanes);
        }
        let (before, place) = self.once(place, false);
        let parts = self.parts(&place, None);
        let values: Vec<Expr> = parts.into_iter().map(|part| self.lane_of(part.place, lanes)).collect();
        let kind = match self.program.types.kind(ty) {
            TyKind::Struct(..) | TyKind::Simd(..) => {
                ExprKind::Struct { base: None, fields: (0..).zip(values).collect() }
            }
            TyKind::Array(..) => ExprKind::Array(values),
            _ => ExprKind::Tuple(values),
        };
        let whole = Expr { kind, ty: self.lane_ty(ty), span };
        match before {
            Some(before) => self.block(vec![before], Some(whole), span),
            None => whole,
        }
    }

    /// The element type of a vector, unless it is a struct, whose fields are vectors.
    fn elem_without_parts(&self, ty: Ty) -> Option<Ty> {
        let TyKind::Simd(elem, _) = *self.program.types.kind(ty) else { return None };
        (!matches!(self.program.types.kind(elem), TyKind::Struct(..))).then_some(elem)
    }

    /// The lane's part of an enum with vectors: the same option, with the lane's parts of its fields.
    fn lane_of_enum(&mut self, value: Expr, lanes: &Lanes) -> Expr {
        let (span, ty) = (value.span, self.lane_ty(value.ty));
        let TyKind::Enum(id, args) = self.program.types.kind(value.ty).clone() else { return value };
        let item = self.program.enums[id].clone();
        let with = item.tparams.iter().copied().zip(args.iter().copied()).collect();
        let mut arms = vec![];
        for (option, EnumOption { fields, .. }) in (0..).zip(item.options) {
            let (mut pats, mut values) = (vec![], vec![]);
            for (number, field) in (0..).zip(fields) {
                let field_ty = self.program.types.substitute(field.ty, &with);
                let local = self.new_local(field.name, field_ty, false, span);
                self.program.locals[local].is_captured = true;
                pats.push((number, self.bind(local)));
                let part = self.lane_of(self.local(local, span), lanes);
                values.push((number, part));
            }
            let pat = Pat { kind: PatKind::Variant(option, pats), ty: value.ty, span };
            arms.push((pat, Expr { kind: ExprKind::Variant { option, fields: values }, ty, span }));
        }
        Expr { kind: ExprKind::Match { scrutinee: Box::new(value), arms }, ty, span }
    }

    fn element(&mut self, vector: Expr, elem: Ty, lanes: &Lanes) -> Expr {
        let span = vector.span;
        let index = self.lane_index(lanes, span);
        let kind = ExprKind::Index { base: Box::new(vector), index: Box::new(index) };
        Expr { kind, ty: elem, span }
    }

    /// The lane's element of a vector in memory, as a place. Lanes access their elements by their addresses: an assignment to an element
    /// of a vector writes all of it.
    pub(super) fn element_in_memory(&mut self, vector: Expr, elem: Ty, lanes: &Lanes) -> Expr {
        let element = self.element(vector, elem, lanes);
        self.by_address(element)
    }

    /// An element of a vector in memory, as a place of its own. Elements of an unknown type may consist of parts, which have no
    /// common address.
    pub(super) fn by_address(&mut self, element: Expr) -> Expr {
        let (ty, span) = (element.ty, element.span);
        match self.program.types.kind(ty) {
            TyKind::Param(_) | TyKind::Struct(..) => element,
            _ => {
                let address = Box::new(self.address_of(element, true));
                Expr { kind: ExprKind::Deref(address), ty, span }
            }
        }
    }

    /// Assigns the lane's part of a place. The parts that are no vectors are assigned by lane 0.
    pub(super) fn assign_lane(&mut self, place: Expr, value: Expr, lanes: &Lanes, into: &mut Vec<Stmt>) {
        let (ty, span) = (place.ty, place.span);
        if let Some(elem) = self.elem_without_parts(ty) {
            let place = self.element_in_memory(place, elem, lanes);
            into.push(self.assign(place, value));
            return;
        }
        if !self.has_vectors(ty) {
            let cond = Cond::Expr(self.is_lane_zero(lanes, span));
            let assign = self.assign(place, value);
            let then = self.block(vec![assign], None, span);
            let kind = ExprKind::If { arms: vec![(cond, then)], other: None };
            into.push(Stmt::Expr(Expr { kind, ty: self.program.types.unit(), span }));
            return;
        }
        let (before, place) = self.once(place, true);
        into.extend(before);
        let local = self.new_local(Name::new("value"), value.ty, false, span);
        into.push(self.let_(local, Some(value)));
        let value = self.local(local, span);
        for part in self.parts(&place, Some(&value)) {
            let value = part.value.expect("there is a value for each part");
            self.assign_lane(part.place, value, lanes, into);
        }
    }

    fn is_lane_zero(&mut self, lanes: &Lanes, span: Span) -> Expr {
        let (first, ty) = (self.lane_index(lanes, span), self.program.types.bool());
        let rhs = Expr { kind: ExprKind::Lit(0), ty: first.ty, span };
        let rest = vec![ChainLink { op: BinaryOp::Eq, rhs, ty, span, by: None }];
        Expr { kind: ExprKind::Chain { first: Box::new(first), rest }, ty, span }
    }

    /// A place that can be used several times: behind a pointer, the pointer is computed once, before.
    pub(super) fn once(&mut self, place: Expr, is_mut: bool) -> (Option<Stmt>, Expr) {
        let mut root = &place;
        while let ExprKind::Field { base, .. } = &root.kind {
            root = base;
        }
        if matches!(root.kind, ExprKind::Local(_)) {
            return (None, place);
        }
        let (ty, span) = (place.ty, place.span);
        let address = self.address_of(place, is_mut);
        let local = self.new_local(Name::new("place"), address.ty, false, span);
        let before = self.let_(local, Some(address));
        let pointer = Box::new(self.local(local, span));
        (Some(before), Expr { kind: ExprKind::Deref(pointer), ty, span })
    }

    /// The parts of a place, each with that of a value of one lane.
    fn parts(&mut self, place: &Expr, value: Option<&Expr>) -> Vec<Part> {
        let span = place.span;
        let tys = self.part_tys(place.ty);
        let value_tys = value.map(|value| self.part_tys(value.ty));
        let is_array = matches!(self.program.types.kind(place.ty), TyKind::Array(..));
        let i32 = self.i32();
        let part = |whole: &Expr, number: u32, ty: Ty| {
            let base = Box::new(whole.clone());
            let kind = match is_array {
                true => {
                    let index = Box::new(Expr { kind: ExprKind::Lit(number.into()), ty: i32, span });
                    ExprKind::Index { base, index }
                }
                false => ExprKind::Field { base, index: number },
            };
            Expr { kind, ty, span }
        };
        let numbered = (0..).zip(tys);
        numbered
            .map(|(number, ty)| Part {
                place: part(place, number, ty),
                value: value
                    .zip(value_tys.as_ref())
                    .map(|(value, tys)| part(value, number, tys[number as usize])),
            })
            .collect()
    }

    /// The types of the parts of a tuple, an array, a struct or a vector of structs.
    pub(super) fn part_tys(&mut self, ty: Ty) -> Vec<Ty> {
        match self.program.types.kind(ty).clone() {
            TyKind::Tuple(parts) => parts.to_vec(),
            TyKind::Array(elem, len) => {
                vec![elem; self.program.types.as_number(len).map_or(0, |len| len as usize)]
            }
            TyKind::Struct(id, args) => {
                let item = &self.program.structs[id];
                let with = item.tparams.iter().copied().zip(args.iter().copied()).collect();
                let tys: Vec<Ty> = item.fields.iter().map(|field| field.ty).collect();
                tys.into_iter().map(|ty| self.program.types.substitute(ty, &with)).collect()
            }
            TyKind::Simd(elem, lanes) => {
                let TyKind::Struct(id, _) = *self.program.types.kind(elem) else { return vec![] };
                let mut tys = self.part_tys(elem);
                for (field, ty) in self.program.structs[id].fields.iter().zip(&mut tys) {
                    if !field.is_uniform {
                        *ty = self.program.types.vector(*ty, lanes);
                    }
                }
                tys
            }
            _ => vec![],
        }
    }

    /// Whether the parts of a value can be written out.
    pub(super) fn has_parts(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Array(elem, len) if self.has_vectors(*elem) => {
                let is_short = self.program.types.as_number(*len).is_some_and(|len| len <= MAX_ARRAY);
                is_short && self.has_parts(*elem)
            }
            TyKind::Tuple(parts) => parts.iter().all(|&part| self.has_parts(part)),
            TyKind::Struct(id, _) => {
                self.program.structs[*id].fields.iter().all(|field| self.has_parts(field.ty))
            }
            TyKind::Enum(id, _) => {
                let mut fields = self.program.enums[*id].options.iter().flat_map(|option| &option.fields);
                fields.all(|field| self.has_parts(field.ty))
            }
            TyKind::Fn { .. } => !self.has_vectors(ty),
            _ => true,
        }
    }

    /// Whether lanes can write their parts of a value: they may choose different options of an enum.
    pub(super) fn has_writable_parts(&self, ty: Ty) -> bool {
        self.has_parts(ty)
            && match self.program.types.kind(ty) {
                TyKind::Tuple(parts) => parts.iter().all(|&part| self.has_writable_parts(part)),
                TyKind::Array(elem, _) => self.has_writable_parts(*elem),
                TyKind::Struct(id, _) => {
                    let mut fields = self.program.structs[*id].fields.iter();
                    fields.all(|field| self.has_writable_parts(field.ty))
                }
                TyKind::Enum(..) => !self.has_vectors(ty),
                _ => true,
            }
    }
}

/// Whether a place is in memory that lanes may write.
fn is_in_memory(mut place: &Expr, lanes: &Lanes) -> bool {
    while let ExprKind::Field { base, .. } | ExprKind::Index { base, .. } = &place.kind {
        place = base;
    }
    match &place.kind {
        ExprKind::Deref(_) | ExprKind::Static(_) => true,
        ExprKind::Local(local) => lanes.outside.contains(local),
        _ => false,
    }
}
