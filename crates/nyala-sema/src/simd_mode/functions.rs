//! Lambdas and nested functions from outside of a region.
//!
//! They use variables of the body around them, so each region that calls them has a copy, which uses the variables of its lanes.

use nyala_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::tree::{Expr, ExprKind, FnId, Linkage, LocalId, Pat, PatKind, Stmt};
use crate::visit;

use super::SimdMode;
use super::lane::Lanes;

impl SimdMode<'_> {
    /// The lambdas that variables of a body are bound to, once and for all.
    pub(super) fn bound_lambdas(&self, body: &Expr) -> FxHashMap<LocalId, Expr> {
        let mut lambdas = FxHashMap::default();
        visit::walk(body, |expr| {
            let ExprKind::Block { stmts, .. } = &expr.kind else { return };
            for stmt in stmts {
                if let Stmt::Let { pat: Pat { kind: PatKind::Bind(local, None), .. }, init: Some(init) } =
                    stmt
                    && matches!(init.kind, ExprKind::Lambda(_))
                    && !self.program.locals[*local].is_mut
                {
                    lambdas.insert(*local, init.clone());
                }
            }
        });
        lambdas
    }

    /// Declarations of the lambdas from outside that `root` uses, in the order of their declarations. Those without vectors are scalar
    /// functions.
    pub(super) fn lambdas_from_outside(&self, root: &Expr) -> Vec<Stmt> {
        let (mut found, mut own) = (FxHashSet::default(), FxHashSet::default());
        let mut todo = vec![root];
        while let Some(expr) = todo.pop() {
            visit::walk(expr, |inner| {
                visit::for_each_pattern(inner, |pat| own.extend(visit::bindings(pat)));
                if let ExprKind::Local(local) = inner.kind
                    && let Some(lambda) = self.lambdas.get(&local)
                    && self.mentions_vectors(lambda)
                    && found.insert(local)
                {
                    todo.push(lambda);
                }
            });
        }
        let mut found: Vec<LocalId> = found.into_iter().filter(|local| !own.contains(local)).collect();
        found.sort_unstable();
        let declare = |local| Stmt::Let { pat: self.bind(local), init: self.lambdas.get(&local).cloned() };
        found.into_iter().map(declare).collect()
    }

    fn mentions_vectors(&self, lambda: &Expr) -> bool {
        let mut has_vectors = false;
        visit::walk(lambda, |expr| has_vectors |= self.has_vectors(expr.ty));
        has_vectors
    }

    /// The body of a function before its regions were replaced.
    pub(super) fn original_body(&self, id: FnId) -> Option<&Expr> {
        self.originals.get(&id).or(self.program.fns[id].body.as_ref())
    }

    /// The nested functions that an expression uses, directly and through others.
    pub(super) fn nested_functions(&self, root: &Expr) -> Vec<FnId> {
        let mut found = vec![];
        let mut todo = vec![root];
        while let Some(expr) = todo.pop() {
            visit::walk(expr, |inner| {
                if let ExprKind::Fn(id, _) = inner.kind
                    && self.program.fns[id].parent.is_some()
                    && !found.contains(&id)
                {
                    found.push(id);
                    todo.extend(self.original_body(id));
                }
            });
        }
        found
    }

    /// The nested function for the lanes of a region or function.
    pub(super) fn nested_function(&mut self, id: FnId, span: Span, lanes: &mut Lanes) -> FnId {
        if let Some(&known) = lanes.nested.get(&id) {
            return known;
        }
        let mut function = self.program.fns[id].clone();
        function.body = self.original_body(id).cloned();
        function.parent = lanes.function.or(function.parent);
        // It may call itself.
        let own = self.program.fns.push(function.clone());
        lanes.nested.insert(id, own);
        self.check_ty(function.ty, span, lanes);
        let was_copy = std::mem::replace(&mut lanes.is_copy, true);
        let was_nested = std::mem::replace(&mut lanes.is_nested, true);
        self.params(&mut function.params, lanes);
        function.return_local.iter_mut().for_each(|local| self.declare(local, lanes));
        function.filter.iter_mut().for_each(|filter| self.value(filter, lanes));
        function.body.iter_mut().for_each(|body| self.value(body, lanes));
        (lanes.is_copy, lanes.is_nested) = (was_copy, was_nested);
        function.ret = self.lane_ty(function.ret);
        function.ty = self.lane_ty(function.ty);
        function.linkage = Linkage::Internal;
        self.program.fns[own] = function;
        own
    }
}
