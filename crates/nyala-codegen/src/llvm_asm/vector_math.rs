//! Writes the kernels of [`crate::vector_math`] as functions of LLVM's, each once for a
//! function, type, number of lanes, and whether it is relaxed.
//!
//! Kernels are inlined where they are called. What they do rarely is in functions of its own
//! that are not.
//!
//! No instruction has flags: kernels rely on the order in which they round.

use std::cell::RefCell;
use std::fmt::Write as _;

use nyala_ir::{MathOp, Prim};
use nyala_span::Span;

use super::ModuleWriter;
use super::constants::literal;
use super::math::llvm_name;
use super::value::{Scalar, Type};
use crate::vector_math::{Float, Kind, Machine, Op, Value, kernel};

/// A kernel for a number of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Kernel {
    pub op: MathOp,
    pub prim: Prim,
    pub lanes: u32,
    pub is_relaxed: bool,
}

impl ModuleWriter<'_> {
    /// The symbol of a kernel, which is written if it was not yet.
    pub(crate) fn kernel(&mut self, kernel: Kernel, span: Span) -> String {
        let mut waiting = vec![(kernel, false)];
        while let Some((kernel, is_slow)) = waiting.pop() {
            if !self.kernels.insert((kernel, is_slow)) {
                continue;
            }
            let (text, needs) = if is_slow { kernel.write_slow() } else { kernel.write() };
            self.functions.push(text);
            for (name, result, params) in needs.intrinsics {
                self.declare(&name, &result, &params, span);
            }
            waiting.extend(needs.kernels.into_iter().map(|kernel| (kernel, false)));
            waiting.extend(needs.slow.into_iter().map(|kernel| (kernel, true)));
        }
        kernel.symbol()
    }
}

/// What must be written beside a kernel.
#[derive(Default)]
struct Needs {
    /// Functions of LLVM's: name, result, parameters.
    intrinsics: Vec<(String, Type, Vec<Type>)>,
    /// Other kernels.
    kernels: Vec<Kernel>,
    /// Kernels whose slow version is needed.
    slow: Vec<Kernel>,
}

impl Kernel {
    /// Its symbol.
    fn symbol(self) -> String {
        let strictness = if self.is_relaxed { ".relaxed" } else { "" };
        format!("@nyala.{}.{}{strictness}", self.op.name(), self.float().suffix())
    }

    /// The symbol of what does the same without haste.
    fn slow_symbol(self) -> String {
        format!("@nyala.{}.{}.slow", self.op.name(), self.float().suffix())
    }

    /// Its definition.
    fn write(self) -> (String, Needs) {
        let writer = Writer { kernel: self, state: RefCell::default() };
        let args: Vec<Float> = self
            .params()
            .into_iter()
            .map(|(_, name)| Float::new(&writer, self.prim, writer.operand(name)))
            .collect();
        let result = kernel(self.op, &args).value();
        let result = writer.text(result);
        let float = self.float();
        let State { lines, needs, .. } = writer.state.into_inner();
        let text = format!(
            "define internal {float} {}({}) alwaysinline nounwind {{\nentry:\n{lines}  ret {float} {result}\n}}\n",
            self.symbol(),
            self.typed_params(),
        );
        (text, needs)
    }

    /// The definition of what does the same by a method that takes longer.
    fn write_slow(self) -> (String, Needs) {
        let mut needs = Needs::default();
        let mut text = format!(
            "define internal {} {}({}) noinline cold nounwind {{\n",
            self.float(),
            self.slow_symbol(),
            self.typed_params()
        );
        match self.prim {
            Prim::F32 => {
                let wide = Kernel { prim: Prim::F64, is_relaxed: false, ..self };
                needs.kernels.push(wide);
                let mut args = vec![];
                for (ty, name) in self.params() {
                    let _ = writeln!(text, "  {name}.wide = fpext {ty} {name} to {}", wide.float());
                    args.push(format!("{} {name}.wide", wide.float()));
                }
                let _ =
                    writeln!(text, "  %wide = call {} {}({})", wide.float(), wide.symbol(), args.join(", "));
                let _ = writeln!(text, "  %result = fptrunc {} %wide to {}", wide.float(), self.float());
            }
            _ => {
                let float = self.float();
                let name = format!("llvm.{}.{}", llvm_name(self.op), float.suffix());
                let params = vec![float.clone(); self.op.arity()];
                let _ = writeln!(text, "  %result = call {float} @{name}({})", self.typed_params());
                needs.intrinsics.push((name, float, params));
            }
        }
        let _ = writeln!(text, "  ret {} %result\n}}", self.float());
        (text, needs)
    }

    fn float(self) -> Type {
        Type::vector(self.lanes, self.prim)
    }

    fn params(self) -> Vec<(Type, String)> {
        ["%x", "%y", "%z"]
            .iter()
            .take(self.op.arity())
            .map(|name| (self.float(), (*name).to_owned()))
            .collect()
    }

    fn typed_params(self) -> String {
        let params: Vec<String> =
            self.params().into_iter().map(|(ty, name)| format!("{ty} {name}")).collect();
        params.join(", ")
    }
}

/// A kernel in the making.
struct Writer {
    kernel: Kernel,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    lines: String,
    /// What stands for each value.
    operands: Vec<String>,
    n_names: u32,
    /// The block that is being written, if it is not the first.
    block: Option<u32>,
    needs: Needs,
}

impl Writer {
    fn operand(&self, text: String) -> Value {
        let operands = &mut self.state.borrow_mut().operands;
        operands.push(text);
        Value(operands.len() as u64 - 1)
    }

    fn text(&self, value: Value) -> String {
        self.state.borrow().operands[value.0 as usize].clone()
    }

