//! Specialisations that are evaluated where they are called.
//!
//! Most specialisations are called once: each round of an unrolled loop, each step of a
//! recursion over what is known. To make a continuation of each, and to find out a round later that it
//! has a single use, would cost several times what it is to build what is left of them. So a
//! specialisation that somebody asked for is *unfolded*: evaluation goes on with its body, and what it
//! becomes is part of the body being built.
//!
//! # If it is called again
//!
//! Then it is a loop, or shared, and should have been a continuation. So it becomes one now, and
//! the body it was unfolded in is cut off there and calls it. What came behind is dropped, and built again
//! where it is needed. This happens at most once to each specialisation: what was dropped is not unfolded
//! again. And once it has happened, calls of the same function that fix the same parameters are no
//! longer unfolded, so loops in loops do not lead to ever more of it.
//!
//! # If it leads nowhere
//!
//! When a limit is reached, what was unfolded of the circle that reached it is dropped in the same
//! way, and its first call stays as it was.
//!
//! # If it returns known values
//!
//! and nothing was executed on the way, then it need not be evaluated a second time: a later call with the
//! same arguments, memory among them, returns the same at once. So a recursion over known values is computed
//! with every result found once.

use std::rc::Rc;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, entity_impl};
use nyala_ir::{Cont, Def, Defs};
use rustc_hash::FxHashSet;

use super::calls::Next;
use super::engine::{Call, Engine};
use super::instance::Instance;
use super::journal::SiteId;
use super::limits::{Link, LinkId};
use super::memo::Made;

/// A specialisation that was unfolded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct UnfoldingId(u32);
entity_impl!(UnfoldingId, "unfolding");

/// How a specialisation was unfolded, and all it takes to make it a continuation.
struct Unfolding {
    /// In whose body. Those of one body have successive numbers.
    target: Cont,
    /// The specialisation, and where it was asked for.
    link: LinkId,
    /// What was called.
    callee: Def,
    /// The end of the arguments among all.
    args_end: u32,
    site: Option<SiteId>,
    /// How often something had been built for a site.
    n_built: u32,
    depth: u32,
    /// Whether the body was cut off before it.
    is_dropped: bool,
    /// What it returns, if that is known.
    result: Option<Rc<[Def]>>,
}

/// What is dropped when a body is cut off.
#[derive(Clone, Copy)]
enum Tail {
    /// The new continuation will mostly need the same. To give it up and claim it again would
    /// take long, if much follows, so it counts on as needed.
    NeededAgain,
    /// Nobody needs it.
    InVain,
}

/// A call that is being evaluated and will return.
struct Pending {
    id: UnfoldingId,
    mem: Def,
    ret: Def,
}

/// All specialisations that were unfolded.
#[derive(Default)]
pub(super) struct Unfoldings {
    all: PrimaryMap<UnfoldingId, Unfolding>,
    /// The arguments of the calls as they were, one call after the other.
    args: Vec<Def>,
    /// Functions, and which of their parameters are fixed, that are no longer unfolded.
    excluded: FxHashSet<(Cont, Box<[bool]>)>,
    /// Those in the body being built that have not returned, the innermost last.
    pending: Vec<Pending>,
}

impl Unfoldings {
    /// A body is begun.
    pub fn begin_body(&mut self) {
        self.pending.clear();
    }

    /// The arguments that one was called with.
    fn args_of(&self, id: UnfoldingId) -> &[Def] {
        let before = id.as_u32().checked_sub(1).map(UnfoldingId::from_u32);
        let start = before.map_or(0, |before| self.all[before].args_end);
        &self.args[start as usize..self.all[id].args_end as usize]
    }

    /// Whether calls that fix these parameters may be unfolded.
    pub fn may_unfold(&self, instance: &Instance) -> bool {
        self.excluded.is_empty() || !self.excluded.contains(&shape(instance))
    }
}

/// The function, and which of its parameters are fixed.
fn shape(instance: &Instance) -> (Cont, Box<[bool]>) {
    (instance.old, instance.fixed().iter().map(|fixed| fixed.is_some()).collect())
}

