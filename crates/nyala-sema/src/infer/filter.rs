//! Filters: when the evaluator specializes on a parameter.
//!
//! A filter is a `bool` over the parameters of its function, constants and statics. It
//! has no effects, so it can be evaluated at every call. It may branch and call
//! functions; lowering reports the calls that it cannot evaluate.

use cranelift_entity::EntityRef;
use nyala_span::Span;
use nyala_syntax::ast::{self, BinaryOp, FilterKind};

use crate::checker::Checker;
use crate::errors::{Because, Error};
use crate::scope::Def;
use crate::tree::{ChainLink, Expr, ExprKind, LocalId, Param, PatKind, Stmt};
use crate::visit;

/// The filters of a function or lambda as written.
#[derive(Clone, Copy)]
pub(super) struct Filters<'a> {
    /// The filter of the whole function.
    pub whole: Option<&'a ast::Filter>,
    /// The parameters with their own filters.
    pub params: &'a [ast::Param],
}

impl<'a> Checker<'a> {
    /// Sets the filter of each parameter, and returns that of the whole function. The parameters
    /// must be in scope.
    pub(super) fn param_filters(&mut self, params: &mut [Param], filters: Filters<'a>) -> Option<Expr> {
        let whole = filters.whole.map(|filter| self.filter(filter, None));
        for (i, written) in filters.params.iter().enumerate() {
            let own = written.filter.as_ref().map(|filter| self.filter(filter, Some(&params[i])));
            params[i].filter = self.either(whole.clone(), own);
        }
        whole
    }

    /// Sets the filter of all parameters of a loop's body.
    pub(super) fn whole_filter(&mut self, params: &mut [Param], filter: &'a ast::Filter) -> Expr {
        let whole = self.filter(filter, None);
        for param in params {
            param.filter = Some(whole.clone());
        }
        whole
    }

    fn filter(&mut self, filter: &'a ast::Filter, of: Option<&Param>) -> Expr {
        let bool = self.program.types.bool();
        match &filter.kind {
            FilterKind::Always => self.true_literal(filter.span),
            FilterKind::If(expr) => {
                let first_own = LocalId::new(self.program.locals.len());
                let value = self.check_expr(expr, bool, Because::Filter);
                visit::walk(&value, |part| self.check_filter_part(part, first_own));
                // Its span includes the brackets.
                let kind = ExprKind::Block { stmts: vec![], value: Some(Box::new(value)) };
                Expr { kind, ty: bool, span: filter.span }
            }
            FilterKind::IfKnown => match of.map(|param| (&param.pat.kind, param.ty)) {
                Some((PatKind::Bind(local, _), ty)) => {
                    let span = filter.span;
                    let value = Expr { kind: ExprKind::Local(*local), ty, span };
                    Expr { kind: ExprKind::Known(Box::new(value)), ty: bool, span }
                }
                _ => self.true_literal(filter.span),
            },
        }
    }

    fn either(&mut self, a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
        let (a, b) = match (a, b) {
            (Some(a), Some(b)) => (a, b),
            (a, b) => return a.or(b),
        };
        let (ty, span) = (self.program.types.bool(), a.span);
        let rest = vec![ChainLink { op: BinaryOp::Or, rhs: b, ty, span, by: None }];
        Some(Expr { kind: ExprKind::Chain { first: Box::new(a), rest }, ty, span })
    }

    /// Reports expressions that are not allowed in a filter. Variables from `first_own` on belong to it.
    fn check_filter_part(&mut self, expr: &Expr, first_own: LocalId) {
        match &expr.kind {
            ExprKind::Local(id) if *id < first_own => self.check_filter_local(*id, expr.span),
            ExprKind::Static(id) if self.program.statics[*id].is_mut => {
                let name = self.program.statics[*id].name;
                self.report(Error::FilterName { name, span: expr.span });
            }
            ExprKind::Assign { .. }
            | ExprKind::Step { .. }
            | ExprKind::Asm(_)
            | ExprKind::AddrOf(_)
            | ExprKind::Box(_)
            | ExprKind::HeapArray { .. }
            | ExprKind::While { .. }
            | ExprKind::Lambda(_) => self.report(Error::FilterEffect { span: expr.span }),
            ExprKind::Block { stmts, .. } if stmts.iter().any(|stmt| matches!(stmt, Stmt::Fn(_))) => {
                self.report(Error::FilterEffect { span: expr.span });
            }
            _ => {}
        }
    }

    /// A filter may use the parameters of its function, and those of enclosing functions that never change.
    fn check_filter_local(&mut self, id: LocalId, span: Span) {
        let local = &self.program.locals[id];
        let name = local.name;
        let is_outer_param = !local.is_mut && self.body.params.contains(&id);
        let entry = self.body.scopes.lookup(name);
        let is_own = entry.is_some_and(|entry| entry.def == Def::Local(id) && entry.level == self.body.level);
        if !is_own && !is_outer_param {
            self.report(Error::FilterName { name, span });
        }
    }
}
