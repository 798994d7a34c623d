//! SIMD mode: code whose control flow depends on vectors becomes code for one lane.
//!
//! A condition of type `simd[bool * n]` makes an expression *vectorial*: each lane takes its own path. This pass, which runs on
//! the checked tree, turns such an expression into the call of `vectorize` that means the same. So the rest of the compiler
//! knows nothing of SIMD mode, and all that holds for the lanes of `vectorize` holds in it. For a vector `v` with 4 lanes,
//!
//! ```text
//! if v < 0f { v = -v; }
//! ```
//!
//! becomes, with names that no program has,
//!
//! ```text
//! let (in = v, mut out = v);
//! vectorize(4, |lane| { let mut v' = in(lane); if v' < 0f { v' = -v'; } out(lane) = v'; });
//! v = out;
//! ```
//!
//! * `regions` finds these expressions. One grows until it contains all targets of its jumps: with a `break`, it is the loop,
//!   with a `return`, the body of the function.
//! * `region` replaces one; `variables` says what happens to the variables from outside.
//! * `lane` rewrites the code inside: a vector of the lanes' length is the value of one lane there (`types`). What is behind a
//!   pointer stays a vector (`places`), of which a lane accesses its part (`parts`).
//! * `calls`: a function is rewritten as a whole, once for all calls in SIMD mode. Scalar functions are called where one lane
//!   executes the code (`one_lane`). Lambdas and nested functions from outside are rewritten for each region that uses them
//!   (`functions`), whose variables they see.
//! * `build` makes pieces of the new tree; `errors` lists what has no SIMD form.
//! * `single`: a condition of one lane beside longer vectors is scalar.
//!
//! # Invariants
//!
//! * In a region, all values that contain vectors have the same number of lanes.
//! * Regions are not nested.
//! * Scalars from outside are shared by all lanes.

mod build;
mod calls;
mod errors;
mod functions;
mod lane;
mod one_lane;
mod parts;
mod places;
mod region;
mod regions;
mod single;
mod types;
mod variables;

use nyala_span::{Diagnostic, Name};
use nyala_syntax::ast::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::tree::{Expr, ExprKind, FnId, LocalId, Program, Stmt};
use crate::types::{EnumId, StructId, Ty, TyKind};
use crate::visit;

use regions::Regions;

/// Replaces all vectorial control flow of a program without errors.
pub(crate) fn lower(program: &mut Program) -> Vec<Diagnostic> {
    let mut mode = SimdMode::new(program);
    mode.make_single_conditions_scalar();
    mode.find_functions_of_lanes();
    let fns: Vec<FnId> = mode.program.fns.keys().collect();
    for id in fns {
        let Some(mut body) = mode.program.fns[id].body.take() else { continue };
        let function = &mode.program.fns[id];
        let (returns, ret) = (function.return_local, function.ret);
        if mode.is_of_lanes(id) {
            // All calls are in SIMD mode.
            mode.program.fns[id].body = Some(mode.undef(ret, body.span));
            mode.originals.insert(id, body);
            continue;
        }
        let regions = Regions::find(&mode, &body, returns, ret);
        if regions.has_vectors {
            mode.originals.insert(id, body.clone());
            mode.body(&mut body, &regions);
        }
        mode.program.fns[id].body = Some(body);
    }
    let statics: Vec<_> = mode.program.statics.keys().collect();
    for id in statics {
        let Some(mut init) = mode.program.statics[id].init.take() else { continue };
        let regions = Regions::find(&mode, &init, None, init.ty);
        mode.body(&mut init, &regions);
        mode.program.statics[id].init = Some(init);
    }
    mode.errors
}

