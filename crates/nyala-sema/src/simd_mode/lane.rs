//! Rewrites code of SIMD mode as that of one lane.

use nyala_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::tree::{Coercion, Expr, ExprKind, Lambda, LocalId, Param, Pat, PatKind, Stmt};
use crate::types::{Ty, TyKind};
use crate::visit;

use super::SimdMode;
use super::build::Intrinsic;
use super::errors;

/// The lanes for which code is rewritten.
pub(super) struct Lanes {
    /// Their number; in a function whose type has no vectors itself, there is none.
    pub(super) lanes: Option<Ty>,
    /// Where SIMD mode begins.
    pub(super) entered: Span,
    pub(super) index: Index,
    /// The variables of one lane, or of the rewritten function, for others.
    pub(super) twins: FxHashMap<LocalId, LocalId>,
    /// Variables with vectors of which there is one for all lanes.
    pub(super) outside: FxHashSet<LocalId>,
    /// Whether the code stays where it is as well, so that it needs variables of its own.
    pub(super) is_copy: bool,
    /// Whether the code becomes a lambda in that of the lane.
    pub(super) is_lambda: bool,
    /// Whether an error was reported.
    has_errors: bool,
}

/// Where the index of the lane is.
pub(super) enum Index {
    Variable(LocalId),
    /// The result of a collective operation.
    Function,
}

impl Lanes {
    pub(super) fn new(lanes: Option<Ty>, entered: Span, index: Index) -> Lanes {
        let is_copy = matches!(index, Index::Function);
        let (twins, outside) = (FxHashMap::default(), FxHashSet::default());
        Lanes { lanes, entered, index, twins, outside, is_copy, is_lambda: false, has_errors: false }
    }
}

