//! How exact the kernels are: the largest error of each, in units of the last place, over
//! numbers of all sizes and over the ranges that programs use most, with and without fused
//! operations.
//!
//! Kernels for `f32` are compared with the C library's functions for `f64`; those for `f64` with
//! the C library's too, which are themselves within one unit. So the limit for them is 3.

use nyala_ir::{MathOp, Prim, eval};

use super::has_kernel;
use super::scalar::{Scalar, run};

const OPS: &[MathOp] = &[
    MathOp::Exp,
    MathOp::Exp2,
    MathOp::Sinh,
    MathOp::Cosh,
    MathOp::Tanh,
    MathOp::Log,
    MathOp::Log2,
    MathOp::Log10,
    MathOp::Sin,
    MathOp::Cos,
    MathOp::Tan,
    MathOp::Asin,
    MathOp::Acos,
    MathOp::Atan,
    MathOp::Atan2,
    MathOp::Cbrt,
    MathOp::Erf,
    MathOp::Pow,
];

/// How many numbers are tried in each range.
const N: u64 = if cfg!(debug_assertions) { 5_000 } else { 200_000 };

/// Numbers that are special in some way.
const SPECIAL: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    1e-40,
    -1e-40,
    1e-310,
    3e38,
    -3e38,
    1e300,
    -1e300,
    2147483648.0,
    16777217.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

#[test]
fn kernels_are_exact() {
    for &op in OPS {
        for prim in [Prim::F32, Prim::F64] {
            if !has_kernel(op, prim) {
                continue;
            }
            for is_fused in [true, false] {
                let machine = Scalar { is_relaxed: false, is_fused };
                let (error, at) = worst(&machine, op, prim, &arguments(op, prim));
                println!("{:6} {prim:?} fused: {is_fused:5} {error:.3} ulp at {at:?}", op.name());
                let limit = if prim == Prim::F32 { 4.0 } else { 3.0 };
                assert!(error <= limit, "{} of {prim:?} is off by {error} at {at:?}", op.name());
            }
        }
    }
}

#[test]
fn relaxed_kernels_are_exact_for_normal_numbers() {
    for &op in OPS {
        for prim in [Prim::F32, Prim::F64] {
            if !has_kernel(op, prim) {
                continue;
            }
            let machine = Scalar { is_relaxed: true, is_fused: true };
            let mut all = arguments(op, prim);
            all.retain(|args| {
                args.iter().all(|&x| is_normal(prim, x)) && is_normal(prim, reference(op, prim, args))
            });
            let (error, at) = worst(&machine, op, prim, &all);

            let limit = if prim == Prim::F32 { 4.0 } else { 3.0 };
            assert!(error <= limit, "{} of {prim:?} is off by {error} at {at:?}", op.name());
        }
    }
}

#[test]
fn relaxed_powers_of_zero_and_small_exponentials() {
    let machine = Scalar { is_relaxed: true, is_fused: true };
    let bits = |x: f32| u64::from(x.to_bits());
    let value = |op, args: &[f32]| {
        f32::from_bits(
            run(&machine, op, Prim::F32, &args.iter().copied().map(bits).collect::<Vec<_>>()) as u32
        )
    };
    assert_eq!(value(MathOp::Pow, &[0.0, 2.0]), 0.0);
    assert_eq!(value(MathOp::Pow, &[0.0, 0.0]), 1.0);
    assert_eq!(value(MathOp::Exp, &[-1000.0]), 0.0);
    assert_eq!(value(MathOp::Exp2, &[-1000.0]), 0.0);
}

fn is_normal(prim: Prim, x: f64) -> bool {
    match prim {
        Prim::F32 => x == 0.0 || (x as f32).is_normal() && x.abs() < 2e38,
        _ => x == 0.0 || x.is_normal() && x.abs() < 1e308,
    }
}

/// The largest error, and the arguments it is at.
fn worst(machine: &Scalar, op: MathOp, prim: Prim, all: &[Vec<f64>]) -> (f64, Vec<f64>) {
    let mut worst = (0.0, vec![]);
    for args in all {
        let bits: Vec<u64> = args.iter().map(|&x| eval::float_from_value(prim, x)).collect();
        let got = eval::float_value(prim, run(machine, op, prim, &bits));
        let error = error(prim, got, reference(op, prim, args));
        if error > worst.0 {
            worst = (error, args.clone());
        }
    }
    worst
}

