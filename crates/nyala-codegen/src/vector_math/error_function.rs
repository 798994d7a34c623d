//! The error function: `x + x p(x^2)` for small numbers, and `1 - e^(-x^2) q(x)` for others. What is
//! left to 1, for large numbers: `e^(-x^2) p(t) / x`, where `t` grows with `x` from -1 to 1
//! (after Shepherd and Laframboise).

use super::exponential::{exp, scaled_exp};
use super::pair::Pair;
use super::value::Float;

/// `(1 - erf x) e^(x^2)` for `1 <= x <= 4`, and for `1 <= x <= 6`.
const LARGE_SINGLE: &[f64] = &[
    0.986325204372406,
    -1.0491018295288086,
    0.7942801713943481,
    -0.4334137737751007,
    0.16518139839172363,
    -0.041369665414094925,
    0.006076667923480272,
    -0.00039465492591261864,
];
const LARGE_DOUBLE: &[f64] = &[
    0.999996153230042,
    -1.1283344833410134,
    0.9997545644234697,
    -0.7514041514167197,
    0.4979251685651778,
    -0.29708024352060086,
    0.1611525144544616,
    -0.07956217762205858,
    0.035541845207012736,
    -0.01421325861158688,
    0.00502020959861489,
    -0.0015432116187087147,
    0.00040655033054334664,
    -9.030078404559596e-5,
    1.6604083949457292e-5,
    -2.472427163977632e-6,
    2.897042571377364e-7,
    -2.564631378198864e-8,
    1.6089343725845756e-9,
    -6.363581868819952e-11,
    1.1912853327075048e-12,
];

/// `erf x / x - 1` as a function of `1 - x^2`, for `|x| <= 1`. Near 1, where `1 - erf x` is small, it has a small
/// error.
const BELOW_1_SINGLE: &[f64] = &[
    -0.15729920566082,
    0.21379661560058594,
    0.05657137930393219,
    0.012544303201138973,
    0.002351710107177496,
    0.00033934079692699015,
    7.501678919652477e-5,
];

/// `erf x / x - 1` as a function of `x^2`, for `|x| <= 1`.
const NEAR_SINGLE: &[f64] = &[
    0.12837916612625122,
    -0.37612637877464294,
    0.11283782869577408,
    -0.026865443214774132,
    0.0052210683934390545,
    -0.0008484629797749221,
    0.00011270033428445458,
    -9.678874448582064e-6,
];
const NEAR_DOUBLE: &[f64] = &[
    0.1283791670955126,
    -0.3761263890318375,
    0.11283791670954885,
    -0.026866170645077812,
    0.005223977624827811,
    -0.0008548326981389527,
    0.00012055331131619993,
    -1.4925595739437751e-5,
    1.6461007941203942e-6,
    -1.6350390407740007e-7,
    1.4660288740163136e-8,
    -1.1374797812044864e-9,
    5.960412513780626e-11,
];

/// `t = (x - c) / (x + c)` with this `c`.
const CENTRE_SINGLE: f64 = 2.25;
const CENTRE_DOUBLE: f64 = 3.75;

/// `x e^(x^2) erfc x` as a function of `t`, for `1 <= x <= 11` and `1 <= x <= 28`.
const FAR_SINGLE: &[f64] = &[
    0.5199463367462158,
    0.14396682381629944,
    -0.19022074341773987,
    0.13515327870845795,
    -0.05241138115525246,
    0.004029282368719578,
    0.0054349410347640514,
    -0.0012607958633452654,
    -0.0007582156686112285,
    0.00030796261853538454,
];
const FAR_DOUBLE: &[f64] = &[
    0.5459614547813946,
    0.06659066645493969,
    -0.11121132571557883,
    0.1229243170070436,
    -0.10570412108695845,
    0.07355332392729177,
    -0.041418311281212636,
    0.018291449294389143,
    -0.005774770989022567,
    0.0008905805028583245,
    0.00022308822092861674,
    -0.00016902582276959942,
    2.4032126151776606e-5,
    1.4281293959420129e-5,
    -6.093326798014992e-6,
    -8.101855355639255e-7,
    9.583199632299223e-7,
    -6.778719428875282e-10,
    -1.2954559659619531e-7,
    1.0986320382020953e-8,
    9.281192036019612e-9,
];

pub(super) fn erf<'m>(x: Float<'m>) -> Float<'m> {
    let rest = (x * x).polynomial(x.by_type(NEAR_SINGLE, NEAR_DOUBLE));
    let small = x.mul_add(rest, x);
    // From here on it is 1.
    let size = x.abs().at_most(x.by_type(4.0, 6.0));
    let rest = exp(-(size * size)) * size.horner(x.by_type(LARGE_SINGLE, LARGE_DOUBLE));
    let large = (size.constant(1.0) - rest).flip(x.sign());
    x.abs().less(1.0).select(small, large)
}

/// `1 - erf x`.
pub(super) fn erfc<'m>(x: Float<'m>) -> Float<'m> {
    let rest = match x.by_type(true, false) {
        true => x.mul_add(-x, 1.0).polynomial(BELOW_1_SINGLE),
        false => (x * x).polynomial(NEAR_DOUBLE),
    };
    let linear = Pair::sum(x.constant(1.0), -x);
    let near = linear.high - (x * rest - linear.low);
    // From here on it is 0.
    let size = x.abs().at_most(x.by_type(11.0, 28.0));
    let centre = x.by_type(CENTRE_SINGLE, CENTRE_DOUBLE);
    let t = (size - centre) / (size + centre);
    let (first, others) = x.by_type(FAR_SINGLE, FAR_DOUBLE).split_first().expect("it is not empty");
    // `product / size` with what both lose by rounding.
    let product = Pair::sum(t.constant(*first), t * t.polynomial(others));
    let quotient = product.high / size;
    let back = Pair::product(quotient, size);
    let lost = ((product.high - back.high) - back.low + product.low) / size;
    let factor = Pair { high: quotient, low: lost };
    let square = Pair::product(size, size);
    let far = scaled_exp(Pair { high: -square.high, low: -square.low }, factor);
    let far = x.less(0.0).select(far.constant(2.0) - far, far);
    // NaN is near.
    x.constant(x.by_type(1.0 - 2f64.powi(-24), 1.0 - 2f64.powi(-53))).less(x.abs()).select(far, near)
}
