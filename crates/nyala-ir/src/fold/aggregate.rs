//! Rules of tuples, structs, arrays, simd values and enums.
//!
//! An aggregate of up to [`SMALL`] parts is written out: `insert` at a known
//! place gives a new list of parts. For larger ones that would cost the whole
//! list each time, so `insert` stays a node, and `extract` walks the chain of
//! `insert`s. A chain that has grown long, see [`max_chain`], is written out once.
//! So n `insert`s into n parts take O(n) memory per 64th of the way, and a walk is short
//! next to n.

use crate::node::{Def, Node};
use crate::types::{Ty, TyKind};
use crate::world::World;

/// Aggregates with at most this many parts are written out.
const SMALL: u64 = 64;

/// How long a chain of `insert`s into `n_parts` parts may get before it is
/// written out.
fn max_chain(n_parts: u64) -> u32 {
    u32::try_from(n_parts / SMALL).unwrap_or(u32::MAX).max(SMALL as u32)
}

/// Selecting a part of a `select` pushes it inside if that has at most this many parts.
const SMALL_SELECT: usize = 8;

/// What a value of type `ty` with these parts simplifies to.
pub(crate) fn aggregate(world: &mut World, ty: Ty, parts: &[Def]) -> Option<Def> {
    let &first = parts.first()?;
    match world.node(first) {
        // One part of a type that is no aggregate is that part: there are no one-tuples.
        _ if parts.len() == 1 && world.ty(first) == ty => Some(first),
        // (undef, undef) = undef
        Node::Undef => {
            let all = parts.iter().all(|&part| matches!(world.node(part), Node::Undef));
            all.then(|| world.undef(ty))
        }
        // (a.0, a.1) = a
        Node::Extract { agg, .. } if world.ty(agg) == ty => {
            let is_part = |(i, &part): (usize, &Def)| match world.node(part) {
                Node::Extract { agg: other, index } => {
                    other == agg && part_number(world, index) == Some(i as u64)
                }
                _ => false,
            };
            let all = world.types.part_count(ty) == Some(parts.len() as u64)
                && parts.iter().enumerate().all(is_part);
            all.then_some(agg)
        }
        _ => None,
    }
}

/// The value of a literal index; `None` if it is negative.
fn part_number(world: &World, index: Def) -> Option<u64> {
    world.as_int(index).and_then(|index| u64::try_from(index).ok())
}

/// What part `index` of `agg` simplifies to.
pub(crate) fn extract(world: &mut World, mut agg: Def, index: Def) -> Option<Def> {
    let number = part_number(world, index);
    let start = agg;
    // insert(a, i, v).i = v, and insert(a, i, v).j = a.j for literals i and j
    let mut steps_left = world.types.part_count(world.ty(agg)).map_or(0, max_chain);
    while let Node::Insert { agg: inner, index: at, value } = world.node(agg) {
        if steps_left == 0 {
            return None;
        }
        steps_left -= 1;
        if at == index {
            return Some(value);
        }
        match (number, part_number(world, at)) {
            (Some(number), Some(at)) if number == at => return Some(value),
            (Some(_), Some(_)) => agg = inner,
            _ => break,
        }
    }
    match (world.node(agg), number) {
        // (a, b).0 = a; an index out of range stays in the program
        (Node::Aggregate(parts), Some(number)) => {
            world.list(parts).get(usize::try_from(number).ok()?).copied()
        }
        // undef.i = undef
        (Node::Undef, Some(number)) => {
            let part = world.types.part(world.ty(agg), number)?;
            Some(world.undef(part))
        }
        // select(c, (a, b), (x, y)).0 = select(c, a, x)
        (Node::Select { cond, then, other }, Some(_)) if world.ty(cond) == world.types.bool() => {
            let small = |def| match world.node(def) {
                Node::Aggregate(parts) => world.list(parts).len() <= SMALL_SELECT,
                _ => false,
            };
            if !small(then) || !small(other) {
                return (agg != start).then(|| world.extract(agg, index));
            }
            let (then, other) = (world.extract(then, index), world.extract(other, index));
            Some(world.select(cond, then, other))
        }
        _ => (agg != start).then(|| world.extract(agg, index)),
    }
}

/// What `agg` with part `index` replaced simplifies to.
pub(crate) fn insert(world: &mut World, agg: Def, index: Def, value: Def) -> Option<Def> {
    // insert(a, i, a.i) = a
    if let Node::Extract { agg: from, index: at } = world.node(value)
        && from == agg
        && at == index
    {
        return Some(agg);
    }
    // insert(insert(a, i, x), i, y) = insert(a, i, y)
    if let Node::Insert { agg: inner, index: at, .. } = world.node(agg)
        && at == index
    {
        return Some(world.insert(inner, index, value));
    }
    let ty = world.ty(agg);
    let n_parts = world.types.part_count(ty)?;
    let number = part_number(world, index).filter(|&number| number < n_parts)?;
    if n_parts <= SMALL {
        return insert_small(world, agg, ty, (index, number), value, n_parts as usize);
    }
    if world.insert_depth(agg) + 1 < max_chain(n_parts) {
        return None;
    }
    let mut parts = written_out(world, agg, n_parts)?;
    parts[number as usize] = value;
    Some(world.aggregate(ty, &parts))
}

