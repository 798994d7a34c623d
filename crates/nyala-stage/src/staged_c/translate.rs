//! Staged-C to DeepCPS.
//!
//! A function becomes one of its stage, its parameters and its return continuation. Variables become parameters of
//! continuations, as in SSA form, so that staging moves pure computations freely:
//!
//! * A pure operation is evaluated when its statement's stage is set and its operands are bound.
//! * A write (a store, `print`, an allocation) also waits until it is certain that it is executed: it has the
//!   stages of all branches around it, and of the call of the function. Annotations cannot move it out of a branch.
//! * An effect (an access to memory, a call, `print`) sets a new stage when it is done, which is the stage of the
//!   statement after it: `*`, and the default.
//! * Accesses to one array are also chained with each other, since they may be staged upon different values: the
//!   *chain* of an array is the stage of its last access. Chains are passed to functions and back. A chain is not
//!   needed after reads, if nothing in the function writes.
//!
//! `control` has `if` and loops, `expr` expressions, `aliases` the arrays.

use nyala_ir::Prim;
use nyala_span::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::aliases::Aliases;
use super::visit::visit_stmts;
use super::{Expr, ExprKind, Function, Head, Item, STAR, Stmt, StmtKind, Target, Ty};
use crate::code;
use crate::deep::{self, Binder, Block, Ident, Lambda, StageExpr, Step, StepKind, Value};
use crate::errors::{Error, ErrorKind};
use crate::primitive::Primitive;

/// The most control statements in a row: each one nests the rest of the program.
const MAX_CONTROL: usize = 300;

/// Translates a program. Its `main` runs when the program does; its result is the exit status. A program without
/// `main` is a library: its result is the list of its functions.
pub fn translate(items: &[Item]) -> Result<Block, Vec<Error>> {
    let names = items.iter().filter_map(Item::head).map(|head| head.ident.name);
    let mut program = Program { names: names.collect(), ..Program::default() };
    let mut steps = vec![];
    for item in items {
        match item {
            Item::Function(function) => steps.push(program.function(function)),
            Item::Special(special) => program.outside(&mut steps, |body| body.special(special)),
            Item::Global(ty, ident, value) => {
                program.outside(&mut steps, |body| body.declare(*ty, *ident, Some(value)));
            }
        }
    }
    if program.signature(Name::new("main")).is_some() {
        program.main(&mut steps);
    } else {
        program.library(&super::exports(items), &mut steps);
    }
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

#[derive(Default)]
pub(super) struct Program {
    pub functions: Vec<Signature>,
    /// The variables outside of functions.
    globals: Vec<Variable>,
    /// The stage of the last definition that is not a function.
    stage: Option<StageExpr>,
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

    /// Translates a definition outside of functions, after the ones before.
    fn outside(&mut self, steps: &mut Vec<Step>, definition: impl FnOnce(&mut Body<'_>)) {
        let stage = self.stage.take().unwrap_or(StageExpr::Always);
        let mut body = Body::new(self, Aliases::default(), Ty::Void);
        body.stage = stage;
        definition(&mut body);
        if let Some(open) = body.open.first() {
            let message = "a definition outside of functions has no branches";
            body.program.errors.push(Error::new(ErrorKind::Syntax, open.span, message));
        }
        let (stage, globals) = (body.stage.clone(), body.variables.clone());
        steps.append(&mut body.steps);
        (self.stage, self.globals) = (Some(stage), globals);
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

    /// `@run: exit [f, g]`
    fn library(&mut self, exports: &[Name], steps: &mut Vec<Step>) {
        let functions = exports.iter().filter_map(|name| self.signature(*name));
        let functions = functions.map(|function| Value::Name(function.name)).collect();
        let run = StageExpr::Name(Ident { name: Name::new(deep::RUN), span: Span::NONE });
        let callee = Value::Primitive(Primitive::Exit);
        let kind = StepKind::Call { callee, args: vec![Value::Tuple(functions)], binder: None };
        steps.push(Step { stage: Some(run), kind, span: Span::NONE });
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
    pub fn new(program: &'a mut Program, aliases: Aliases, result: Ty) -> Body<'a> {
        let (ret, variables) = (program.fresh("ret"), program.globals.clone());
        Body {
            program,
            aliases,
            result,
            variables,
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
    pub fn enter(&mut self, head: &Head, writes: &[bool]) -> Binder {
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
                if self.program.globals.iter().any(|global| global.name == ident.name)
                    && self.variables.iter().filter(|found| found.name == ident.name).count() == 1
                {
                    let message =
                        format!("`{}` is defined outside of functions, and is not assigned", ident.name);
                    return self.program.error(ErrorKind::Type, ident.span, message);
                }
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
    pub fn leave(&mut self, value: Option<Value>, stage: StageExpr, span: Span) {
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
