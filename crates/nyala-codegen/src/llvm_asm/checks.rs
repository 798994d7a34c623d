//! Run-time checks: the errors of single operations that the interpreter reports.
//!
//! An operation that fails calls `nyala_check_failed` of the runtime, which prints the position in the source and the
//! interpreter's message, and ends the program. Operations that may fail are executed exactly where the program
//! demands them (see [`nyala_ir::analysis::schedule`]), so no check fails that the program would not reach.
//!
//! Accesses are checked against the length of an array if it is known from the type or from the allocation.

use nyala_ir::eval::EvalError;
use nyala_ir::layout::layout;
use nyala_ir::{ArithOp, Def, Node, Prim, Ty, TyKind};
use nyala_span::diagnostic::plural;

use super::function::FunctionWriter;
use super::symbols::escaped;
use super::value::{Scalar, Type, Value, list};

/// A value of the program that a message shows in place of `{}`; `{s}` behind it is a plural ending.
#[derive(Clone)]
struct Shown {
    prim: Prim,
    value: String,
}

impl FunctionWriter<'_, '_> {
    /// Reports an error if `fails` holds. The message has a `{}` for each value shown.
    fn check(&mut self, def: Def, fails: &str, message: &str, shown: &[Shown]) {
        let at = self.module.place(self.world.span_of(def), self.flow.span());
        let place = self.module.text_constant(&at);
        let message = self.module.text_constant(message);
        let kind = shown.first().map_or("0".into(), |first| kind_of(first.prim).to_string());
        let failed = self.detour(|writer| {
            let mut args = vec![Value::ptr(place), Value::ptr(message), Value::new(Type::I32, kind)];
            for index in 0..2 {
                let value = shown.get(index).map(|shown| writer.as_bits(shown));
                args.push(Value::new(Type::I64, value.unwrap_or_else(|| "0".into())));
            }
            writer.call_runtime("nyala_check_failed", &args);
            writer.line("unreachable");
        });
        self.exit_if(fails, &failed);
    }

    /// The bits of a number, extended to 64.
    fn as_bits(&mut self, Shown { prim, value }: &Shown) -> String {
        let ty = Scalar::from(*prim);
        let instruction = match prim {
            Prim::F16 => {
                let wide = self.compute("wide", format!("fpext half {value} to double"));
                format!("bitcast double {wide} to i64")
            }
            Prim::F32 => {
                let wide = self.compute("wide", format!("fpext float {value} to double"));
                format!("bitcast double {wide} to i64")
            }
            Prim::F64 => format!("bitcast double {value} to i64"),
            _ if prim.bits() == 64 => return value.clone(),
            _ if prim.is_signed() => format!("sext {ty} {value} to i64"),
            _ => format!("zext {ty} {value} to i64"),
        };
        self.compute("bits", instruction)
    }

    /// Whether a condition holds in any lane.
    fn any_lane(&mut self, like: Def, condition: String) -> String {
        match self.world.types.kind(self.world.ty(like)) {
            TyKind::Simd { lanes, .. } => {
                let lanes = Value::new(Type::vector(*lanes, Prim::Bool), condition);
                self.reduce("or", "any", lanes)
            }
            _ => condition,
        }
    }

    fn check_operator(&mut self, def: Def, error: EvalError, op: ArithOp, operands: [Def; 2], fails: String) {
        let fails = self.any_lane(operands[0], fails);
        let prim = self.world.types.lane_prim(self.world.ty(operands[0])).unwrap_or(Prim::U64);
        let (code, name) = (code_of(error), op.name());
        match self.world.types.is_simd(self.world.ty(operands[0])) {
            true => {
                let message = format!("error[{code}]: {error}: in a lane of `{name}` on `{prim}`");
                self.check(def, &fails, &message, &[]);
            }
            false => {
                let message = format!("error[{code}]: {error}: `{name}({{}}, {{}})` on `{prim}`");
                let shown = operands.map(|operand| Shown { prim, value: self.value(operand) });
                self.check(def, &fails, &message, &shown);
            }
        }
    }

