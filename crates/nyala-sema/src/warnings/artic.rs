//! Errors of Artic where Impala has a warning: casts to the same type, and `mut` inside of a pattern for a
//! variable that is never written.

use nyala_span::{Code, Diagnostic, Span};

use super::usage::Uses;
use crate::tree::{Expr, ExprKind, Param, Pat, PatKind, Program};
use crate::visit;

/// The errors in the files that `is_artic` accepts.
pub(super) fn check(program: &Program, uses: &Uses, is_artic: &dyn Fn(Span) -> bool) -> Vec<Diagnostic> {
    let mut rules = Rules { program, uses, is_artic, errors: vec![] };
    for function in program.fns.values() {
        rules.params(&function.params);
    }
    for root in visit::roots(program) {
        visit::walk(root, |expr| rules.expr(expr));
    }
    rules.errors
}

struct Rules<'a> {
    program: &'a Program,
    uses: &'a Uses,
    is_artic: &'a dyn Fn(Span) -> bool,
    errors: Vec<Diagnostic>,
}

impl Rules<'_> {
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Cast(inner) if expr.ty == inner.ty && (self.is_artic)(expr.span) => {
                let message = format!("cast of `{}` to itself", self.program.types.display(expr.ty));
                self.errors.push(Diagnostic::error(Code("E0229"), expr.span, message));
            }
            ExprKind::Lambda(lambda) => self.params(&lambda.params),
            _ => visit::for_each_pattern(expr, |pat| self.pat(pat)),
        }
    }

    fn params(&mut self, params: &[Param]) {
        params.iter().for_each(|param| self.pat(&param.pat));
    }

    /// The variables inside of a pattern; that of the whole pattern may be `mut` without need.
    fn pat(&mut self, pat: &Pat) {
        let whole = match pat.kind {
            PatKind::Bind(local, _) => Some(local),
            _ => None,
        };
        for id in visit::bindings(pat).into_iter().filter(|&id| Some(id) != whole) {
            let local = &self.program.locals[id];
            if local.is_mut && !self.uses.is_written(id) && (self.is_artic)(local.span) {
                let message = format!("variable `{}` of a pattern is `mut`, but never written", local.name);
                self.errors.push(Diagnostic::error(Code("E0603"), local.span, message));
            }
        }
    }
}
