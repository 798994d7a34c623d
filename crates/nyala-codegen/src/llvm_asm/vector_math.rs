//! Writes the kernels of [`crate::vector_math`] as functions of LLVM's, each once for a
//! function, type, number of lanes, and whether it is relaxed.
//!
//! Kernels for vectors are inlined where they are called; for those of GPUs, LLVM decides. What they do rarely is in
//! functions of its own that are not.
//!
//! No instruction has flags: kernels rely on the order in which they round.

use std::cell::RefCell;
use std::fmt::Write as _;

use nyala_ir::functions::NumberFn;
use nyala_ir::{MathOp, Prim};
use nyala_span::Span;

use super::ModuleWriter;
use super::constants::literal;
use super::device::{GLOBAL, INVARIANT};
use super::value::{Scalar, Type};
use crate::llvm::kernel_levels::versioned;
use crate::vector_math::{Float, Kind, Level, Machine, Op, Table, Value, far_kernel, kernel};

/// A kernel for a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Kernel {
    pub function: NumberFn,
    pub prim: Prim,
    /// The number of lanes, if it is not for scalars.
    pub lanes: Option<u32>,
    pub is_relaxed: bool,
    /// Its arguments are `f64`s that were widened from `f32`.
    pub is_widened: bool,
    /// It is the sine or cosine of an angle of which both are computed.
    pub shares_angle: bool,
}

/// What is written of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Part {
    /// The kernel itself.
    Usual,
    /// What it does for arguments that are [rare](Machine::rarely).
    Slow(MathOp),
}

impl ModuleWriter<'_> {
    /// The symbol of a kernel, which is written if it was not yet.
    pub(crate) fn kernel(&mut self, kernel: Kernel, span: Span) -> String {
        let mut waiting = vec![(kernel, Part::Usual)];
        while let Some((kernel, part)) = waiting.pop() {
            if !self.kernels.insert((kernel, part)) {
                continue;
            }
            let is_on_gpu = self.options.gpu.is_some();
            let (text, needs) = match part {
                Part::Usual => kernel.write(is_on_gpu),
                Part::Slow(op) => kernel.write_slow(op, is_on_gpu),
            };
            self.functions.push(text);
            for (name, result, params) in needs.intrinsics {
                self.declare(&name, &result, &params, span);
            }
            for table in needs.tables {
                self.table(table, is_on_gpu);
            }
            waiting.extend(needs.parts);
        }
        kernel.symbol()
    }

    /// Writes a table of constants if it was not written yet.
    fn table(&mut self, table: &Table, is_on_gpu: bool) {
        let words: Vec<String> =
            table.words.iter().map(|&word| format!("i64 {}", literal(Prim::I64, word))).collect();
        let space = if is_on_gpu { format!("addrspace({GLOBAL}) ") } else { String::new() };
        let line = format!(
            "{} = internal {space}constant [{} x i64] [{}], align 8\n",
            table_symbol(table),
            words.len(),
            words.join(", ")
        );
        if !self.globals.text.contains(&line) {
            self.globals.text += &line;
        }
    }
}

fn table_symbol(table: &Table) -> String {
    format!("@nyala.{}", table.name)
}

/// What must be written beside a kernel.
#[derive(Default)]
struct Needs {
    /// Functions of LLVM's: name, result, parameters.
    intrinsics: Vec<(String, Type, Vec<Type>)>,
    tables: Vec<&'static Table>,
    /// Other kernels.
    parts: Vec<(Kernel, Part)>,
}

impl Needs {
    fn add(&mut self, other: Needs) {
        self.intrinsics.extend(other.intrinsics);
        self.tables.extend(other.tables);
        self.parts.extend(other.parts);
    }
}

impl Kernel {
    /// That for scalars which handles all arguments.
    pub(crate) fn new(function: NumberFn, prim: Prim) -> Kernel {
        Kernel { function, prim, lanes: None, is_relaxed: false, is_widened: false, shares_angle: false }
    }

    /// Its symbol.
    fn symbol(self) -> String {
        let strictness = if self.is_relaxed { ".relaxed" } else { "" };
        let sharing = if self.shares_angle { ".shared" } else { "" };
        let (name, float) = (self.function.info().name, self.float().suffix());
        format!("@nyala.{name}.{float}{strictness}{sharing}{}", self.origin())
    }

