//! What kernels are written with: floats, integers and masks of all lanes, as values with
//! operators, and the machine that executes the operations.
//!
//! Integers have as many bits as the floats beside them.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use nyala_ir::{MathOp, Prim};

/// Executes operations, or writes them down.
pub(crate) trait Machine {
    /// Whether only finite normal numbers matter.
    fn is_relaxed(&self) -> bool;

    /// The instructions that it has.
    fn level(&self) -> Level;

    /// Whether the other one of the sine and cosine of an angle is computed too.
    fn shares_angle(&self) -> bool;

    /// The same bits in all lanes.
    fn constant(&self, of: Kind, bits: u64) -> Value;

    /// An operation; `prim` is the type of floats.
    fn compute(&self, op: Op, prim: Prim, args: &[Value]) -> Value;

    /// Words of a table, by index.
    fn lookup(&self, table: &'static Table, index: Value) -> Value;

    /// `usual`, but in lanes that are `rare` what `op` gives by a method that takes longer:
    /// for `f32` its kernel for `f64`, and for `f64` its [far kernel](super::far_kernel).
    fn rarely(&self, rare: Value, usual: Value, op: MathOp, prim: Prim, args: &[Value]) -> Value;
}

/// Instructions that not all machines have. Each level has those of the levels before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Level {
    Base,
    /// [`Op::MulAdd`] always rounds once.
    Fused,
    /// AVX-512: [`Op::Exponent`] and those after it. They are as fast for numbers below the normal ones.
    Exponents,
}

impl Level {
    pub const ALL: [Level; 3] = [Level::Base, Level::Fused, Level::Exponents];
}

/// A value of the machine's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Value(pub u64);

/// Whether a constant is a float or an integer of that size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Float(Prim),
    Int(Prim),
}

/// Constants in memory.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Table {
    pub name: &'static str,
    pub words: &'static [u64],
}

/// What machines can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    /// A product and a sum, rounded once if that is fast.
    MulAdd,
    Sqrt,
    /// Comparisons: not true for NaN.
    Less,
    Equal,
    /// Of floats, by a mask.
    Select,
    MaskAnd,
    MaskOr,
    MaskNot,
    /// From floats to integers and back, bit for bit.
    ToBits,
    FromBits,
    /// From integers to floats, by value.
    ToFloat,
    IntAdd,
    IntSub,
    IntMul,
    /// The upper half of the product of unsigned integers.
    IntMulHigh,
    IntAnd,
    IntOr,
    IntXor,
    IntShl,
    /// With the sign.
    IntShr,
    /// With zeros.
    IntShrZero,
    /// Of signed integers.
    IntMax,
    IntEqual,
    /// Of signed integers.
    IntLess,
    /// From `f32` to `f64` and back.
    Widen,
    Narrow,
    /// The binary exponent of a number as a float: of 0 and infinity -infinity and infinity.
    Exponent,
    /// A number times a power of two, so that it is between 3/4 and 3/2: 1 of 0 and infinity, and NaN of negative
    /// numbers.
    Mantissa,
    /// The first operand times two to the power of the second, which is an integer; rounded once.
    Scale,
    /// What is lost by rounding to the nearest integer: 0 of an infinite number.
    Fraction,
}

/// Floats.
#[derive(Clone, Copy)]
pub(crate) struct Float<'m> {
    machine: &'m dyn Machine,
    prim: Prim,
    value: Value,
}

/// Integers.
#[derive(Clone, Copy)]
pub(crate) struct Int<'m> {
    machine: &'m dyn Machine,
    prim: Prim,
    value: Value,
}

/// Truth values.
#[derive(Clone, Copy)]
pub(crate) struct Mask<'m> {
    machine: &'m dyn Machine,
    prim: Prim,
    value: Value,
}

