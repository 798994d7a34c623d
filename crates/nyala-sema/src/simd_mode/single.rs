//! Conditions of one lane beside longer vectors.
//!
//! SIMD mode of one lane is scalar mode. Code of it that has vectors of other lengths, too, stays scalar code: `if v > 0f { .. }` with
//! one lane becomes `if (v > 0f)(0) { .. }`, and the other vectors may begin SIMD mode of their own inside.

use crate::tree::{Cond, Expr, ExprKind, Program};
use crate::types::{Ty, TyKind};
use crate::visit;

use super::SimdMode;

impl SimdMode<'_> {
    /// Makes such conditions scalar in all functions and statics.
    pub(super) fn make_single_conditions_scalar(&mut self) {
        for id in self.program.fns.keys().collect::<Vec<_>>() {
            let Some(mut body) = self.program.fns[id].body.take() else { continue };
            self.single_conditions(&mut body);
            self.program.fns[id].body = Some(body);
        }
        for id in self.program.statics.keys().collect::<Vec<_>>() {
            let Some(mut init) = self.program.statics[id].init.take() else { continue };
            self.single_conditions(&mut init);
            self.program.statics[id].init = Some(init);
        }
    }

    fn single_conditions(&mut self, expr: &mut Expr) {
        let has_single = conditions(expr)
            .into_iter()
            .any(|cond| length(self.program, cond.ty).is_some_and(|it| self.is_one(it)));
        if has_single && self.is_beside_other_lengths(expr) {
            for cond in conditions_mut(expr) {
                if length(self.program, cond.ty).is_some_and(|it| self.is_one(it)) {
                    let (span, unit) = (cond.span, self.unit(cond.span));
                    let index = Expr { kind: ExprKind::Lit(0), ty: self.i32(), span };
                    let base = Box::new(std::mem::replace(cond, unit));
                    let kind = ExprKind::Index { base, index: Box::new(index) };
                    *cond = Expr { kind, ty: self.program.types.bool(), span };
                }
            }
        }
        visit::for_each_child_mut(expr, &mut |child| self.single_conditions(child));
    }

    fn is_one(&self, length: Ty) -> bool {
        self.program.types.as_number(length) == Some(1)
    }

    /// Whether an expression has vectors with more lanes, no condition has, and each value has the type of the whole.
    fn is_beside_other_lengths(&self, expr: &Expr) -> bool {
        let mut lengths = vec![];
        visit::walk(expr, |inner| self.lengths(inner.ty, &mut lengths));
        let has_values = match &expr.kind {
            ExprKind::If { arms, other } => {
                arms.iter().map(|(_, value)| value).chain(other.as_deref()).all(|value| value.ty == expr.ty)
            }
            _ => true,
        };
        let is_single = |cond: &&Expr| length(self.program, cond.ty).is_none_or(|it| self.is_one(it));
        has_values
            && conditions(expr).iter().all(is_single)
            && lengths.iter().any(|&length| !self.is_one(length))
    }
}

/// The number of lanes of a vector.
fn length(program: &Program, ty: Ty) -> Option<Ty> {
    match *program.types.kind(ty) {
        TyKind::Simd(_, lanes) => Some(lanes),
        _ => None,
    }
}

/// The conditions of an `if` or a `while`, without patterns.
fn conditions(expr: &Expr) -> Vec<&Expr> {
    let all: Vec<&Cond> = match &expr.kind {
        ExprKind::If { arms, .. } => arms.iter().map(|(cond, _)| cond).collect(),
        ExprKind::While { cond, .. } => vec![&**cond],
        _ => vec![],
    };
    let plain = all.into_iter().filter_map(|cond| match cond {
        Cond::Expr(cond) => Some(cond),
        Cond::Let(..) => None,
    });
    plain.collect()
}

fn conditions_mut(expr: &mut Expr) -> Vec<&mut Expr> {
    let all: Vec<&mut Cond> = match &mut expr.kind {
        ExprKind::If { arms, .. } => arms.iter_mut().map(|(cond, _)| cond).collect(),
        ExprKind::While { cond, .. } => vec![&mut **cond],
        _ => vec![],
    };
    let plain = all.into_iter().filter_map(|cond| match cond {
        Cond::Expr(cond) => Some(cond),
        Cond::Let(..) => None,
    });
    plain.collect()
}
