//! Functions on numbers by the names that C, LLVM and device libraries give them.
//!
//! The type is not in the name: the same one is declared for several (`exp` of
//! OpenCL), so the declaration says it.

use nyala_ir::eval::{self, EvalError, float_value};
use nyala_ir::{ArithFlags, ArithOp, CmpOp, MathOp, Prim};

/// A function on numbers of one type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Numeric {
    Math(MathOp),
    /// C's `fmod`.
    Rem,
    IsInf,
    Min,
    Max,
    /// The number of the lowest one bit, counted from 1; 0 if there is none.
    FirstOne,
    ReverseBits,
}

/// The function behind a symbol: `sinf`, `llvm.sin.f64`, `__nv_sin`,
/// `__ocml_sin_f32`, `llvm.ctpop.i32`, `__popcll`.
pub(crate) fn numeric(symbol: &str) -> Option<Numeric> {
    if let Some(name) = symbol.strip_prefix("llvm.") {
        return llvm(name);
    }
    if let Some(name) = symbol.strip_prefix("__ocml_") {
        return c_name(name.rsplit_once('_')?.0);
    }
    match symbol.strip_prefix("__") {
        None => c_name_with(symbol, &["", "f"]),
        Some(name) => match name.strip_prefix("nv_") {
            Some(name) => c_name_with(name, &["", "f", "d"]),
            None => bits(name.strip_suffix("ll").unwrap_or(name)),
        },
    }
}

fn llvm(name: &str) -> Option<Numeric> {
    let name = name.strip_prefix("x86.bmi.").unwrap_or(name);
    let (name, _ty) = name.rsplit_once('.')?;
    let op = match name {
        "ctpop" => MathOp::Popcount,
        "ctlz" => MathOp::Clz,
        "cttz" => MathOp::Ctz,
        "pext" => MathOp::Pext,
        "pdep" => MathOp::Pdep,
        "minnum" => MathOp::Fmin,
        "maxnum" => MathOp::Fmax,
        _ => return c_name(name),
    };
    Some(Numeric::Math(op))
}

/// C's names come with a letter behind for each type but one.
fn c_name_with(name: &str, letters: &[&str]) -> Option<Numeric> {
    letters.iter().find_map(|letter| c_name(name.strip_suffix(letter)?))
}

fn c_name(name: &str) -> Option<Numeric> {
    Some(Numeric::Math(match name {
        "fmod" => return Some(Numeric::Rem),
        "isinf" => return Some(Numeric::IsInf),
        "min" => return Some(Numeric::Min),
        "max" => return Some(Numeric::Max),
        "isnan" => MathOp::IsNan,
        "isfinite" | "finite" => MathOp::IsFinite,
        "rint" | "nearbyint" | "roundeven" => MathOp::RoundEven,
        _ => MathOp::ALL.iter().copied().find(|op| op.name() == name && is_float_op(*op))?,
    }))
}

/// CUDA's names.
fn bits(name: &str) -> Option<Numeric> {
    Some(match name {
        "popc" => Numeric::Math(MathOp::Popcount),
        "clz" => Numeric::Math(MathOp::Clz),
        "ffs" => Numeric::FirstOne,
        "brev" => Numeric::ReverseBits,
        _ => return None,
    })
}

fn is_float_op(op: MathOp) -> bool {
    use MathOp::{Clz, Ctz, Pdep, Pext, Popcount};
    !matches!(op, Popcount | Clz | Ctz | Pext | Pdep)
}

impl Numeric {
    pub(crate) fn arity(self) -> usize {
        match self {
            Numeric::Math(op) => op.arity(),
            Numeric::Rem | Numeric::Min | Numeric::Max => 2,
            Numeric::IsInf | Numeric::FirstOne | Numeric::ReverseBits => 1,
        }
    }

    /// Its value on numbers of type `prim`, as many as it takes.
    pub(crate) fn eval(self, prim: Prim, args: &[u64]) -> Result<u64, EvalError> {
        let choose = |op| if eval::cmp(op, prim, args[0], args[1]) { args[0] } else { args[1] };
        match self {
            Numeric::Math(op) => eval::math(op, prim, args),
            Numeric::Rem => eval::arith(ArithOp::Rem, ArithFlags::STRICT, prim, args[0], args[1]),
            Numeric::IsInf if prim.is_float() => Ok(u64::from(float_value(prim, args[0]).is_infinite())),
            Numeric::Min => Ok(choose(CmpOp::Lt)),
            Numeric::Max => Ok(choose(CmpOp::Gt)),
            Numeric::FirstOne if args[0] == 0 => Ok(0),
            Numeric::FirstOne => Ok(u64::from(args[0].trailing_zeros()) + 1),
            Numeric::ReverseBits if prim.is_int() => Ok(args[0].reverse_bits() >> (64 - prim.bits())),
            Numeric::IsInf | Numeric::ReverseBits => Err(EvalError::Unsupported),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_families_are_known() {
        let cases = [
            ("sin", MathOp::Sin),
            ("erff", MathOp::Erf),
            ("llvm.pow.f32", MathOp::Pow),
            ("llvm.ctlz.i64", MathOp::Clz),
            ("llvm.x86.bmi.pext.32", MathOp::Pext),
            ("__nv_sqrtf", MathOp::Sqrt),
            ("__nv_isnand", MathOp::IsNan),
            ("__nv_finitef", MathOp::IsFinite),
            ("__ocml_exp_f64", MathOp::Exp),
            ("llvm.maxnum.f32", MathOp::Fmax),
            ("__popcll", MathOp::Popcount),
        ];
        for (symbol, op) in cases {
            assert_eq!(numeric(symbol), Some(Numeric::Math(op)), "{symbol}");
        }
        assert_eq!(numeric("__ocml_fmod_f32"), Some(Numeric::Rem));
        assert_eq!(numeric("puts"), None);
        assert_eq!(numeric("popcount"), None);
    }

    #[test]
    fn bits_are_counted_in_the_width_of_the_type() {
        assert_eq!(Numeric::FirstOne.eval(Prim::I32, &[0b1000]), Ok(4));
        assert_eq!(Numeric::FirstOne.eval(Prim::I32, &[0]), Ok(0));
        assert_eq!(Numeric::ReverseBits.eval(Prim::U32, &[1]), Ok(1 << 31));
        assert_eq!(Numeric::ReverseBits.eval(Prim::U64, &[1]), Ok(1 << 63));
        assert_eq!(Numeric::Min.eval(Prim::I32, &[0xffff_ffff, 1]), Ok(0xffff_ffff));
    }
}
