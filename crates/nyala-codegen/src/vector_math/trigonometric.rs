//! Sines and their like: `x = n pi/2 + r`, polynomials for the sine and cosine of `r`, and `n mod 4` says which of the
//! two is meant and with which sign. If both the sine and the cosine of an angle are computed, LLVM merges what their
//! kernels have in common, which is all but the choice. Where only one of them is needed and numbers are of usual size,
//! there is one longer polynomial: `x = n pi + r`, where the `n` of a cosine ends in a half.
//!
//! For numbers of usual size `n` and `r` follow from a product with `2/pi`. For very large ones the *far*
//! kernels take only those digits of `2/pi` that matter, after Payne and Hanek.

use nyala_ir::MathOp;

use super::pair::Pair;
use super::value::{Float, Int, Mask, Table};

/// pi/2 in parts. All but the last have few bits, so that their products with `n` are exact.
const HALF_PI_SINGLE: &[f64] = &[1.570770263671875, 2.6063062250614166e-5, 6.07710062827671e-11];
const HALF_PI_DOUBLE: &[f64] =
    &[1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32];

/// Pi in such parts.
const PI_SINGLE: [f64; 3] = [2.0 * HALF_PI_SINGLE[0], 2.0 * HALF_PI_SINGLE[1], 2.0 * HALF_PI_SINGLE[2]];
const PI_DOUBLE: [f64; 4] =
    [2.0 * HALF_PI_DOUBLE[0], 2.0 * HALF_PI_DOUBLE[1], 2.0 * HALF_PI_DOUBLE[2], 2.0 * HALF_PI_DOUBLE[3]];

/// Up to here `n` is small enough for that.
const LARGEST_SINGLE: f64 = 400.0;
const LARGEST_DOUBLE: f64 = 1.0e6;

/// Pi/2 in parts with all bits, for machines with fused operations: there, products with `n` need not be exact.
const FUSED_HALF_PI_SINGLE: [f64; 3] = [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15];
const FUSED_HALF_PI_DOUBLE: [f64; 3] =
    [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];

/// Up to here the nearest `n` is found.
const FUSED_LARGEST_SINGLE: f64 = 10_000.0;

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

/// The same for `|r| <= pi/2`.
/// What it gives is at most 1 for all `r`.
const HALF_WAVE_SINGLE: &[f64] =
    &[-0.16666659712791443, 0.008333073928952217, -0.0001980984234251082, 2.6054074169223895e-6];
const HALF_WAVE_DOUBLE: &[f64] = &[
    -0.16666666666666666,
    0.008333333333333207,
    -0.0001984126984121248,
    2.7557319211569347e-6,
    -2.5052106904384356e-8,
    1.6058940998393188e-10,
    -7.643019202825244e-13,
    2.7214169237207742e-15,
];

/// `(tan r - r) / r^3` as a function of `r^2`, for `|r| <= pi/4`.
const TAN_SINGLE: &[f64] = &[
    0.33333349227905273,
    0.13332657516002655,
    0.05406054109334946,
    0.021278876811265945,
    0.01084461435675621,
    7.810284296283498e-5,
    0.004382049664855003,
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

/// What is lost of pi/2 by rounding it to `f64`.
const HALF_PI_REST: f64 = 6.123233995736766e-17;

/// The digits of 2/pi behind the point, 64 in each word, and 64 zeros in front of them.
static TWO_OVER_PI: Table = Table {
    name: "two_over_pi",
    words: &[
        0,
        0xa2f9_836e_4e44_1529,
        0xfc27_57d1_f534_ddc0,
        0xdb62_9599_3c43_9041,
        0xfe51_63ab_debb_c561,
        0xb724_6e3a_424d_d2e0,
        0x0649_2eea_09d1_921c,
        0xfe1d_eb1c_b129_a73e,
        0xe882_35f5_2ebb_4484,
        0xe99c_7026_b45f_7e41,
        0x3991_d639_8353_39f4,
        0x9c84_5f8b_bdf9_283b,
        0x1ff8_97ff_de05_980f,
        0xef2f_118b_5a0a_6d1f,
        0x6d36_7ecf_27cb_09b7,
        0x4f46_3f66_9e5f_ea2d,
        0x7527_bac7_ebe5_f17b,
        0x3d07_39f7_8a52_92ea,
        0x6bfb_5fb1_1f8d_5d08,
        0x5603_3046_fc7b_6bab,
        0xf0cf_bc20_9af4_361d,
    ],
};

pub(super) fn sin<'m>(x: Float<'m>) -> Float<'m> {
    let sine = if x.is_shared_angle() { Angle::near(x).sine(x) } else { near_sin(x) };
    sine.rarely(is_large(x), MathOp::Sin, &[x])
}

