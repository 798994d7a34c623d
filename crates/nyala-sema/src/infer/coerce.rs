//! Implicit conversions.
//!
//! A value is converted to its address if a `&T` is expected. Pointers lose `mut`,
//! ownership or the length of an array. Functions and tuples are converted part by
//! part. A scalar is broadcast if a vector of its type is expected. Numbers are never converted.

use nyala_syntax::ast::{self, PtrKind};

use crate::checker::Checker;
use crate::convert::MAX_TYPE_DEPTH;
use crate::errors::{Because, Error, Operand};
use crate::tree::{Coercion, Expr, ExprKind, Stmt};
use crate::types::{Ty, TyKind};

use super::unify::VarKind;

impl<'a> Checker<'a> {
    /// An expression where a value of type `to` is needed.
    pub fn check_expr(&mut self, expr: &'a ast::Expr, to: Ty, because: Because) -> Expr {
        let typed = self.infer_expr(expr, Some(to));
        self.coerce(typed, to, because)
    }

    /// `expr` converted to type `to`; reports an error if that is impossible.
    pub(super) fn coerce(&mut self, expr: Expr, to: Ty, because: Because) -> Expr {
        match self.try_coerce(expr, to) {
            Ok(expr) => expr,
            Err(expr) => {
                let (culprit, dropped) = culprit(&expr);
                let (expected, ty) = (self.shown(to), self.shown(expr.ty));
                let found = Operand { ty, span: culprit.span, is_tight: is_tight(culprit) };
                // The last expression would have the right type without its `;`.
                let dropped = dropped.filter(|dropped| self.try_unify(dropped.ty, to));
                let semicolon = dropped.map(|dropped| dropped.span.end());
                self.report(Error::Mismatch { expected, found, because, semicolon });
                self.error_expr(expr.span)
            }
        }
    }

    /// `expr` converted to type `to`, or unchanged if that is impossible.
    pub(super) fn try_coerce(&mut self, expr: Expr, to: Ty) -> Result<Expr, Expr> {
        let (from, to) = (self.resolve(expr.ty), self.resolve(to));
        let types = &self.program.types;
        if from == to {
            return Ok(expr);
        }
        if from == types.error() || to == types.error() {
            // Bind the variables of `to`, so that the error does not cause others.
            self.unify(from, to);
            return Ok(expr);
        }
        if from == types.never() {
            return Ok(wrap(expr, Coercion::Never, to));
        }
        if let (ExprKind::Tuple(_), TyKind::Tuple(_)) = (&expr.kind, types.kind(to)) {
            return self.coerce_tuple(expr, to);
        }
        self.blame(expr.span);
        if self.broadcasts(to, from) {
            let scalar = match *self.program.types.kind(to) {
                TyKind::Simd(lane, _) => self.try_coerce(expr, lane)?,
                // The types of its parts are known.
                _ => expr,
            };
            return Ok(wrap(scalar, Coercion::Broadcast, to));
        }
        let snapshot = self.snapshot();
        if let Some(changed) = self.retype(from, to, 0) {
            return Ok(if changed { wrap(expr, Coercion::Retype, to) } else { expr });
        }
        self.rollback(snapshot);
        self.coerce_to_address(expr, from, to)
    }

    /// Whether `from` is a scalar that a vector of type `to` can have in each lane.
    pub(super) fn broadcasts(&mut self, to: Ty, from: Ty) -> bool {
        let (to, from) = (self.resolve(to), self.resolve(from));
        let lane = match (self.program.types.kind(to).clone(), self.program.types.kind(from).clone()) {
            (TyKind::Simd(lane, _), _) => lane,
            (TyKind::Tuple(to), TyKind::Tuple(from)) => return self.broadcasts_members(&to, &from),
            (TyKind::Array(to, n), TyKind::Array(from, m)) => {
                return n == m && self.broadcasts_members(&[to], &[from]);
            }
            _ => return false,
        };
        let is_scalar = match self.program.types.kind(from) {
            TyKind::Prim(_)
            | TyKind::Ptr { .. }
            | TyKind::Struct(..)
            | TyKind::Enum(..)
            | TyKind::Fn { .. }
            | TyKind::Param(_) => true,
            _ => self.as_var(from).is_some_and(|var| matches!(var.kind, VarKind::Num | VarKind::Float)),
        };
        is_scalar && self.probe(|this| this.retype(from, lane, 0).is_some())
    }

    /// Whether members are equal, or broadcast, and at least one is.
    fn broadcasts_members(&mut self, to: &[Ty], from: &[Ty]) -> bool {
        let mut is_any = false;
        let mut fits = |(&to, &from): (&Ty, &Ty)| {
            let broadcasts = self.broadcasts(to, from);
            is_any |= broadcasts;
            broadcasts || self.resolve(to) == self.resolve(from)
        };
        let fit = to.len() == from.len() && to.iter().zip(from).all(&mut fits);
        fit && is_any
    }

    fn coerce_tuple(&mut self, expr: Expr, to: Ty) -> Result<Expr, Expr> {
        let span = expr.span;
        let ty = expr.ty;
        let (ExprKind::Tuple(parts), TyKind::Tuple(wanted)) =
            (expr.kind, self.program.types.kind(to).clone())
        else {
            unreachable!("the caller has looked");
        };
        if parts.len() != wanted.len() {
            return Err(Expr { kind: ExprKind::Tuple(parts), ty, span });
        }
        let coerce = |(part, &to)| self.coerce(part, to, Because::Nothing);
        let parts: Vec<Expr> = parts.into_iter().zip(&*wanted).map(coerce).collect();
        let tys: Vec<Ty> = parts.iter().map(|part| part.ty).collect();
        let ty = self.program.types.tuple(&tys);
        Ok(Expr { kind: ExprKind::Tuple(parts), ty, span })
    }

