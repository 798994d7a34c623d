//! Intrinsics on numbers of any type, and lane by lane on vectors of them: `min`, `max`, `abs`, and arithmetic that
//! saturates.
//!
//! On floats they are the mathematical functions `fmin`, `fmax` and `fabs`, or plain arithmetic, on integers
//! comparisons.

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Def, MathOp, Prim, Ty, World};
use nyala_syntax::ast::BinaryOp;

use crate::lowerer::Lowerer;

/// An operation on numbers of any type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumericOp {
    Min,
    Max,
    Abs,
    /// The sum or difference, clamped to the range of the type.
    SaturatingAdd,
    SaturatingSub,
}

impl NumericOp {
    pub(crate) fn from_name(name: &str) -> Option<NumericOp> {
        const ALL: [NumericOp; 5] = [
            NumericOp::Min,
            NumericOp::Max,
            NumericOp::Abs,
            NumericOp::SaturatingAdd,
            NumericOp::SaturatingSub,
        ];
        ALL.into_iter().find(|op| op.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            NumericOp::Min => "min",
            NumericOp::Max => "max",
            NumericOp::Abs => "abs",
            NumericOp::SaturatingAdd => "saturating_add",
            NumericOp::SaturatingSub => "saturating_sub",
        }
    }

    pub(crate) fn arity(self) -> usize {
        match self {
            NumericOp::Abs => 1,
            _ => 2,
        }
    }

    pub(crate) fn shapes(self) -> &'static [&'static str] {
        match self {
            NumericOp::Abs => &["[T](T) -> T"],
            _ => &["[T](T, T) -> T"],
        }
    }

    /// Whether the operation works on these arguments.
    pub(crate) fn check(self, world: &World, args: &[Def], result: Ty) -> Result<(), String> {
        match world.types.lane_prim(world.ty(args[0])) {
            Some(prim) if prim != Prim::Bool => Ok(()),
            _ => Err(format!("`{}` is no number", world.types.display(result))),
        }
    }

    /// The function of floats, if it is one. Sums of floats are what they are.
    fn on_floats(self) -> Option<MathOp> {
        match self {
            NumericOp::Min => Some(MathOp::Fmin),
            NumericOp::Max => Some(MathOp::Fmax),
            NumericOp::Abs => Some(MathOp::Fabs),
            NumericOp::SaturatingAdd | NumericOp::SaturatingSub => None,
        }
    }
}

impl Lowerer<'_> {
    /// The node of an operation on numbers.
    pub(crate) fn numeric_op(&mut self, op: NumericOp, args: &[Def]) -> Def {
        let prim = self.world.types.lane_prim(self.world.ty(args[0])).expect("the types were checked");
        if prim.is_float() {
            let flags = self.flags(self.world.ty(args[0]));
            if let Some(op) = op.on_floats() {
                return self.world.math(op, flags, args);
            }
        }
        if let (NumericOp::SaturatingAdd | NumericOp::SaturatingSub, &[a, b]) = (op, args) {
            let op = if op == NumericOp::SaturatingAdd { ArithOp::Add } else { ArithOp::Sub };
            return match prim.is_float() {
                true => self.world.arith(op, self.flags(self.world.ty(a)), a, b),
                false => self.saturating(op, prim, a, b),
            };
        }
        let (cond, then, other) = match (op, args) {
            (NumericOp::Min, &[a, b]) => (self.binary_op(BinaryOp::Lt, b, a), b, a),
            (NumericOp::Max, &[a, b]) => (self.binary_op(BinaryOp::Gt, b, a), b, a),
            (NumericOp::Abs, &[a]) if prim.is_signed() => {
                let negated = self.unary_op(true, a);
                let zero = self.world.zero(self.world.ty(a)).expect("numbers have a zero");
                (self.binary_op(BinaryOp::Lt, a, zero), negated, a)
            }
            _ => return args[0],
        };
        self.world.select(cond, then, other)
    }

    /// A sum or difference of integers that saturates.
    fn saturating(&mut self, op: ArithOp, prim: Prim, a: Def, b: Def) -> Def {
        let ty = self.world.ty(a);
        let result = self.world.arith(op, ArithFlags::WRAP, a, b);
        let [zero, all] = [0, prim.canonical(u64::MAX)].map(|bits| self.like(ty, prim, bits));
        if !prim.is_signed() {
            // A sum that wraps is less than each summand; a difference wraps if the first is less.
            let (wraps, limit) = match op {
                ArithOp::Add => (self.world.cmp(CmpOp::Lt, result, a), all),
                _ => (self.world.cmp(CmpOp::Lt, a, b), zero),
            };
            return self.world.select(wraps, limit, result);
        }
        // The sign of the result is wrong if it differs from that of `a`, and `b` would move away from the other side.
        let lowest = 1 << (prim.bits() - 1);
        let [lowest, highest] = [lowest, lowest - 1].map(|bits| self.like(ty, prim, prim.canonical(bits)));
        let mut xor = |a: Def, b: Def| self.world.arith(ArithOp::Xor, ArithFlags::STRICT, a, b);
        let changed = xor(a, result);
        let other = if op == ArithOp::Add { xor(b, result) } else { xor(a, b) };
        let both = self.world.arith(ArithOp::And, ArithFlags::STRICT, changed, other);
        let wraps = self.world.cmp(CmpOp::Lt, both, zero);
        let is_negative = self.world.cmp(CmpOp::Lt, a, zero);
        let limit = self.world.select(is_negative, lowest, highest);
        self.world.select(wraps, limit, result)
    }

    /// A literal of the type, or of its lanes.
    fn like(&mut self, ty: Ty, prim: Prim, bits: u64) -> Def {
        let literal = self.world.lit(prim, bits);
        match self.world.types.lanes(ty) {
            Some(n) if self.world.types.is_simd(ty) => self.world.splat(literal, n),
            _ => literal,
        }
    }
}
