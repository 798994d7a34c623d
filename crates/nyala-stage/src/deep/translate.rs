//! DeepCPS to calculus: names become parameters, and instructions without annotation get natural staging.
//!
//! Note [The natural stage after a fix]: natural staging of a body is the implicit staging parameter of its function.
//! The rest of a block after `fix f ..` is in the same function, and deeper than the `fix`: with the same stage it
//! would be evaluated before `f` is bound. So its natural stage is `f` itself, and `fix [s] f ..` makes `s` another
//! name of that stage.

use nyala_ir::Prim;
use nyala_ir::eval;
use nyala_span::similar::most_similar;
use nyala_span::{Name, Span};

use super::{Binder, Block, Expr, Ident, Lambda, StageExpr, Step, StepKind, Value};
use crate::code::{self, BodyId, BodyKind, Code, Const, LambdaId, ParamId, Stage, Term, Ty};
use crate::errors::{Error, ErrorKind};
use crate::machine::Memory;
use crate::primitive::Primitive;
use crate::types;

/// The staging parameter of the whole program: it is set when the program runs, after it was staged.
pub const RUN: &str = "run";

/// Translates a program. Arrays of constants go to `memory`.
pub fn translate(block: &Block, memory: &mut Memory) -> Result<Code, Vec<Error>> {
    let mut translator = Translator::new(memory);
    translator.program(block);
    let Translator { mut code, literals, errors, .. } = translator;
    if errors.is_empty() {
        types::set_literals(&mut code, &literals);
        Ok(code)
    } else {
        Err(errors)
    }
}

/// A literal whose type follows from its use.
pub(crate) struct Literal {
    /// The body that it is in.
    pub body: BodyId,
    /// Its position: 0 is the callee.
    pub slot: usize,
    /// Its value.
    pub value: f64,
    /// Whether it has a decimal point.
    pub is_decimal: bool,
}

struct Translator<'a> {
    code: Code,
    memory: &'a mut Memory,
    scope: Vec<(Name, ParamId)>,
    literals: Vec<Literal>,
    errors: Vec<Error>,
}

/// Where the body of a block goes.
#[derive(Clone, Copy)]
enum Hole {
    Lambda(LambdaId),
    Fix(BodyId),
}

