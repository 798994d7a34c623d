//! Cube roots: of `m 2^(3q + k)` with `k` from -1 to 1, a polynomial for that of `m`, and one
//! step of Halley's method, which triples the number of exact digits.

use super::exponential::power_of_2;
use super::logarithm::mantissa;
use super::value::Float;

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
    let root = ((guess - step) * power_of_2(q_bits)).flip(x.sign());
    let is_its_own = x.equals(0.0) | !size.less(f64::INFINITY);
    is_its_own.select(x, root)
}
