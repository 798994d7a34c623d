//! Powers: `|x|^y = 2^(y log2 |x|)`, and then what a negative `x` makes of it.
//!
//! The product needs some ten digits more than the result has. It is a pair of numbers ([`Pair`]). Processors without
//! fused operations compute that of `f32` as `f64`, which takes them less time; GPUs may have few units for `f64`.

use super::exponential::{Exponent, exp2_of_rest, power_of_2, scale, unless_tiny};
use super::logarithm::{mantissa, normal_mantissa};
use super::pair::{Pair, product_rest};
use super::value::{Float, Mask};

/// `log2(1 + f) / f` for `-1/4 <= f <= 1/2`.
const LOG2: &[f64] = &[
    1.44269504091064,
    -0.7213475208315948,
    0.4808983326444018,
    -0.36067365346325114,
    0.2885404277275349,
    -0.24045841748338972,
    0.20605687677056034,
    -0.18000366083187563,
    0.1605029365156426,
    -0.1492078099632491,
    0.13879365682563782,
    -0.10204299560703371,
    0.03799143406274487,
];

/// `(2^r - 1) / r` for `|r| <= 1/2`.
const EXP2: &[f64] = &[
    0.6931471807047673,
    0.24022651067005163,
    0.05550410365393974,
    0.009618038059407759,
    0.0013333935348944015,
    0.00015466781581412135,
    1.5196136456621303e-5,
];

/// `2 log2 e` and `2/3 log2 e` in two parts.
const FIRST_SINGLE: [f64; 2] = [2.885390043258667, 3.851926067000022e-08];
const FIRST_DOUBLE: [f64; 2] = [2.8853900817779268, 4.0710547481862066e-17];
const SECOND_SINGLE: [f64; 2] = [0.9617967009544373, -7.028461812552678e-09];
const SECOND_DOUBLE: [f64; 2] = [0.9617966939259756, 5.0577616648125907e-17];

/// `(ln((1 + s) / (1 - s)) / s - 2 - 2/3 s^2) / s^4` as a function of `s^2`, for `|s| <= 1/5`.
const LOG_TAIL_SINGLE: &[f64] =
    &[0.4000000059604645, 0.2857169806957245, 0.2218908965587616, 0.19480209052562714];
const LOG_TAIL_DOUBLE: &[f64] = &[
    0.39999999999999714,
    0.28571428571582613,
    0.2222222219030394,
    0.1818182161109044,
    0.15384402381987158,
    0.13341265345802353,
    0.11590551358926841,
    0.12582518114608324,
];

pub(super) fn pow<'m>(x: Float<'m>, y: Float<'m>) -> Float<'m> {
    match x.by_type(true, false) && !x.is_fused() {
        true => power(x, y, |x, y| power_of_widened(x.widen(), y.widen()).narrow()),
        false => power(x, y, power_of_pair),
    }
}

/// The power, given that of numbers that are positive and finite.
fn power<'m>(x: Float<'m>, y: Float<'m>, positive: fn(Float<'m>, Float<'m>) -> Float<'m>) -> Float<'m> {
    let size = x.abs();
    let power = positive(size, y);
    let power = match x.is_relaxed() {
        true => x.equals(0.0).select(0.0, power),
        false => special(size, y, power),
    };
    let power = with_sign(x, y, power);
    y.equals(0.0).select(1.0, power)
}

/// `x^y` for positive and finite `f64`s that are also `f32`s, to some more digits than these have.
fn power_of_widened<'m>(x: Float<'m>, y: Float<'m>) -> Float<'m> {
    let (e, m) = normal_mantissa(x);
    let f = m - 1.0;
    let log = f.polynomial(LOG2).mul_add(f, e);
    // Beyond these limits there is no `f32`.
    let exponent = (y * log).at_least(-160.0).at_most(140.0);
    let (n, bits) = exponent.nearest();
    let r = exponent - n;
    r.polynomial(EXP2).mul_add(r, 1.0) * power_of_2(bits)
}