/// Keeps count of the chain that `insert` into `agg` ends. Where the chain was due
/// to be written out and could not be, counting starts again, so that trying
/// stays rare.
pub(crate) fn note_insert(world: &mut World, insert: Def, agg: Def) {
    let n_parts = world.types.part_count(world.ty(agg)).unwrap_or(0);
    if n_parts > SMALL {
        let depth = world.insert_depth(agg) + 1;
        world.set_insert_depth(insert, if depth < max_chain(n_parts) { depth } else { 0 });
    }
}

/// Writes the result out if all its parts are known.
fn insert_small(
    world: &mut World,
    agg: Def,
    ty: Ty,
    (index, number): (Def, u64),
    value: Def,
    n_parts: usize,
) -> Option<Def> {
    match world.node(agg) {
        // insert((a, b), 0, v) = (v, b), and undef is (undef, undef)
        Node::Aggregate(_) | Node::Undef => {
            let mut parts = written_out(world, agg, n_parts as u64)?;
            parts[number as usize] = value;
            Some(world.aggregate(ty, &parts))
        }
        // insert(insert(a, 0, x), 1, y) = (x, y), once every part was replaced
        Node::Insert { .. } => {
            let mut parts = vec![None; n_parts];
            parts[number as usize] = Some(value);
            let mut at = agg;
            while let Node::Insert { agg: inner, index: other, value: old } = world.node(at) {
                let other = part_number(world, other)?;
                // A part that is replaced again: take the older one out of the chain.
                if other == number && at == agg {
                    return Some(world.insert(inner, index, value));
                }
                let part = parts.get_mut(other as usize)?;
                *part = part.or(Some(old));
                at = inner;
            }
            let parts: Vec<Def> = parts.into_iter().collect::<Option<_>>()?;
            Some(world.aggregate(ty, &parts))
        }
        _ => None,
    }
}

/// All parts of a chain of `insert`s at known places into known parts.
fn written_out(world: &mut World, agg: Def, n_parts: u64) -> Option<Vec<Def>> {
    let n_parts = usize::try_from(n_parts).ok()?;
    let mut chain = vec![];
    let mut base = agg;
    while let Node::Insert { agg: inner, index, value } = world.node(base) {
        chain.push((usize::try_from(part_number(world, index)?).ok()?, value));
        base = inner;
    }
    let mut parts = match world.node(base) {
        Node::Aggregate(parts) => world.list(parts).to_vec(),
        Node::Undef => undefs(world, world.ty(base), n_parts)?,
        _ => return None,
    };
    for (index, value) in chain.into_iter().rev() {
        *parts.get_mut(index)? = value;
    }
    (parts.len() == n_parts).then_some(parts)
}

fn undefs(world: &mut World, ty: Ty, n_parts: usize) -> Option<Vec<Def>> {
    (0..n_parts)
        .map(|i| {
            let part = world.types.part(ty, i as u64)?;
            Some(world.undef(part))
        })
        .collect()
}

/// What the option number of `value` simplifies to.
pub(crate) fn variant_tag(world: &mut World, value: Def) -> Option<Def> {
    match world.node(value) {
        // tag(variant[o](p)) = o
        Node::Variant { option, .. } => Some(world.lit_u32(option)),
        // tag(select(c, a, b)) = select(c, tag(a), tag(b)), if those are known
        Node::Select { cond, then, other } => {
            let ((then, _), (other, _)) = (as_variant(world, then)?, as_variant(world, other)?);
            let (then, other) = (world.lit_u32(then), world.lit_u32(other));
            Some(world.select(cond, then, other))
        }
        // An enum with one option has no other.
        _ => match *world.types.kind(world.ty(value)) {
            TyKind::Enum(id) if world.types.enums[id].options.len() == 1 => Some(world.lit_u32(0)),
            _ => None,
        },
    }
}

/// What the payload of `value`, known to be `option`, simplifies to.
pub(crate) fn variant_payload(world: &mut World, option: u32, value: Def) -> Option<Def> {
    match world.node(value) {
        // payload[o](variant[o](p)) = p; another option would fail when run
        Node::Variant { option: actual, payload } if actual == option => Some(payload),
        // payload[o](select(c, variant[o](p), variant[o](q))) = select(c, p, q)
        Node::Select { cond, then, other } => match (as_variant(world, then)?, as_variant(world, other)?) {
            ((a, then), (b, other)) if a == option && b == option => Some(world.select(cond, then, other)),
            _ => None,
        },
        _ => None,
    }
}

/// The option and the payload of a value that is written out.
fn as_variant(world: &World, value: Def) -> Option<(u32, Def)> {
    match world.node(value) {
        Node::Variant { option, payload } => Some((option, payload)),
        _ => None,
    }
}
