//! Properties of all rows of the tables.

use std::f64::consts::FRAC_1_SQRT_2;

use rustc_hash::FxHashSet;

use super::*;
use crate::eval::{self, EvalError, float_from_value};

#[test]
fn a_link_name_is_one_function() {
    let mut seen = FxHashSet::default();
    for (name, _) in list() {
        assert!(seen.insert(name.clone()), "`{name}` is listed twice");
    }
}

#[test]
fn the_names_of_intrinsics_are_distinct() {
    let mut seen = FxHashSet::default();
    let intrinsics = Intrinsic::ALL.iter().map(|intrinsic| intrinsic.name());
    let values = ValueOp::ALL.iter().map(|op| op.name());
    let math = MathOp::ALL.iter().filter_map(|op| op.info().intrinsic);
    for name in intrinsics.chain(values).chain(math) {
        assert!(seen.insert(name), "`{name}` is listed twice");
    }
}

#[test]
fn an_intrinsic_that_programs_declare_has_as_many_shapes_as_arities() {
    for intrinsic in Intrinsic::ALL {
        let declaration = intrinsic.declaration();
        assert_eq!(declaration.arities.len(), declaration.shapes.len(), "{intrinsic:?}");
    }
}

#[test]
fn each_listed_name_is_found() {
    for (name, external) in External::all() {
        let spelled = name.replace('*', "f32");
        assert_eq!(External::named(&spelled), Some(external), "{spelled}");
    }
}

/// The function of a name, if it is a function of numbers.
fn number(name: &str) -> Option<NumberFn> {
    match External::named(name)?.function {
        Function::Number(function) => Some(function),
        _ => None,
    }
}

#[test]
fn functions_of_numbers_have_names_in_each_family() {
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
        assert_eq!(number(symbol), Some(NumberFn::Op(op)), "{symbol}");
    }
    assert_eq!(number("__ocml_fmod_f32"), Some(NumberFn::Fmod));
    assert_eq!(number("puts"), None);
    assert_eq!(number("llvm.nvvm.sin.approx.f"), None);
}

#[test]
fn names_have_the_dimension_of_a_thread() {
    let place = |query, dim| Some(Function::WorkItem(query, dim));
    let function = |name| External::named(name).map(|external| external.function);
    assert_eq!(function("get_local_id"), place(WorkItem::LocalId, None));
    assert_eq!(function("blockIdx_z"), place(WorkItem::GroupId, Some(Dim::Z)));
    assert_eq!(function("llvm.nvvm.read.ptx.sreg.ntid.x"), place(WorkItem::LocalSize, Some(Dim::X)));
    assert_eq!(function("printf_x"), None);
    assert_eq!(function("llvm.nvvm.barrier0.and"), None);
}

#[test]
fn each_function_of_numbers_is_evaluated() {
    for function in NumberFn::all() {
        let info = function.info();
        let (prim, one) = match info.domain {
            Domain::Float => (Prim::F32, float_from_value(Prim::F32, 1.0)),
            Domain::Int | Domain::Any => (Prim::I32, 1),
        };
        let result = eval::number(function, prim, &vec![one; info.arity]);
        assert_ne!(result, Err(EvalError::Unsupported), "{function:?}");
    }
}

#[test]
fn functions_of_libraries_have_the_values_of_mathematics() {
    let cases = [
        (NumberFn::Op(MathOp::Erfc), 0.5, 0.0, 0.479_500_122),
        (NumberFn::Op(MathOp::Expm1), 1e-3, 0.0, 0.001_000_500_166),
        (NumberFn::Op(MathOp::Hypot), 3.0, 4.0, 5.0),
        (NumberFn::Op(MathOp::Log1p), 1e-3, 0.0, 0.000_999_500_333),
        (NumberFn::Op(MathOp::Acosh), 2.0, 0.0, 1.316_957_896),
        (NumberFn::Op(MathOp::Asinh), 2.0, 0.0, 1.443_635_475),
        (NumberFn::Op(MathOp::Atanh), 0.5, 0.0, 0.549_306_144),
        (NumberFn::Exp10, 3.0, 0.0, 1000.0),
        (NumberFn::Cospi, 0.5, 0.0, 0.0),
        (NumberFn::Cospi, 1.0, 0.0, -1.0),
        (NumberFn::Cospi, 0.25, 0.0, FRAC_1_SQRT_2),
        (NumberFn::Sinpi, -0.5, 0.0, -1.0),
        (NumberFn::Sinpi, 1.25, 0.0, -FRAC_1_SQRT_2),
        (NumberFn::Sinpi, 7.0, 0.0, 0.0),
        (NumberFn::Lgamma, 5.0, 0.0, 3.178_053_830),
        (NumberFn::Tgamma, 5.0, 0.0, 24.0),
        (NumberFn::Rcbrt, 8.0, 0.0, 0.5),
        (NumberFn::Rhypot, 3.0, 4.0, 0.2),
        (NumberFn::Fdim, 3.0, 1.0, 2.0),
        (NumberFn::Fdim, 1.0, 3.0, 0.0),
    ];
    for prim in [Prim::F32, Prim::F64] {
        for (function, x, y, expected) in cases {
            let args = [float_from_value(prim, x), float_from_value(prim, y)];
            let result = eval::number(function, prim, &args[..function.info().arity]);
            let value = eval::float_value(prim, result.expect("there is one"));
            assert!(
                (value - expected).abs() < 1e-6 * expected.abs().max(1.0),
                "{function:?} of {x}: {value}"
            );
        }
    }
}

#[test]
fn bits_are_counted_in_the_width_of_the_type() {
    assert_eq!(eval::number(NumberFn::FirstOne, Prim::I32, &[0b1000]), Ok(4));
    assert_eq!(eval::number(NumberFn::FirstOne, Prim::I32, &[0]), Ok(0));
    assert_eq!(eval::number(NumberFn::ReverseBits, Prim::U32, &[1]), Ok(1 << 31));
    assert_eq!(eval::number(NumberFn::ReverseBits, Prim::U64, &[1]), Ok(1 << 63));
    assert_eq!(eval::number(NumberFn::Min, Prim::I32, &[0xffff_ffff, 1]), Ok(0xffff_ffff));
}
