//! Who still needs what, among the continuations of the new program.
//!
//! A continuation that is called by one body and needed by nothing else is
//! evaluated right there, instead of staying a jump. Whether something else
//! needs it is counted: by bodies that are finished, by instances that are still
//! to be evaluated, by operations that contain it. A count that falls to zero
//! gives up what it counted for; one that rises again claims it again.
//!
//! The counts only guide the evaluator. An instance with a wrong count would be a
//! missed opportunity or a second copy, never a wrong program.

use cranelift_entity::SecondaryMap;
use nyala_ir::{Cont, Def, Node, World};

use super::instance::Instances;

/// Counts of the nodes that contain continuations.
#[derive(Default)]
pub struct Refs {
    counts: SecondaryMap<Def, u32>,
    /// Room for walks, of which there are several for each node.
    stack: Vec<Def>,
}

impl Refs {
    /// How many need `def`.
    pub fn count(&self, def: Def) -> u32 {
        self.counts[def]
    }

    /// What `cont` needs that contains continuations: the operands of its body, or the values that
    /// it will be built from.
    pub fn needs(&self, world: &World, instances: &Instances, cont: Cont) -> Vec<Def> {
        let mut needs = vec![];
        for_each_need(world, instances, cont, |def| {
            if world.contains_conts(def) {
                needs.push(def);
            }
        });
        needs
    }

    /// `cont` needs something else than `before`.
    pub fn change_needs(&mut self, world: &World, instances: &Instances, cont: Cont, before: Vec<Def>) {
        if self.counts[world.cont_def(cont)] > 0 {
            for_each_need(world, instances, cont, |def| self.claim(world, instances, def));
            before.into_iter().for_each(|def| self.release(world, instances, def));
        }
    }

    /// One more needs `def`.
    pub fn claim(&mut self, world: &World, instances: &Instances, def: Def) {
        self.count_from(world, instances, def, |count| {
            *count += 1;
            *count == 1
        });
    }

    /// One fewer needs `def`.
    pub fn release(&mut self, world: &World, instances: &Instances, def: Def) {
        self.count_from(world, instances, def, |count| {
            debug_assert!(*count > 0, "released more often than claimed");
            *count = count.saturating_sub(1);
            *count == 0
        });
    }

    /// Changes the count of `def`, and those of what it needs if `change` says so.
    fn count_from(
        &mut self,
        world: &World,
        instances: &Instances,
        def: Def,
        change: impl Fn(&mut u32) -> bool,
    ) {
        if !world.contains_conts(def) || !change(&mut self.counts[def]) {
            return;
        }
        let mut stack = std::mem::take(&mut self.stack);
        stack.push(def);
        while let Some(def) = stack.pop() {
            let each = |needed: Def| {
                if world.contains_conts(needed) && change(&mut self.counts[needed]) {
                    stack.push(needed);
                }
            };
            match world.node(def) {
                Node::Cont(cont) => for_each_need(world, instances, cont, each),
                _ => world.for_each_operand(def, each),
            }
        }
        self.stack = stack;
    }
}

/// Calls `each` with the operands of the body of `cont`, or with what it will be built from.
fn for_each_need(world: &World, instances: &Instances, cont: Cont, each: impl FnMut(Def)) {
    match &world.cont(cont).body {
        Some(body) => std::iter::once(body.callee).chain(body.args.iter().copied()).for_each(each),
        None => instances[cont].iter().flat_map(|instance| instance.parts()).for_each(each),
    }
}
