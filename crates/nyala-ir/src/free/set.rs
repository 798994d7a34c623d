//! Sets of nodes, shared.
//!
//! A set is a binary trie over the bits of node ids (a Patricia trie), and equal
//! tries are stored once. So sets are compared by their ids, a set that differs in one
//! element shares nearly all of its trie, and the union of sets that
//! have much in common looks only at where they differ. A leaf holds 64
//! neighbouring ids, since a continuation's parameters are neighbours. The
//! highest bit distinguishes continuations from parameters, so the two kinds are the two subtrees of
//! a trie and are separated at no cost.

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::ReservedValue;

use crate::node::Def;
use crate::table::{Table, table_hash};

/// A set of nodes in a `Sets`; equal sets are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Set(u32);

impl Set {
    /// The empty set.
    pub const EMPTY: Set = Set(0);

    /// Whether nothing is in it.
    pub fn is_empty(self) -> bool {
        self == Set::EMPTY
    }
}

impl ReservedValue for Set {
    fn reserved_value() -> Set {
        Set(u32::MAX)
    }

    fn is_reserved_value(&self) -> bool {
        self.0 == u32::MAX
    }
}

/// A trie that is not empty. Keys are ids without their lowest six bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Trie {
    /// The key of a leaf; for a fork, the bits above `bit` that all keys share.
    key: u32,
    /// The highest bit in which keys differ, as a power of two; 0 for a leaf.
    bit: u32,
    /// A leaf's ids, or a fork's two sides: keys without and with `bit`.
    content: u64,
}

impl Trie {
    fn sides(self) -> (Set, Set) {
        (Set(self.content as u32), Set((self.content >> 32) as u32))
    }

    /// Whether `key` could be below this fork.
    fn covers(self, key: u32) -> bool {
        above(key, self.bit) == self.key
    }
}

/// The bits of `key` above `bit`.
fn above(key: u32, bit: u32) -> u32 {
    key & !(bit | (bit - 1))
}

/// An element: a parameter or a continuation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Element(u32);

/// Set in elements that are continuations.
const CONT: u32 = 1 << 31;

impl Element {
    pub fn new(def: Def, is_cont: bool) -> Element {
        let id = def.index() as u32;
        assert!(id < CONT, "fewer than 2^31 nodes");
        Element(if is_cont { id | CONT } else { id })
    }

    fn def(self) -> Def {
        Def::new((self.0 & !CONT) as usize)
    }

    /// The key of its leaf, and its bit there.
    fn split(self) -> (u32, u64) {
        (self.0 >> 6, 1 << (self.0 & 63))
    }
}

/// How many unions are remembered.
const CACHE_SIZE: usize = 1 << 12;

/// All sets of a world.
#[derive(Clone)]
pub(super) struct Sets {
    /// Number 0 is the empty set; its entry is never read.
    tries: Vec<Trie>,
    interned: Table<Set>,
    /// A cache of recent unions.
    unions: Vec<(Set, Set, Set)>,
}

impl Sets {
    pub fn new() -> Sets {
        let unused = Trie { key: 0, bit: 0, content: 0 };
        Sets { tries: vec![unused], interned: Table::new(), unions: vec![Default::default(); CACHE_SIZE] }
    }

    fn trie(&self, set: Set) -> Trie {
        self.tries[set.0 as usize]
    }

    fn intern(&mut self, trie: Trie) -> Set {
        let hash = table_hash(&trie);
        let Sets { tries, interned, .. } = self;
        if let Some(set) = interned.find(hash, |set| tries[set.0 as usize] == trie) {
            return set;
        }
        let set = Set(u32::try_from(tries.len()).expect("fewer than 2^32 sets fit in memory"));
        tries.push(trie);
        interned.insert(hash, set);
        set
    }

    pub fn singleton(&mut self, element: Element) -> Set {
        let (key, bits) = element.split();
        self.intern(Trie { key, bit: 0, content: bits })
    }

    fn fork(&mut self, key: u32, bit: u32, left: Set, right: Set) -> Set {
        match (left.is_empty(), right.is_empty()) {
            (true, _) => right,
            (_, true) => left,
            _ => self.intern(Trie { key, bit, content: u64::from(left.0) | u64::from(right.0) << 32 }),
        }
    }

    pub fn union(&mut self, a: Set, b: Set) -> Set {
        if a == b || b.is_empty() {
            return a;
        }
        if a.is_empty() {
            return b;
        }
        let (a, b) = (a.min(b), a.max(b));
        let at = (a.0.wrapping_mul(0x9e37_79b9) ^ b.0.wrapping_mul(0x85eb_ca6b)) as usize % CACHE_SIZE;
        if let (x, y, union) = self.unions[at]
            && (x, y) == (a, b)
        {
            return union;
        }
        let union = self.unite(a, b);
        self.unions[at] = (a, b, union);
        union
    }