/// The state of the pass.
struct SimdMode<'p> {
    program: &'p mut Program,
    /// The types of one lane, by type.
    lane_types: FxHashMap<Ty, Ty>,
    /// The bodies of functions before their regions were replaced.
    originals: FxHashMap<FnId, Expr>,
    /// The lambdas that variables of the current body are bound to.
    lambdas: FxHashMap<LocalId, Expr>,
    /// The structs of one lane, of structs with vectors.
    lane_structs: FxHashMap<StructId, StructId>,
    /// The enums of one lane, of enums with vectors.
    lane_enums: FxHashMap<EnumId, EnumId>,
    /// The functions of one lane; `None` after an error.
    lane_fns: FxHashMap<FnId, Option<FnId>>,
    /// Whether functions are written for lanes.
    for_lanes: FxHashMap<FnId, bool>,
    /// Whether functions are generators whose body one lane executes.
    one_lane: FxHashMap<FnId, bool>,
    /// Functions that call a parameter in SIMD mode.
    functions_of_lanes: FxHashSet<FnId>,
    /// The declared intrinsics.
    intrinsics: FxHashMap<&'static str, FnId>,
    errors: Vec<Diagnostic>,
}

impl<'p> SimdMode<'p> {
    fn new(program: &'p mut Program) -> SimdMode<'p> {
        SimdMode {
            program,
            lane_types: FxHashMap::default(),
            originals: FxHashMap::default(),
            lambdas: FxHashMap::default(),
            lane_structs: FxHashMap::default(),
            lane_enums: FxHashMap::default(),
            lane_fns: FxHashMap::default(),
            for_lanes: FxHashMap::default(),
            one_lane: FxHashMap::default(),
            functions_of_lanes: FxHashSet::default(),
            intrinsics: FxHashMap::default(),
            errors: vec![],
        }
    }

    /// Whether a function, or one around it, calls a parameter in SIMD mode.
    fn is_of_lanes(&self, id: FnId) -> bool {
        let mut around = std::iter::successors(Some(id), |&id| self.program.fns[id].parent);
        around.any(|id| self.functions_of_lanes.contains(&id))
    }

    /// Replaces the regions of a body.
    fn body(&mut self, body: &mut Expr, regions: &Regions) {
        self.errors.extend(regions.errors.iter().cloned());
        if regions.has_vectors {
            self.lambdas = self.bound_lambdas(body);
            self.enter(body, regions);
        }
    }

    /// Replaces the regions in scalar code.
    fn enter(&mut self, expr: &mut Expr, regions: &Regions) {
        if let Some(region) = regions.at(expr) {
            let span = expr.span;
            let before = self.arguments_before(expr, regions);
            let root = std::mem::replace(expr, self.unit(span));
            let lanes = self.region(root, &region);
            *expr = if before.is_empty() { lanes } else { self.block(before, Some(lanes), span) };
            return;
        }
        if let ExprKind::Fn(id, _) = expr.kind
            && self.functions_of_lanes.contains(&id)
        {
            let function = &self.program.fns[id];
            self.errors.push(errors::function_of_lanes(function.name, function.span, expr.span));
        }
        // Without effects, both sides can be computed.
        if let ExprKind::Chain { rest, .. } = &mut expr.kind
            && matches!(self.program.types.kind(expr.ty), TyKind::Simd(..))
        {
            for link in rest {
                link.op = match link.op {
                    BinaryOp::AndAnd => BinaryOp::And,
                    BinaryOp::OrOr => BinaryOp::Or,
                    op => op,
                };
            }
        }
        visit::for_each_child_mut(expr, &mut |child| self.enter(child, regions));
    }

    /// The arguments of a function that calls a parameter in SIMD mode are computed before, in scalar mode.
    fn arguments_before(&mut self, call: &mut Expr, regions: &Regions) -> Vec<Stmt> {
        let ExprKind::Call(call) = &mut call.kind else { return vec![] };
        if !matches!(call.callee.kind, ExprKind::Fn(id, _) if self.functions_of_lanes.contains(&id)) {
            return vec![];
        }
        let mut before = vec![];
        for arg in &mut call.args {
            let is_function = matches!(self.program.types.kind(arg.ty), TyKind::Fn { .. });
            if is_function || matches!(arg.kind, ExprKind::Lit(_) | ExprKind::Local(_)) {
                continue;
            }
            self.enter(arg, regions);
            let local = self.new_local(Name::new("argument"), arg.ty, false, arg.span);
            let value = std::mem::replace(arg, self.local(local, arg.span));
            before.push(self.let_(local, Some(value)));
        }
        before
    }
}
