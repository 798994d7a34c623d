//! Filters as nodes without control flow.
//!
//! A filter is instantiated and folded at each call, so it must be one node over
//! the parameters. `&&`, `||`, `if` and `match` evaluate all their parts and
//! then select, which has the same value, because filters have no effects. Calls
//! of functions with a body are expanded in place: by name, not recursive, and within
//! the limits of [`Expansion`](crate::statics::Expansion). A filter that needs memory or control flow
//! never holds, which is reported.

use std::rc::Rc;

use nyala_ir::{Cont, Def};
use nyala_sema::tree::{Call, Coercion, Cond, Expr, ExprKind, FnId, LocalId, Param, Pat, Stmt};
use nyala_sema::types as sema;
use nyala_span::Span;

use crate::errors::LowerError;
use crate::expr::{link_operation, unary_operation};
use crate::instance::{Binding, Instance};
use crate::lowerer::Lowerer;
use crate::types::bind;

/// A part of a filter that cannot be a node.
pub(crate) struct NoNode {
    at: Span,
    /// Its position in a called function.
    inside: Option<Span>,
    why: &'static str,
}

impl NoNode {
    /// An operation that needs memory or control flow.
    fn at(at: Span) -> NoNode {
        NoNode { at, inside: None, why: "needs memory or control flow" }
    }
}

impl<'p> Lowerer<'p> {
    /// Sets the filters of a function's continuation; `filter` is that of the return continuation.
    pub(crate) fn filters(
        &mut self,
        params: &'p [Param],
        filter: Option<&'p Expr>,
        args: &[Def],
        cont: Cont,
    ) {
        if filter.is_none() && params.iter().all(|param| param.filter.is_none()) {
            return;
        }
        // In a filter a parameter is the argument, also if the body stores it in memory.
        for (param, &arg) in params.iter().zip(args) {
            let bindings = self.pat_bindings(&param.pat, arg);
            self.bind_pure(bindings);
        }
        let mut all = vec![self.world.lit_bool(false)];
        for param in params {
            all.push(self.filter(param.filter.as_ref()));
        }
        if self.world.cont(cont).params.len() > all.len() {
            all.push(self.filter(filter));
        }
        self.world.set_filter(cont, all);
    }

    fn filter(&mut self, filter: Option<&'p Expr>) -> Def {
        let Some(filter) = filter else { return self.world.lit_bool(false) };
        self.expansion.n_calls = 0;
        match self.pure(filter) {
            Ok(node) => node,
            Err(NoNode { at, inside, why }) => {
                // The filter of a whole function is also part of the filter of each parameter.
                let same = |error: &LowerError| matches!(error, LowerError::ImpureFilter { at: old, .. } if *old == at);
                if !self.errors.iter().any(same) {
                    self.errors.push(LowerError::ImpureFilter { at, inside, why });
                }
                self.world.lit_bool(false)
            }
        }
    }

    /// The node of an expression without effects.
    fn pure(&mut self, expr: &'p Expr) -> Result<Def, NoNode> {
        self.expansion.nesting += 1;
        let node = self.pure_node(expr);
        self.expansion.nesting -= 1;
        node
    }

    fn pure_node(&mut self, expr: &'p Expr) -> Result<Def, NoNode> {
        self.at(expr.span);
        match &expr.kind {
            ExprKind::Lit(bits) => Ok(self.literal(expr.ty, *bits)),
            ExprKind::Str(text) => Ok(self.string(text)),
            ExprKind::Number(number) => Ok(self.number(*number, expr.ty)),
            ExprKind::Fn(id, args) => Ok(self.fn_value(*id, args, expr.span)),
            ExprKind::FnParam(local, args) => Ok(self.fn_param_value(*local, args, expr.span)),
            ExprKind::Local(local) => self.pure_local(expr, *local),
            ExprKind::Static(id) => self.static_value(*id).ok_or(NoNode::at(expr.span)),
            ExprKind::Field { base, index } => {
                let base = self.pure(base)?;
                Ok(self.world.extract_at(base, *index))
            }
            ExprKind::Index { base, index } => {
                let (base, index) = (self.pure(base)?, self.pure(index)?);
                Ok(self.world.extract(base, index))
            }
            ExprKind::Neg(inner) | ExprKind::Not(inner) => {
                let value = self.pure(inner)?;
                self.operate_purely(unary_operation(expr, inner), &[value])
            }
            ExprKind::Chain { first, rest } => {
                let (mut value, mut ty) = (self.pure(first)?, first.ty);
                for link in rest {
                    let rhs = self.pure(&link.rhs)?;
                    value = self.operate_purely(link_operation(link, ty), &[value, rhs])?;
                    ty = link.ty;
                }
                Ok(value)
            }
            ExprKind::Known(inner) => {
                let value = self.pure(inner)?;
                Ok(self.world.known(value))
            }
            ExprKind::Hide(inner) => {
                let value = self.pure(inner)?;
                Ok(self.world.hide(value))
            }
            _ => self.pure_rest(expr),
        }
    }

