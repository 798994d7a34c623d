//! The table of hash-consing: maps the hash of a node to its id.
//!
//! Millions of look-ups each go to a place of their own in a table far larger than
//! any cache, so the number of touched cache lines matters. Here it is
//! one: a slot has hash and id, and a collision continues at the next slot.
//!
//! # Invariants
//!
//! * Slots are ordered by hash, but for collisions, since the position is the upper part
//!   of the hash. So growing copies from front to back.
//! * At most 5/8 of the slots are taken: a search ends after a few.

use cranelift_entity::packed_option::{PackedOption, ReservedValue};

/// Hashes with ids.
#[derive(Clone)]
pub struct Table<Id: ReservedValue> {
    slots: Vec<Slot<Id>>,
    len: usize,
    /// How far a hash is shifted to give a position.
    shift: u32,
}

#[derive(Clone, Copy)]
struct Slot<Id: ReservedValue> {
    hash: u32,
    id: PackedOption<Id>,
}

impl<Id: ReservedValue + Copy> Default for Table<Id> {
    fn default() -> Table<Id> {
        Table::new()
    }
}

impl<Id: ReservedValue + Copy> Table<Id> {
    /// The empty table.
    pub fn new() -> Table<Id> {
        const SLOTS: usize = 1 << 6;
        Table { slots: empty(SLOTS), len: 0, shift: u32::BITS - SLOTS.ilog2() }
    }

    /// The one with this hash for which `same` holds.
    pub fn find(&self, hash: u32, same: impl Fn(Id) -> bool) -> Option<Id> {
        let mut at = self.position(hash);
        while let Some(id) = self.slots[at].id.expand() {
            if self.slots[at].hash == hash && same(id) {
                return Some(id);
            }
            at = self.next(at);
        }
        None
    }

    /// Adds one that is not there.
    pub fn insert(&mut self, hash: u32, id: Id) {
        if (self.len + 1) * 8 > self.slots.len() * 5 {
            self.grow();
        }
        self.place(Slot { hash, id: id.into() });
        self.len += 1;
    }

    fn place(&mut self, slot: Slot<Id>) {
        let mut at = self.position(slot.hash);
        while self.slots[at].id.is_some() {
            at = self.next(at);
        }
        self.slots[at] = slot;
    }

    fn grow(&mut self) {
        let twice = empty(self.slots.len() * 2);
        let old = std::mem::replace(&mut self.slots, twice);
        self.shift -= 1;
        old.into_iter().filter(|slot| slot.id.is_some()).for_each(|slot| self.place(slot));
    }

    fn position(&self, hash: u32) -> usize {
        (hash >> self.shift) as usize
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }
}

fn empty<Id: ReservedValue + Copy>(len: usize) -> Vec<Slot<Id>> {
    vec![Slot { hash: 0, id: None.into() }; len]
}

/// The hash that a table takes: its positions are the upper bits, and the upper half of a
/// product depends on all bits of the factor.
pub fn table_hash(content: &impl std::hash::Hash) -> u32 {
    let mut hasher = rustc_hash::FxHasher::default();
    content.hash(&mut hasher);
    finish(hasher)
}

/// As [`table_hash`], of the input of a hasher.
pub(crate) fn finish(hasher: impl std::hash::Hasher) -> u32 {
    (hasher.finish().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use cranelift_entity::EntityRef;

    use super::*;
    use crate::node::Def;

    #[test]
    fn entries_are_found_after_collisions_and_growth() {
        let mut table: Table<Def> = Table::new();
        // Few distinct hashes, all at the end of the table, so that searches wrap around.
        let hash = |i: usize| u32::MAX - (i % 7) as u32;
        for i in 0..1000 {
            assert_eq!(table.find(hash(i), |def| def.index() == i), None);
            table.insert(hash(i), Def::new(i));
        }
        for i in 0..1000 {
            assert_eq!(table.find(hash(i), |def| def.index() == i), Some(Def::new(i)));
        }
        assert_eq!(table.find(3, |_| true), None);
    }
}