impl<'m> Float<'m> {
    /// A value of the machine's, which must be of this type.
    pub fn new(machine: &'m dyn Machine, prim: Prim, value: Value) -> Float<'m> {
        Float { machine, prim, value }
    }

    /// What the machine knows it as.
    pub fn value(self) -> Value {
        self.value
    }

    /// Whether only finite normal numbers matter.
    pub fn is_relaxed(self) -> bool {
        self.machine.is_relaxed()
    }

    /// Whether [`Float::mul_add`] always rounds once.
    pub fn is_fused(self) -> bool {
        self.machine.level() >= Level::Fused
    }

    /// Whether there is [`Float::exponent`] and what follows it.
    pub fn has_exponents(self) -> bool {
        self.machine.level() >= Level::Exponents
    }

    /// Whether the other one of the sine and cosine of this angle is computed too.
    pub fn is_shared_angle(self) -> bool {
        self.machine.shares_angle()
    }

    /// One of two things, by type.
    pub fn by_type<T>(self, single: T, double: T) -> T {
        if self.prim == Prim::F32 { single } else { double }
    }

    /// The same number in all lanes.
    pub fn constant(self, number: f64) -> Float<'m> {
        let bits = self.by_type(u64::from((number as f32).to_bits()), number.to_bits());
        self.with(self.machine.constant(Kind::Float(self.prim), bits))
    }

    /// The same integer in all lanes.
    pub fn int(self, number: i64) -> Int<'m> {
        let value = self.machine.constant(Kind::Int(self.prim), number as u64);
        Int { machine: self.machine, prim: self.prim, value }
    }

    fn with(self, value: Value) -> Float<'m> {
        Float { value, ..self }
    }

    fn compute(self, op: Op, args: &[Value]) -> Float<'m> {
        self.with(self.machine.compute(op, self.prim, args))
    }

    fn mask(self, op: Op, args: &[Value]) -> Mask<'m> {
        let value = self.machine.compute(op, self.prim, args);
        Mask { machine: self.machine, prim: self.prim, value }
    }

    /// `self * factor + term`.
    pub fn mul_add(self, factor: impl Operand<'m>, term: impl Operand<'m>) -> Float<'m> {
        let (factor, term) = (factor.like(self), term.like(self));
        self.compute(Op::MulAdd, &[self.value, factor.value, term.value])
    }

    pub fn sqrt(self) -> Float<'m> {
        self.compute(Op::Sqrt, &[self.value])
    }

    pub fn less(self, other: impl Operand<'m>) -> Mask<'m> {
        self.mask(Op::Less, &[self.value, other.like(self).value])
    }

    pub fn equals(self, other: impl Operand<'m>) -> Mask<'m> {
        self.mask(Op::Equal, &[self.value, other.like(self).value])
    }

    /// The smaller one; NaN stays NaN.
    pub fn at_most(self, limit: f64) -> Float<'m> {
        let limit = self.constant(limit);
        limit.less(self).select(limit, self)
    }

    /// The smaller one; NaN becomes the limit.
    pub fn below(self, limit: f64) -> Float<'m> {
        let limit = self.constant(limit);
        self.less(limit).select(self, limit)
    }

    /// The larger one; NaN stays NaN.
    pub fn at_least(self, limit: f64) -> Float<'m> {
        let limit = self.constant(limit);
        self.less(limit).select(limit, self)
    }

    pub fn bits(self) -> Int<'m> {
        let value = self.machine.compute(Op::ToBits, self.prim, &[self.value]);
        Int { machine: self.machine, prim: self.prim, value }
    }

    /// Only the bit of the sign.
    pub fn sign(self) -> Int<'m> {
        self.bits() & self.int(self.by_type(i64::from(i32::MIN), i64::MIN))
    }

    pub fn abs(self) -> Float<'m> {
        (self.bits() & self.int(self.by_type(i64::from(i32::MAX), i64::MAX))).as_float()
    }

    /// With the sign changed where one is set in `sign`.
    pub fn flip(self, sign: Int<'m>) -> Float<'m> {
        (self.bits() ^ sign).as_float()
    }

    /// The polynomial with these coefficients, the one of the lowest power first. Higher powers must matter less.
    ///
    /// The even and the odd powers of a long one are summed apart: processors hold a limited number of operations that
    /// wait for others. Without fused operations that would lose too many digits.
    pub fn polynomial(self, coefficients: &[f64]) -> Float<'m> {
        const LONG: usize = 6;
        if coefficients.len() < LONG || !self.is_fused() {
            return self.horner(coefficients);
        }
        let every_second =
            |from: usize| -> Vec<f64> { coefficients[from..].iter().copied().step_by(2).collect() };
        let square = self * self;
        let odd = square.polynomial(&every_second(1));
        odd.mul_add(self, square.polynomial(&every_second(0)))
    }

    /// The polynomial from the highest power down, which loses the fewest digits.
    pub fn horner(self, coefficients: &[f64]) -> Float<'m> {
        let Some((last, others)) = coefficients.split_last() else { return self.constant(0.0) };
        let last = self.constant(*last);
        others.iter().rev().fold(last, |sum, &coefficient| sum.mul_add(self, coefficient))
    }

    /// See [`Op::Exponent`].
    pub fn exponent(self) -> Float<'m> {
        self.compute(Op::Exponent, &[self.value])
    }

    /// See [`Op::Mantissa`].
    pub fn mantissa(self) -> Float<'m> {
        self.compute(Op::Mantissa, &[self.value])
    }

    /// `self * 2^n` for an integer `n` of any size.
    pub fn scaled(self, n: Float<'m>) -> Float<'m> {
        self.compute(Op::Scale, &[self.value, n.value])
    }

    /// See [`Op::Fraction`].
    pub fn fraction(self) -> Float<'m> {
        self.compute(Op::Fraction, &[self.value])
    }

    /// Rounded to the nearest integer, as a float and, in the low bits, as an integer;
    /// `self` must be below 2^20. Adding a large number leaves no bits behind the point.
    pub fn nearest(self) -> (Float<'m>, Int<'m>) {
        let large = self.large();
        let sum = self + large;
        (sum - large, sum.bits())
    }

    /// A product rounded so. The product itself may be rounded before.
    pub fn nearest_product(self, factor: f64) -> (Float<'m>, Int<'m>) {
        let large = self.large();
        let sum = self.mul_add(factor, large);
        (sum - large, sum.bits())
    }

    /// A number whose last place is 1, also if something below 2^20 is added.
    fn large(self) -> f64 {
        self.by_type(12_582_912.0, 6_755_399_441_055_744.0)
    }

    /// `self` as `f64`, which it must not be yet.
    pub fn widen(self) -> Float<'m> {
        Float { prim: Prim::F64, ..self.compute(Op::Widen, &[self.value]) }
    }

    /// `self` as `f32`, which it must not be yet.
    pub fn narrow(self) -> Float<'m> {
        Float { prim: Prim::F32, ..self.compute(Op::Narrow, &[self.value]) }
    }

    /// `self`, but in lanes that are `rare` what `op` gives by a method that takes longer.
    pub fn rarely(self, rare: Mask<'m>, op: MathOp, args: &[Float<'m>]) -> Float<'m> {
        let args: Vec<Value> = args.iter().map(|arg| arg.value).collect();
        self.with(self.machine.rarely(rare.value, self.value, op, self.prim, &args))
    }
}

