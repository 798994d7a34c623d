//! Staged-C to DeepCPS.
//!
//! A function becomes one of its stage, its parameters and its return continuation. Variables become parameters of
//! continuations, as in SSA form, so that staging moves pure computations freely:
//!
//! * A pure operation is evaluated when its statement's stage is set and its operands are bound.
//! * A write (a store, `print`, an allocation) also waits until it is certain that it is executed: it has the stages of all branches
//!   around it, and of the call of the function. Annotations cannot move it out of a branch.
//! * An effect (an access to memory, a call, `print`) sets a new stage when it is done, which is the stage of the
//!   statement after it: `*`, and the default.
//! * Accesses to one array are also chained with each other, since they may be staged upon different values: the *chain*
//!   of an array is the stage of its last access. Chains are passed to functions and back. A chain is not needed after
//!   reads, if nothing in the function writes.
//!
//! `control` has `if` and loops, `expr` expressions, `aliases` the arrays.

use nyala_ir::Prim;
use nyala_span::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::aliases::Aliases;
use super::{Expr, ExprKind, Function, Head, Item, STAR, Special, Stmt, StmtKind, Target, Ty};
use crate::code;
use crate::deep::{self, Binder, Block, Ident, Lambda, StageExpr, Step, StepKind, Value};
use crate::errors::{Error, ErrorKind};
use crate::primitive::Primitive;

/// The most control statements in a row: each one nests the rest of the program.
const MAX_CONTROL: usize = 300;

/// Translates a program. Its `main` runs when the program does; its result is the exit status.
pub fn translate(items: &[Item]) -> Result<Block, Vec<Error>> {
    let names = items.iter().map(|item| match item {
        Item::Function(Function { head, .. }) | Item::Special(Special { head, .. }) => head.ident.name,
    });
    let mut program = Program { functions: vec![], names: names.collect(), n_names: 0, errors: vec![] };
    let mut steps = vec![];
    for item in items {
        match item {
            Item::Function(function) => steps.push(program.function(function)),
            Item::Special(special) => {
                let mut body = Body::new(&mut program, Aliases::default(), Ty::Void);
                body.stage = StageExpr::Always;
                body.special(special);
                steps.append(&mut body.steps);
            }
        }
    }
    program.main(&mut steps);
    if program.errors.is_empty() { Ok(Block(steps)) } else { Err(program.errors) }
}

/// A function that can be called.
#[derive(Clone)]
pub(super) struct Signature {
    /// Its name in the source.
    pub source: Name,
    /// Its name in DeepCPS.
    pub name: Ident,
    pub result: Ty,
    pub params: Vec<Ty>,
    /// For each parameter, whether the function writes through it.
    pub writes: Vec<bool>,
}

pub(super) struct Program {
    pub functions: Vec<Signature>,
    /// The names of all definitions, which other names must differ from.
    names: FxHashSet<Name>,
    n_names: u32,
    pub errors: Vec<Error>,
}

impl Program {
    fn fresh(&mut self, base: &str) -> Ident {
        loop {
            self.n_names += 1;
            let name = Name::new(&format!("{base}_{}", self.n_names));
            if !self.names.contains(&name) {
                return Ident { name, span: Span::NONE };
            }
        }
    }

    pub fn error(&mut self, kind: ErrorKind, span: Span, message: impl Into<String>) {
        self.errors.push(Error::new(kind, span, message));
    }

    fn function(&mut self, function: &Function) -> Step {
        let Function { head, body } = function;
        let aliases = Aliases::of(&head.params, body);
        self.declare(head, &[]);
        // Its own calls may write what its other statements do.
        let (mut writes, mut classes) = (vec![], vec![]);
        for _ in 0..=head.params.len() {
            classes = self.written(&aliases, body);
            writes =
                head.params.iter().map(|param| classes.contains(&aliases.class(param.ident.name))).collect();
            self.functions.last_mut().expect("it was declared").writes.clone_from(&writes);
        }
        let n_functions = self.functions.len();
        let mut translator = Body::new(self, aliases, head.result);
        translator.written = classes;
        let binder = translator.enter(head, &writes);
        translator.stmts(body);
        if !translator.is_ended {
            translator.end_of_function(head);
        }
        let body = translator.close();
        self.functions.truncate(n_functions);
        let function = Lambda { binder, body: Block(body) };
        let kind = StepKind::Fix { stage: None, name: head.ident, function };
        Step { stage: None, kind, span: head.ident.span }
    }

