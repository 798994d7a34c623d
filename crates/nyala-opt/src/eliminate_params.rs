//! Removes parameters that always get the same value.
//!
//! If every call of a continuation gives a parameter the same value, or hands on
//! the parameter itself, then the value can be used instead. This turns
//! a function that always returns to the same place into a loop of the function
//! around it: its `ret` is such a parameter. And it removes what SSA construction
//! adds for variables that a loop does not change.
//!
//! # What always holds
//!
//! * Only continuations whose calls are all known are changed: they are called,
//!   and mentioned in no other way.
//! * The value is in scope wherever the continuation is called from outside, so
//!   the continuation may come to be nested in what the value depends on. A
//!   call made by another activation of that means another activation of
//!   the continuation too, so each use gets the value that was handed over.
//! * What still has a continuation to return to stays a function and must not
//!   come to depend on local data: it loses data only if that is constant.
//!
//! Values are found optimistically, as in sparse constant propagation: a parameter
//! is assumed to have one value until a call proves otherwise. So a group of
//! functions that hand on what they get is recognised as well.

use std::num::NonZeroU32;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use nyala_ir::analysis::references::conts_in_globals;
use nyala_ir::{Body, Cont, ContData, Def, Defs, Linkage, Node, World};

use crate::mentions::Mentions;
use crate::rewrite::Rewriter;

/// Removes parameters that always get the same value; whether there was one.
///
/// Before: any verified world. After: no reachable continuation whose calls are all
/// known has such a parameter, as far as one sweep can tell.
pub fn eliminate_params(world: &mut World) -> bool {
    let mentions = Mentions::new(world);
    let conts = &mentions.conts;
    let handovers = Handovers::new(world, conts, &candidates(world, &mentions));
    let mut values = Values { known: SecondaryMap::with_capacity(world.node_count()) };
    // Which of them are functions is known only when the continuations are.
    values.solve(&handovers, &handovers.continuations, |_, _| true);
    let mut returning = EntitySet::new();
    for handover in &handovers.continuations {
        if values.get(handover.param).is_none() {
            returning.insert(handover.callee);
        }
    }
    values.solve(&handovers, &handovers.data, |callee, value| {
        !returning.contains(callee) || world.is_constant(value)
    });
    if !values.is_any() {
        return false;
    }
    replace(world, conts, &values);
    true
}

/// The continuations whose calls are all known.
fn candidates(world: &World, mentions: &Mentions) -> EntitySet<Cont> {
    let mut is_candidate = EntitySet::new();
    for &cont in &mentions.conts {
        let data = world.cont(cont);
        // Whether its arguments are known is still to be answered.
        let is_asked = || world.origin(cont).is_some_and(|origin| origin.must_specialize);
        if data.linkage == Linkage::Internal && data.body.is_some() && !is_asked() {
            is_candidate.insert(cont);
        }
    }
    let mut reject = |def: Def| {
        if let Some(cont) = world.as_cont(def) {
            is_candidate.remove(cont);
        }
    };
    for &def in &mentions.operations {
        world.for_each_operand(def, &mut reject);
    }
    for &cont in &mentions.conts {
        let data = world.cont(cont);
        data.body.iter().flat_map(|body| &body.args).chain(&data.filter).copied().for_each(&mut reject);
    }
    for cont in conts_in_globals(world) {
        is_candidate.remove(cont);
    }
    is_candidate
}

/// What a call gives to a parameter of a candidate.
#[derive(Clone, Copy)]
struct Handover {
    callee: Cont,
    param: Def,
    arg: Def,
    /// Whether the argument is itself such a parameter.
    is_open: bool,
    /// If so, the number of another handover with the same argument.
    before: Option<NonZeroU32>,
}

/// All calls of candidates. They are gone over several times, so all that is asked about them is put together once.
struct Handovers {
    /// Of continuations.
    continuations: Vec<Handover>,
    /// Of all else but memory.
    data: Vec<Handover>,
    /// For each parameter the number of a handover that hands it on.
    last: SecondaryMap<Def, Option<NonZeroU32>>,
}

impl Handovers {
    fn new(world: &World, conts: &[Cont], is_candidate: &EntitySet<Cont>) -> Handovers {
        let callee = |caller: Cont| {
            let callee = world.as_cont(world.cont(caller).body.as_ref()?.callee)?;
            is_candidate.contains(callee).then_some(callee)
        };
        let mut calls: Vec<(Cont, Cont)> =
            conts.iter().filter_map(|&caller| Some((caller, callee(caller)?))).collect();
        // Any order will do; this is the one in which they are in memory.
        calls.sort_unstable();
        let is_open =
            |arg: Def| matches!(world.node(arg), Node::Param { cont, .. } if is_candidate.contains(cont));
        let last = SecondaryMap::with_capacity(world.node_count());
        let mut handovers = Handovers { continuations: vec![], data: vec![], last };
        for (caller, callee) in calls {
            let args = world.cont(caller).body.iter().flat_map(|body| &body.args);
            for (&param, &arg) in world.cont(callee).params.iter().zip(args) {
                handovers.add(world, Handover { callee, param, arg, is_open: is_open(arg), before: None });
            }
        }
        handovers
    }

