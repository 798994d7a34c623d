//! Numbers in types: lengths of arrays, lanes of vectors, and arguments of integer parameters.
//!
//! A number is a [`Ty`] like any other, so that generic arguments are one list and inference finds
//! numbers as it finds types. It is a literal, an integer parameter, a variable of inference, or
//! arithmetic over those, in mathematical integers: nothing wraps.
//!
//! # Invariants
//!
//! * Where a type is expected there is no number, and the other way round: written types are checked
//!   when they are converted, and everything else keeps the kind of what it replaces.
//! * [`Types::arith`] folds, so arithmetic over known numbers remains only where it has no value:
//!   a division by zero, and results beyond [`MAX_NUMBER`].

use nyala_span::Prim;
use nyala_syntax::ast::BinaryOp;

use super::{ParamKind, Ty, TyKind, TyParam, Types};

/// How many elements an array may have.
pub const MAX_ARRAY_LEN: u64 = i32::MAX as u64;

/// How many lanes a vector may have.
pub const MAX_LANES: u64 = 1024;

/// Beyond this, and below its negative, arithmetic has no value: no integer type goes further.
const MAX_NUMBER: i128 = u64::MAX as i128;

/// An operator in a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum NumberOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl NumberOp {
    /// The operator of the language, if numbers have it.
    pub fn of(op: BinaryOp) -> Option<NumberOp> {
        Some(match op {
            BinaryOp::Add => NumberOp::Add,
            BinaryOp::Sub => NumberOp::Sub,
            BinaryOp::Mul => NumberOp::Mul,
            BinaryOp::Div => NumberOp::Div,
            BinaryOp::Rem => NumberOp::Rem,
            _ => return None,
        })
    }

    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            NumberOp::Add => "+",
            NumberOp::Sub => "-",
            NumberOp::Mul => "*",
            NumberOp::Div => "/",
            NumberOp::Rem => "%",
        }
    }

    fn apply(self, a: i128, b: i128) -> Option<i128> {
        let value = match self {
            NumberOp::Add => a.checked_add(b),
            NumberOp::Sub => a.checked_sub(b),
            NumberOp::Mul => a.checked_mul(b),
            NumberOp::Div => a.checked_div(b),
            NumberOp::Rem => a.checked_rem(b),
        };
        value.filter(|value| value.abs() <= MAX_NUMBER)
    }
}

impl Types {
    /// A number that is known.
    pub fn number(&mut self, value: i128) -> Ty {
        self.intern(TyKind::Number(value))
    }

    /// The value of a number that is known.
    pub fn as_number(&self, ty: Ty) -> Option<i128> {
        match *self.kind(ty) {
            TyKind::Number(value) => Some(value),
            _ => None,
        }
    }

    /// The length that a known number is, up to `max`.
    pub fn as_length(&self, ty: Ty, max: u64) -> Option<u64> {
        let value = self.as_number(ty)?;
        u64::try_from(value).ok().filter(|&len| len <= max)
    }

    /// `[elem * len]` with a length that is known.
    pub fn array(&mut self, elem: Ty, len: u64) -> Ty {
        let len = self.number(i128::from(len));
        self.intern(TyKind::Array(elem, len))
    }

    /// The type of the values of an integer parameter; none for a type parameter.
    pub fn param_prim(&self, param: TyParam) -> Option<Prim> {
        match self.params[param].kind {
            ParamKind::Type => None,
            ParamKind::Number(prim) => Some(prim),
        }
    }

    /// `a op b`, simplified. Sums and products that differ in the order of their operands are equal.
    pub fn arith(&mut self, op: NumberOp, a: Ty, b: Ty) -> Ty {
        use NumberOp::{Add, Div, Mul, Sub};
        match (op, self.as_number(a), self.as_number(b)) {
            (_, Some(x), Some(y)) => {
                if let Some(value) = op.apply(x, y) {
                    return self.number(value);
                }
            }
            // Literals stand on the right of sums and products.
            (Add | Mul, Some(_), None) => return self.arith(op, b, a),
            // x + 0 = x,  x - 0 = x,  x * 1 = x,  x / 1 = x
            (Add | Sub, None, Some(0)) | (Mul | Div, None, Some(1)) => return a,
            // x * 0 = 0
            (Mul, None, Some(0)) => return b,
            // x - c = x + -c
            (Sub, None, Some(c)) => {
                let negated = self.number(-c);
                return self.arith(Add, a, negated);
            }
            // (x + c) + d = x + (c + d)
            (Add, None, Some(d)) => {
                if let TyKind::Arith(Add, x, c) = *self.kind(a)
                    && let Some(sum) = self.as_number(c).and_then(|c| Add.apply(c, d))
                {
                    let sum = self.number(sum);
                    return self.arith(Add, x, sum);
                }
            }
            // x - x = 0
            (Sub, None, None) if a == b => return self.number(0),
            _ => {}
        }
        let swapped = TyKind::Arith(op, b, a);
        match self.interned.get(&swapped) {
            Some(&same) if matches!(op, Add | Mul) => same,
            _ => self.intern(TyKind::Arith(op, a, b)),
        }
    }
}

/// Whether a value of this integer type can be `value`.
pub fn fits(prim: Prim, value: i128) -> bool {
    let bits = prim.bits();
    let (min, max) = match prim.is_signed() {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    (min..=max).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How arithmetic over `n` and `m` is written when it is simplified.
    fn check(build: impl Fn(&mut Types, Ty, Ty) -> Ty, expected: &str) {
        let mut types = Types::new();
        let mut param = |name: &str| {
            let param = types.declare_param(name.into(), ParamKind::Number(Prim::I32));
            types.intern(TyKind::Param(param))
        };
        let (n, m) = (param("n"), param("m"));
        let number = build(&mut types, n, m);
        assert_eq!(types.display(number).to_string(), expected);
    }

    #[test]
    fn numbers_are_simplified() {
        use NumberOp::*;
        check(
            |t, n, _| {
                let one = t.number(1);
                t.arith(Add, one, n)
            },
            "n + 1",
        );
        check(
            |t, n, _| {
                let one = t.number(1);
                let m = t.arith(Add, n, one);
                t.arith(Sub, m, one)
            },
            "n",
        );
        check(
            |t, n, _| {
                let one = t.number(1);
                t.arith(Sub, n, one)
            },
            "n - 1",
        );
        check(|t, n, _| t.arith(Sub, n, n), "0");
        check(
            |t, n, m| {
                let nm = t.arith(Mul, n, m);
                let two = t.number(2);
                t.arith(Div, nm, two)
            },
            "(n * m) / 2",
        );
    }

    #[test]
    fn sums_are_equal_in_any_order() {
        let mut types = Types::new();
        let mut param = |name: &str| {
            let param = types.declare_param(name.into(), ParamKind::Number(Prim::I32));
            types.intern(TyKind::Param(param))
        };
        let (n, m) = (param("n"), param("m"));
        assert_eq!(types.arith(NumberOp::Add, n, m), types.arith(NumberOp::Add, m, n));
        assert_ne!(types.arith(NumberOp::Sub, n, m), types.arith(NumberOp::Sub, m, n));
    }

    #[test]
    fn division_by_zero_is_not_folded() {
        check(
            |t, _, _| {
                let (one, zero) = (t.number(1), t.number(0));
                t.arith(NumberOp::Div, one, zero)
            },
            "1 / 0",
        );
    }
}
