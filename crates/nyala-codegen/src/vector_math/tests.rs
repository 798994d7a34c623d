//! How exact the kernels are: the largest error of each, in units of the last place, over
//! numbers of all sizes and over the ranges that programs use most, with and without fused
//! operations.
//!
//! Kernels for `f32` are compared with the C library's functions for `f64`, and must be within 2 units, or 2.3 if they
//! are relaxed; those for `f64` with the C library's too, which are themselves within one unit, so that the limit for
//! them is 3. The C library's `erfc` is less exact: see [`erfc_has_the_digits_of_a_longer_computation`].

use std::cell::Cell;

use nyala_ir::functions::NumberFn;
use nyala_ir::{MathOp, Prim, eval};

use super::scalar::{Fusion, Scalar, run};
use super::value::{Float, Kind, Level, Machine, Op, Table, Value};
use super::{has_kernel, kernel};

/// All functions with a kernel, for each type.
fn kernels() -> impl Iterator<Item = (NumberFn, Prim)> {
    let pairs = NumberFn::all().flat_map(|function| [Prim::F32, Prim::F64].map(|prim| (function, prim)));
    pairs.filter(|&(function, prim)| has_kernel(function, prim))
}

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
    for (function, prim) in kernels() {
        let all = arguments(function, prim);
        for fusion in Fusion::ALL {
            check(&Scalar::new(false, fusion), function, prim, &all);
        }
    }
}

#[test]
fn relaxed_kernels_are_exact_for_normal_numbers() {
    for (function, prim) in kernels() {
        let mut all = arguments(function, prim);
        all.retain(|args| {
            args.iter().all(|&x| is_normal(prim, x)) && is_normal(prim, reference(function, prim, args))
        });
        for fusion in [Fusion::Usual, Fusion::Always, Fusion::WithExponents] {
            check(&Scalar::new(true, fusion), function, prim, &all);
        }
    }
}

#[test]
fn sines_that_share_their_angle_with_cosines_are_exact() {
    for (op, prim) in [MathOp::Sin, MathOp::Cos].into_iter().flat_map(|op| [(op, Prim::F32), (op, Prim::F64)])
    {
        let all = arguments(NumberFn::Op(op), prim);
        for fusion in Fusion::ALL {
            let machine = Scalar { shares_angle: true, ..Scalar::new(false, fusion) };
            check(&machine, NumberFn::Op(op), prim, &all);
        }
    }
}

/// Compares with the reference.
fn check(machine: &Scalar, function: NumberFn, prim: Prim, all: &[Vec<f64>]) {
    let (error, at) = worst(machine, function, prim, all);
    let name = function.info().name;
    println!("{name:6} {prim} {:6} {error:.3} ulp at {at:?}", format!("{:?}", machine.fusion));
    let limit = match (function, prim) {
        (_, Prim::F32) if machine.is_relaxed => 2.3,
        (_, Prim::F32) => 2.0,
        (NumberFn::Op(MathOp::Erfc), _) => 6.0,
        _ => 3.0,
    };
    assert!(error <= limit, "{name} of {prim} is off by {error} at {at:?}, {:?}", machine.fusion);
}

/// Of a computation with 90 digits.
#[test]
fn erfc_has_the_digits_of_a_longer_computation() {
    let values = [
        (-3.0, 1.9999779095030015),
        (-0.7, 1.6778011938374184),
        (0.1, 0.887537083981715),
        (0.5002, 0.47932438324798937),
        (0.82084, 0.24570572791897102),
        (0.9398, 0.18382226866146972),
        (0.9999, 0.15734072195124052),
        (1.0951, 0.12145258593456143),
        (1.09944, 0.1199834751006509),
        (2.0625, 0.003536249125209789),
        (3.7439999999999998, 1.191365825820768e-07),
        (5.5, 7.357847917974398e-15),
        (7.9184, 4.155919634186402e-29),
        (10.3, 4.5947618530992265e-48),
        (14.77, 6.893727893153179e-97),
        (19.31, 3.3653458937914805e-164),
        (23.9, 1.9920343821738593e-250),
        (26.5, 2.2109076642637343e-307),
    ];
    for (x, expected) in values {
        for fusion in Fusion::ALL {
            let machine = Scalar::new(false, fusion);
            let got = run(&machine, NumberFn::Op(MathOp::Erfc), Prim::F64, &[f64::to_bits(x)]);
            let error = error(Prim::F64, f64::from_bits(got), expected);
            assert!(error <= 3.0, "{error} at {x}");
        }
    }
}

/// The `f64` that is nearest to a multiple of pi/2. Some C libraries lose three digits of it.
#[test]
fn the_nearest_number_to_a_zero_of_the_cosine_has_all_digits() {
    let x = 6_381_956_970_095_103.0 * 2f64.powi(797);
    for fusion in Fusion::ALL {
        let machine = Scalar::new(false, fusion);
        let cosine = run(&machine, NumberFn::Op(MathOp::Cos), Prim::F64, &[x.to_bits()]);
        assert!(error(Prim::F64, f64::from_bits(cosine), -4.687_165_924_254_628e-19) <= 1.0);
    }
}

