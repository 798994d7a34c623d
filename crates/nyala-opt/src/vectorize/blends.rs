//! Values of lanes that come from different places.
//!
//! Where lanes meet, a variable is blended from what each way brings: the lanes of a mask get
//! another value. Several ways often bring the same, as when a variable is changed under three
//! conditions in each other. Then one blend is enough, and the masks of the other ways need
//! not even be computed:
//!
//! * of two values, either may be blended into the other; the simpler mask decides;
//! * lanes that have their value already, as they are in no mask of the blend before, need no other.
//!
//! A value of lanes that have not arrived does not matter.

use nyala_ir::{ArithFlags, ArithOp, Def, Node, Ty, World};
use rustc_hash::{FxHashMap, FxHashSet};

use super::emit::{Emitter, Var};
use super::lanewise;

/// So much of a mask is looked at.
const MAX_PARTS: usize = 16;

/// What is known of blended values.
#[derive(Default)]
pub(super) struct Blends {
    /// Variables with what the first way brought, and for which lanes.
    first: FxHashMap<(Var, Def), Def>,
    /// The values that were blended here: their masks are never undefined.
    made: FxHashSet<Def>,
}

impl Blends {
    /// The first way to a place brings `value` for the lanes of `mask`.
    pub fn begin(&mut self, var: Var, mask: Def, value: Def) {
        self.first.insert((var, value), mask);
    }

    /// Not only the first way, and not for these lanes only, has brought `value`.
    pub fn forget(&mut self, var: Var, value: Def) {
        self.first.remove(&(var, value));
    }

    /// The lanes for which the first way brought `value`, if nothing was blended into it.
    pub fn first_lanes(&self, var: Var, value: Def) -> Option<Def> {
        self.first.get(&(var, value)).copied()
    }
}

impl Emitter<'_> {
    /// A variable with the lanes of `mask` replaced, where these have not been in it before.
    pub fn blend(&mut self, var: Var, ty: Ty, mask: Def, value: Def) -> Def {
        let old = self.value(var);
        let new = match self.blends.first.remove(&(var, old)) {
            Some(first) if is_simpler(self.world, first, mask) => self.merge(ty, first, old, value),
            _ => self.merge(ty, mask, value, old),
        };
        // Whatever it is now, it is not only what the first way brought.
        self.blends.forget(var, new);
        new
    }

    /// The lanes of `mask` of a value, and the others of `old`.
    fn merge(&mut self, ty: Ty, mask: Def, value: Def, old: Def) -> Def {
        if let Some(either) = lanewise::either(self.world, value, old) {
            return either;
        }
        let made = &mut self.blends.made;
        lanewise::map(self.world, ty, self.task.lanes, &[value, old], &mut |world, _, values| {
            merge_scalars(world, made, mask, values[0], values[1])
        })
    }
}

fn merge_scalars(world: &mut World, made: &mut FxHashSet<Def>, mask: Def, value: Def, old: Def) -> Def {
    if let Some(either) = lanewise::either(world, value, old) {
        return either;
    }
    let before = match world.node(old) {
        Node::Select { cond, then, other } if made.contains(&old) => Some((cond, then, other)),
        _ => None,
    };
    let new = match before {
        Some((cond, _, other)) if other == value && are_apart(world, cond, mask) => old,
        Some((cond, then, other)) if then == value => {
            let both = world.arith(ArithOp::Or, ArithFlags::STRICT, cond, mask);
            world.select(both, then, other)
        }
        _ => world.select(mask, value, old),
    };
    made.insert(new);
    new
}

/// Whether a mask takes less to compute than another.
fn is_simpler(world: &World, mask: Def, than: Def) -> bool {
    n_operations(world, mask) < n_operations(world, than)
}

/// About how many operations a mask is computed by.
fn n_operations(world: &World, mask: Def) -> usize {
    let (mut waiting, mut count) = (vec![mask], 0);
    while let Some(part) = waiting.pop()
        && count < MAX_PARTS
    {
        count += 1;
        match world.node(part) {
            Node::Select { cond, then, .. } => waiting.extend([cond, then]),
            Node::Arith { lhs, rhs, .. } => waiting.extend([lhs, rhs]),
            _ => {}
        }
    }
    count
}

/// Whether no lane is in both masks, because each says the contrary of a part of the other.
fn are_apart(world: &World, a: Def, b: Def) -> bool {
    let (of_a, of_b) = (ways(world, a), ways(world, b));
    of_a.iter().all(|&a| {
        let a = conditions(world, a);
        of_b.iter().all(|&b| conditions(world, b).iter().any(|&(cond, holds)| a.contains(&(cond, !holds))))
    })
}

/// The masks that one is the union of.
fn ways(world: &World, mask: Def) -> Vec<Def> {
    let mut ways = vec![mask];
    let mut at = 0;
    while at < ways.len() && ways.len() < MAX_PARTS {
        match world.node(ways[at]) {
            Node::Arith { op: ArithOp::Or, lhs, rhs, .. } => {
                ways[at] = lhs;
                ways.push(rhs);
            }
            _ => at += 1,
        }
    }
    ways
}

/// Conditions that hold, or do not, for all lanes of a mask.
fn conditions(world: &World, mask: Def) -> Vec<(Def, bool)> {
    let (mut waiting, mut conditions) = (vec![mask], vec![]);
    while let Some(part) = waiting.pop()
        && conditions.len() < MAX_PARTS
    {
        conditions.push((part, true));
        match world.node(part) {
            Node::Select { cond, then, other } if is_all(world, other, 0) => waiting.extend([cond, then]),
            Node::Arith { op: ArithOp::Xor, lhs, rhs, .. } if is_all(world, rhs, 1) => {
                conditions.push((lhs, false));
            }
            _ => {}
        }
    }
    conditions
}

/// Whether all lanes of a mask are known to be this bit.
fn is_all(world: &World, mask: Def, bit: u64) -> bool {
    match world.node(mask) {
        Node::Aggregate(lanes) => world.list(lanes).iter().all(|&lane| world.as_lit(lane) == Some(bit)),
        _ => false,
    }
}