impl<'m> Int<'m> {
    fn compute(self, op: Op, args: &[Value]) -> Int<'m> {
        Int { value: self.machine.compute(op, self.prim, args), ..self }
    }

    /// Of the same type, in all lanes.
    pub fn constant(self, number: i64) -> Int<'m> {
        Int { value: self.machine.constant(Kind::Int(self.prim), number as u64), ..self }
    }

    /// The float with these bits.
    pub fn as_float(self) -> Float<'m> {
        let value = self.machine.compute(Op::FromBits, self.prim, &[self.value]);
        Float { machine: self.machine, prim: self.prim, value }
    }

    /// The float with this value.
    pub fn to_float(self) -> Float<'m> {
        let value = self.machine.compute(Op::ToFloat, self.prim, &[self.value]);
        Float { machine: self.machine, prim: self.prim, value }
    }

    /// The upper half of the product of unsigned integers.
    pub fn mul_high(self, other: Int<'m>) -> Int<'m> {
        self.compute(Op::IntMulHigh, &[self.value, other.value])
    }

    /// Shifted to the left.
    pub fn shl(self, count: Int<'m>) -> Int<'m> {
        self.compute(Op::IntShl, &[self.value, count.value])
    }

    /// Shifted to the right as an unsigned integer.
    pub fn shr_zero(self, count: Int<'m>) -> Int<'m> {
        self.compute(Op::IntShrZero, &[self.value, count.value])
    }

    /// The larger one, as signed integers.
    pub fn max(self, other: Int<'m>) -> Int<'m> {
        self.compute(Op::IntMax, &[self.value, other.value])
    }

    /// The word of a table at this index; only for `f64`.
    pub fn lookup(self, table: &'static Table) -> Int<'m> {
        Int { value: self.machine.lookup(table, self.value), ..self }
    }

    pub fn equals(self, number: i64) -> Mask<'m> {
        self.compare(Op::IntEqual, self.constant(number))
    }

    pub fn less(self, other: Int<'m>) -> Mask<'m> {
        self.compare(Op::IntLess, other)
    }

    fn compare(self, op: Op, other: Int<'m>) -> Mask<'m> {
        let value = self.machine.compute(op, self.prim, &[self.value, other.value]);
        Mask { machine: self.machine, prim: self.prim, value }
    }
}

impl<'m> Mask<'m> {
    pub fn select(self, then: impl Operand<'m>, other: Float<'m>) -> Float<'m> {
        let then = then.like(other);
        other.compute(Op::Select, &[self.value, then.value, other.value])
    }

    fn compute(self, op: Op, args: &[Value]) -> Mask<'m> {
        Mask { value: self.machine.compute(op, self.prim, args), ..self }
    }
}

/// A float, or a number that becomes one.
pub(crate) trait Operand<'m> {
    fn like(self, other: Float<'m>) -> Float<'m>;
}

impl<'m> Operand<'m> for Float<'m> {
    fn like(self, _: Float<'m>) -> Float<'m> {
        self
    }
}

impl<'m> Operand<'m> for f64 {
    fn like(self, other: Float<'m>) -> Float<'m> {
        other.constant(self)
    }
}

macro_rules! float_operators {
    ($($operator:ident $method:ident),*) => { $(
        impl<'m, T: Operand<'m>> $operator<T> for Float<'m> {
            type Output = Float<'m>;

            fn $method(self, other: T) -> Float<'m> {
                self.compute(Op::$operator, &[self.value, other.like(self).value])
            }
        }
    )* };
}

float_operators!(Add add, Sub sub, Mul mul, Div div);

impl<'m> Neg for Float<'m> {
    type Output = Float<'m>;

    fn neg(self) -> Float<'m> {
        self.flip(self.int(self.by_type(i64::from(i32::MIN), i64::MIN)))
    }
}

macro_rules! int_operators {
    ($($operator:ident $method:ident $op:ident),*) => { $(
        impl<'m> $operator for Int<'m> {
            type Output = Int<'m>;

            fn $method(self, other: Int<'m>) -> Int<'m> {
                self.compute(Op::$op, &[self.value, other.value])
            }
        }
    )* };
}

int_operators!(Add add IntAdd, Sub sub IntSub, Mul mul IntMul, BitAnd bitand IntAnd, BitOr bitor IntOr, BitXor bitxor IntXor);

impl<'m> Shl<i64> for Int<'m> {
    type Output = Int<'m>;

    fn shl(self, count: i64) -> Int<'m> {
        self.compute(Op::IntShl, &[self.value, self.constant(count).value])
    }
}

impl<'m> Shr<i64> for Int<'m> {
    type Output = Int<'m>;

    fn shr(self, count: i64) -> Int<'m> {
        self.compute(Op::IntShr, &[self.value, self.constant(count).value])
    }
}

impl<'m> Not for Int<'m> {
    type Output = Int<'m>;

    fn not(self) -> Int<'m> {
        self ^ self.constant(-1)
    }
}

impl<'m> BitAnd for Mask<'m> {
    type Output = Mask<'m>;

    fn bitand(self, other: Mask<'m>) -> Mask<'m> {
        self.compute(Op::MaskAnd, &[self.value, other.value])
    }
}

impl<'m> BitOr for Mask<'m> {
    type Output = Mask<'m>;

    fn bitor(self, other: Mask<'m>) -> Mask<'m> {
        self.compute(Op::MaskOr, &[self.value, other.value])
    }
}

impl<'m> Not for Mask<'m> {
    type Output = Mask<'m>;

    fn not(self) -> Mask<'m> {
        self.compute(Op::MaskNot, &[self.value])
    }
}
