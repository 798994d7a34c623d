//! Blocks that one lane executes: those behind `lane_index() == n` with a uniform `n`, as in `scalar()` and `for_each_active()`.
//!
//! Their accesses to memory are scalar. Such a block has a guard, so that it runs only if the lane is active.

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Def, Node, Prim, World};

use super::emit::Emitter;
use super::flow::{End, Flow};
use super::linearize::Plan;
use super::shapes::{Shape, Shapes, Wraps};

/// The comparison behind which one lane executes a block.
#[derive(Clone, Copy)]
pub(super) struct OneLane {
    /// A number with stride 1, and the uniform one that it equals.
    own: Def,
    other: Def,
}

/// Whether at most one lane executes a block, because of the branch to it.
pub(super) fn of_block(world: &World, flow: &Flow, shapes: &Shapes, block: usize) -> Option<OneLane> {
    let mut preds = flow.dag.preds(block);
    let pred = preds.next().filter(|_| preds.next().is_none())?;
    let End::Branch { cond, then, other } = flow.ends.get(pred)? else { return None };
    if *then != block || *other == block || flow.route(pred, block) != block {
        return None;
    }
    let Node::Cmp { op: CmpOp::Eq, lhs, rhs } = world.node(*cond) else { return None };
    world.types.as_prim(world.ty(lhs)).filter(|prim| prim.is_int())?;
    let shape = |def: Def| shapes.at(flow, def, pred);
    let (own, other, stride) = match (shape(lhs), shape(rhs)) {
        (Shape::Strided { stride, wraps: Wraps::Never }, Shape::Uniform) => (lhs, rhs, stride),
        (Shape::Uniform, Shape::Strided { stride, wraps: Wraps::Never }) => (rhs, lhs, stride),
        _ => return None,
    };
    let is_same_loop = flow.innermost(pred) == flow.innermost(block);
    (stride == 1 && is_same_loop).then_some(OneLane { own, other })
}

/// The comparison behind which one lane executes a block, or an earlier one with the same lanes.
pub(super) fn of_lanes(
    world: &World,
    flow: &Flow,
    shapes: &Shapes,
    plan: &Plan,
    mut block: usize,
) -> Option<OneLane> {
    loop {
        if let Some(found) = of_block(world, flow, shapes, block) {
            return Some(found);
        }
        block = plan.same_mask.get(block).copied().flatten()?;
    }
}

/// The values that the number of the lane is computed from.
pub(super) fn operands(world: &World, flow: &Flow, shapes: &Shapes, plan: &Plan, block: usize) -> Vec<Def> {
    of_lanes(world, flow, shapes, plan, block).map_or(vec![], |found| vec![found.own, found.other])
}

impl Emitter<'_> {
    /// The number of the only lane that executes a block, if it is known.
    pub(super) fn only_lane_of(&mut self, block: usize) -> Option<Def> {
        let task = self.task;
        let found = of_lanes(self.world, task.flow, task.shapes, task.plan, block)?;
        let (own, other) = (self.rep(found.own, block).def, self.rep(found.other, block).def);
        let distance = self.world.arith(ArithOp::Sub, ArithFlags::WRAP, other, own);
        let i64 = self.world.types.prim(Prim::I64);
        Some(self.world.cast(i64, distance))
    }
}
