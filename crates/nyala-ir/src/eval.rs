//! The meaning of each operator on constants, defined only here.
//!
//! Values are bits in the canonical form of literals: cut to the width of their
//! type and zero-extended. Folding, the partial evaluator and the interpreter
//! all call this module, so they agree by construction.
//!
//! # Rules
//!
//! * Unsigned arithmetic is modulo 2^N. Signed `add`, `sub`, `mul` and `shl` that
//!   leave the range are [`EvalError::Overflow`], or wrap around with the flag `wrap`.
//!   `shl` may shift a one into the sign bit of a number that is not negative: on
//!   `i32`, `1 << 31` is the minimum.
//! * Division truncates toward zero; the remainder has the dividend's sign. Zero as
//!   divisor and `MIN / -1` are errors, with `wrap` too, as machines trap.
//! * A shift count outside `0..N` is an error. `shr` is arithmetic on signed types.
//! * Floats are IEEE 754, rounded once to their own precision. `rem` is `fmod`.
//!   A NaN that an operation makes is the positive quiet one, on every machine.
//! * A cast of a float to an integer truncates; outside the range it is an error.
//!
//! An error is no crash: it says that the operation would fail when run, so
//! folding leaves it in the program, and the interpreter reports it.

mod math;

use std::fmt;

use half::f16;

pub use math::{math, number};

use crate::node::{ArithFlags, ArithOp, CmpOp};
use crate::types::Prim;

/// Why an operation has no value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EvalError {
    /// A signed result that its type cannot hold.
    Overflow,
    /// An integer divided by zero.
    DivisionByZero,
    /// A shift count that is negative or not less than the width.
    ShiftRange,
    /// A float that the integer type cannot hold, or NaN.
    CastRange,
    /// The type has no such operation.
    Unsupported,
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EvalError::Overflow => "signed overflow",
            EvalError::DivisionByZero => "division by zero",
            EvalError::ShiftRange => "shift count out of range",
            EvalError::CastRange => "float out of the integer's range",
            EvalError::Unsupported => "operation not defined on this type",
        })
    }
}

impl std::error::Error for EvalError {}

/// `lhs op rhs` on values of type `prim`.
#[inline]
pub fn arith(op: ArithOp, flags: ArithFlags, prim: Prim, lhs: u64, rhs: u64) -> Result<u64, EvalError> {
    match prim {
        Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64 => signed(op, flags.wrap, prim, lhs, rhs),
        Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64 => unsigned(op, prim, lhs, rhs),
        Prim::Bool => logical(op, lhs, rhs),
        Prim::F16 => arith_f32(op, f16_value(lhs), f16_value(rhs)).map(f16_bits),
        Prim::F32 => arith_f32(op, f32_value(lhs), f32_value(rhs)).map(f32_bits),
        Prim::F64 => arith_f64(op, f64::from_bits(lhs), f64::from_bits(rhs)).map(f64_bits),
    }
}

#[inline]
fn signed(op: ArithOp, wrap: bool, prim: Prim, lhs: u64, rhs: u64) -> Result<u64, EvalError> {
    let (a, b) = (prim.sign_extend(lhs), prim.sign_extend(rhs));
    let (wide, mut overflows) = match op {
        ArithOp::Add => a.overflowing_add(b),
        ArithOp::Sub => a.overflowing_sub(b),
        ArithOp::Mul => a.overflowing_mul(b),
        ArithOp::Div | ArithOp::Rem if b == 0 => return Err(EvalError::DivisionByZero),
        ArithOp::Div | ArithOp::Rem if b == -1 && a == min_of(prim) => return Err(EvalError::Overflow),
        ArithOp::Div => (a / b, false),
        ArithOp::Rem => (a % b, false),
        ArithOp::And => (a & b, false),
        ArithOp::Or => (a | b, false),
        ArithOp::Xor => (a ^ b, false),
        ArithOp::Shl => return shift_left(wrap, prim, lhs, shift_count(prim, rhs)?),
        ArithOp::Shr => (a >> shift_count(prim, rhs)?, false),
    };
    let bits = prim.canonical(wide as u64);
    overflows |= prim.sign_extend(bits) != wide;
    if overflows && !wrap { Err(EvalError::Overflow) } else { Ok(bits) }
}

