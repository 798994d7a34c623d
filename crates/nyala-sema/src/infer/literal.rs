//! Literals. Their types come from the context; their ranges are checked when the
//! types are known.
//!
//! While a body is checked, `ExprKind::Lit` and `PatKind::Lit` hold the number of
//! a [`PendingLit`]; [`Checker::literal_bits`] computes the bits at the end.

use std::cmp::Ordering;

use half::f16;
use nyala_span::{Name, Span};
use nyala_syntax::ast::{self, Dialect, LitKind};

use crate::checker::Checker;
use crate::errors::Error;
use crate::tree::{Expr, ExprKind};
use crate::types::{Prim, Ty, TyKind};

use super::unify::{Origin, VarKind};

/// A literal of unknown type.
#[derive(Clone, Copy)]
pub(crate) struct PendingLit {
    value: LitValue,
    /// Whether it has a minus sign.
    neg: bool,
    /// Whether the minus sign wraps if the type is unsigned, as in Artic.
    wraps: bool,
    span: Span,
}

#[derive(Clone, Copy)]
enum LitValue {
    Int(u64),
    Float(Name),
}

impl<'a> Checker<'a> {
    /// A literal expression; it takes the type `hint` if possible.
    pub(super) fn literal(&mut self, lit: &'a ast::Lit, neg: bool, span: Span, hint: Option<Ty>) -> Expr {
        if let LitKind::Str(text) = &lit.kind {
            return self.string(text, span);
        }
        match self.pending_literal(lit, neg, span) {
            Some((index, ty)) => {
                self.adopt_hint(ty, hint);
                Expr { kind: ExprKind::Lit(index), ty, span }
            }
            None => self.error_expr(span),
        }
    }

    pub(super) fn string(&mut self, text: &ast::StrLit, span: Span) -> Expr {
        let mut bytes = text.bytes.clone();
        bytes.push(0);
        let u8 = self.program.types.prim(Prim::U8);
        let ty = self.program.types.array(u8, bytes.len() as u64);
        Expr { kind: ExprKind::Str(bytes), ty, span }
    }

    /// Binds a literal's variable to the hint, to its target if the hint is a pointer, or to its lane if it is a
    /// vector.
    fn adopt_hint(&mut self, ty: Ty, hint: Option<Ty>) {
        let Some(hint) = hint else { return };
        let mut hint = self.resolve(hint);
        if let TyKind::Ptr { pointee, .. } = *self.program.types.kind(hint) {
            hint = self.resolve(pointee);
        }
        if let TyKind::Simd(lane, _) = *self.program.types.kind(hint) {
            hint = self.resolve(lane);
        }
        if matches!(self.program.types.kind(hint), TyKind::Prim(_)) && self.as_var(ty).is_some() {
            self.try_unify(ty, hint);
        }
    }

    /// The number of a pending literal, and its type; `None` for strings and malformed literals.
    pub(super) fn pending_literal(&mut self, lit: &ast::Lit, neg: bool, span: Span) -> Option<(u64, Ty)> {
        let (value, kind, suffix) = match &lit.kind {
            LitKind::Bool(value) => return Some(self.fixed_literal(u64::from(*value), Prim::Bool, span)),
            LitKind::Char(value) if !neg => {
                return Some(self.fixed_literal(u64::from(*value), Prim::U8, span));
            }
            LitKind::Char(value) => (LitValue::Int(u64::from(*value)), VarKind::Num, Some(Prim::U8)),
            LitKind::Int { value, suffix } => (LitValue::Int((*value)?), VarKind::Num, *suffix),
            LitKind::Float { digits, suffix } => (LitValue::Float(*digits), VarKind::Float, *suffix),
            LitKind::Str(_) | LitKind::Error => return None,
        };
        let ty = match suffix {
            Some(prim) => self.program.types.prim(prim),
            None => self.fresh(kind, Origin::Expr(span)),
        };
        let wraps = self.body.home.dialect == Dialect::Artic;
        Some((self.push_literal(PendingLit { value, neg, wraps, span }), ty))
    }

    pub(super) fn fixed_literal(&mut self, bits: u64, prim: Prim, span: Span) -> (u64, Ty) {
        let value = LitValue::Int(bits);
        let index = self.push_literal(PendingLit { value, neg: false, wraps: false, span });
        (index, self.program.types.prim(prim))
    }

    fn push_literal(&mut self, literal: PendingLit) -> u64 {
        self.body.literals.push(literal);
        self.body.literals.len() as u64 - 1
    }

    /// A synthesized literal: `true` for a filter that always holds.
    pub(super) fn true_literal(&mut self, span: Span) -> Expr {
        let (index, ty) = self.fixed_literal(1, Prim::Bool, span);
        Expr { kind: ExprKind::Lit(index), ty, span }
    }

    /// The bits of a literal of known type; reports values out of range.
    pub(super) fn literal_bits(&mut self, index: u64, ty: Ty) -> u64 {
        let literal = self.body.literals[index as usize];
        let TyKind::Prim(prim) = *self.program.types.kind(ty) else { return 0 };
        let bits = match literal.value {
            LitValue::Int(value) if prim.is_float() => int_as_float(value, literal.neg, prim),
            LitValue::Int(value) if literal.neg && literal.wraps && !prim.is_signed() => {
                int_bits(value, false, prim).map(|bits| bits.wrapping_neg() & mask(prim))
            }
            LitValue::Int(value) => int_bits(value, literal.neg, prim),
            LitValue::Float(digits) => float_bits(digits.as_str(), literal.neg, prim),
        };
        bits.unwrap_or_else(|| {
            let sign = if literal.neg { "-" } else { "" };
            let text = match literal.value {
                LitValue::Int(value) => format!("{sign}{value}"),
                LitValue::Float(digits) => format!("{sign}{digits}"),
            };
            self.report(Error::LiteralRange { text, ty, span: literal.span });
            0
        })
    }
}