    /// An operation on integers that may fail, with its checks.
    pub(crate) fn checked_arith(&mut self, def: Def, op: ArithOp, wraps: bool, lhs: Def, rhs: Def) -> String {
        let prim = self.world.types.lane_prim(self.world.ty(lhs)).unwrap_or(Prim::U64);
        match op {
            ArithOp::Add | ArithOp::Sub | ArithOp::Mul => self.checked_by_llvm(def, op, lhs, rhs),
            ArithOp::Div | ArithOp::Rem => self.checked_division(def, op, prim, lhs, rhs),
            _ => self.checked_shift(def, op, prim, wraps, lhs, rhs),
        }
    }

    fn checked_by_llvm(&mut self, def: Def, op: ArithOp, lhs: Def, rhs: Def) -> String {
        let ty = self.module.ty_of(lhs);
        let flags = self.same_lanes(self.world.ty(lhs), Prim::Bool);
        let both = Type::structure(&[ty.clone(), flags]);
        let name = format!("llvm.s{}.with.overflow.{}", op.name(), ty.suffix());
        let args = [self.typed(lhs), self.typed(rhs)];
        let symbol = self.module.declare_for(&name, &both, &args, self.flow.span());
        let result = self.compute(op.name(), format!("call {both} {symbol}({})", list(&args)));
        let fails = self.compute("overflows", format!("extractvalue {both} {result}, 1"));
        self.check_operator(def, EvalError::Overflow, op, [lhs, rhs], fails);
        self.compute(op.name(), format!("extractvalue {both} {result}, 0"))
    }

    fn checked_division(&mut self, def: Def, op: ArithOp, prim: Prim, lhs: Def, rhs: Def) -> String {
        let (a, b, ty) = (self.value(lhs), self.value(rhs), self.module.ty_of(lhs));
        let is_zero = self.compute("is_zero", format!("icmp eq {ty} {b}, zeroinitializer"));
        self.check_operator(def, EvalError::DivisionByZero, op, [lhs, rhs], is_zero);
        if prim.is_signed() {
            let flags = self.same_lanes(self.world.ty(lhs), Prim::Bool);
            let (ones, least) = (self.int_splat(lhs, prim, -1), self.int_splat(lhs, prim, least(prim)));
            let by_minus_one = self.compute("by_minus_one", format!("icmp eq {ty} {b}, {ones}"));
            let is_least = self.compute("is_least", format!("icmp eq {ty} {a}, {least}"));
            let fails = self.compute("overflows", format!("and {flags} {by_minus_one}, {is_least}"));
            self.check_operator(def, EvalError::Overflow, op, [lhs, rhs], fails);
        }
        let name = super::ops::arith_instruction(op, prim);
        self.compute(op.name(), format!("{name} {ty} {a}, {b}"))
    }

    fn checked_shift(
        &mut self,
        def: Def,
        op: ArithOp,
        prim: Prim,
        wraps: bool,
        lhs: Def,
        rhs: Def,
    ) -> String {
        let (a, b, ty) = (self.value(lhs), self.value(rhs), self.module.ty_of(lhs));
        let width = self.int_splat(lhs, prim, i64::from(prim.bits()));
        let fails = self.compute("too_far", format!("icmp uge {ty} {b}, {width}"));
        self.check_operator(def, EvalError::ShiftRange, op, [lhs, rhs], fails);
        let name = super::ops::arith_instruction(op, prim);
        let result = self.compute(op.name(), format!("{name} {ty} {a}, {b}"));
        if op == ArithOp::Shl && prim.is_signed() && !wraps {
            // The bits that were shifted out must be copies of the sign.
            let flags = self.same_lanes(self.world.ty(lhs), Prim::Bool);
            let is_negative = self.compute("negative", format!("icmp slt {ty} {a}, zeroinitializer"));
            let signed = self.compute("back", format!("ashr {ty} {result}, {b}"));
            let unsigned = self.compute("back", format!("lshr {ty} {result}, {b}"));
            let back =
                self.compute("back", format!("select {flags} {is_negative}, {ty} {signed}, {ty} {unsigned}"));
            let fails = self.compute("overflows", format!("icmp ne {ty} {back}, {a}"));
            self.check_operator(def, EvalError::Overflow, op, [lhs, rhs], fails);
        }
        result
    }