    /// Writes an instruction that gives a value.
    fn assign(&self, instruction: &str) -> Value {
        let name = {
            let state = &mut *self.state.borrow_mut();
            let name = format!("%v{}", state.n_names);
            state.n_names += 1;
            let _ = writeln!(state.lines, "  {name} = {instruction}");
            name
        };
        self.operand(name)
    }

    fn vector(&self, elem: impl Into<Scalar>) -> Type {
        Type::vector(self.kernel.lanes, elem)
    }

    /// A call of a function of LLVM's, all of whose parameters have the same type.
    fn intrinsic(&self, name: &str, result: &Type, ty: &Type, args: &[String]) -> Value {
        let name = format!("llvm.{name}.{}", ty.suffix());
        let typed: Vec<String> = args.iter().map(|arg| format!("{ty} {arg}")).collect();
        let params = vec![ty.clone(); args.len()];
        self.state.borrow_mut().needs.intrinsics.push((name.clone(), result.clone(), params));
        self.assign(&format!("call {result} @{name}({})", typed.join(", ")))
    }
}

/// The type of the integers beside floats.
fn bits_type(prim: Prim) -> Scalar {
    Scalar::Int(prim.bits())
}

impl Machine for Writer {
    fn is_relaxed(&self) -> bool {
        self.kernel.is_relaxed
    }

    fn constant(&self, of: Kind, bits: u64) -> Value {
        self.operand(match of {
            Kind::Float(prim) => format!("splat ({} {})", Scalar::from(prim), literal(prim, bits)),
            Kind::Int(prim) => {
                let int = if prim == Prim::F32 { Prim::I32 } else { Prim::I64 };
                format!("splat ({} {})", bits_type(prim), literal(int, bits))
            }
        })
    }

    fn compute(&self, op: Op, prim: Prim, args: &[Value]) -> Value {
        let args: Vec<String> = args.iter().map(|&arg| self.text(arg)).collect();
        let (float, int) = (self.vector(prim), self.vector(bits_type(prim)));
        let mask = self.vector(Prim::Bool);
        let binary = |name: &str, ty: &Type| self.assign(&format!("{name} {ty} {}, {}", args[0], args[1]));
        let convert =
            |name: &str, from: &Type, to: &Type| self.assign(&format!("{name} {from} {} to {to}", args[0]));
        match op {
            Op::Add => binary("fadd", &float),
            Op::Sub => binary("fsub", &float),
            Op::Mul => binary("fmul", &float),
            Op::Div => binary("fdiv", &float),
            Op::MulAdd => self.intrinsic("fmuladd", &float, &float, &args),
            Op::Sqrt => self.intrinsic("sqrt", &float, &float, &args),
            Op::Less => binary("fcmp olt", &float),
            Op::Equal => binary("fcmp oeq", &float),
            Op::Select => {
                let [cond, then, other] = &args[..] else { unreachable!("there are three operands") };
                self.assign(&format!("select {mask} {cond}, {float} {then}, {float} {other}"))
            }
            Op::MaskAnd => binary("and", &mask),
            Op::MaskOr => binary("or", &mask),
            Op::MaskNot => self.assign(&format!("xor {mask} {}, splat (i1 true)", args[0])),
            Op::ToBits => convert("bitcast", &float, &int),
            Op::FromBits => convert("bitcast", &int, &float),
            Op::ToFloat => convert("sitofp", &int, &float),
            Op::IntAdd => binary("add", &int),
            Op::IntSub => binary("sub", &int),
            Op::IntAnd => binary("and", &int),
            Op::IntOr => binary("or", &int),
            Op::IntXor => binary("xor", &int),
            Op::IntShl => binary("shl", &int),
            Op::IntShr => binary("ashr", &int),
            Op::IntEqual => binary("icmp eq", &int),
            Op::Widen => convert("fpext", &float, &self.vector(Prim::F64)),
            Op::Narrow => convert("fptrunc", &float, &self.vector(Prim::F32)),
        }
    }

    fn rarely(&self, rare: Value, usual: Value, op: MathOp, prim: Prim, args: &[Value]) -> Value {
        let slow = Kernel { op, prim, is_relaxed: false, ..self.kernel };
        let (mask, float) = (self.vector(Prim::Bool), slow.float());
        let [rare, usual] = [rare, usual].map(|value| self.text(value));
        let any = self.intrinsic("vector.reduce.or", &Type::BOOL, &mask, std::slice::from_ref(&rare));
        let any = self.text(any);
        let typed: Vec<String> = args.iter().map(|&arg| format!("{float} {}", self.text(arg))).collect();
        let before = {
            let state = &mut *self.state.borrow_mut();
            let number = state.n_names;
            state.needs.slow.push(slow);
            let _ = writeln!(state.lines, "  br i1 {any}, label %rare{number}, label %usual{number}");
            let _ = writeln!(state.lines, "rare{number}:");
            let before = state.block.replace(number);
            before.map_or("%entry".to_owned(), |block| format!("%usual{block}"))
        };
        let number = self.state.borrow().block.expect("it was just set");
        let result = self.assign(&format!("call {float} {}({})", slow.slow_symbol(), typed.join(", ")));
        let result = self.text(result);
        let mixed = self.assign(&format!("select {mask} {rare}, {float} {result}, {float} {usual}"));
        let mixed = self.text(mixed);
        let end = format!("  br label %usual{number}\nusual{number}:\n");
        self.state.borrow_mut().lines.push_str(&end);
        self.assign(&format!("phi {float} [ {usual}, {before} ], [ {mixed}, %rare{number} ]"))
    }
}