fn near_sin<'m>(x: Float<'m>) -> Float<'m> {
    let size = x.abs();
    let (n, bits) = size.nearest_product(std::f64::consts::FRAC_1_PI);
    sine_behind(size, n).flip(odd_sign(x, bits) ^ x.sign())
}

pub(super) fn cos<'m>(x: Float<'m>) -> Float<'m> {
    let cosine = if x.is_shared_angle() { Angle::near(x).cosine() } else { near_cos(x) };
    cosine.rarely(is_large(x), MathOp::Cos, &[x])
}

fn near_cos<'m>(x: Float<'m>) -> Float<'m> {
    let size = x.abs();
    let (n, bits) = size.mul_add(std::f64::consts::FRAC_1_PI, 0.5).nearest();
    sine_behind(size, n - 0.5).flip(odd_sign(x, bits))
}

/// The sign of an odd multiple of pi.
fn odd_sign<'m>(x: Float<'m>, n: Int<'m>) -> Int<'m> {
    n << x.by_type(31, 63)
}

/// `sin(x - n pi)`, given the `n` for which `|x - n pi| <= pi/2`.
fn sine_behind<'m>(x: Float<'m>, n: Float<'m>) -> Float<'m> {
    if x.is_fused() {
        let r = fused_rest(x, n, 2.0);
        let z = r * r;
        return (z * r).mul_add(z.horner(x.by_type(HALF_WAVE_SINGLE, HALF_WAVE_DOUBLE)), r);
    }
    x.by_type(sine_behind_single as fn(Float<'m>, Float<'m>) -> Float<'m>, sine_behind_double)(x, n)
}

fn sine_behind_single<'m>(x: Float<'m>, n: Float<'m>) -> Float<'m> {
    let sine = |r: Float<'m>, z: Float<'m>, lost: Float<'m>| {
        (z * r).mul_add(z.polynomial(HALF_WAVE_SINGLE), lost) + r
    };
    if x.is_relaxed() {
        // What is lost by rounding `r` is less than a unit in the last place.
        let [front, middle, last] = PI_SINGLE;
        let r = n.mul_add(-middle, n.mul_add(-front, x));
        return sine(r, r * r, n * -last);
    }
    let Pair { high: r, low: lost } = reduced(&PI_SINGLE, x, n);
    let z = r * r;
    // What is lost counts by the cosine, for which a rough one is enough.
    sine(r, z, lost * z.mul_add(-0.405, 1.0))
}

fn sine_behind_double<'m>(x: Float<'m>, n: Float<'m>) -> Float<'m> {
    let r = PI_DOUBLE.iter().fold(x, |r, &part| n.mul_add(-part, r));
    let z = r * r;
    (z * r).mul_add(z.polynomial(HALF_WAVE_DOUBLE), r)
}

pub(super) fn tan<'m>(x: Float<'m>) -> Float<'m> {
    let tangent = x.by_type(near_tan_single as fn(Float<'m>) -> Float<'m>, near_tan_double)(x);
    tangent.rarely(is_large(x), MathOp::Tan, &[x])
}

fn near_tan_double<'m>(x: Float<'m>) -> Float<'m> {
    Angle::near(x).tangent(x)
}

