//! Replaces one region by a call of `vectorize`.

use nyala_span::{Name, Span};

use crate::tree::{Expr, ExprKind, Lambda, LocalId, Param, Stmt};
use crate::types::Ty;

use super::SimdMode;
use super::build::Intrinsic;
use super::errors;
use super::lane::{Index, Lanes};
use super::regions::Region;

impl SimdMode<'_> {
    /// The expression that executes `root` for each lane.
    pub(super) fn region(&mut self, root: Expr, region: &Region) -> Expr {
        let (span, i32, unit) = (root.span, self.i32(), self.program.types.unit());
        let result = region.returns.map_or(root.ty, |(_, ret)| ret);
        let lane = self.new_local(Name::new("lane"), i32, false, span);
        let mut lanes = Lanes::new(Some(region.lanes), region.entered, Index::Variable(lane));
        lanes.is_lambda = region.returns.is_some();
        // SIMD mode of one lane is scalar mode.
        lanes.is_one_lane = self.program.types.as_number(region.lanes) == Some(1);
        let mut lambdas = self.lambdas_from_outside(&root);
        let whole = self.block(lambdas.clone(), Some(root), span);
        let variables = self.variables(&whole, region.returns.map(|(local, _)| local), &mut lanes);
        let ExprKind::Block { value: Some(root), .. } = whole.kind else { unreachable!("it was just made") };
        let mut root = *root;
        // After an error, the program is not lowered.
        if !lanes.is_one_lane && !self.is_result(result, span, region.entered) {
            return root;
        }
        lanes.is_copy = true;
        lambdas.iter_mut().for_each(|lambda| self.statement(lambda, &mut lanes));
        lanes.is_copy = false;
        self.value(&mut root, &mut lanes);
        if let Some((returns, ret)) = region.returns {
            root = self.with_return(root, returns, ret);
        }

        let (mut stmts, mut body) = (variables.before, variables.first);
        stmts.append(&mut lanes.shared);
        body.append(&mut lanes.first);
        body.append(&mut lambdas);
        let mut value = None;
        if result == unit {
            body.push(Stmt::Expr(root));
        } else {
            let output = self.new_local(Name::new("result"), result, true, span);
            self.program.locals[output].is_captured = true;
            stmts.push(self.let_(output, None));
            let own = self.new_local(Name::new("result"), root.ty, false, span);
            body.push(self.let_(own, Some(root)));
            let own = self.local(own, span);
            self.assign_lane(self.local(output, span), own, &lanes, &mut body);
            value = Some(self.local(output, span));
        }
        body.extend(variables.last);
        stmts.push(Stmt::Expr(self.vectorize(region.lanes, lane, body, span)));
        stmts.extend(variables.after);
        self.block(stmts, value, span)
    }

    /// Whether lanes can have results of this type.
    fn is_result(&mut self, ty: Ty, span: Span, entered: Span) -> bool {
        if ty == self.program.types.unit() || (self.has_vectors(ty) && self.has_writable_parts(ty)) {
            return true;
        }
        self.errors.push(errors::scalar_result(&self.program.types, ty, span, entered));
        false
    }

    /// A body that ends the lane with `return`: a lambda that is called at once.
    pub(super) fn with_return(&mut self, body: Expr, returns: LocalId, ret: Ty) -> Expr {
        let (span, ret) = (body.span, self.lane_ty(ret));
        let filter = Some(self.true_(span));
        let ty = self.program.types.func(&[], ret);
        let own = Lambda { params: vec![], filter, ret, return_local: Some(returns), body };
        let callee = Expr { kind: ExprKind::Lambda(Box::new(own)), ty, span };
        self.call(callee, vec![], ret, span)
    }

    /// `vectorize(lanes, |lane| { stmts })`
    fn vectorize(&mut self, lanes: Ty, lane: LocalId, stmts: Vec<Stmt>, span: Span) -> Expr {
        let (i32, unit) = (self.i32(), self.program.types.unit());
        let body = self.block(stmts, None, span);
        let pat = self.bind(lane);
        let params = vec![Param { pat, ty: i32, filter: None, span }];
        let ty = self.program.types.func(&[i32], unit);
        let return_ty = self.program.types.continuation(unit);
        let return_local = Some(self.new_local(Name::new("return"), return_ty, false, span));
        let lambda = Lambda { params, filter: None, ret: unit, return_local, body };
        let lambda = Expr { kind: ExprKind::Lambda(Box::new(lambda)), ty, span };
        let number = Expr { kind: ExprKind::Number(lanes), ty: i32, span };
        let declared = Intrinsic { symbol: "vectorize", params: &[Some(i32), Some(ty)], ret: Some(unit) };
        self.call_intrinsic(&declared, vec![number, lambda], i32, span)
    }

    /// The index of the lane.
    pub(super) fn lane_index(&mut self, lanes: &Lanes, span: Span) -> Expr {
        match lanes.index {
            Index::Variable(lane) => self.local(lane, span),
            Index::Function => {
                let i32 = self.i32();
                let declared = Intrinsic { symbol: "rv_lane_id", params: &[], ret: Some(i32) };
                self.call_intrinsic(&declared, vec![], i32, span)
            }
        }
    }
}
