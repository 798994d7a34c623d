//! Finds the expressions that are executed in SIMD mode.
//!
//! A vectorial expression is the root of a region, unless it jumps out: then the region is the expression that the jump ends. It
//! contains the targets of all its jumps, also of those that are not vectorial.
//!
//! A function may call one of its parameters in SIMD mode, as a generator does with the body of a loop. The argument has to be code of
//! one lane then, so SIMD mode begins at the call of that function (`functions_of_lanes`).

use nyala_span::{Diagnostic, Span};
use nyala_syntax::ast::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::tree::{Coercion, Cond, Expr, ExprKind, FnId, LocalId, Pat, Program};
use crate::types::{Ty, TyKind};
use crate::visit;

use super::SimdMode;
use super::errors;

/// A region of SIMD mode.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) lanes: Ty,
    /// The condition that is a vector.
    pub(super) entered: Span,
    /// Of the body of a function or lambda: its `return` and its result.
    pub(super) returns: Option<(LocalId, Ty)>,
}

/// The regions in one body.
#[derive(Default)]
pub(super) struct Regions {
    roots: FxHashMap<*const Expr, Region>,
    /// Whether the body has vectorial expressions, in regions or without effects, or mentions a function that begins SIMD mode.
    pub(super) has_vectors: bool,
    pub(super) errors: Vec<Diagnostic>,
}

/// A vectorial expression whose region is not found yet.
#[derive(Clone, Copy)]
struct Demand {
    lanes: Ty,
    at: Span,
}

impl SimdMode<'_> {
    /// Finds the functions that call parameters in SIMD mode, themselves or through others.
    pub(super) fn find_functions_of_lanes(&mut self) {
        let mut open: Vec<(FnId, Vec<LocalId>)> = vec![];
        for (id, function) in self.program.fns.iter().filter(|(_, function)| function.body.is_some()) {
            let mut params: Vec<LocalId> =
                function.params.iter().flat_map(|param| visit::bindings(&param.pat)).collect();
            params.retain(|&param| self.is_vector_function(self.program.locals[param].ty));
            open.extend((!params.is_empty()).then_some((id, params)));
        }
        loop {
            let is_found = |(id, params): &(FnId, Vec<LocalId>)| self.uses_in_lanes(*id, params);
            let (found, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(is_found);
            if found.is_empty() {
                return;
            }
            self.functions_of_lanes.extend(found.into_iter().map(|(id, _)| id));
            open = rest;
        }
    }

    fn is_vector_function(&self, ty: Ty) -> bool {
        matches!(self.program.types.kind(ty), TyKind::Fn { .. }) && self.has_vectors(ty)
    }

    /// Whether a function uses one of these variables in SIMD mode.
    fn uses_in_lanes(&self, id: FnId, locals: &[LocalId]) -> bool {
        let function = &self.program.fns[id];
        let Some(body) = &function.body else { return false };
        let regions = Regions::find(self, body, function.return_local, function.ret);
        let mut is_used = false;
        let mut look_for = |expr: &Expr| {
            if let ExprKind::Local(local) = expr.kind {
                is_used |= locals.contains(&local);
            }
        };
        visit::walk(body, |expr| {
            if regions.at(expr).is_some() {
                visit::walk(expr, &mut look_for);
                for nested in self.nested_functions(expr) {
                    self.original_body(nested).into_iter().for_each(|body| visit::walk(body, &mut look_for));
                }
            }
        });
        is_used
    }
}

impl Regions {
    /// The regions of a body with this `return` and result.
    pub(super) fn find(mode: &SimdMode<'_>, body: &Expr, returns: Option<LocalId>, ret: Ty) -> Regions {
        let (jumps, found) = (FxHashSet::default(), Regions::default());
        let mut finder = Finder { mode, program: mode.program, jumps, found };
        finder.jumps.extend(returns);
        visit::walk(body, |expr| finder.jumps.extend(own_jumps(expr)));
        if let Some(demand) = finder.expr(body) {
            finder.end_of_body(body, demand, returns, ret);
        }
        finder.found
    }

    /// The region with this root.
    pub(super) fn at(&self, expr: &Expr) -> Option<Region> {
        self.roots.get(&std::ptr::from_ref(expr)).copied()
    }
}

struct Finder<'p> {
    mode: &'p SimdMode<'p>,
    program: &'p Program,
    /// The jumps of the body: `return`, `break` and `continue`.
    jumps: FxHashSet<LocalId>,
    found: Regions,
}

