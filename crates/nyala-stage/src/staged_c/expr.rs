//! Expressions of Staged-C: types, conversions, operations and calls.

use nyala_ir::{ArithOp, Prim, eval};
use nyala_span::Span;

use super::translate::{Body, Signature, and, known};
use super::visit::visit_expr;
use super::{Expr, ExprKind, Ty};
use crate::code::{self, Const};
use crate::deep::{self, Binder, StageExpr, StepKind, Value};
use crate::errors::ErrorKind;
use crate::primitive::{Primitive, scalar_name};

/// A value with its type.
pub(super) struct Typed {
    ty: Ty,
    value: Value,
    /// Whether it is a literal, which has the type of the other operand.
    is_literal: bool,
}

impl Typed {
    fn new(ty: Ty, value: Value) -> Typed {
        Typed { ty, value, is_literal: false }
    }

    /// Stands for a value after an error.
    fn error() -> Typed {
        Typed::new(Ty::Scalar(Prim::I32), Value::Const(Const::Scalar(Prim::I32, 0)))
    }
}

impl Body<'_> {
    /// The value of an expression, converted to a type.
    pub(super) fn expr_of(&mut self, expr: &Expr, ty: Ty) -> Value {
        if let (ExprKind::Array(elements), Ty::Ptr(elem)) = (&expr.kind, ty) {
            return self.array(elements, elem);
        }
        let typed = self.expr(expr);
        self.convert(typed, ty, expr.span)
    }

    /// The value of an expression as a `bool`.
    pub(super) fn condition(&mut self, expr: &Expr) -> Value {
        let typed = self.expr(expr);
        match typed.ty {
            Ty::Scalar(Prim::Bool) => typed.value,
            Ty::Scalar(prim) => {
                let zero = Value::Const(Const::Scalar(prim, 0));
                let not_equal = Primitive::Cmp(nyala_ir::CmpOp::Ne);
                self.pure(not_equal, vec![typed.value, zero], Prim::Bool, expr.span)
            }
            _ => self.mismatch(typed.ty, "a condition", expr.span),
        }
    }

    fn mismatch(&mut self, found: Ty, expected: &str, span: Span) -> Value {
        let message = format!("expected {expected}, found `{}`", show(found));
        self.program.error(ErrorKind::Type, span, message);
        Value::Const(Const::Scalar(Prim::I32, 0))
    }

    fn convert(&mut self, typed: Typed, ty: Ty, span: Span) -> Value {
        match (typed.ty, ty) {
            (from, to) if from == to => typed.value,
            (Ty::Scalar(from), Ty::Scalar(to)) => match typed.value {
                Value::Const(Const::Scalar(_, bits)) if typed.is_literal => {
                    match eval::cast(from, to, bits) {
                        Ok(bits) => Value::Const(Const::Scalar(to, bits)),
                        Err(_) => {
                            self.mismatch(typed.ty, &format!("a number of type `{}`", scalar_name(to)), span)
                        }
                    }
                }
                value => self.pure(Primitive::Convert(to), vec![value], to, span),
            },
            (_, Ty::Stage) => typed.value,
            (from, to) => self.mismatch(from, &format!("`{}`", show(to)), span),
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> Typed {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Int(value) => {
                let prim = if i32::try_from(*value).is_ok() { Prim::I32 } else { Prim::I64 };
                let value = Value::Const(Const::Scalar(prim, prim.canonical(*value as u64)));
                Typed { ty: Ty::Scalar(prim), value, is_literal: true }
            }
            ExprKind::Float(value) => decimal(*value),
            ExprKind::Bool(value) => {
                Typed::new(Ty::Scalar(Prim::Bool), Value::Const(Const::Scalar(Prim::Bool, u64::from(*value))))
            }
            ExprKind::Name(ident) => match self.variable(ident.name) {
                Some(variable) => Typed::new(variable.ty, variable.value.clone()),
                None if ident.name.as_str() == "pi" => decimal(std::f64::consts::PI),
                None => {
                    let message = format!("unknown variable `{}`", ident.name);
                    self.program.error(ErrorKind::UnknownName, ident.span, message);
                    Typed::error()
                }
            },
            ExprKind::Star => {
                let message = "`*` is a value of type `stage` only, as in `stage s = *;`";
                self.program.error(ErrorKind::Type, span, message);
                Typed::error()
            }
            ExprKind::Negate(inner) => self.negate(inner, span),
            ExprKind::Not(inner) => {
                let value = self.condition(inner);
                Typed::new(Ty::Scalar(Prim::Bool), self.pure(Primitive::Not, vec![value], Prim::Bool, span))
            }
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right, span),
            ExprKind::Choose(condition, then, other) => self.choose_expr(condition, then, other, span),
            ExprKind::Index(pointer, index) => self.load(pointer, index, span),
            ExprKind::Call(callee, args) => self.call(*callee, args, span),
            ExprKind::Cast(ty, inner) => {
                let typed = self.expr(inner);
                Typed::new(*ty, self.convert(typed, *ty, span))
            }
            ExprKind::Array(_) => {
                self.program.error(ErrorKind::Type, span, "an array needs a pointer to be stored in");
                Typed::error()
            }
            ExprKind::Staged(label, inner) => {
                let label = self.label(label);
                let outer = std::mem::replace(&mut self.stage, label);
                let typed = self.expr(inner);
                self.stage = outer;
                typed
            }
        }
    }

    fn array(&mut self, elements: &[Expr], elem: Prim) -> Value {
        let mut bits = vec![];
        for element in elements {
            let (negative, literal) = match &element.kind {
                ExprKind::Negate(inner) => (true, &inner.kind),
                kind => (false, kind),
            };
            let value = match literal {
                ExprKind::Int(value) => *value as f64,
                ExprKind::Float(value) => *value,
                _ => {
                    self.program.error(
                        ErrorKind::Type,
                        element.span,
                        "the elements of an array are literals",
                    );
                    0.0
                }
            };
            let value = if negative { -value } else { value };
            let value = eval::cast(Prim::F64, elem, value.to_bits());
            bits.push(value.unwrap_or(0));
        }
        Value::Array(elem, bits)
    }

    fn negate(&mut self, inner: &Expr, span: Span) -> Typed {
        let typed = self.expr(inner);
        let Ty::Scalar(prim) = typed.ty else {
            return Typed::new(typed.ty, self.mismatch(typed.ty, "a number", span));
        };
        if let (Value::Const(Const::Scalar(_, bits)), true) = (&typed.value, typed.is_literal) {
            let bits = match prim.is_float() {
                true => eval::float_from_value(prim, -eval::float_value(prim, *bits)),
                false => prim.canonical((prim.sign_extend(*bits)).wrapping_neg() as u64),
            };
            return Typed { value: Value::Const(Const::Scalar(prim, bits)), ..typed };
        }
        // -x = -0.0 - x on floats keeps the sign of zero.
        let zero = if prim.is_float() { eval::float_from_value(prim, -0.0) } else { 0 };
        let args = vec![Value::Const(Const::Scalar(prim, zero)), typed.value];
        Typed::new(typed.ty, self.pure(Primitive::Arith(ArithOp::Sub), args, prim, span))
    }

    fn binary(&mut self, operator: Primitive, left: &Expr, right: &Expr, span: Span) -> Typed {
        if let Primitive::Arith(op @ (ArithOp::And | ArithOp::Or)) = operator {
            return self.logical(op, left, right, span);
        }
        let (a, b) = (self.expr(left), self.expr(right));
        let (x, y) = match (a.ty, b.ty) {
            (Ty::Scalar(x), Ty::Scalar(y)) => (x, y),
            (Ty::Ptr(_), Ty::Scalar(_)) if operator == Primitive::Arith(ArithOp::Add) => {
                return Typed::new(a.ty, self.pure_of(Primitive::Offset, vec![a.value, b.value], a.ty, span));
            }
            (Ty::Ptr(_), Ty::Scalar(index)) if operator == Primitive::Arith(ArithOp::Sub) => {
                let zero = Value::Const(Const::Scalar(index, 0));
                let back = self.pure(operator, vec![zero, b.value], index, span);
                return Typed::new(a.ty, self.pure_of(Primitive::Offset, vec![a.value, back], a.ty, span));
            }
            (Ty::Scalar(_), other) | (other, _) => {
                return Typed::new(a.ty, self.mismatch(other, "a number", span));
            }
        };
        let prim = match (a.is_literal, b.is_literal) {
            (true, false) if x.is_float() <= y.is_float() => y,
            (false, true) if y.is_float() <= x.is_float() => x,
            _ if rank(x) >= rank(y) => x,
            _ => y,
        };
        let ty = Ty::Scalar(prim);
        let (a, b) = (self.convert(a, ty, left.span), self.convert(b, ty, right.span));
        let result = if let Primitive::Cmp(_) = operator { Prim::Bool } else { prim };
        Typed::new(Ty::Scalar(result), self.pure(operator, vec![a, b], result, span))
    }

    /// `a && b`: if `b` has effects or may fail, it is evaluated only if it is needed.
    fn logical(&mut self, op: ArithOp, left: &Expr, right: &Expr, span: Span) -> Typed {
        let bool = Ty::Scalar(Prim::Bool);
        let a = self.condition(left);
        if !has_effect(right) {
            let b = self.condition(right);
            return Typed::new(bool, self.pure(Primitive::Arith(op), vec![a, b], Prim::Bool, span));
        }
        let short = Value::Const(Const::Scalar(Prim::Bool, u64::from(op == ArithOp::Or)));
        let values = |body: &mut Self, is_then: bool| match is_then == (op == ArithOp::And) {
            true => body.condition(right),
            false => short.clone(),
        };
        Typed::new(bool, self.choose(a, bool, values, span))
    }

    fn choose_expr(&mut self, condition: &Expr, then: &Expr, other: &Expr, span: Span) -> Typed {
        let condition = self.condition(condition);
        if has_effect(then) || has_effect(other) {
            // The type of the first is that of both.
            let ty = self.type_of(then);
            let values =
                |body: &mut Self, is_then: bool| body.expr_of(if is_then { then } else { other }, ty);
            return Typed::new(ty, self.choose(condition, ty, values, span));
        }
        let (a, b) = (self.expr(then), self.expr(other));
        let ty = match (a.ty, b.ty) {
            (Ty::Scalar(x), Ty::Scalar(y)) if a.is_literal || !b.is_literal && rank(x) < rank(y) => {
                Ty::Scalar(y)
            }
            (ty, _) => ty,
        };
        let (a, b) = (self.convert(a, ty, then.span), self.convert(b, ty, other.span));
        Typed::new(ty, self.pure_of(Primitive::Select, vec![condition, a, b], ty, span))
    }

    /// The type of an expression, which is translated for it and dropped again.
    fn type_of(&mut self, expr: &Expr) -> Ty {
        let n_steps = self.steps.len();
        let (stage, chains, n_open) = (self.stage.clone(), self.chains.clone(), self.open.len());
        let n_errors = self.program.errors.len();
        let ty = self.expr(expr).ty;
        while self.open.len() > n_open {
            let open = self.open.pop().expect("there are more");
            self.steps = open.before;
        }
        self.steps.truncate(n_steps);
        (self.stage, self.chains) = (stage, chains);
        self.program.errors.truncate(n_errors);
        ty
    }

    /// A stage: `*`, a variable, or a choice of stages.
    pub(super) fn stage_value(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Star => {
                let stage = self.stage.clone();
                self.as_value(stage, expr.span)
            }
            ExprKind::Name(ident) if matches!(ident.name.as_str(), "always" | "never") => {
                if ident.name.as_str() == "always" { Value::Always } else { Value::Never }
            }
            ExprKind::Name(ident) => {
                let stage = self.label(&StageExpr::Name(*ident));
                self.as_value(stage, expr.span)
            }
            ExprKind::Choose(condition, then, other) => {
                let condition = self.condition(condition);
                let values =
                    |body: &mut Self, is_then: bool| body.stage_value(if is_then { then } else { other });
                self.choose(condition, Ty::Stage, values, expr.span)
            }
            _ => {
                let message = "a stage is `*`, a variable, or a choice of both";
                self.program.error(ErrorKind::Type, expr.span, message);
                Value::Never
            }
        }
    }

    /// An operation without effect: it waits for its operands, and nothing waits for it but its uses.
    fn pure(&mut self, primitive: Primitive, args: Vec<Value>, result: Prim, span: Span) -> Value {
        self.pure_of(primitive, args, Ty::Scalar(result), span)
    }

    fn pure_of(&mut self, primitive: Primitive, args: Vec<Value>, result: Ty, span: Span) -> Value {
        let stage = and([self.stage.clone()].into_iter().chain(args.iter().map(known)).collect::<Vec<_>>());
        let ident = self.fresh("t");
        let ty = super::translate::deep_ty(result);
        let binder = Binder { params: vec![deep::Param { ident, ty }], stage: None, span };
        let callee = Value::Primitive(primitive);
        self.push(stage, StepKind::Call { callee, args, binder: Some(binder) }, span);
        Value::Name(ident)
    }

    /// An operation with an effect: the next one is evaluated after it.
    fn effect(
        &mut self,
        primitive: Primitive,
        args: Vec<Value>,
        result: Option<Prim>,
        chain: StageExpr,
        span: Span,
    ) -> Value {
        let is_write = matches!(primitive, Primitive::Store | Primitive::Print | Primitive::Alloc(_));
        let control = if is_write { self.control.clone() } else { StageExpr::Always };
        let stages = [self.stage.clone()].into_iter().chain(args.iter().map(known)).chain([chain, control]);
        let stage = and(stages.collect::<Vec<_>>());
        let (ident, next) = (self.fresh("t"), self.fresh("s"));
        let ty = match primitive {
            Primitive::Alloc(elem) => Some(code::Ty::Ptr(elem)),
            _ => result.map(code::Ty::Scalar),
        };
        let params = if ty.is_some() { vec![deep::Param { ident, ty }] } else { vec![] };
        let binder = Binder { params, stage: Some(next), span };
        let callee = Value::Primitive(primitive);
        self.push(stage, StepKind::Call { callee, args, binder: Some(binder) }, span);
        self.stage = StageExpr::Name(next);
        Value::Name(ident)
    }

    fn pointer(&mut self, pointer: &Expr) -> Option<(Value, Prim)> {
        let typed = self.expr(pointer);
        match typed.ty {
            Ty::Ptr(elem) => Some((typed.value, elem)),
            other => {
                self.mismatch(other, "a pointer", pointer.span);
                None
            }
        }
    }

    fn index(&mut self, index: &Expr) -> Value {
        let typed = self.expr(index);
        match typed.ty {
            Ty::Scalar(Prim::I32 | Prim::I64) => typed.value,
            other => self.mismatch(other, "an index of type `int` or `long`", index.span),
        }
    }

    fn load(&mut self, pointer: &Expr, index: &Expr, span: Span) -> Typed {
        let Some((value, elem)) = self.pointer(pointer) else { return Typed::error() };
        let index = self.index(index);
        Typed::new(Ty::Scalar(elem), self.access(Primitive::Load, pointer, vec![value, index], elem, span))
    }

    pub(super) fn store(
        &mut self,
        pointer: &Expr,
        index: &Expr,
        operator: Option<Primitive>,
        value: &Expr,
        span: Span,
    ) {
        let Some((address, elem)) = self.pointer(pointer) else { return };
        let index = self.index(index);
        let ty = Ty::Scalar(elem);
        let value = match operator {
            None => self.expr_of(value, ty),
            Some(operator) => {
                let old =
                    self.access(Primitive::Load, pointer, vec![address.clone(), index.clone()], elem, span);
                let new = self.expr_of(value, ty);
                self.pure(operator, vec![old, new], elem, span)
            }
        };
        self.access(Primitive::Store, pointer, vec![address, index, value], elem, span);
    }

    /// An access to an array, after the earlier ones that it depends on.
    fn access(
        &mut self,
        primitive: Primitive,
        pointer: &Expr,
        args: Vec<Value>,
        elem: Prim,
        span: Span,
    ) -> Value {
        let class = self.aliases.class_of(pointer);
        let chain = class.and_then(|class| self.chains.get(&class).cloned()).unwrap_or(StageExpr::Always);
        let result = (primitive == Primitive::Load).then_some(elem);
        let value = self.effect(primitive, args, result, chain, span);
        if let Some(class) = class.filter(|class| self.written.contains(class)) {
            self.chains.insert(class, self.stage.clone());
        }
        value
    }

    fn call(&mut self, callee: deep::Ident, args: &[Expr], span: Span) -> Typed {
        if let Some(function) = self.program.signature(callee.name).cloned() {
            let values = self.call_with_stage(&function, args, StageExpr::Always, span);
            let value = values.into_iter().next().unwrap_or(Value::Never);
            return Typed::new(function.result, value);
        }
        let Some(primitive) = Primitive::named(callee.name.as_str()) else {
            let message = format!("unknown function `{}`", callee.name);
            self.program.error(ErrorKind::UnknownName, callee.span, message);
            return Typed::error();
        };
        if args.len() != primitive.operands() {
            let message = format!("`{}` takes {} arguments", callee.name, primitive.operands());
            self.program.error(ErrorKind::Type, span, message);
            return Typed::error();
        }
        match primitive {
            Primitive::Math(_) => self.math(primitive, args, span),
            Primitive::Print => {
                let typed = self.expr(&args[0]);
                self.effect(primitive, vec![typed.value], None, StageExpr::Always, span);
                Typed::new(Ty::Void, Value::Never)
            }
            Primitive::Arg => {
                let index = self.expr_of(&args[0], Ty::Scalar(Prim::I32));
                let value = self.effect(primitive, vec![index], Some(Prim::I32), StageExpr::Always, span);
                Typed::new(Ty::Scalar(Prim::I32), value)
            }
            Primitive::Alloc(elem) => {
                let count = self.index(&args[0]);
                Typed::new(Ty::Ptr(elem), self.effect(primitive, vec![count], None, StageExpr::Always, span))
            }
            _ => {
                let message = format!("`{}` is not a function of Staged-C", callee.name);
                self.program.error(ErrorKind::UnknownName, callee.span, message);
                Typed::error()
            }
        }
    }

    /// A mathematical function: of `double`, if one of its arguments is, else of `float`.
    fn math(&mut self, primitive: Primitive, args: &[Expr], span: Span) -> Typed {
        let args: Vec<(Typed, Span)> = args.iter().map(|arg| (self.expr(arg), arg.span)).collect();
        let is_double = args.iter().any(|(arg, _)| arg.ty == Ty::Scalar(Prim::F64));
        let prim = if is_double { Prim::F64 } else { Prim::F32 };
        let values = args.into_iter().map(|(arg, span)| self.convert(arg, Ty::Scalar(prim), span)).collect();
        Typed::new(Ty::Scalar(prim), self.pure(primitive, values, prim, span))
    }

    /// Calls a function of the program, which gets its own stage; returns its result, if it has one.
    pub(super) fn call_with_stage(
        &mut self,
        function: &Signature,
        args: &[Expr],
        call: StageExpr,
        span: Span,
    ) -> Vec<Value> {
        if args.len() != function.params.len() {
            let (name, expected) = (function.source, function.params.len());
            let message = format!("`{name}` takes {expected} arguments, and gets {}", args.len());
            self.program.error(ErrorKind::Type, span, message);
            return vec![];
        }
        let control = self.control.clone();
        let mut values = vec![self.as_value(call, span), self.as_value(control, span)];
        let mut written = vec![];
        for ((arg, ty), writes) in args.iter().zip(&function.params).zip(&function.writes) {
            let value = if *ty == Ty::Stage { self.stage_value(arg) } else { self.expr_of(arg, *ty) };
            values.push(value);
            if let Ty::Ptr(_) = ty {
                let class = self.aliases.class_of(arg);
                let chain = class.and_then(|class| self.chains.get(&class).cloned());
                let chain = self.as_value(chain.unwrap_or(StageExpr::Always), span);
                values.push(chain);
                if *writes {
                    written.push(class);
                }
            }
        }
        let (result, next) = (self.fresh("result"), self.fresh("s"));
        let mut params = vec![];
        if let Some(ty) = super::translate::deep_ty(function.result) {
            params.push(deep::Param { ident: result, ty: Some(ty) });
        }
        let results: Vec<Value> = params.iter().map(|param| Value::Name(param.ident)).collect();
        let mut chains = vec![];
        for class in written {
            let ident = self.fresh("chain");
            params.push(deep::Param { ident, ty: Some(code::Ty::Stage) });
            chains.extend(class.map(|class| (class, ident)));
        }
        let binder = Binder { params, stage: Some(next), span };
        let callee = Value::Name(function.name);
        let stage = and([self.stage.clone(), StageExpr::Name(function.name)]);
        self.push(stage, StepKind::Call { callee, args: values, binder: Some(binder) }, span);
        self.stage = StageExpr::Name(next);
        let mut after: Vec<(nyala_span::Name, StageExpr)> = vec![];
        for (class, ident) in chains {
            match after.iter_mut().find(|(found, _)| *found == class) {
                Some((_, chain)) => *chain = and([chain.clone(), StageExpr::Name(ident)]),
                None => after.push((class, StageExpr::Name(ident))),
            }
        }
        self.chains.extend(after);
        results
    }
}

