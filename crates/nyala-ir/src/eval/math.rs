//! The mathematical functions.
//!
//! Those that IEEE 754 defines are exact to the last bit. Sines, logarithms and
//! their like are what the machine's own library gives, as in compiled programs.

use super::{EvalError, f16_bits, f16_value, f32_bits, f32_value, f64_bits, float_from_value, float_value};
use crate::functions::{MathOp, NumberFn};
use crate::node::{ArithFlags, ArithOp, CmpOp};
use crate::types::Prim;

/// `op(args)` on values of type `prim`; there must be as many as the operator takes.
pub fn math(op: MathOp, prim: Prim, args: &[u64]) -> Result<u64, EvalError> {
    if args.len() != op.arity() {
        return Err(EvalError::Unsupported);
    }
    match prim {
        Prim::F16 | Prim::F32 | Prim::F64 => float(op, prim, args),
        Prim::Bool => Err(EvalError::Unsupported),
        _ => int(op, prim, args),
    }
}

fn int(op: MathOp, prim: Prim, args: &[u64]) -> Result<u64, EvalError> {
    let x = args[0];
    let unused = 64 - prim.bits();
    Ok(match op {
        MathOp::Popcount => u64::from(x.count_ones()),
        MathOp::Clz => u64::from(x.leading_zeros() - unused),
        MathOp::Ctz => u64::from(x.trailing_zeros().min(prim.bits())),
        MathOp::Pext => gather_bits(x, args[1]),
        MathOp::Pdep => scatter_bits(x, args[1]),
        _ => return Err(EvalError::Unsupported),
    })
}

/// The bits of `value` where `mask` has ones, moved together at the low end.
fn gather_bits(value: u64, mut mask: u64) -> u64 {
    let (mut result, mut at) = (0, 0);
    while mask != 0 {
        result |= (value >> mask.trailing_zeros() & 1) << at;
        at += 1;
        mask &= mask - 1;
    }
    result
}

/// The low bits of `value`, moved to where `mask` has ones.
fn scatter_bits(value: u64, mut mask: u64) -> u64 {
    let (mut result, mut at) = (0, 0);
    while mask != 0 {
        result |= (value >> at & 1) << mask.trailing_zeros();
        at += 1;
        mask &= mask - 1;
    }
    result
}

fn float(op: MathOp, prim: Prim, args: &[u64]) -> Result<u64, EvalError> {
    let sign = 1 << (prim.bits() - 1);
    let value = |i: usize| float_value(prim, args[i]);
    match op {
        // On bits, so that they hold for NaN.
        MathOp::Fabs => return Ok(args[0] & !sign),
        MathOp::Copysign => return Ok(args[0] & !sign | args[1] & sign),
        MathOp::Signbit => return Ok(u64::from(args[0] & sign != 0)),
        MathOp::IsNan => return Ok(u64::from(value(0).is_nan())),
        MathOp::IsFinite => return Ok(u64::from(value(0).is_finite())),
        MathOp::Fmin => return Ok(if is_less(value(1), value(0)) { args[1] } else { args[0] }),
        MathOp::Fmax => return Ok(if is_more(value(1), value(0)) { args[1] } else { args[0] }),
        MathOp::Fma | MathOp::Fmuladd => return Ok(fma(prim, args)),
        _ => {}
    }
    let second = args.get(1).copied().unwrap_or(0);
    match prim {
        Prim::F16 => real_f32(op, f16_value(args[0]), f16_value(second)).map(f16_bits),
        Prim::F32 => real_f32(op, f32_value(args[0]), f32_value(second)).map(f32_bits),
        _ => real_f64(op, f64::from_bits(args[0]), f64::from_bits(second)).map(f64_bits),
    }
}

/// Whether `a` is the smaller one, with -0 below 0 and numbers below NaN.
fn is_less(a: f64, b: f64) -> bool {
    a < b || (b.is_nan() && !a.is_nan()) || (a == b && a.is_sign_negative() && b.is_sign_positive())
}