    /// Converts a value to its address.
    fn coerce_to_address(&mut self, expr: Expr, from: Ty, to: Ty) -> Result<Expr, Expr> {
        // `$` only hides the value from the evaluator: take the address under it.
        if let ExprKind::Hide(inner) = expr.kind {
            let hide = |inner: Expr| {
                let ty = inner.ty;
                Expr { kind: ExprKind::Hide(Box::new(inner)), ty, span: expr.span }
            };
            return self.coerce_to_address(*inner, from, to).map(hide).map_err(hide);
        }
        let TyKind::Ptr { kind, space, pointee } = *self.program.types.kind(to) else {
            return Err(expr);
        };
        // In Artic, a mutable place is its own `&mut`.
        let is_mut = kind == PtrKind::Mut && self.is_artic() && self.is_writable(&expr);
        if kind != PtrKind::Shared && !is_mut {
            return Err(expr);
        }
        let own_space = self.space_of(&expr);
        if own_space != space || self.as_var(from).is_some_and(|var| var.kind == VarKind::General) {
            return Err(expr);
        }
        let snapshot = self.snapshot();
        let Some(changed) = self.retype_pointee(from, pointee, !is_mut, 0) else {
            self.rollback(snapshot);
            return Err(expr);
        };
        self.take_address(&expr);
        let address = self.program.types.ptr(kind, space, from);
        let expr = wrap(expr, Coercion::AddrOf, address);
        Ok(if changed { wrap(expr, Coercion::Retype, to) } else { expr })
    }

    /// Whether values of type `from` are values of type `to`, and if so, whether the
    /// types differ. Binds inference variables.
    fn retype(&mut self, from: Ty, to: Ty, depth: u16) -> Option<bool> {
        let (from, to) = (self.resolve(from), self.resolve(to));
        if from == to {
            return Some(false);
        }
        if depth > MAX_TYPE_DEPTH {
            return None;
        }
        match (self.program.types.kind(from).clone(), self.program.types.kind(to).clone()) {
            (
                TyKind::Ptr { kind, space, pointee },
                TyKind::Ptr { kind: to_kind, space: to_space, pointee: to_pointee },
            ) => {
                let fits = match to_kind {
                    PtrKind::Shared => true,
                    PtrKind::Mut => kind != PtrKind::Shared,
                    PtrKind::Owned => kind == PtrKind::Owned,
                };
                if !fits || space != to_space {
                    return None;
                }
                let is_shared = to_kind == PtrKind::Shared;
                let changed = self.retype_pointee(pointee, to_pointee, is_shared, depth + 1)?;
                Some(changed || kind != to_kind)
            }
            (TyKind::Tuple(parts), TyKind::Tuple(to_parts)) if parts.len() == to_parts.len() => {
                self.retype_all(&parts, &to_parts, depth)
            }
            (TyKind::Fn { params, ret }, TyKind::Fn { params: to_params, ret: to_ret })
                if params.len() == to_params.len() =>
            {
                let params_changed = self.retype_all(&to_params, &params, depth)?;
                Some(self.retype(ret, to_ret, depth + 1)? || params_changed)
            }
            _ => self.unify(from, to).then_some(false),
        }
    }

    fn retype_all(&mut self, from: &[Ty], to: &[Ty], depth: u16) -> Option<bool> {
        from.iter()
            .zip(to)
            .try_fold(false, |changed, (&from, &to)| Some(self.retype(from, to, depth + 1)? || changed))
    }

    /// As [`Checker::retype`], behind a pointer: an array may lose its length.
    fn retype_pointee(&mut self, from: Ty, to: Ty, is_shared: bool, depth: u16) -> Option<bool> {
        let (from, to) = (self.resolve(from), self.resolve(to));
        match (self.program.types.kind(from), self.program.types.kind(to)) {
            (&TyKind::Array(elem, _), &TyKind::Slice(to_elem)) if is_shared => {
                self.retype(elem, to_elem, depth).map(|_| true)
            }
            (&TyKind::Array(elem, _), &TyKind::Slice(to_elem)) => self.unify(elem, to_elem).then_some(true),
            _ if is_shared => self.retype(from, to, depth),
            _ => self.unify(from, to).then_some(false),
        }
    }
}

/// The subexpression that determines the type of an expression, and the last statement of a
/// block without value.
fn culprit(mut expr: &Expr) -> (&Expr, Option<&Expr>) {
    while let ExprKind::Block { value, stmts } = &expr.kind {
        expr = match (value, stmts.last()) {
            (Some(value), _) => value,
            (None, Some(Stmt::Expr(last))) => return (expr, Some(last)),
            (None, _) => break,
        };
    }
    (expr, None)
}

/// Whether `as T` after an expression would apply to all of it.
pub(super) fn is_tight(expr: &Expr) -> bool {
    !matches!(
        expr.kind,
        ExprKind::Chain { .. }
            | ExprKind::Assign { .. }
            | ExprKind::Lambda(_)
            | ExprKind::Hide(_)
            | ExprKind::Block { .. }
            | ExprKind::If { .. }
            | ExprKind::Match { .. }
            | ExprKind::While { .. }
    )
}

fn wrap(expr: Expr, kind: Coercion, ty: Ty) -> Expr {
    let span = expr.span;
    Expr { kind: ExprKind::Coerce { kind, expr: Box::new(expr) }, ty, span }
}
