//! Logarithms: `x = m 2^e` with `m` between 3/4 and 3/2, and a polynomial for `log m`.

use std::f64::consts::{LN_2, LOG2_E, LOG10_E};

use super::pair::Pair;
use super::value::{Float, Int};

/// The bits of 3/4.
const THREE_QUARTERS_SINGLE: i64 = 0x3f40_0000;
const THREE_QUARTERS_DOUBLE: i64 = 0x3fe8_0000_0000_0000;

/// log10 2 in two parts. The first has few bits, so that its product with an exponent is exact.
const LOG10_2_SINGLE: [f64; 2] = [0.301025390625, 4.605039066518657e-6];
const LOG10_2_DOUBLE: [f64; 2] = [0.30102999566383914, 1.42050232272661e-13];

/// `(ln(1 + f) - f) / f^2` for `-1/4 <= f <= 1/2`.
const LOG_SINGLE: [f64; 9] = [
    -0.5,
    0.3333345055580139,
    -0.2500010132789612,
    0.19990813732147217,
    -0.16647115349769592,
    0.14478656649589539,
    -0.13162991404533386,
    0.10464885085821152,
    -0.0450756810605526,
];

/// `(ln((1 + s) / (1 - s)) / s - 2) / s^2` as a function of `s^2`, for `|s| <= 1/5`.
const LOG_DOUBLE: [f64; 8] = [
    0.666666666666666,
    0.4000000000005798,
    0.28571428555525236,
    0.2222222432980297,
    0.18181663922092403,
    0.15391174626428955,
    0.13172560989966614,
    0.13849981602687086,
];

pub(super) fn log<'m>(x: Float<'m>) -> Float<'m> {
    let (e, f) = split(x);
    special(x, e.mul_add(LN_2, f + log_tail(f, 1.0)))
}

pub(super) fn log2<'m>(x: Float<'m>) -> Float<'m> {
    let (e, f) = split(x);
    // f log2 e = f + f (log2 e - 1): the second term is smaller, and so is its error.
    special(x, (e + f) + f.mul_add(LOG2_E - 1.0, log_tail(f, LOG2_E)))
}

pub(super) fn log10<'m>(x: Float<'m>) -> Float<'m> {
    let (e, f) = split(x);
    let [high, low] = x.by_type(LOG10_2_SINGLE, LOG10_2_DOUBLE);
    // f log10 e = f (7/16) + f (log10 e - 7/16), likewise; 7/16 has few bits.
    let rest = f.mul_add(LOG10_E - 0.4375, log_tail(f, LOG10_E));
    special(x, f.mul_add(0.4375, e * high) + e.mul_add(low, rest))
}

/// `ln(1 + x)`. Far from 0, what `1 + x` loses by rounding is added, divided by it.
pub(super) fn log1p<'m>(x: Float<'m>) -> Float<'m> {
    let sum = x + 1.0;
    let lost = x - (sum - 1.0);
    let (e, m) = normal_mantissa(sum);
    let is_near = e.equals(0.0);
    let f = is_near.select(x, m - 1.0);
    let tail = log_tail(f, 1.0) + is_near.select(0.0, lost / sum);
    let log = unless_special(sum, e.mul_add(LN_2, f + tail));
    // -0 stays what it is.
    log.abs().flip(x.sign())
}

pub(super) fn asinh<'m>(x: Float<'m>) -> Float<'m> {
    let size = x.abs();
    let root = size.mul_add(size, 1.0).sqrt();
    // x + sqrt(x^2 + 1) - 1
    let small = Pair::sum(size, size * size / (root + 1.0));
    log1p_or_doubled(size, small).flip(x.sign())
}

pub(super) fn acosh<'m>(x: Float<'m>) -> Float<'m> {
    let t = x - 1.0;
    // x + sqrt(x^2 - 1) - 1
    let small = Pair::sum(t.mul_add(t, t + t).sqrt(), t);
    let result = log1p_or_doubled(x, small);
    x.less(1.0).select(f64::NAN, result)
}

pub(super) fn atanh<'m>(x: Float<'m>) -> Float<'m> {
    let size = x.abs();
    let one = size.constant(1.0);
    (log1p(size * 2.0 / (one - size)) * 0.5).flip(x.sign())
}

