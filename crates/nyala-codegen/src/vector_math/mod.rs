//! Mathematical functions for all lanes of a vector at once.
//!
//! LLVM calls the C library for one lane after the other; the *kernels* here are straight
//! lines of vector instructions, for any number of lanes and any target. They are written
//! once, on [`Float`]s, and executed by a [`Machine`]: one that writes LLVM assembly
//! (`llvm_asm/vector_math.rs`), and one that computes (`scalar.rs`), with which the tests measure
//! how exact they are. Read `value` first, then the kernels by topic.
//!
//! # What always holds
//!
//! * Results are within 4 units in the last place, with and without fused multiplication and
//!   addition. Infinities, NaN, zeros with signs and numbers below the normal ones are
//!   handled as in C.
//! * A *relaxed* kernel, for fast mathematics, takes and gives finite normal numbers: what is
//!   smaller may count as 0, and what is not finite may give anything.
//! * What a lane gets does not depend on the other lanes. Where a method fails for few
//!   arguments, another one is taken if one lane needs it, and only for that lane
//!   ([`Float::rarely`]).

mod error_function;
mod exponential;
mod inverse_trigonometric;
mod logarithm;
mod power;
mod root;
#[cfg(test)]
mod scalar;
#[cfg(test)]
mod tests;
mod trigonometric;
mod value;

use nyala_ir::{MathOp, Prim};

pub(crate) use value::{Float, Kind, Machine, Op, Value};

/// Whether a function has a kernel for lanes of this type.
pub(crate) fn has_kernel(op: MathOp, prim: Prim) -> bool {
    use MathOp::*;
    match op {
        Exp | Exp2 | Log | Log2 | Log10 | Sin | Cos | Tan | Asin | Acos | Atan | Atan2 | Cbrt | Pow
        | Sinh | Cosh | Tanh | Erf => matches!(prim, Prim::F32 | Prim::F64),
        _ => false,
    }
}

/// What a function gives for the arguments.
///
/// # Panics
/// If it has no kernel.
pub(crate) fn kernel<'m>(op: MathOp, args: &[Float<'m>]) -> Float<'m> {
    let x = args[0];
    match op {
        MathOp::Exp => exponential::exp(x),
        MathOp::Exp2 => exponential::exp2(x),
        MathOp::Sinh => exponential::sinh(x),
        MathOp::Cosh => exponential::cosh(x),
        MathOp::Tanh => exponential::tanh(x),
        MathOp::Log => logarithm::log(x),
        MathOp::Log2 => logarithm::log2(x),
        MathOp::Log10 => logarithm::log10(x),
        MathOp::Sin => trigonometric::sin(x),
        MathOp::Cos => trigonometric::cos(x),
        MathOp::Tan => trigonometric::tan(x),
        MathOp::Asin => inverse_trigonometric::asin(x),
        MathOp::Acos => inverse_trigonometric::acos(x),
        MathOp::Atan => inverse_trigonometric::atan(x),
        MathOp::Atan2 => inverse_trigonometric::atan2(x, args[1]),
        MathOp::Cbrt => root::cbrt(x),
        MathOp::Erf => error_function::erf(x),
        MathOp::Pow => power::pow(x, args[1]),
        _ => unreachable!("`has_kernel` is asked first"),
    }
}
