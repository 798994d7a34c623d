//! Implicit values: found by their type, innermost scope first.

use nyala_span::Span;
use nyala_syntax::ast;

use crate::checker::Checker;
use crate::errors::Error;
use crate::tree::{Expr, ExprKind, Pat, PatKind, StaticId};
use crate::types::Ty;

impl<'a> Checker<'a> {
    /// `summon[T]`
    pub(super) fn summon_expr(&mut self, args: &'a [ast::TypeExpr], span: Span) -> Expr {
        let tys: Vec<Ty> = args.iter().map(|arg| self.convert(arg)).collect();
        match *tys {
            [ty] => self.summon(ty, span),
            _ => {
                self.type_arg_count("`summon`".into(), 1, args.len(), span);
                self.error_expr(span)
            }
        }
    }

    /// The implicit value of this type; reports it if there is none, or more than one.
    pub(super) fn summon(&mut self, ty: Ty, span: Span) -> Expr {
        let local = (0..self.body.implicits.len()).rev().find_map(|i| {
            let candidate = &self.body.implicits[i];
            let (kind, candidate_ty) = (candidate.kind.clone(), candidate.ty);
            self.try_unify(candidate_ty, ty).then_some(Expr { kind, ty, span })
        });
        if let Some(found) = local {
            return found;
        }
        let mut module = Some(self.body.home.module);
        while let Some(id) = module {
            let candidates = self.matching_implicits(id, ty);
            match *candidates {
                [] => module = self.modules[id].fallback,
                [one] => return Expr { kind: ExprKind::Static(one), ty, span },
                _ => {
                    let ty = self.shown(ty);
                    let candidates = candidates.iter().map(|&id| self.program.statics[id].span).collect();
                    self.report(Error::AmbiguousImplicit { ty, span, candidates });
                    return self.error_expr(span);
                }
            }
        }
        let ty = self.shown(ty);
        self.report(Error::NoImplicit { ty, span });
        self.error_expr(span)
    }

    fn matching_implicits(&mut self, module: crate::scope::ModuleId, ty: Ty) -> Vec<StaticId> {
        let candidates = self.modules[module].implicits.clone();
        let matches = |&id: &StaticId| {
            let candidate = self.static_type(id, self.program.statics[id].span);
            let snapshot = self.snapshot();
            let equal = self.unify(candidate, ty);
            self.rollback(snapshot);
            equal
        };
        candidates.into_iter().filter(matches).collect()
    }

    /// Makes an implicit parameter available to summon.
    pub(super) fn offer_implicit(&mut self, pat: &Pat) {
        if let PatKind::Bind(local, _) = pat.kind {
            let value = Expr { kind: ExprKind::Local(local), ty: pat.ty, span: pat.span };
            self.body.implicits.push(value);
        }
    }
}
