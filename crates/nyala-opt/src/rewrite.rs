//! Replaces nodes all over a program, in place.
//!
//! A [`Rewriter`] has replacements for some old nodes and rebuilds all nodes that
//! depend on them, through the factories, so that they fold.
//! Nothing recurses on the depth of the graph, and each node is built once.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef as _, SecondaryMap};
use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{Def, World};
use rustc_hash::{FxHashMap, FxHashSet};

/// The replacements of old nodes.
pub(crate) struct Rewriter<'w> {
    pub world: &'w mut World,
    /// The new node for each old node that is done.
    done: SecondaryMap<Def, PackedOption<Def>>,
    /// Old nodes that are replaced by other old nodes.
    same: FxHashMap<Def, Def>,
    /// The old nodes that may change; none if that is not computed.
    affected: Option<Vec<bool>>,
}

impl<'w> Rewriter<'w> {
    /// A rewriter without replacements.
    pub fn new(world: &'w mut World) -> Rewriter<'w> {
        let done = SecondaryMap::with_capacity(world.node_count());
        Rewriter { world, done, same: FxHashMap::default(), affected: None }
    }

    /// A rewriter that will replace `changed`. It rebuilds only nodes that depend on them.
    pub fn of(world: &'w mut World, changed: impl IntoIterator<Item = Def>) -> Rewriter<'w> {
        let mut affected = vec![false; world.node_count()];
        changed.into_iter().for_each(|def| affected[def.index()] = true);
        let first = affected.iter().position(|&is_affected| is_affected).unwrap_or(affected.len());
        // Operands have smaller numbers than their users.
        for def in world.defs().skip(first) {
            let mut any = affected[def.index()];
            world.for_each_operand(def, |operand| any |= affected[operand.index()]);
            affected[def.index()] = any;
        }
        Rewriter { affected: Some(affected), ..Rewriter::new(world) }
    }

    /// Whether `old` may change.
    pub fn is_affected(&self, old: Def) -> bool {
        self.affected.as_ref().is_none_or(|affected| affected.get(old.index()) == Some(&true))
    }

    /// Replaces `old` by the new node `new`.
    pub fn replace(&mut self, old: Def, new: Def) {
        self.done[old] = new.into();
    }

    /// Replaces `old` by the replacement of the old node `other`.
    pub fn unify(&mut self, old: Def, other: Def) {
        self.same.insert(old, other);
    }

    /// The replacement of `old`. Operands come before users on an explicit stack.
    pub fn def(&mut self, old: Def) -> Def {
        if !self.is_affected(old) {
            return old;
        }
        let mut stack = vec![old];
        while let Some(&next) = stack.last() {
            if self.done[next].is_some() {
                stack.pop();
            } else if !self.is_affected(next) {
                self.replace(next, next);
            } else if let Some(&other) = self.same.get(&next) {
                match self.done[other].expand() {
                    Some(new) => self.replace(next, new),
                    None => stack.push(other),
                }
            } else {
                let before = stack.len();
                self.world.for_each_operand(next, |operand| {
                    if self.done[operand].is_none() {
                        stack.push(operand);
                    }
                });
                if stack.len() == before {
                    let new = self.build(next);
                    self.replace(next, new);
                }
            }
        }
        self.done[old].expect("built above")
    }

    /// The replacement of the filter `old`. A filter has no effects: if the replacement depends on one, it is
    /// unknown, so it is `false`.
    pub fn filter(&mut self, old: Def) -> Def {
        let filter = self.def(old);
        if filter == old {
            return old;
        }
        if depends_on_effect(self.world, filter) { self.world.lit_bool(false) } else { filter }
    }

    /// The replacement of a node whose operands are done.
    fn build(&mut self, old: Def) -> Def {
        let old_operands = self.world.operands(old);
        let operands: Vec<Def> =
            old_operands.iter().map(|&operand| self.done[operand].expect("operands come first")).collect();
        self.world.replace_operands(old, &operands)
    }
}

fn depends_on_effect(world: &World, root: Def) -> bool {
    let mut seen = FxHashSet::default();
    let mut stack = vec![root];
    while let Some(def) = stack.pop() {
        if has_effect(world, def) {
            return true;
        }
        if seen.insert(def) {
            world.for_each_operand(def, |operand| stack.push(operand));
        }
    }
    false
}
