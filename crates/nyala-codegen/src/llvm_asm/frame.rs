//! How long the local variables of a function are needed.

use nyala_ir::analysis::{AddressUse, Function, address_uses};
use nyala_ir::{Def, Node};
use rustc_hash::FxHashSet;

use crate::skeleton::program::Program;

/// What is known of the frame of a function.
pub(super) struct Frame {
    /// Whether a call in tail position may give it up: no address in it is in use.
    pub(super) is_free_at_tail_calls: bool,
    /// The variables whose address is put into memory or another variable, so that it may be used when the variable is
    /// made again. To lend it to a function that is called does not count.
    kept: FxHashSet<Def>,
}

impl Frame {
    pub(super) fn of(program: Program<'_>, function: &Function) -> Frame {
        let world = program.world;
        let mut uses = address_uses(world, program.functions, function);
        uses.retain(|&(variable, _)| matches!(world.node(variable), Node::Slot { .. }));
        let is_kept = |how: AddressUse| !matches!(how, AddressUse::Passed { .. });
        let is_free_at_tail_calls = uses.is_empty();
        let kept = uses.into_iter().filter(|&(_, how)| is_kept(how)).map(|(variable, _)| variable).collect();
        Frame { is_free_at_tail_calls, kept }
    }

    /// Whether the address of a variable may be used after the block that makes it.
    pub(super) fn keeps(&self, slot: Def) -> bool {
        self.kept.contains(&slot)
    }
}
