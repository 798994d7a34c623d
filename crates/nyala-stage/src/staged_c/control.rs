//! Control statements of Staged-C: `if`, loops and choices.
//!
//! The rest of a statement list is a function, which all ways through a control statement call with the values of
//! the variables that were assigned. If the statement has an annotation, it is called at that stage, so that the
//! control flow is resolved then, and it gets the stage of the last instruction: instructions of the body that are
//! not yet evaluated stay behind in order (*fragment chaining*, section 5.3 of the paper). Without annotation it is
//! called after the last instruction.

use nyala_ir::Prim;
use nyala_span::{Name, Span};

use super::translate::{Body, Open, and, deep_ty, known};
use super::visit::visit_stmts;
use super::{Expr, Stmt, StmtKind, Target, Ty};
use crate::code;
use crate::deep::{self, Binder, Block, Ident, Lambda, StageExpr, Step, StepKind, Value};
use crate::primitive::Primitive;

/// What a control statement changes: these become parameters of the functions around it.
struct Changes {
    variables: Vec<(Name, Ty)>,
    chains: Vec<Name>,
    /// Whether the stage of the last instruction is passed on.
    is_annotated: bool,
}

impl Body<'_> {
    pub(super) fn if_stmt(
        &mut self,
        condition: &Expr,
        then: &[Stmt],
        other: &[Stmt],
        is_annotated: bool,
        span: Span,
    ) {
        let condition = self.condition(condition);
        let both = [then, other];
        let changes = self.changes(&both, is_annotated);
        let join = self.fresh("join");
        let mut branches = vec![];
        let mut all_ended = true;
        for stmts in both {
            let stage = self.fresh("branch");
            let (steps, is_ended) = self.inside(StageExpr::Name(stage), |body| {
                body.stmts(stmts);
                if !body.is_ended {
                    let last = body.stage.clone();
                    let at = if is_annotated { StageExpr::Name(stage) } else { last.clone() };
                    body.jump(join, &changes, last, at, span);
                }
            });
            all_ended &= is_ended;
            branches.push(branch(stage, steps, span));
        }
        self.finish_if(condition, branches, join, &changes, all_ended, span);
    }

    /// `if`, and the rest of the list unless no way leads there.
    fn finish_if(
        &mut self,
        condition: Value,
        branches: Vec<Value>,
        join: Ident,
        changes: &Changes,
        all_ended: bool,
        span: Span,
    ) {
        let stage = and([self.stage.clone(), known(&condition)]);
        let mut args = vec![condition];
        args.extend(branches);
        let kind = StepKind::Call { callee: Value::Primitive(Primitive::If), args, binder: None };
        if all_ended {
            self.push(stage, kind, span);
            self.is_ended = true;
            return;
        }
        let after = self.fresh("choice");
        let control = vec![Step { stage: Some(StageExpr::Name(after)), kind, span }];
        self.rest(stage, after, join, changes, control, span);
    }

    pub(super) fn loop_stmt(
        &mut self,
        condition: Option<&Expr>,
        step: &[Stmt],
        body: &[Stmt],
        is_annotated: bool,
        span: Span,
    ) {
        let changes = self.changes(&[step, body], is_annotated);
        let (again, end, after) = (self.fresh("loop"), self.fresh("end"), self.fresh("enter"));
        let (stage, first_args) = (self.stage.clone(), self.args(&changes, StageExpr::Always, span));
        let iteration = self.fresh("iteration");
        let mut binder = None;
        let (steps, _) = self.inside(StageExpr::Name(iteration), |inner| {
            let (params, last) = inner.bind(&changes);
            binder = Some(Binder { params, stage: Some(iteration), span });
            let condition = condition.map_or(Value::Const(code::Const::Scalar(Prim::Bool, 1)), |condition| {
                inner.condition(condition)
            });
            let (then, other) = (inner.fresh("body"), inner.fresh("leave"));
            let (then_steps, _) = inner.inside(StageExpr::Name(then), |inner| {
                inner.stmts(body);
                if !inner.is_ended {
                    let last = inner.stage.clone();
                    if is_annotated {
                        inner.stage = StageExpr::Name(then);
                    }
                    inner.stmts(step);
                    let at = inner.stage.clone();
                    inner.jump(again, &changes, last, at, span);
                }
            });
            let (other_steps, _) = inner.inside(StageExpr::Name(other), |inner| {
                let last = last.map_or(StageExpr::Always, StageExpr::Name);
                inner.jump(end, &changes, last, StageExpr::Name(other), span);
            });
            let at = and([inner.stage.clone(), known(&condition)]);
            let args = vec![condition, branch(then, then_steps, span), branch(other, other_steps, span)];
            inner.push(
                at,
                StepKind::Call { callee: Value::Primitive(Primitive::If), args, binder: None },
                span,
            );
        });
        let function = Lambda { binder: binder.expect("it was set"), body: Block(steps) };
        let fix = StepKind::Fix { stage: None, name: again, function };
        let enter = StepKind::Call { callee: Value::Name(again), args: first_args, binder: None };
        let control = vec![
            Step { stage: Some(StageExpr::Name(after)), kind: fix, span },
            Step { stage: Some(StageExpr::Name(again)), kind: enter, span },
        ];
        self.rest(stage, after, end, &changes, control, span);
    }

    /// `c ? a : b`, where only one of both may be evaluated.
    pub(super) fn choose(
        &mut self,
        condition: Value,
        ty: Ty,
        mut values: impl FnMut(&mut Self, bool) -> Value,
        span: Span,
    ) -> Value {
        let changes = Changes { variables: vec![], chains: vec![], is_annotated: true };
        let join = self.fresh("join");
        let mut branches = vec![];
        for is_then in [true, false] {
            let stage = self.fresh("branch");
            let (steps, _) = self.inside(StageExpr::Name(stage), |body| {
                let value = values(body, is_then);
                let last = body.stage.clone();
                let args: Vec<Value> = [value].into_iter().chain(body.args(&changes, last, span)).collect();
                let kind = StepKind::Call { callee: Value::Name(join), args, binder: None };
                body.push(StageExpr::Name(stage), kind, span);
            });
            branches.push(branch(stage, steps, span));
        }
        self.finish_if(condition, branches, join, &changes, false, span);
        // The rest also gets the value.
        let result = self.fresh("chosen");
        let open = self.open.last_mut().expect("it was opened");
        open.binder.params.insert(0, deep::Param { ident: result, ty: deep_ty(ty) });
        Value::Name(result)
    }

    /// Translates a part of a control statement as a block of its own; also returns whether it has left the list.
    fn inside(&mut self, stage: StageExpr, part: impl FnOnce(&mut Self)) -> (Vec<Step>, bool) {
        let variables = self.variables.clone();
        let control = and([self.control.clone(), stage.clone()]);
        let control = std::mem::replace(&mut self.control, control);
        let chains = self.chains.clone();
        let stage = std::mem::replace(&mut self.stage, stage);
        let (steps, open) = (std::mem::take(&mut self.steps), std::mem::take(&mut self.open));
        part(self);
        let inner = self.close();
        let is_ended = std::mem::replace(&mut self.is_ended, false);
        (self.variables, self.chains, self.stage, self.control) = (variables, chains, stage, control);
        (self.steps, self.open) = (steps, open);
        (inner, is_ended)
    }

    /// The rest of the list becomes the function `name`.
    fn rest(
        &mut self,
        stage: StageExpr,
        after: Ident,
        name: Ident,
        changes: &Changes,
        control: Vec<Step>,
        span: Span,
    ) {
        let before = std::mem::take(&mut self.steps);
        let (params, last) = self.bind(changes);
        let begin = self.fresh("rest");
        let binder = Binder { params, stage: Some(begin), span };
        self.begin_rest(Open { before, stage, after_stage: Some(after), name, binder, steps: control, span });
        self.stage = StageExpr::Name(last.unwrap_or(begin));
    }

    /// New parameters for what changes; the second result is that for the stage of the last instruction.
    fn bind(&mut self, changes: &Changes) -> (Vec<deep::Param>, Option<Ident>) {
        let mut params = vec![];
        for (name, ty) in &changes.variables {
            let ident = self.fresh(name.as_str());
            params.push(deep::Param { ident, ty: deep_ty(*ty) });
            let found = self.variables.iter_mut().rev().find(|variable| variable.name == *name);
            found.expect("only variables in scope change").value = Value::Name(ident);
        }
        for class in &changes.chains {
            let ident = self.fresh(&format!("{class}_chain"));
            params.push(deep::Param { ident, ty: Some(code::Ty::Stage) });
            self.chains.insert(*class, StageExpr::Name(ident));
        }
        let last = changes.is_annotated.then(|| self.fresh("last"));
        params.extend(last.map(|ident| deep::Param { ident, ty: Some(code::Ty::Stage) }));
        (params, last)
    }

    /// The current values of what changes.
    fn args(&mut self, changes: &Changes, last: StageExpr, span: Span) -> Vec<Value> {
        let mut args = vec![];
        for (name, _) in &changes.variables {
            args.push(self.variable(*name).expect("only variables in scope change").value.clone());
        }
        for class in &changes.chains {
            let chain = self.chains.get(class).cloned().unwrap_or(StageExpr::Always);
            args.push(self.as_value(chain, span));
        }
        if changes.is_annotated {
            args.push(self.as_value(last, span));
        }
        args
    }

    /// Calls the rest of the list, or the next iteration.
    fn jump(&mut self, target: Ident, changes: &Changes, last: StageExpr, at: StageExpr, span: Span) {
        let args = self.args(changes, last, span);
        self.push(at, StepKind::Call { callee: Value::Name(target), args, binder: None }, span);
    }

    /// The variables in scope that statements assign, and the arrays that they write.
    fn changes(&self, lists: &[&[Stmt]], is_annotated: bool) -> Changes {
        let (mut names, mut chains): (Vec<Name>, Vec<Name>) = (vec![], vec![]);
        for stmts in lists {
            visit_stmts(
                stmts,
                &mut |stmt| {
                    if let StmtKind::Assign(Target::Name(ident), ..) = &stmt.kind
                        && !names.contains(&ident.name)
                    {
                        names.push(ident.name);
                    }
                },
                &mut |_| {},
            );
            for class in self.program.written(&self.aliases, stmts) {
                if !chains.contains(&class) {
                    chains.push(class);
                }
            }
        }
        let variables = names.into_iter().filter_map(|name| Some((name, self.variable(name)?.ty))).collect();
        Changes { variables, chains, is_annotated }
    }
}

fn branch(stage: Ident, steps: Vec<Step>, span: Span) -> Value {
    let binder = Binder { params: vec![], stage: Some(stage), span };
    Value::Lambda(Box::new(Lambda { binder, body: Block(steps) }))
}
