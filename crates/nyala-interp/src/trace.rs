//! Where the machine is: spans, and the chain of calls that led there.
//!
//! There is no stack. A function's return continuation is one of its parameters. Its closure records the block
//! that created it, which is the caller, and has captured the return continuation of the caller. At the end of a
//! parallel instance the chain continues with the call that started the region; the region has saved it.

use std::ops::ControlFlow;
use std::rc::Rc;

use nyala_span::Span;

use crate::code::{Block, FRAME, Reg, Scope};
use crate::errors::{ErrorKind, Frame, InterpError};
use crate::machine::Machine;
use crate::memory::AT_CALL;
use crate::parallel::Participants;
use crate::value::{Closure, Code, Place, Value};

/// How many calls of a long chain are kept at either end.
const KEPT: usize = 8;

impl Machine<'_, '_> {
    /// The error at the place where the machine is.
    pub(crate) fn error(&self, mut kind: ErrorKind) -> Box<InterpError> {
        if let ErrorKind::Race { other_span, .. } = &mut kind
            && let Some(site) = self.memory.races.other_site
        {
            *other_span = self.span_at(Place { scope: site.scope, block: site.block }, site.at);
        }
        let (calls, omitted) = self.calls();
        Box::new(InterpError { kind, span: self.here(), calls, omitted, steps: self.steps() })
    }

    /// The operation or call being executed.
    fn here(&self) -> Span {
        if self.scope.blocks.is_empty() {
            return Span::NONE;
        }
        match self.memory.at {
            AT_CALL => self.call_span(),
            at => self.scope.defs.get(at as usize).map_or(Span::NONE, |&def| self.program.world.span_of(def)),
        }
    }

