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

use cranelift_entity::SecondaryMap;
use nyala_ir::analysis::references::conts_in_globals;
use nyala_ir::{Body, Cont, ContData, Def, Linkage, Node, World};

use crate::mentions::Mentions;
use crate::rewrite::Rewriter;

/// Removes parameters that always get the same value; whether there was one.
///
/// Before: any verified world. After: no reachable continuation whose calls are all
/// known has such a parameter, as far as one sweep can tell.
pub fn eliminate_params(world: &mut World) -> bool {
    let mentions = Mentions::new(world);
    let conts = &mentions.conts;
    let mut values = Values::new(world, &mentions);
    let calls = Calls::new(world, conts, &values);
    // Which of them are functions is known only when the continuations are.
    values.solve(world, &calls, Kind::Continuations);
    values.solve(world, &calls, Kind::Data);
    if values.known.values().all(|value| !matches!(value, Value::One(_))) {
        return false;
    }
    replace(world, conts, &values);
    true
}

/// What one round of solving is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Continuations,
    Data,
}

/// What is known about parameters.
struct Values {
    /// Whether all calls of a continuation are known.
    is_candidate: SecondaryMap<Cont, bool>,
    known: SecondaryMap<Def, Value>,
}

/// What a parameter of a candidate gets.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Value {
    /// Nothing yet.
    #[default]
    Unreached,
    One(Def),
    Several,
}

/// The calls of candidates, and who of the callers hands on which parameters. That is kept as lists: for each
/// parameter the number of the last entry, and for each entry the caller and the number of the one before it.
struct Calls {
    callers: Vec<Cont>,
    last: SecondaryMap<Def, Option<NonZeroU32>>,
    entries: Vec<(Cont, Option<NonZeroU32>)>,
}

impl Calls {
    fn new(world: &World, conts: &[Cont], values: &Values) -> Calls {
        let callers = conts.iter().copied().filter(|&cont| values.callee(world, cont).is_some());
        let mut calls = Calls { callers: callers.collect(), last: SecondaryMap::new(), entries: vec![] };
        // Any order will do; this is the one in which they are in memory.
        calls.callers.sort_unstable();
        for &caller in &calls.callers {
            for &arg in &body(world, caller).args {
                if matches!(world.node(arg), Node::Param { .. }) {
                    calls.entries.push((caller, calls.last[arg]));
                    calls.last[arg] = NonZeroU32::new(calls.entries.len() as u32);
                }
            }
        }
        calls
    }

    /// Who hands on `param`.
    fn handing_on(&self, param: Def) -> impl Iterator<Item = Cont> + '_ {
        let entry = |number: NonZeroU32| self.entries[number.get() as usize - 1];
        let last = self.last[param].map(entry);
        std::iter::successors(last, move |&(_, before)| before.map(entry)).map(|(caller, _)| caller)
    }
}

impl Values {
    fn new(world: &World, mentions: &Mentions) -> Values {
        let mut is_candidate = SecondaryMap::new();
        for &cont in &mentions.conts {
            let data = world.cont(cont);
            // Whether its arguments are known is still to be answered.
            let is_asked = world.origin(cont).is_some_and(|origin| origin.must_specialize);
            is_candidate[cont] = data.linkage == Linkage::Internal && data.body.is_some() && !is_asked;
        }
        let mut reject = |def: Def| {
            if let Some(cont) = world.as_cont(def) {
                is_candidate[cont] = false;
            }
        };
        for &def in &mentions.operations {
            world.for_each_operand(def, &mut reject);
        }
        for &cont in &mentions.conts {
            let data = world.cont(cont);
            data.body.iter().flat_map(|body| &body.args).chain(&data.filter).copied().for_each(&mut reject);
        }
        conts_in_globals(world).into_iter().for_each(|cont| is_candidate[cont] = false);
        Values { is_candidate, known: SecondaryMap::new() }
    }

    /// Finds the values of the parameters of one kind.
    fn solve(&mut self, world: &World, calls: &Calls, kind: Kind) {
        let mut work: Vec<Cont> = calls.callers.iter().rev().copied().collect();
        while let Some(caller) = work.pop() {
            let callee = self.callee(world, caller).expect("only calls of candidates are looked at");
            for (index, &arg) in body(world, caller).args.iter().enumerate() {
                let param = world.param(callee, index);
                if kind_of(world, param) == Some(kind) && self.meet(world, callee, param, arg) {
                    work.extend(calls.handing_on(param));
                }
            }
        }
    }