/// By a polynomial with its rounding error: that of a quotient of sine and cosine would be larger.
fn near_tan_single<'m>(x: Float<'m>) -> Float<'m> {
    if x.is_fused() {
        return fused_tan_single(x);
    }
    let size = x.abs();
    let (n, bits) = (size * std::f64::consts::FRAC_2_PI).nearest();
    let Pair { high: r, low: lost } = reduced(HALF_PI_SINGLE, size, n);
    let z = r * r;
    let tail = (z * r).mul_add(z.polynomial(TAN_SINGLE), lost.mul_add(z, lost));
    let tan = Pair::sum(r, tail);
    // The tangent of the angle and a right angle is -1 / tan.
    let is_odd = (bits & bits.constant(1)).equals(1);
    is_odd.select(tan.divides(-1.0), tan.high).flip(x.sign())
}

/// With the rounding error of `r` only.
fn fused_tan_single<'m>(x: Float<'m>) -> Float<'m> {
    let size = x.abs();
    let (n, bits) = size.nearest_product(std::f64::consts::FRAC_2_PI);
    let [front, middle, last] = FUSED_HALF_PI_SINGLE;
    let (near, second) = (n.mul_add(-front, size), n * middle);
    let r = near - second;
    // What the difference and the product lose by rounding.
    let lost = ((near - r) - second) + n.mul_add(-middle, second);
    let lost = n.mul_add(-last, lost);
    let z = r * r;
    let tan = (z * r).mul_add(z.horner(TAN_SINGLE), lost) + r;
    let is_odd = (bits & bits.constant(1)).equals(1);
    let ratio = is_odd.select(-1.0, tan) / is_odd.select(tan, x.constant(1.0));
    ratio.flip(x.sign())
}

/// `sin(pi x)`. Of an integer it is 0 with the sign of the integer.
pub(super) fn sinpi<'m>(x: Float<'m>) -> Float<'m> {
    let sine = Angle::half_turns(x).sine(x);
    let sine = sine.equals(0.0).select(sine.abs().flip(x.sign()), sine);
    unless_infinite(x, sine)
}

/// `cos(pi x)`. Where it is 0, it has no sign.
pub(super) fn cospi<'m>(x: Float<'m>) -> Float<'m> {
    let cosine = Angle::half_turns(x).cosine();
    unless_infinite(x, cosine.equals(0.0).select(0.0, cosine))
}

/// Whether a number is too large for [`Angle::near`], or not finite.
fn is_large<'m>(x: Float<'m>) -> Mask<'m> {
    let single = if x.is_fused() { FUSED_LARGEST_SINGLE } else { LARGEST_SINGLE };
    !x.abs().less(x.by_type(single, LARGEST_DOUBLE))
}

/// `value`, and NaN for an infinite `x` and for NaN.
pub(super) fn unless_infinite<'m>(x: Float<'m>, value: Float<'m>) -> Float<'m> {
    x.abs().less(f64::INFINITY).select(value, x.constant(f64::NAN))
}

/// What is known of the absolute value of an angle.
pub(super) struct Angle<'m> {
    /// The sine and cosine of `r`.
    sin: Float<'m>,
    cos: Float<'m>,
    /// In its low bits, `n`.
    n: Int<'m>,
}

