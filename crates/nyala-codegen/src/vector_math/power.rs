//! Powers: `|x|^y = 2^(y log2 |x|)`, and then what a negative `x` makes of it.
//!
//! The product needs more digits than the result has; those of `f32` are computed as `f64`.

use super::exponential::power_of_2;
use super::logarithm::normal_mantissa;
use super::value::Float;

/// `log2(1 + f) / f` for `|f| <= 1/3`.
const LOG2: &[f64] = &[
    1.442695040892335,
    -0.7213475195681913,
    0.480898343957435,
    -0.3606739788504473,
    0.2885394422442723,
    -0.2404336468384625,
    0.20607595136530024,
    -0.1808063783715695,
    0.1608916539793819,
    -0.13745795521612234,
    0.12355906629078073,
    -0.16611661191186963,
    0.15755401475122374,
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

/// For `f32`.
pub(super) fn pow<'m>(x: Float<'m>, y: Float<'m>) -> Float<'m> {
    let (x, y) = (x.widen(), y.widen());
    let size = x.abs();
    let power = power_of_positive(size, y);
    let power = match x.is_relaxed() {
        true => x.equals(0.0).select(0.0, power),
        false => special(size, y, power),
    };
    let power = with_sign(x, y, power);
    y.equals(0.0).select(1.0, power).narrow()
}

/// `x^y` for positive and finite numbers.
fn power_of_positive<'m>(x: Float<'m>, y: Float<'m>) -> Float<'m> {
    let (e, m) = normal_mantissa(x);
    let f = m - 1.0;
    let log = f.polynomial(LOG2).mul_add(f, e.to_float());
    // Beyond these limits there is no `f32`.
    let exponent = (y * log).at_least(-160.0).at_most(140.0);
    let (n, bits) = exponent.nearest();
    let r = exponent - n;
    r.polynomial(EXP2).mul_add(r, 1.0) * power_of_2(bits)
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
    // Larger numbers are even.
    let y = y.at_least(-2f64.powi(30)).at_most(2f64.powi(30));
    let (nearest, bits) = y.nearest();
    let is_integer = nearest.equals(y);
    let is_odd = (bits & bits.constant(1)).equals(1);
    let is_negative = !x.sign().equals(0);
    let power = (is_negative & is_integer & is_odd).select(-power, power);
    let has_none = x.less(0.0) & !is_integer;
    let has_none = if x.is_relaxed() { has_none } else { has_none & x.constant(f64::NEG_INFINITY).less(x) };
    has_none.select(f64::NAN, power)
}