impl Finder<'_> {
    /// The vectorial expressions inside that need a larger region.
    fn expr(&mut self, expr: &Expr) -> Option<Demand> {
        let mut demand = None;
        match &expr.kind {
            ExprKind::Lambda(lambda) => {
                if let Some(inner) = self.expr(&lambda.body) {
                    demand = self.lambda_body(&lambda.body, inner, lambda.return_local, lambda.ret);
                }
            }
            _ => visit::for_each_child(expr, &mut |child| demand = demand.or(self.expr(child))),
        }
        if let ExprKind::Fn(id, _) = expr.kind {
            self.found.has_vectors |= self.mode.functions_of_lanes.contains(&id);
        }
        let own = self.own_demand(expr);
        let is_root = match &expr.kind {
            ExprKind::While { .. } => true,
            ExprKind::Call(call) => call.break_local.is_some() || own.is_some(),
            _ => own.is_some(),
        };
        let demand = demand.or(own)?;
        if !is_root || !self.jumps_out_of(expr).is_empty() {
            return Some(demand);
        }
        self.root(expr, demand, None);
        None
    }

    fn root(&mut self, expr: &Expr, demand: Demand, returns: Option<(LocalId, Ty)>) {
        let region = Region { lanes: demand.lanes, entered: demand.at, returns };
        self.found.roots.insert(std::ptr::from_ref(expr), region);
    }

    /// The region of a lambda's body; the demand, if a jump leaves it.
    fn lambda_body(
        &mut self,
        body: &Expr,
        demand: Demand,
        returns: Option<LocalId>,
        ret: Ty,
    ) -> Option<Demand> {
        let mut out = self.jumps_out_of(body);
        out.retain(|&jump| Some(jump) != returns);
        let (Some(returns), true) = (returns, out.is_empty()) else { return Some(demand) };
        self.root(body, demand, Some((returns, ret)));
        None
    }

    fn end_of_body(&mut self, body: &Expr, demand: Demand, returns: Option<LocalId>, ret: Ty) {
        if self.lambda_body(body, demand, returns, ret).is_some() {
            let error = errors::unsupported("a jump out of a function", demand.at, demand.at);
            self.found.errors.push(error);
        }
    }

    /// Whether the expression itself is vectorial.
    fn own_demand(&mut self, expr: &Expr) -> Option<Demand> {
        let cond = |cond: &Cond| match cond {
            Cond::Expr(cond) => self.lanes_of(cond),
            Cond::Let(..) => None,
        };
        let demand = match &expr.kind {
            ExprKind::If { arms, .. } => arms.iter().find_map(|(it, _)| cond(it)),
            ExprKind::While { cond: it, .. } => cond(it),
            ExprKind::Chain { rest, .. }
                if matches!(rest.first().map(|link| link.op), Some(BinaryOp::AndAnd | BinaryOp::OrOr)) =>
            {
                let demand = self.lanes_of(expr);
                self.found.has_vectors |= demand.is_some();
                demand.filter(|_| !rest.iter().all(|link| is_simple(&link.rhs)))
            }
            ExprKind::Match { scrutinee, arms } => {
                // A pattern of all elements is one of the vector.
                let is_of_lane = |pat: &Pat| !matches!(self.program.types.kind(pat.ty), TyKind::Simd(..));
                self.lanes_of(scrutinee).filter(|_| arms.iter().all(|(pat, _)| is_of_lane(pat)))
            }
            ExprKind::Call(call) => match call.callee.kind {
                ExprKind::Fn(id, _) => self.lanes_of_function(id, &call.callee),
                _ => self.lanes_of(&call.callee),
            },
            ExprKind::Assign { place, .. }
            | ExprKind::Step { place, .. }
            | ExprKind::AddrOf(place)
            | ExprKind::Coerce { kind: Coercion::AddrOf, expr: place } => self.gather(place),
            ExprKind::Field { .. } | ExprKind::Index { .. } | ExprKind::Deref(_) => self.gather(expr),
            _ => None,
        };
        self.found.has_vectors |= demand.is_some();
        demand
    }

    /// The vector of indices or pointers by which lanes access places of their own.
    fn gather(&self, mut place: &Expr) -> Option<Demand> {
        loop {
            place = match &place.kind {
                ExprKind::Field { base, .. } => base,
                ExprKind::Index { base, index } => match self.lanes_of(index) {
                    Some(demand) => return Some(demand),
                    None => base,
                },
                ExprKind::Deref(pointer) => return self.lanes_of(pointer),
                _ => return None,
            }
        }
    }

    /// Of a function that calls a parameter in SIMD mode, the lanes of that.
    fn lanes_of_function(&self, id: FnId, callee: &Expr) -> Option<Demand> {
        if !self.mode.functions_of_lanes.contains(&id) {
            return None;
        }
        let mut lengths = vec![];
        self.mode.lengths(callee.ty, &mut lengths);
        lengths.first().map(|&lanes| Demand { lanes, at: callee.span })
    }

    fn lanes_of(&self, value: &Expr) -> Option<Demand> {
        match *self.program.types.kind(value.ty) {
            TyKind::Simd(_, lanes) => Some(Demand { lanes, at: value.span }),
            _ => None,
        }
    }

    /// The jumps in `expr` whose targets are outside.
    fn jumps_out_of(&self, expr: &Expr) -> Vec<LocalId> {
        let (mut used, mut own) = (vec![], FxHashSet::default());
        visit::walk(expr, |inner| {
            own.extend(own_jumps(inner));
            if let ExprKind::Local(local) = inner.kind
                && self.jumps.contains(&local)
            {
                used.push(local);
            }
        });
        used.retain(|jump| !own.contains(jump));
        used
    }
}

/// The jumps that an expression declares.
pub(super) fn own_jumps(expr: &Expr) -> Vec<LocalId> {
    match &expr.kind {
        ExprKind::While { break_local, continue_local, .. } => vec![*break_local, *continue_local],
        ExprKind::Call(call) => call.break_local.into_iter().collect(),
        ExprKind::Lambda(lambda) => lambda.return_local.into_iter().collect(),
        _ => vec![],
    }
}

/// Whether evaluating `expr` costs little, cannot fail and has no effect.
fn is_simple(expr: &Expr) -> bool {
    use BinaryOp::{Div, Rem, Shl, Shr};
    match &expr.kind {
        ExprKind::Lit(_) | ExprKind::Local(_) => true,
        ExprKind::Not(inner)
        | ExprKind::Neg(inner)
        | ExprKind::Known(inner)
        | ExprKind::Field { base: inner, .. }
        | ExprKind::Coerce { kind: Coercion::Broadcast, expr: inner } => is_simple(inner),
        ExprKind::Chain { first, rest } => {
            let is_harmless = |op| !matches!(op, Div | Rem | Shl | Shr);
            is_simple(first)
                && rest.iter().all(|link| link.by.is_none() && is_harmless(link.op) && is_simple(&link.rhs))
        }
        _ => false,
    }
}
