//! Primitives: each computes its result from constants and applies its continuation to it.

use std::rc::Rc;

use nyala_ir::{ArithFlags, Prim, eval};
use nyala_span::Name;

use super::{B, Host, LiveKind, LiveValue, Machine, Parent};
use crate::code::{Closed, Const, Pointer, Stage, Term, Ty};
use crate::errors::{Error, ErrorKind};
use crate::primitive::{Primitive, scalar_name};

impl Machine {
    pub(super) fn apply_primitive(
        &mut self,
        body: B,
        primitive: Primitive,
        mut args: Vec<LiveValue>,
        host: &mut dyn Host,
    ) -> Result<Vec<B>, Error> {
        let (n_operands, n_continuations) = (primitive.operands(), primitive.continuations());
        self.check_arity(body, n_operands + n_continuations, args.len(), &format!("`{}`", primitive.name()))?;
        let mut continuations = args.split_off(n_operands);
        if let Some(Term::Param(param)) = args.iter().find(|arg| matches!(arg, Term::Param(_))) {
            return Err(self.unbound(body, *param, &format!("`{}` needs it", primitive.name())));
        }
        if primitive == Primitive::If {
            let (condition, _) = self.scalar(body, primitive, &args[0])?;
            let other = continuations.remove(usize::from(condition != 0));
            self.discard(other);
            return self.continue_with(body, continuations.remove(0), vec![], host);
        }
        let is_speculative = !self.is_outermost(body);
        let operands = if is_speculative { args.clone() } else { vec![] };
        let result = match self.evaluate(body, primitive, args, host) {
            Err(error) if is_speculative && error.kind == ErrorKind::Failed => {
                self.postpone(body, primitive, operands, continuations);
                return Ok(vec![]);
            }
            result => result?,
        };
        let continuation = continuations.pop().expect("all others have one continuation");
        self.continue_with(body, continuation, result.into_iter().collect(), host)
    }

    pub(super) fn apply_native(
        &mut self,
        body: B,
        native: u32,
        mut args: Vec<LiveValue>,
        host: &mut dyn Host,
    ) -> Result<Vec<B>, Error> {
        let Some(continuation) = args.pop() else {
            return Err(self.operand(body, "compiled code needs a continuation"));
        };
        let missing = Stage::and(
            args.iter().map(Stage::of_value).filter(|stage| *stage != Stage::Never).collect::<Vec<_>>(),
        );
        if !missing.is_active() {
            // Compiled code needs all of its arguments: the call waits for them.
            args.push(continuation);
            args.iter().for_each(|arg| self.note_users(arg, body));
            let data = self.body_mut(body);
            data.stage = missing;
            data.kind = LiveKind::Apply { callee: Term::Const(Const::Native(native)), args };
            return Ok(vec![]);
        }
        let mut values = vec![];
        for arg in &args {
            match arg {
                Term::Const(value) => values.push(*value),
                // Stages are not passed to compiled code.
                Term::Always | Term::Never => {}
                _ => return Err(self.operand(body, "compiled code takes numbers and pointers only")),
            }
        }
        let result =
            host.call(native, &values, &self.memory).map_err(|message| self.failed(body, &message))?;
        let results = self.with_stages(&continuation, result.map(Term::Const));
        self.continue_with(body, continuation, results, host)
    }

    /// The arguments of a continuation for a result of compiled code: stages are set.
    fn with_stages(&self, continuation: &LiveValue, mut result: Option<LiveValue>) -> Vec<LiveValue> {
        let types: Vec<Option<Ty>> = match continuation {
            Term::Lambda(lambda) => {
                self.lambda(*lambda).params.iter().map(|param| self.param(*param).ty.clone()).collect()
            }
            Term::Closed(Closed(code)) => {
                code.lambda(code.root).params.iter().map(|param| code.param(*param).ty.clone()).collect()
            }
            _ => return result.into_iter().collect(),
        };
        let args = types.into_iter().map(|ty| match ty {
            Some(Ty::Stage) => Some(Term::Always),
            _ => result.take(),
        });
        args.flatten().collect()
    }

    /// Whether nothing is around a body, so that the program has reached it.
    fn is_outermost(&self, body: B) -> bool {
        self.body(body).parent == Parent::Lambda(self.root)
    }

    /// Leaves an operation that fails, such as a division by zero, for the call of the function around it: the
    /// function may be a branch that is not taken.
    fn postpone(
        &mut self,
        body: B,
        primitive: Primitive,
        operands: Vec<LiveValue>,
        continuations: Vec<LiveValue>,
    ) {
        let lambda = self.hole_lambda(self.body(body).parent);
        let stage = self.lambda(lambda).stage;
        self.note_users(&Term::Param(stage), body);
        let args = operands.into_iter().chain(continuations).collect();
        let data = self.body_mut(body);
        data.stage = Stage::Param(stage);
        data.kind = LiveKind::Apply { callee: Term::Primitive(primitive), args };
    }