/// All bits of an integer.
fn mask(prim: Prim) -> u64 {
    u64::MAX >> (64 - prim.bits())
}

/// The bits of an integer literal with its sign, if it is in range.
fn int_bits(value: u64, neg: bool, prim: Prim) -> Option<u64> {
    let (width, mask) = (prim.bits(), mask(prim));
    let max = match (prim.is_signed(), neg) {
        (true, true) => 1 << (width - 1),
        (true, false) => mask >> 1,
        (false, true) => 0,
        (false, false) => mask,
    };
    let bits = if neg { value.wrapping_neg() } else { value };
    (value <= max).then_some(bits & mask)
}

/// The bits of the float nearest to an integer; `None` if it is too large.
fn int_as_float(value: u64, neg: bool, prim: Prim) -> Option<u64> {
    Some(match prim {
        Prim::F16 => {
            // Every value that `f32` would round is too large.
            finite_f16(f16::from_f32(value as f32), neg)?
        }
        Prim::F32 => u64::from(if neg { -(value as f32) } else { value as f32 }.to_bits()),
        _ => signed(value as f64, neg).to_bits(),
    })
}

fn signed(value: f64, neg: bool) -> f64 {
    if neg { -value } else { value }
}

/// The bits of the value nearest to a decimal number; `None` if it is too large.
fn float_bits(digits: &str, neg: bool, prim: Prim) -> Option<u64> {
    match prim {
        Prim::F32 => {
            let value: f32 = digits.parse().ok()?;
            value.is_finite().then(|| u64::from(if neg { -value } else { value }.to_bits()))
        }
        Prim::F16 => finite_f16(nearest_f16(digits)?, neg),
        _ => {
            let value: f64 = digits.parse().ok()?;
            value.is_finite().then(|| signed(value, neg).to_bits())
        }
    }
}

fn finite_f16(value: f16, neg: bool) -> Option<u64> {
    let value = if neg { -value } else { value };
    value.is_finite().then(|| u64::from(value.to_bits()))
}

/// The half float nearest to a non-negative decimal number. The number is first
/// rounded to `f32`. If that is halfway between two half floats, the digits decide.
fn nearest_f16(digits: &str) -> Option<f16> {
    let wide: f32 = digits.parse().ok()?;
    let (below, above) = (f16::from_f32(wide.next_down()), f16::from_f32(wide.next_up()));
    if below == above {
        return Some(f16::from_f32(wide));
    }
    // A value halfway between two half floats has at most 25 places.
    let middle = format!("{wide:.25}");
    Some(match Decimal::of(digits)?.cmp(&Decimal::of(&middle)?) {
        Ordering::Less => below,
        Ordering::Equal => f16::from_f32(wide),
        Ordering::Greater => above,
    })
}

/// A positive decimal number `0.DIGITS * 10^exponent`; the first digit is not 0, so the
/// derived order is the order of numbers.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Decimal {
    exponent: i64,
    digits: String,
}

impl Decimal {
    fn of(text: &str) -> Option<Decimal> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        let digits = all.trim_start_matches('0');
        let zeros = (all.len() - digits.len()) as i64;
        let exponent = exponent.parse::<i64>().ok()?.checked_add(whole.len() as i64 - zeros)?;
        Some(Decimal { exponent, digits: digits.trim_end_matches('0').into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_integer_is_in_range() {
        assert_eq!(int_bits(1 << 31, true, Prim::I32), Some(0x8000_0000));
        assert_eq!(int_bits(1 << 31, false, Prim::I32), None);
        assert_eq!(int_bits(1, true, Prim::U8), None);
        assert_eq!(int_bits(0, true, Prim::U8), Some(0));
        assert_eq!(int_bits(128, true, Prim::I8), Some(0x80));
        assert_eq!(int_bits(129, true, Prim::I8), None);
        assert_eq!(int_bits(u64::MAX, false, Prim::U64), Some(u64::MAX));
    }

    #[test]
    fn floats_are_rounded_once() {
        assert_eq!(float_bits("0.1", false, Prim::F32), Some(u64::from(0.1f32.to_bits())));
        assert_eq!(float_bits("0.0", true, Prim::F64), Some((-0.0f64).to_bits()));
        assert_eq!(int_as_float(16_777_217, false, Prim::F32), Some(u64::from(16_777_216f32.to_bits())));
        assert_eq!(int_as_float(65520, false, Prim::F16), None);
    }

    #[test]
    fn half_floats_are_rounded_once() {
        // 1 + 2^-11 is halfway between 1 and the next half float.
        let middle = "1.00048828125";
        let half = |digits: &str| float_bits(digits, false, Prim::F16);
        assert_eq!(half(middle), Some(0x3c00));
        assert_eq!(half(&format!("{middle}00000000000000000000001")), Some(0x3c01));
        assert_eq!(half("1.0004882812499999999999999999999"), Some(0x3c00));
        assert_eq!(half("0.000000100048828125000000000000000001e7"), Some(0x3c01));
        // 2^-25 is halfway between 0 and the smallest half float.
        assert_eq!(half("2.98023223876953125e-8"), Some(0));
        assert_eq!(half("2.980232238769531250001e-8"), Some(1));
        assert_eq!(half("65519.999999999999999999999999"), Some(0x7bff));
        assert_eq!(half("65520.0"), None);
        assert_eq!(half("0.0"), Some(0));
        assert_eq!(float_bits("1.5", true, Prim::F16), Some(0xbe00));
    }
}