    /// An integer constant of the type of `like`, broadcast to all lanes.
    fn int_splat(&self, like: Def, prim: Prim, value: i64) -> String {
        match self.world.types.is_simd(self.world.ty(like)) {
            true => format!("splat ({} {value})", Scalar::from(prim)),
            false => value.to_string(),
        }
    }

    /// Checks that a float is in the range of an integer type.
    pub(crate) fn check_cast(&mut self, def: Def, from: Def, source: Prim, target: Prim) {
        let (value, ty) = (self.value(from), self.module.ty_of(from));
        // It represents all limits exactly.
        let wide_ty = self.same_lanes(self.world.ty(from), Prim::F64);
        let wide = match source {
            Prim::F64 => value.clone(),
            _ => self.compute("wide", format!("fpext {ty} {value} to {wide_ty}")),
        };
        let name = format!("llvm.trunc.{}", wide_ty.suffix());
        let wide = Value::new(wide_ty.clone(), wide);
        let symbol = self.module.declare_for(&name, &wide_ty, std::slice::from_ref(&wide), self.flow.span());
        let whole = self.compute("whole", format!("call {wide_ty} {symbol}({wide})"));
        let bits = target.bits() as i32;
        let (lower, upper) = match target.is_signed() {
            true => (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1)),
            false => (0.0, 2f64.powi(bits)),
        };
        let (lower, upper) = (self.splat(from, Prim::F64, lower), self.splat(from, Prim::F64, upper));
        let flags = self.same_lanes(self.world.ty(from), Prim::Bool);
        // These hold for NaN too.
        let low = self.compute("low", format!("fcmp ult {wide_ty} {whole}, {lower}"));
        let high = self.compute("high", format!("fcmp uge {wide_ty} {whole}, {upper}"));
        let fails = self.compute("outside", format!("or {flags} {low}, {high}"));
        let fails = self.any_lane(from, fails);
        let (code, error) = (code_of(EvalError::CastRange), EvalError::CastRange);
        match self.world.types.is_simd(self.world.ty(from)) {
            true => self.check(
                def,
                &fails,
                &format!("error[{code}]: {error}: in a lane of a cast to `{target}`"),
                &[],
            ),
            false => {
                let message = format!("error[{code}]: {error}: `{target}({{}})` on `{source}`");
                self.check(def, &fails, &message, &[Shown { prim: source, value }]);
            }
        }
    }

    /// Checks an index into an array or vector value.
    pub(crate) fn check_index(&mut self, def: Def, agg: Def, index: Def) {
        let len = match self.world.types.kind(self.world.ty(agg)) {
            TyKind::Array { len, .. } => *len,
            TyKind::Simd { lanes, .. } => u64::from(*lanes),
            _ => return,
        };
        let value = self.index(index);
        let fails = self.compute("outside", format!("icmp uge i64 {value}, {len}"));
        let message = format!("error[E0972]: index {{}} is outside a value of {len} parts");
        self.check(def, &fails, &message, &[Shown { prim: Prim::I64, value }]);
    }

    /// Checks an access to memory against all known lengths of arrays.
    pub(crate) fn check_access(&mut self, access: Def, ptr: Def, accessed: Ty, verb: &str) {
        let mut ptr = ptr;
        loop {
            match self.world.node(ptr) {
                Node::Lea { ptr: base, index } => {
                    self.check_lea(access, base, index, accessed, verb);
                    ptr = base;
                }
                Node::Bitcast(from) | Node::Cast(from) if self.pointee_of(from).is_some() => ptr = from,
                _ => return,
            }
        }
    }

    fn check_lea(&mut self, access: Def, base: Def, index: Def, accessed: Ty, verb: &str) {
        let Some(elem) = self.pointee_of(base).and_then(|pointee| self.world.types.elem(pointee)) else {
            return;
        };
        let Some((kind, len)) = self.length_of(base, elem) else { return };
        let elem_size = layout(&self.world.types, elem).size;
        let size = layout(&self.world.types, accessed).size;
        let index = self.index(index);
        let fails = self.compute("outside", format!("icmp uge i64 {index}, {len}"));
        let bytes = |count: &str| format!("mul i64 {count}, {elem_size}");
        let offset = self.compute("offset", bytes(&index));
        let room = self.compute("room", bytes(&len));
        let message = format!(
            "error[E0950]: {verb} of {} at offset {{}} is outside the {kind} of {{}} byte{{s}}",
            plural(size, "byte")
        );
        let shown = [offset, room].map(|value| Shown { prim: Prim::I64, value });
        self.check(access, &fails, &message, &shown);
    }

    fn pointee_of(&self, ptr: Def) -> Option<Ty> {
        self.world.types.as_ptr(self.world.ty(ptr)).map(|(pointee, _)| pointee)
    }

    /// The kind of memory that `base` points to, and its number of elements.
    fn length_of(&mut self, base: Def, elem: Ty) -> Option<(&'static str, String)> {
        let world = self.world;
        let mut root = base;
        let mut len = None;
        loop {
            let pointee = self.pointee_of(root)?;
            if let TyKind::Array { elem: found, len: known } = *world.types.kind(pointee)
                && found == elem
            {
                len.get_or_insert(known.to_string());
            }
            match world.node(root) {
                Node::Bitcast(from) | Node::Cast(from) | Node::Hide(from) | Node::Streaming(from) => {
                    root = from
                }
                Node::Extract { agg, .. } => {
                    return match world.node(agg) {
                        Node::Slot { .. } => Some(("local variable", len?)),
                        Node::Alloc { count, .. } if world.types.elem(pointee) == Some(elem) => {
                            Some(("heap allocation", self.value(count)))
                        }
                        _ => Some(("array", len?)),
                    };
                }
                Node::Global(global) if world.global(global).is_mut => return Some(("global", len?)),
                Node::Global(_) => return Some(("constant", len?)),
                _ => return Some(("array", len?)),
            }
        }
    }
}