/// The smallest number of a signed type.
fn min_of(prim: Prim) -> i64 {
    -1 << (prim.bits() - 1)
}

fn shift_count(prim: Prim, count: u64) -> Result<u32, EvalError> {
    // A negative count is a huge one in canonical form.
    if count < u64::from(prim.bits()) { Ok(count as u32) } else { Err(EvalError::ShiftRange) }
}

/// On a signed type. Bits shifted out must be zero, or for a negative number be
/// and leave ones.
fn shift_left(wrap: bool, prim: Prim, value: u64, count: u32) -> Result<u64, EvalError> {
    let bits = prim.canonical(value << count);
    let back = if prim.sign_extend(value) < 0 {
        prim.canonical((prim.sign_extend(bits) >> count) as u64)
    } else {
        bits >> count
    };
    if back == value || wrap { Ok(bits) } else { Err(EvalError::Overflow) }
}

#[inline]
fn unsigned(op: ArithOp, prim: Prim, a: u64, b: u64) -> Result<u64, EvalError> {
    let wide = match op {
        ArithOp::Add => a.wrapping_add(b),
        ArithOp::Sub => a.wrapping_sub(b),
        ArithOp::Mul => a.wrapping_mul(b),
        ArithOp::Div => a.checked_div(b).ok_or(EvalError::DivisionByZero)?,
        ArithOp::Rem => a.checked_rem(b).ok_or(EvalError::DivisionByZero)?,
        ArithOp::And => a & b,
        ArithOp::Or => a | b,
        ArithOp::Xor => a ^ b,
        ArithOp::Shl => a << shift_count(prim, b)?,
        ArithOp::Shr => a >> shift_count(prim, b)?,
    };
    Ok(prim.canonical(wide))
}

fn logical(op: ArithOp, a: u64, b: u64) -> Result<u64, EvalError> {
    match op {
        ArithOp::And => Ok(a & b),
        ArithOp::Or => Ok(a | b),
        ArithOp::Xor => Ok(a ^ b),
        _ => Err(EvalError::Unsupported),
    }
}

macro_rules! float_arith {
    ($name:ident, $float:ty) => {
        #[inline]
        fn $name(op: ArithOp, a: $float, b: $float) -> Result<$float, EvalError> {
            Ok(match op {
                ArithOp::Add => a + b,
                ArithOp::Sub => a - b,
                ArithOp::Mul => a * b,
                ArithOp::Div => a / b,
                ArithOp::Rem => a % b,
                _ => return Err(EvalError::Unsupported),
            })
        }
    };
}

// `f16` is computed in `f32` and rounded once more. That is the right result:
// `f32` has 24 bits, at least twice the 11 of `f16` and two more (Figueroa 1995),
// and `fmod` is exact.
float_arith!(arith_f32, f32);
float_arith!(arith_f64, f64);

/// `lhs op rhs` on values of type `prim`.
#[inline]
pub fn cmp(op: CmpOp, prim: Prim, lhs: u64, rhs: u64) -> bool {
    match prim {
        Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64 => {
            compare(op, prim.sign_extend(lhs), prim.sign_extend(rhs))
        }
        Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64 | Prim::Bool => compare(op, lhs, rhs),
        Prim::F16 => compare(op, f16_value(lhs), f16_value(rhs)),
        Prim::F32 => compare(op, f32_value(lhs), f32_value(rhs)),
        Prim::F64 => compare(op, f64::from_bits(lhs), f64::from_bits(rhs)),
    }
}

#[inline]
fn compare<T: PartialOrd>(op: CmpOp, a: T, b: T) -> bool {
    match op {
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
        CmpOp::Lt => a < b,
        CmpOp::Le => a <= b,
        CmpOp::Gt => a > b,
        CmpOp::Ge => a >= b,
    }
}