    /// Applies a continuation. One that is not bound waits with its arguments.
    fn continue_with(
        &mut self,
        body: B,
        continuation: LiveValue,
        results: Vec<LiveValue>,
        host: &mut dyn Host,
    ) -> Result<Vec<B>, Error> {
        if matches!(continuation, Term::Lambda(_) | Term::Closed(_)) {
            return self.apply(body, continuation, results, host);
        }
        let stage = Stage::of_value(&continuation);
        for value in std::iter::once(&continuation).chain(&results) {
            self.note_users(value, body);
            self.set_owner(value, body);
        }
        let data = self.body_mut(body);
        data.stage = stage;
        data.kind = LiveKind::Apply { callee: continuation, args: results };
        Ok(vec![body])
    }

    fn evaluate(
        &mut self,
        body: B,
        primitive: Primitive,
        args: Vec<LiveValue>,
        host: &mut dyn Host,
    ) -> Result<Option<LiveValue>, Error> {
        let scalar = |prim: Prim, bits: u64| Some(Term::Const(Const::Scalar(prim, bits)));
        let fails = |error: eval::EvalError| error.to_string();
        Ok(match primitive {
            Primitive::Arith(op) => {
                let ((a, prim), b) = self.pair(body, primitive, &args)?;
                let result = eval::arith(op, ArithFlags::STRICT, prim, a, b).map_err(fails);
                scalar(prim, result.map_err(|message| self.failed(body, &message))?)
            }
            Primitive::Cmp(op) => {
                let ((a, prim), b) = self.pair(body, primitive, &args)?;
                scalar(Prim::Bool, u64::from(eval::cmp(op, prim, a, b)))
            }
            Primitive::Math(op) => {
                let operands: Vec<(u64, Prim)> =
                    args.iter().map(|arg| self.scalar(body, primitive, arg)).collect::<Result<_, _>>()?;
                let (prim, bits) =
                    (operands[0].1, operands.iter().map(|(bits, _)| *bits).collect::<Vec<_>>());
                let result = eval::math(op, prim, &bits).map_err(fails);
                let prim = if op.info().gives_bool { Prim::Bool } else { prim };
                scalar(prim, result.map_err(|message| self.failed(body, &message))?)
            }
            Primitive::Convert(to) => {
                let (bits, from) = self.scalar(body, primitive, &args[0])?;
                let result = eval::cast(from, to, bits).map_err(fails);
                scalar(to, result.map_err(|message| self.failed(body, &message))?)
            }
            Primitive::Not => {
                let (bits, prim) = self.scalar(body, primitive, &args[0])?;
                if prim != Prim::Bool {
                    return Err(self.operand(body, "`not` takes a `bool`"));
                }
                scalar(Prim::Bool, bits ^ 1)
            }
            Primitive::Select => {
                let (condition, _) = self.scalar(body, primitive, &args[0])?;
                let mut args = args;
                let chosen = args.remove(if condition != 0 { 1 } else { 2 });
                args.into_iter().for_each(|other| self.discard(other));
                Some(chosen)
            }
            Primitive::Get => Some(self.get(body, args)?),
            Primitive::Load => {
                let (pointer, index) = self.pointer_and_index(body, primitive, &args)?;
                let bits = self.memory.load(pointer, index).map_err(|message| self.failed(body, &message))?;
                scalar(pointer.elem, bits)
            }
            Primitive::Store => {
                let (pointer, index) = self.pointer_and_index(body, primitive, &args)?;
                let (bits, prim) = self.scalar(body, primitive, &args[2])?;
                if prim != pointer.elem {
                    let (found, expected) = (scalar_name(prim), scalar_name(pointer.elem));
                    return Err(
                        self.operand(body, &format!("cannot store `{found}` in an array of `{expected}`"))
                    );
                }
                let stored = self.memory.store(pointer, index, bits);
                stored.map_err(|message| self.failed(body, &message))?;
                None
            }
            Primitive::Offset => {
                let (pointer, index) = self.pointer_and_index(body, primitive, &args)?;
                let index = pointer.index.wrapping_add(index);
                Some(Term::Const(Const::Ptr(Pointer { index, ..pointer })))
            }
            Primitive::Alloc(elem) => {
                let len = self.integer(body, primitive, &args[0])?;
                let pointer = self.memory.alloc(elem, len, self.limits.memory);
                let pointer =
                    pointer.ok_or_else(|| self.failed(body, &format!("no memory for {len} elements")))?;
                Some(Term::Const(Const::Ptr(pointer)))
            }
            Primitive::Print => {
                let (bits, prim) = self.scalar(body, primitive, &args[0])?;
                host.print(&show_scalar(prim, bits));
                None
            }
            Primitive::Arg => {
                let index = self.integer(body, primitive, &args[0])?;
                Some(Term::int(host.arg(index)))
            }
            Primitive::Compile => Some(self.compile(body, args, host)?),
            Primitive::If | Primitive::Exit | Primitive::Quit => unreachable!("they are applied elsewhere"),
        })
    }

