//! Accesses to memory by lanes that are written together.

use nyala_ir::{Def, Node, World};

use super::gathers::Gathers;
use super::scatters::Scatters;
use crate::skeleton::flow::Flow;

/// The accesses of the current block by lanes.
#[derive(Default)]
pub(super) struct LaneAccesses {
    /// Whether the function has any. Addresses of inactive lanes may be outside of the object that they belong to.
    pub(super) in_function: bool,
    /// What is read together.
    pub(super) gathers: Gathers,
    /// What is written together.
    pub(super) scatters: Scatters,
}

impl LaneAccesses {
    /// Of a function, before its first block.
    pub(super) fn of(flow: &Flow<'_>) -> LaneAccesses {
        let world = flow.program.world;
        let is_access =
            |&def: &Def| matches!(world.node(def), Node::LoadLanes { .. } | Node::StoreLanes { .. });
        let in_function = (0..flow.n_blocks()).any(|block| flow.operations(block).iter().any(is_access));
        LaneAccesses { in_function, ..LaneAccesses::default() }
    }

    /// Finds what is accessed together by the operations of a block.
    pub(super) fn begin_block(&mut self, world: &World, operations: &[Def]) {
        self.gathers = Gathers::new(world, operations);
        self.scatters = Scatters::new(world, operations);
    }
}
