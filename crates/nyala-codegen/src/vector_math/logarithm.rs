//! Logarithms: `x = m 2^e` with `m` between 2/3 and 4/3, and a polynomial for `log m`.

use std::f64::consts::{LOG2_E, LOG10_E};

use super::pair::Pair;
use super::value::{Float, Int};

/// The bits of 2/3.
const TWO_THIRDS_SINGLE: i64 = 0x3f2a_aaab;
const TWO_THIRDS_DOUBLE: i64 = 0x3fe5_5555_5555_5555;

/// ln 2 and log10 2, each in two parts. The first has few bits, so that its product with an
/// exponent is exact.
const LN_2_SINGLE: [f64; 2] = [0.693145751953125, 1.428606765330187e-6];
const LN_2_DOUBLE: [f64; 2] = [0.693147180559663, 2.8235290563031577e-13];
const LOG10_2_SINGLE: [f64; 2] = [0.301025390625, 4.605039066518657e-6];
const LOG10_2_DOUBLE: [f64; 2] = [0.30102999566383914, 1.42050232272661e-13];

/// `(ln(1 + f) - f + f^2 / 2) / f^3` for `|f| <= 1/3`.
const LOG_SINGLE: &[f64] = &[
    0.3333321511745453,
    -0.24999797344207764,
    0.20010413229465485,
    -0.1668049693107605,
    0.14005744457244873,
    -0.12184121459722519,
    0.13985109329223633,
    -0.12892363965511322,
];

/// `(ln((1 + s) / (1 - s)) / s - 2) / s^2` as a function of `s^2`, for `|s| <= 1/5`.
const LOG_DOUBLE: &[f64] = &[
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
    let [high, low] = x.by_type(LN_2_SINGLE, LN_2_DOUBLE);
    let tail = e.mul_add(low, log_tail(f));
    special(x, e.mul_add(high, f + tail))
}

pub(super) fn log2<'m>(x: Float<'m>) -> Float<'m> {
    let (e, f) = split(x);
    // f log2 e = f + f (log2 e - 1): the second term is smaller, and so is its error.
    let rest = f.mul_add(LOG2_E - 1.0, log_tail(f) * LOG2_E);
    special(x, e + (f + rest))
}

pub(super) fn log10<'m>(x: Float<'m>) -> Float<'m> {
    let (e, f) = split(x);
    let [high, low] = x.by_type(LOG10_2_SINGLE, LOG10_2_DOUBLE);
    // f log10 e = f (7/16) + f (log10 e - 7/16), likewise; 7/16 has few bits.
    let rest = f.mul_add(LOG10_E - 0.4375, log_tail(f) * LOG10_E);
    let front = (f.bits() & f.int(f.by_type(!0xff, !0xff))).as_float();
    let rest = (f - front).mul_add(0.4375, rest);
    special(x, e.mul_add(high, front.mul_add(0.4375, e.mul_add(low, rest))))
}

/// `ln(1 + x)`. Far from 0, what `1 + x` loses by rounding is added, divided by it.
pub(super) fn log1p<'m>(x: Float<'m>) -> Float<'m> {
    let sum = x + 1.0;
    let lost = x - (sum - 1.0);
    let (e, m) = normal_mantissa(sum);
    let is_near = e.equals(0);
    let (e, f) = (e.to_float(), is_near.select(x, m - 1.0));
    let [high, low] = x.by_type(LN_2_SINGLE, LN_2_DOUBLE);
    let tail = e.mul_add(low, log_tail(f)) + is_near.select(0.0, lost / sum);
    let log = special(sum, e.mul_add(high, f + tail));
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
    is_large.select(log + std::f64::consts::LN_2, log + small.low / (small.high + 1.0))
}

/// `e` and `m - 1` of a positive number.
fn split<'m>(x: Float<'m>) -> (Float<'m>, Float<'m>) {
    let (e, m) = mantissa(x);
    (e, m - 1.0)
}

/// `e` and `m` of a positive number.
pub(super) fn mantissa<'m>(x: Float<'m>) -> (Float<'m>, Float<'m>) {
    if x.is_relaxed() {
        let (e, m) = normal_mantissa(x);
        return (e.to_float(), m);
    }
    let (least, digits) = x.by_type((f64::from(f32::MIN_POSITIVE), 23), (f64::MIN_POSITIVE, 52));
    let is_subnormal = x.less(least);
    let scaled = is_subnormal.select(x * (1_u64 << digits) as f64, x);
    let (e, m) = normal_mantissa(scaled);
    let e = e.to_float();
    (is_subnormal.select(e - digits as f64, e), m)
}

/// The same for one that is not below the normal ones.
pub(super) fn normal_mantissa<'m>(x: Float<'m>) -> (Int<'m>, Float<'m>) {
    let (two_thirds, digits) = x.by_type((TWO_THIRDS_SINGLE, 23), (TWO_THIRDS_DOUBLE, 52));
    let bits = x.bits();
    let e = (bits - x.int(two_thirds)) >> digits;
    (e, (bits - (e << digits)).as_float())
}

/// `ln(1 + f) - f`.
fn log_tail<'m>(f: Float<'m>) -> Float<'m> {
    f.by_type(log_tail_single as fn(Float<'m>) -> Float<'m>, log_tail_double)(f)
}

fn log_tail_single<'m>(f: Float<'m>) -> Float<'m> {
    let square = f * f;
    square.mul_add(-0.5, square * f * f.polynomial(LOG_SINGLE))
}

/// By a division, which saves half of a long polynomial.
fn log_tail_double<'m>(f: Float<'m>) -> Float<'m> {
    let s = f / (f + 2.0);
    let (z, half) = (s * s, f * f * 0.5);
    s * (half + z * z.polynomial(LOG_DOUBLE)) - half
}

/// The logarithm `usual`, except of what is not positive and finite.
fn special<'m>(x: Float<'m>, usual: Float<'m>) -> Float<'m> {
    if x.is_relaxed() {
        return usual;
    }
    // Infinity and NaN are their own logarithms.
    let result = x.less(f64::INFINITY).select(usual, x);
    let result = x.less(0.0).select(f64::NAN, result);
    x.equals(0.0).select(f64::NEG_INFINITY, result)
}
