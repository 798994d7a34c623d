//! Mathematical functions: for all lanes of a vector at once, and for GPUs.
//!
//! LLVM calls the C library for one lane after the other, and GPUs have none; the *kernels* here are straight
//! lines of instructions, for scalars and any number of lanes, and for any target. They are written
//! once, on [`Float`]s, and executed by a [`Machine`]: one that writes LLVM assembly
//! (`llvm_asm/vector_math.rs`), and one that computes (`scalar.rs`), with which the tests measure
//! how exact they are. A kernel may compute otherwise by the [`Level`] of instructions; each machine gets its
//! own version (`llvm/kernel_levels.rs`).
//!
//! Read `value` first, then the kernels by topic: `exponential`, `logarithm`, `power`, `root`, `trigonometric`,
//! `inverse_trigonometric`, `error_function`. `pair` has numbers of twice the precision, as sums of two.
//!
//! # What always holds
//!
//! * Results of `f32` are within 2 units in the last place, those of `f64` within 4, with and without fused
//!   multiplication and addition. Infinities, NaN, zeros with signs and numbers below the normal ones are
//!   handled as in C.
//! * A *relaxed* kernel, for fast mathematics, takes and gives finite normal numbers: what is
//!   smaller may count as 0, and what is not finite may give anything. Results of `f32` are within 2.3 units.
//! * What a lane gets does not depend on the other lanes. Where a method fails for few
//!   arguments, another one is taken if one lane needs it, and only for that lane
//!   ([`Float::rarely`]).

mod error_function;
mod exponential;
mod inverse_trigonometric;
mod logarithm;
mod pair;
mod power;
mod root;
#[cfg(test)]
mod scalar;
#[cfg(test)]
mod tests;
mod trigonometric;
mod value;

use nyala_ir::functions::NumberFn;
use nyala_ir::{MathOp, Prim};

pub(crate) use value::{Float, Kind, Level, Machine, Op, Table, Value};

/// Whether a function has a kernel for lanes of this type.
pub(crate) fn has_kernel(function: NumberFn, prim: Prim) -> bool {
    matches!(prim, Prim::F32 | Prim::F64) && kernel_of(function).is_some()
}

/// What a function gives for the arguments.
///
/// # Panics
/// If it has no kernel.
pub(crate) fn kernel<'m>(function: NumberFn, args: &[Float<'m>]) -> Float<'m> {
    match kernel_of(function).expect("`has_kernel` is asked first") {
        Kernel::Unary(kernel) => kernel(args[0]),
        Kernel::Binary(kernel) => kernel(args[0], args[1]),
    }
}

/// What a function gives for an `f64` for which its kernel [fails](Float::rarely); for others anything. Of an argument
/// that was widened from `f32`, fewer digits are enough.
///
/// # Panics
/// If its kernel never fails.
pub(crate) fn far_kernel<'m>(op: MathOp, x: Float<'m>, is_widened: bool) -> Float<'m> {
    let angle = if is_widened { trigonometric::Angle::far_single(x) } else { trigonometric::Angle::far(x) };
    trigonometric::unless_infinite(
        x,
        match op {
            MathOp::Sin => angle.sine(x),
            MathOp::Cos => angle.cosine(),
            MathOp::Tan => angle.tangent(x),
            _ => unreachable!("kernels of other functions take all arguments"),
        },
    )
}

enum Kernel<'m> {
    Unary(fn(Float<'m>) -> Float<'m>),
    Binary(fn(Float<'m>, Float<'m>) -> Float<'m>),
}

fn kernel_of<'m>(function: NumberFn) -> Option<Kernel<'m>> {
    use Kernel::{Binary, Unary};
    let op = match function {
        NumberFn::Op(op) => op,
        NumberFn::Exp10 => return Some(Unary(exponential::exp10)),
        NumberFn::Cospi => return Some(Unary(trigonometric::cospi)),
        NumberFn::Sinpi => return Some(Unary(trigonometric::sinpi)),
        NumberFn::Rcbrt => return Some(Unary(root::rcbrt)),
        NumberFn::Rhypot => return Some(Binary(root::rhypot)),
        NumberFn::Fdim => return Some(Binary(root::fdim)),
        _ => return None,
    };
    Some(match op {
        MathOp::Exp => Unary(exponential::exp),
        MathOp::Exp2 => Unary(exponential::exp2),
        MathOp::Expm1 => Unary(exponential::expm1),
        MathOp::Sinh => Unary(exponential::sinh),
        MathOp::Cosh => Unary(exponential::cosh),
        MathOp::Tanh => Unary(exponential::tanh),
        MathOp::Log => Unary(logarithm::log),
        MathOp::Log2 => Unary(logarithm::log2),
        MathOp::Log10 => Unary(logarithm::log10),
        MathOp::Log1p => Unary(logarithm::log1p),
        MathOp::Asinh => Unary(logarithm::asinh),
        MathOp::Acosh => Unary(logarithm::acosh),
        MathOp::Atanh => Unary(logarithm::atanh),
        MathOp::Sin => Unary(trigonometric::sin),
        MathOp::Cos => Unary(trigonometric::cos),
        MathOp::Tan => Unary(trigonometric::tan),
        MathOp::Asin => Unary(inverse_trigonometric::asin),
        MathOp::Acos => Unary(inverse_trigonometric::acos),
        MathOp::Atan => Unary(inverse_trigonometric::atan),
        MathOp::Atan2 => Binary(inverse_trigonometric::atan2),
        MathOp::Cbrt => Unary(root::cbrt),
        MathOp::Hypot => Binary(root::hypot),
        MathOp::Erf => Unary(error_function::erf),
        MathOp::Erfc => Unary(error_function::erfc),
        MathOp::Pow => Binary(power::pow),
        _ => return None,
    })
}