impl<'m> Angle<'m> {
    /// The angle `|x|`, unless it [is large](is_large).
    fn near(x: Float<'m>) -> Angle<'m> {
        let x = x.abs();
        let (n, bits) = x.nearest_product(std::f64::consts::FRAC_2_PI);
        if x.is_fused() {
            let (sin, cos) = sin_cos(fused_rest(x, n, 1.0));
            return Angle { sin, cos, n: bits };
        }
        let (sin, cos) =
            x.by_type(Angle::near_single as fn(Float<'m>, Float<'m>) -> _, Angle::near_double)(x, n);
        Angle { sin, cos, n: bits }
    }

    /// The sine and cosine of `r`, from `x` and `n`.
    fn near_single(x: Float<'m>, n: Float<'m>) -> (Float<'m>, Float<'m>) {
        sin_cos_single(reduced(HALF_PI_SINGLE, x, n))
    }

    fn near_double(x: Float<'m>, n: Float<'m>) -> (Float<'m>, Float<'m>) {
        let r = reduced(HALF_PI_DOUBLE, x, n);
        sin_cos_double(Pair::sum(r.high, r.low))
    }

    /// The angle `|x|` for an `f64` that [is large](is_large) and finite; for others anything.
    ///
    /// `|x| = m 2^e` with an integer `m`. Of `m 2^e 2/pi` multiples of 4 do not matter, so that 192 digits of
    /// 2/pi do, which begin at digit `e - 2`.
    pub fn far(x: Float<'m>) -> Angle<'m> {
        let bits = x.abs().at_least(LARGEST_DOUBLE).bits();
        let int = |number: i64| x.int(number);
        let m = (bits & int((1 << 52) - 1)) | int(1 << 52);
        // Counted from the zeros in front.
        let first = (bits >> 52) - int(1075 - 62);
        let [a, b, c] = digits_from(first);
        // The product's words but for the lowest.
        let (low, carried) = (m * b, m.mul_high(c));
        let middle = low + carried;
        let carry = ((low & carried) | ((low | carried) & !middle)).shr_zero(int(63));
        let upper = m * a + m.mul_high(b) + carry;
        // Two digits are `n`. What follows is the fraction of a right angle.
        let high = (upper << 2) | middle.shr_zero(int(62));
        let low = (middle << 2) | (m * c).shr_zero(int(62));
        // A fraction from a half on is a negative one of the next right angle.
        let sign = high >> 63;
        let (n, high, low) = (upper.shr_zero(int(62)) - sign, high ^ sign, low ^ sign);
        let front = high.shr_zero(int(11)).to_float() * 2f64.powi(-53);
        let back = (high & int(0x7ff)) << 52 | low.shr_zero(int(12));
        let fraction = Pair::sum(front, back.to_float() * 2f64.powi(-116));
        let r = fraction.times(Pair::constant(x, [std::f64::consts::FRAC_PI_2, HALF_PI_REST]));
        let (sin, cos) = sin_cos_double(Pair::sum(r.high, r.low));
        Angle { sin: sin.flip(sign & int(i64::MIN)), cos, n }
    }

    /// The angle `|x|` for an `f32` that [is large](is_large) for an `f64`, and finite; for others anything.
    ///
    /// As above, but `m` has 24 bits, so 96 digits of 2/pi do. No `f32` is so near to a multiple of a right angle that
    /// the 62 that remain behind the point are too few.
    pub fn far_single(x: Float<'m>) -> Angle<'m> {
        let bits = x.abs().at_least(LARGEST_DOUBLE).bits();
        let int = |number: i64| x.int(number);
        let m = (bits.shr_zero(int(29)) & int((1 << 23) - 1)) | int(1 << 23);
        let [a, b] = digits_from((bits >> 52) - int(1023 + 24 - 63));
        // Two digits in front of the point, and 62 behind it. The product's word but one and a half.
        let product = m * a + (m * b.shr_zero(int(32))).shr_zero(int(32));
        let n = (product + int(1 << 61)).shr_zero(int(62));
        let r = (product - (n << 62)).to_float() * (std::f64::consts::FRAC_PI_2 * 2f64.powi(-62));
        let (sin, cos) = sin_cos_double(Pair { high: r, low: x.constant(0.0) });
        Angle { sin, cos, n }
    }

    /// The angle `pi |x|`.
    fn half_turns(x: Float<'m>) -> Angle<'m> {
        let x = x.abs();
        // From here on all numbers are even.
        let is_small = x.less(x.by_type(2f64.powi(24), 2f64.powi(53)));
        let x = is_small.select(x, x.constant(0.0));
        // Without multiples of 16.
        let large = 16.0 * x.by_type(12_582_912.0, 6_755_399_441_055_744.0);
        let x = x - (x + large - large);
        let (n, bits) = (x * 2.0).nearest();
        let r = n.mul_add(-0.5, x);
        let (sin, cos) = x.by_type(Angle::turn_single as fn(Float<'m>) -> _, Angle::turn_double)(r);
        Angle { sin, cos, n: bits }
    }

    /// The sine and cosine of `pi r`.
    fn turn_single(r: Float<'m>) -> (Float<'m>, Float<'m>) {
        const PI: f64 = std::f64::consts::PI;
        let product = Pair::product(r, r.constant(PI));
        sin_cos_single(Pair { low: r.mul_add(PI - PI as f32 as f64, product.low), ..product })
    }

    fn turn_double(r: Float<'m>) -> (Float<'m>, Float<'m>) {
        let product = Pair::product(r, r.constant(std::f64::consts::PI));
        sin_cos_double(Pair { low: r.mul_add(2.0 * HALF_PI_REST, product.low), ..product })
    }

    pub fn sine(&self, x: Float<'m>) -> Float<'m> {
        self.is_odd().select(self.cos, self.sin).flip(self.sign_of_half(self.n) ^ x.sign())
    }

    pub fn cosine(&self) -> Float<'m> {
        let following = self.n + self.n.constant(1);
        self.is_odd().select(self.sin, self.cos).flip(self.sign_of_half(following))
    }

    pub fn tangent(&self, x: Float<'m>) -> Float<'m> {
        let is_odd = self.is_odd();
        let ratio = is_odd.select(-self.cos, self.sin) / is_odd.select(self.sin, self.cos);
        ratio.flip(x.sign())
    }

    fn is_odd(&self) -> Mask<'m> {
        (self.n & self.n.constant(1)).equals(1)
    }

    /// The sign in the second half of a turn.
    fn sign_of_half(&self, quarter: Int<'m>) -> Int<'m> {
        (quarter & quarter.constant(2)) << self.sin.by_type(30, 62)
    }
}

/// Words with the digits of 2/pi from one of them on, counted from the zeros in front.
fn digits_from<'m, const N: usize>(first: Int<'m>) -> [Int<'m>; N] {
    let int = |number: i64| first.constant(number);
    let (word, shift) = (first >> 6, first & int(63));
    std::array::from_fn(|at| {
        let [high, low] = [at, at + 1].map(|at| (word + int(at as i64)).lookup(&TWO_OVER_PI));
        high.shl(shift) | low.shr_zero(int(1)).shr_zero(int(63) - shift)
    })
}

/// `r = x - n p`, given a period `p` in parts.
fn reduced<'m>(period: &[f64], x: Float<'m>, n: Float<'m>) -> Pair<'m> {
    let near = n.mul_add(-period[0], x);
    let second = n * period[1];
    let r = near - second;
    let lost = (near - r) - second;
    let lost = period[2..].iter().fold(lost, |lost, part| n.mul_add(-part, lost));
    Pair { high: r, low: lost }
}

/// `x - n p`, by fused operations, given a period `p` in right angles.
fn fused_rest<'m>(x: Float<'m>, n: Float<'m>, right_angles: f64) -> Float<'m> {
    let parts = x.by_type(FUSED_HALF_PI_SINGLE, FUSED_HALF_PI_DOUBLE);
    parts.iter().fold(x, |rest, &part| n.mul_add(-part * right_angles, rest))
}

fn sin_cos<'m>(r: Float<'m>) -> (Float<'m>, Float<'m>) {
    let (sin, cos) = r.by_type((SIN_SINGLE, COS_SINGLE), (SIN_DOUBLE, COS_DOUBLE));
    let z = r * r;
    ((z * r).mul_add(z.polynomial(sin), r), z.mul_add(z.mul_add(z.polynomial(cos), -0.5), 1.0))
}

fn sin_cos_single<'m>(r: Pair<'m>) -> (Float<'m>, Float<'m>) {
    let Pair { high: r, low: lost } = r;
    let z = r * r;
    let sin = (z * r).mul_add(z.polynomial(SIN_SINGLE), lost) + r;
    let cos = (z * z).mul_add(z.polynomial(COS_SINGLE), z.mul_add(-0.5, 1.0));
    (sin, cos)
}

/// With what `r` loses by rounding: a quotient of the two would make it worse.
fn sin_cos_double<'m>(r: Pair<'m>) -> (Float<'m>, Float<'m>) {
    let Pair { high: r, low: lost } = r;
    let z = r * r;
    let sin = (z * r).mul_add(z.polynomial(SIN_DOUBLE), lost) + r;
    let tail = (z * z).mul_add(z.polynomial(COS_DOUBLE), -(r * lost));
    (sin, z.mul_add(-0.5, 1.0) + tail)
}
