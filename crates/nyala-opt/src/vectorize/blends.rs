//! Selects at join points.
//!
//! Where lanes reconverge, a variable is blended from the values of the incoming edges: the lanes of an
//! edge's mask get its value. Several edges often bring the same value, as when a variable changes
//! under three nested conditions. Then one select is enough, and the masks of the other edges are not
//! computed:
//!
//! * either of two values may be blended into the other; the simpler mask is used;
//! * an edge needs no select if its lanes have the value already, because no earlier mask contains
//!   them;
//! * a value that differs from the old one in lanes of the mask only is the result. Nested conditions that
//!   change a variable bring such values.
//!
//! The value of a lane that has not arrived is irrelevant.

use nyala_ir::{ArithFlags, ArithOp, Def, Node, Ty, TyKind, World};
use rustc_hash::FxHashMap;

use super::emit::{Emitter, Var};
use super::lanewise;

/// The largest number of operations of a mask that are examined.
const MAX_PARTS: usize = 16;

/// The lanes that pass an edge.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    /// Defined in every lane.
    mask: Def,
    /// Equal in the lanes that arrive at the join. In the others it may be undefined, because it depends on values that
    /// only the active lanes compute.
    among_arriving: Def,
}

impl Lanes {
    /// The lanes of a mask that is defined in every lane.
    pub fn of(mask: Def) -> Lanes {
        Lanes { mask, among_arriving: mask }
    }

    /// The lanes of a mask, and a simpler one for the lanes that arrive.
    pub fn among_arriving(mask: Def, among_arriving: Def) -> Lanes {
        Lanes { mask, among_arriving }
    }

    fn choose_everywhere(self) -> bool {
        self.mask == self.among_arriving
    }
}

/// The origin of blended values.
#[derive(Default)]
pub(super) struct Blends {
    /// By variable and value: the lanes of the first edge, if the value is only from that edge.
    first: FxHashMap<(Var, Def), Lanes>,
    /// The results of selects made here, and whether their masks are defined in every lane. Only those can be examined
    /// at a later join, where more lanes arrive.
    made: FxHashMap<Def, bool>,
}

impl Blends {
    /// The first edge to a vertex brings `value` for its lanes.
    pub fn begin(&mut self, var: Var, lanes: Lanes, value: Def) {
        self.first.insert((var, value), lanes);
    }

    /// `value` is no longer from the first edge only.
    pub fn discard(&mut self, var: Var, value: Def) {
        self.first.remove(&(var, value));
    }

    /// The mask of the first edge, if `value` is only from that edge.
    pub fn first_lanes(&self, var: Var, value: Def) -> Option<Def> {
        self.first.get(&(var, value)).map(|lanes| lanes.mask)
    }
}

impl Emitter<'_> {
    /// Replaces the lanes of an edge in a variable. The variable was undefined in these lanes before.
    pub fn blend(&mut self, var: Var, ty: Ty, lanes: Lanes, value: Def) -> Def {
        let old = self.value(var);
        let new = match self.blends.first.remove(&(var, old)) {
            Some(first) if is_simpler(self.world, first.among_arriving, lanes.among_arriving) => {
                self.merge(ty, first, old, value)
            }
            _ => self.merge(ty, lanes, value, old),
        };
        // The result has values of several edges.
        self.blends.discard(var, new);
        new
    }

    /// `value` in these lanes, `old` in the others.
    fn merge(&mut self, ty: Ty, lanes: Lanes, value: Def, old: Def) -> Def {
        if let Some(either) = lanewise::either(self.world, value, old) {
            return either;
        }
        let made = &mut self.blends.made;
        lanewise::map(self.world, ty, self.task.lanes, &[value, old], &mut |world, _, values| {
            merge_scalars(world, made, lanes, values[0], values[1])
        })
    }
}

fn merge_scalars(
    world: &mut World,
    made: &mut FxHashMap<Def, bool>,
    lanes: Lanes,
    value: Def,
    old: Def,
) -> Def {
    if let Some(either) = lanewise::either(world, value, old) {
        return either;
    }
    if differs_in(world, made, lanes, value, old) {
        return value;
    }
    let blended = |def: Def| match world.node(def) {
        Node::Select { cond, then, other } => made.get(&def).map(|&is_total| (cond, then, other, is_total)),
        _ => None,
    };
    let (inner, before) = (blended(value), blended(old));
    let (new, is_total) = match (inner, before) {
        // In the lanes of this edge, the value is defined, and so is the mask that chose it.
        (Some((cond, then, other, _)), _) if other == old => {
            let none = no_lanes(world, lanes.among_arriving);
            let both = world.select(lanes.among_arriving, cond, none);
            (world.select(both, then, old), lanes.choose_everywhere())
        }
        (_, Some((cond, _, other, true))) if other == value && are_disjoint(world, cond, lanes.mask) => {
            (old, true)
        }
        (_, Some((cond, then, other, true))) if then == value => {
            let both = world.arith(ArithOp::Or, ArithFlags::STRICT, cond, lanes.mask);
            (world.select(both, then, other), true)
        }
        _ => (world.select(lanes.among_arriving, value, old), lanes.choose_everywhere()),
    };
    made.insert(new, is_total);
    new
}

/// Whether `value` was blended into `old`, in these lanes only.
fn differs_in(world: &World, made: &FxHashMap<Def, bool>, lanes: Lanes, value: Def, old: Def) -> bool {
    let mut rest = value;
    for _ in 0..MAX_PARTS {
        match world.node(rest) {
            Node::Select { cond, other, .. }
                if made.get(&rest) == Some(&true)
                    && conditions(world, cond).iter().any(|&(condition, holds)| {
                        holds && (condition == lanes.mask || condition == lanes.among_arriving)
                    }) =>
            {
                rest = other;
            }
            _ => return rest == old,
        }
    }
    false
}

/// The empty mask with the lanes of another one.
fn no_lanes(world: &mut World, mask: Def) -> Def {
    let no = world.lit_bool(false);
    match *world.types.kind(world.ty(mask)) {
        TyKind::Simd { lanes, .. } => world.splat(no, lanes),
        _ => no,
    }
}

/// Whether a mask takes fewer operations than another.
fn is_simpler(world: &World, mask: Def, than: Def) -> bool {
    n_operations(world, mask) < n_operations(world, than)
}

/// The approximate number of operations of a mask.
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

/// Whether two masks are disjoint, because one implies a condition and the other its negation.
fn are_disjoint(world: &World, a: Def, b: Def) -> bool {
    let (of_a, of_b) = (union_terms(world, a), union_terms(world, b));
    of_a.iter().all(|&a| {
        let a = conditions(world, a);
        of_b.iter().all(|&b| conditions(world, b).iter().any(|&(cond, holds)| a.contains(&(cond, !holds))))
    })
}

/// The masks that a mask is the union of.
fn union_terms(world: &World, mask: Def) -> Vec<Def> {
    let mut union_terms = vec![mask];
    let mut at = 0;
    while at < union_terms.len() && union_terms.len() < MAX_PARTS {
        match world.node(union_terms[at]) {
            Node::Arith { op: ArithOp::Or, lhs, rhs, .. } => {
                union_terms[at] = lhs;
                union_terms.push(rhs);
            }
            _ => at += 1,
        }
    }
    union_terms
}

/// The conditions that hold, or do not hold, for all lanes of a mask.
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