fn decimal(value: f64) -> Typed {
    let bits = eval::float_from_value(Prim::F64, value);
    Typed { ty: Ty::Scalar(Prim::F64), value: Value::Const(Const::Scalar(Prim::F64, bits)), is_literal: true }
}

fn rank(prim: Prim) -> u32 {
    match prim {
        Prim::Bool => 0,
        Prim::I64 => 2,
        Prim::F32 => 3,
        Prim::F64 => 4,
        _ => 1,
    }
}

fn show(ty: Ty) -> String {
    match ty {
        Ty::Void => "void".into(),
        Ty::Stage => "stage".into(),
        Ty::Scalar(prim) => scalar_name(prim).into(),
        Ty::Ptr(prim) => format!("{}*", scalar_name(prim)),
    }
}

/// Whether an expression accesses memory, calls a function, or may fail.
fn has_effect(expr: &Expr) -> bool {
    let mut found = false;
    visit_expr(expr, &mut |expr| {
        found |= match &expr.kind {
            ExprKind::Index(..) => true,
            ExprKind::Call(callee, _) => {
                !matches!(Primitive::named(callee.name.as_str()), Some(Primitive::Math(_)))
            }
            ExprKind::Binary(Primitive::Arith(ArithOp::Div | ArithOp::Rem), ..) => true,
            _ => false,
        }
    });
    found
}
