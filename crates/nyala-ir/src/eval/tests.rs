//! The meaning of operators, by example and against wider arithmetic.

use super::*;
use crate::node::MathOp;

const STRICT: ArithFlags = ArithFlags::STRICT;
const WRAP: ArithFlags = ArithFlags::WRAP;

fn bits(prim: Prim, value: i128) -> u64 {
    prim.canonical(value as u64)
}

fn value(prim: Prim, bits: u64) -> i128 {
    if prim.is_signed() { i128::from(prim.sign_extend(bits)) } else { i128::from(bits) }
}

/// The exact result of an operator, before it is fitted into its type.
fn exact(op: ArithOp, width: u32, a: i128, b: i128) -> Result<i128, EvalError> {
    Ok(match op {
        ArithOp::Add => a + b,
        ArithOp::Sub => a - b,
        ArithOp::Mul => a * b,
        ArithOp::Div => a.checked_div(b).ok_or(EvalError::DivisionByZero)?,
        ArithOp::Rem => a.checked_rem(b).ok_or(EvalError::DivisionByZero)?,
        ArithOp::And => a & b,
        ArithOp::Or => a | b,
        ArithOp::Xor => a ^ b,
        ArithOp::Shl | ArithOp::Shr if !(0..i128::from(width)).contains(&b) => {
            return Err(EvalError::ShiftRange);
        }
        ArithOp::Shl => a << b,
        ArithOp::Shr => a >> b,
    })
}

#[test]
fn integer_operators_are_exact_arithmetic_modulo_the_type() {
    for prim in [Prim::I8, Prim::U8] {
        for (a, b) in (0..256).flat_map(|a| (0..256).map(move |b| (a, b))) {
            for op in ArithOp::ALL {
                let (x, y) = (value(prim, a), value(prim, b));
                let exact = match op {
                    ArithOp::Div | ArithOp::Rem if (x, y) == (-128, -1) => Err(EvalError::Overflow),
                    _ => exact(op, 8, x, y),
                };
                let strict = exact.and_then(|exact| {
                    let fits = value(prim, bits(prim, exact)) == exact;
                    let into_sign = op == ArithOp::Shl && (0..256).contains(&exact);
                    let is_defined = fits || into_sign || !prim.is_signed();
                    if is_defined { Ok(bits(prim, exact)) } else { Err(EvalError::Overflow) }
                });
                let wrapped = exact.map(|exact| bits(prim, exact));
                assert_eq!(arith(op, STRICT, prim, a, b), strict, "{op:?} {prim} {x} {y}");
                assert_eq!(arith(op, WRAP, prim, a, b), wrapped, "{op:?} {prim} {x} {y}");
            }
        }
    }
}

#[test]
fn wide_integers_overflow_at_their_limits() {
    let (min, max) = (i64::MIN as u64, i64::MAX as u64);
    assert_eq!(arith(ArithOp::Add, STRICT, Prim::I64, max, 1), Err(EvalError::Overflow));
    assert_eq!(arith(ArithOp::Add, WRAP, Prim::I64, max, 1), Ok(min));
    assert_eq!(arith(ArithOp::Mul, STRICT, Prim::I64, min, u64::MAX), Err(EvalError::Overflow));
    assert_eq!(arith(ArithOp::Div, WRAP, Prim::I64, min, u64::MAX), Err(EvalError::Overflow));
    assert_eq!(arith(ArithOp::Rem, STRICT, Prim::I32, 0x8000_0000, 0xffff_ffff), Err(EvalError::Overflow));
    assert_eq!(arith(ArithOp::Shl, STRICT, Prim::I32, 1, 31), Ok(0x8000_0000));
    assert_eq!(arith(ArithOp::Shl, STRICT, Prim::I32, 2, 31), Err(EvalError::Overflow));
    assert_eq!(arith(ArithOp::Shl, STRICT, Prim::I32, 0xffff_ffff, 31), Ok(0x8000_0000));
    assert_eq!(arith(ArithOp::Shl, WRAP, Prim::I32, 1, 32), Err(EvalError::ShiftRange));
    assert_eq!(arith(ArithOp::Shr, STRICT, Prim::I32, 1, 0xffff_ffff), Err(EvalError::ShiftRange));
    assert_eq!(arith(ArithOp::Sub, STRICT, Prim::U32, 0, 1), Ok(0xffff_ffff));
}