impl Engine<'_> {
    /// Goes on with the body of a new specialisation.
    pub(super) fn unfold(
        &mut self,
        instance: Instance,
        call: Call,
        rest: Defs,
        site: Option<SiteId>,
    ) -> Next {
        let link = self.new_link(instance.clone(), call.span);
        self.link = link.into();
        self.site = site.or(self.site);
        self.unfoldings.args.extend(call.args);
        let id = self.unfoldings.all.push(Unfolding {
            target: self.target,
            link,
            callee: call.callee,
            args_end: self.unfoldings.args.len() as u32,
            site: self.site,
            n_built: self.state.journal.n_built() as u32,
            depth: self.depth,
            is_dropped: false,
            result: None,
        });
        self.memo.insert(instance.clone(), Made::Unfolded(id));
        self.links[link].unfolding = id.into();
        if let [mem, .., ret] = rest[..]
            && self.is_continuation(ret)
        {
            self.unfoldings.pending.push(Pending { id, mem, ret });
        }
        Next::Unfold(instance, rest)
    }

    /// The specialisation that evaluating `made` belongs to.
    pub(super) fn link_of_made(&self, made: Made) -> PackedOption<LinkId> {
        match made {
            Made::Cont(cont) => self.link_of[cont],
            Made::Unfolded(id) => self.unfoldings.all[id].link.into(),
        }
    }

    /// What to do with a call of what was unfolded before.
    pub(super) fn call_again(&mut self, id: UnfoldingId, mut call: Call) -> Next {
        let unfolding = &self.unfoldings.all[id];
        let rest = self.rest(id);
        if let (Some(result), [inputs @ .., ret]) = (&unfolding.result, call.args.as_slice())
            && *inputs == rest[..inputs.len()]
        {
            call.callee = *ret;
            call.args = std::iter::once(inputs[0]).chain(result.iter().copied()).collect();
            return Next::Again(call);
        }
        let Unfolding { link, site, depth, .. } = *unfolding;
        let Link { span, ref instance, .. } = self.links[link];
        let instance = instance.clone();
        self.unfoldings.excluded.insert(shape(&instance));
        let clone = self.make_cont(instance);
        self.link_of[clone] = link.into();
        self.site_of[clone] = site;
        self.depths[clone] = depth;
        let callee = self.new.cont_def(clone);
        let instead = Call { callee, args: rest, span, mark: None };
        self.cut_off(id, Tail::NeededAgain, instead, Call { callee, ..call })
    }

    /// Drops what was unfolded from `begin` on, in vain; `call` is how far that went.
    pub(super) fn take_back(&mut self, begin: UnfoldingId, call: Call) -> Next {
        let Unfolding { callee, link, .. } = self.unfoldings.all[begin];
        let args = Defs::from_slice(self.unfoldings.args_of(begin));
        let first = Call { callee, args, span: self.links[link].span, mark: None };
        self.cut_off(begin, Tail::InVain, first, call)
    }

    /// Lets a body do `instead` where `id` was unfolded in it. If that is the one being built, it is done;
    /// otherwise, it ends with `call`.
    fn cut_off(&mut self, id: UnfoldingId, tail: Tail, instead: Call, call: Call) -> Next {
        let Unfolding { target, is_dropped, .. } = self.unfoldings.all[id];
        let is_dead = self.refs.count(self.new.cont_def(target)) == 0;
        if is_dropped || is_dead {
            return Next::Emit(call);
        }
        self.drop_from(id, tail);
        if target == self.target {
            return Next::Emit(instead);
        }
        match tail {
            Tail::NeededAgain => self.add_body(target, instead),
            Tail::InVain => self.set_body(target, instead),
        }
        Next::Emit(call)
    }

    /// The arguments for the parameters that a specialisation has left open.
    fn rest(&self, id: UnfoldingId) -> Defs {
        let unfolding = &self.unfoldings.all[id];
        let callee = self.new.as_cont(unfolding.callee).and_then(|callee| self.instance(callee));
        let before = callee.expect("what is unfolded is an instance").fixed();
        let after = self.links[unfolding.link].instance.fixed();
        let open = before.iter().zip(after).filter(|(before, _)| before.is_none());
        let open = open.zip(self.unfoldings.args_of(id)).filter(|((_, after), _)| after.is_none());
        open.map(|(_, &arg)| arg).collect()
    }

    /// Marks what was unfolded in the same body from `first` on.
    fn drop_from(&mut self, first: UnfoldingId, tail: Tail) {
        let Unfolding { target, n_built, .. } = self.unfoldings.all[first];
        self.state.journal.drop_nodes(n_built as usize, target);
        let later = self.unfoldings.all.values_mut().skip(first.as_u32() as usize);
        for unfolding in later.take_while(|later| later.target == target && !later.is_dropped) {
            unfolding.is_dropped = true;
            if let (Tail::InVain, Some(site)) = (tail, unfolding.site) {
                self.state.journal.take_back(site);
            }
        }
    }

    /// Notes results that are known when a call returns.
    pub(super) fn note_return(&mut self, call: &Call) {
        while let Some(&Pending { id, mem, ret }) = self.unfoldings.pending.last()
            && ret == call.callee
        {
            self.unfoldings.pending.pop();
            let &[after, ref values @ ..] = call.args.as_slice() else { continue };
            let is_result =
                |engine: &mut Self, def: Def| engine.is_known(def) && !engine.new.contains_conts(def);
            if after == mem && values.iter().all(|&value| is_result(self, value)) {
                self.unfoldings.all[id].result = Some(values.into());
            }
        }
    }
}