    fn declare(&mut self, head: &Head, writes: &[bool]) {
        let params = head.params.iter().map(|param| param.ty).collect();
        let (name, result) = (head.ident, head.result);
        let source = name.name;
        self.functions.push(Signature { source, name, result, params, writes: writes.to_vec() });
    }

    pub fn signature(&self, name: Name) -> Option<&Signature> {
        self.functions.iter().rev().find(|function| function.source == name)
    }

    /// The classes of arrays that statements may write.
    pub fn written(&self, aliases: &Aliases, stmts: &[Stmt]) -> Vec<Name> {
        let (mut written, mut passed) = (vec![], vec![]);
        visit_stmts(
            stmts,
            &mut |stmt| {
                if let StmtKind::Assign(Target::Element(pointer, _), ..) = &stmt.kind {
                    written.extend(aliases.class_of(pointer));
                }
            },
            &mut |expr| {
                let ExprKind::Call(callee, args) = &expr.kind else { return };
                let writes =
                    self.signature(callee.name).map(|function| function.writes.clone()).unwrap_or_default();
                for (arg, _) in args.iter().zip(writes).filter(|(_, writes)| *writes) {
                    passed.extend(aliases.class_of(arg));
                }
            },
        );
        written.append(&mut passed);
        written.sort_unstable_by_key(|name| name.as_str());
        written.dedup();
        written
    }

    /// `@run: main always (status) quit status`
    fn main(&mut self, steps: &mut Vec<Step>) {
        let Some(main) = self.signature(Name::new("main")).cloned() else {
            return self.error(ErrorKind::UnknownName, Span::NONE, "the program has no function `main`");
        };
        if !main.params.is_empty() || !matches!(main.result, Ty::Void | Ty::Scalar(Prim::I32)) {
            let message = "`main` takes no parameters and returns `int` or nothing; `arg(i)` is an argument of the program";
            return self.error(ErrorKind::Type, main.name.span, message);
        }
        let run = StageExpr::Name(Ident { name: Name::new(deep::RUN), span: Span::NONE });
        let status = self.fresh("status");
        let params = match main.result {
            Ty::Void => vec![],
            _ => vec![deep::Param { ident: status, ty: Some(code::Ty::Scalar(Prim::I32)) }],
        };
        let value = match main.result {
            Ty::Void => Value::Const(code::Const::Scalar(Prim::I32, 0)),
            _ => Value::Name(status),
        };
        let span = main.name.span;
        let binder = Some(Binder { params, stage: None, span });
        let kind = StepKind::Call {
            callee: Value::Name(main.name),
            args: vec![Value::Always, Value::Always],
            binder,
        };
        steps.push(Step { stage: Some(run), kind, span });
        let quit = Value::Primitive(Primitive::Quit);
        steps.push(Step {
            stage: None,
            kind: StepKind::Call { callee: quit, args: vec![value], binder: None },
            span,
        });
    }
}

/// Calls `stmt` with each statement and `expr` with each expression.
pub(super) fn visit_stmts(stmts: &[Stmt], stmt: &mut dyn FnMut(&Stmt), expr: &mut dyn FnMut(&Expr)) {
    for each in stmts {
        stmt(each);
        match &each.kind {
            StmtKind::Declare(_, _, value) | StmtKind::Return(value) => {
                value.iter().for_each(|value| visit_expr(value, expr));
            }
            StmtKind::Assign(target, _, value) => {
                if let Target::Element(pointer, index) = target {
                    visit_expr(pointer, expr);
                    visit_expr(index, expr);
                }
                visit_expr(value, expr);
            }
            StmtKind::Call(value) => visit_expr(value, expr),
            StmtKind::If(condition, then, other) => {
                visit_expr(condition, expr);
                visit_stmts(then, stmt, expr);
                visit_stmts(other, stmt, expr);
            }
            StmtKind::Loop { init, condition, step, body } => {
                condition.iter().for_each(|condition| visit_expr(condition, expr));
                [init, step, body].into_iter().for_each(|stmts| visit_stmts(stmts, stmt, expr));
            }
            StmtKind::Block(stmts) => visit_stmts(stmts, stmt, expr),
            StmtKind::Special(special) => special.args.iter().for_each(|arg| visit_expr(arg, expr)),
        }
    }
}

/// Calls `each` with an expression and all of its parts.
pub(super) fn visit_expr(expr: &Expr, each: &mut dyn FnMut(&Expr)) {
    each(expr);
    match &expr.kind {
        ExprKind::Negate(inner)
        | ExprKind::Not(inner)
        | ExprKind::Cast(_, inner)
        | ExprKind::Staged(_, inner) => {
            visit_expr(inner, each);
        }
        ExprKind::Binary(_, left, right) | ExprKind::Index(left, right) => {
            visit_expr(left, each);
            visit_expr(right, each);
        }
        ExprKind::Choose(condition, then, other) => {
            [condition, then, other].into_iter().for_each(|part| visit_expr(part, each));
        }
        ExprKind::Call(_, parts) | ExprKind::Array(parts) => {
            parts.iter().for_each(|part| visit_expr(part, each))
        }
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Star => {}
    }
}