/// The arguments that a function is tried with; all of them are of type `prim`.
fn arguments(op: MathOp, prim: Prim) -> Vec<Vec<f64>> {
    let rounded = |x: f64| if prim == Prim::F32 { f64::from(x as f32) } else { x };
    let mut all = vec![];
    if op.arity() == 1 {
        all.extend(SPECIAL.iter().map(|&x| vec![rounded(x)]));
        for (from, to) in ranges(op) {
            let at = |i: u64| from + (to - from) * (i as f64 / N as f64);
            all.extend((0..N).map(|i| vec![rounded(at(i))]));
        }
        all.extend((0..N).map(|i| vec![any_size(prim, i)]));
        return all;
    }
    for &x in SPECIAL {
        all.extend(SPECIAL.iter().map(|&y| vec![rounded(x), rounded(y)]));
    }
    let fraction = |i: u64, factor: f64| (i as f64 * factor).fract();
    for i in 0..N {
        let (a, b) = (fraction(i, 0.754_877_666_246_692_7), fraction(i, 0.569_840_290_998_053_2));
        all.push(vec![rounded(a * 10.0), rounded(b * 20.0 - 10.0)]);
        all.push(vec![rounded(a * 2.0 - 1.0), rounded(b * 60.0 - 30.0).round()]);
        all.push(vec![rounded(1.0 + (a - 0.5) * 1e-3), rounded((b - 0.5) * 1e5)]);
        all.push(vec![any_size(prim, i), any_size(prim, (i * 7919 + 13) % N)]);
    }
    all
}

/// Where a function is tried in small steps.
fn ranges(op: MathOp) -> Vec<(f64, f64)> {
    match op {
        MathOp::Exp | MathOp::Exp2 => vec![(-1.0, 1.0), (-110.0, 90.0), (-1090.0, 1030.0)],
        MathOp::Sin | MathOp::Cos | MathOp::Tan => vec![(-7.0, 7.0), (-500.0, 500.0), (-2e6, 2e6)],
        MathOp::Sinh | MathOp::Cosh | MathOp::Tanh => vec![(-2.0, 2.0), (-95.0, 95.0), (-720.0, 720.0)],
        MathOp::Asin | MathOp::Acos => vec![(-1.0, 1.0), (0.999, 1.0)],
        _ => vec![(0.0, 2.0), (0.99, 1.01), (-10.0, 10.0), (0.0, 1e6)],
    }
}

/// Numbers of all exponents and signs, also below the normal ones.
fn any_size(prim: Prim, i: u64) -> f64 {
    let bits = (i << 1 | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    match prim {
        Prim::F32 => f64::from(f32::from_bits((bits >> 32) as u32)),
        _ => f64::from_bits(bits),
    }
}

/// What a function gives, as exactly as `f64` can tell.
fn reference(op: MathOp, prim: Prim, args: &[f64]) -> f64 {
    let bits: Vec<u64> = args.iter().map(|x| x.to_bits()).collect();
    let value = match op {
        MathOp::Cbrt => libm::cbrt(args[0]),
        MathOp::Sinh => libm::sinh(args[0]),
        MathOp::Cosh => libm::cosh(args[0]),
        MathOp::Tanh if args[0].abs() < 1.0 => small_tanh(args[0]),
        MathOp::Tanh => libm::tanh(args[0]),
        _ => f64::from_bits(eval::math(op, Prim::F64, &bits).expect("the function exists for floats")),
    };
    // Some values have no `f32`, as infinity has none.
    if prim == Prim::F32 && (value as f32).is_infinite() { f64::from(value as f32) } else { value }
}

/// The hyperbolic tangent for `|x| < 1`, with twice the digits until the end: the C library's is off by
/// up to two units there.
fn small_tanh(x: f64) -> f64 {
    let times = |(a, b): (f64, f64), c: f64| {
        let product = a * c;
        (product, a.mul_add(c, -product) + b * c)
    };
    let over = |(a, b): (f64, f64), c: f64| {
        let quotient = a / c;
        (quotient, (-quotient).mul_add(c, a) / c + b / c)
    };
    let plus = |(a, b): (f64, f64), (c, d): (f64, f64)| {
        let sum = a + c;
        (sum, c - (sum - a) + b + d)
    };
    let (mut sinh, mut cosh, mut term) = ((x, 0.0), (1.0, 0.0), (x, 0.0));
    for n in 1..=13 {
        let even = over(times(term, x), f64::from(2 * n));
        cosh = plus(cosh, even);
        term = over(times(even, x), f64::from(2 * n + 1));
        sinh = plus(sinh, term);
    }
    let quotient = sinh.0 / cosh.0;
    let rest = (-quotient).mul_add(cosh.0, sinh.0) + sinh.1 - quotient * cosh.1;
    if x == 0.0 { x } else { quotient + rest / cosh.0 }
}

/// The distance in units of the last place.
fn error(prim: Prim, got: f64, expected: f64) -> f64 {
    if got.is_nan() || expected.is_nan() {
        return if got.is_nan() && expected.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == expected {
        let signs = got.is_sign_negative() == expected.is_sign_negative();
        return if signs { 0.0 } else { f64::INFINITY };
    }
    if got.is_infinite() || expected.is_infinite() {
        return f64::INFINITY;
    }
    (got - expected).abs() / unit(prim, expected)
}

fn unit(prim: Prim, x: f64) -> f64 {
    let (digits, least) = if prim == Prim::F32 { (23, -149) } else { (52, -1074) };
    let exponent = if x == 0.0 { least } else { x.abs().log2().floor() as i32 - digits };
    // Powers below the normal ones are made in two steps.
    let exponent = exponent.max(least);
    2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
}