    /// Goes no deeper than a key has bits.
    fn unite(&mut self, a: Set, b: Set) -> Set {
        let (ta, tb) = (self.trie(a), self.trie(b));
        if (ta.key, ta.bit) == (tb.key, tb.bit) {
            if ta.bit == 0 {
                return self.intern(Trie { content: ta.content | tb.content, ..ta });
            }
            let ((al, ar), (bl, br)) = (ta.sides(), tb.sides());
            let (left, right) = (self.union(al, bl), self.union(ar, br));
            return self.fork(ta.key, ta.bit, left, right);
        }
        let (high, low, low_set) = if ta.bit > tb.bit { (ta, tb, b) } else { (tb, ta, a) };
        if high.bit > low.bit && high.covers(low.key) {
            let (left, right) = high.sides();
            return if low.key & high.bit == 0 {
                let left = self.union(left, low_set);
                self.fork(high.key, high.bit, left, right)
            } else {
                let right = self.union(right, low_set);
                self.fork(high.key, high.bit, left, right)
            };
        }
        let bit = 1 << (ta.key ^ tb.key).ilog2();
        let (left, right) = if ta.key & bit == 0 { (a, b) } else { (b, a) };
        self.fork(above(ta.key, bit), bit, left, right)
    }

    /// The parameters and the continuations of a set.
    pub fn by_kind(&self, set: Set) -> (Set, Set) {
        if set.is_empty() {
            return (set, set);
        }
        let trie = self.trie(set);
        match trie.bit {
            bit if bit == CONT >> 6 => trie.sides(),
            _ if trie.key & CONT >> 6 == 0 => (set, Set::EMPTY),
            _ => (Set::EMPTY, set),
        }
    }

    /// `set` without `element`.
    pub fn remove(&mut self, set: Set, element: Element) -> Set {
        if set.is_empty() {
            return set;
        }
        let (key, bits) = element.split();
        let trie = self.trie(set);
        if trie.bit == 0 {
            let left = trie.content & !bits;
            return match left {
                _ if trie.key != key => set,
                0 => Set::EMPTY,
                content => self.intern(Trie { content, ..trie }),
            };
        }
        if !trie.covers(key) {
            return set;
        }
        let (left, right) = trie.sides();
        if key & trie.bit == 0 {
            let left = self.remove(left, element);
            self.fork(trie.key, trie.bit, left, right)
        } else {
            let right = self.remove(right, element);
            self.fork(trie.key, trie.bit, left, right)
        }
    }

    pub fn contains(&self, mut set: Set, element: Element) -> bool {
        let (key, bits) = element.split();
        while !set.is_empty() {
            let trie = self.trie(set);
            if trie.bit == 0 {
                return trie.key == key && trie.content & bits != 0;
            }
            let (left, right) = trie.sides();
            set = if key & trie.bit == 0 { left } else { right };
        }
        false
    }

    /// The elements: parameters, then continuations, each oldest first.
    pub fn elements(&self, set: Set) -> Vec<Def> {
        let mut elements = vec![];
        let mut stack = vec![set];
        while let Some(set) = stack.pop().filter(|set| !set.is_empty()) {
            let trie = self.trie(set);
            if trie.bit != 0 {
                let (left, right) = trie.sides();
                stack.extend([right, left]);
                continue;
            }
            let mut bits = trie.content;
            while bits != 0 {
                elements.push(Element(trie.key << 6 | bits.trailing_zeros()).def());
                bits &= bits - 1;
            }
        }
        elements
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn sets_agree_with_ordered_sets() {
        let mut state = 1u64;
        let mut random = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        for limit in [3, 70, 1000, CONT.into()] {
            let mut sets = Sets::new();
            let mut known: Vec<(Set, BTreeSet<Def>)> = vec![(Set::EMPTY, BTreeSet::new())];
            for _ in 0..500 {
                let def = Def::new(random(limit) as usize);
                // A node is always of the same kind.
                let element = Element::new(def, def.index() % 3 == 0);
                let single = sets.singleton(element);
                known.push((single, [def].into()));
                let (a, b) = (
                    &known[random(known.len() as u64) as usize],
                    &known[random(known.len() as u64) as usize],
                );
                let union = (sets.union(a.0, b.0), a.1.union(&b.1).copied().collect::<BTreeSet<_>>());
                let mut without = (sets.remove(union.0, element), union.1.clone());
                without.1.remove(&def);
                assert_eq!(sets.contains(union.0, element), union.1.contains(&def));
                known.extend([union, without]);
            }
            for (set, expected) in &known {
                let (params, conts) = sets.by_kind(*set);
                let (expected_conts, expected_params): (Vec<Def>, Vec<Def>) =
                    expected.iter().partition(|def| def.index() % 3 == 0);
                assert_eq!(sets.elements(params), expected_params);
                assert_eq!(sets.elements(conts), expected_conts);
                assert_eq!(sets.elements(*set), [expected_params, expected_conts].concat());
            }
            // Equal sets are one set.
            for (set, expected) in &known[..200] {
                for (other, other_expected) in &known[..200] {
                    assert_eq!(set == other, expected == other_expected);
                }
            }
        }
    }

    #[test]
    fn a_growing_set_shares_its_parts() {
        let mut sets = Sets::new();
        let mut set = Set::EMPTY;
        for i in 0..100_000 {
            let one = sets.singleton(Element::new(Def::new(i * 100), false));
            set = sets.union(set, one);
        }
        assert_eq!(sets.elements(set).len(), 100_000);
        assert!(sets.tries.len() < 100_000 * 20);
    }
}