/// A variable and its current value.
#[derive(Clone)]
pub(super) struct Variable {
    pub name: Name,
    pub ty: Ty,
    pub value: Value,
}

/// A statement list on its way to a block.
pub(super) struct Body<'a> {
    pub program: &'a mut Program,
    pub aliases: Aliases,
    pub result: Ty,
    pub variables: Vec<Variable>,
    /// The stage of the last access to each class of arrays.
    pub chains: FxHashMap<Name, StageExpr>,
    /// The classes of arrays that the function may write.
    pub written: Vec<Name>,
    /// The classes whose chains the return continuation gets.
    pub returned_chains: Vec<Name>,
    /// The stage of the statement before, and then of the current one.
    pub stage: StageExpr,
    /// Set once it is certain that the current statement is executed: writes wait for it.
    pub control: StageExpr,
    pub steps: Vec<Step>,
    /// Control statements whose rest is being translated.
    pub open: Vec<Open>,
    /// Whether the statement before has left the list.
    pub is_ended: bool,
    /// The functions with their staging parameters in scope.
    pub stage_names: Vec<(Name, Ident)>,
    pub ret: Ident,
}

/// A control statement: the rest of the list is a function that it calls.
pub(super) struct Open {
    /// The steps before it.
    pub before: Vec<Step>,
    /// Binds the rest of the list to a name.
    pub stage: StageExpr,
    pub after_stage: Option<Ident>,
    pub name: Ident,
    pub binder: Binder,
    /// The control statement itself.
    pub steps: Vec<Step>,
    pub span: Span,
}

