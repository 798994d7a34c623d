//! Specializations that are evaluated where they are called.
//!
//! See Note [When a specialization is unfolded].

use std::rc::Rc;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, entity_impl};
use nyala_ir::{Cont, Def, Defs};
use rustc_hash::FxHashSet;

use super::calls::Next;
use super::chains::{Link, LinkId};
use super::engine::{Call, Engine};
use super::instance::{Context, Instance};
use super::journal::SiteId;
use super::memo::Form;

// Note [When a specialization is unfolded]
//
// Most specializations have one call: each iteration of an unrolled loop, each step of a recursion over known
// values. A continuation for each, and its inlining one round later, would cost several times as much as the
// residual code. So a requested specialization is *unfolded*: evaluation continues with its body, and the result is
// part of the body that is being built.
//
// * If it is called again, it is a loop or shared, and must be a continuation. So it becomes one now. The body that
//   it was unfolded in is cut off there and calls it. The code behind is dropped, and built again where it is
//   needed. This happens at most once to each specialization, since a dropped specialization is not unfolded again.
//   Later calls of the same function that fix the same parameters are not unfolded, so nested loops do not repeat
//   it.
// * If it leads to a limit, the unfoldings of the cycle are rolled back: they are dropped in the same way, and
//   the first call of the cycle is kept.
// * If it returns known values and has no effect, a later call with the same arguments, memory included, returns
//   these values at once. So a recursion over known values computes each result once.

/// A specialization that was unfolded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct UnfoldingId(u32);
entity_impl!(UnfoldingId, "unfolding");

/// An unfolding, and all that is needed to turn it into a continuation.
struct Unfolding {
    /// The continuation whose body contains it. The unfoldings of one body have successive numbers.
    target: Cont,
    /// The specialization and its call.
    link: LinkId,
    /// The callee of the call.
    callee: Def,
    /// The end of its arguments in `Unfoldings::args`.
    args_end: u32,
    site: Option<SiteId>,
    /// The number of journal entries before it.
    n_built: u32,
    implicit_depth: u32,
    /// Whether the body was cut off before it.
    is_dropped: bool,
    /// The values that it returns, if they are known.
    result: Option<Rc<[Def]>>,
}

/// The code that is dropped when a body is cut off.
#[derive(Clone, Copy)]
enum Tail {
    /// The new continuation will reference mostly the same. To release all of it and claim it again would
    /// take long, so the references stay.
    Rebuilt,
    /// It is rolled back.
    RolledBack,
}

/// A call that has not returned.
struct Pending {
    id: UnfoldingId,
    mem: Def,
    ret: Def,
}

/// All unfoldings of a round.
#[derive(Default)]
pub(super) struct Unfoldings {
    all: PrimaryMap<UnfoldingId, Unfolding>,
    /// The arguments of all calls.
    args: Vec<Def>,
    /// Functions with the set of fixed parameters that are no longer unfolded.
    excluded: FxHashSet<(Cont, Box<[bool]>)>,
    /// The calls of the current body that have not returned, the innermost last.
    pending: Vec<Pending>,
}

impl Unfoldings {
    /// Starts another body.
    pub fn begin_body(&mut self) {
        self.pending.clear();
    }

    /// The arguments of a call.
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

/// The function and the set of its fixed parameters.
fn shape(instance: &Instance) -> (Cont, Box<[bool]>) {
    (instance.old, instance.fixed().iter().map(|fixed| fixed.is_some()).collect())
}

impl Engine<'_> {
    /// Continues with the body of a new specialization.
    pub(super) fn unfold(
        &mut self,
        instance: Instance,
        call: Call,
        rest: Defs,
        site: Option<SiteId>,
    ) -> Next {
        let link = self.new_link(instance.clone(), &call);
        let site = site.or(self.current.context.site);
        self.current.context.link = link.into();
        self.current.context.site = site;
        self.unfoldings.args.extend(call.args);
        let id = self.unfoldings.all.push(Unfolding {
            target: self.current.target,
            link,
            callee: call.callee,
            args_end: self.unfoldings.args.len() as u32,
            site,
            n_built: self.state.journal.n_built() as u32,
            implicit_depth: self.current.context.implicit_depth,
            is_dropped: false,
            result: None,
        });
        self.instances.add_unfolded(instance.clone(), id);
        self.chains.set_unfolding(link, id);
        if let [mem, .., ret] = rest[..]
            && self.is_continuation(ret)
        {
            self.unfoldings.pending.push(Pending { id, mem, ret });
        }
        Next::Unfold(instance, rest)
    }

