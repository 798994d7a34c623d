//! What became of instances.
//!
//! There is an entry for each instance ever made, and one is looked for at every call. Whoever looks for it has just
//! asked for its values, so it is looked for among the instances that have the latest of them, which were made at about the
//! same time and are still in the cache. The place in a hash table of millions would not be. Only what has no values,
//! and what comes after the first few instances of a value that many have, is in the table.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use nyala_ir::table::Table;
use nyala_ir::{Cont, Def};

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

struct EntryData {
    instance: Instance,
    made: Made,
    /// The one listed before it with the same value.
    before: PackedOption<Entry>,
}

/// How many instances are listed with a value.
const MAX_LISTED: usize = 8;

/// Where an entry is to be found.
enum Place {
    /// In the list of this value.
    List(Def),
    Table,
}

/// The instances that were made, and what became of them.
pub(super) struct Memo {
    entries: PrimaryMap<Entry, EntryData>,
    /// For each value, the newest entry that is listed with it.
    newest: SecondaryMap<Def, PackedOption<Entry>>,
    by_hash: Table<Entry>,
}

impl Memo {
    pub(super) fn new() -> Memo {
        Memo { entries: PrimaryMap::new(), newest: SecondaryMap::new(), by_hash: Table::new() }
    }

    /// What became of `instance`.
    pub(super) fn get(&self, instance: &Instance) -> Option<Made> {
        self.find(instance).ok().map(|entry| self.entries[entry].made)
    }

    /// From now on, `instance` is `made`.
    pub(super) fn insert(&mut self, instance: Instance, made: Made) {
        let place = match self.find(&instance) {
            Ok(entry) => return self.entries[entry].made = made,
            Err(place) => place,
        };
        let hash = instance.hash();
        let entry = self.entries.push(EntryData { instance, made, before: None.into() });
        match place {
            Place::List(value) => {
                self.entries[entry].before = std::mem::replace(&mut self.newest[value], entry.into());
            }
            Place::Table => self.by_hash.insert(hash, entry),
        }
    }

    /// The entry of `instance`, or where to put it.
    fn find(&self, instance: &Instance) -> Result<Entry, Place> {
        let same = |entry: Entry| self.entries[entry].instance == *instance;
        if let Some(latest) = instance.parts().max() {
            let mut n_listed = 0;
            let mut next = self.newest[latest];
            while let Some(entry) = next.expand() {
                if same(entry) {
                    return Ok(entry);
                }
                n_listed += 1;
                next = self.entries[entry].before;
            }
            if n_listed < MAX_LISTED {
                return Err(Place::List(latest));
            }
        }
        self.by_hash.find(instance.hash(), same).ok_or(Place::Table)
    }
}