/// Whether `a` is the larger one, with 0 above -0 and numbers above NaN.
fn is_more(a: f64, b: f64) -> bool {
    a > b || (b.is_nan() && !a.is_nan()) || (a == b && a.is_sign_positive() && b.is_sign_negative())
}

/// Rounded once. For `f16` the product is exact in `f64`; the sum is rounded to
/// odd, so that rounding it again does no harm.
fn fma(prim: Prim, args: &[u64]) -> u64 {
    let value = |i: usize| float_value(prim, args[i]);
    match prim {
        Prim::F16 => float_from_value(prim, add_odd(value(0) * value(1), value(2))),
        Prim::F32 => f32_bits(f32_value(args[0]).mul_add(f32_value(args[1]), f32_value(args[2]))),
        _ => f64_bits(value(0).mul_add(value(1), value(2))),
    }
}

/// `a + b`, rounded to odd.
fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Knuth's two-sum: the rounding error, exactly.
    let b_part = sum - a;
    let error = (a - (sum - b_part)) + (b - b_part);
    let bits = sum.to_bits();
    if !sum.is_finite() || error == 0.0 || bits & 1 == 1 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

macro_rules! real {
    ($name:ident, $float:ty, $erf:path, $erfc:path, $acosh:path, $asinh:path, $atanh:path) => {
        fn $name(op: MathOp, x: $float, y: $float) -> Result<$float, EvalError> {
            Ok(match op {
                MathOp::Round => x.round(),
                MathOp::RoundEven => x.round_ties_even(),
                MathOp::Trunc => x.trunc(),
                MathOp::Ceil => x.ceil(),
                MathOp::Floor => x.floor(),
                MathOp::Cos => x.cos(),
                MathOp::Sin => x.sin(),
                MathOp::Tan => x.tan(),
                MathOp::Acos => x.acos(),
                MathOp::Asin => x.asin(),
                MathOp::Atan => x.atan(),
                MathOp::Atan2 => x.atan2(y),
                MathOp::Sinh => x.sinh(),
                MathOp::Cosh => x.cosh(),
                MathOp::Tanh => x.tanh(),
                MathOp::Sqrt => x.sqrt(),
                MathOp::Rsqrt => 1.0 / x.sqrt(),
                MathOp::Cbrt => x.cbrt(),
                MathOp::Pow => x.powf(y),
                MathOp::Exp => x.exp(),
                MathOp::Exp2 => x.exp2(),
                MathOp::Log => x.ln(),
                MathOp::Log2 => x.log2(),
                MathOp::Log10 => x.log10(),
                MathOp::Erf => $erf(x),
                MathOp::Erfc => $erfc(x),
                MathOp::Expm1 => x.exp_m1(),
                MathOp::Log1p => x.ln_1p(),
                // `libm` gives numbers for some negative ones.
                MathOp::Acosh if x < 1.0 => <$float>::NAN,
                MathOp::Acosh => $acosh(x),
                MathOp::Asinh => $asinh(x),
                MathOp::Atanh => $atanh(x),
                MathOp::Hypot => x.hypot(y),
                // On bits of floats, of more values, or of integers: see `float` and `int`.
                MathOp::Fabs
                | MathOp::Copysign
                | MathOp::Signbit
                | MathOp::IsNan
                | MathOp::IsFinite
                | MathOp::Fmin
                | MathOp::Fmax
                | MathOp::Fma
                | MathOp::Fmuladd
                | MathOp::Popcount
                | MathOp::Clz
                | MathOp::Ctz
                | MathOp::Pext
                | MathOp::Pdep => return Err(EvalError::Unsupported),
            })
        }
    };
}

real!(real_f32, f32, libm::erff, libm::erfcf, libm::acoshf, libm::asinhf, libm::atanhf);
real!(real_f64, f64, libm::erf, libm::erfc, libm::acosh, libm::asinh, libm::atanh);