    /// The link of an instance that exists.
    pub(super) fn link_of_form(&self, form: Form) -> PackedOption<LinkId> {
        match form {
            Form::Cont(cont) => self.instances.context(cont).link,
            Form::Unfolded(id) => self.unfoldings.all[id].link.into(),
        }
    }

    /// Decides about another call of an unfolding.
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
        let Unfolding { link, site, implicit_depth, .. } = *unfolding;
        let Link { span, ref instance, .. } = *self.chains.link(link);
        let instance = instance.clone();
        self.unfoldings.excluded.insert(shape(&instance));
        let copy = self.make_cont(instance, Context { implicit_depth, link: link.into(), site });
        let callee = self.new.cont_def(copy);
        let instead = Call { callee, args: rest, span, mark: None };
        self.cut_off(id, Tail::Rebuilt, instead, Call { callee, ..call })
    }

    /// Rolls back the unfoldings from `begin` on. `call` is the call that reached the limit.
    pub(super) fn roll_back(&mut self, begin: UnfoldingId, call: Call) -> Next {
        let Unfolding { callee, link, .. } = self.unfoldings.all[begin];
        let args = Defs::from_slice(self.unfoldings.args_of(begin));
        let first = Call { callee, args, span: self.chains.link(link).span, mark: None };
        self.cut_off(begin, Tail::RolledBack, first, call)
    }

    /// Cuts off the body that `id` was unfolded in; from there on, it does `instead`. If that is the current body,
    /// it is complete; otherwise, the current body ends with `call`.
    fn cut_off(&mut self, id: UnfoldingId, tail: Tail, instead: Call, call: Call) -> Next {
        let Unfolding { target, is_dropped, .. } = self.unfoldings.all[id];
        let is_dead = self.refs.count(self.new.cont_def(target)) == 0;
        if is_dropped || is_dead {
            return Next::Emit(call);
        }
        self.drop_from(id, tail);
        if target == self.current.target {
            return Next::Emit(instead);
        }
        match tail {
            Tail::Rebuilt => self.add_body(target, instead),
            Tail::RolledBack => self.set_body(target, instead),
        }
        Next::Emit(call)
    }

    /// The arguments for the parameters that a specialization leaves open.
    fn rest(&self, id: UnfoldingId) -> Defs {
        let unfolding = &self.unfoldings.all[id];
        let callee = self.new.as_cont(unfolding.callee).and_then(|callee| self.instances.get(callee));
        let before = callee.expect("an unfolding is an instance").fixed();
        let after = self.chains.link(unfolding.link).instance.fixed();
        let open = before.iter().zip(after).filter(|(before, _)| before.is_none());
        let open = open.zip(self.unfoldings.args_of(id)).filter(|((_, after), _)| after.is_none());
        open.map(|(_, &arg)| arg).collect()
    }

    /// Marks the unfoldings of the same body from `first` on as dropped.
    fn drop_from(&mut self, first: UnfoldingId, tail: Tail) {
        let Unfolding { target, n_built, .. } = self.unfoldings.all[first];
        self.state.journal.drop_nodes(n_built as usize, target);
        let later = self.unfoldings.all.values_mut().skip(first.as_u32() as usize);
        for unfolding in later.take_while(|later| later.target == target && !later.is_dropped) {
            unfolding.is_dropped = true;
            if let (Tail::RolledBack, Some(site)) = (tail, unfolding.site) {
                self.state.journal.roll_back(site);
            }
        }
    }

    /// Remembers the results of calls that return known values without an effect.
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
