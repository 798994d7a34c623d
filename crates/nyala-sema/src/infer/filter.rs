//! Filters: when the evaluator specialises on a parameter.
//!
//! A filter is a `bool` over the parameters of its function. It has no effects and
//! no control flow, so that it can be evaluated at every call.

use nyala_span::Span;
use nyala_syntax::ast::{self, BinaryOp, FilterKind};

use crate::checker::Checker;
use crate::errors::{Because, Error};
use crate::tree::{ChainLink, Expr, ExprKind, Param, PatKind};

/// The filters of a function or lambda as written.
#[derive(Clone, Copy)]
pub(super) struct Filters<'a> {
    /// In front of all of it.
    pub whole: Option<&'a ast::Filter>,
    /// With those of single parameters.
    pub params: &'a [ast::Param],
}

impl<'a> Checker<'a> {
    /// Gives each parameter its filter, and answers with that of the whole. The parameters
    /// are in scope.
    pub(super) fn param_filters(&mut self, params: &mut [Param], filters: Filters<'a>) -> Option<Expr> {
        let whole = filters.whole.map(|filter| self.filter(filter, None));
        for (i, written) in filters.params.iter().enumerate() {
            let own = written.filter.as_ref().map(|filter| self.filter(filter, Some(&params[i])));
            params[i].filter = self.either(whole.clone(), own);
        }
        whole
    }

    /// Gives all parameters of a loop's body the filter in front of it.
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
                let value = self.check_expr(expr, bool, Because::Filter);
                self.check_filter(&value);
                value
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
        let rest = vec![ChainLink { op: BinaryOp::Or, rhs: b, ty, span }];
        Some(Expr { kind: ExprKind::Chain { first: Box::new(a), rest }, ty, span })
    }

    /// Reports what cannot stand in a filter.
    fn check_filter(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Lit(_) | ExprKind::Str(_) | ExprKind::Fn(..) | ExprKind::Constructor(_) => {}
            ExprKind::Static(_) | ExprKind::Error => {}
            ExprKind::Local(id) => self.check_filter_local(*id, expr.span),
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => {
                parts.iter().for_each(|part| self.check_filter(part));
            }
            ExprKind::Index { base, index } => {
                self.check_filter(base);
                self.check_filter(index);
            }
            ExprKind::Chain { first, rest } => {
                self.check_filter(first);
                rest.iter().for_each(|link| self.check_filter(&link.rhs));
            }
            ExprKind::Field { base: inner, .. }
            | ExprKind::Repeat(inner)
            | ExprKind::Deref(inner)
            | ExprKind::Neg(inner)
            | ExprKind::Not(inner)
            | ExprKind::Cast(inner)
            | ExprKind::Coerce { expr: inner, .. }
            | ExprKind::Known(inner)
            | ExprKind::Hide(inner) => self.check_filter(inner),
            _ => self.report(Error::FilterEffect { span: expr.span }),
        }
    }

    /// A filter may use its function's parameters, and what never changes around it.
    fn check_filter_local(&mut self, id: crate::tree::LocalId, span: Span) {
        let local = &self.program.locals[id];
        let name = local.name;
        let is_own = self.body.scopes.lookup(name).is_some_and(|entry| entry.level == self.body.level);
        if local.is_mut && !is_own {
            self.report(Error::FilterName { name, span });
        }
    }
}
