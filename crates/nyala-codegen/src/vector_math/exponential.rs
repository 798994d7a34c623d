//! Powers of e, 2 and 10, and hyperbolic functions: `b^x = 2^n b^r`, where `n` is an integer and `r` so
//! small that a short polynomial gives `b^r`.

use super::pair::Pair;
use super::value::{Float, Int};

const LOG2_E: f64 = std::f64::consts::LOG2_E;

/// ln 2 in two parts. The first has few bits, so that its product with `n` is exact.
const LN_2_SINGLE: [f64; 2] = [0.693145751953125, 1.428606765330187e-6];
const LN_2_DOUBLE: [f64; 2] = [0.693147180559663, 2.8235290563031577e-13];

/// log10 2 in two parts, likewise.
const LOG10_2_SINGLE: [f64; 2] = [0.301025390625, 4.605039066518657e-6];
const LOG10_2_DOUBLE: [f64; 2] = [0.30102999566383914, 1.42050232272661e-13];

/// ln 10, and what is lost of it by rounding to `f32` and to `f64`.
const LN_10: f64 = std::f64::consts::LN_10;
const LN_10_REST_SINGLE: f64 = LN_10 - LN_10 as f32 as f64;
const LN_10_REST_DOUBLE: f64 = -2.1707562233822494e-16;

/// `(e^r - 1 - r) / r^2` for `|r| <= ln 2 / 2`.
const EXP_SINGLE: &[f64] = &[
    0.4999999403953552,
    0.1666652113199234,
    0.04166838899254799,
    0.00836874544620514,
    0.0013814540579915047,
];
const EXP_DOUBLE: &[f64] = &[
    0.5000000000000006,
    0.1666666666666667,
    0.04166666666657277,
    0.008333333333326112,
    0.0013888888932619618,
    0.0001984126987490109,
    2.4801504180854698e-5,
    2.7557255298142777e-6,
    2.762642637037528e-7,
    2.510525947735558e-8,
];

/// `(2^r - 1) / r` for `|r| <= 1 / 2`.
pub(super) const EXP2_SINGLE: &[f64] = &[
    0.6931471824645996,
    0.24022647738456726,
    0.055503323674201965,
    0.009618437848985195,
    0.0013398900628089905,
    0.0001535334304207936,
];
pub(super) const EXP2_DOUBLE: &[f64] = &[
    std::f64::consts::LN_2,
    0.24022650695910133,
    0.055504108664820175,
    0.009618129107593762,
    0.0013333558146756581,
    0.00015403530457538424,
    1.5252733508996427e-5,
    1.321543507984209e-6,
    1.0178193327927719e-7,
    7.073816742752362e-9,
    4.4356729212024074e-10,
];

/// `(tanh x - x) / x^3` as a function of `x^2`, for `|x| <= 1`.
const TANH_SINGLE: &[f64] = &[
    -0.33333295583724976,
    0.13332344591617584,
    -0.05387979745864868,
    0.02148664928972721,
    -0.007946102879941463,
    0.0023013660684227943,
    -0.000358453398803249,
];

/// `(sinh x - x) / x^3` as a function of `x^2`, for `|x| <= 1`.
const SINH_SINGLE: &[f64] =
    &[0.1666666716337204, 0.008333350531756878, 0.00019836064893752337, 2.8174456474516774e-6];

/// Where a function of `f32` or `f64` is 0, and the least number for which it is infinite.
struct Range {
    zero: f64,
    infinite: f64,
}

pub(super) fn exp<'m>(x: Float<'m>) -> Float<'m> {
    let range = match x.is_relaxed() {
        true => x.by_type(Range { zero: -88.0, infinite: 88.9 }, Range { zero: -709.4, infinite: 709.9 }),
        false => x.by_type(
            Range { zero: -105.0, infinite: 88.72283935546875 },
            Range { zero: -746.0, infinite: 709.7827128933841 },
        ),
    };
    let (r, n) = reduced(limited(x, &range));
    scaled_in(&range, exp_of_rest(r), n, x)
}

/// `x` where the function is 0 or more. Relaxed, 0 is given where `n` is the number of the lowest exponent, which is
/// that of 0. Beyond the upper limit it need not be right, unless [`scaled_in`] relies on it.
fn limited<'m>(x: Float<'m>, range: &Range) -> Float<'m> {
    match (x.has_exponents(), x.is_relaxed()) {
        // The function of the limit is infinite.
        (true, false) => x.at_least(range.zero).at_most(range.infinite + 0.7),
        (true, true) => x.at_most(range.infinite + 0.7),
        (false, true) => x.at_least(range.zero).below(range.infinite),
        (false, false) => x.at_least(range.zero),
    }
}

