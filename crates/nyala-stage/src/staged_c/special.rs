//! Specializations: `float f(float x) = generic<x, 3>;`.

use super::aliases::Aliases;
use super::translate::{Body, Signature, Variable, and, known};
use super::visit::visit_expr;
use super::{Expr, ExprKind, Head, Special};
use crate::deep::{self, Binder, Block, Ident, Lambda, StageExpr, StepKind, Value};
use crate::errors::ErrorKind;
use crate::primitive::Primitive;

impl Body<'_> {
    /// `compile` of a function that calls the generic one. It is in scope from now on.
    pub fn special(&mut self, special: &Special) {
        let Special { head, generic, args } = special;
        let Some(function) = self.program.signature(generic.name).cloned() else {
            let message = format!("unknown function `{}`", generic.name);
            return self.program.error(ErrorKind::UnknownName, generic.span, message);
        };
        if function.result != head.result {
            let message = format!("`{}` and `{}` return different types", head.ident.name, generic.name);
            self.program.error(ErrorKind::Type, head.ident.span, message);
        }
        let writes: Vec<bool> = head
            .params
            .iter()
            .map(|param| {
                let is_param = |arg: &&Expr| matches!(&arg.kind, ExprKind::Name(ident) if ident.name == param.ident.name);
                args.iter().zip(&function.writes).any(|(arg, writes)| *writes && is_param(&arg))
            })
            .collect();
        let needed = needed_variables(args, head, &self.variables);
        let stages = [self.stage.clone(), StageExpr::Name(function.name)];
        let stage = and(stages.into_iter().chain(needed.iter().map(known)).collect::<Vec<_>>());
        let params = self.variables.clone();
        let outer_names = self.stage_names.clone();
        let mut inner = Body::new(self.program, Aliases::of(&head.params, &[]), head.result);
        inner.variables.clone_from(&params);
        inner.stage_names = outer_names;
        let binder = inner.enter(head, &writes);
        let call = inner.stage.clone();
        inner.stage = stage.clone();
        let n_outer = params.len();
        // The generic function is inlined with the stage of the special one: it is not a call.
        let values = inner.call_with_stage(&function, args, call.clone(), head.ident.span);
        let done = inner.stage.clone();
        let end = and([done, call].into_iter().chain(values.iter().map(known)).collect::<Vec<_>>());
        inner.leave(values.into_iter().next(), end, head.ident.span);
        inner.variables.truncate(n_outer);
        let body = Block(inner.close());
        let lambda = Value::Lambda(Box::new(Lambda { binder, body }));
        let name = Ident { span: head.ident.span, ..self.fresh(head.ident.name.as_str()) };
        let after = self.fresh("defined");
        let param = deep::Param { ident: name, ty: None };
        let binder = Binder { params: vec![param], stage: Some(after), span: head.ident.span };
        let callee = Value::Primitive(Primitive::Compile);
        self.push(
            stage,
            StepKind::Call { callee, args: vec![lambda], binder: Some(binder) },
            head.ident.span,
        );
        let params = head.params.iter().map(|param| param.ty).collect();
        let (source, result) = (head.ident.name, head.result);
        self.program.functions.push(Signature { source, name, result, params, writes });
        self.stage = StageExpr::Name(after);
    }
}

/// The values of outer variables that the arguments of a specialization use.
fn needed_variables(args: &[Expr], head: &Head, variables: &[Variable]) -> Vec<Value> {
    let mut needed = vec![];
    for arg in args {
        visit_expr(arg, &mut |expr| {
            let ExprKind::Name(ident) = &expr.kind else { return };
            if head.params.iter().any(|param| param.ident.name == ident.name) {
                return;
            }
            let variable = variables.iter().rev().find(|variable| variable.name == ident.name);
            needed.extend(variable.map(|variable| variable.value.clone()));
        });
    }
    needed
}