impl<'a> Body<'a> {
    fn new(program: &'a mut Program, aliases: Aliases, result: Ty) -> Body<'a> {
        let ret = program.fresh("ret");
        Body {
            program,
            aliases,
            result,
            variables: vec![],
            chains: FxHashMap::default(),
            written: vec![],
            returned_chains: vec![],
            stage: StageExpr::Always,
            control: StageExpr::Always,
            steps: vec![],
            open: vec![],
            is_ended: false,
            stage_names: vec![],
            ret,
        }
    }

    pub fn fresh(&mut self, base: &str) -> Ident {
        self.program.fresh(base)
    }

    /// Declares the parameters of a function; returns them as DeepCPS has them.
    fn enter(&mut self, head: &Head, writes: &[bool]) -> Binder {
        let call = self.fresh(&format!("{}_call", head.ident.name));
        let control = self.fresh(&format!("{}_control", head.ident.name));
        (self.stage, self.control) = (StageExpr::Name(call), StageExpr::Name(control));
        self.stage_names.push((head.ident.name, call));
        let mut params: Vec<deep::Param> =
            [call, control].map(|ident| deep::Param { ident, ty: Some(code::Ty::Stage) }).into();
        let mut returned = vec![];
        returned.extend(deep_ty(head.result));
        for (param, writes) in head.params.iter().zip(writes) {
            let Some(ty) = deep_ty(param.ty) else {
                self.program.error(ErrorKind::Type, param.ident.span, "a parameter cannot be `void`");
                continue;
            };
            let ident = Ident { span: param.ident.span, ..self.fresh(param.ident.name.as_str()) };
            params.push(deep::Param { ident, ty: Some(ty) });
            self.variables.push(Variable { name: param.ident.name, ty: param.ty, value: Value::Name(ident) });
            if let Ty::Ptr(_) = param.ty {
                let chain = self.fresh(&format!("{}_chain", param.ident.name));
                params.push(deep::Param { ident: chain, ty: Some(code::Ty::Stage) });
                let class = self.aliases.class(param.ident.name);
                let before = self.chains.remove(&class).unwrap_or(StageExpr::Always);
                self.chains.insert(class, and([before, StageExpr::Name(chain)]));
                if *writes {
                    returned.push(code::Ty::Stage);
                    self.returned_chains.push(class);
                }
            }
        }
        params.push(deep::Param { ident: self.ret, ty: Some(code::Ty::Fn(returned)) });
        Binder { params, stage: None, span: head.ident.span }
    }

    pub fn stmts(&mut self, stmts: &[Stmt]) {
        let outer = self.variables.len();
        for stmt in stmts {
            if self.is_ended {
                let message = "this statement is never executed";
                self.program.error(ErrorKind::Syntax, stmt.span, message);
                break;
            }
            self.stmt(stmt);
        }
        self.variables.truncate(outer);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        if let Some(label) = &stmt.label {
            self.stage = self.label(label);
        }
        match &stmt.kind {
            StmtKind::Declare(ty, ident, value) => self.declare(*ty, *ident, value.as_ref()),
            StmtKind::Assign(target, operator, value) => self.assign(target, *operator, value, stmt.span),
            StmtKind::Call(call) => {
                self.expr(call);
            }
            StmtKind::If(condition, then, other) => {
                self.if_stmt(condition, then, other, stmt.label.is_some(), stmt.span);
            }
            StmtKind::Loop { init, condition, step, body } => {
                let outer = self.variables.len();
                init.iter().for_each(|stmt| self.stmt(stmt));
                self.loop_stmt(condition.as_ref(), step, body, stmt.label.is_some(), stmt.span);
                self.variables.truncate(outer);
            }
            StmtKind::Return(value) => self.return_stmt(value.as_ref(), stmt.span),
            StmtKind::Block(stmts) => self.stmts(stmts),
            StmtKind::Special(special) => self.special(special),
        }
    }

    /// A staging annotation over variables, as one over their current values.
    pub fn label(&mut self, label: &StageExpr) -> StageExpr {
        match label {
            StageExpr::Always | StageExpr::Never => label.clone(),
            StageExpr::Name(ident) => self.stage_of_name(*ident),
            StageExpr::And(parts) => and(parts.iter().map(|part| self.label(part)).collect::<Vec<_>>()),
            StageExpr::Or(parts) => StageExpr::Or(parts.iter().map(|part| self.label(part)).collect()),
            StageExpr::Not(part) => StageExpr::Not(Box::new(self.label(part))),
        }
    }

    fn stage_of_name(&mut self, ident: Ident) -> StageExpr {
        if ident.name.as_str() == STAR {
            return self.stage.clone();
        }
        if let Some(variable) = self.variable(ident.name) {
            return known(&variable.value);
        }
        if let Some((_, stage)) = self.stage_names.iter().find(|(name, _)| *name == ident.name) {
            return StageExpr::Name(*stage);
        }
        if let Some(function) = self.program.signature(ident.name) {
            return StageExpr::Name(function.name);
        }
        if ident.name.as_str() == deep::RUN {
            return StageExpr::Name(ident);
        }
        let message = format!("a staging expression names `{}`, which is not defined here", ident.name);
        self.program.error(ErrorKind::Staging, ident.span, message);
        StageExpr::Never
    }

    pub fn variable(&self, name: Name) -> Option<&Variable> {
        self.variables.iter().rev().find(|variable| variable.name == name)
    }

    fn declare(&mut self, ty: Ty, ident: Ident, value: Option<&Expr>) {
        if ty == Ty::Void {
            return self.program.error(ErrorKind::Type, ident.span, "a variable cannot be `void`");
        }
        let value = match (value, ty) {
            (Some(value), Ty::Stage) => self.stage_value(value),
            (Some(value), _) => self.expr_of(value, ty),
            (None, Ty::Scalar(prim)) => Value::Const(code::Const::Scalar(prim, 0)),
            (None, Ty::Stage) => Value::Never,
            (None, _) => {
                self.program.error(ErrorKind::Type, ident.span, "a pointer needs a first value");
                Value::Never
            }
        };
        self.variables.push(Variable { name: ident.name, ty, value });
    }

    fn assign(&mut self, target: &Target, operator: Option<Primitive>, value: &Expr, span: Span) {
        match target {
            Target::Name(ident) => {
                let Some(variable) = self.variable(ident.name).cloned() else {
                    let message = format!("unknown variable `{}`", ident.name);
                    return self.program.error(ErrorKind::UnknownName, ident.span, message);
                };
                let value = match (operator, variable.ty) {
                    (None, Ty::Stage) => self.stage_value(value),
                    (None, ty) => self.expr_of(value, ty),
                    (Some(operator), ty) => {
                        let name = Expr { kind: ExprKind::Name(*ident), span: ident.span };
                        let kind = ExprKind::Binary(operator, Box::new(name), Box::new(value.clone()));
                        self.expr_of(&Expr { kind, span }, ty)
                    }
                };
                let found = self.variables.iter_mut().rev().find(|variable| variable.name == ident.name);
                found.expect("it was found before").value = value;
            }
            Target::Element(pointer, index) => self.store(pointer, index, operator, value, span),
        }
    }

    fn return_stmt(&mut self, value: Option<&Expr>, span: Span) {
        let value = match (value, self.result) {
            (None, Ty::Void) => None,
            (Some(value), result) if result != Ty::Void => Some(self.expr_of(value, result)),
            (Some(_), _) => {
                return self.program.error(ErrorKind::Type, span, "this function returns nothing");
            }
            (None, _) => return self.program.error(ErrorKind::Type, span, "this function returns a value"),
        };
        let stage = self.stage.clone();
        self.leave(value, stage, span);
    }

    fn end_of_function(&mut self, head: &Head) {
        if head.result != Ty::Void {
            let message = format!("`{}` may end without a value", head.ident.name);
            self.program.error(ErrorKind::Type, head.ident.span, message);
        }
        let stage = self.stage.clone();
        self.leave(None, stage, head.ident.span);
    }

    /// Calls the return continuation.
    fn leave(&mut self, value: Option<Value>, stage: StageExpr, span: Span) {
        let chains: Vec<StageExpr> =
            self.returned_chains.iter().map(|class| self.chains[class].clone()).collect();
        let mut args: Vec<Value> = value.into_iter().collect();
        for chain in chains {
            args.push(self.as_value(chain, span));
        }
        let kind = StepKind::Call { callee: Value::Name(self.ret), args, binder: None };
        self.push(stage, kind, span);
        self.is_ended = true;
    }

    /// A stage as a value: a name, or that of an instruction which is evaluated at this stage.
    pub fn as_value(&mut self, stage: StageExpr, span: Span) -> Value {
        match stage {
            StageExpr::Always => Value::Always,
            StageExpr::Never => Value::Never,
            StageExpr::Name(ident) => Value::Name(ident),
            other => {
                let (name, unit) = (self.fresh("stage"), self.fresh("unit"));
                let param = deep::Param { ident: unit, ty: Some(code::Ty::Stage) };
                self.push(other, StepKind::Let { stage: Some(name), param, value: Value::Always }, span);
                Value::Name(name)
            }
        }
    }

    pub fn push(&mut self, stage: StageExpr, kind: StepKind, span: Span) {
        self.steps.push(Step { stage: Some(stage), kind, span });
    }

    /// Opens the function that is the rest of the list.
    pub fn begin_rest(&mut self, open: Open) {
        if self.open.len() >= MAX_CONTROL {
            let message = format!("more than {MAX_CONTROL} control statements in a row");
            self.program.error(ErrorKind::Syntax, open.span, message);
            return;
        }
        self.open.push(open);
    }

    /// The steps of the whole list: each rest goes into its function.
    pub fn close(&mut self) -> Vec<Step> {
        let mut steps = std::mem::take(&mut self.steps);
        while let Some(open) = self.open.pop() {
            let Open { mut before, stage, after_stage, name, binder, steps: control, span } = open;
            let rest = Lambda { binder, body: Block(steps) };
            let param = deep::Param { ident: name, ty: None };
            let kind = StepKind::Let { stage: after_stage, param, value: Value::Lambda(Box::new(rest)) };
            before.push(Step { stage: Some(stage), kind, span });
            before.extend(control);
            steps = before;
        }
        steps
    }

    /// `compile` of a function that calls the generic one. It is in scope from now on.
    fn special(&mut self, special: &Special) {
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

/// The stage at which a value is known.
pub(super) fn known(value: &Value) -> StageExpr {
    match value {
        Value::Name(ident) => StageExpr::Name(*ident),
        Value::Never => StageExpr::Never,
        _ => StageExpr::Always,
    }
}

/// The conjunction, simplified.
pub(super) fn and(parts: impl IntoIterator<Item = StageExpr>) -> StageExpr {
    let mut kept: Vec<StageExpr> = vec![];
    for part in parts {
        match part {
            StageExpr::Always => {}
            StageExpr::And(inner) => inner.into_iter().for_each(|part| {
                if !kept.contains(&part) {
                    kept.push(part);
                }
            }),
            other if kept.contains(&other) => {}
            other => kept.push(other),
        }
    }
    match kept.len() {
        0 => StageExpr::Always,
        1 => kept.remove(0),
        _ => StageExpr::And(kept),
    }
}

/// The type in DeepCPS; `void` has none.
pub(super) fn deep_ty(ty: Ty) -> Option<code::Ty> {
    match ty {
        Ty::Void => None,
        Ty::Scalar(prim) => Some(code::Ty::Scalar(prim)),
        Ty::Ptr(elem) => Some(code::Ty::Ptr(elem)),
        Ty::Stage => Some(code::Ty::Stage),
    }
}
