//! The active calls at a place: those that have not returned.
//!
//! A program in continuation-passing style has no stack. A call is active while its return continuation is needed.
//! So the active calls are found by following return continuations: each one captures the return continuation of
//! the function around it. A call in tail position has the return continuation of its caller; if it was
//! specialized, it is a link of the chain.

use std::cell::OnceCell;

use cranelift_entity::packed_option::PackedOption;
use nyala_ir::analysis::functions::return_param;
use nyala_ir::{Cont, Def, Intrinsic, Node, World};
use nyala_span::Span;
use rustc_hash::FxHashMap;

use super::chains::{Link, LinkId};
use super::engine::{Call, Engine};

/// How many return continuations are followed.
const MAX_FRAMES: usize = 64;

/// For each return continuation of the old program, the call that passes it. It is computed for the first report.
#[derive(Default)]
pub(super) struct ReturnCalls(OnceCell<FxHashMap<Cont, Span>>);

impl ReturnCalls {
    fn get(&self, world: &World, ret: Cont) -> Option<Span> {
        let calls = self.0.get_or_init(|| {
            let bodies = world.conts().filter_map(|(_, data)| data.body.as_ref());
            bodies.filter_map(|body| Some((world.as_cont(*body.args.last()?)?, body.span))).collect()
        });
        calls.get(&ret).copied()
    }
}

impl Engine<'_> {
    /// The active calls that return to `ret` or to one of its callers, innermost first. `last` is the end of the chain
    /// of specializations.
    pub(super) fn active_calls(&self, ret: Def, last: PackedOption<LinkId>) -> Vec<Span> {
        let mut specialized: FxHashMap<Def, Vec<Span>> = FxHashMap::default();
        for Link { ret, span, .. } in self.chains.chain(last).map(|link| self.chains.link(link)) {
            ret.expand().into_iter().for_each(|ret| specialized.entry(ret).or_default().push(*span));
        }
        let mut calls = vec![];
        let mut frame = Some(ret);
        for _ in 0..MAX_FRAMES {
            let Some(ret) = frame else { break };
            calls.extend(specialized.remove(&ret).unwrap_or_default());
            let (call, caller) = match self.new.node(ret) {
                Node::Cont(cont) => self.returned_call(cont),
                Node::Param { cont, .. } => self.first_call(cont),
                _ => (None, None),
            };
            calls.extend(call);
            frame = caller;
        }
        calls.dedup();
        calls
    }

    /// The place of a call. A launch or a loop of lanes or threads in a library is where the user's code calls the
    /// library.
    pub(super) fn place_of(&self, call: &Call) -> Span {
        let takes_body = |it: Intrinsic| it.declaration().takes_body;
        let origins = &self.old.origins;
        if !self.new.as_intrinsic(call.callee).is_some_and(takes_body) || !origins.is_foreign(call.span) {
            return call.span;
        }
        let calls = call.args.last().map(|&ret| self.active_calls(ret, self.current.context.link));
        calls.into_iter().flatten().find(|&at| !origins.is_foreign(at)).unwrap_or(call.span)
    }

    /// The call that returns to `cont`, and the return continuation of the function around the call.
    fn returned_call(&self, cont: Cont) -> (Option<Span>, Option<Def>) {
        let Some(instance) = self.instances.get(cont) else { return (None, None) };
        let call = self.return_calls.get(self.old, instance.old);
        let place = call.unwrap_or(self.old.cont(instance.old).span);
        let captures = self.plan.captures(instance.old).iter().zip(instance.captured());
        let returns = captures.filter_map(|(&old, new)| Some((self.function_returning_to(old)?, new)));
        // The innermost function around the call; others are those that it returns from early.
        let around = returns.min_by_key(|&(function, _)| {
            let body = self.old.origin(function).map_or(Span::NONE, |origin| origin.body);
            (!body.contains(place.lo), body.hi.saturating_sub(body.lo))
        });
        (call, around.map(|(_, ret)| ret))
    }

    /// The function whose return continuation is `def`.
    fn function_returning_to(&self, def: Def) -> Option<Cont> {
        match self.old.node(def) {
            Node::Param { cont, .. } => (return_param(self.old, cont) == Some(def)).then_some(cont),
            _ => None,
        }
    }

    /// The call that `function` was specialized for, and its return continuation.
    fn first_call(&self, function: Cont) -> (Option<Span>, Option<Def>) {
        let link = self.instances.context(function).link.expand().map(|link| self.chains.link(link));
        let instance = self.instances.get(function);
        match link.filter(|link| Some(&link.instance) == instance) {
            Some(link) => (Some(link.span), link.ret.expand()),
            None => (None, None),
        }
    }
}
