//! The references to continuations of a program.
//!
//! Most nodes are data and contain no continuation. Passes about continuations visit only
//! nodes that do, so long computations cost them nothing.

use cranelift_entity::{EntitySet, SecondaryMap};
use nyala_ir::analysis::references::{for_each_mention, program_roots};
use nyala_ir::{Cont, Def, World};

/// The continuations that are reachable from exports, and the references to them.
pub(crate) struct Mentions {
    /// The continuations, in the order they were found; the roots first.
    pub conts: Vec<Cont>,
    /// The reachable operations that contain continuations.
    pub operations: Vec<Def>,
    counts: SecondaryMap<Cont, u32>,
}

impl Mentions {
    /// The references of a whole program.
    pub fn new(world: &World) -> Mentions {
        let counts = SecondaryMap::with_capacity(world.cont_count());
        let mut mentions = Mentions { conts: vec![], operations: vec![], counts };
        let mut seen = EntitySet::new();
        let mut stack: Vec<Def> = vec![];
        for root in program_roots(world) {
            stack.push(world.cont_def(root));
            while let Some(def) = stack.pop() {
                if !seen.insert(def) {
                    continue;
                }
                match world.as_cont(def) {
                    Some(cont) => mentions.conts.push(cont),
                    None => mentions.operations.push(def),
                }
                let first = stack.len();
                for_each_mention(world, def, |mentioned| {
                    if let Some(cont) = world.as_cont(mentioned) {
                        mentions.counts[cont] += 1;
                    }
                    if world.contains_conts(mentioned) {
                        stack.push(mentioned);
                    }
                });
                stack[first..].reverse();
            }
        }
        mentions
    }

    /// How often `cont` is mentioned by a body, a filter or an operation.
    pub fn count(&self, cont: Cont) -> u32 {
        self.counts[cont]
    }
}
