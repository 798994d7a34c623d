//! Calls in SIMD mode.
//!
//! A function with vectors in its type is rewritten for one lane. Others are called as they are, by each lane, if they are written
//! for lanes: they take a function, which is the code of the lanes, or have collective operations. So a scalar function is never
//! called by accident: only the bodies of generators that select one lane (`one_lane`) call it. Intrinsics compute the same for one lane as for a
//! vector.

use nyala_span::{Name, Span};

use crate::tree::{Abi, Call, Expr, ExprKind, FnId, Function, Linkage, Stmt};
use crate::types::{Prim, Ty, TyKind};
use crate::visit;

use super::SimdMode;
use super::build::Intrinsic;
use super::errors;
use super::lane::{Index, Lanes};

impl SimdMode<'_> {
    /// A call.
    pub(super) fn call_in_lanes(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        let ExprKind::Call(call) = &mut expr.kind else { return };
        call.break_local.iter_mut().for_each(|local| self.declare(local, lanes));
        self.arguments(call, lanes);
        if let Some(symbol) = self.vector_operation(call) {
            let (args, ty, span) = (std::mem::take(&mut call.args), self.lane_ty(expr.ty), expr.span);
            match self.on_active_lanes(symbol, args, ty, span) {
                Some(instead) => *expr = instead,
                None => self.unsupported(&format!("`{symbol}` of a vector"), span, lanes),
            }
            return;
        }
        self.callee(&mut call.callee, lanes);
        expr.ty = self.lane_ty(expr.ty);
    }

    fn arguments(&mut self, call: &mut Call, lanes: &mut Lanes) {
        let selects_one_lane = match call.callee.kind {
            ExprKind::Fn(id, _) => self.selects_one_lane(id),
            _ => false,
        };
        let is_one_lane = lanes.is_one_lane;
        for arg in &mut call.args {
            lanes.is_one_lane = is_one_lane || selects_one_lane && matches!(arg.kind, ExprKind::Lambda(_));
            self.value(arg, lanes);
        }
        lanes.is_one_lane = is_one_lane;
    }

    /// The symbol of the operation on the elements of a vector that is called.
    fn vector_operation(&self, call: &Call) -> Option<&'static str> {
        let ExprKind::Fn(id, _) = call.callee.kind else { return None };
        if !self.has_vectors(call.callee.ty) {
            return None;
        }
        match self.program.fns[id].linkage {
            Linkage::Import { abi: Abi::Intrinsic, symbol } => Some(symbol.as_str()),
            _ => None,
        }
        .filter(|symbol| symbol.starts_with("simd_"))
    }

    /// The same operation on the values of the active lanes.
    fn on_active_lanes(&mut self, symbol: &str, args: Vec<Expr>, ty: Ty, span: Span) -> Option<Expr> {
        let prim = |prim| Some(self.program.types.prim(prim));
        let (bool, i32, u64) = (prim(Prim::Bool), prim(Prim::I32), prim(Prim::U64));
        let value = args.first().map_or(ty, |first| first.ty);
        let (symbol, params, ret): (_, &[Option<Ty>], _) = match symbol {
            "simd_splat" => return args.into_iter().next(),
            "simd_seq" => {
                let declared = Intrinsic { symbol: "rv_lane_id", params: &[], ret: i32 };
                let index = Box::new(self.call_intrinsic(&declared, vec![], ty, span));
                return Some(Expr { kind: ExprKind::Cast(index), ty, span });
            }
            "simd_any" => ("rv_any", &[bool], bool),
            "simd_all" => ("rv_all", &[bool], bool),
            "simd_ballot" => ("rv_ballot", &[bool], u64),
            "simd_add" => ("rv_add", &[None], None),
            "simd_mul" => ("rv_mul", &[None], None),
            "simd_min" => ("rv_min", &[None], None),
            "simd_max" => ("rv_max", &[None], None),
            "simd_and" => ("rv_and", &[None], None),
            "simd_or" => ("rv_or", &[None], None),
            "simd_xor" => ("rv_xor", &[None], None),
            "simd_permute" => ("rv_extract", &[None, i32], None),
            "simd_compress" => ("rv_compact", &[None, bool], None),
            _ => return None,
        };
        Some(self.call_intrinsic(&Intrinsic { symbol, params, ret }, args, value, span))
    }

    /// A function that is called, or used as a value.
    pub(super) fn callee(&mut self, callee: &mut Expr, lanes: &mut Lanes) {
        let (ty, span) = (callee.ty, callee.span);
        match &mut callee.kind {
            ExprKind::Fn(id, args) => {
                match self.function_for_lanes(*id, ty, span, lanes) {
                    Some(function) => *id = function,
                    None => return,
                }
                *args = self.lane_tys(args);
            }
            ExprKind::Local(local) => {
                // Jumps are inside of the region, but a continuation may be a parameter.
                if lanes.outside.contains(local) {
                    return self.report(errors::scalar_call(None, span, lanes.entered), lanes);
                }
                *local = lanes.twins.get(local).copied().unwrap_or(*local);
            }
            ExprKind::Constructor(_) => {}
            _ => return self.value(callee, lanes),
        }
        callee.ty = self.lane_ty(ty);
    }

    /// The function that lanes call for one with this type; `None` after an error.
    fn function_for_lanes(&mut self, id: FnId, ty: Ty, span: Span, lanes: &mut Lanes) -> Option<FnId> {
        if self.program.fns[id].parent.is_some() {
            return Some(self.nested_function(id, span, lanes));
        }
        let function = &self.program.fns[id];
        let (name, is_generic) = (function.name, !function.tparams.is_empty());
        let is_for_vectors = self.has_vectors(ty);
        let is_possible = match (&function.linkage, is_for_vectors) {
            (Linkage::Import { abi: Abi::Intrinsic | Abi::Device, .. }, false) => true,
            (_, false) if lanes.is_one_lane => true,
            (Linkage::Import { abi, .. }, _) => is_generic && *abi == Abi::Intrinsic,
            (_, true) => match self.lane_function(id) {
                Some(function) => return Some(function),
                None => {
                    // The error is in the function.
                    return None;
                }
            },
            (_, false) => self.takes_function(ty) || self.is_for_lanes(id),
        };
        if is_possible {
            return Some(id);
        }
        self.report(errors::scalar_call(Some(name), span, lanes.entered), lanes);
        None
    }

    fn takes_function(&self, ty: Ty) -> bool {
        let is_function = |ty: &Ty| matches!(self.program.types.kind(*ty), TyKind::Fn { .. });
        self.program.types.as_fn(ty).is_some_and(|(params, _)| params.iter().any(is_function))
    }

    /// Whether a function has collective operations.
    pub(super) fn is_for_lanes(&mut self, id: FnId) -> bool {
        if let Some(&known) = self.for_lanes.get(&id) {
            return known;
        }
        // Of a recursion, if other calls show it.
        self.for_lanes.insert(id, false);
        let function = &self.program.fns[id];
        let is_collective = match &function.linkage {
            Linkage::Import { symbol, .. } => symbol.as_str().starts_with("rv_"),
            _ => false,
        };
        let mut called = vec![];
        if let Some(body) = &function.body {
            visit::walk(body, |expr| {
                if let ExprKind::Fn(id, _) = expr.kind {
                    called.push(id);
                }
            });
        }
        let is_for_lanes = is_collective || called.into_iter().any(|id| self.is_for_lanes(id));
        self.for_lanes.insert(id, is_for_lanes);
        is_for_lanes
    }

    /// The function rewritten for one lane.
    fn lane_function(&mut self, id: FnId) -> Option<FnId> {
        if let Some(&known) = self.lane_fns.get(&id) {
            return known;
        }
        let mut function = self.program.fns[id].clone();
        if let Some(original) = self.originals.get(&id) {
            function.body = Some(original.clone());
        }
        function.body.as_ref()?;
        let mut lengths = vec![];
        self.lengths(function.ty, &mut lengths);
        let mut lanes = Lanes::new(lengths.first().copied(), function.span, Index::Function);
        // It may call itself.
        let own = self.program.fns.push(function.clone());
        self.lane_fns.insert(id, Some(own));
        lanes.function = Some(own);
        self.check_ty(function.ty, function.span, &mut lanes);
        self.params(&mut function.params, &mut lanes);
        function.return_local.iter_mut().for_each(|local| self.declare(local, &mut lanes));
        function.filter.iter_mut().for_each(|filter| self.value(filter, &mut lanes));
        function.body.iter_mut().for_each(|body| self.value(body, &mut lanes));
        function.ret = self.lane_ty(function.ret);
        if !lanes.first.is_empty() {
            self.end_together(&mut function, lanes.first);
        }
        function.ty = self.lane_ty(function.ty);
        function.linkage = Linkage::Internal;
        function.role = None;
        self.program.fns[own] = function;
        Some(own)
    }

    /// Lets no lane leave a function before the others: they use a variable of the first one.
    fn end_together(&mut self, function: &mut Function, mut stmts: Vec<Stmt>) {
        let (Some(body), Some(returns)) = (function.body.take(), function.return_local) else { return };
        let (span, bool) = (body.span, self.program.types.bool());
        let copy = self.program.locals[returns].clone();
        function.return_local = Some(self.program.locals.push(copy));
        let value = self.with_return(body, returns, function.ret);
        let result = self.new_local(Name::new("result"), function.ret, false, span);
        let declared = Intrinsic { symbol: "rv_all", params: &[Some(bool)], ret: Some(bool) };
        let all = self.true_(span);
        let together = self.call_intrinsic(&declared, vec![all], bool, span);
        stmts.extend([self.let_(result, Some(value)), Stmt::Expr(together)]);
        function.body = Some(self.block(stmts, Some(self.local(result, span)), span));
    }
}