/// Every exponent of a large number, and neighbours of multiples of pi/2, where most digits cancel.
#[test]
fn sines_of_large_numbers_are_exact() {
    let multiples = (0..2_000).map(|i| (1e6 + f64::from(i) * 977.0).round() * std::f64::consts::FRAC_PI_2);
    let powers = (20..1024).flat_map(|exponent| [1.0, 1.25, 1.8].map(|m| m * 2f64.powi(exponent)));
    let all: Vec<Vec<f64>> = multiples.chain(powers).map(|x| vec![x]).collect();
    for op in [MathOp::Sin, MathOp::Cos, MathOp::Tan] {
        for fusion in Fusion::ALL {
            check(&Scalar::new(false, fusion), NumberFn::Op(op), Prim::F64, &all);
        }
    }
}

/// The last number with a finite result, and the first without.
#[test]
fn exponentials_end_where_results_are_infinite() {
    let last: [(MathOp, Prim, f64); 4] = [
        (MathOp::Exp, Prim::F32, 88.72283172607422),
        (MathOp::Exp, Prim::F64, 709.782712893384),
        (MathOp::Exp2, Prim::F32, 127.99999237060547),
        (MathOp::Exp2, Prim::F64, 1023.9999999999999),
    ];
    for (op, prim, x) in last {
        let next = match prim {
            Prim::F32 => f64::from((x as f32).next_up()),
            _ => x.next_up(),
        };
        for fusion in Fusion::ALL {
            check(&Scalar::new(false, fusion), NumberFn::Op(op), prim, &[vec![x], vec![next]]);
        }
        assert!(next > x && reference(NumberFn::Op(op), prim, &[x]) < f64::INFINITY);
    }
}

/// Every exponent of a large `f32`, and neighbours of multiples of pi/2.
#[test]
fn sines_of_large_single_numbers_are_exact() {
    let multiples = (0..20_000).map(|i| (1e3 + f64::from(i) * 977.0).round() * std::f64::consts::FRAC_PI_2);
    let powers = (8..128).flat_map(|exponent| [1.0, 1.25, 1.8].map(|m| m * 2f64.powi(exponent)));
    // The nearest one to a multiple of pi/2.
    let nearest = 16_367_173.0 * 2f64.powi(72);
    let all = multiples.chain(powers).chain([nearest]);
    let all: Vec<Vec<f64>> = all.map(|x| vec![f64::from(x as f32)]).collect();
    for op in [MathOp::Sin, MathOp::Cos, MathOp::Tan] {
        for fusion in [Fusion::Never, Fusion::Always] {
            check(&Scalar::new(false, fusion), NumberFn::Op(op), Prim::F32, &all);
        }
    }
}

#[test]
fn relaxed_powers_of_zero_and_small_exponentials() {
    let machine = Scalar::new(true, Fusion::Usual);
    let bits = |x: f32| u64::from(x.to_bits());
    let value = |op, args: &[f32]| {
        f32::from_bits(run(
            &machine,
            NumberFn::Op(op),
            Prim::F32,
            &args.iter().copied().map(bits).collect::<Vec<_>>(),
        ) as u32)
    };
    assert_eq!(value(MathOp::Pow, &[0.0, 2.0]), 0.0);
    assert_eq!(value(MathOp::Pow, &[0.0, 0.0]), 1.0);
    assert_eq!(value(MathOp::Exp, &[-1000.0]), 0.0);
    assert_eq!(value(MathOp::Exp2, &[-1000.0]), 0.0);
}

/// A machine that notes whether an operation gave a number below the normal ones.
struct Watched {
    machine: Scalar,
    saw_subnormal: Cell<bool>,
}

impl Machine for Watched {
    fn is_relaxed(&self) -> bool {
        self.machine.is_relaxed()
    }

    fn level(&self) -> Level {
        self.machine.level()
    }

    fn shares_angle(&self) -> bool {
        self.machine.shares_angle()
    }

    fn constant(&self, of: Kind, bits: u64) -> Value {
        self.machine.constant(of, bits)
    }

    fn compute(&self, op: Op, prim: Prim, args: &[Value]) -> Value {
        let value = self.machine.compute(op, prim, args);
        if matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::MulAdd) {
            let is_subnormal = match prim {
                Prim::F32 => f32::from_bits(value.0 as u32).is_subnormal(),
                _ => f64::from_bits(value.0).is_subnormal(),
            };
            self.saw_subnormal.set(self.saw_subnormal.get() || is_subnormal);
        }
        value
    }

    fn lookup(&self, table: &'static Table, index: Value) -> Value {
        self.machine.lookup(table, index)
    }

    fn rarely(&self, rare: Value, usual: Value, op: MathOp, prim: Prim, args: &[Value]) -> Value {
        self.machine.rarely(rare, usual, op, prim, args)
    }
}