/// `power * 2^n`, and infinite where the range ends. The results just before are so far from infinite that they cannot
/// be rounded to more.
fn scaled_in<'m>(range: &Range, power: Float<'m>, n: Exponent<'m>, argument: Float<'m>) -> Float<'m> {
    match (power.has_exponents(), power.is_relaxed()) {
        (true, _) => unless_tiny(argument, range.zero, power.scaled(n.value)),
        (_, true) => power * power_of_2(n.bits),
        _ => argument.less(range.infinite).select(scaled(power, n).as_float(), argument + f64::INFINITY),
    }
}

/// `result`; relaxed, 0 for arguments below a limit. What is computed with numbers below the normal ones may take longer.
pub(super) fn unless_tiny<'m>(argument: Float<'m>, zero: f64, result: Float<'m>) -> Float<'m> {
    if result.is_relaxed() { argument.less(zero).select(0.0, result) } else { result }
}

/// `e^(x.high + x.low) * (factor.high + factor.low)`, also where the power alone would be below the normal numbers; `x`
/// is negative.
pub(super) fn scaled_exp<'m>(x: Pair<'m>, factor: Pair<'m>) -> Float<'m> {
    let low = match x.high.is_relaxed() && !x.high.has_exponents() {
        true => x.high.by_type(-88.0, -709.4),
        false => x.high.by_type(-120.0, -800.0),
    };
    let is_small = x.high.less(low);
    let high = x.high.at_least(low);
    let n = Exponent::nearest(high * LOG2_E);
    let [first, second] = high.by_type(LN_2_SINGLE, LN_2_DOUBLE);
    let rest = n.value.mul_add(-second, is_small.select(0.0, x.low));
    let power = exp_minus_1(n.value.mul_add(-first, high) + rest);
    scale(power.mul_add(factor.high, factor.low) + factor.high, n, x.high)
}

/// `e^x - 1`.
pub(super) fn expm1<'m>(x: Float<'m>) -> Float<'m> {
    // Below the limits it is -1, above infinite.
    let (low, high) = x.by_type((-20.0, 88.9), (-40.0, 709.9));
    let (r, n) = reduced(x.at_least(low).at_most(high));
    // Half of the result, as 2^n may be infinite.
    let (power, half) = (exp_minus_1(r), power_of_2(n.bits - n.bits.constant(1)));
    let result = power.mul_add(half, half - 0.5) * 2.0;
    // Where `n` is 0, no digit is lost, and -0 stays what it is.
    let is_near = x.abs().less(std::f64::consts::LN_2 / 2.0);
    is_near.select(power.abs().flip(x.sign()), result)
}

pub(super) fn exp10<'m>(x: Float<'m>) -> Float<'m> {
    let range = match x.is_relaxed() {
        true => x.by_type(Range { zero: -38.2, infinite: 38.6 }, Range { zero: -308.0, infinite: 308.3 }),
        false => x.by_type(
            Range { zero: -46.0, infinite: 38.53184127807617 },
            Range { zero: -325.0, infinite: 308.25471555991675 },
        ),
    };
    let limited = limited(x, &range);
    let n = Exponent::nearest_product(limited, std::f64::consts::LOG2_10);
    let [high, low] = x.by_type(LOG10_2_SINGLE, LOG10_2_DOUBLE);
    let r = n.value.mul_add(-low, n.value.mul_add(-high, limited));
    let rest = r * x.by_type(LN_10_REST_SINGLE, LN_10_REST_DOUBLE);
    let r = r.mul_add(LN_10, rest);
    scaled_in(&range, exp_minus_1(r) + 1.0, n, x)
}

/// `r` and `n`.
fn reduced<'m>(x: Float<'m>) -> (Float<'m>, Exponent<'m>) {
    let n = Exponent::nearest_product(x, LOG2_E);
    let [high, low] = x.by_type(LN_2_SINGLE, LN_2_DOUBLE);
    (n.value.mul_add(-low, n.value.mul_add(-high, x)), n)
}

/// `e^r` for `|r| <= ln 2 / 2`.
fn exp_of_rest<'m>(r: Float<'m>) -> Float<'m> {
    let tail = r.polynomial(r.by_type(EXP_SINGLE, EXP_DOUBLE));
    tail.mul_add(r, 1.0).mul_add(r, 1.0)
}

/// `e^r - 1` for `|r| <= ln 2 / 2`.
fn exp_minus_1<'m>(r: Float<'m>) -> Float<'m> {
    let tail = r.polynomial(r.by_type(EXP_SINGLE, EXP_DOUBLE));
    (r * r).mul_add(tail, r)
}

pub(super) fn exp2<'m>(x: Float<'m>) -> Float<'m> {
    let range = match x.is_relaxed() {
        true => x.by_type(Range { zero: -127.0, infinite: 128.0 }, Range { zero: -1023.0, infinite: 1024.0 }),
        false => {
            x.by_type(Range { zero: -151.0, infinite: 128.0 }, Range { zero: -1080.0, infinite: 1024.0 })
        }
    };
    if x.has_exponents() {
        let r = x.fraction();
        return unless_tiny(x, range.zero, exp2_of_rest(r).scaled(x - r));
    }
    let limited = limited(x, &range);
    let n = Exponent::nearest(limited);
    scaled_in(&range, exp2_of_rest(limited - n.value), n, x)
}

