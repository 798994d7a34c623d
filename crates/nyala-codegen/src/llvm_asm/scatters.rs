//! Scatters that are combined with others.
//!
//! Scatters with a small stride, such as those to a field of an array of structs, become one contiguous store: the
//! values are shuffled into the order of memory (`spread`). If not all elements in between are stored, the store is
//! masked, as other threads may write the others.
//!
//! A store is delayed until the last one of its group, so no other operation in between may read or overwrite its
//! elements.

use std::collections::BTreeMap;

use nyala_ir::{Def, Node, World};
use rustc_hash::{FxHashMap, FxHashSet};

use super::function::FunctionWriter;
use super::gathers::{Place, SMALL, first_address, is_full};
use super::spread::Spread;

/// Scatters of one block that are combined.
#[derive(Default)]
pub(crate) struct Scatters {
    /// For the last of several: all of them.
    groups: FxHashMap<Def, Group>,
    /// Those that are delayed.
    waiting: FxHashSet<Def>,
}

/// Scatters with a small stride from one base.
struct Group {
    /// The address of the first lane of the first scatter, and its offset from the place in bytes.
    at: Def,
    bytes: i64,
    /// In elements.
    stride: i64,
    n_lanes: u32,
    mask: Def,
    /// In the order of execution.
    stores: Vec<Def>,
    /// The stored values, by their distance from the first one in elements.
    values: BTreeMap<i64, Def>,
}

impl Group {
    /// A group of one scatter.
    fn new(
        world: &World,
        (place, bytes): (Place, i64),
        store: Def,
        ptr: Def,
        value: Def,
    ) -> Option<(Place, Group)> {
        let stride = place.small_stride(world, SMALL)?;
        let at = first_address(world, ptr)?;
        let (mask, values) = (place.mask, BTreeMap::from([(0, value)]));
        let n_lanes = world.types.lanes(world.ty(value))?;
        let group = Group { at, bytes, stride, n_lanes, mask, stores: vec![store], values };
        Some((place, group))
    }

    /// Adds a scatter of the same place, unless it is too far away. A later store to the same elements overwrites an
    /// earlier one.
    fn join(&mut self, world: &World, place: &Place, bytes: i64, store: Def, value: Def) -> bool {
        let (size, further) = (place.elem_size(world), bytes - self.bytes);
        let away = further / size;
        let is_near = |&other: &i64| (away - other).abs() < self.stride.abs();
        let joins = further % size == 0 && self.values.keys().all(is_near);
        if joins {
            self.stores.push(store);
            self.values.insert(away, value);
        }
        joins
    }

    fn spread(&self) -> Spread {
        Spread {
            at: self.at,
            shared: vec![],
            stride: self.stride,
            lanes: (0..i64::from(self.n_lanes)).map(|lane| lane * self.stride).collect(),
            mask: self.mask,
            offsets: self.values.keys().copied().collect(),
        }
    }

    /// Whether a gather from this place reads none of the stored elements.
    fn is_beside(&self, world: &World, place: &Place, bytes: i64) -> bool {
        let (size, further) = (place.elem_size(world), bytes - self.bytes);
        let is_other = |&away: &i64| (further / size - away) % self.stride != 0;
        further % size == 0 && self.values.keys().all(is_other)
    }
}

impl Scatters {
    /// Finds what can be combined among the operations of a block, in the order of execution.
    pub(crate) fn new(world: &World, operations: &[Def]) -> Scatters {
        let mut scatters = Scatters::default();
        let mut open: Option<(Place, Group)> = None;
        for &def in operations {
            match world.node(def) {
                Node::StoreLanes { ptr, mask, value, .. } => {
                    let place = Place::of(world, world.ty(value), ptr, mask);
                    let joins = |(place, bytes): &(Place, i64)| match &mut open {
                        Some((known, group)) if known == place => {
                            group.join(world, place, *bytes, def, value)
                        }
                        _ => false,
                    };
                    if !place.as_ref().is_some_and(joins) {
                        scatters.close(world, open.take());
                        open = place.and_then(|place| Group::new(world, place, def, ptr, value));
                    }
                }
                Node::LoadLanes { ptr, mask, .. } => {
                    let ty = world.types.part(world.ty(def), 1);
                    let read = ty.and_then(|ty| Place::of(world, ty, ptr, mask));
                    let is_beside = |(place, group): &(Place, Group)| {
                        read.as_ref()
                            .is_some_and(|(at, bytes)| at == place && group.is_beside(world, at, *bytes))
                    };
                    if !open.as_ref().is_some_and(is_beside) {
                        scatters.close(world, open.take());
                    }
                }
                Node::Load { .. } | Node::Store { .. } | Node::Asm { .. } => {
                    scatters.close(world, open.take())
                }
                _ => {}
            }
        }
        scatters.close(world, open);
        scatters
    }

    fn close(&mut self, world: &World, open: Option<(Place, Group)>) {
        let Some((_, group)) = open else { return };
        if !is_full(world, group.mask) && !group.spread().pays_masked() {
            return;
        }
        if let Some((&last, others)) = group.stores.split_last() {
            self.waiting.extend(others);
            self.groups.insert(last, group);
        }
    }
}

impl FunctionWriter<'_, '_> {
    /// Writes a scatter together with others, or delays it; whether it is combined with some.
    pub(crate) fn store_spread(&mut self, store: Def) -> bool {
        if self.accesses.scatters.waiting.remove(&store) {
            return true;
        }
        let Some(group) = self.accesses.scatters.groups.remove(&store) else { return false };
        let values: Vec<Def> = group.values.values().copied().collect();
        self.store_elements(&group.spread(), &values);
        true
    }
}