/// `value as to`, for a value of type `from`.
#[inline]
pub fn cast(from: Prim, to: Prim, value: u64) -> Result<u64, EvalError> {
    match (from.is_float(), to.is_float()) {
        // A NaN stays the one that it is.
        _ if from == to => Ok(value),
        _ if to == Prim::Bool => Ok(u64::from(cmp(CmpOp::Ne, from, value, 0))),
        (false, false) => Ok(to.canonical(from.sign_extend(value) as u64)),
        (false, true) => Ok(int_to_float(from, to, value)),
        (true, false) => float_to_int(float_value(from, value), to),
        (true, true) => Ok(float_from_value(to, float_value(from, value))),
    }
}

/// Rounds once: an integer of more than 24 bits, which `f32` does not hold, is
/// infinite as `f16` in any case.
fn int_to_float(from: Prim, to: Prim, value: u64) -> u64 {
    let (signed, unsigned) = (from.sign_extend(value), value);
    match to {
        Prim::F64 if from.is_signed() => f64_bits(signed as f64),
        Prim::F64 => f64_bits(unsigned as f64),
        Prim::F32 if from.is_signed() => f32_bits(signed as f32),
        Prim::F32 => f32_bits(unsigned as f32),
        _ if from.is_signed() => f16_bits(signed as f32),
        _ => f16_bits(unsigned as f32),
    }
}

fn float_to_int(value: f64, to: Prim) -> Result<u64, EvalError> {
    // Both limits are powers of two and so exact.
    let (low, high) = if to.is_signed() {
        (-2f64.powi(to.bits() as i32 - 1), 2f64.powi(to.bits() as i32 - 1))
    } else {
        (0.0, 2f64.powi(to.bits() as i32))
    };
    let whole = value.trunc();
    if !(low..high).contains(&whole) {
        return Err(EvalError::CastRange);
    }
    let bits = if to.is_signed() { whole as i64 as u64 } else { whole as u64 };
    Ok(to.canonical(bits))
}

/// The same bits as another type of the same size in memory.
pub fn bitcast(from: Prim, to: Prim, value: u64) -> Result<u64, EvalError> {
    if from.bytes() != to.bytes() || to.canonical(value) != value {
        return Err(EvalError::Unsupported);
    }
    Ok(value)
}

/// The value of a float of any precision.
#[inline]
pub fn float_value(prim: Prim, bits: u64) -> f64 {
    match prim {
        Prim::F16 => f64::from(f16_value(bits)),
        Prim::F32 => f64::from(f32_value(bits)),
        _ => f64::from_bits(bits),
    }
}

/// The bits of the float of type `prim` that is nearest to `value`.
#[inline]
pub fn float_from_value(prim: Prim, value: f64) -> u64 {
    match prim {
        Prim::F16 => f16_bits(to_f32_odd(value)),
        Prim::F32 => f32_bits(value as f32),
        _ => f64_bits(value),
    }
}

/// `value` as `f32`, rounded to odd: where it is not exact, the last bit is set.
/// Rounding that once more to `f16` gives what rounding `value` itself would give.
fn to_f32_odd(value: f64) -> f32 {
    let near = value as f32;
    let bits = near.to_bits();
    if f64::from(near) == value || !near.is_finite() || bits & 1 == 1 {
        return near;
    }
    let away = f64::from(near).abs() < value.abs();
    f32::from_bits(if away { bits + 1 } else { bits - 1 })
}

#[inline]
fn f16_value(bits: u64) -> f32 {
    f16::from_bits(bits as u16).to_f32()
}

#[inline]
fn f32_value(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

#[inline]
fn f16_bits(value: f32) -> u64 {
    let value = if value.is_nan() { f16::NAN } else { f16::from_f32(value) };
    u64::from(value.to_bits())
}

#[inline]
fn f32_bits(value: f32) -> u64 {
    u64::from(if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() })
}

#[inline]
fn f64_bits(value: f64) -> u64 {
    if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() }
}

#[cfg(test)]
mod tests;