    /// The symbol of what does the same without haste.
    fn slow_symbol(self) -> String {
        format!("@nyala.{}.{}.slow{}", self.function.info().name, self.float().suffix(), self.origin())
    }

    fn origin(self) -> &'static str {
        if self.is_widened { ".widened" } else { "" }
    }

    /// Its definition.
    ///
    /// It is inlined into loops of vector instructions, where calls would save all registers. On a GPU
    /// LLVM weighs what inlining costs: kernels call the same functions in many places.
    fn write(self, is_on_gpu: bool) -> (String, Needs) {
        let inlining = if is_on_gpu { "" } else { "alwaysinline " };
        self.define(&self.symbol(), inlining, is_on_gpu, |args| kernel(self.function, args))
    }

    /// The definition of what does the same by a method that takes longer.
    fn write_slow(self, op: MathOp, is_on_gpu: bool) -> (String, Needs) {
        match (self.prim, self.lanes) {
            (Prim::F32, _) => self.write_wide(),
            (_, Some(lanes)) if !self.is_widened => self.write_lane_by_lane(op, lanes),
            _ => self.define(&self.slow_symbol(), "noinline cold ", is_on_gpu, |args| {
                far_kernel(op, args[0], self.is_widened)
            }),
        }
    }

    /// On the host, a version for each level, of which the [machine's](crate::llvm::kernel_levels) is kept.
    fn define(
        self,
        symbol: &str,
        attributes: &str,
        is_on_gpu: bool,
        compute: impl for<'m> Fn(&[Float<'m>]) -> Float<'m>,
    ) -> (String, Needs) {
        // All GPUs have fused operations.
        if is_on_gpu {
            return self.define_version(symbol, attributes, (is_on_gpu, Level::Fused), compute);
        }
        let mut all = (String::new(), Needs::default());
        for level in Level::ALL {
            let symbol = versioned(symbol, level);
            // Scalars have no instructions for exponents.
            let level = if self.lanes.is_some() { level } else { level.min(Level::Fused) };
            let (text, needs) = self.define_version(&symbol, attributes, (is_on_gpu, level), &compute);
            all.0 += &text;
            all.1.add(needs);
        }
        all
    }

    fn define_version(
        self,
        symbol: &str,
        attributes: &str,
        (is_on_gpu, level): (bool, Level),
        compute: impl for<'m> Fn(&[Float<'m>]) -> Float<'m>,
    ) -> (String, Needs) {
        let writer = Writer { kernel: self, is_on_gpu, level, state: RefCell::default() };
        let params = self.params();
        let args: Vec<Float> = params
            .iter()
            .map(|name| Float::new(&writer, self.prim, writer.operand((*name).to_owned())))
            .collect();
        let result = compute(&args).value();
        let result = writer.text(result);
        let float = self.float();
        let State { lines, needs, .. } = writer.state.into_inner();
        let text = format!(
            "define internal {float} {symbol}({}) {attributes}nounwind {{\nentry:\n{lines}  ret {float} {result}\n}}\n",
            self.typed_params(),
        );
        (text, needs)
    }

    /// By the kernel for `f64`.
    fn write_wide(self) -> (String, Needs) {
        let wide = Kernel { prim: Prim::F64, is_relaxed: false, is_widened: true, ..self };
        let (narrow, double) = (self.float(), wide.float());
        let (mut lines, mut args) = (String::new(), vec![]);
        for name in self.params() {
            let _ = writeln!(lines, "  {name}.wide = fpext {narrow} {name} to {double}");
            args.push(format!("{double} {name}.wide"));
        }
        let _ = writeln!(lines, "  %wide = call {double} {}({})", wide.symbol(), args.join(", "));
        let _ = writeln!(lines, "  %result = fptrunc {double} %wide to {narrow}");
        let needs = Needs { parts: vec![(wide, Part::Usual)], ..Needs::default() };
        (self.slow_definition(&lines), needs)
    }

    /// By that for scalars.
    fn write_lane_by_lane(self, op: MathOp, lanes: u32) -> (String, Needs) {
        let scalar = Kernel { lanes: None, ..self };
        let (vector, lane) = (self.float(), scalar.float());
        let (mut lines, mut all) = (String::new(), "poison".to_owned());
        for at in 0..lanes {
            let _ = writeln!(lines, "  %x{at} = extractelement {vector} %x, i32 {at}");
            let _ = writeln!(lines, "  %y{at} = call {lane} {}({lane} %x{at})", scalar.slow_symbol());
            let result = if at + 1 == lanes { "%result".to_owned() } else { format!("%all{at}") };
            let _ = writeln!(lines, "  {result} = insertelement {vector} {all}, {lane} %y{at}, i32 {at}");
            all = result;
        }
        let needs = Needs { parts: vec![(scalar, Part::Slow(op))], ..Needs::default() };
        (self.slow_definition(&lines), needs)
    }

    fn slow_definition(self, lines: &str) -> String {
        let (float, symbol, params) = (self.float(), self.slow_symbol(), self.typed_params());
        format!(
            "define internal {float} {symbol}({params}) noinline cold nounwind {{\n{lines}  ret {float} %result\n}}\n"
        )
    }

    /// The type of its arguments and its result.
    pub(crate) fn float(self) -> Type {
        self.ty(self.prim)
    }

    /// A type in all lanes.
    fn ty(self, elem: impl Into<Scalar>) -> Type {
        match self.lanes {
            Some(lanes) => Type::vector(lanes, elem),
            None => Type::Scalar(elem.into()),
        }
    }

    fn params(self) -> &'static [&'static str] {
        &["%x", "%y", "%z"][..self.function.info().arity]
    }

    fn typed_params(self) -> String {
        let params: Vec<String> =
            self.params().iter().map(|name| format!("{} {name}", self.float())).collect();
        params.join(", ")
    }
}

