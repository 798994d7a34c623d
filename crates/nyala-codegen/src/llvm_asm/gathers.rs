//! Gathers that are combined with others.
//!
//! Two gathers of adjacent words, such as `p(i)` and `p(i + 1)` or two fields of `p(i)`, become one gather of words of
//! twice the width. That takes half the time, as a gather takes time for each lane.
//!
//! Gathers with a small stride, such as those of a field of an array of structs, become contiguous loads of all
//! elements in between, for all fields at once, and a shuffle for each (`spread`). So do gathers of all lanes at
//! known distances from each other, such as `p(lane / 4 * 4 + k)`. `scatters` does the same for stores.

use std::collections::hash_map::Entry;

use nyala_ir::layout::{layout, offset};
use nyala_ir::{ArithOp, Def, Node, Ty, World};
use rustc_hash::FxHashMap;

use super::function::FunctionWriter;
use super::spread::Spread;

/// Gathers of one block that are combined.
#[derive(Default)]
pub(crate) struct Gathers {
    /// For the first of two: the gather of the words behind it in memory.
    pub(crate) follower: FxHashMap<Def, Def>,
    /// For the first of several with a small stride: all of them.
    groups: FxHashMap<Def, Group>,
    /// The values of later gathers that were loaded already.
    pub(crate) read: FxHashMap<Def, String>,
}

/// Gathers with a small stride from one base.
struct Group {
    /// The address of the first lane of the first gather.
    at: Def,
    shared: Vec<(Def, i64)>,
    /// In elements; 0 if the lanes have no stride.
    stride: i64,
    /// The distance of each lane from the first in elements.
    lanes: Vec<i64>,
    mask: Def,
    /// The gathers, and their distance from the first one in elements.
    members: Vec<(Def, i64)>,
    /// The distances of elements that were stored since, from the first gather.
    written: Vec<i64>,
}

impl Group {
    fn spread(&self) -> Spread {
        let mut offsets: Vec<i64> = self.members.iter().map(|&(_, away)| away).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let (shared, lanes) = (self.shared.clone(), self.lanes.clone());
        Spread { at: self.at, shared, stride: self.stride, lanes, mask: self.mask, offsets }
    }

    /// Whether contiguous loads are cheaper than gathers.
    fn pays(&self, world: &World) -> bool {
        let is_dense = self.stride.abs() <= SMALL || 2 * self.members.len() as i64 >= self.stride.abs();
        is_dense && (is_full(world, self.mask) || self.spread().pays_masked())
    }

    /// The largest distance between elements, if there are gathers at this distance from the first one.
    fn span(&self, away: i64) -> i64 {
        let distances = || self.members.iter().map(|&(_, other)| other).chain([away]);
        let of_members = distances().max().unwrap_or(0) - distances().min().unwrap_or(0);
        let of_lanes = self.lanes.iter().max().unwrap_or(&0) - self.lanes.iter().min().unwrap_or(&0);
        of_members + of_lanes
    }
}

/// The largest stride, in elements, for which contiguous loads are cheaper than a gather.
pub(super) const SMALL: i64 = 4;

/// The same, if at least half of the elements in between are loaded.
const SMALL_AND_DENSE: i64 = 8;

/// The largest span of elements at known distances, as a multiple of the lanes.
const MAX_SPAN: i64 = 2;

/// The largest number of elements of one access.
const MAX_SPREAD: i64 = 256;

