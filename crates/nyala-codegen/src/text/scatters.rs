//! Scatters at a small distance.
//!
//! Lanes that all write, at a small distance from each other, such as a field of an array of
//! structs, need no scatter: what they write is shuffled into the order of memory and stored at
//! once. Stores to all fields become one; if some are not written, a mask leaves them
//! alone, for they may be written by others.
//!
//! A store waits for those that it goes together with, so nothing may come in between that could
//! see it or be overwritten by it.

use std::collections::BTreeMap;

use nyala_ir::{Def, Node, World};
use rustc_hash::{FxHashMap, FxHashSet};

use super::function::FunctionWriter;
use super::gathers::{Place, first_address};
use super::math::suffix;

/// Scatters of one block that are done together.
#[derive(Default)]
pub(crate) struct Scatters {
    /// For the last of several: all of them.
    groups: FxHashMap<Def, Group>,
    /// Those that wait for a later one.
    waiting: FxHashSet<Def>,
}

/// Stores at a small distance.
struct Group {
    /// The address that the first lane of the first one writes to, and its distance in bytes from
    /// the place.
    at: Def,
    bytes: i64,
    /// From lane to lane, in elements.
    stride: i64,
    /// In the order of execution.
    stores: Vec<Def>,
    /// What is written, by the distance from the first one in elements.
    values: BTreeMap<i64, Def>,
}

impl Group {
    /// The first one of a group.
    fn new(
        world: &World,
        (place, bytes): (Place, i64),
        store: Def,
        ptr: Def,
        value: Def,
    ) -> Option<(Place, Group)> {
        let stride = place.small_stride(world)?;
        let at = first_address(world, ptr)?;
        let group = Group { at, bytes, stride, stores: vec![store], values: BTreeMap::from([(0, value)]) };
        Some((place, group))
    }

    /// Adds a store to the same place, unless it is too far away. Of two to one address the later
    /// counts.
    fn join(&mut self, world: &World, place: &Place, bytes: i64, store: Def, value: Def) -> bool {
        let (size, further) = (place.elem_size(world), bytes - self.bytes);
        let away = further / size;
        let is_near = |&other: &i64| (away - other).abs() < self.stride;
        let joins = further % size == 0 && self.values.keys().all(is_near);
        if joins {
            self.stores.push(store);
            self.values.insert(away, value);
        }
        joins
    }

    /// Whether what lanes read at this place is none of what they write.
    fn is_beside(&self, world: &World, place: &Place, bytes: i64) -> bool {
        let (size, further) = (place.elem_size(world), bytes - self.bytes);
        let is_other = |&away: &i64| (further / size - away) % self.stride != 0;
        further % size == 0 && self.values.keys().all(is_other)
    }
}

impl Scatters {
    /// Finds what goes together among the operations of a block, which are in the order of
    /// execution.
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
                        scatters.close(open.take());
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
                        scatters.close(open.take());
                    }
                }
                Node::Load { .. } | Node::Store { .. } | Node::Asm { .. } => scatters.close(open.take()),
                _ => {}
            }
        }
        scatters.close(open);
        scatters
    }

    fn close(&mut self, open: Option<(Place, Group)>) {
        let Some((_, group)) = open else { return };
        if let Some((&last, others)) = group.stores.split_last() {
            self.waiting.extend(others);
            self.groups.insert(last, group);
        }
    }
}

impl FunctionWriter<'_, '_> {
    /// Writes a store of lanes together with others, if it is done so; whether it is.
    pub(crate) fn store_spread(&mut self, store: Def) -> bool {
        if self.scatters.waiting.remove(&store) {
            return true;
        }
        let Some(group) = self.scatters.groups.remove(&store) else { return false };
        let (Some((&first, &value)), Some((&last, _))) =
            (group.values.first_key_value(), group.values.last_key_value())
        else {
            return false;
        };
        let ty = self.world.ty(value);
        let elem = self.world.types.elem(ty).unwrap_or(ty);
        let (text, align) = (self.module.ty(elem), self.module.align_of(elem));
        let n_lanes = i64::from(self.world.types.lanes(ty).unwrap_or(1));
        let (ptr, at) = (self.module.ty_of(group.at), self.typed(group.at));
        let start = self.compute("start", format!("getelementptr {text}, {at}, i64 {first}"));
        let is_all = group.values.len() as i64 == group.stride;
        let n_used = last - first + group.stride * (n_lanes - 1) + 1;
        let n = if is_all { n_used } else { n_used.unsigned_abs().next_power_of_two() as i64 };
        // By place in memory: which lane of which value is there.
        let lanes: Vec<Option<(i64, i64)>> = (0..n)
            .map(|at| {
                let number = (0..)
                    .zip(group.values.keys())
                    .find(|&(_, away)| at >= away - first && (at - (away - first)) % group.stride == 0);
                number.map(|(number, away)| (number, (at - (away - first)) / group.stride))
            })
            .map(|lane| lane.filter(|&(_, lane)| lane < n_lanes))
            .collect();
        let values: Vec<Def> = group.values.values().copied().collect();
        let (all_ty, all) = self.concatenated(&values, &text, n_lanes);
        let order: Vec<String> = lanes
            .iter()
            .map(|lane| {
                lane.map_or("i32 poison".to_owned(), |(value, lane)| {
                    format!("i32 {}", value * n_lanes + lane)
                })
            })
            .collect();
        let order = format!("<{n} x i32> <{}>", order.join(", "));
        let wide = format!("<{n} x {text}>");
        let shuffled =
            self.compute("woven", format!("shufflevector {all_ty} {all}, {all_ty} poison, {order}"));
        if is_all {
            self.line(format!("store {wide} {shuffled}, {ptr} {start}, align {align}"));
            return true;
        }
        let bits: Vec<String> = lanes.iter().map(|lane| format!("i1 {}", lane.is_some())).collect();
        let mask_ty = format!("<{n} x i1>");
        let name = format!("llvm.masked.store.{}.p0", suffix(&wide));
        let params = [wide.clone(), "ptr".into(), "i32 immarg".into(), mask_ty.clone()];
        let symbol = self.module.declare(&name, "void", &params, self.span);
        self.line(format!(
            "call void {symbol}({wide} {shuffled}, {ptr} {start}, i32 {align}, {mask_ty} <{}>)",
            bits.join(", ")
        ));
        true
    }

    /// Values of the same type one behind the other, and the type of that.
    fn concatenated(&mut self, values: &[Def], elem: &str, n_lanes: i64) -> (String, String) {
        let mut n = n_lanes;
        let mut ty = format!("<{n} x {elem}>");
        let mut parts: Vec<String> = values.iter().map(|&value| self.value(value)).collect();
        while parts.len() > 1 {
            let order: Vec<String> = (0..2 * n).map(|lane| format!("i32 {lane}")).collect();
            let order = format!("<{} x i32> <{}>", 2 * n, order.join(", "));
            parts = parts
                .chunks(2)
                .map(|pair| {
                    let second = pair.get(1).map_or("poison", String::as_str);
                    let both = format!("shufflevector {ty} {}, {ty} {second}, {order}", pair[0]);
                    self.compute("both", both)
                })
                .collect();
            n *= 2;
            ty = format!("<{n} x {elem}>");
        }
        let all = parts.pop().unwrap_or_else(|| "poison".to_owned());
        (ty, all)
    }
}
