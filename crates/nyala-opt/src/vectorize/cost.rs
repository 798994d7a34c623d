//! Which blocks are only executed if a lane is there.

use nyala_ir::analysis::schedule::can_fail;
use nyala_ir::{ArithOp, Def, MathOp, Node, World};

use super::flow::{End, Flow};
use super::lanewise;
use super::shapes::{Shape, Shapes, data_params};

/// What a block costs beyond which testing for lanes is worth while.
const EXPENSIVE: u32 = 16;

/// Whether the block must not be executed without a lane, or is so expensive that it is better not.
pub(super) fn needs_lane(world: &World, flow: &Flow, shapes: &Shapes, block: usize) -> bool {
    let end = &flow.ends[block];
    let decides = end.chooses() && !shapes.parts(flow, block);
    let ops = flow.schedule.block(block);
    decides
        || matches!(end, End::Call { .. })
        || flow.loop_of_header(block).is_some()
        || hands_over_scalars(world, flow, shapes, block)
        || ops.iter().any(|&def| must_not_run(world, flow, shapes, def, block))
        || uses_shared_enum(world, flow, shapes, block)
        || ops.iter().map(|&def| cost(world, flow, shapes, def, block)).sum::<u32>() > EXPENSIVE
}

/// Whether a parameter of the next block, which gets other values from elsewhere, is one
/// value for all lanes.
fn hands_over_scalars(world: &World, flow: &Flow, shapes: &Shapes, block: usize) -> bool {
    let End::Jump { target, .. } = flow.ends[block] else { return false };
    let Some(&next) = flow.blocks.get(target) else { return false };
    let is_scalar = |&param: &Def| shapes.of(param) != Shape::Varying;
    flow.dag.preds(flow.route(block, target)).nth(1).is_some()
        && data_params(world, next).iter().any(is_scalar)
}

/// Whether an enum value that all lanes share is used: its option may decide what happens.
fn uses_shared_enum(world: &World, flow: &Flow, shapes: &Shapes, block: usize) -> bool {
    let is_shared =
        |def: Def| lanewise::has_enums(world, world.ty(def)) && shapes.at(flow, def, block) == Shape::Uniform;
    let args = match &flow.ends[block] {
        End::Jump { args, .. } | End::Call { args, .. } => args.as_slice(),
        _ => &[],
    };
    let mut found = args.iter().any(|&arg| is_shared(arg));
    for &def in flow.schedule.block(block) {
        world.for_each_operand(def, |operand| found |= is_shared(operand));
    }
    found
}

/// Whether an operation has an effect or fails for values that no lane has.
fn must_not_run(world: &World, flow: &Flow, shapes: &Shapes, def: Def, block: usize) -> bool {
    match world.node(def) {
        Node::Load { ptr, .. } | Node::Store { ptr, .. } => {
            shapes.at(flow, ptr, block) == Shape::Uniform && !shapes.is_private(ptr)
        }
        // What is demanded is looked at by itself.
        Node::Slot { .. } | Node::Demand { .. } => false,
        // These can be computed modulo 2^N.
        Node::Arith { op: ArithOp::Add | ArithOp::Sub | ArithOp::Mul, .. } => false,
        Node::Extract { index, .. } | Node::Insert { index, .. } => {
            can_fail(world, def) && shapes.at(flow, index, block) == Shape::Uniform
        }
        _ => can_fail(world, def) && shapes.of(def) == Shape::Uniform,
    }
}

/// About how many simple instructions an operation takes.
fn cost(world: &World, flow: &Flow, shapes: &Shapes, def: Def, block: usize) -> u32 {
    if shapes.of(def) == Shape::Uniform {
        return 1;
    }
    match world.node(def) {
        Node::Load { ptr, .. } | Node::Store { ptr, .. } => match shapes.at(flow, ptr, block) {
            Shape::Varying => 16,
            _ => 4,
        },
        Node::Arith { op: ArithOp::Div | ArithOp::Rem, .. } => 8,
        Node::Math { op, .. } => match op {
            MathOp::Fabs | MathOp::Fmin | MathOp::Fmax | MathOp::Fma | MathOp::Fmuladd => 1,
            MathOp::Floor | MathOp::Ceil | MathOp::Trunc | MathOp::RoundEven | MathOp::Copysign => 1,
            MathOp::Sqrt => 8,
            _ => 24,
        },
        Node::Extract { .. } | Node::Aggregate(_) | Node::Hide(_) | Node::Streaming(_) => 0,
        _ => 1,
    }
}
