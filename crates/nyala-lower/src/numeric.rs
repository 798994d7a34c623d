//! Intrinsics on numbers of any type, and lane by lane on vectors of them: `min`, `max`, `abs`.
//!
//! On floats they are the mathematical functions `fmin`, `fmax` and `fabs`, on integers comparisons.

use nyala_ir::{Def, MathOp, Prim, Ty, World};
use nyala_syntax::ast::BinaryOp;

use crate::lowerer::Lowerer;

/// An operation on numbers of any type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumericOp {
    Min,
    Max,
    Abs,
}

impl NumericOp {
    pub(crate) fn from_name(name: &str) -> Option<NumericOp> {
        [NumericOp::Min, NumericOp::Max, NumericOp::Abs].into_iter().find(|op| op.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            NumericOp::Min => "min",
            NumericOp::Max => "max",
            NumericOp::Abs => "abs",
        }
    }

    pub(crate) fn arity(self) -> usize {
        match self {
            NumericOp::Min | NumericOp::Max => 2,
            NumericOp::Abs => 1,
        }
    }

    pub(crate) fn shapes(self) -> &'static [&'static str] {
        match self {
            NumericOp::Min | NumericOp::Max => &["[T](T, T) -> T"],
            NumericOp::Abs => &["[T](T) -> T"],
        }
    }

    /// Whether the operation works on these arguments.
    pub(crate) fn check(self, world: &World, args: &[Def], result: Ty) -> Result<(), String> {
        match world.types.lane_prim(world.ty(args[0])) {
            Some(prim) if prim != Prim::Bool => Ok(()),
            _ => Err(format!("`{}` is no number", world.types.display(result))),
        }
    }

    fn on_floats(self) -> MathOp {
        match self {
            NumericOp::Min => MathOp::Fmin,
            NumericOp::Max => MathOp::Fmax,
            NumericOp::Abs => MathOp::Fabs,
        }
    }
}

impl Lowerer<'_> {
    /// The node of an operation on numbers.
    pub(crate) fn numeric_op(&mut self, op: NumericOp, args: &[Def]) -> Def {
        let prim = self.world.types.lane_prim(self.world.ty(args[0])).expect("the types were checked");
        if prim.is_float() {
            let flags = self.flags(self.world.ty(args[0]));
            return self.world.math(op.on_floats(), flags, args);
        }
        let (cond, then, other) = match (op, args) {
            (NumericOp::Min, &[a, b]) => (self.binary_op(BinaryOp::Lt, b, a), b, a),
            (NumericOp::Max, &[a, b]) => (self.binary_op(BinaryOp::Gt, b, a), b, a),
            (NumericOp::Abs, &[a]) if prim.is_signed() => {
                let negated = self.unary_op(true, a);
                let zero = self.world.zero(self.world.ty(a)).expect("numbers have a zero");
                (self.binary_op(BinaryOp::Lt, a, zero), negated, a)
            }
            _ => return args[0],
        };
        self.world.select(cond, then, other)
    }
}