    /// The candidate that `caller` calls.
    fn callee(&self, world: &World, caller: Cont) -> Option<Cont> {
        let callee = world.as_cont(world.cont(caller).body.as_ref()?.callee)?;
        self.is_candidate[callee].then_some(callee)
    }

    /// Notes that `param` gets `arg`; whether that is news.
    fn meet(&mut self, world: &World, callee: Cont, param: Def, arg: Def) -> bool {
        let value = match self.resolve(world, arg) {
            Some(value) if value == param => return false,
            Some(value) => value,
            // Not reached yet; this call is looked at again when it is.
            None => return false,
        };
        let is_allowed = || {
            kind_of(world, param) == Some(Kind::Continuations)
                || !self.returns(world, callee)
                || world.is_constant(value)
        };
        let new = match self.known[param] {
            Value::Several => return false,
            Value::Unreached if is_allowed() => Value::One(value),
            Value::One(old) if old == value => return false,
            _ => Value::Several,
        };
        std::mem::replace(&mut self.known[param], new) != new
    }

    /// What `arg` is under the assumptions; none if it is a parameter that has no
    /// value yet.
    fn resolve(&self, world: &World, arg: Def) -> Option<Def> {
        let Node::Param { cont, .. } = world.node(arg) else { return Some(arg) };
        // Parameters that are not solved for have been rejected with their owner.
        if !self.is_candidate[cont] || kind_of(world, arg).is_none() {
            return Some(arg);
        }
        match self.known[arg] {
            Value::Unreached => None,
            Value::One(value) => Some(value),
            Value::Several => Some(arg),
        }
    }

    /// Whether a continuation is left among the parameters of `cont`.
    fn returns(&self, world: &World, cont: Cont) -> bool {
        world
            .cont(cont)
            .params
            .iter()
            .any(|&param| kind_of(world, param) == Some(Kind::Continuations) && self.value(param).is_none())
    }

    /// The value to use instead of `param`.
    fn value(&self, param: Def) -> Option<Def> {
        match self.known[param] {
            Value::One(value) => Some(value),
            Value::Unreached | Value::Several => None,
        }
    }
}

/// What a parameter is; memory is neither.
fn kind_of(world: &World, param: Def) -> Option<Kind> {
    let ty = world.ty(param);
    match world.types.as_cn(ty) {
        Some(_) => Some(Kind::Continuations),
        None => (ty != world.types.mem()).then_some(Kind::Data),
    }
}

fn body(world: &World, cont: Cont) -> &Body {
    world.cont(cont).body.as_ref().expect("only what has a body is a caller")
}

/// Removes the parameters that have a value, and the arguments for them, and uses the values instead.
fn replace(world: &mut World, conts: &[Cont], values: &Values) {
    let is_removed = |&param: &Def| values.value(param).is_some();
    let loses = |cont: &Cont| world.cont(*cont).params.iter().any(is_removed);
    let losers: Vec<Cont> = conts.iter().copied().filter(loses).collect();
    let params = losers.iter().flat_map(|&cont| world.cont(cont).params.iter().copied());
    let removed: Vec<(Def, Def)> = params.filter_map(|param| Some((param, values.value(param)?))).collect();
    let mut rewriter = Rewriter::of(world, removed.iter().map(|&(param, _)| param));
    removed.into_iter().for_each(|(param, value)| rewriter.unify(param, value));
    // What the parameters of those that lose some were.
    let mut before: SecondaryMap<Cont, Vec<Def>> = SecondaryMap::new();
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
    before: &SecondaryMap<Cont, Vec<Def>>,
    is_removed: impl Fn(&Def) -> bool,
) {
    let data = rewriter.world.cont(cont);
    let callee = data.body.as_ref().and_then(|body| rewriter.world.as_cont(body.callee));
    let params = callee.map_or(&[] as &[Def], |callee| &before[callee]);
    if params.is_empty() && !mentioned(data).any(|def| rewriter.is_affected(def)) {
        return;
    }
    let (filter, body) = (data.filter.clone(), data.body.clone());
    let filter = filter.into_iter().map(|filter| rewriter.filter(filter)).collect();
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
