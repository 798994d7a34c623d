//! Generators whose body one lane executes: `scalar`, `for_each_active`, and those that programs build from them.
//!
//! There, code is in scalar mode: one lane calls a scalar function once. The body of `for_each_unique` stays in SIMD mode,
//! since several lanes execute it.

use nyala_syntax::ast::BinaryOp;

use crate::tree::{Cond, Expr, ExprKind, FnId, Linkage, LocalId};
use crate::types::TyKind;
use crate::visit;

use super::SimdMode;

impl SimdMode<'_> {
    /// Whether one lane executes the functions that a generator gets: it calls them behind `lane_index() == n` only, or passes
    /// them to such a generator.
    pub(super) fn selects_one_lane(&mut self, id: FnId) -> bool {
        if let Some(&known) = self.one_lane.get(&id) {
            return known;
        }
        // Of a recursion, if other calls show it.
        self.one_lane.insert(id, false);
        let params = self.program.fns[id].params.iter().flat_map(|param| visit::bindings(&param.pat));
        let params: Vec<LocalId> = params.filter(|&param| self.is_function(param)).collect();
        let body = self.original_body(id).cloned();
        let is_one = !params.is_empty() && body.is_some_and(|body| self.one_lane_uses(&body, &params));
        self.one_lane.insert(id, is_one);
        is_one
    }

    fn is_function(&self, local: LocalId) -> bool {
        matches!(self.program.types.kind(self.program.locals[local].ty), TyKind::Fn { .. })
    }

    /// Whether one lane executes all uses of these variables.
    fn one_lane_uses(&mut self, expr: &Expr, locals: &[LocalId]) -> bool {
        match &expr.kind {
            ExprKind::Local(local) => !locals.contains(local),
            ExprKind::If { arms, other } => {
                let in_arms = arms.iter().all(|(cond, value)| match cond {
                    Cond::Expr(cond) | Cond::Let(_, cond) if !self.one_lane_uses(cond, locals) => false,
                    Cond::Expr(cond) if self.is_lane_index_test(cond) => true,
                    _ => self.one_lane_uses(value, locals),
                });
                in_arms && other.iter().all(|other| self.one_lane_uses(other, locals))
            }
            ExprKind::Call(call) if matches!(call.callee.kind, ExprKind::Fn(id, _) if self.selects_one_lane(id)) => {
                call.args.iter().all(|arg| match self.program.types.kind(arg.ty) {
                    TyKind::Fn { .. } => true,
                    _ => self.one_lane_uses(arg, locals),
                })
            }
            _ => {
                let mut all = true;
                visit::for_each_child(expr, &mut |child| all = all && self.one_lane_uses(child, locals));
                all
            }
        }
    }

    /// `lane_index() == n`
    fn is_lane_index_test(&self, cond: &Expr) -> bool {
        let ExprKind::Chain { first, rest } = &cond.kind else { return false };
        match &rest[..] {
            [link] if link.op == BinaryOp::Eq => self.is_lane_index(first) || self.is_lane_index(&link.rhs),
            _ => false,
        }
    }

    fn is_lane_index(&self, expr: &Expr) -> bool {
        let ExprKind::Call(call) = &expr.kind else { return false };
        let ExprKind::Fn(id, _) = call.callee.kind else { return false };
        let linkage = &self.program.fns[id].linkage;
        matches!(linkage, Linkage::Import { symbol, .. } if symbol.as_str() == "rv_lane_id")
    }
}
