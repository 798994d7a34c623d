//! The values of old nodes in the evaluation of one body.
//!
//! Millions of values come and go, so an environment is an array that is used again and again:
//! each entry says in which evaluation it was made, and emptying it is counting one further.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use nyala_ir::Def;

/// What stands for old nodes.
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
        // Entries that were never made have number 0.
        Env { entries: SecondaryMap::new(), evaluation: 1 }
    }
}

impl Env {
    /// Forgets all values.
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

    /// From now on `new` is the value of `old`.
    pub fn insert(&mut self, old: Def, new: Def) {
        self.entries[old] = Entry { evaluation: self.evaluation, value: new.into() };
    }
}
