//! Angles from their sines, cosines and tangents.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use super::value::{Float, Mask};

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

/// `(atan t - t) / t^3` as a function of `t^2`, for `|t| <= 1/2` and `|t| <= tan(pi/8)`.
const ATAN_SINGLE: &[f64] = &[
    -0.3333323299884796,
    0.1999421864748001,
    -0.14174900949001312,
    0.10159427672624588,
    -0.05131524056196213,
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
    let one = size.constant(1.0);
    let is_large = one.less(size);
    let (small, large) = (is_large.select(one, size), is_large.select(size, one));
    let angle = angle_below_half_right(small, large);
    is_large.select(minus(FRAC_PI_2, angle), angle).flip(x.sign())
}

pub(super) fn atan2<'m>(y: Float<'m>, x: Float<'m>) -> Float<'m> {
    let (height, width) = (y.abs(), x.abs());
    let is_steep = width.less(height);
    let (small, large) = (is_steep.select(width, height), is_steep.select(height, width));
    let angle = match x.is_relaxed() {
        true => large.equals(0.0).select(0.0, angle_below_half_right(small, large)),
        false => any_angle(small, large),
    };
    let angle = is_steep.select(minus(FRAC_PI_2, angle), angle);
    // As -0 has a sign, it is not compared with 0.
    let is_left = !x.sign().equals(0);
    let angle = is_left.select(minus(PI, angle), angle);
    angle.flip(y.sign())
}

/// As [`angle_below_half_right`], for numbers whose quotient or sum may not be finite.
fn any_angle<'m>(small: Float<'m>, large: Float<'m>) -> Float<'m> {
    let huge = large.by_type(2f64.powi(126), 2f64.powi(1022));
    let is_huge = !large.less(huge);
    let [small, large] = [small, large].map(|side| is_huge.select(side * 0.25, side));
    let angle = angle_below_half_right(small, large);
    // Two infinities, or two zeros.
    let is_zero = large.equals(0.0);
    let diagonal = is_zero.select(0.0, small.constant(FRAC_PI_4));
    small.equals(large).select(diagonal, angle)
}

/// The angle whose tangent is `small / large`, both positive. In the upper half of the range
/// it is the distance from half a right angle.
fn angle_below_half_right<'m>(small: Float<'m>, large: Float<'m>) -> Float<'m> {
    // From 1/2 on, the difference of the two is exact.
    let is_upper = (large * large.by_type(0.5, TAN_PI_8)).less(small);
    let above = is_upper.select(small - large, small);
    let below = is_upper.select(small + large, large);
    let t = above / below;
    let z = t * t;
    let tail = z.polynomial(t.by_type(ATAN_SINGLE, ATAN_DOUBLE));
    let angle = (t * z).mul_add(tail, t);
    is_upper.select(-minus(-FRAC_PI_4, angle), angle)
}

/// `constant - x`, where the constant has more bits than a float.
fn minus<'m>(constant: f64, x: Float<'m>) -> Float<'m> {
    // What is lost of pi by rounding it to `f64`.
    let lost = 1.2246467991473532e-16 * constant / PI;
    let rest = x.by_type(constant - f64::from(constant as f32), lost);
    x.constant(constant) - (x - rest)
}
