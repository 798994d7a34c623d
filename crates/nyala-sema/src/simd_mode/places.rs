//! Places in SIMD mode.
//!
//! A variable of the lanes has the type of one lane. What is behind a pointer, in a static or in a variable from outside has vectors,
//! of which a lane accesses its part (`parts`).

use nyala_span::{Name, Span};
use nyala_syntax::ast::BinaryOp;

use crate::tree::{ChainLink, Expr, ExprKind, OperatorFn};
use crate::types::{Ty, TyKind};

use super::SimdMode;
use super::build::Intrinsic;
use super::lane::Lanes;

impl SimdMode<'_> {
    pub(super) fn is_vector(&self, expr: &Expr) -> bool {
        matches!(self.program.types.kind(expr.ty), TyKind::Simd(..))
    }

    /// Whether a place is the element of a vector: `v(i)`.
    fn is_element(&self, place: &Expr) -> bool {
        matches!(&place.kind, ExprKind::Index { base, .. } if self.is_vector(base))
    }

    /// Rewrites a place as what is stored there, and gives it that type.
    pub(super) fn stored(&mut self, place: &mut Expr, lanes: &mut Lanes) {
        match &mut place.kind {
            ExprKind::Local(local) if lanes.outside.contains(local) => {}
            ExprKind::Local(local) if lanes.pointers.contains_key(local) => {
                let pointer = self.local(lanes.pointers[local], place.span);
                place.kind = ExprKind::Deref(Box::new(pointer));
            }
            ExprKind::Local(local) => {
                *local = lanes.twins.get(local).copied().unwrap_or(*local);
                place.ty = self.lane_ty(place.ty);
            }
            ExprKind::Static(_) => {}
            ExprKind::Deref(pointer) => {
                self.value(pointer, lanes);
                if let TyKind::Ptr { pointee, .. } = *self.program.types.kind(pointer.ty) {
                    place.ty = pointee;
                }
            }
            ExprKind::Field { base, index } => {
                self.stored(base, lanes);
                if let Some(&ty) = self.part_tys(base.ty).get(*index as usize) {
                    place.ty = ty;
                }
            }
            ExprKind::Index { base, index } => {
                self.stored(base, lanes);
                self.value(index, lanes);
                if let TyKind::Array(elem, _) | TyKind::Slice(elem) | TyKind::Simd(elem, _) =
                    *self.program.types.kind(base.ty)
                {
                    place.ty = elem;
                }
            }
            _ => self.value(place, lanes),
        }
    }

    /// Reads a place.
    pub(super) fn read(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        if self.is_element(expr) {
            let ExprKind::Index { base, index } = &mut expr.kind else { return };
            self.stored(base, lanes);
            self.value(index, lanes);
            if !self.is_vector(base) {
                let unit = self.unit(expr.span);
                let base = std::mem::replace(&mut **base, unit.clone());
                let index = self.as_i32(std::mem::replace(&mut **index, unit));
                *expr = self.element_of_lane(base, index, expr.span);
                return;
            }
        } else {
            self.stored(expr, lanes);
        }
        if !self.has_vectors(expr.ty) {
            return;
        }
        if !self.has_parts(expr.ty) {
            return self.unsupported("this value from outside", expr.span, lanes);
        }
        let place = std::mem::replace(expr, self.unit(expr.span));
        *expr = self.lane_of(place, lanes);
    }

    /// The value that lane `index` has.
    pub(super) fn element_of_lane(&mut self, value: Expr, index: Expr, span: Span) -> Expr {
        let (i32, ty) = (self.i32(), value.ty);
        let declared = Intrinsic { symbol: "rv_extract", params: &[None, Some(i32)], ret: None };
        self.call_intrinsic(&declared, vec![value, index], ty, span)
    }

    /// A place of the lane that is no struct with vectors: of a vector in memory, its element.
    pub(super) fn scalar_place(&mut self, place: &mut Expr, lanes: &mut Lanes) {
        self.check_ty(place.ty, place.span, lanes);
        self.stored(place, lanes);
        if !self.has_vectors(place.ty) {
            return;
        }
        match *self.program.types.kind(place.ty) {
            TyKind::Simd(elem, _) => {
                let whole = std::mem::replace(place, self.unit(place.span));
                *place = self.element_in_memory(whole, elem, lanes);
            }
            _ => self.unsupported("the address of a value with vectors", place.span, lanes),
        }
    }

    /// `p = e`, `p += e`
    pub(super) fn write(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        let ExprKind::Assign { op, place, value, by, .. } = &mut expr.kind else { return };
        self.check_ty(place.ty, place.span, lanes);
        self.value(value, lanes);
        by.iter_mut().for_each(|by| self.callee(&mut by.callee, lanes));
        if self.is_element(place) {
            return self.write_element(expr, lanes);
        }
        self.stored(place, lanes);
        let has_parts = self.has_vectors(place.ty) && self.is_record(place.ty);
        if !has_parts {
            if let TyKind::Simd(elem, _) = *self.program.types.kind(place.ty) {
                let whole = std::mem::replace(&mut **place, self.unit(expr.span));
                **place = self.element_in_memory(whole, elem, lanes);
            }
            return;
        }
        if !self.has_writable_parts(place.ty) {
            return self.unsupported("an assignment to an enum with vectors from outside", expr.span, lanes);
        }
        let unit = self.unit(expr.span);
        let place = std::mem::replace(&mut **place, unit.clone());
        let mut value = std::mem::replace(&mut **value, unit);
        let (op, by) = (*op, by.take());
        let (before, place) = self.once(place, true);
        let mut stmts: Vec<_> = before.into_iter().collect();
        if let Some(op) = op {
            let old = self.lane_of(place.clone(), lanes);
            value = self.operation(old, op, value, by);
        }
        self.assign_lane(place, value, lanes, &mut stmts);
        *expr = self.block(stmts, None, expr.span);
    }

    /// `lhs op rhs`, with the type of `lhs`.
    fn operation(&self, lhs: Expr, op: BinaryOp, rhs: Expr, by: Option<Box<OperatorFn>>) -> Expr {
        let (ty, span) = (lhs.ty, rhs.span);
        let rest = vec![ChainLink { op, rhs, ty, span, by }];
        Expr { kind: ExprKind::Chain { first: Box::new(lhs), rest }, ty, span }
    }

    /// `v(i) = e`: of a vector in memory, the element; of a variable of the lanes, that of lane `i`.
    fn write_element(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        let (span, unit) = (expr.span, self.unit(expr.span));
        let ExprKind::Assign { op, place, value, by, .. } = &mut expr.kind else { return };
        let ExprKind::Index { base, index } = &mut place.kind else { return };
        self.stored(base, lanes);
        self.value(index, lanes);
        if let TyKind::Simd(elem, _) = *self.program.types.kind(base.ty) {
            if self.has_vectors(elem) {
                return self.unsupported("an assignment to one of several structs with vectors", span, lanes);
            }
            place.ty = elem;
            let element = std::mem::replace(&mut **place, unit);
            **place = self.by_address(element);
            return;
        }
        let base = std::mem::replace(&mut **base, unit.clone());
        let index = self.as_i32(std::mem::replace(&mut **index, unit.clone()));
        let mut value = std::mem::replace(&mut **value, unit);
        let (op, by) = (*op, by.take());
        let local = self.new_local(Name::new("index"), index.ty, false, span);
        let mut stmts = vec![self.let_(local, Some(index))];
        let index = self.local(local, span);
        if let Some(op) = op {
            let old = self.element_of_lane(base.clone(), index.clone(), span);
            value = self.operation(old, op, value, by);
        }
        let (i32, ty) = (self.i32(), base.ty);
        let declared = Intrinsic { symbol: "rv_insert", params: &[None, Some(i32), None], ret: None };
        let inserted = self.call_intrinsic(&declared, vec![base.clone(), index, value], ty, span);
        stmts.push(self.assign(base, inserted));
        *expr = self.block(stmts, None, span);
    }

    /// A place whose address is taken.
    pub(super) fn address(&mut self, place: &mut Expr, lanes: &mut Lanes) {
        self.check_ty(place.ty, place.span, lanes);
        if self.is_of_lane(place, lanes) {
            return self.unsupported("the address of a vector is taken", place.span, lanes);
        }
        self.stored(place, lanes);
    }

    /// Whether a place is in a variable of which each lane has its part: the parts of all lanes are not adjacent.
    fn is_of_lane(&self, mut place: &Expr, lanes: &Lanes) -> bool {
        while let ExprKind::Field { base, .. } | ExprKind::Index { base, .. } = &place.kind {
            place = base;
        }
        match &place.kind {
            ExprKind::Local(local) => {
                let is_shared = lanes.outside.contains(local) || lanes.pointers.contains_key(local);
                self.has_vectors(place.ty) && !is_shared
            }
            ExprKind::Deref(_) | ExprKind::Static(_) => false,
            _ => self.has_vectors(place.ty),
        }
    }

    /// Whether a value has parts that lanes access one by one.
    fn is_record(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Tuple(_) | TyKind::Array(..) | TyKind::Struct(..) | TyKind::Enum(..) => true,
            TyKind::Simd(elem, _) => matches!(self.program.types.kind(*elem), TyKind::Struct(..)),
            _ => false,
        }
    }
}