impl<'a> Translator<'a> {
    fn new(memory: &'a mut Memory) -> Translator<'a> {
        let code = Code {
            name: Name::new("program"),
            params: vec![],
            lambdas: vec![],
            bodies: vec![],
            root: LambdaId(0),
        };
        Translator { code, memory, scope: vec![], literals: vec![], errors: vec![] }
    }

    fn program(&mut self, block: &Block) {
        let stage = self.new_param(Name::new(RUN), Some(Ty::Stage));
        self.scope.push((Name::new(RUN), stage));
        let root = self.new_lambda(vec![], stage, Span::NONE);
        self.block(block, Hole::Lambda(root), Stage::Always);
    }

    fn new_param(&mut self, name: Name, ty: Option<Ty>) -> ParamId {
        self.code.params.push(code::Param { name, ty });
        ParamId(self.code.params.len() as u32 - 1)
    }

    fn new_lambda(&mut self, params: Vec<ParamId>, stage: ParamId, span: Span) -> LambdaId {
        // The body is set when it is translated.
        self.code.lambdas.push(code::Lambda { params, stage, recursive: None, body: BodyId(0), span });
        LambdaId(self.code.lambdas.len() as u32 - 1)
    }

    /// Reserves a body, so that bodies are in the order of the text.
    fn new_body(&mut self, hole: Hole, stage: Stage<ParamId>, span: Span) -> BodyId {
        let kind = BodyKind::Apply { callee: Term::Primitive(Primitive::Exit), args: vec![] };
        self.code.bodies.push(code::Body { stage, kind, span });
        let body = BodyId(self.code.bodies.len() as u32 - 1);
        match hole {
            Hole::Lambda(lambda) => self.code.lambdas[lambda.0 as usize].body = body,
            Hole::Fix(fix) => {
                let BodyKind::Fix { rest, .. } = &mut self.code.bodies[fix.0 as usize].kind else {
                    unreachable!("this hole is that of a fix");
                };
                *rest = body;
            }
        }
        body
    }

    fn set_apply(&mut self, body: BodyId, callee: code::Value, args: Vec<code::Value>) {
        self.code.bodies[body.0 as usize].kind = BodyKind::Apply { callee, args };
    }

    fn block(&mut self, block: &Block, mut hole: Hole, mut natural: Stage<ParamId>) {
        let outer = self.scope.len();
        for step in &block.0 {
            let Step { stage, kind, span } = step;
            let stage = match stage {
                Some(stage) => self.stage(stage),
                None => natural.clone(),
            };
            (hole, natural) = match kind {
                StepKind::Call { callee, args, binder } => {
                    let body = self.new_body(hole, stage, *span);
                    let mut values = vec![self.value(callee, body, 0)];
                    for arg in args {
                        let slot = values.len();
                        values.push(self.value(arg, body, slot));
                    }
                    let next = binder.as_ref().map(|binder| self.bind(binder, &mut values));
                    let callee = values.remove(0);
                    self.set_apply(body, callee, values);
                    match next {
                        Some(next) => next,
                        None => break,
                    }
                }
                StepKind::Compute { expr, binder } => self.compute(expr, binder, hole, stage, *span),
                StepKind::Let { stage: name, param, value } => {
                    let body = self.new_body(hole, stage, *span);
                    let value = self.value(value, body, 1);
                    let binder = Binder { params: vec![param.clone()], stage: *name, span: *span };
                    let mut values = vec![];
                    let next = self.bind(&binder, &mut values);
                    self.set_apply(body, values.remove(0), vec![value]);
                    next
                }
                StepKind::Fix { stage: name, name: function_name, function } => {
                    self.fix(*name, *function_name, function, hole, stage, *span)
                }
            };
        }
        self.scope.truncate(outer);
    }

    /// Declares the parameters of a continuation, which becomes the last of `values`.
    fn bind(&mut self, binder: &Binder, values: &mut Vec<code::Value>) -> (Hole, Stage<ParamId>) {
        let lambda = self.declare(binder);
        values.push(Term::Lambda(lambda));
        (Hole::Lambda(lambda), Stage::Param(self.code.lambda(lambda).stage))
    }

    /// A function with these parameters, which are in scope from now on.
    fn declare(&mut self, binder: &Binder) -> LambdaId {
        let mut params = vec![];
        for param in &binder.params {
            let id = self.new_param(param.ident.name, param.ty.clone());
            self.scope.push((param.ident.name, id));
            params.push(id);
        }
        let name = binder.stage.map_or_else(|| Name::new("_"), |stage| stage.name);
        let stage = self.new_param(name, Some(Ty::Stage));
        if binder.stage.is_some() {
            self.scope.push((name, stage));
        }
        self.new_lambda(params, stage, binder.span)
    }

    fn lambda(&mut self, function: &Lambda) -> LambdaId {
        let outer = self.scope.len();
        let lambda = self.declare(&function.binder);
        let natural = Stage::Param(self.code.lambda(lambda).stage);
        self.block(&function.body, Hole::Lambda(lambda), natural);
        self.scope.truncate(outer);
        lambda
    }

    fn fix(
        &mut self,
        stage_name: Option<Ident>,
        name: Ident,
        function: &Lambda,
        hole: Hole,
        stage: Stage<ParamId>,
        span: Span,
    ) -> (Hole, Stage<ParamId>) {
        let body = self.new_body(hole, stage, span);
        let inner = self.new_param(name.name, None);
        self.scope.push((name.name, inner));
        let function = self.lambda(function);
        self.code.lambdas[function.0 as usize].recursive = Some(inner);
        self.scope.pop();
        let param = self.new_param(name.name, None);
        self.scope.push((name.name, param));
        // The rest is set when it is translated.
        self.code.bodies[body.0 as usize].kind = BodyKind::Fix { param, function, rest: BodyId(0) };
        // See Note [The natural stage after a fix].
        if let Some(stage_name) = stage_name {
            self.scope.push((stage_name.name, param));
        }
        (Hole::Fix(body), Stage::Param(param))
    }

    /// Operators one after the other, each in the continuation of the one before.
    fn compute(
        &mut self,
        expr: &Expr,
        binder: &Binder,
        mut hole: Hole,
        mut stage: Stage<ParamId>,
        span: Span,
    ) -> (Hole, Stage<ParamId>) {
        let mut operations = vec![];
        let last = flatten(expr, &mut operations);
        let Operand::Result(last) = last else { unreachable!("a computation has an operator") };
        let mut results: Vec<ParamId> = vec![];
        for (index, (primitive, operands)) in operations.iter().enumerate() {
            let body = self.new_body(hole, stage.clone(), span);
            let mut values: Vec<code::Value> = vec![];
            for (slot, operand) in operands.iter().enumerate() {
                values.push(match operand {
                    Operand::Value(value) => self.value(value, body, slot + 1),
                    Operand::Result(result) => Term::Param(results[*result]),
                });
            }
            if index == last {
                let next = self.bind(binder, &mut values);
                self.set_apply(body, Term::Primitive(*primitive), values);
                return next;
            }
            let result = self.new_param(Name::new("t"), None);
            let next = self.new_param(Name::new("_"), Some(Ty::Stage));
            let lambda = self.new_lambda(vec![result], next, span);
            values.push(Term::Lambda(lambda));
            self.set_apply(body, Term::Primitive(*primitive), values);
            results.push(result);
            (hole, stage) = (Hole::Lambda(lambda), Stage::Param(next));
        }
        unreachable!("the last operator ends the computation")
    }

    fn value(&mut self, value: &Value, body: BodyId, slot: usize) -> code::Value {
        match value {
            Value::Int(value, _) => {
                if i32::try_from(*value).is_err() {
                    // It does not fit into `int`.
                    return Term::Const(Const::Scalar(Prim::I64, *value as u64));
                }
                self.literals.push(Literal { body, slot, value: *value as f64, is_decimal: false });
                Term::int(*value as i32)
            }
            Value::Float(value, _) => {
                self.literals.push(Literal { body, slot, value: *value, is_decimal: true });
                Term::Const(Const::Scalar(Prim::F32, eval::float_from_value(Prim::F32, *value)))
            }
            Value::Const(value) => Term::Const(*value),
            Value::Array(elem, elements) => Term::Const(Const::Ptr(self.memory.constant(*elem, elements))),
            Value::Always => Term::Always,
            Value::Never => Term::Never,
            Value::Name(ident) => self.name(*ident),
            Value::Primitive(primitive) => Term::Primitive(*primitive),
            Value::Lambda(function) => Term::Lambda(self.lambda(function)),
            Value::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.value(part, body, usize::MAX));
                Term::Tuple(parts.collect())
            }
        }
    }

    fn name(&mut self, ident: Ident) -> code::Value {
        if let Some(param) = self.lookup(ident.name) {
            return Term::Param(param);
        }
        match ident.name.as_str() {
            "true" => Term::Const(Const::Scalar(Prim::Bool, 1)),
            "false" => Term::Const(Const::Scalar(Prim::Bool, 0)),
            name => match Primitive::named(name) {
                Some(primitive) => Term::Primitive(primitive),
                None => {
                    self.unknown(ident, ErrorKind::UnknownName);
                    Term::Never
                }
            },
        }
    }

    fn lookup(&self, name: Name) -> Option<ParamId> {
        self.scope.iter().rev().find(|(found, _)| *found == name).map(|(_, param)| *param)
    }

    fn unknown(&mut self, ident: Ident, kind: ErrorKind) {
        let what = if kind == ErrorKind::Staging { "a staging expression names" } else { "the program uses" };
        let mut error =
            Error::new(kind, ident.span, format!("{what} `{}`, which is not defined here", ident.name));
        let known = self.scope.iter().map(|(name, _)| name.as_str());
        if let Some(similar) = most_similar(ident.name.as_str(), known) {
            error = error.note(format!("`{similar}` is similar"));
        }
        self.errors.push(error);
    }

    fn stage(&mut self, stage: &StageExpr) -> Stage<ParamId> {
        match stage {
            StageExpr::Always => Stage::Always,
            StageExpr::Never => Stage::Never,
            StageExpr::Name(ident) => match self.lookup(ident.name) {
                Some(param) => Stage::Param(param),
                None => {
                    self.unknown(*ident, ErrorKind::Staging);
                    Stage::Never
                }
            },
            StageExpr::And(parts) => {
                Stage::and(parts.iter().map(|part| self.stage(part)).collect::<Vec<_>>())
            }
            StageExpr::Or(parts) => Stage::or(parts.iter().map(|part| self.stage(part)).collect::<Vec<_>>()),
            StageExpr::Not(part) => self.stage(part).negate(),
        }
    }
}

/// An operand of an operator.
enum Operand<'a> {
    Value(&'a Value),
    /// The result of an earlier operator.
    Result(usize),
}

/// The operators of a computation in the order of evaluation; returns its result.
fn flatten<'a>(expr: &'a Expr, operations: &mut Vec<(Primitive, [Operand<'a>; 2])>) -> Operand<'a> {
    match expr {
        Expr::Value(value) => Operand::Value(value),
        Expr::Binary(primitive, left, right) => {
            let operands = [flatten(left, operations), flatten(right, operations)];
            operations.push((*primitive, operands));
            Operand::Result(operations.len() - 1)
        }
    }
}