#[test]
fn floats_are_ieee() {
    let f = |value: f32| u64::from(value.to_bits());
    assert_eq!(arith(ArithOp::Div, STRICT, Prim::F32, f(1.0), f(0.0)), Ok(f(f32::INFINITY)));
    assert_eq!(arith(ArithOp::Div, STRICT, Prim::F32, f(0.0), f(0.0)), Ok(0x7fc0_0000));
    assert_eq!(arith(ArithOp::Rem, STRICT, Prim::F32, f(-5.5), f(2.0)), Ok(f(-1.5)));
    assert_eq!(arith(ArithOp::And, STRICT, Prim::F32, 0, 0), Err(EvalError::Unsupported));
    assert_eq!(arith(ArithOp::Sub, STRICT, Prim::F32, f(-0.0), f(0.0)), Ok(f(-0.0)));
    for op in CmpOp::ALL {
        assert_eq!(cmp(op, Prim::F32, f(f32::NAN), f(f32::NAN)), op == CmpOp::Ne);
    }
    assert!(cmp(CmpOp::Eq, Prim::F64, 0, 1 << 63));
}

#[test]
fn comparisons_respect_signs() {
    assert!(cmp(CmpOp::Lt, Prim::I8, 0xff, 0));
    assert!(cmp(CmpOp::Gt, Prim::U8, 0xff, 0));
    assert!(cmp(CmpOp::Lt, Prim::Bool, 0, 1));
}

#[test]
fn casts_extend_truncate_and_round() {
    let f = |value: f32| u64::from(value.to_bits());
    assert_eq!(cast(Prim::I8, Prim::U32, 0xff), Ok(0xffff_ffff));
    assert_eq!(cast(Prim::U8, Prim::I32, 0xff), Ok(0xff));
    assert_eq!(cast(Prim::I64, Prim::I8, 0x1ff), Ok(0xff));
    assert_eq!(cast(Prim::Bool, Prim::I32, 1), Ok(1));
    assert_eq!(cast(Prim::I32, Prim::Bool, 2), Ok(1));
    assert_eq!(cast(Prim::F32, Prim::Bool, f(-0.0)), Ok(0));
    assert_eq!(cast(Prim::F32, Prim::U8, f(-0.9)), Ok(0));
    assert_eq!(cast(Prim::F32, Prim::U8, f(-1.0)), Err(EvalError::CastRange));
    assert_eq!(cast(Prim::F32, Prim::U8, f(255.9)), Ok(255));
    assert_eq!(cast(Prim::F32, Prim::I8, f(-128.9)), Ok(0x80));
    assert_eq!(cast(Prim::F64, Prim::I64, 9.3e18f64.to_bits()), Err(EvalError::CastRange));
    assert_eq!(cast(Prim::F32, Prim::I32, f(f32::NAN)), Err(EvalError::CastRange));
    assert_eq!(cast(Prim::U64, Prim::F32, u64::MAX), Ok(f(18446744073709551615.0)));
    assert_eq!(cast(Prim::I64, Prim::F16, u64::MAX), Ok(0xbc00));
    assert_eq!(bitcast(Prim::F32, Prim::I32, f(1.0)), Ok(0x3f80_0000));
    assert_eq!(bitcast(Prim::U8, Prim::Bool, 2), Err(EvalError::Unsupported));
}

