//! Who mentions the continuations of a program.
//!
//! Most nodes are data and lead to no continuation. Passes that are about continuations only look at
//! those that do, so a long computation costs them one look at each of its nodes.

use cranelift_entity::{EntitySet, SecondaryMap};
use nyala_ir::analysis::references::{for_each_mention, program_roots};
use nyala_ir::{Cont, Def, World};

/// The continuations that the outside can reach, and their mentions.
pub(crate) struct Mentions {
    /// The continuations, in the order they were found; the roots first.
    pub conts: Vec<Cont>,
    /// The operations on the way that contain continuations.
    pub operations: Vec<Def>,
    counts: SecondaryMap<Cont, u32>,
}

impl Mentions {
    /// Those of a whole program.
    pub fn new(world: &World) -> Mentions {
        let is_container = containers(world);
        let mut mentions = Mentions { conts: vec![], operations: vec![], counts: SecondaryMap::new() };
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
                    if is_container[mentioned] {
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

/// The nodes that are or contain continuations.
pub(crate) fn containers(world: &World) -> SecondaryMap<Def, bool> {
    let mut has_conts = SecondaryMap::with_capacity(world.node_count());
    // Operands have smaller numbers than what uses them.
    for def in world.defs() {
        let mut any = world.as_cont(def).is_some();
        world.for_each_operand(def, |operand| any |= has_conts[operand]);
        if any {
            has_conts[def] = true;
        }
    }
    has_conts
}