impl SimdMode<'_> {
    /// Rewrites an expression.
    pub(super) fn value(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        self.check_ty(expr.ty, expr.span, lanes);
        if lanes.has_errors {
            return;
        }
        match &mut expr.kind {
            ExprKind::Local(_)
            | ExprKind::Static(_)
            | ExprKind::Field { .. }
            | ExprKind::Index { .. }
            | ExprKind::Deref(_) => return self.read(expr, lanes),
            ExprKind::Array(_) | ExprKind::Repeat(_)
                if matches!(self.program.types.kind(expr.ty), TyKind::Simd(..)) =>
            {
                return self.vector(expr, lanes);
            }
            ExprKind::Coerce { kind: Coercion::Broadcast, expr: inner } => {
                self.value(inner, lanes);
                let (ty, span) = (self.lane_ty(expr.ty), expr.span);
                let inner = std::mem::replace(&mut **inner, self.unit(span));
                *expr = Expr { ty, ..inner };
                return;
            }
            ExprKind::AddrOf(place) | ExprKind::Coerce { kind: Coercion::AddrOf, expr: place } => {
                self.address(place, lanes);
            }
            ExprKind::Assign { .. } => return self.write(expr, lanes),
            ExprKind::Step { place, .. } => self.place(place, lanes),
            ExprKind::Lambda(lambda) => self.lambda(lambda, lanes),
            ExprKind::Call(_) => return self.call_in_lanes(expr, lanes),
            ExprKind::Fn(..) => self.callee(expr, lanes),
            ExprKind::Block { stmts, value } => {
                stmts.iter_mut().for_each(|stmt| self.statement(stmt, lanes));
                value.iter_mut().for_each(|value| self.value(value, lanes));
            }
            ExprKind::Match { scrutinee, arms } => {
                self.value(scrutinee, lanes);
                for (pat, value) in arms {
                    self.pattern(pat, lanes);
                    self.value(value, lanes);
                }
            }
            ExprKind::While { cond, body, break_local, continue_local } => {
                self.cond(cond, lanes);
                self.declare(break_local, lanes);
                self.declare(continue_local, lanes);
                self.value(body, lanes);
            }
            ExprKind::If { arms, other } => {
                for (cond, value) in arms {
                    self.cond(cond, lanes);
                    self.value(value, lanes);
                }
                other.iter_mut().for_each(|other| self.value(other, lanes));
            }
            ExprKind::Chain { first, rest } => {
                self.value(first, lanes);
                for link in rest {
                    self.value(&mut link.rhs, lanes);
                    link.ty = self.lane_ty(link.ty);
                    link.by.iter_mut().for_each(|by| self.callee(&mut by.callee, lanes));
                }
            }
            ExprKind::Box(inner) if self.has_vectors(inner.ty) => {
                self.unsupported("a vector is moved to the heap", expr.span, lanes);
            }
            ExprKind::Asm(_) => self.unsupported("assembly", expr.span, lanes),
            _ => visit::for_each_child_mut(expr, &mut |child| self.value(child, lanes)),
        }
        expr.ty = self.lane_ty(expr.ty);
    }

    fn cond(&mut self, cond: &mut crate::tree::Cond, lanes: &mut Lanes) {
        match cond {
            crate::tree::Cond::Expr(cond) => self.value(cond, lanes),
            crate::tree::Cond::Let(pat, value) => {
                self.value(value, lanes);
                self.pattern(pat, lanes);
            }
        }
    }

    fn statement(&mut self, stmt: &mut Stmt, lanes: &mut Lanes) {
        match stmt {
            Stmt::Let { pat, init } => {
                init.iter_mut().for_each(|init| self.value(init, lanes));
                self.pattern(pat, lanes);
            }
            Stmt::Expr(expr) => self.value(expr, lanes),
            Stmt::Fn(id) => {
                let span = self.program.fns[*id].span;
                self.unsupported("a nested function", span, lanes);
            }
        }
    }

    /// A lambda: its own code is executed by the lanes that call it.
    fn lambda(&mut self, lambda: &mut Lambda, lanes: &mut Lanes) {
        self.params(&mut lambda.params, lanes);
        lambda.return_local.iter_mut().for_each(|local| self.declare(local, lanes));
        lambda.filter.iter_mut().for_each(|filter| self.value(filter, lanes));
        lambda.ret = self.lane_ty(lambda.ret);
        self.value(&mut lambda.body, lanes);
    }

    pub(super) fn params(&mut self, params: &mut [Param], lanes: &mut Lanes) {
        for param in &mut *params {
            self.pattern(&mut param.pat, lanes);
            param.ty = self.lane_ty(param.ty);
        }
        for param in params {
            param.filter.iter_mut().for_each(|filter| self.value(filter, lanes));
        }
    }

    /// A pattern, with the variables that it declares.
    fn pattern(&mut self, pat: &mut Pat, lanes: &mut Lanes) {
        self.check_ty(pat.ty, pat.span, lanes);
        let is_vector = matches!(self.program.types.kind(pat.ty), TyKind::Simd(..));
        pat.ty = self.lane_ty(pat.ty);
        match &mut pat.kind {
            PatKind::Bind(local, inner) => {
                self.declare(local, lanes);
                inner.iter_mut().for_each(|inner| self.pattern(inner, lanes));
            }
            PatKind::Parts(_) if is_vector => {
                self.unsupported("a pattern of the elements of a vector", pat.span, lanes);
            }
            PatKind::Parts(parts) => parts.iter_mut().for_each(|part| self.pattern(part, lanes)),
            PatKind::Struct(fields) | PatKind::Variant(_, fields) => {
                fields.iter_mut().for_each(|(_, part)| self.pattern(part, lanes));
            }
            PatKind::Wild | PatKind::Lit(_) | PatKind::Error => {}
        }
    }

    /// A variable that the code declares.
    pub(super) fn declare(&mut self, local: &mut LocalId, lanes: &mut Lanes) {
        let ty = self.program.locals[*local].ty;
        let lane_ty = self.lane_ty(ty);
        if lanes.is_copy {
            let copy = self.program.locals[*local].clone();
            let own = self.program.locals.push(copy);
            lanes.twins.insert(*local, own);
            *local = own;
        }
        self.program.locals[*local].ty = lane_ty;
    }

    /// Reports a vector with another number of lanes, or without a form for one lane.
    pub(super) fn check_ty(&mut self, ty: Ty, span: Span, lanes: &mut Lanes) {
        let mut lengths = vec![];
        self.lengths(ty, &mut lengths);
        if lanes.has_errors || lengths.is_empty() {
            return;
        }
        if let Some(own) = lanes.lanes
            && lengths.iter().any(|&length| length != own)
        {
            let error = errors::other_length(&self.program.types, ty, span, own, lanes.entered);
            self.report(error, lanes);
        } else if lanes.lanes.is_none() {
            self.unsupported("a vector of another length", span, lanes);
        } else if !self.has_lane_form(ty) {
            self.unsupported("an enum with vectors", span, lanes);
        }
    }

    pub(super) fn unsupported(&mut self, what: &str, span: Span, lanes: &mut Lanes) {
        self.report(errors::unsupported(what, span, lanes.entered), lanes);
    }

    /// Reports the first error of a region.
    pub(super) fn report(&mut self, error: nyala_span::Diagnostic, lanes: &mut Lanes) {
        if !std::mem::replace(&mut lanes.has_errors, true) {
            self.errors.push(error);
        }
    }

    // ---- Places ------------------------------------------------------------------------

    /// Whether a place is in memory that is no variable of the lanes.
    fn is_shared(&self, place: &Expr, lanes: &Lanes) -> bool {
        let is_vector = |expr: &Expr| matches!(self.program.types.kind(expr.ty), TyKind::Simd(..));
        match &place.kind {
            ExprKind::Local(local) => lanes.outside.contains(local),
            ExprKind::Static(_) => true,
            ExprKind::Deref(pointer) => !is_vector(pointer),
            ExprKind::Field { base, .. } => self.is_shared(base, lanes),
            ExprKind::Index { base, index } => !is_vector(index) && self.is_shared(base, lanes),
            _ => false,
        }
    }

    /// Reads a place.
    fn read(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        if self.is_shared(expr, lanes) {
            self.shared_place(expr, lanes);
            if !self.has_vectors(expr.ty) {
                return;
            }
            if !self.has_parts(expr.ty) {
                return self.unsupported("this vector from outside", expr.span, lanes);
            }
            let place = std::mem::replace(expr, self.unit(expr.span));
            *expr = self.lane_of(place, lanes);
            return;
        }
        if let ExprKind::Index { base, index } = &mut expr.kind
            && matches!(self.program.types.kind(base.ty), TyKind::Simd(..))
        {
            self.value(base, lanes);
            self.value(index, lanes);
            let unit = self.unit(expr.span);
            let base = std::mem::replace(&mut **base, unit.clone());
            let index = self.as_i32(std::mem::replace(&mut **index, unit));
            let (i32, value) = (self.i32(), base.ty);
            let declared = Intrinsic { symbol: "rv_extract", params: &[None, Some(i32)], ret: None };
            *expr = self.call_intrinsic(&declared, vec![base, index], value, expr.span);
            return;
        }
        self.place(expr, lanes);
    }

    /// A place of the lane. That of a vector in memory is its element.
    fn place(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        self.check_ty(expr.ty, expr.span, lanes);
        if self.is_shared(expr, lanes) {
            self.shared_place(expr, lanes);
            if let TyKind::Simd(elem, _) = *self.program.types.kind(expr.ty) {
                let place = std::mem::replace(expr, self.unit(expr.span));
                *expr = self.element_in_memory(place, elem, lanes);
            }
            return;
        }
        match &mut expr.kind {
            ExprKind::Local(local) => *local = lanes.twins.get(local).copied().unwrap_or(*local),
            ExprKind::Field { base, .. } => self.place(base, lanes),
            ExprKind::Index { base, index } => {
                if matches!(self.program.types.kind(base.ty), TyKind::Simd(..)) {
                    return self.unsupported("the element of a vector is changed", expr.span, lanes);
                }
                let is_own = matches!(self.program.types.kind(index.ty), TyKind::Simd(..));
                self.place(base, lanes);
                self.value(index, lanes);
                if is_own {
                    let of = match *self.program.types.kind(base.ty) {
                        TyKind::Array(elem, _) | TyKind::Slice(elem) => elem,
                        _ => expr.ty,
                    };
                    return self.own_place(expr, of, lanes);
                }
            }
            ExprKind::Deref(pointer) => {
                self.value(pointer, lanes);
                let of = match *self.program.types.kind(pointer.ty) {
                    TyKind::Ptr { pointee, .. } => pointee,
                    _ => expr.ty,
                };
                return self.own_place(expr, of, lanes);
            }
            _ => return self.value(expr, lanes),
        }
        expr.ty = self.lane_ty(expr.ty);
    }

    /// A place that each lane has found by itself: of a vector, its element.
    fn own_place(&mut self, expr: &mut Expr, ty: Ty, lanes: &Lanes) {
        expr.ty = ty;
        if let TyKind::Simd(elem, _) = *self.program.types.kind(ty) {
            let place = std::mem::replace(expr, self.unit(expr.span));
            *expr = self.element_in_memory(place, elem, lanes);
        }
    }

    /// The pointers and indices of a place in shared memory.
    fn shared_place(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        match &mut expr.kind {
            ExprKind::Deref(pointer) => self.value(pointer, lanes),
            ExprKind::Field { base, .. } => self.shared_place(base, lanes),
            ExprKind::Index { base, index } => {
                self.shared_place(base, lanes);
                self.value(index, lanes);
            }
            _ => {}
        }
    }

    /// `p = e`, `p += e`
    fn write(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        let ExprKind::Assign { op, place, value, by, .. } = &mut expr.kind else { return };
        let is_whole = self.is_shared(place, lanes)
            && self.has_vectors(place.ty)
            && !matches!(self.program.types.kind(place.ty), TyKind::Simd(..));
        self.value(value, lanes);
        by.iter_mut().for_each(|by| self.callee(&mut by.callee, lanes));
        if !is_whole {
            return self.place(place, lanes);
        }
        if op.is_some() || !self.has_parts(place.ty) {
            return self.unsupported("an assignment to a part of memory with vectors", expr.span, lanes);
        }
        self.check_ty(place.ty, place.span, lanes);
        self.shared_place(place, lanes);
        let unit = self.unit(expr.span);
        let place = std::mem::replace(&mut **place, unit.clone());
        let value = std::mem::replace(&mut **value, unit);
        let mut stmts = vec![];
        self.assign_lane(place, value, lanes, &mut stmts);
        *expr = self.block(stmts, None, expr.span);
    }

    /// A place whose address is taken.
    fn address(&mut self, place: &mut Expr, lanes: &mut Lanes) {
        if self.is_shared(place, lanes) {
            self.check_ty(place.ty, place.span, lanes);
            return self.shared_place(place, lanes);
        }
        if self.has_vectors(place.ty) {
            return self.unsupported("the address of a vector is taken", place.span, lanes);
        }
        self.place(place, lanes);
    }

    /// `simd[a, b]`: the element of this lane.
    fn vector(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        match &mut expr.kind {
            ExprKind::Array(elems) => elems.iter_mut().for_each(|elem| self.value(elem, lanes)),
            ExprKind::Repeat(elem) => {
                self.value(elem, lanes);
                let span = expr.span;
                let elem = std::mem::replace(&mut **elem, self.unit(span));
                *expr = elem;
                return;
            }
            _ => {}
        }
        let whole = std::mem::replace(expr, self.unit(expr.span));
        *expr = self.lane_of(whole, lanes);
    }
}