impl Gathers {
    /// Finds what can be combined among the operations of a block, in the order of execution.
    pub(crate) fn new(world: &World, operations: &[Def]) -> Gathers {
        let mut gathers = Gathers::default();
        // By place and offset: a gather without a follower.
        let mut waiting: FxHashMap<(Place, i64), Def> = FxHashMap::default();
        // By place: the first of several with a small stride, and its offset.
        let mut spread: FxHashMap<Place, (Def, i64)> = FxHashMap::default();
        for &def in operations {
            match world.node(def) {
                Node::LoadLanes { ptr, mask, .. } => {
                    let Some(ty) = world.types.part(world.ty(def), 1) else { continue };
                    let Some((place, bytes)) = Place::of(world, ty, ptr, mask) else { continue };
                    if let Some((stride, lanes)) = place.known_lanes(world) {
                        gathers.join(world, &mut spread, (def, ptr), (place, bytes), (stride, lanes));
                        continue;
                    }
                    if place.elem_size(world) != WORD {
                        continue;
                    }
                    match waiting.remove(&(place.clone(), bytes - WORD)) {
                        Some(first) => drop(gathers.follower.insert(first, def)),
                        None => {
                            if let Entry::Vacant(vacant) = waiting.entry((place, bytes)) {
                                vacant.insert(def);
                            }
                        }
                    }
                }
                Node::StoreLanes { ptr, mask, value, .. } => {
                    waiting.clear();
                    let written = Place::of(world, world.ty(value), ptr, mask);
                    spread.retain(|place, first| gathers.survives(world, place, *first, written.as_ref()));
                }
                Node::Store { .. } | Node::Asm { .. } => {
                    waiting.clear();
                    spread.clear();
                }
                _ => {}
            }
        }
        let given_up: Vec<Group> = {
            let groups = std::mem::take(&mut gathers.groups);
            let (kept, others): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(_, it)| it.pays(world));
            gathers.groups = kept.into_iter().collect();
            others.into_iter().map(|(_, group)| group).collect()
        };
        given_up.iter().for_each(|group| gathers.pair(world, group));
        gathers
    }

    /// Pairs gathers of adjacent words that are not loaded together with others.
    fn pair(&mut self, world: &World, group: &Group) {
        let mut waiting: FxHashMap<i64, Def> = FxHashMap::default();
        for &(load, away) in &group.members {
            let ty = world.types.part(world.ty(load), 1).and_then(|ty| world.types.elem(ty));
            if ty.is_none_or(|elem| layout(&world.types, elem).size as i64 != WORD) {
                return;
            }
            match waiting.remove(&(away - 1)) {
                Some(first) => drop(self.follower.insert(first, load)),
                None => drop(waiting.insert(away, load)),
            }
        }
    }

    /// Adds a gather of lanes at known distances to others of the same place.
    fn join(
        &mut self,
        world: &World,
        spread: &mut FxHashMap<Place, (Def, i64)>,
        (load, ptr): (Def, Def),
        (place, bytes): (Place, i64),
        (stride, lanes): (i64, Vec<i64>),
    ) {
        let size = place.elem_size(world);
        let known = spread.get(&place).copied();
        if let Some((first, first_bytes)) = known
            && let Some(group) = self.groups.get_mut(&first)
        {
            let away = (bytes - first_bytes) / size;
            let is_element = (bytes - first_bytes) % size == 0;
            let is_near = match stride {
                0 => group.span(away) < MAX_SPAN * lanes.len() as i64,
                _ => group.members.iter().all(|&(_, other)| (away - other).abs() < stride.abs()),
            };
            let is_written = stride != 0 && group.written.iter().any(|&other| (away - other) % stride == 0);
            if is_element && is_near && !is_written {
                group.members.push((load, away));
                return;
            }
        }
        let Some(at) = first_address(world, ptr) else { return };
        let shared = place.shared_with_size(world, ptr);
        let (members, written, mask) = (vec![(load, 0)], vec![], place.mask);
        self.groups.insert(load, Group { at, shared, stride, lanes, mask, members, written });
        spread.insert(place, (load, bytes));
    }

    /// Whether later gathers may join those of a place after a store: only if the store is known to be to other
    /// elements.
    fn survives(
        &mut self,
        world: &World,
        place: &Place,
        (first, first_bytes): (Def, i64),
        written: Option<&(Place, i64)>,
    ) -> bool {
        let (Some((at, bytes)), Some(group)) = (written, self.groups.get_mut(&first)) else { return false };
        let (away, size) = (bytes - first_bytes, place.elem_size(world));
        let is_same = at == place && away % size == 0 && group.stride != 0;
        if is_same {
            group.written.push(away / size);
        }
        is_same
    }
}

