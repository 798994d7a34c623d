//! Calls: conversion to continuation-passing style.

use nyala_ir::{Cont, Def, Mark, Ty};
use nyala_sema::tree::{Call, Expr};
use nyala_syntax::ast::MarkKind;

use crate::control::Tail;
use crate::facts::jump_target;
use crate::instance::Binding;
use crate::lowerer::Lowerer;

impl<'p> Lowerer<'p> {
    /// A call whose value is used: the code after it becomes its return
    /// continuation.
    pub(crate) fn call_value(&mut self, expr: &'p Expr, call: &'p Call) -> Option<Def> {
        if let Some(op) = self.direct_op(call) {
            return self.direct_value(expr, call, op);
        }
        if let Some(assertion) = self.direct_assertion(call) {
            let args = self.arguments(&call.args)?;
            self.at(expr.span);
            self.assert_that(assertion, &args);
            return Some(self.world.unit());
        }
        if self.frame.expands_calls
            && let Some(value) = self.expanded_call(call)
        {
            return Some(value);
        }
        let Some(ret_ty) = self.result_cn(expr, call) else {
            self.emit_call(expr, call, None);
            return None;
        };
        let next = self.next_cont(ret_ty);
        let ret = self.world.cont_def(next);
        self.emit_call(expr, call, Some(ret))?;
        self.enter(next);
        self.at(expr.span);
        Some(self.result_of(next))
    }

    /// The return continuation of a call whose value is used.
    fn next_cont(&mut self, ret_ty: Ty) -> Cont {
        let takes = self.world.types.as_cn(ret_ty).expect("results go to continuations").to_vec();
        self.world.new_cont("next", &takes)
    }

    /// The result of a function with a result, called with these arguments.
    pub(crate) fn call_with(&mut self, callee: Def, args: &[Def], ret_ty: Ty) -> Def {
        let next = self.next_cont(ret_ty);
        let mut all = args.to_vec();
        all.push(self.world.cont_def(next));
        self.jump(callee, &all);
        self.enter(next);
        self.result_of(next)
    }

    /// A call in tail position: it gets the return continuation of the caller.
    pub(crate) fn call_tail(&mut self, expr: &'p Expr, call: &'p Call, tail: Tail) {
        if self.direct_op(call).is_none() && self.direct_assertion(call).is_none() {
            match (self.result_cn(expr, call), tail) {
                (None, _) => {
                    self.emit_call(expr, call, None);
                    return;
                }
                (Some(ty), Tail::Return(ret)) if self.world.ty(ret) == ty => {
                    self.emit_call(expr, call, Some(ret));
                    return;
                }
                _ => {}
            }
        }
        if let Some(value) = self.call_value(expr, call) {
            self.leave(value, tail);
        }
    }

    /// The type of the return continuation of a call; `None` for a jump.
    fn result_cn(&mut self, expr: &Expr, call: &Call) -> Option<Ty> {
        if call.is_jump { None } else { self.ret_ty(expr.ty) }
    }

    /// The value of the parameters of a return continuation.
    fn result_of(&mut self, next: Cont) -> Def {
        let parts = self.world.cont(next).params[1..].to_vec();
        self.world.tuple(&parts)
    }

    /// Ends the current block with the call; `None` if an operand never produces a value.
    fn emit_call(&mut self, expr: &'p Expr, call: &'p Call, ret: Option<Def>) -> Option<()> {
        if let Some(local) = jump_target(call)
            && let Some(Binding::Jump(jump)) = self.binding(local)
        {
            self.loop_jump(jump);
            return Some(());
        }
        if let (Some(local), Some(ret)) = (call.break_local, ret) {
            self.set_binding(local, Binding::Return(ret));
        }
        let (callee, args) = self.operands(call)?;
        self.at(expr.span);
        let takes = self.world.types.as_cn(self.world.ty(callee)).expect("a callee is a function");
        let takes = takes[1..].to_vec();
        let all = match ret {
            Some(ret) => {
                let (ret_ty, takes) =
                    takes.split_last().expect("a function with a result has a return continuation");
                let mut all = self.adapt_args(&args, takes);
                all.push(self.adapt(ret, *ret_ty));
                all
            }
            None => self.adapt_args(&args, &takes),
        };
        let callee = match call.mark {
            Some(MarkKind::Force) => self.world.mark(Mark::Force, callee),
            Some(MarkKind::Run) => self.world.mark(Mark::Run, callee),
            Some(MarkKind::Halt) => self.world.mark(Mark::Halt, callee),
            None => callee,
        };
        self.jump(callee, &all);
        Some(())
    }

    /// Callee and arguments, evaluated in the call's order.
    fn operands(&mut self, call: &'p Call) -> Option<(Def, Vec<Def>)> {
        let early = match call.args_first {
            true => None,
            false => Some(self.callee(&call.callee)?),
        };
        let args = self.arguments(&call.args)?;
        let callee = match early {
            Some(callee) => callee,
            None => self.callee(&call.callee)?,
        };
        Some((callee, args))
    }

    /// Arguments, left to right.
    pub(crate) fn arguments(&mut self, args: &'p [Expr]) -> Option<Vec<Def>> {
        let mut defs = Vec::with_capacity(args.len());
        for arg in args {
            defs.push(self.value(arg)?);
        }
        Some(defs)
    }

    /// The callee; a return continuation is not converted.
    fn callee(&mut self, expr: &'p Expr) -> Option<Def> {
        if let nyala_sema::tree::ExprKind::Local(local) = expr.kind
            && let Some(Binding::Return(ret)) = self.binding(local)
        {
            return Some(ret);
        }
        self.value(expr)
    }
}
