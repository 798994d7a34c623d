//! Arithmetic with twice the digits.

use super::value::Float;

/// The sum of two numbers, of which the second is so small that it is lost when they are added.
#[derive(Clone, Copy)]
pub(super) struct Pair<'m> {
    pub high: Float<'m>,
    pub low: Float<'m>,
}

impl<'m> Pair<'m> {
    pub fn constant(like: Float<'m>, [high, low]: [f64; 2]) -> Pair<'m> {
        Pair { high: like.constant(high), low: like.constant(low) }
    }

    /// Exactly `a + b`, where `a` is 0 or not smaller than `b`.
    pub fn sum(a: Float<'m>, b: Float<'m>) -> Pair<'m> {
        let high = a + b;
        Pair { high, low: b - (high - a) }
    }

    /// Exactly `a * b`.
    pub fn product(a: Float<'m>, b: Float<'m>) -> Pair<'m> {
        let high = a * b;
        Pair { high, low: product_rest(a, b, high) }
    }

    /// `numerator / self`, rounded about once.
    pub fn divides(self, numerator: f64) -> Float<'m> {
        let quotient = self.high.constant(numerator) / self.high;
        let product = Pair::product(quotient, self.high);
        let rest = (product.high - numerator) + product.low;
        let error = quotient.mul_add(self.low, rest);
        quotient.mul_add(error * (-1.0 / numerator), quotient)
    }

    pub fn times(self, other: Pair<'m>) -> Pair<'m> {
        let product = Pair::product(self.high, other.high);
        product.plus(self.high.mul_add(other.low, self.low * other.high))
    }

    /// With something added that is not larger than the second part.
    pub fn plus(self, low: Float<'m>) -> Pair<'m> {
        Pair { low: self.low + low, ..self }
    }
}

/// `a * b - product`, given the rounded product. Without fused operations, halves of the digits have products without
/// rounding (Dekker).
pub(super) fn product_rest<'m>(a: Float<'m>, b: Float<'m>, product: Float<'m>) -> Float<'m> {
    if a.is_fused() {
        return a.mul_add(b, -product);
    }
    let halves = |x: Float<'m>| {
        let high = (x.bits() & x.int(x.by_type(!0xfff, !0x7ff_ffff))).as_float();
        (high, x - high)
    };
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    a_high * b_high - product + a_high * b_low + a_low * b_high + a_low * b_low
}
