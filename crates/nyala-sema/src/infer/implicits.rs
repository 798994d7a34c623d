//! Implicit values: found by their type, innermost scope first.

use nyala_span::Span;
use nyala_syntax::ast;

use crate::checker::Checker;
use crate::errors::Error;
use crate::tree::{Expr, ExprKind, LocalId, Pat, PatKind, StaticId};
use crate::types::Ty;

/// An implicit value of a body.
#[derive(Clone, Copy)]
pub(super) struct Implicit {
    local: LocalId,
    ty: Ty,
    /// The number of enclosing scopes.
    depth: usize,
    /// The number of enclosing functions and lambdas.
    level: u32,
}

impl<'a> Checker<'a> {
    /// Whether a path is the built-in `summon`; a program may redefine the name.
    pub(super) fn is_summon(&mut self, path: &ast::Path) -> bool {
        matches!(*path.segments, [word] if word.name.as_str() == "summon" && self.lookup(word.name).is_none())
    }

    /// `summon[T]`
    pub(super) fn summon_expr(&mut self, args: &'a [ast::TypeExpr], span: Span) -> Expr {
        let tys: Vec<Ty> = args.iter().map(|arg| self.convert(arg)).collect();
        match *tys {
            [ty] if self.is_error(ty) => self.error_expr(span),
            [ty] => self.summon(ty, span),
            _ => {
                self.type_arg_count("`summon[..]`".into(), 1, args.len(), span);
                self.error_expr(span)
            }
        }
    }

    /// The implicit value of this type; reports an error if there is none or more than one.
    pub(super) fn summon(&mut self, ty: Ty, span: Span) -> Expr {
        if let Some(found) = self.local_implicit(ty, span) {
            return found;
        }
        let module = self.body.home.module;
        let prelude = self.packages[self.modules[module].package].prelude;
        for id in std::iter::once(module).chain(prelude) {
            let candidates = self.matching_implicits(id, ty);
            match *candidates {
                [] => {}
                [one] => return Expr { kind: ExprKind::Static(one), ty, span },
                _ => {
                    let candidates = candidates.iter().map(|&id| self.program.statics[id].span).collect();
                    return self.ambiguous(ty, span, candidates);
                }
            }
        }
        let ty = self.shown(ty);
        self.report(Error::NoImplicit { ty, span });
        self.error_expr(span)
    }

    /// The implicit value of the innermost scope of the body that has one.
    fn local_implicit(&mut self, ty: Ty, span: Span) -> Option<Expr> {
        let mut found: Vec<Implicit> = vec![];
        for i in (0..self.body.implicits.len()).rev() {
            let candidate = self.body.implicits[i];
            if found.first().is_some_and(|innermost| candidate.depth < innermost.depth) {
                break;
            }
            if candidate.level >= self.body.local_floor && self.try_unify(candidate.ty, ty) {
                found.push(candidate);
            }
        }
        if found.len() > 1 {
            let spans = found.iter().map(|it| self.program.locals[it.local].span).collect();
            return Some(self.ambiguous(ty, span, spans));
        }
        let one = found.first()?;
        if one.level < self.body.level {
            self.program.locals[one.local].is_captured = true;
        }
        Some(Expr { kind: ExprKind::Local(one.local), ty, span })
    }

    fn ambiguous(&mut self, ty: Ty, span: Span, candidates: Vec<Span>) -> Expr {
        let ty = self.shown(ty);
        self.report(Error::AmbiguousImplicit { ty, span, candidates });
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
            let (depth, level) = (self.body.scopes.depth(), self.body.level);
            self.body.implicits.push(Implicit { local, ty: pat.ty, depth, level });
        }
    }
}