#[test]
fn half_floats_are_rounded_once() {
    for bits in (0..=0xffffu64).filter(|&bits| f16_value(bits).is_finite()) {
        let value = float_value(Prim::F16, bits);
        assert_eq!(float_from_value(Prim::F16, value), bits);
        let next = float_value(Prim::F16, bits + 1);
        if !next.is_finite() || value.is_sign_negative() {
            continue;
        }
        // A tie goes to the even neighbour; the smallest difference decides.
        let middle = (value + next) / 2.0;
        assert_eq!(float_from_value(Prim::F16, middle), bits + (bits & 1));
        assert_eq!(float_from_value(Prim::F16, middle.next_up()), bits + 1);
        assert_eq!(float_from_value(Prim::F16, middle.next_down()), bits);
    }
}

#[test]
fn math_functions_on_special_values() {
    let f = |value: f64| value.to_bits();
    let eval = |op, args: &[f64]| {
        let args: Vec<u64> = args.iter().map(|arg| arg.to_bits()).collect();
        math(op, Prim::F64, &args).unwrap()
    };
    assert_eq!(eval(MathOp::Fmin, &[f64::NAN, 1.0]), f(1.0));
    assert_eq!(eval(MathOp::Fmax, &[1.0, f64::NAN]), f(1.0));
    assert_eq!(eval(MathOp::Fmin, &[0.0, -0.0]), f(-0.0));
    assert_eq!(eval(MathOp::Fmax, &[-0.0, 0.0]), f(0.0));
    assert_eq!(eval(MathOp::Round, &[2.5]), f(3.0));
    assert_eq!(eval(MathOp::RoundEven, &[2.5]), f(2.0));
    assert_eq!(eval(MathOp::Copysign, &[2.5, -0.0]), f(-2.5));
    assert_eq!(eval(MathOp::Signbit, &[-0.0]), 1);
    assert_eq!(eval(MathOp::IsFinite, &[f64::INFINITY]), 0);
    assert_eq!(eval(MathOp::Erf, &[0.0]), f(0.0));
    assert_eq!(
        eval(MathOp::Fma, &[1.0 + f64::EPSILON, 1.0 + f64::EPSILON, -1.0 - 2.0 * f64::EPSILON]),
        f(2f64.powi(-104))
    );
    assert_eq!(math(MathOp::Popcount, Prim::F32, &[0]), Err(EvalError::Unsupported));
    assert_eq!(math(MathOp::Sin, Prim::I32, &[0]), Err(EvalError::Unsupported));
    assert_eq!(math(MathOp::Fma, Prim::F32, &[0]), Err(EvalError::Unsupported));
}

#[test]
fn bit_functions_respect_the_width() {
    let eval = |op, prim, args: &[u64]| math(op, prim, args).unwrap();
    assert_eq!(eval(MathOp::Clz, Prim::U8, &[1]), 7);
    assert_eq!(eval(MathOp::Clz, Prim::I32, &[0]), 32);
    assert_eq!(eval(MathOp::Ctz, Prim::U16, &[0]), 16);
    assert_eq!(eval(MathOp::Ctz, Prim::U64, &[8]), 3);
    assert_eq!(eval(MathOp::Popcount, Prim::I8, &[0xff]), 8);
    assert_eq!(eval(MathOp::Pext, Prim::U32, &[0b1011_0010, 0b1111_0000]), 0b1011);
    assert_eq!(eval(MathOp::Pdep, Prim::U32, &[0b1011, 0b1111_0000]), 0b1011_0000);
}

#[test]
fn half_fma_is_rounded_once() {
    // 1 * 1 + 2^-11 lies half way; a product slightly above decides it upward.
    let (one, tie) = (0x3c00, float_from_value(Prim::F16, 2f64.powi(-11)));
    assert_eq!(math(MathOp::Fma, Prim::F16, &[one, one, tie]), Ok(one));
    let (up, half_tie) = (one + 1, float_from_value(Prim::F16, 2f64.powi(-11)));
    assert_eq!(math(MathOp::Fma, Prim::F16, &[half_tie, up, one]), Ok(one + 1));
}
