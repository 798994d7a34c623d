//! Angles from their sines, cosines and tangents.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use super::value::{Float, Int, Mask};

/// `(asin x - x) / x^3` as a function of `x^2`, for `|x| <= 9/16` and `|x| <= 1/2`.
const ASIN_SINGLE: &[f64] = &[
    0.16666631400585175,
    0.0750211775302887,
    0.04422960802912712,
    0.034026093780994415,
    0.0067001269198954105,
    0.04752839729189873,
];
const ASIN_DOUBLE: &[f64] = &[
    0.16666666666665375,
    0.07500000000344836,
    0.0446428568219477,
    0.030381959396520202,
    0.0223717519159916,
    0.017359795929745084,
    0.01388434790769278,
    0.01217495780440492,
    0.006503456665440265,
    0.019594508080037217,
    -0.016326945075740666,
    0.0319818564202554,
];

/// `(atan t - t) / t^3` as a function of `t^2`, for `|t| <= 1` and `|t| <= tan(pi/8)`.
const ATAN_SINGLE: &[f64] = &[
    -0.33333298563957214,
    0.1999852955341339,
    -0.14264015853405,
    0.10950932651758194,
    -0.08399812132120132,
    0.05789956822991371,
    -0.03112795203924179,
    0.0108938692137599,
    -0.0017906817374750972,
];
const ATAN_DOUBLE: &[f64] = &[
    -0.333333333333332,
    0.19999999999953597,
    -0.14285714280196923,
    0.1111111078344321,
    -0.09090897755996732,
    0.07692060158253222,
    -0.06663103076562682,
    0.05847879645020337,
    -0.05039249045482374,
    0.03806283394649699,
    -0.017904976751081055,
];

const TAN_PI_8: f64 = std::f64::consts::SQRT_2 - 1.0;

/// What pi loses by rounding to `f32`, as a fraction of the rounded number.
const PI_REST_SINGLE: f64 = (PI - PI as f32 as f64) / (PI as f32 as f64);

pub(super) fn asin<'m>(x: Float<'m>) -> Float<'m> {
    let (is_small, angle) = small_asin(x.abs());
    let large = minus(FRAC_PI_2, angle * 2.0);
    is_small.select(angle, large).flip(x.sign())
}

pub(super) fn acos<'m>(x: Float<'m>) -> Float<'m> {
    let (is_small, angle) = small_asin(x.abs());
    let small = minus(FRAC_PI_2, angle.flip(x.sign()));
    let large = angle * 2.0;
    let large = x.less(0.0).select(minus(PI, large), large);
    is_small.select(small, large)
}

/// For small positive arguments the arc sine, and for larger ones the half of the arc
/// cosine, which is the arc sine of the root of `(1 - x) / 2`.
fn small_asin<'m>(x: Float<'m>) -> (Mask<'m>, Float<'m>) {
    let is_small = x.less(x.by_type(0.5625, 0.5));
    let half = (x.constant(1.0) - x) * 0.5;
    let z = is_small.select(x * x, half);
    let s = is_small.select(x, half.sqrt());
    let tail = z.polynomial(x.by_type(ASIN_SINGLE, ASIN_DOUBLE));
    (is_small, (s * z).mul_add(tail, s))
}

pub(super) fn atan<'m>(x: Float<'m>) -> Float<'m> {
    let size = x.abs();
    let (zero, one) = (size.constant(0.0), size.constant(1.0));
    let is_large = one.less(size);
    let begin = is_large.select(FRAC_PI_2, zero);
    let angle = match x.by_type(true, false) {
        true => angle_single(begin, is_large.select(size.constant(-1.0) / size, size)),
        false => angle_double(Octant {
            small: is_large.select(one, size),
            large: is_large.select(size, one),
            begin,
            middle: size.constant(FRAC_PI_4),
            direction: is_large.select(-0.0, zero).bits(),
        }),
    };
    angle.flip(x.sign())
}

pub(super) fn atan2<'m>(y: Float<'m>, x: Float<'m>) -> Float<'m> {
    let (height, width) = (y.abs(), x.abs());
    let is_steep = width.less(height);
    let (small, large) = (is_steep.select(width, height), is_steep.select(height, width));
    let (small, large) = comparable(small, large);
    // As -0 has a sign, it is not compared with 0.
    let is_left = !x.sign().equals(0);
    let constant = |number: f64| x.constant(number);
    let begin = is_steep.select(FRAC_PI_2, is_left.select(PI, constant(0.0)));
    let direction = is_steep.select(-0.0, constant(0.0)).bits() ^ x.sign();
    let angle = match x.by_type(true, false) {
        true => angle_single(begin, (small / large).flip(direction)),
        false => {
            let middle = is_left.select(3.0 * FRAC_PI_4, constant(FRAC_PI_4));
            angle_double(Octant { small, large, begin, middle, direction })
        }
    };
    angle.flip(y.sign())
}

/// Numbers with a quotient and a sum and the same angle, for positive ones of which the second is not smaller.
fn comparable<'m>(small: Float<'m>, large: Float<'m>) -> (Float<'m>, Float<'m>) {
    let one = small.constant(1.0);
    let large = large.equals(0.0).select(one, large);
    if large.is_relaxed() {
        return (small, large);
    }
    let is_infinite = small.equals(f64::INFINITY) & large.equals(f64::INFINITY);
    let (small, large) = (is_infinite.select(one, small), is_infinite.select(one, large));
    // Only those of `f64` are added.
    let is_huge = !large.less(large.by_type(f64::INFINITY, 2f64.powi(1022)));
    let factor = is_huge.select(0.25, one);
    large.by_type((small, large), (small * factor, large * factor))
}

/// The eighth of a turn that an angle is in.
struct Octant<'m> {
    /// The sides of the angle to the nearest axis, both positive.
    small: Float<'m>,
    large: Float<'m>,
    /// The angles of the axis, and of the bisector.
    begin: Float<'m>,
    middle: Float<'m>,
    /// The sign of the angle to the axis.
    direction: Int<'m>,
}

/// `begin + atan t` for `|t| <= 1` and a `begin` of 0, pi/2 or pi.
fn angle_single<'m>(begin: Float<'m>, t: Float<'m>) -> Float<'m> {
    let z = t * t;
    // The sum of the large parts is often exact.
    (begin + t) + (t * z).mul_add(z.polynomial(ATAN_SINGLE), begin * PI_REST_SINGLE)
}

/// In the upper half of the octant by the difference from the bisector. From 1/2 on, the difference of the sides is
/// exact.
fn angle_double<'m>(octant: Octant<'m>) -> Float<'m> {
    let Octant { small, large, begin, middle, direction } = octant;
    let is_upper = (large * TAN_PI_8).less(small);
    let above = is_upper.select(small - large, small);
    let below = is_upper.select(small + large, large);
    let t = (above / below).flip(direction);
    let z = t * t;
    is_upper.select(middle, begin) + (t * z).mul_add(z.polynomial(ATAN_DOUBLE), t)
}

/// `constant - x`, where the constant has more bits than a float.
fn minus<'m>(constant: f64, x: Float<'m>) -> Float<'m> {
    // What is lost of pi by rounding it to `f64`.
    let lost = 1.2246467991473532e-16 * constant / PI;
    let rest = x.by_type(constant - f64::from(constant as f32), lost);
    x.constant(constant) - (x - rest)
}