    /// The operation or call being executed; if it is in a library, the innermost call of the chain outside of
    /// libraries.
    pub(crate) fn place_in_program(&self) -> Span {
        let here = self.here();
        let is_own = |span: Span| {
            let is_around = |library: &Span| library.contains(span.lo);
            !span.is_none() && !self.libraries.iter().any(is_around)
        };
        let mut found = is_own(here).then_some(here);
        if found.is_none() && !self.scope.blocks.is_empty() {
            self.for_each_frame(|_, caller| {
                found = caller.map(|caller| self.span_at(caller, AT_CALL)).filter(|&call| is_own(call));
                if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        found.unwrap_or(here)
    }

    /// The call at the end of the current block.
    pub(crate) fn call_span(&self) -> Span {
        self.scope.blocks.get(self.block as usize).map_or(Span::NONE, |block| block.span)
    }

    fn span_at(&self, place: Place, at: u32) -> Span {
        let scope = self.program.scope(place.scope);
        match at {
            AT_CALL => scope.blocks[place.block as usize].span,
            at => self.program.world.span_of(scope.defs[at as usize]),
        }
    }

    /// The chain of calls, the innermost first, and which calls in its middle are omitted.
    fn calls(&self) -> (Vec<Frame>, Option<(usize, usize)>) {
        if self.scope.blocks.is_empty() {
            return (vec![], None);
        }
        let mut frames = vec![];
        self.for_each_frame(|function, caller| {
            frames.push((function, caller));
            ControlFlow::Continue(())
        });
        let omitted = frames.len().saturating_sub(2 * KEPT);
        if omitted > 0 {
            frames.drain(KEPT..KEPT + omitted);
        }
        let span = |caller: Option<Place>| caller.map(|caller| self.span_at(caller, AT_CALL));
        let frames = frames
            .into_iter()
            .map(|(function, caller): (&str, _)| Frame { function: function.into(), call: span(caller) });
        (frames.collect(), (omitted > 0).then_some((KEPT, omitted)))
    }

    /// Calls `each` with every function of the chain of calls and the place of its call, the innermost first, until
    /// it breaks.
    fn for_each_frame(&self, mut each: impl FnMut(&'static str, Option<Place>) -> ControlFlow<()>) {
        let here = Place { scope: self.scope.id, block: self.block };
        let mut regions = self.regions.iter().rev();
        let (mut function, mut ret) = (self.function(here), self.return_register(here));
        loop {
            let closure = ret.and_then(|closure| self.without_keep_alive(closure));
            let is_end =
                closure.as_ref().is_none_or(|closure| matches!(closure.code, Code::InstanceEnd { .. }));
            let caller = match is_end {
                true => regions.next().map(|region| &region.parent),
                false => None,
            };
            if let Some(parent) = caller {
                let place = Place { scope: parent.scope.id, block: parent.block };
                if each(function, Some(place)).is_break() {
                    return;
                }
                function = self.function(place);
                ret =
                    return_in(&parent.scope, place, |reg| parent.regs.get(reg.checked_sub(FRAME)? as usize));
                continue;
            }
            let caller = closure.as_ref().and_then(|closure| closure.creator);
            let is_last = each(function, caller).is_break();
            let (Some(closure), Some(caller), false) = (closure, caller, is_last) else { return };
            function = self.function(caller);
            ret = self.captured_return(&closure);
        }
    }

    /// The name of the function that a block belongs to.
    fn function(&self, place: Place) -> &'static str {
        let scope = self.program.scope(place.scope);
        let owner = scope.blocks[place.block as usize].owner;
        self.program.world.cont(scope.blocks[owner as usize].cont).name.as_str()
    }

    /// The return continuation of the function being executed.
    pub(crate) fn return_register(&self, place: Place) -> Option<Rc<Closure>> {
        return_in(&self.scope, place, |reg| self.regs.get(reg as usize))
    }

    /// The return continuation of the function that a closure returns to.
    fn captured_return(&self, closure: &Closure) -> Option<Rc<Closure>> {
        let at = match closure.code {
            Code::Block(place) => {
                let block = &self.program.scope(place.scope).blocks[place.block as usize];
                block.live.binary_search(&block.ret?).ok()?
            }
            Code::ReturnToC { .. } => 0,
            _ => return None,
        };
        match closure.captured.get(at) {
            Some(Value::Fn(closure)) => Some(closure.clone()),
            _ => None,
        }
    }

    /// The closure inside of [`Code::KeepAlive`].
    fn without_keep_alive(&self, mut closure: Rc<Closure>) -> Option<Rc<Closure>> {
        while let Code::KeepAlive = closure.code {
            let Some(Value::Fn(inner)) = closure.captured.first() else { return None };
            closure = inner.clone();
        }
        Some(closure)
    }

    /// The progress of the current instance. See Note [Least progress first].
    pub(crate) fn progress(&self) -> Vec<u32> {
        let mut place = Place { scope: self.scope.id, block: self.block };
        let mut ret = self.return_register(place).and_then(|closure| self.without_keep_alive(closure));
        let mut levels = vec![];
        loop {
            levels.push(self.progress_in(place, ret.as_deref()));
            let Some(closure) = ret else { break };
            let Code::Block(next) = closure.code else { break };
            place = next;
            ret = self.captured_return(&closure).and_then(|closure| self.without_keep_alive(closure));
        }
        levels.into_iter().rev().flatten().chain([u32::MAX]).collect()
    }

    /// The progress of one function, by its return continuation.
    fn progress_in(&self, place: Place, ret: Option<&Closure>) -> Vec<u32> {
        let Place { scope, block } = place;
        let code = &self.program.scope(scope).blocks[block as usize];
        let iterations =
            |block| ret.and_then(|ret| ret.iterations.get()).map_or(0, |all| all.of(Place { scope, block }));
        let loops = code.loops.iter().flat_map(|&header| [header, iterations(header)]);
        [iterations(code.owner), scope].into_iter().chain(loops).chain([block]).collect()
    }

    /// Counts an iteration if `block` is a loop header or the entry of a function.
    pub(crate) fn count_iteration(&self, scope: &Scope, block: &Block) {
        let is_entry = block.owner == self.block;
        let is_in_group =
            self.can_synchronize(Participants::Lanes) || self.can_synchronize(Participants::WorkGroup);
        if !(is_entry || block.is_header) || !is_in_group {
            return;
        }
        let here = Place { scope: scope.id, block: self.block };
        let Some(ret) = self.return_register(here).and_then(|closure| self.without_keep_alive(closure))
        else {
            return;
        };
        let header =
            if is_entry { self.block } else { *block.loops.last().expect("a header is in its loop") };
        let is_inside = |other: Place| {
            let block = || &scope.blocks[other.block as usize];
            other.scope == scope.id
                && if is_entry { block().owner == header } else { block().loops.contains(&header) }
        };
        ret.iterations.get_or_init(Box::default).begin(Place { scope: scope.id, block: header }, is_inside);
    }
}

// Note [Least progress first]
//
// Instances that wait at different places do not execute a collective operation together. Those with the least
// progress run first, so that divergent instances reconverge as early as possible.
//
// The progress of an instance is a list of numbers, compared lexicographically. Each active call contributes a
// part, the outermost first: the number of tail calls of the function to itself, the function, the header and
// the iteration of each enclosing loop, and the block in which the instance is or to which it returns. Blocks are
// numbered in reverse post order. So lanes synchronize in the same iteration of all enclosing loops. The list ends
// with the largest number: an instance inside of a call has made less progress than one that has returned from it.
//
// Return continuations count the iterations: loops are jumps or tail calls, so all iterations of a function that
// was called once have the same return continuation.

/// The return continuation of the function that is at `place`, given its registers.
fn return_in<'r>(
    scope: &Scope,
    place: Place,
    register: impl Fn(Reg) -> Option<&'r Value>,
) -> Option<Rc<Closure>> {
    let block = &scope.blocks[place.block as usize];
    let reg: Reg = block.ret?;
    let is_set = reg >= block.start || block.live.binary_search(&reg).is_ok();
    match register(reg)? {
        Value::Fn(closure) if is_set => Some(closure.clone()),
        _ => None,
    }
}