impl super::ModuleWriter<'_> {
    /// A position in the source, or else that of the call.
    fn place(&self, span: nyala_span::Span, otherwise: nyala_span::Span) -> String {
        let span = if span.is_none() { otherwise } else { span };
        self.options.sources.map_or_else(|| "<no source>".into(), |sources| sources.describe(span))
    }

    /// The address of a string constant that ends with a zero.
    fn text_constant(&mut self, text: &str) -> String {
        let constant = format!("[{} x i8] c\"{}\\00\"", text.len() + 1, escaped(text.as_bytes()));
        self.private(constant, 1)
    }
}

/// The number by which the runtime knows how to print a value.
fn kind_of(prim: Prim) -> u32 {
    match prim {
        _ if prim.is_float() => 2,
        _ if prim.is_signed() => 1,
        _ => 0,
    }
}

/// The smallest number of a signed type.
fn least(prim: Prim) -> i64 {
    -1 << (prim.bits() - 1)
}

/// The code that the interpreter reports an error with.
fn code_of(error: EvalError) -> &'static str {
    match error {
        EvalError::Overflow => "E0958",
        EvalError::ShiftRange => "E0959",
        EvalError::DivisionByZero => "E0960",
        EvalError::CastRange => "E0961",
        EvalError::Unsupported => "E0978",
    }
}
