//! What became of instances.
//!
//! There is an entry for each instance ever made, and one is looked for at every call. So entries are written one
//! after the other, and what is searched is a small table beside them.

use cranelift_entity::{PrimaryMap, entity_impl};
use nyala_ir::Cont;
use nyala_ir::table::Table;

use super::instance::Instance;
use super::unfold::UnfoldingId;

/// What became of an instance.
#[derive(Clone, Copy)]
pub(super) enum Made {
    /// A continuation of the new program.
    Cont(Cont),
    /// A part of a body.
    Unfolded(UnfoldingId),
}

/// An instance that was made.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry(u32);
entity_impl!(Entry, "entry");

/// The instances that were made, and what became of them.
pub(super) struct Memo {
    entries: PrimaryMap<Entry, (Instance, Made)>,
    by_hash: Table<Entry>,
}

impl Memo {
    pub(super) fn new() -> Memo {
        Memo { entries: PrimaryMap::new(), by_hash: Table::new() }
    }

    /// What became of `instance`.
    pub(super) fn get(&self, instance: &Instance) -> Option<Made> {
        self.find(instance).map(|entry| self.entries[entry].1)
    }

    /// From now on, `instance` is `made`.
    pub(super) fn insert(&mut self, instance: Instance, made: Made) {
        match self.find(&instance) {
            Some(entry) => self.entries[entry].1 = made,
            None => {
                let hash = instance.hash();
                let entry = self.entries.push((instance, made));
                self.by_hash.insert(hash, entry);
            }
        }
    }

    fn find(&self, instance: &Instance) -> Option<Entry> {
        self.by_hash.find(instance.hash(), |entry| self.entries[entry].0 == *instance)
    }
}