    fn pure_rest(&mut self, expr: &'p Expr) -> Result<Def, NoNode> {
        match &expr.kind {
            ExprKind::Cast(inner) => {
                let value = self.pure(inner)?;
                Ok(self.cast(expr, inner, value))
            }
            ExprKind::Coerce { kind: Coercion::Retype, expr: inner } => {
                let (value, ty) = (self.pure(inner)?, self.ty(expr.ty));
                Ok(self.adapt(value, ty))
            }
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => {
                let (parts, ty) = (self.pure_all(parts)?, self.ty(expr.ty));
                Ok(self.world.aggregate(ty, &parts))
            }
            ExprKind::Block { stmts, value: Some(value) } => {
                stmts.iter().try_for_each(|stmt| self.pure_let(stmt, expr.span))?;
                self.pure(value)
            }
            ExprKind::If { arms, other: Some(other) } => {
                let mut decided = vec![];
                for (cond, value) in arms {
                    decided.push((self.pure_cond(cond)?, self.pure(value)?));
                }
                let other = self.pure(other)?;
                Ok(self.first_that_holds(decided, other))
            }
            ExprKind::Match { scrutinee, arms } => {
                let scrutinee = self.pure(scrutinee)?;
                self.pure_match(expr.span, scrutinee, arms)
            }
            ExprKind::Call(call) => self.pure_call(expr, call),
            _ => Err(NoNode::at(expr.span)),
        }
    }

    fn pure_all(&mut self, exprs: &'p [Expr]) -> Result<Vec<Def>, NoNode> {
        exprs.iter().map(|expr| self.pure(expr)).collect()
    }

    fn pure_let(&mut self, stmt: &'p Stmt, block: Span) -> Result<(), NoNode> {
        let Stmt::Let { pat, init: Some(init) } = stmt else { return Err(NoNode::at(block)) };
        let value = self.pure(init)?;
        let bindings = self.pat_bindings(pat, value);
        self.bind_pure(bindings);
        Ok(())
    }

    fn bind_pure(&mut self, bindings: Vec<(LocalId, Def)>) {
        for (local, value) in bindings {
            self.set_binding(local, Binding::Value(value));
        }
    }

    fn pure_cond(&mut self, cond: &'p Cond) -> Result<Def, NoNode> {
        match cond {
            Cond::Expr(cond) => self.pure(cond),
            Cond::Let(pat, value) => {
                let value = self.pure(value)?;
                let (holds, bindings) = self.pat_test(pat, value);
                self.bind_pure(bindings);
                Ok(holds)
            }
        }
    }

    fn pure_match(&mut self, at: Span, value: Def, arms: &'p [(Pat, Expr)]) -> Result<Def, NoNode> {
        // Arms are exhaustive: the last matches if no other does.
        let mut decided = vec![];
        for (pat, arm) in arms {
            let (holds, bindings) = self.pat_test(pat, value);
            self.bind_pure(bindings);
            decided.push((holds, self.pure(arm)?));
        }
        let (_, last) = decided.pop().ok_or(NoNode::at(at))?;
        Ok(self.first_that_holds(decided, last))
    }

    /// The value of the first condition that holds, or `other`.
    fn first_that_holds(&mut self, decided: Vec<(Def, Def)>, other: Def) -> Def {
        decided.into_iter().rev().fold(other, |rest, (cond, value)| self.world.select(cond, value, rest))
    }

    fn pure_call(&mut self, expr: &'p Expr, call: &'p Call) -> Result<Def, NoNode> {
        if let Some(op) = self.direct_op(call) {
            let args = self.pure_all(&call.args)?;
            return Ok(self.op_node(expr, op, &args));
        }
        let ExprKind::Fn(id, type_args) = &call.callee.kind else {
            return Err(NoNode { why: "the callee is unknown here", ..NoNode::at(expr.span) });
        };
        if call.is_jump {
            return Err(NoNode::at(expr.span));
        }
        let args = self.pure_all(&call.args)?;
        self.pure_call_of(*id, type_args, &args, expr.span)
    }

    /// The value of a call of a function of the program.
    pub(crate) fn pure_call_of(
        &mut self,
        id: FnId,
        type_args: &[sema::Ty],
        args: &[Def],
        at: Span,
    ) -> Result<Def, NoNode> {
        let function = &self.program.fns[id];
        let Some(body) = &function.body else {
            return Err(NoNode { why: "is defined outside of the program", ..NoNode::at(at) });
        };
        if function.parent.is_some() {
            return Err(NoNode::at(at));
        }
        if self.expansion.open.contains(&id) {
            return Err(NoNode { why: "calls itself", ..NoNode::at(at) });
        }
        if !self.expansion.is_within_limits() {
            return Err(NoNode { why: "needs too many nested calls", ..NoNode::at(at) });
        }
        self.pure_body(id, type_args, args, body).map_err(|inner| NoNode {
            at,
            inside: inner.inside.or(Some(inner.at)),
            why: inner.why,
        })
    }

    /// The value of a function's body, in its own instance.
    fn pure_body(
        &mut self,
        id: FnId,
        type_args: &[sema::Ty],
        args: &[Def],
        body: &'p Expr,
    ) -> Result<Def, NoNode> {
        self.expansion.n_calls += 1;
        let function = &self.program.fns[id];
        let type_args: Vec<sema::Ty> = type_args.iter().map(|&arg| self.close_ty(arg)).collect();
        let subst = Rc::new(bind(&function.tparams, &type_args));
        let instance = self.instances.push(Instance::expanded(subst));
        let outer = std::mem::replace(&mut self.frame.instance, instance);
        self.expansion.open.push(id);
        for (param, &arg) in function.params.iter().zip(args) {
            let bindings = self.pat_bindings(&param.pat, arg);
            self.bind_pure(bindings);
        }
        let value = self.pure(body);
        self.expansion.open.pop();
        self.frame.instance = outer;
        value
    }

    fn pure_local(&mut self, expr: &Expr, local: LocalId) -> Result<Def, NoNode> {
        match self.binding(local) {
            Some(Binding::Value(value) | Binding::Stored { value, .. } | Binding::Return(value)) => Ok(value),
            _ => Err(NoNode::at(expr.span)),
        }
    }
}
