//! The values of old nodes in the evaluation of one body.
//!
//! An evaluation binds millions of values. So an environment is one array that all bodies reuse:
//! each entry has the number of the evaluation that made it, and the next number empties the array.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use nyala_ir::Def;

/// A map from old nodes to new values.
pub(super) struct Env {
    entries: SecondaryMap<Def, Entry>,
    evaluation: u32,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    evaluation: u32,
    value: PackedOption<Def>,
}

impl Default for Env {
    fn default() -> Env {
        // Entries that were never set have number 0.
        Env { entries: SecondaryMap::new(), evaluation: 1 }
    }
}

impl Env {
    /// Removes all values.
    pub fn clear(&mut self) {
        match self.evaluation.checked_add(1) {
            Some(next) => self.evaluation = next,
            None => *self = Env::default(),
        }
    }

    /// The value of `old`.
    pub fn get(&self, old: Def) -> Option<Def> {
        let entry = self.entries[old];
        if entry.evaluation == self.evaluation { entry.value.expand() } else { None }
    }

    /// Sets the value of `old`.
    pub fn insert(&mut self, old: Def, new: Def) {
        self.entries[old] = Entry { evaluation: self.evaluation, value: new.into() };
    }
}