/// `x^y` for positive and finite numbers.
fn power_of_pair<'m>(x: Float<'m>, y: Float<'m>) -> Float<'m> {
    let log = log2(x);
    let product = Pair::product(y, log.high);
    let is_large = !product.high.abs().less(x.by_type(160.0, 1100.0));
    let rest = is_large.select(0.0, y.mul_add(log.low, product.low));
    // Beyond these limits there are no numbers.
    let (low, high) = match x.is_relaxed() {
        true => x.by_type((-127.0, 128.0), (-1023.0, 1024.0)),
        false => x.by_type((-160.0, 128.3), (-1100.0, 1024.3)),
    };
    if x.has_exponents() {
        let r = product.high.fraction();
        return unless_tiny(product.high, low, exp2_of_rest(r + rest).scaled(product.high - r));
    }
    let exponent = product.high.at_least(low).below(high);
    let n = Exponent::nearest(exponent);
    scale(exp2_of_rest((exponent - n.value) + rest), n, product.high)
}

/// The binary logarithm of a positive number, from that of `(1 + s) / (1 - s)`.
fn log2<'m>(x: Float<'m>) -> Pair<'m> {
    let (e, m) = mantissa(x);
    let f = m - 1.0;
    let sum = Pair::sum(f.constant(2.0), f);
    // The second part makes up for an inexact first one, so that one division is enough for both.
    let reciprocal = f.constant(1.0) / sum.high;
    let s = f * reciprocal;
    let lost = s.mul_add(sum.low, product_rest(s, sum.high, f));
    let s = Pair { high: s, low: -(lost * reciprocal) };
    let z = s.high * s.high;
    let z = Pair { high: z, low: (s.high + s.high).mul_add(s.low, product_rest(s.high, s.high, z)) };
    let tail = z.high * z.high.polynomial(&tail_coefficients(z.high));
    let constant = |single, double| Pair::constant(z.high, z.high.by_type(single, double));
    // s (first + z (second + tail))
    let (first, second) = (constant(FIRST_SINGLE, FIRST_DOUBLE), constant(SECOND_SINGLE, SECOND_DOUBLE));
    let inner = z.times(Pair::sum(second.high, tail).plus(second.low));
    let log = s.times(Pair::sum(first.high, inner.high).plus(inner.low + first.low));
    Pair::sum(e, log.high).plus(log.low)
}

/// In units of log2 e.
fn tail_coefficients(like: Float<'_>) -> Vec<f64> {
    let of_natural = like.by_type(LOG_TAIL_SINGLE, LOG_TAIL_DOUBLE);
    of_natural.iter().map(|coefficient| coefficient * std::f64::consts::LOG2_E).collect()
}

/// The power `usual`, except of 0, 1, infinity and NaN.
fn special<'m>(size: Float<'m>, y: Float<'m>, usual: Float<'m>) -> Float<'m> {
    let infinity = y.constant(f64::INFINITY);
    let of_zero = y.less(0.0).select(infinity, y.constant(0.0));
    let of_infinity = y.less(0.0).select(0.0, infinity);
    let power = size.less(infinity).select(usual, size);
    let power = size.equals(infinity).select(of_infinity, power);
    let power = size.equals(0.0).select(of_zero, power);
    let is_nan = !y.equals(y);
    let power = is_nan.select(y, power);
    size.equals(1.0).select(1.0, power)
}

/// What a power of the absolute value says about that of `x`.
fn with_sign<'m>(x: Float<'m>, y: Float<'m>, power: Float<'m>) -> Float<'m> {
    let size = y.abs();
    let is_whole = is_integer(size);
    let is_odd = is_whole & !is_integer(size * 0.5);
    let is_negative = !x.sign().equals(0);
    let power = (is_negative & is_odd).select(-power, power);
    let has_none = x.less(0.0) & !is_whole;
    let has_none = if x.is_relaxed() { has_none } else { has_none & x.constant(f64::NEG_INFINITY).less(x) };
    has_none.select(f64::NAN, power)
}

/// Whether a positive number is an integer.
fn is_integer<'m>(x: Float<'m>) -> Mask<'m> {
    if x.has_exponents() {
        return x.fraction().equals(0.0);
    }
    // From here on there are no others. To add it leaves no bits behind the point.
    let large = x.by_type(2f64.powi(23), 2f64.powi(52));
    let is_large = x.constant(large - 0.5).less(x);
    is_large | (x + large - large).equals(x)
}
