//! Roots.
//!
//! The cube root of `m 2^(3q + k)` with `k` from -1 to 1: that of `m` by a polynomial, which for `f64` is followed by
//! one step of Halley's method, which triples the number of exact digits, and that of `2^k` by selection.

use super::exponential::{Exponent, power_of_2};
use super::logarithm::mantissa;
use super::pair::Pair;
use super::value::{Float, Mask};

/// `(cbrt(1 + f) - 1) / f` for `-1/4 <= f <= 1/2`.
const CBRT_SINGLE: &[f64] = &[
    0.33333340287208557,
    -0.11111155152320862,
    0.061720460653305054,
    -0.041115231812000275,
    0.030364084988832474,
    -0.024463806301355362,
    0.018643813207745552,
    -0.0082473773509264,
];

/// The cube root of `m`, for `3/4 <= m <= 3/2`.
const CBRT_GUESS: &[f64] = &[
    0.4300493913545152,
    1.0153589158736156,
    -0.757907473201754,
    0.4367066011986982,
    -0.14468518502589373,
    0.020477849728651965,
];

const CBRT_2: f64 = 1.259_921_049_894_873_2;

pub(super) fn cbrt<'m>(x: Float<'m>) -> Float<'m> {
    let product = |root: Pair<'m>, factor: Float<'m>| root.high.mul_add(factor, root.low * factor);
    root_with(x, product, |q| q)
}

/// `1 / cbrt x`.
pub(super) fn rcbrt<'m>(x: Float<'m>) -> Float<'m> {
    let reciprocal = |root: Pair<'m>, factor: Float<'m>| {
        let product = Pair::product(root.high, factor).plus(root.low * factor);
        Pair::sum(product.high, product.low).divides(1.0)
    };
    let root = root_with(x, reciprocal, |q| Exponent::nearest(-q.value));
    let is_special = x.equals(0.0) | !x.abs().less(f64::INFINITY);
    is_special.select(x.constant(1.0) / x, root)
}

/// `finish` of the cube roots of `m` and `2^k`, times 2 to the power of what `exponent` makes of `q`.
fn root_with<'m>(
    x: Float<'m>,
    finish: impl FnOnce(Pair<'m>, Float<'m>) -> Float<'m>,
    exponent: impl FnOnce(Exponent<'m>) -> Exponent<'m>,
) -> Float<'m> {
    let size = x.abs();
    let (e, m) = mantissa(size);
    let q = Exponent::nearest_product(e, 1.0 / 3.0);
    let k = q.value.mul_add(-3.0, e);
    let root = m.by_type(root_of_mantissa_single as fn(Float<'m>) -> Pair<'m>, root_of_mantissa_double)(m);
    let root = finish(root, root_of_power(k));
    let q = exponent(q);
    if x.has_exponents() {
        // Of 0 and infinity, `q` is infinite.
        return root.scaled(q.value).flip(x.sign());
    }
    let root = (root * power_of_2(q.bits)).flip(x.sign());
    let is_its_own = x.equals(0.0) | !size.less(f64::INFINITY);
    is_its_own.select(x, root)
}

fn root_of_mantissa_single<'m>(m: Float<'m>) -> Pair<'m> {
    let f = m - 1.0;
    Pair { high: m.constant(1.0), low: f * f.polynomial(CBRT_SINGLE) }
}

fn root_of_mantissa_double<'m>(m: Float<'m>) -> Pair<'m> {
    let guess = m.polynomial(CBRT_GUESS);
    let cube = guess * guess * guess;
    Pair { high: guess, low: guess * (m - cube) / cube.mul_add(2.0, m) }
}

/// The cube root of `2^k` for `k` from -1 to 1.
fn root_of_power<'m>(k: Float<'m>) -> Float<'m> {
    let (is_more, is_less) = (k.constant(0.5).less(k), k.less(-0.5));
    is_more.select(CBRT_2, is_less.select(1.0 / CBRT_2, k.constant(1.0)))
}

/// `sqrt(x^2 + y^2)`. An infinite side makes it infinite even if the other one is NaN.
pub(super) fn hypot<'m>(x: Float<'m>, y: Float<'m>) -> Float<'m> {
    let scaled = Scaled::new(x, y);
    scaled.is_infinite.select(f64::INFINITY, scaled.square.sqrt() * scaled.back)
}

/// `1 / hypot(x, y)`, also where the length is infinite and this is not 0.
pub(super) fn rhypot<'m>(x: Float<'m>, y: Float<'m>) -> Float<'m> {
    let scaled = Scaled::new(x, y);
    let reciprocal = (x.constant(1.0) / scaled.square).sqrt();
    scaled.is_infinite.select(0.0, reciprocal * scaled.factor)
}

/// The length of a vector that is scaled so that the squares of its components are in range.
struct Scaled<'m> {
    /// The square of the length of the scaled vector.
    square: Float<'m>,
    /// The power of two that the vector is scaled with, and its reciprocal.
    factor: Float<'m>,
    back: Float<'m>,
    is_infinite: Mask<'m>,
}

impl<'m> Scaled<'m> {
    fn new(x: Float<'m>, y: Float<'m>) -> Scaled<'m> {
        let (x, y) = (x.abs(), y.abs());
        let infinity = x.constant(f64::INFINITY);
        let is_infinite = x.equals(infinity) | y.equals(infinity);
        // NaN is not large, and makes the sum NaN.
        let large = x.less(y).select(y, x);
        // From `huge` on the vector is scaled down, below `tiny` up.
        let (huge, down, tiny, up) = x.by_type((62, -66, -40, 100), (510, -600, -450, 700));
        let is_huge = !large.less(2f64.powi(huge));
        let is_tiny = large.less(2f64.powi(tiny));
        let choose = |down: i32, up: i32| {
            let [down, up] = [down, up].map(|power| large.constant(2f64.powi(power)));
            is_huge.select(down, is_tiny.select(up, large.constant(1.0)))
        };
        let factor = choose(down, up);
        let (x, y) = (x * factor, y * factor);
        let square = x.mul_add(x, y * y);
        Scaled { square, factor, back: choose(-down, -up), is_infinite }
    }
}

/// `x - y`, and 0 where that is negative.
pub(super) fn fdim<'m>(x: Float<'m>, y: Float<'m>) -> Float<'m> {
    (x.less(y) | x.equals(y)).select(0.0, x - y)
}
