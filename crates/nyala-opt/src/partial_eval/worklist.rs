//! The work list of a round: the instances whose bodies are still to be built.

use cranelift_entity::EntitySet;
use nyala_ir::analysis::references::reachable;
use nyala_ir::{Cont, Def, Node, World};

use super::instance::Instances;

/// Instances to evaluate, last in, first out.
#[derive(Default)]
pub(super) struct WorkList {
    pending: Vec<Cont>,
    /// Nodes whose instances were added.
    added: EntitySet<Def>,
    /// Instances that had no reference when they were taken. See [`WorkList::take_revived`].
    unreferenced: Vec<Cont>,
}

impl WorkList {
    /// Adds every instance that `def` contains, once.
    pub(super) fn add(&mut self, world: &World, instances: &Instances, def: Def) {
        if !world.contains_conts(def) {
            return;
        }
        let mut stack = vec![def];
        while let Some(def) = stack.pop() {
            if !world.contains_conts(def) || !self.added.insert(def) {
                continue;
            }
            match world.node(def) {
                Node::Cont(cont) if instances.get(cont).is_some() => self.pending.push(cont),
                _ => world.for_each_operand(def, |operand| stack.push(operand)),
            }
        }
    }

    /// Adds an instance that was evaluated before and has to be evaluated again.
    pub(super) fn add_again(&mut self, cont: Cont) {
        self.pending.push(cont);
    }

    /// The next instance.
    pub(super) fn pop(&mut self) -> Option<Cont> {
        self.pending.pop()
    }

    /// Sets an instance aside that has no reference now.
    pub(super) fn set_aside(&mut self, cont: Cont) {
        self.unreferenced.push(cont);
    }

    /// Removes and returns the instances that were set aside and are reachable now.
    pub(super) fn take_revived(&mut self, world: &World) -> Vec<Cont> {
        if self.unreferenced.is_empty() {
            return vec![];
        }
        let mut is_reachable = EntitySet::new();
        for def in reachable(world) {
            is_reachable.insert(def);
        }
        let set_aside = std::mem::take(&mut self.unreferenced).into_iter();
        let (revived, rest): (Vec<Cont>, Vec<Cont>) =
            set_aside.partition(|&cont| is_reachable.contains(world.cont_def(cont)));
        self.unreferenced = rest;
        revived
    }
}
