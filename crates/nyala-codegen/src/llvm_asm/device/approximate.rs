//! Mathematical functions by units of NVIDIA's GPUs, for programs that are compiled with `--fast-math`.
//!
//! There are units for sines, cosines, roots, and powers and logarithms of two, of `f32`; other functions follow from
//! these. They are right to some twenty bits for arguments of usual size, and fast: CUDA's `-use_fast_math`
//! takes the same ones. Functions of `f64`, and those that are missing here, come from the library.

use nyala_ir::MathOp;

use super::super::function::FunctionWriter;
use super::super::value::{Type, Value};
use super::GpuKind;

/// The logarithm of e to the base 2, and the logarithms of 2 to the bases e and 10, as `f32`.
const LOG2_E: &str = "0x3FF7154760000000";
const LN_2: &str = "0x3FE62E4300000000";
const LOG10_2: &str = "0x3FD3441360000000";

impl FunctionWriter<'_, '_> {
    /// The value of a function of `f32` by the GPU's units, if it has some and the program allows that.
    pub(crate) fn approximate(&mut self, op: MathOp, args: &[&str]) -> Option<String> {
        self.module.options.gpu.filter(|gpu| gpu.is_fast && gpu.kind == GpuKind::Nvptx)?;
        Some(match (op, args) {
            (MathOp::Sin | MathOp::Cos | MathOp::Sqrt | MathOp::Rsqrt, [x]) => self.unit(op.name(), x),
            (MathOp::Tan, [x]) => {
                let (sine, cosine) = (self.unit("sin", x), self.unit("cos", x));
                self.compute("tan", format!("fdiv fast float {sine}, {cosine}"))
            }
            (MathOp::Exp2, [x]) => self.unit("ex2", x),
            (MathOp::Exp, [x]) => {
                let scaled = self.product(x, LOG2_E);
                self.unit("ex2", &scaled)
            }
            (MathOp::Log2, [x]) => self.unit("lg2", x),
            (MathOp::Log, [x]) => self.scaled_logarithm(x, LN_2),
            (MathOp::Log10, [x]) => self.scaled_logarithm(x, LOG10_2),
            (MathOp::Pow, [x, y]) => {
                let logarithm = self.unit("lg2", x);
                let scaled = self.product(&logarithm, y);
                self.unit("ex2", &scaled)
            }
            _ => return None,
        })
    }

    fn unit(&mut self, name: &str, x: &str) -> String {
        let x = Value::new(Type::FLOAT, x);
        self.call_intrinsic(&format!("llvm.nvvm.{name}.approx.f"), &Type::FLOAT, &[x])
    }

    fn product(&mut self, x: &str, y: &str) -> String {
        self.compute("scaled", format!("fmul fast float {x}, {y}"))
    }

    fn scaled_logarithm(&mut self, x: &str, scale: &str) -> String {
        let logarithm = self.unit("lg2", x);
        self.product(&logarithm, scale)
    }
}
