//! Mathematical functions by the names that C, LLVM and device libraries give them.

use nyala_ir::{MathOp, Prim};

/// The function and its type behind a symbol: `sinf`, `llvm.sin.f64`, `__nv_sin`,
/// `__ocml_sin_f32`, `llvm.ctpop.i32`. Arguments past the function's own (as in
/// `llvm.ctlz`) only choose between variants that agree here.
pub(crate) fn math_function(symbol: &str) -> Option<(MathOp, Prim)> {
    if let Some(name) = symbol.strip_prefix("llvm.") {
        return llvm(name);
    }
    if let Some(name) = symbol.strip_prefix("__ocml_") {
        let (name, ty) = name.rsplit_once('_')?;
        return Some((float_op(name)?, prim(ty)?));
    }
    c_name(symbol.strip_prefix("__nv_").unwrap_or(symbol))
}

fn llvm(name: &str) -> Option<(MathOp, Prim)> {
    let bits = |op, width: &str| Some((op, if width == "64" { Prim::U64 } else { Prim::U32 }));
    if let Some(width) = name.strip_prefix("x86.bmi.pext.") {
        return bits(MathOp::Pext, width);
    }
    if let Some(width) = name.strip_prefix("x86.bmi.pdep.") {
        return bits(MathOp::Pdep, width);
    }
    let (name, ty) = name.rsplit_once('.')?;
    let prim = prim(ty)?;
    let op = match name {
        "ctpop" => MathOp::Popcount,
        "ctlz" => MathOp::Clz,
        "cttz" => MathOp::Ctz,
        "minnum" => MathOp::Fmin,
        "maxnum" => MathOp::Fmax,
        "fmuladd" => MathOp::Fmuladd,
        "roundeven" | "rint" | "nearbyint" => MathOp::RoundEven,
        _ => float_op(name)?,
    };
    Some((op, prim))
}

fn prim(ty: &str) -> Option<Prim> {
    Some(match ty {
        "f16" => Prim::F16,
        "f32" => Prim::F32,
        "f64" => Prim::F64,
        "i8" => Prim::U8,
        "i16" => Prim::U16,
        "i32" => Prim::U32,
        "i64" => Prim::U64,
        _ => return None,
    })
}

/// C's names: on `double` as they are, on `float` with an `f` behind.
fn c_name(name: &str) -> Option<(MathOp, Prim)> {
    let op = |name: &str| match name {
        "rint" | "nearbyint" => Some(MathOp::RoundEven),
        _ => float_op(name),
    };
    match op(name) {
        Some(op) => Some((op, Prim::F64)),
        None => Some((op(name.strip_suffix('f')?)?, Prim::F32)),
    }
}

fn float_op(name: &str) -> Option<MathOp> {
    MathOp::ALL.iter().copied().find(|op| op.name() == name).filter(|op| {
        !matches!(
            op,
            MathOp::Popcount | MathOp::Clz | MathOp::Ctz | MathOp::Pext | MathOp::Pdep | MathOp::RoundEven
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_families_are_known() {
        let cases = [
            ("sin", MathOp::Sin, Prim::F64),
            ("erff", MathOp::Erf, Prim::F32),
            ("llvm.pow.f32", MathOp::Pow, Prim::F32),
            ("llvm.ctlz.i64", MathOp::Clz, Prim::U64),
            ("llvm.x86.bmi.pext.32", MathOp::Pext, Prim::U32),
            ("__nv_sqrtf", MathOp::Sqrt, Prim::F32),
            ("__ocml_exp_f64", MathOp::Exp, Prim::F64),
            ("llvm.maxnum.f32", MathOp::Fmax, Prim::F32),
        ];
        for (symbol, op, prim) in cases {
            assert_eq!(math_function(symbol), Some((op, prim)), "{symbol}");
        }
        assert_eq!(math_function("puts"), None);
    }
}
