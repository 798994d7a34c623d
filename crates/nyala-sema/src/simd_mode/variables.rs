//! The variables from outside that a region uses.
//!
//! A variable that the region may write is copied in and out: inside there is one for each lane. Of a scalar, the value of lane 0
//! stays, which is that of all lanes unless they diverge. Two kinds of variables exist once for all lanes: those whose address is
//! taken, and those without vectors that have arrays, or are written in the body of a generator for lanes, such as `scalar`: a single lane executes it.

use rustc_hash::FxHashSet;

use nyala_span::Span;

use crate::tree::{Expr, ExprKind, LocalId, Stmt};
use crate::types::{Ty, TyKind};
use crate::visit::{self, Root};

use super::SimdMode;
use super::lane::Lanes;
use super::regions::own_jumps;

/// The code around the lanes for the variables from outside.
#[derive(Default)]
pub(super) struct Variables {
    /// Before all lanes.
    pub(super) before: Vec<Stmt>,
    /// At the beginning and the end of each lane.
    pub(super) first: Vec<Stmt>,
    pub(super) last: Vec<Stmt>,
    /// After all lanes.
    pub(super) after: Vec<Stmt>,
}

/// A variable from outside.
struct Used {
    local: LocalId,
    is_written: bool,
    /// Whether it is written in code of a single lane.
    is_written_by_one: bool,
}

impl SimdMode<'_> {
    /// Declares the variables of lanes for those that `root` uses.
    pub(super) fn variables(
        &mut self,
        root: &Expr,
        returns: Option<LocalId>,
        lanes: &mut Lanes,
    ) -> Variables {
        let mut all = Variables::default();
        let used = self.used(root).into_iter().filter(|used| Some(used.local) != returns);
        for used in used {
            self.variable(&used, root.span, lanes, &mut all);
        }
        all
    }

    fn variable(&mut self, used: &Used, span: Span, lanes: &mut Lanes, all: &mut Variables) {
        let local = &self.program.locals[used.local];
        let (name, ty, is_mut, address_taken) = (local.name, local.ty, local.is_mut, local.address_taken);
        let is_vector = self.has_vectors(ty);
        let is_function = matches!(self.program.types.kind(ty), TyKind::Fn { .. });
        let is_one_for_all =
            is_function || address_taken || !is_vector && (used.is_written_by_one || self.has_arrays(ty));
        if is_function || is_vector && address_taken {
            lanes.outside.insert(used.local);
        }
        if is_one_for_all || !is_vector && !is_mut {
            self.program.locals[used.local].is_captured = true;
            return;
        }
        if used.is_written && is_vector && !self.has_writable_parts(ty) {
            return self.unsupported("an assignment to an enum with vectors from outside", span, lanes);
        }
        let input = match is_mut {
            false => used.local,
            true => {
                let input = self.new_local(name, ty, false, span);
                let value = self.local(used.local, span);
                all.before.push(self.let_(input, Some(value)));
                input
            }
        };
        self.program.locals[input].is_captured = true;
        if !is_vector && !used.is_written {
            lanes.twins.insert(used.local, input);
            return;
        }
        let lane_ty = self.lane_ty(ty);
        let is_captured = self.program.locals[used.local].is_captured || lanes.is_lambda;
        let twin = self.new_local(name, lane_ty, is_mut, span);
        self.program.locals[twin].is_captured = is_captured;
        let value = self.lane_of(self.local(input, span), lanes);
        all.first.push(self.let_(twin, Some(value)));
        lanes.twins.insert(used.local, twin);
        if used.is_written {
            let output = self.new_local(name, ty, true, span);
            self.program.locals[output].is_captured = true;
            all.before.push(self.let_(output, None));
            let (place, value) = (self.local(output, span), self.local(twin, span));
            self.assign_lane(place, value, lanes, &mut all.last);
            let (place, value) = (self.local(used.local, span), self.local(output, span));
            all.after.push(self.assign(place, value));
        }
    }

    fn has_arrays(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Array(..) => true,
            TyKind::Tuple(parts) => parts.iter().any(|&part| self.has_arrays(part)),
            TyKind::Struct(id, _) => {
                self.program.structs[*id].fields.iter().any(|field| self.has_arrays(field.ty))
            }
            _ => false,
        }
    }

    /// The variables from outside, in the order of their declarations.
    fn used(&mut self, root: &Expr) -> Vec<Used> {
        let nested: Vec<_> = self.nested_functions(root);
        let mut roots = vec![root.clone()];
        let (mut used, mut own) = (vec![], FxHashSet::default());
        for id in nested {
            let function = &self.program.fns[id];
            own.extend(function.params.iter().flat_map(|param| visit::bindings(&param.pat)));
            own.extend(function.return_local);
            roots.extend(self.original_body(id).cloned());
        }
        let mut of_one_lane = FxHashSet::default();
        roots.iter().for_each(|root| of_one_lane.extend(self.code_of_one_lane(root)));
        let (mut written, mut written_by_one) = (FxHashSet::default(), FxHashSet::default());
        let mut visit_one = |expr: &Expr| {
            own.extend(own_jumps(expr));
            visit::for_each_pattern(expr, |pat| own.extend(visit::bindings(pat)));
            let is_of_one_lane = of_one_lane.contains(&std::ptr::from_ref(expr));
            visit::for_each_written(&self.program.types, expr, &mut |place| {
                if let Some(Root::Local(local)) = visit::root_of(place) {
                    written.insert(local);
                    if is_of_one_lane {
                        written_by_one.insert(local);
                    }
                }
            });
            match &expr.kind {
                ExprKind::Lambda(lambda) => {
                    own.extend(lambda.params.iter().flat_map(|param| visit::bindings(&param.pat)));
                }
                ExprKind::Local(local) => used.push(*local),
                _ => {}
            }
        };
        roots.iter().for_each(|root| visit::walk(root, &mut visit_one));
        used.retain(|local| !own.contains(local));
        used.sort_unstable();
        used.dedup();
        let used = used.into_iter().map(|local| Used {
            local,
            is_written: written.contains(&local),
            is_written_by_one: written_by_one.contains(&local),
        });
        used.collect()
    }

    /// The expressions in bodies of generators that select lanes.
    fn code_of_one_lane(&mut self, root: &Expr) -> FxHashSet<*const Expr> {
        let mut bodies = vec![];
        visit::walk(root, |expr| {
            if let ExprKind::Call(call) = &expr.kind
                && let ExprKind::Fn(id, _) = call.callee.kind
                && self.is_for_lanes(id)
            {
                bodies.extend(call.args.iter().filter(|arg| matches!(arg.kind, ExprKind::Lambda(_))));
            }
        });
        let mut inside = FxHashSet::default();
        for body in bodies {
            visit::walk(body, |expr| {
                inside.insert(std::ptr::from_ref(expr));
            });
        }
        inside
    }
}
