//! Gathers from neighbours.
//!
//! Lanes that read `p(i)` and `p(i + 1)`, or two fields of `p(i)`, each from a place of its own,
//! read both with one gather of twice the width. That takes half the time, as a
//! gather takes time for each lane.

use std::collections::hash_map::Entry;

use nyala_ir::layout::{layout, offset};
use nyala_ir::{ArithOp, Def, Node, Ty, World};
use rustc_hash::FxHashMap;

/// Gathers of one block that are done two at a time.
#[derive(Default)]
pub(crate) struct Gathers {
    /// For the first of two: the one that reads what comes behind it in memory.
    pub(crate) follower: FxHashMap<Def, Def>,
    /// What was read for a follower.
    pub(crate) read: FxHashMap<Def, String>,
}

impl Gathers {
    /// Finds the pairs among the operations of a block, which are in the order of execution.
    pub(crate) fn new(world: &World, operations: &[Def]) -> Gathers {
        let mut gathers = Gathers::default();
        // By place and offset: a gather that has no follower yet.
        let mut waiting: FxHashMap<(Place, i64), Def> = FxHashMap::default();
        for &def in operations {
            match world.node(def) {
                Node::LoadLanes { ptr, mask, .. } => {
                    let Some((place, bytes)) = Place::of(world, def, ptr, mask) else { continue };
                    match waiting.remove(&(place.clone(), bytes - WORD)) {
                        Some(first) => drop(gathers.follower.insert(first, def)),
                        None => {
                            if let Entry::Vacant(vacant) = waiting.entry((place, bytes)) {
                                vacant.insert(def);
                            }
                        }
                    }
                }
                Node::Store { .. } | Node::StoreLanes { .. } | Node::Asm { .. } => waiting.clear(),
                _ => {}
            }
        }
        gathers
    }
}

/// Gathers of so many bytes are done two at a time.
const WORD: i64 = 4;

/// Where a gather reads, but for a number of bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    base: Def,
    /// What each lane adds, and what that is multiplied by.
    index: Def,
    size: i64,
    /// What all lanes add, multiplied just so.
    shared: Vec<Def>,
    mask: Def,
    ty: Ty,
}

impl Place {
    /// The place, and the number of bytes, of a gather of words.
    fn of(world: &World, load: Def, ptr: Def, mask: Def) -> Option<(Place, i64)> {
        let ty = world.types.part(world.ty(load), 1)?;
        let elem = world.types.elem(ty)?;
        if layout(&world.types, elem).size as i64 != WORD {
            return None;
        }
        let mut bytes = 0;
        let mut at = ptr;
        let (base, index, size) = loop {
            match world.node(at) {
                Node::Bitcast(inner) => at = inner,
                Node::Lea { ptr, index } => {
                    let (pointee, _) = world.types.lane_ptr(world.ty(ptr))?;
                    match world.types.elem(pointee) {
                        None => {
                            bytes += offset(&world.types, pointee, world.as_lit(index)?) as i64;
                            at = ptr;
                        }
                        Some(elem) if world.types.is_simd(world.ty(index)) => {
                            break (ptr, index, layout(&world.types, elem).size as i64);
                        }
                        Some(elem) => {
                            bytes += layout(&world.types, elem).size as i64 * world.as_int(index)?;
                            at = ptr;
                        }
                    }
                }
                _ => return None,
            }
        };
        if world.types.is_simd(world.ty(base)) {
            return None;
        }
        let (index, offset) = shared_part(world, index).map_or((index, None), |(i, s)| (i, Some(s)));
        let (mut shared, number) = offset.map_or((vec![], 0), |offset| summands(world, offset));
        shared.sort_unstable();
        let (base, base_bytes) = peel(world, base);
        let bytes = bytes + base_bytes + number.checked_mul(size)?;
        Some((Place { base, index, size, shared, mask, ty }, bytes))
    }
}

/// A scalar address as another one and a number of bytes.
fn peel(world: &World, mut at: Def) -> (Def, i64) {
    let mut bytes = 0;
    loop {
        match world.node(at) {
            Node::Bitcast(inner) if world.types.as_ptr(world.ty(inner)).is_some() => at = inner,
            Node::Lea { ptr, index } => {
                let Some((pointee, _)) = world.types.as_ptr(world.ty(ptr)) else { return (at, bytes) };
                let Some(number) = world.as_int(index) else { return (at, bytes) };
                bytes += match world.types.elem(pointee) {
                    Some(elem) => layout(&world.types, elem).size as i64 * number,
                    None => offset(&world.types, pointee, number.unsigned_abs()) as i64,
                };
                at = ptr;
            }
            _ => return (at, bytes),
        }
    }
}

/// An index of 64 bits as what differs between lanes and what all add to it.
pub(crate) fn shared_part(world: &World, index: Def) -> Option<(Def, Def)> {
    let Node::Arith { op: ArithOp::Add, lhs, rhs, .. } = world.node(index) else { return None };
    let is_wide = world.types.lane_prim(world.ty(index)).is_some_and(|prim| prim.bits() == 64);
    let pairs = [(lhs, rhs), (rhs, lhs)];
    pairs.into_iter().filter(|_| is_wide).find_map(|(own, all)| Some((own, splat_lane(world, all)?)))
}

/// The lane that all lanes of a value are.
fn splat_lane(world: &World, value: Def) -> Option<Def> {
    let Node::Aggregate(lanes) = world.node(value) else { return None };
    let (&first, rest) = world.list(lanes).split_first()?;
    rest.iter().all(|&lane| lane == first).then_some(first)
}

/// What a number is the sum of: others, and a constant.
fn summands(world: &World, number: Def) -> (Vec<Def>, i64) {
    let (mut waiting, mut others, mut constant) = (vec![number], vec![], 0i64);
    while let Some(part) = waiting.pop() {
        match (world.as_int(part), world.node(part)) {
            (Some(number), _) => constant = constant.wrapping_add(number),
            (None, Node::Arith { op: ArithOp::Add, lhs, rhs, .. }) => waiting.extend([lhs, rhs]),
            (None, _) => others.push(part),
        }
    }
    (others, constant)
}
