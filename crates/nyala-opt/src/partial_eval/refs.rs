//! Reference counts of the continuations of the new program.
//!
//! A continuation that one body calls and nothing else references is evaluated in that body, instead
//! of staying a jump. References come from finished bodies, from instances that are still
//! to be evaluated, and from operations that contain the continuation. A node whose count falls to zero
//! releases its own references; if the count rises again, it claims them again.
//!
//! The counts only guide the evaluator. A wrong count leads to a missed inlining or to a second
//! copy, never to a wrong program.

use cranelift_entity::SecondaryMap;
use nyala_ir::{Cont, Def, Node, World};

use super::instance::Instances;

/// The counts of nodes that contain continuations.
#[derive(Default)]
pub struct Refs {
    counts: SecondaryMap<Def, u32>,
    /// Reusable memory for traversals, of which each node needs several.
    stack: Vec<Def>,
}

impl Refs {
    /// The references to `def`.
    pub fn count(&self, def: Def) -> u32 {
        self.counts[def]
    }

    /// The references of `cont` to nodes that contain continuations: the operands of its body, or the values of
    /// its instance.
    pub fn needs(&self, world: &World, instances: &Instances, cont: Cont) -> Vec<Def> {
        let mut needs = vec![];
        for_each_need(world, instances, cont, |def| {
            if world.contains_conts(def) {
                needs.push(def);
            }
        });
        needs
    }

    /// Replaces the references `before` of `cont` by those that it has now.
    pub fn change_needs(&mut self, world: &World, instances: &Instances, cont: Cont, before: Vec<Def>) {
        if self.counts[world.cont_def(cont)] > 0 {
            for_each_need(world, instances, cont, |def| self.claim(world, instances, def));
            before.into_iter().for_each(|def| self.release(world, instances, def));
        }
    }

    /// Adds a reference to `def`.
    pub fn claim(&mut self, world: &World, instances: &Instances, def: Def) {
        self.count_from(world, instances, def, |count| {
            *count += 1;
            *count == 1
        });
    }

    /// Removes a reference to `def`.
    pub fn release(&mut self, world: &World, instances: &Instances, def: Def) {
        self.count_from(world, instances, def, |count| {
            debug_assert!(*count > 0, "released more often than claimed");
            *count = count.saturating_sub(1);
            *count == 0
        });
    }

    /// Changes the count of `def`, and the counts of its references if `change` returns true.
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

/// Calls `each` with the operands of the body of `cont`, or with the values of its instance.
fn for_each_need(world: &World, instances: &Instances, cont: Cont, each: impl FnMut(Def)) {
    match &world.cont(cont).body {
        Some(body) => std::iter::once(body.callee).chain(body.args.iter().copied()).for_each(each),
        None => instances.get(cont).into_iter().flat_map(|instance| instance.parts()).for_each(each),
    }
}