/// A function of numbers on values of type `prim`; there must be as many as it takes.
pub fn number(function: NumberFn, prim: Prim, args: &[u64]) -> Result<u64, EvalError> {
    let &[x, ref rest @ ..] = args else { return Err(EvalError::Unsupported) };
    let y = rest.first().copied().unwrap_or(0);
    if args.len() != function.info().arity {
        return Err(EvalError::Unsupported);
    }
    let choose = |op| if super::cmp(op, prim, x, y) { x } else { y };
    match function {
        NumberFn::Op(op) => math(op, prim, args),
        NumberFn::Fmod => super::arith(ArithOp::Rem, ArithFlags::STRICT, prim, x, y),
        NumberFn::IsInf if prim.is_float() => Ok(u64::from(float_value(prim, x).is_infinite())),
        NumberFn::Min => Ok(choose(CmpOp::Lt)),
        NumberFn::Max => Ok(choose(CmpOp::Gt)),
        NumberFn::FirstOne if x == 0 => Ok(0),
        NumberFn::FirstOne => Ok(u64::from(x.trailing_zeros()) + 1),
        NumberFn::ReverseBits if prim.is_int() => Ok(x.reverse_bits() >> (64 - prim.bits())),
        NumberFn::IsInf | NumberFn::ReverseBits => Err(EvalError::Unsupported),
        NumberFn::NativeExp => math(MathOp::Exp, prim, args),
        NumberFn::NativeLog => math(MathOp::Log, prim, args),
        NumberFn::NativeRsqrt => math(MathOp::Rsqrt, prim, args),
        NumberFn::NativeSqrt => math(MathOp::Sqrt, prim, args),
        NumberFn::Exp10
        | NumberFn::Cospi
        | NumberFn::Sinpi
        | NumberFn::Lgamma
        | NumberFn::Tgamma
        | NumberFn::Rcbrt
        | NumberFn::Rhypot
        | NumberFn::Fdim => match prim {
            Prim::F16 => library_f32(function, f16_value(x), f16_value(y)).map(f16_bits),
            Prim::F32 => library_f32(function, f32_value(x), f32_value(y)).map(f32_bits),
            Prim::F64 => library_f64(function, f64::from_bits(x), f64::from_bits(y)).map(f64_bits),
            _ => Err(EvalError::Unsupported),
        },
    }
}

macro_rules! library {
    ($name:ident, $float:ident, $exp10:path, $lgamma:path, $tgamma:path, $fdim:path) => {
        fn $name(function: NumberFn, x: $float, y: $float) -> Result<$float, EvalError> {
            // Quarters of a turn, and what is left of the angle in units of pi; both are exact.
            let turned = x % 2.0;
            let quarters = (2.0 * turned).round();
            let angle = (turned - 0.5 * quarters) * std::$float::consts::PI;
            let value = match (function, (quarters as i32).rem_euclid(4)) {
                (NumberFn::Exp10, _) => $exp10(x),
                (NumberFn::Cospi, 0) | (NumberFn::Sinpi, 1) => angle.cos(),
                (NumberFn::Cospi, 1) | (NumberFn::Sinpi, 2) => -angle.sin(),
                (NumberFn::Cospi, 2) | (NumberFn::Sinpi, 3) => -angle.cos(),
                (NumberFn::Cospi | NumberFn::Sinpi, _) => angle.sin(),
                (NumberFn::Lgamma, _) => $lgamma(x),
                (NumberFn::Tgamma, _) => $tgamma(x),
                (NumberFn::Rcbrt, _) => 1.0 / x.cbrt(),
                (NumberFn::Rhypot, _) => {
                    // The length may be too large where its reciprocal is not 0.
                    let scale = if x.abs().max(y.abs()) > 1.0 { 0.25 } else { 1.0 };
                    scale / (x * scale).hypot(y * scale)
                }
                (NumberFn::Fdim, _) => $fdim(x, y),
                _ => return Err(EvalError::Unsupported),
            };
            // Zeros of the sine have the sign of `x`, those of the cosine none.
            Ok(match function {
                NumberFn::Sinpi if value == 0.0 => value.copysign(x),
                NumberFn::Cospi if value == 0.0 => 0.0,
                _ => value,
            })
        }
    };
}

library!(library_f32, f32, libm::exp10f, libm::lgammaf, libm::tgammaf, libm::fdimf);
library!(library_f64, f64, libm::exp10, libm::lgamma, libm::tgamma, libm::fdim);
