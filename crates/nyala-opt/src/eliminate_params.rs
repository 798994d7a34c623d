//! Removes parameters that always get the same value.
//!
//! If every call of a continuation passes the same value for a parameter, or
//! the parameter itself, then the value replaces the parameter. This turns
//! a function that always has the same return continuation into a loop of the function
//! around it: its `ret` is such a parameter. It also removes the block parameters that SSA construction
//! adds for variables that a loop does not change.
//!
//! # Invariants
//!
//! * Only continuations whose calls are all known are changed: they are called,
//!   and used in no other way.
//! * The value is in scope at every call from outside, so
//!   the continuation may become nested in the scope of the value. Each
//!   activation of that scope has its own activations of
//!   the continuation, so each use gets the value that was passed.
//! * A continuation that keeps a return continuation stays a function and must not
//!   capture local data: it loses a data parameter only for a constant.
//!
//! The analysis is optimistic, as in sparse constant propagation: a parameter
//! is assumed to have one value until a call proves otherwise. So it covers a group of
//! functions that pass a parameter to each other.

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
/// known has such a parameter, as far as one pass finds.
pub fn eliminate_params(world: &mut World) -> bool {
    let mentions = Mentions::new(world);
    let conts = &mentions.conts;
    let passings = Passings::new(world, conts, &candidates(world, &mentions));
    let mut values = Values { known: SecondaryMap::with_capacity(world.node_count()) };
    // Continuations first: they decide which callees stay functions.
    values.solve(&passings, &passings.continuations, |_, _| true);
    let mut returning = EntitySet::new();
    for passing in &passings.continuations {
        if values.get(passing.param).is_none() {
            returning.insert(passing.callee);
        }
    }
    values.solve(&passings, &passings.data, |callee, value| {
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
        // The evaluator still has to check its arguments.
        let must_specialize = || world.origin(cont).is_some_and(|origin| origin.must_specialize);
        let is_changeable = data.linkage == Linkage::Internal && data.body.is_some();
        if is_changeable && !must_specialize() && !world.keeps_frame(cont) {
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

/// An argument for a parameter of a candidate.
#[derive(Clone, Copy)]
struct Passing {
    callee: Cont,
    param: Def,
    arg: Def,
    /// Whether the argument is itself such a parameter.
    is_open: bool,
    /// If so, the number of another entry with the same argument.
    before: Option<NonZeroU32>,
}

/// The arguments of all calls of candidates. The solver visits them several times, so they are collected once.
struct Passings {
    /// Arguments that are continuations.
    continuations: Vec<Passing>,
    /// All others, without memory tokens.
    data: Vec<Passing>,
    /// For each parameter the number of an entry that passes it on.
    last: SecondaryMap<Def, Option<NonZeroU32>>,
}

impl Passings {
    fn new(world: &World, conts: &[Cont], is_candidate: &EntitySet<Cont>) -> Passings {
        let callee = |caller: Cont| {
            let callee = world.as_cont(world.cont(caller).body.as_ref()?.callee)?;
            is_candidate.contains(callee).then_some(callee)
        };
        let mut calls: Vec<(Cont, Cont)> =
            conts.iter().filter_map(|&caller| Some((caller, callee(caller)?))).collect();
        // The order does not matter; this is the order in memory.
        calls.sort_unstable();
        let is_open =
            |arg: Def| matches!(world.node(arg), Node::Param { cont, .. } if is_candidate.contains(cont));
        let last = SecondaryMap::with_capacity(world.node_count());
        let mut passings = Passings { continuations: vec![], data: vec![], last };
        for (caller, callee) in calls {
            let args = world.cont(caller).body.iter().flat_map(|body| &body.args);
            for (&param, &arg) in world.cont(callee).params.iter().zip(args) {
                passings.add(world, Passing { callee, param, arg, is_open: is_open(arg), before: None });
            }
        }
        passings
    }

    fn add(&mut self, world: &World, mut passing: Passing) {
        let ty = world.ty(passing.param);
        let all = match world.types.as_cn(ty) {
            Some(_) => &mut self.continuations,
            None if ty == world.types.mem() => return,
            None => &mut self.data,
        };
        let number = NonZeroU32::new(all.len() as u32 + 1);
        if passing.is_open {
            passing.before = std::mem::replace(&mut self.last[passing.arg], number);
        }
        all.push(passing);
    }

    /// The indices of those among `all` that pass on `param`.
    fn that_pass_on(&self, all: &[Passing], param: Def) -> impl Iterator<Item = u32> {
        let before = |&number: &NonZeroU32| all[number.get() as usize - 1].before;
        std::iter::successors(self.last[param], before).map(|number| number.get() - 1)
    }
}

/// The value of each parameter of a candidate that was reached. A parameter with several values has
/// itself.
struct Values {
    known: SecondaryMap<Def, PackedOption<Def>>,
}

impl Values {
    /// Finds the values of the parameters in `all` that `is_allowed` permits.
    fn solve(&mut self, passings: &Passings, all: &[Passing], is_allowed: impl Fn(Cont, Def) -> bool) {
        let mut work: Vec<u32> = (0..all.len() as u32).rev().collect();
        while let Some(number) = work.pop() {
            let passing = all[number as usize];
            if self.meet(passing, &is_allowed) {
                work.extend(passings.that_pass_on(all, passing.param));
            }
        }
    }

    /// Adds a value of a parameter; whether that changes anything.
    fn meet(&mut self, passing: Passing, is_allowed: impl Fn(Cont, Def) -> bool) -> bool {
        let Passing { callee, param, arg, is_open, .. } = passing;
        // An argument that was not reached yet is visited again when it is.
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
    // The old parameters of the continuations that lose some.
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

/// The nodes of body and filter.
fn mentioned(data: &ContData) -> impl Iterator<Item = Def> + '_ {
    let body = data.body.iter().flat_map(|body| body.args.iter().chain([&body.callee]));
    body.chain(&data.filter).copied()
}
