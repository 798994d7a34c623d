//! What stands for the nodes of a function.
//!
//! An operation may be scheduled in several blocks of which none dominates another. So a value is looked up from a
//! block: the copy is taken that was computed in a dominator of it.

use nyala_ir::Def;
use rustc_hash::FxHashMap;

use super::flow::Flow;

/// The values that have been computed, each with the block that computed it.
pub(crate) struct Values<V> {
    copies: FxHashMap<Def, Vec<(usize, V)>>,
}

impl<V> Default for Values<V> {
    fn default() -> Values<V> {
        Values { copies: FxHashMap::default() }
    }
}

impl<V> Values<V> {
    /// Says what the value of `def` is in `block` and in what it dominates.
    pub(crate) fn set(&mut self, def: Def, block: usize, value: V) {
        self.copies.entry(def).or_default().push((block, value));
    }

    /// Says what the only value of `def` is, a parameter of `block`.
    pub(crate) fn set_param(&mut self, def: Def, block: usize, value: V) {
        self.copies.insert(def, vec![(block, value)]);
    }

    /// Forgets a parameter; gives its value.
    pub(crate) fn remove_param(&mut self, def: Def) -> Option<V> {
        self.copies.remove(&def)?.pop().map(|(_, value)| value)
    }

    /// The value of `def` in the current block.
    pub(crate) fn get(&self, def: Def, flow: &Flow<'_>) -> Option<&V> {
        let copies = self.copies.get(&def)?.iter().rev();
        copies.filter(|(block, _)| flow.dominates_current(*block)).map(|(_, value)| value).next()
    }

    /// The value of a parameter of a block, wherever the current block is.
    pub(crate) fn param(&self, def: Def) -> Option<&V> {
        self.copies.get(&def)?.first().map(|(_, value)| value)
    }
}
