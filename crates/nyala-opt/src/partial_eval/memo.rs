//! The form of each instance, by its values.
//!
//! There is an entry for each instance, and every call looks one up. The values of the instance were built
//! shortly before. So the search is among the instances that have the newest of these values: they were made at
//! about the same time and are still in the cache. A slot of a hash table with millions of entries would
//! not be. The table has only the instances without values, and those after the first few of a value that many
//! instances have.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use nyala_ir::table::Table;
use nyala_ir::{Cont, Def};

use super::instance::Instance;
use super::unfold::UnfoldingId;

/// The form of an instance.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// A continuation of the new program.
    Cont(Cont),
    /// A part of a body.
    Unfolded(UnfoldingId),
}

/// An instance in the memo.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry(u32);
entity_impl!(Entry, "entry");

struct EntryData {
    instance: Instance,
    form: Form,
    /// The entry listed before it with the same value.
    before: PackedOption<Entry>,
}

/// How many instances are listed with a value. All others are in the table.
const MAX_LISTED: usize = 8;

/// Where an entry belongs.
enum Place {
    /// In the list of this value.
    List(Def),
    Table,
}

/// All instances with their forms.
#[derive(Default)]
pub(super) struct Memo {
    entries: PrimaryMap<Entry, EntryData>,
    /// For each value, the newest entry that is listed with it.
    newest: SecondaryMap<Def, PackedOption<Entry>>,
    by_hash: Table<Entry>,
}

impl Memo {
    /// The form of `instance`.
    pub(super) fn get(&self, instance: &Instance) -> Option<Form> {
        self.find(instance).ok().map(|entry| self.entries[entry].form)
    }

    /// From now on, `instance` has this form.
    pub(super) fn insert(&mut self, instance: Instance, form: Form) {
        let place = match self.find(&instance) {
            Ok(entry) => return self.entries[entry].form = form,
            Err(place) => place,
        };
        let hash = instance.hash();
        let entry = self.entries.push(EntryData { instance, form, before: None.into() });
        match place {
            Place::List(value) => {
                self.entries[entry].before = std::mem::replace(&mut self.newest[value], entry.into());
            }
            Place::Table => self.by_hash.insert(hash, entry),
        }
    }

    /// The entry of `instance`, or the place for it.
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