/// `ln(1 + small)`, which for a large `x` is `ln(2x)`.
fn log1p_or_doubled<'m>(x: Float<'m>, small: Pair<'m>) -> Float<'m> {
    let is_large = !x.less(x.by_type(2f64.powi(14), 2f64.powi(30)));
    let log = log1p(is_large.select(x - 1.0, small.high));
    is_large.select(log + LN_2, log + small.low / (small.high + 1.0))
}

/// `e` and `m - 1` of a positive number.
fn split<'m>(x: Float<'m>) -> (Float<'m>, Float<'m>) {
    let (e, m) = mantissa(x);
    (e, m - 1.0)
}

/// `e` and `m` of a positive number.
///
/// With instructions for exponents, `e` of 0 and infinity is what their logarithm is, and `m` of what has no logarithm
/// is NaN.
pub(super) fn mantissa<'m>(x: Float<'m>) -> (Float<'m>, Float<'m>) {
    if x.has_exponents() {
        let m = x.mantissa();
        return (x.exponent() - m.exponent(), m);
    }
    if x.is_relaxed() {
        return normal_mantissa(x);
    }
    let (least, digits) = x.by_type((f64::from(f32::MIN_POSITIVE), 23), (f64::MIN_POSITIVE, 52));
    let is_subnormal = x.less(least);
    let scaled = is_subnormal.select(x * (1_u64 << digits) as f64, x);
    let (e, m) = normal_mantissa(scaled);
    (e + is_subnormal.select(-digits as f64, e.constant(0.0)), m)
}

/// The same for one that is not below the normal ones.
pub(super) fn normal_mantissa<'m>(x: Float<'m>) -> (Float<'m>, Float<'m>) {
    let (least, digits) = x.by_type((THREE_QUARTERS_SINGLE, 23), (THREE_QUARTERS_DOUBLE, 52));
    let distance = x.bits() - x.int(least);
    let m = ((distance & x.int((1 << digits) - 1)) + x.int(least)).as_float();
    let exponent = x.by_type(exponent_single as fn(Int<'m>) -> Float<'m>, exponent_double);
    (exponent(distance), m)
}

/// `e` of a number, given the distance of its bits from those of 3/4.
fn exponent_single(distance: Int<'_>) -> Float<'_> {
    (distance >> 23).to_float()
}

/// Few processors have the instructions for signed integers of 64 bits.
fn exponent_double(distance: Int<'_>) -> Float<'_> {
    let biased = (distance + distance.constant(1023 << 52)).shr_zero(distance.constant(52));
    // The bits of a float that is larger by 2^52.
    (biased + distance.constant(1075 << 52)).as_float() - (2f64.powi(52) + 1023.0)
}

/// `ln(1 + f) - f`, in a unit.
fn log_tail<'m>(f: Float<'m>, unit: f64) -> Float<'m> {
    f.by_type(log_tail_single as fn(Float<'m>, f64) -> Float<'m>, log_tail_double)(f, unit)
}

fn log_tail_single<'m>(f: Float<'m>, unit: f64) -> Float<'m> {
    f * f * f.polynomial(&LOG_SINGLE.map(|coefficient| coefficient * unit))
}

/// By a division, which saves half of a long polynomial.
fn log_tail_double<'m>(f: Float<'m>, unit: f64) -> Float<'m> {
    let s = f / (f + 2.0);
    let (z, half) = (s * s, f * f * (0.5 * unit));
    let tail = z.mul_add(z.polynomial(&LOG_DOUBLE.map(|coefficient| coefficient * unit)), half);
    s.mul_add(tail, -half)
}

/// The logarithm `usual`, except of what is not positive and finite.
fn special<'m>(x: Float<'m>, usual: Float<'m>) -> Float<'m> {
    if x.has_exponents() { usual } else { unless_special(x, usual) }
}

/// The same for any `e` and `m`.
fn unless_special<'m>(x: Float<'m>, usual: Float<'m>) -> Float<'m> {
    if x.is_relaxed() {
        return usual;
    }
    // Infinity and NaN are their own logarithms.
    let result = x.less(f64::INFINITY).select(usual, x);
    let result = x.less(0.0).select(f64::NAN, result);
    x.equals(0.0).select(f64::NEG_INFINITY, result)
}