/// The scalar base of addresses with a fixed stride.
pub(super) fn first_address(world: &World, mut at: Def) -> Option<Def> {
    loop {
        match world.node(at) {
            Node::Bitcast(inner) => at = inner,
            Node::Lea { ptr, index } if world.types.is_simd(world.ty(index)) => return Some(ptr),
            // A part of a varying address.
            _ => return None,
        }
    }
}

/// The size in bytes of elements whose gathers are paired.
const WORD: i64 = 4;

/// The addresses of a gather or scatter, up to a constant offset.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    base: Def,
    /// The varying index, and the size of its elements.
    index: Def,
    size: i64,
    /// The uniform summands of the index.
    shared: Vec<Def>,
    /// The uniform summands of the base, and the size of their elements.
    added: Vec<(Def, i64)>,
    pub(super) mask: Def,
    ty: Ty,
}

impl Place {
    /// The place of an access to lanes of type `ty`, and its constant offset in bytes.
    pub(super) fn of(world: &World, ty: Ty, ptr: Def, mask: Def) -> Option<(Place, i64)> {
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
        let Peeled { base, added, bytes: further } = peel(world, base)?;
        let bytes = bytes.checked_add(further)?.checked_add(number.checked_mul(size)?)?;
        Some((Place { base, index, size, shared, added, mask, ty }, bytes))
    }

    pub(super) fn elem_size(&self, world: &World) -> i64 {
        world.types.elem(self.ty).map_or(0, |elem| layout(&world.types, elem).size as i64)
    }

    /// The distance of each lane from lane 0, if it is known and small, and the stride if there is one.
    fn known_lanes(&self, world: &World) -> Option<(i64, Vec<i64>)> {
        if let Some(stride) = self.small_stride(world, SMALL_AND_DENSE) {
            let n_lanes = i64::from(world.types.lanes(self.ty)?);
            return Some((stride, (0..n_lanes).map(|lane| lane * stride).collect()));
        }
        let size = self.elem_size(world);
        let lanes = literals(world, self.index)?;
        let elements = |&lane: &i64| {
            let bytes = lane.checked_mul(self.size)?;
            bytes.checked_div(size).filter(|element| element * size == bytes)
        };
        let lanes: Vec<i64> = lanes.iter().map(elements).collect::<Option<_>>()?;
        let span = lanes.iter().max()? - lanes.iter().min()?;
        let is_bool = world.types.elem(self.ty) == Some(world.types.bool());
        let is_small = (1..MAX_SPAN * lanes.len() as i64).contains(&span);
        (is_small && !is_bool && is_full(world, self.mask)).then_some((0, lanes))
    }

    /// The uniform summands of the index of an address that `first_address` leaves out, with the size of its elements.
    fn shared_with_size(&self, world: &World, ptr: Def) -> Vec<(Def, i64)> {
        let mut at = ptr;
        while let Node::Bitcast(inner) = world.node(at) {
            at = inner;
        }
        let Node::Lea { index, .. } = world.node(at) else { return vec![] };
        shared_part(world, index).map_or(vec![], |(_, all)| vec![(all, self.size)])
    }

    /// The stride in elements, if it is constant and at most `most`.
    pub(super) fn small_stride(&self, world: &World, most: i64) -> Option<i64> {
        let lanes = literals(world, self.index).filter(|_| self.shared.is_empty())?;
        let step = lanes.get(1)?.checked_mul(self.size)?;
        let size = self.elem_size(world);
        let is_even = (0..).zip(&lanes).all(|(lane, &index)| Some(index) == lanes[1].checked_mul(lane));
        let stride = step.checked_div(size).filter(|stride| stride * size == step && is_even)?;
        let is_bool = world.types.elem(self.ty) == Some(world.types.bool());
        let n_lanes = lanes.len() as i64;
        let is_small = (2..=most).contains(&stride.abs()) && stride.abs() * n_lanes <= MAX_SPREAD;
        (is_small && !is_bool && lanes[0] == 0).then_some(stride)
    }
}

