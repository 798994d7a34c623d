//! Which blocks are skipped if no lane is active.

use nyala_ir::analysis::schedule::can_fail;
use nyala_ir::{ArithOp, Def, MathOp, Node, World};

use super::flow::{End, Flow};
use super::lanewise;
use super::linearize::Plan;
use super::one_lane;
use super::shapes::{Shape, Shapes, data_params};

/// The cost of a block above which a guard pays off.
const EXPENSIVE: u32 = 16;

/// Whether the block must not run without an active lane, or is so expensive that a guard pays off.
pub(super) fn needs_guard(world: &World, flow: &Flow, shapes: &Shapes, plan: &Plan, block: usize) -> bool {
    let end = &flow.ends[block];
    let decides = end.has_several_targets() && !shapes.diverges(flow, block);
    let ops = flow.schedule.block(block);
    decides
        || matches!(end, End::Call { .. })
        || flow.loop_of_header(block).is_some()
        || passes_scalars_to_join(world, flow, shapes, block)
        || ops.iter().any(|&def| needs_active_lane(world, flow, shapes, def, block))
        || one_lane::of_lanes(world, flow, shapes, plan, block).is_some()
            && ops.iter().any(|&def| is_access(world, def))
        || uses_uniform_enum(world, flow, shapes, block)
        || ops.iter().map(|&def| cost(world, flow, shapes, def, block)).sum::<u32>() > EXPENSIVE
}

fn is_access(world: &World, def: Def) -> bool {
    matches!(world.node(def), Node::Load { .. } | Node::Store { .. })
}

/// Whether the block passes a scalar to a block parameter that gets other values on other edges.
fn passes_scalars_to_join(world: &World, flow: &Flow, shapes: &Shapes, block: usize) -> bool {
    let End::Jump { target, .. } = flow.ends[block] else { return false };
    let Some(&next) = flow.blocks.get(target) else { return false };
    let is_scalar = |&param: &Def| shapes.of(param) != Shape::Varying;
    flow.dag.preds(flow.route(block, target)).nth(1).is_some()
        && data_params(world, next).iter().any(is_scalar)
}

/// Whether the block uses a uniform enum value: its option may decide what is executed.
fn uses_uniform_enum(world: &World, flow: &Flow, shapes: &Shapes, block: usize) -> bool {
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

/// Whether an operation has a side effect, or may fail, if no lane is active.
fn needs_active_lane(world: &World, flow: &Flow, shapes: &Shapes, def: Def, block: usize) -> bool {
    match world.node(def) {
        Node::Load { ptr, .. } | Node::Store { ptr, .. } => {
            shapes.at(flow, ptr, block) == Shape::Uniform && !shapes.is_private(ptr)
        }
        // The demanded operation is considered by itself.
        Node::Slot { .. } | Node::Demand { .. } => false,
        // These wrap if no lane is active.
        Node::Arith { op: ArithOp::Add | ArithOp::Sub | ArithOp::Mul, .. } => false,
        Node::Extract { index, .. } | Node::Insert { index, .. } => {
            can_fail(world, def) && shapes.at(flow, index, block) == Shape::Uniform
        }
        _ => can_fail(world, def) && shapes.of(def) == Shape::Uniform,
    }
}

/// The approximate number of simple instructions of an operation.
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