/// Processors may need a hundred cycles for an operation that gives such a number.
#[test]
fn small_exponentials_are_computed_with_normal_numbers() {
    for (op, prim, lowest) in [
        (MathOp::Exp, Prim::F32, -120.0),
        (MathOp::Exp2, Prim::F32, -170.0),
        (MathOp::Exp, Prim::F64, -760.0),
        (MathOp::Exp2, Prim::F64, -1090.0),
    ] {
        for i in 0..2_000 {
            // The smallest arguments have results of 0, those near a quarter of the range normal ones.
            let x = lowest * (1.0 - f64::from(i) / 8_000.0);
            let machine = Scalar::new(false, Fusion::Never);
            let machine = Watched { machine, saw_subnormal: Cell::new(false) };
            let x = Float::new(&machine, prim, Value(eval::float_from_value(prim, x)));
            kernel(NumberFn::Op(op), &[x]);
            assert!(!machine.saw_subnormal.get(), "{op:?} of {prim} at step {i}");
        }
    }
}

fn is_normal(prim: Prim, x: f64) -> bool {
    match prim {
        Prim::F32 => x == 0.0 || (x as f32).is_normal() && x.abs() < 2e38,
        _ => x == 0.0 || x.is_normal() && x.abs() < 1e308,
    }
}

/// The largest error, and the arguments it is at.
fn worst(machine: &Scalar, function: NumberFn, prim: Prim, all: &[Vec<f64>]) -> (f64, Vec<f64>) {
    let mut worst = (0.0, vec![]);
    for args in all {
        let bits: Vec<u64> = args.iter().map(|&x| eval::float_from_value(prim, x)).collect();
        let got = eval::float_value(prim, run(machine, function, prim, &bits));
        let error = error(prim, got, reference(function, prim, args));
        if error > worst.0 {
            worst = (error, args.clone());
        }
    }
    worst
}

/// The arguments that a function is tried with; all of them are of type `prim`.
fn arguments(function: NumberFn, prim: Prim) -> Vec<Vec<f64>> {
    let rounded = |x: f64| if prim == Prim::F32 { f64::from(x as f32) } else { x };
    let mut all = vec![];
    if function.info().arity == 1 {
        all.extend(SPECIAL.iter().map(|&x| vec![rounded(x)]));
        for (from, to) in ranges(function) {
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
fn ranges(function: NumberFn) -> Vec<(f64, f64)> {
    let op = match function {
        NumberFn::Op(op) => op,
        NumberFn::Exp10 => return vec![(-1.0, 1.0), (-46.0, 39.0), (-325.0, 309.0)],
        NumberFn::Sinpi | NumberFn::Cospi => return vec![(-2.0, 2.0), (-500.0, 500.0), (-1e8, 1e8)],
        _ => return vec![(0.0, 2.0), (-10.0, 10.0), (0.0, 1e6)],
    };
    match op {
        MathOp::Exp | MathOp::Exp2 => vec![(-1.0, 1.0), (-110.0, 90.0), (-1090.0, 1030.0)],
        MathOp::Expm1 => vec![(-0.5, 0.5), (-2.0, 2.0), (-50.0, 90.0), (-50.0, 720.0)],
        MathOp::Log1p => vec![(-0.5, 0.5), (-1.0, 2.0), (-1e-5, 1e-5), (0.0, 1e6)],
        MathOp::Sin | MathOp::Cos | MathOp::Tan => vec![(-7.0, 7.0), (-500.0, 500.0), (-2e6, 2e6)],
        MathOp::Sinh | MathOp::Cosh | MathOp::Tanh => vec![(-2.0, 2.0), (-95.0, 95.0), (-720.0, 720.0)],
        MathOp::Asin | MathOp::Acos => vec![(-1.0, 1.0), (0.999, 1.0)],
        MathOp::Atanh => vec![(-1.0, 1.0), (-1e-3, 1e-3), (0.999, 1.0)],
        MathOp::Erfc => vec![(-6.0, 6.0), (0.4, 1.1), (0.0, 11.0), (0.0, 28.0)],
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
fn reference(function: NumberFn, prim: Prim, args: &[f64]) -> f64 {
    let bits: Vec<u64> = args.iter().map(|x| x.to_bits()).collect();
    let value = match function {
        NumberFn::Op(MathOp::Cbrt) => libm::cbrt(args[0]),
        NumberFn::Op(MathOp::Sinh) => libm::sinh(args[0]),
        NumberFn::Op(MathOp::Cosh) => libm::cosh(args[0]),
        NumberFn::Op(MathOp::Tanh) if args[0].abs() < 1.0 => small_tanh(args[0]),
        NumberFn::Op(MathOp::Tanh) => libm::tanh(args[0]),
        _ => f64::from_bits(eval::number(function, Prim::F64, &bits).expect("it exists for floats")),
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
