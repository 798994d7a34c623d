//! What a function costs: the answer to `pe_cost`, for libraries that choose between computing a value and keeping
//! it in a table.
//!
//! The unit is about the time of an addition. The cost is that of all operations that depend on the parameters of the
//! function, each counted once: a loop counts as one iteration, and of two branches both count.

use nyala_ir::analysis::Scope;
use nyala_ir::functions::GpuSource;
use nyala_ir::{ArithOp, Def, MathOp, Node, World};

/// A division or a remainder.
const DIVISION: u64 = 8;

/// A mathematical function that no processor has instructions for.
const FUNCTION: u64 = 32;

/// The cost of `function`, if that is a continuation; otherwise 0.
pub(super) fn cost_of(world: &World, function: Def) -> u64 {
    let Some(entry) = world.as_cont(function) else { return 0 };
    Scope::new(world, entry).operations().map(|operation| cost_of_operation(world, operation)).sum()
}

fn cost_of_operation(world: &World, operation: Def) -> u64 {
    match world.node(operation) {
        Node::Arith { op: ArithOp::Div | ArithOp::Rem, .. } => DIVISION,
        Node::Math { op, .. } => cost_of_math(op),
        Node::Arith { .. } | Node::Cmp { .. } | Node::Cast(_) | Node::Select { .. } => 1,
        _ => 0,
    }
}

fn cost_of_math(op: MathOp) -> u64 {
    match op {
        MathOp::Sqrt | MathOp::Rsqrt => DIVISION,
        _ if op.info().gpu == Some(GpuSource::Library) => FUNCTION,
        _ => 1,
    }
}