/// A kernel in the making.
struct Writer {
    kernel: Kernel,
    is_on_gpu: bool,
    level: Level,
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

    /// A constant in all lanes.
    fn splat(&self, elem: impl Into<Scalar>, literal: &str) -> String {
        match self.kernel.lanes {
            Some(_) => format!("splat ({} {literal})", elem.into()),
            None => literal.to_owned(),
        }
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

impl Writer {
    /// Words at these addresses.
    fn gather(&self, words: &Type, pointers: &Type, at: &str) -> Value {
        let mask = self.kernel.ty(Prim::Bool);
        let name = format!("llvm.masked.gather.{}.{}", words.suffix(), pointers.suffix());
        let params = vec![pointers.clone(), Type::I32, mask.clone(), words.clone()];
        self.state.borrow_mut().needs.intrinsics.push((name.clone(), words.clone(), params));
        let all = self.splat(Prim::Bool, "true");
        self.assign(&format!("call {words} @{name}({pointers} {at}, i32 8, {mask} {all}, {words} poison)"))
    }

    /// By a product with twice the digits.
    fn mul_high(&self, prim: Prim, a: &str, b: &str) -> Value {
        let (bits, wide) = (prim.bits(), Scalar::Int(2 * prim.bits()));
        let (shift, wide) = (self.splat(wide, &bits.to_string()), self.kernel.ty(wide));
        let int = self.kernel.ty(bits_type(prim));
        let [a, b] = [a, b].map(|x| self.text(self.assign(&format!("zext {int} {x} to {wide}"))));
        let product = self.text(self.assign(&format!("mul {wide} {a}, {b}")));
        let high = self.text(self.assign(&format!("lshr {wide} {product}, {shift}")));
        self.assign(&format!("trunc {wide} {high} to {int}"))
    }
}

/// For `getmant`: between 3/4 and 3/2, and NaN of negative numbers.
const FROM_3_4: u32 = 0b1111;
/// For `reduce`: by rounding to the nearest integer.
const TO_NEAREST: u32 = 0b1000;

/// Instructions of AVX-512.
impl Writer {
    /// The results of an instruction, register by register.
    fn avx512(&self, name: &str, prim: Prim, args: &[String], immediate: Option<u32>) -> Value {
        let n = self.kernel.lanes.expect("only kernels for vectors rely on them");
        let len = n.next_power_of_two().clamp(128 / prim.bits(), 512 / prim.bits());
        let (whole, register) = (self.kernel.ty(prim), Type::vector(len, prim));
        let mut parts: Vec<Value> = (0..n)
            .step_by(len as usize)
            .map(|first| {
                // Lanes behind the last one may be anything.
                let lanes: Vec<u32> = (first..first + len).map(|lane| lane.min(n - 1)).collect();
                let args: Vec<String> =
                    args.iter().map(|arg| self.shuffle(&whole, [arg, "poison"], &lanes)).collect();
                self.avx512_register(name, prim, &register, &args, immediate)
            })
            .collect();
        let mut width = len;
        while parts.len() > 1 {
            let ty = Type::vector(width, prim);
            width *= 2;
            let lanes: Vec<u32> = (0..width).collect();
            parts = parts
                .chunks(2)
                .map(|pair| {
                    let texts: Vec<String> = pair.iter().map(|&part| self.text(part)).collect();
                    let second = texts.get(1).map_or("poison", String::as_str);
                    self.operand(self.shuffle(&ty, [&texts[0], second], &lanes))
                })
                .collect();
        }
        let lanes: Vec<u32> = (0..n).collect();
        self.operand(self.shuffle(&Type::vector(width, prim), [&self.text(parts[0]), "poison"], &lanes))
    }

    /// The result of an instruction for one register.
    fn avx512_register(
        &self,
        name: &str,
        prim: Prim,
        register: &Type,
        args: &[String],
        immediate: Option<u32>,
    ) -> Value {
        let Type::Vector { lanes: len, .. } = *register else { unreachable!("registers have lanes") };
        let (bits, kind) = (len * prim.bits(), if prim == Prim::F32 { "ps" } else { "pd" });
        let mut operands: Vec<(Type, String)> =
            args.iter().map(|arg| (register.clone(), arg.clone())).collect();
        operands.extend(immediate.map(|number| (Type::I32, number.to_string())));
        operands.push((register.clone(), "poison".to_owned()));
        // All lanes are active.
        operands.push((Type::Scalar(Scalar::Int(len.max(8))), "-1".to_owned()));
        if bits == 512 {
            const CURRENT_ROUNDING: &str = "4";
            operands.push((Type::I32, CURRENT_ROUNDING.to_owned()));
        }
        let name = format!("llvm.x86.avx512.mask.{name}.{kind}.{bits}");
        let typed: Vec<String> = operands.iter().map(|(ty, text)| format!("{ty} {text}")).collect();
        let params = operands.into_iter().map(|(ty, _)| ty).collect();
        self.state.borrow_mut().needs.intrinsics.push((name.clone(), register.clone(), params));
        self.assign(&format!("call {register} @{name}({})", typed.join(", ")))
    }

    /// Lanes of two vectors.
    fn shuffle(&self, ty: &Type, [first, second]: [&str; 2], lanes: &[u32]) -> String {
        let Type::Vector { lanes: n, .. } = *ty else { unreachable!("vectors have lanes") };
        if lanes.iter().copied().eq(0..n) {
            return first.to_owned();
        }
        let order: Vec<String> = lanes.iter().map(|lane| format!("i32 {lane}")).collect();
        let order = format!("<{} x i32> <{}>", lanes.len(), order.join(", "));
        self.text(self.assign(&format!("shufflevector {ty} {first}, {ty} {second}, {order}")))
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

    fn shares_angle(&self) -> bool {
        self.kernel.shares_angle
    }

    fn level(&self) -> Level {
        self.level
    }

    fn constant(&self, of: Kind, bits: u64) -> Value {
        self.operand(match of {
            Kind::Float(prim) => self.splat(prim, &literal(prim, bits)),
            Kind::Int(prim) => {
                let int = if prim == Prim::F32 { Prim::I32 } else { Prim::I64 };
                self.splat(bits_type(prim), &literal(int, bits))
            }
        })
    }

    fn compute(&self, op: Op, prim: Prim, args: &[Value]) -> Value {
        let args: Vec<String> = args.iter().map(|&arg| self.text(arg)).collect();
        let (float, int) = (self.kernel.ty(prim), self.kernel.ty(bits_type(prim)));
        let mask = self.kernel.ty(Prim::Bool);
        let binary = |name: &str, ty: &Type| self.assign(&format!("{name} {ty} {}, {}", args[0], args[1]));
        let convert =
            |name: &str, from: &Type, to: &Type| self.assign(&format!("{name} {from} {} to {to}", args[0]));
        match op {
            Op::Add => binary("fadd", &float),
            Op::Sub => binary("fsub", &float),
            Op::Mul => binary("fmul", &float),
            Op::Div => binary("fdiv", &float),
            Op::MulAdd => {
                let name = if self.level >= Level::Fused { "fma" } else { "fmuladd" };
                self.intrinsic(name, &float, &float, &args)
            }
            Op::Sqrt => self.intrinsic("sqrt", &float, &float, &args),
            Op::Less => binary("fcmp olt", &float),
            Op::Equal => binary("fcmp oeq", &float),
            Op::Select => {
                let [cond, then, other] = &args[..] else { unreachable!("there are three operands") };
                self.assign(&format!("select {mask} {cond}, {float} {then}, {float} {other}"))
            }
            Op::MaskAnd => binary("and", &mask),
            Op::MaskOr => binary("or", &mask),
            Op::MaskNot => {
                self.assign(&format!("xor {mask} {}, {}", args[0], self.splat(Prim::Bool, "true")))
            }
            Op::ToBits => convert("bitcast", &float, &int),
            Op::FromBits => convert("bitcast", &int, &float),
            Op::ToFloat => convert("sitofp", &int, &float),
            Op::IntAdd => binary("add", &int),
            Op::IntSub => binary("sub", &int),
            Op::IntMul => binary("mul", &int),
            Op::IntMulHigh => self.mul_high(prim, &args[0], &args[1]),
            Op::IntAnd => binary("and", &int),
            Op::IntOr => binary("or", &int),
            Op::IntXor => binary("xor", &int),
            Op::IntShl => binary("shl", &int),
            Op::IntShr => binary("ashr", &int),
            Op::IntShrZero => binary("lshr", &int),
            Op::IntMax => self.intrinsic("smax", &int, &int, &args),
            Op::IntEqual => binary("icmp eq", &int),
            Op::IntLess => binary("icmp slt", &int),
            Op::Widen => convert("fpext", &float, &self.kernel.ty(Prim::F64)),
            Op::Narrow => convert("fptrunc", &float, &self.kernel.ty(Prim::F32)),
            Op::Exponent => self.avx512("getexp", prim, &args, None),
            Op::Mantissa => self.avx512("getmant", prim, &args, Some(FROM_3_4)),
            Op::Scale => self.avx512("scalef", prim, &args, None),
            Op::Fraction => self.avx512("reduce", prim, &args, Some(TO_NEAREST)),
        }
    }

    fn lookup(&self, table: &'static Table, index: Value) -> Value {
        self.state.borrow_mut().needs.tables.push(table);
        let space = if self.is_on_gpu { GLOBAL } else { 0 };
        let (pointer, word, index) = (Scalar::Ptr(space), bits_type(Prim::F64), self.text(index));
        let words = self.kernel.ty(word);
        let table = table_symbol(table);
        let at = self.assign(&format!("getelementptr inbounds i64, {pointer} {table}, {words} {index}"));
        let at = self.text(at);
        match self.kernel.lanes {
            None => self.assign(&format!("load i64, {pointer} {at}, align 8, !invariant.load {INVARIANT}")),
            Some(_) => self.gather(&words, &self.kernel.ty(pointer), &at),
        }
    }

    fn rarely(&self, rare: Value, usual: Value, op: MathOp, prim: Prim, args: &[Value]) -> Value {
        let slow = Kernel {
            function: NumberFn::Op(op),
            prim,
            is_relaxed: false,
            shares_angle: false,
            ..self.kernel
        };
        let (mask, float) = (self.kernel.ty(Prim::Bool), slow.float());
        let any = match self.kernel.lanes {
            Some(_) => self.intrinsic("vector.reduce.or", &Type::BOOL, &mask, &[self.text(rare)]),
            None => rare,
        };
        let [rare, usual, any] = [rare, usual, any].map(|value| self.text(value));
        let typed: Vec<String> = args.iter().map(|&arg| format!("{float} {}", self.text(arg))).collect();
        let (number, before) = {
            let state = &mut *self.state.borrow_mut();
            let number = state.n_names;
            state.needs.parts.push((slow, Part::Slow(op)));
            let _ = writeln!(state.lines, "  br i1 {any}, label %rare{number}, label %usual{number}");
            let _ = writeln!(state.lines, "rare{number}:");
            let before = state.block.replace(number);
            (number, before.map_or("%entry".to_owned(), |block| format!("%usual{block}")))
        };
        let result = self.assign(&format!("call {float} {}({})", slow.slow_symbol(), typed.join(", ")));
        let result = self.text(result);
        let mixed = self.assign(&format!("select {mask} {rare}, {float} {result}, {float} {usual}"));
        let mixed = self.text(mixed);
        let end = format!("  br label %usual{number}\nusual{number}:\n");
        self.state.borrow_mut().lines.push_str(&end);
        self.assign(&format!("phi {float} [ {usual}, {before} ], [ {mixed}, %rare{number} ]"))
    }
}
