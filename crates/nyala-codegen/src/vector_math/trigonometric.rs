//! Sines and their like: `x = n pi/2 + r`, polynomials for the sine and cosine of `r`, and
//! `n mod 4` says which of the two is meant and with which sign.

use nyala_ir::MathOp;

use super::value::{Float, Int, Mask};

/// pi/2 in parts. All but the last have few bits, so that their products with `n` are exact.
const HALF_PI_SINGLE: &[f64] = &[1.570770263671875, 2.6063062250614166e-5, 6.07710062827671e-11];
const HALF_PI_DOUBLE: &[f64] =
    &[1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32];

/// Up to here `n` is small enough for that.
const LARGEST_SINGLE: f64 = 400.0;
const LARGEST_DOUBLE: f64 = 1.0e6;

/// `(sin r - r) / r^3` as a function of `r^2`, for `|r| <= pi/4`.
const SIN_SINGLE: &[f64] = &[-0.16666655242443085, 0.008332173340022564, -0.00019516656175255775];
const SIN_DOUBLE: &[f64] = &[
    -0.16666666666666632,
    0.008333333333322316,
    -0.000198412698297252,
    2.7557313662056454e-6,
    -2.5050753264459136e-8,
    1.5896504946811505e-10,
];

/// `(cos r - 1 + r^2 / 2) / r^4` as a function of `r^2`, for `|r| <= pi/4`.
const COS_SINGLE: &[f64] = &[0.04166664555668831, -0.001388736185617745, 2.4437729734927416e-5];
const COS_DOUBLE: &[f64] = &[
    0.0416666666666666,
    -0.001388888888887399,
    2.4801587289394896e-5,
    -2.755731432602231e-7,
    2.0875719557601217e-9,
    -1.1359448624190597e-11,
];

pub(super) fn sin<'m>(x: Float<'m>) -> Float<'m> {
    let angle = Angle::new(x);
    let result = angle.is_odd().select(angle.cos, angle.sin);
    result.flip(angle.sign_of_half(angle.n) ^ x.sign()).rarely(angle.is_large, MathOp::Sin, &[x])
}

pub(super) fn cos<'m>(x: Float<'m>) -> Float<'m> {
    let angle = Angle::new(x);
    let result = angle.is_odd().select(angle.sin, angle.cos);
    let following = angle.n + angle.n.constant(1);
    result.flip(angle.sign_of_half(following)).rarely(angle.is_large, MathOp::Cos, &[x])
}

pub(super) fn tan<'m>(x: Float<'m>) -> Float<'m> {
    let angle = Angle::new(x);
    let is_odd = angle.is_odd();
    let ratio = is_odd.select(-angle.cos, angle.sin) / is_odd.select(angle.sin, angle.cos);
    ratio.flip(x.sign()).rarely(angle.is_large, MathOp::Tan, &[x])
}

/// What is known of the absolute value of an angle.
struct Angle<'m> {
    /// The sine and cosine of `r`.
    sin: Float<'m>,
    cos: Float<'m>,
    /// In its low bits, `n`.
    n: Int<'m>,
    /// Whether all of that is wrong, because it is too large or not finite.
    is_large: Mask<'m>,
}

impl<'m> Angle<'m> {
    fn new(x: Float<'m>) -> Angle<'m> {
        let x = x.abs();
        let is_large = !x.less(x.by_type(LARGEST_SINGLE, LARGEST_DOUBLE));
        let (n, bits) = (x * std::f64::consts::FRAC_2_PI).nearest();
        let (sin, cos) = x.by_type(Angle::single as fn(Float<'m>, Float<'m>) -> _, Angle::double)(x, n);
        Angle { sin, cos, n: bits, is_large }
    }

    /// The sine and cosine of `r`, from `x` and `n`.
    fn single(x: Float<'m>, n: Float<'m>) -> (Float<'m>, Float<'m>) {
        let r = HALF_PI_SINGLE.iter().fold(x, |r, part| n.mul_add(-part, r));
        let z = r * r;
        let sin = (z * r).mul_add(z.polynomial(SIN_SINGLE), r);
        let cos = (z * z).mul_add(z.polynomial(COS_SINGLE), z.mul_add(-0.5, 1.0));
        (sin, cos)
    }

    /// The same, with what `r` loses by rounding: a quotient of the two would make it worse.
    fn double(x: Float<'m>, n: Float<'m>) -> (Float<'m>, Float<'m>) {
        let near = n.mul_add(-HALF_PI_DOUBLE[0], x);
        let second = n * HALF_PI_DOUBLE[1];
        let r = near - second;
        let lost = (near - r) - second;
        let lost = HALF_PI_DOUBLE[2..].iter().fold(lost, |lost, part| n.mul_add(-part, lost));
        let (r, lost) = (r + lost, lost - (r + lost - r));
        let z = r * r;
        let sin = (z * r).mul_add(z.polynomial(SIN_DOUBLE), lost) + r;
        let tail = (z * z).mul_add(z.polynomial(COS_DOUBLE), -(r * lost));
        (sin, z.mul_add(-0.5, 1.0) + tail)
    }

    fn is_odd(&self) -> Mask<'m> {
        (self.n & self.n.constant(1)).equals(1)
    }

    /// The sign in the second half of a turn.
    fn sign_of_half(&self, quarter: Int<'m>) -> Int<'m> {
        (quarter & quarter.constant(2)) << self.sin.by_type(30, 62)
    }
}