/// `2^r` for `|r| <= 1/2`.
pub(super) fn exp2_of_rest<'m>(r: Float<'m>) -> Float<'m> {
    r.polynomial(r.by_type(EXP2_SINGLE, EXP2_DOUBLE)).mul_add(r, 1.0)
}

/// By `t = e^|x| - 1`: `(t + t / (t + 1)) / 2`.
pub(super) fn sinh<'m>(x: Float<'m>) -> Float<'m> {
    let (power, quarter) = large_exp_minus_1(x.abs());
    let t = power.mul_add(quarter, quarter - 0.25);
    let half = t + t / t.mul_add(4.0, 1.0);
    or_small(x, half + half, SINH_SINGLE)
}

pub(super) fn cosh<'m>(x: Float<'m>) -> Float<'m> {
    let (power, quarter) = large_exp_minus_1(x.abs());
    let t = power.mul_add(quarter, quarter);
    let half = t + t.constant(0.0625) / t;
    half + half
}

/// `p` and `q` for which `e^x` is `4 (p + 1) q`, for positive `x`. The product without 4 is finite where `e^x / 2` is.
fn large_exp_minus_1<'m>(x: Float<'m>) -> (Float<'m>, Float<'m>) {
    // From here on `e^x / 2` is infinite.
    let (r, n) = reduced(x.at_most(x.by_type(89.5, 710.6)));
    (exp_minus_1(r), power_of_2(n.bits - n.bits.constant(2)))
}

/// By `t = e^|2x| - 1`: `t / (t + 2)`.
pub(super) fn tanh<'m>(x: Float<'m>) -> Float<'m> {
    // From here on it is 1.
    let size = x.abs().at_most(x.by_type(10.0, 20.0));
    let (r, n) = reduced(size + size);
    let power = power_of_2(n.bits);
    let t = exp_minus_1(r).mul_add(power, power - 1.0);
    or_small(x, t / (t + 2.0), TANH_SINGLE)
}

/// `size` with the sign of `x`; for an `f32` below 1 `x + x^3 p(x^2)`, which is more exact, unless relaxed.
fn or_small<'m>(x: Float<'m>, size: Float<'m>, p: &[f64]) -> Float<'m> {
    if x.is_relaxed() || x.by_type(false, true) {
        return size.flip(x.sign());
    }
    let square = x * x;
    let small = (square * x).mul_add(square.polynomial(p), x);
    x.abs().less(1.0).select(small.abs(), size).flip(x.sign())
}

/// An integer: as a float and, in the low bits, as an integer.
#[derive(Clone, Copy)]
pub(super) struct Exponent<'m> {
    pub value: Float<'m>,
    pub bits: Int<'m>,
}

impl<'m> Exponent<'m> {
    /// The nearest one to a number below 2^20.
    pub fn nearest(x: Float<'m>) -> Exponent<'m> {
        let (value, bits) = x.nearest();
        Exponent { value, bits }
    }

    /// The nearest one to a product, or, rarely, the next.
    pub fn nearest_product(x: Float<'m>, factor: f64) -> Exponent<'m> {
        let (value, bits) = x.nearest_product(factor);
        Exponent { value, bits }
    }
}

/// `x * 2^n` for a positive `x`; unless relaxed, `n` may be too large or small for an exponent. It is infinite if it is
/// too large for a float, and NaN if the `argument` is.
pub(super) fn scale<'m>(x: Float<'m>, n: Exponent<'m>, argument: Float<'m>) -> Float<'m> {
    if x.has_exponents() {
        return x.scaled(n.value);
    }
    if x.is_relaxed() {
        return x * power_of_2(n.bits);
    }
    let result = scaled(x, n);
    let is_finite = result.less(x.constant(f64::INFINITY).bits());
    is_finite.select(result.as_float(), argument + f64::INFINITY)
}

/// The bits of `x * 2^n`; more than those of an infinite number if it is too large.
///
/// No operation gives a number below the normal ones: processors may need a hundred cycles for it. The digits of
/// such a result are those of an integer, its multiple of the smallest number.
fn scaled<'m>(x: Float<'m>, n: Exponent<'m>) -> Int<'m> {
    let (digits, lowest) = x.by_type((23, 149), (52, 1074));
    let usual = x.bits() + (n.bits << digits);
    let multiple = (usual + x.int(lowest << digits)).as_float();
    // The last place of this number is 1.
    let unit = (1_u64 << digits) as f64;
    let small = (multiple + unit).bits() - x.constant(unit).bits();
    // Of a normal number, `small` has an exponent that is less, or is negative.
    usual.max(small)
}

/// `2^n`, where `n` is in the low bits.
pub(super) fn power_of_2<'m>(n: Int<'m>) -> Float<'m> {
    let (bias, digits) = n.as_float().by_type((127, 23), (1023, 52));
    ((n + n.constant(bias)) << digits).as_float()
}
