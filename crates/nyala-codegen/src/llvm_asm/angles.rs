//! Angles of which both the sine and the cosine are computed.

use nyala_ir::{Def, MathOp, Node};
use rustc_hash::FxHashMap;

use crate::skeleton::flow::Flow;

/// The blocks in which a function computes sines and cosines, by angle.
pub(super) struct Angles(FxHashMap<(MathOp, Def), Vec<usize>>);

impl Angles {
    /// Those of a function.
    pub(super) fn of(flow: &Flow<'_>) -> Angles {
        let world = flow.program.world;
        let mut blocks: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        for block in 0..flow.n_blocks() {
            for &def in flow.operations(block) {
                if let Node::Math { op: op @ (MathOp::Sin | MathOp::Cos), args, .. } = world.node(def) {
                    blocks.entry((op, world.list(args)[0])).or_default().push(block);
                }
            }
        }
        Angles(blocks)
    }

    /// Whether an operation of the current block is the sine or cosine of an angle, and the other one of the two is
    /// always computed before, or only after it.
    pub(super) fn has_both(&self, flow: &Flow<'_>, op: MathOp, args: &[Def]) -> bool {
        let other = match op {
            MathOp::Sin => MathOp::Cos,
            MathOp::Cos => MathOp::Sin,
            _ => return false,
        };
        let current = flow.current();
        let blocks = self.0.get(&(other, args[0]));
        blocks.is_some_and(|blocks| {
            blocks.iter().any(|&block| flow.dominates(block, current) || flow.dominates(current, block))
        })
    }
}