/// The literals in the lanes of an index.
fn literals(world: &World, index: Def) -> Option<Vec<i64>> {
    let Node::Aggregate(lanes) = world.node(index) else { return None };
    world.list(lanes).iter().map(|&lane| world.as_int(lane)).collect()
}

/// A scalar address as a base, summands with the size of their elements, and a constant offset in bytes.
struct Peeled {
    base: Def,
    added: Vec<(Def, i64)>,
    bytes: i64,
}

fn peel(world: &World, mut at: Def) -> Option<Peeled> {
    let (mut added, mut bytes) = (vec![], 0i64);
    loop {
        match world.node(at) {
            Node::Bitcast(inner) if world.types.as_ptr(world.ty(inner)).is_some() => at = inner,
            Node::Lea { ptr, index } => {
                let (pointee, _) = world.types.as_ptr(world.ty(ptr))?;
                let further = match world.types.elem(pointee) {
                    Some(elem) => {
                        let size = layout(&world.types, elem).size as i64;
                        let (others, number) = summands(world, index);
                        added.extend(others.into_iter().map(|other| (other, size)));
                        number.checked_mul(size)?
                    }
                    None => offset(&world.types, pointee, world.as_lit(index)?) as i64,
                };
                bytes = bytes.checked_add(further)?;
                at = ptr;
            }
            _ => {
                added.sort_unstable();
                return Some(Peeled { base: at, added, bytes });
            }
        }
    }
}

/// An index of 64 bits as its varying and its uniform summand.
pub(crate) fn shared_part(world: &World, index: Def) -> Option<(Def, Def)> {
    let Node::Arith { op: ArithOp::Add, lhs, rhs, .. } = world.node(index) else { return None };
    let is_wide = world.types.lane_prim(world.ty(index)).is_some_and(|prim| prim.bits() == 64);
    let pairs = [(lhs, rhs), (rhs, lhs)];
    pairs.into_iter().filter(|_| is_wide).find_map(|(own, all)| Some((own, splat_lane(world, all)?)))
}

/// Whether a mask is known to be true in all lanes.
pub(super) fn is_full(world: &World, mask: Def) -> bool {
    splat_lane(world, mask).is_some_and(|lane| world.as_lit(lane) == Some(1))
}

/// The value that is broadcast to all lanes.
fn splat_lane(world: &World, value: Def) -> Option<Def> {
    let Node::Aggregate(lanes) = world.node(value) else { return None };
    let (&first, rest) = world.list(lanes).split_first()?;
    rest.iter().all(|&lane| lane == first).then_some(first)
}

/// The summands of an index: values, and a constant. A narrow sum is split only if it does not wrap around, as its
/// summands are widened one by one.
fn summands(world: &World, index: Def) -> (Vec<Def>, i64) {
    let (mut waiting, mut others, mut constant) = (vec![index], vec![], 0i64);
    while let Some(part) = waiting.pop() {
        let prim = world.types.as_prim(world.ty(part));
        let is_wide = prim.is_some_and(|prim| prim.bits() == 64);
        let is_signed = prim.is_some_and(|prim| prim.is_signed());
        match (world.as_int(part), world.node(part)) {
            (Some(number), _) => constant = constant.wrapping_add(number),
            (None, Node::Arith { op: ArithOp::Add, flags, lhs, rhs })
                if is_wide || is_signed && !flags.wrap =>
            {
                waiting.extend([lhs, rhs]);
            }
            (None, _) => others.push(part),
        }
    }
    (others, constant)
}

impl FunctionWriter<'_, '_> {
    /// Writes a gather together with others, if it is combined with some.
    pub(super) fn load_spread(&mut self, load: Def) -> Option<String> {
        let group = self.accesses.gathers.groups.remove(&load)?;
        let (spread, ty) = (group.spread(), self.world.types.part(self.world.ty(load), 1)?);
        let values = self.load_elements(&spread, ty);
        for (member, away) in group.members {
            let index = spread.offsets.binary_search(&away).ok()?;
            self.accesses.gathers.read.insert(member, values[index].clone());
        }
        self.accesses.gathers.read.remove(&load)
    }
}