    fn add(&mut self, world: &World, mut handover: Handover) {
        let ty = world.ty(handover.param);
        let all = match world.types.as_cn(ty) {
            Some(_) => &mut self.continuations,
            None if ty == world.types.mem() => return,
            None => &mut self.data,
        };
        let number = NonZeroU32::new(all.len() as u32 + 1);
        if handover.is_open {
            handover.before = std::mem::replace(&mut self.last[handover.arg], number);
        }
        all.push(handover);
    }

    /// The numbers, less one, of those among `all` that hand on `param`.
    fn handing_on(&self, all: &[Handover], param: Def) -> impl Iterator<Item = u32> {
        let before = |&number: &NonZeroU32| all[number.get() as usize - 1].before;
        std::iter::successors(self.last[param], before).map(|number| number.get() - 1)
    }
}

/// What is known about the parameters of candidates: the value that each gets, as far as it was reached. One that gets several
/// stands for itself.
struct Values {
    known: SecondaryMap<Def, PackedOption<Def>>,
}

impl Values {
    /// Finds the values of the parameters in `all`, as far as they may be used.
    fn solve(&mut self, handovers: &Handovers, all: &[Handover], is_allowed: impl Fn(Cont, Def) -> bool) {
        let mut work: Vec<u32> = (0..all.len() as u32).rev().collect();
        while let Some(number) = work.pop() {
            let handover = all[number as usize];
            if self.meet(handover, &is_allowed) {
                work.extend(handovers.handing_on(all, handover.param));
            }
        }
    }

    /// Notes what a parameter gets; whether that is news.
    fn meet(&mut self, handover: Handover, is_allowed: impl Fn(Cont, Def) -> bool) -> bool {
        let Handover { callee, param, arg, is_open, .. } = handover;
        // What was not reached yet is looked at again when it is.
        let value = if is_open { self.known[arg].expand() } else { Some(arg) };
        let Some(value) = value.filter(|&value| value != param) else { return false };
        let old = self.known[param].expand();
        let new = match old {
            None if is_allowed(callee, value) => value,
            Some(old) if old == value => value,
            _ => param,
        };
        self.known[param] = new.into();
        old != Some(new)
    }

    /// The value to use instead of `param`.
    fn get(&self, param: Def) -> Option<Def> {
        self.known[param].expand().filter(|&value| value != param)
    }

    /// Whether any parameter has a value.
    fn is_any(&self) -> bool {
        self.known.keys().any(|param| self.get(param).is_some())
    }
}

/// Removes the parameters that have a value, and the arguments for them, and uses the values instead.
fn replace(world: &mut World, conts: &[Cont], values: &Values) {
    let is_removed = |&param: &Def| values.get(param).is_some();
    let loses = |cont: &Cont| world.cont(*cont).params.iter().any(is_removed);
    let losers: Vec<Cont> = conts.iter().copied().filter(loses).collect();
    let params = losers.iter().flat_map(|&cont| world.cont(cont).params.iter().copied());
    let removed: Vec<(Def, Def)> = params.filter_map(|param| Some((param, values.get(param)?))).collect();
    let mut rewriter = Rewriter::of(world, removed.iter().map(|&(param, _)| param));
    removed.into_iter().for_each(|(param, value)| rewriter.unify(param, value));
    // What the parameters of those that lose some were.
    let mut before: SecondaryMap<Cont, Defs> = SecondaryMap::with_capacity(rewriter.world.cont_count());
    for cont in losers {
        before[cont] = rewriter.world.retain_params(cont, |param| !is_removed(&param));
    }
    for &cont in conts {
        rewrite(&mut rewriter, cont, &before, is_removed);
    }
}

/// Rewrites filter and body of `cont`.
fn rewrite(
    rewriter: &mut Rewriter<'_>,
    cont: Cont,
    before: &SecondaryMap<Cont, Defs>,
    is_removed: impl Fn(&Def) -> bool,
) {
    let data = rewriter.world.cont(cont);
    let callee = data.body.as_ref().and_then(|body| rewriter.world.as_cont(body.callee));
    let params = callee.map_or(&[] as &[Def], |callee| &before[callee]);
    if params.is_empty() && !mentioned(data).any(|def| rewriter.is_affected(def)) {
        return;
    }
    let (filter, body) = (data.filter.clone(), data.body.clone());
    let filter: Defs = filter.into_iter().map(|filter| rewriter.filter(filter)).collect();
    rewriter.world.set_filter(cont, filter);
    let Some(Body { callee, mut args, span }) = body else { return };
    let mut params = params.iter();
    args.retain(|_| !params.next().is_some_and(&is_removed));
    args.iter_mut().for_each(|arg| *arg = rewriter.def(*arg));
    let callee = rewriter.def(callee);
    rewriter.world.replace_body(cont, Some(Body { callee, args, span }));
}

/// What stands in body and filter.
fn mentioned(data: &ContData) -> impl Iterator<Item = Def> + '_ {
    let body = data.body.iter().flat_map(|body| body.args.iter().chain([&body.callee]));
    body.chain(&data.filter).copied()
}