    fn compile(
        &mut self,
        body: B,
        mut args: Vec<LiveValue>,
        host: &mut dyn Host,
    ) -> Result<LiveValue, Error> {
        let code = match args.remove(0) {
            Term::Lambda(lambda) => {
                let name = Name::new("compiled");
                let Some(code) = self.freeze_named(lambda, name) else {
                    let message =
                        "`compile` needs a function without unbound parameters of functions around it";
                    let error = Error::new(ErrorKind::Unbound, self.body(body).span, message);
                    return Err(self.with_trace(error.label("active here")));
                };
                self.discard(Term::Lambda(lambda));
                Rc::new(code)
            }
            Term::Closed(Closed(code)) => code,
            native @ Term::Const(Const::Native(_)) => return Ok(native),
            _ => return Err(self.operand(body, "`compile` takes a function")),
        };
        if !self.is_outermost(body) {
            // The function around it is being specialized, and needs the term.
            return Ok(Term::Closed(Closed(code)));
        }
        let native = host.compile(&code, &self.memory).map_err(|message| self.failed(body, &message))?;
        Ok(native.map_or(Term::Closed(Closed(code)), |native| Term::Const(Const::Native(native))))
    }

    fn get(&mut self, body: B, mut args: Vec<LiveValue>) -> Result<LiveValue, Error> {
        let index = self.integer(body, Primitive::Get, &args[1])?;
        match args.remove(0) {
            Term::Tuple(mut parts) if usize::try_from(index).is_ok_and(|index| index < parts.len()) => {
                let part = parts.swap_remove(index as usize);
                parts.into_iter().for_each(|other| self.discard(other));
                Ok(part)
            }
            Term::Tuple(parts) => {
                Err(self.failed(body, &format!("part {index} of an aggregate with {} parts", parts.len())))
            }
            _ => Err(self.operand(body, "`get` takes an aggregate")),
        }
    }

    fn scalar(&self, body: B, primitive: Primitive, value: &LiveValue) -> Result<(u64, Prim), Error> {
        match value {
            Term::Const(Const::Scalar(prim, bits)) => Ok((*bits, *prim)),
            _ => Err(self.operand(body, &format!("`{}` takes numbers", primitive.name()))),
        }
    }

    fn integer(&self, body: B, primitive: Primitive, value: &LiveValue) -> Result<i64, Error> {
        match self.scalar(body, primitive, value)? {
            (bits, prim) if !prim.is_float() => Ok(prim.sign_extend(bits)),
            _ => Err(self.operand(body, &format!("`{}` takes an integer here", primitive.name()))),
        }
    }

    /// Two numbers of one type.
    fn pair(&self, body: B, primitive: Primitive, args: &[LiveValue]) -> Result<((u64, Prim), u64), Error> {
        let (a, b) = (self.scalar(body, primitive, &args[0])?, self.scalar(body, primitive, &args[1])?);
        if a.1 != b.1 {
            let (left, right) = (scalar_name(a.1), scalar_name(b.1));
            let message = format!("`{}` of `{left}` and `{right}`", primitive.name());
            return Err(self.operand(body, &message));
        }
        Ok((a, b.0))
    }

    fn pointer_and_index(
        &self,
        body: B,
        primitive: Primitive,
        args: &[LiveValue],
    ) -> Result<(Pointer, i64), Error> {
        match &args[0] {
            Term::Const(Const::Ptr(pointer)) => Ok((*pointer, self.integer(body, primitive, &args[1])?)),
            _ => Err(self.operand(body, &format!("`{}` takes a pointer", primitive.name()))),
        }
    }

    fn operand(&self, body: B, message: &str) -> Error {
        self.with_trace(Error::new(ErrorKind::Operand, self.body(body).span, message))
    }

    fn failed(&self, body: B, message: &str) -> Error {
        let message = format!("this operation fails: {message}");
        self.with_trace(Error::new(ErrorKind::Failed, self.body(body).span, message))
    }
}

/// A number as the runtime prints it.
pub fn show_scalar(prim: Prim, bits: u64) -> String {
    match prim {
        Prim::Bool => u64::from(bits != 0).to_string(),
        _ if prim.is_float() => nyala_interp::general_format(eval::float_value(prim, bits), 6),
        _ if prim.is_signed() => prim.sign_extend(bits).to_string(),
        _ => bits.to_string(),
    }
}
