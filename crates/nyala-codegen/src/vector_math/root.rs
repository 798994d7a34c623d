//! Roots.
//!
//! The cube root of `m 2^(3q + k)` with `k` from -1 to 1: a polynomial for that of `m`, and one
//! step of Halley's method, which triples the number of exact digits.

use super::exponential::power_of_2;
use super::logarithm::mantissa;
use super::pair::Pair;
use super::value::{Float, Int, Mask};

/// The cube root of `m`, for `2/3 <= m <= 4/3`.
const CBRT: &[f64] = &[
    0.41349199656817837,
    1.0983000942031391,
    -0.9222894140303813,
    0.5978433262718578,
    -0.22282575582876188,
    0.03547861176785667,
];

const CBRT_2: f64 = 1.259_921_049_894_873_2;

pub(super) fn cbrt<'m>(x: Float<'m>) -> Float<'m> {
    root_with(x, |root| root.high, |q| q)
}

/// `1 / cbrt x`.
pub(super) fn rcbrt<'m>(x: Float<'m>) -> Float<'m> {
    let root = root_with(x, |root| root.divides(1.0), |q| q.constant(0) - q);
    let is_special = x.equals(0.0) | !x.abs().less(f64::INFINITY);
    is_special.select(x.constant(1.0) / x, root)
}

/// `finish` of the cube root of the mantissa, times 2 to the power of what `exponent` makes of its exponent.
fn root_with<'m>(
    x: Float<'m>,
    finish: impl FnOnce(Pair<'m>) -> Float<'m>,
    exponent: impl FnOnce(Int<'m>) -> Int<'m>,
) -> Float<'m> {
    let size = x.abs();
    let (e, m) = mantissa(size);
    let (q, q_bits) = (e * (1.0 / 3.0)).nearest();
    let k = q.mul_add(-3.0, e);
    let guess = m.polynomial(CBRT);
    let (is_more, is_less) = (k.constant(0.5).less(k), k.less(-0.5));
    let guess = is_more.select(guess * CBRT_2, is_less.select(guess * (1.0 / CBRT_2), guess));
    let number = is_more.select(m * 2.0, is_less.select(m * 0.5, m));
    let cube = guess * guess * guess;
    let step = guess * (cube - number) / (cube * 2.0 + number);
    let root = finish(Pair::sum(guess, -step));
    let root = (root * power_of_2(exponent(q_bits))).flip(x.sign());
    let is_its_own = x.equals(0.0) | !size.less(f64::INFINITY);
    is_its_own.select(x, root)
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
