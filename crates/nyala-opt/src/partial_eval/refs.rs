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

/// Counts of the nodes that contain continuations.
#[derive(Default)]
pub struct Refs {
    counts: SecondaryMap<Def, u32>,
    /// Whether a node contains a continuation: 0 unknown, 1 no, 2 yes.
    contains: SecondaryMap<Def, u8>,
    /// What a continuation needs: its captures, or the operands of its body.
    needs: SecondaryMap<Cont, Vec<Def>>,
}

impl Refs {
    /// How many need `def`.
    pub fn count(&self, def: Def) -> u32 {
        self.counts[def]
    }

    /// Says what `cont` needs from now on.
    pub fn set_needs(&mut self, world: &World, cont: Cont, needs: impl Iterator<Item = Def>) {
        let is_alive = self.counts[world.cont_def(cont)] > 0;
        let needs: Vec<Def> = needs.filter(|&def| self.contains_conts(world, def)).collect();
        if is_alive {
            needs.iter().for_each(|&def| self.claim(world, def));
        }
        let old = std::mem::replace(&mut self.needs[cont], needs);
        if is_alive {
            old.iter().for_each(|&def| self.release(world, def));
        }
    }

    /// Says what `cont` needs besides what it does.
    pub fn add_needs(&mut self, world: &World, cont: Cont, needs: impl Iterator<Item = Def>) {
        let all: Vec<Def> = self.needs[cont].iter().copied().chain(needs).collect();
        self.set_needs(world, cont, all.into_iter());
    }

    /// One more needs `def`.
    pub fn claim(&mut self, world: &World, def: Def) {
        let mut stack = vec![def];
        while let Some(def) = stack.pop() {
            if self.contains_conts(world, def) {
                self.counts[def] += 1;
                if self.counts[def] == 1 {
                    self.push_needs(world, def, &mut stack);
                }
            }
        }
    }

    /// One fewer needs `def`.
    pub fn release(&mut self, world: &World, def: Def) {
        let mut stack = vec![def];
        while let Some(def) = stack.pop() {
            if self.contains_conts(world, def) {
                debug_assert!(self.counts[def] > 0, "released more often than claimed");
                self.counts[def] -= 1;
                if self.counts[def] == 0 {
                    self.push_needs(world, def, &mut stack);
                }
            }
        }
    }

    fn push_needs(&self, world: &World, def: Def, stack: &mut Vec<Def>) {
        match world.node(def) {
            Node::Cont(cont) => stack.extend(&self.needs[cont]),
            _ => world.for_each_operand(def, |operand| stack.push(operand)),
        }
    }

    /// Whether `def` is or contains a continuation.
    pub fn contains_conts(&mut self, world: &World, def: Def) -> bool {
        if self.contains[def] != 0 {
            return self.contains[def] == 2;
        }
        let mut stack = vec![def];
        while let Some(&next) = stack.last() {
            if self.contains[next] != 0 {
                stack.pop();
                continue;
            }
            let (mut pending, mut any) = (false, world.as_cont(next).is_some());
            world.for_each_operand(next, |operand| {
                any |= self.contains[operand] == 2;
                if self.contains[operand] == 0 {
                    pending = true;
                    stack.push(operand);
                }
            });
            if any || !pending {
                self.contains[next] = if any { 2 } else { 1 };
            }
        }
        self.contains[def] == 2
    }
}
