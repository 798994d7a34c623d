//! Evaluates an old program into a new one.
//!
//! A continuation of the new program is an *instance* of an old one: the old
//! continuation with values for its captures and for the parameters it is
//! specialised on. An instance costs nothing until something in the new program
//! really needs it; then its body is built, once. Building a body goes on
//! through every call that can be evaluated on the spot, so the cost is
//! proportional to what is built.
//!
//! # What always holds
//!
//! * Instances are remembered by all that makes them: the same old continuation
//!   with the same values is the same instance. So a recursion that hands on
//!   what it is specialised on comes back to itself and is a loop.
//! * Each body of the new program is set once (a run that comes by later may replace it), and everything it mentions has an
//!   entry in the queue or has been evaluated.
//! * The old program does not change.
//!
//! What becomes of a call is decided in `calls`; values are built in `values`.

use cranelift_entity::packed_option::{PackedOption, ReservedValue as _};
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use nyala_ir::analysis::references::reachable;
use nyala_ir::{Body, Cont, Def, Defs, Global, Linkage, Mark, Node, World};
use rustc_hash::FxHashMap;

use super::calls::Next;
use super::env::Env;
use super::instance::{Instance, Instances, merge};
use super::journal::SiteId;
use super::limits::{Link, LinkId, Used};
use super::memo::Memo;
use super::plan::Plan;
use super::questions::Answers;
use super::refs::Refs;
use super::run_halt::Runs;
use super::spared::Spared;
use super::unfold::Unfoldings;
use super::values::Mode;
use super::{Options, State};

/// One round of evaluation.
pub(super) struct Engine<'a> {
    pub(super) old: &'a World,
    pub(super) new: World,
    pub(super) plan: Plan,
    pub(super) options: &'a Options,
    /// What is known from earlier rounds.
    pub(super) state: &'a mut State,
    pub(super) instances: Instances,
    pub(super) memo: Memo,
    pub(super) unfoldings: Unfoldings,
    /// The continuation whose body is being built.
    pub(super) target: Cont,
    /// What stands for old nodes that mean the same everywhere.
    pub(super) constants: SecondaryMap<Def, PackedOption<Def>>,
    /// What stands for the others, in the body being built.
    env: Env,
    /// Room for the search for a value: what is to be built, and operands.
    pub(super) stacks: (Vec<Def>, Vec<Def>),
    /// The same, where a filter is evaluated.
    pub(super) filter_env: Env,
    pub(super) globals: Vec<(Global, Global)>,
    pub(super) refs: Refs,
    pub(super) spared: Spared,
    pub(super) known: Answers,
    pub(super) queue: Vec<Cont>,
    /// What nobody needed any more when its turn came.
    unneeded: Vec<Cont>,
    queued: EntitySet<Def>,
    pub(super) counters: Counters,
    /// Whether the round has to begin once more: see `limits`.
    pub(super) is_in_vain: bool,
    /// Specialisations that somebody asked for.
    pub(super) asked: u64,
    /// Specialisations that nobody asked for, of functions that led to them.
    pub(super) unasked_circles: u64,
    /// Which specialisation led to which.
    pub(super) links: PrimaryMap<LinkId, Link>,
    /// For each instance, the specialisation it belongs to.
    pub(super) link_of: SecondaryMap<Cont, PackedOption<LinkId>>,
    /// The specialisation that is being evaluated.
    pub(super) link: PackedOption<LinkId>,
    /// What functions with limits of their own have used of them.
    pub(super) used: FxHashMap<Cont, Used>,
    /// For each instance, the call in the source for which it is built.
    pub(super) site_of: SecondaryMap<Cont, Option<SiteId>>,
    /// The call in the source for which something is being built.
    pub(super) site: Option<SiteId>,
    /// For the place a call returns to, what was called and where.
    results: SecondaryMap<Cont, Option<(Cont, nyala_span::Span)>>,
    /// How many specialisations that nobody asked for led to an instance.
    pub(super) depths: SecondaryMap<Cont, u32>,
    /// The depth of what is being evaluated.
    pub(super) depth: u32,
    pub(super) liftable: Answers,
    pub(super) filterable: Answers,
    pub(super) runs: Runs,
}

/// What one round has done.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    /// New instances made by specialising a call.
    pub specialised: u64,
    /// Calls evaluated on the spot.
    pub inlined: u64,
    /// Branches whose outcome was known.
    pub folded: u64,
    /// Answers to `pe_info`.
    pub answered: u64,
}

/// A call in the new program.
pub(super) struct Call {
    pub(super) callee: Def,
    pub(super) args: Defs,
    pub(super) span: nyala_span::Span,
    pub(super) mark: Option<Mark>,
}

impl Call {
    /// Callee and arguments.
    pub(super) fn parts(&self) -> impl Iterator<Item = Def> + '_ {
        std::iter::once(self.callee).chain(self.args.iter().copied())
    }
}

impl<'a> Engine<'a> {
    pub(super) fn new(old: &'a World, options: &'a Options, state: &'a mut State) -> Engine<'a> {
        Engine {
            old,
            new: World::with_types_of(old),
            plan: Plan::new(old),
            options,
            state,
            instances: SecondaryMap::new(),
            memo: Memo::new(),
            unfoldings: Unfoldings::default(),
            target: Cont::reserved_value(),
            constants: SecondaryMap::new(),
            env: Env::default(),
            stacks: Default::default(),
            filter_env: Env::default(),
            globals: vec![],
            refs: Refs::default(),
            spared: Spared::default(),
            known: SecondaryMap::new(),
            queue: vec![],
            unneeded: vec![],
            queued: EntitySet::new(),
            counters: Counters::default(),
            is_in_vain: false,
            asked: 0,
            unasked_circles: 0,
            links: PrimaryMap::new(),
            link_of: SecondaryMap::new(),
            link: None.into(),
            used: FxHashMap::default(),
            site_of: SecondaryMap::new(),
            site: None,
            results: SecondaryMap::new(),
            depths: SecondaryMap::new(),
            depth: 0,
            liftable: SecondaryMap::new(),
            filterable: SecondaryMap::new(),
            runs: Runs::default(),
        }
    }

    /// Evaluates all that the outside can reach.
    pub(super) fn run(&mut self) {
        let old = self.old;
        let is_exported = |linkage: &Linkage| matches!(linkage, Linkage::Exported(_));
        for (cont, data) in old.conts().filter(|(_, data)| is_exported(&data.linkage)) {
            let root = self.constant(data.def);
            self.refs.claim(&self.new, &self.instances, root);
            self.enqueue(root);
            debug_assert!(self.plan.captures(cont).is_empty(), "exported and nested");
        }
        for (_, global) in old.globals().filter(|(_, global)| is_exported(&global.linkage)) {
            self.constant(global.def);
        }
        loop {
            while let Some(cont) = self.queue.pop() {
                if self.is_in_vain {
                    return;
                }
                match self.refs.count(self.new.cont_def(cont)) {
                    0 => self.unneeded.push(cont),
                    _ => self.evaluate(cont),
                }
            }
            if let Some((old_global, new_global)) = self.globals.pop() {
                self.global_value(old_global, new_global);
            } else if !self.revive() {
                break;
            }
        }
        self.new.span = nyala_span::Span::NONE;
    }

    /// Evaluates what was not needed and is after all; whether there was anything.
    fn revive(&mut self) -> bool {
        if self.unneeded.is_empty() {
            return false;
        }
        let mut is_needed = EntitySet::new();
        for def in reachable(&self.new) {
            is_needed.insert(def);
        }
        let unneeded = std::mem::take(&mut self.unneeded).into_iter();
        let (needed, unneeded): (Vec<Cont>, Vec<Cont>) =
            unneeded.partition(|&cont| is_needed.contains(self.new.cont_def(cont)));
        self.unneeded = unneeded;
        needed.iter().for_each(|&cont| self.evaluate(cont));
        !needed.is_empty()
    }

    pub(super) fn global_value(&mut self, old_global: Global, new_global: Global) {
        if let Some(init) = self.old.global(old_global).init {
            let value = self.constant(init);
            self.refs.claim(&self.new, &self.instances, value);
            self.enqueue(value);
            self.new.set_global_init(new_global, value);
        }
    }

    /// Builds the body of `target`.
    fn evaluate(&mut self, target: Cont) {
        let Some(instance) = self.instances[target].clone() else { return };
        let args = merge(instance.fixed(), &self.new.cont(target).params);
        let mut env = std::mem::take(&mut self.env);
        self.bind(&instance, &args, &mut env);
        self.set_filter(target, &instance, &mut env);
        self.target = target;
        self.depth = self.depths[target];
        self.link = self.link_of[target];
        self.site = self.site_of[target];
        self.spared.begin_body();
        self.unfoldings.begin_body();
        let mut claimed = vec![];
        let call = self.follow(instance, args, &mut env, &mut claimed);
        self.env = env;
        self.set_body(target, call);
        self.release(&mut claimed);
    }

    /// Evaluates the body of `instance`, and of what it calls, up to a call that stays. What
    /// evaluation has claimed last is for the caller to release.
    fn follow(&mut self, instance: Instance, args: Defs, env: &mut Env, claimed: &mut Vec<Def>) -> Call {
        let mut held = vec![];
        self.hold(&instance, &args, &mut held);
        let mut call = self.body_call(instance.old, env);
        let mut run = self.runs.at(self.target);
        loop {
            self.answer_info(&mut call);
            self.check_assertion(&mut call);
            (call.callee, call.mark) = self.new.without_mark(call.callee);
            self.note_return(&call);
            // Whoever is called must not count as needed by this evaluation.
            self.claim(call.parts(), claimed);
            self.release(&mut held);
            run = run.or_else(|| self.begin_run(&call));
            let unfolded = run.and_then(|run| self.run_on(run, &call));
            run = run.filter(|_| unfolded.is_some()).or_else(|| self.run_at(call.callee));
            let (instance, args) = match unfolded.unwrap_or_else(|| self.next(call)) {
                Next::Inline(callee, instance, args) => {
                    self.depth = self.depths[callee];
                    if self.is_continuation(self.new.cont_def(callee)) {
                        // Back to where it was made; a function is evaluated where it is called.
                        self.link = self.link_of[callee];
                        self.site = self.site_of[callee];
                    }
                    (instance, args)
                }
                Next::Unfold(instance, args) => {
                    let args = merge(instance.fixed(), &args);
                    (instance, args)
                }
                Next::Again(again) => {
                    run = None;
                    std::mem::swap(&mut held, claimed);
                    call = again;
                    continue;
                }
                Next::Emit(emitted) => return emitted,
            };
            self.bind(&instance, &args, env);
            self.hold(&instance, &args, &mut held);
            self.release(claimed);
            call = self.body_call(instance.old, env);
        }
    }

    /// What the body of `old` calls, counting what is built for it.
    fn body_call(&mut self, old: Cont, env: &mut Env) -> Call {
        let nodes = self.new.node_count();
        let call = self.call(old, env);
        self.count_growth(self.new.node_count() - nodes);
        call
    }

    /// Sets what `target` does, and lets go of what it needed before.
    pub(super) fn set_body(&mut self, target: Cont, call: Call) {
        let before = self.refs.needs(&self.new, &self.instances, target);
        self.finish_body(target, call);
        self.refs.change_needs(&self.new, &self.instances, target, before);
    }

    /// Sets what `target` does besides what it did: all that was needed still counts as needed.
    pub(super) fn add_body(&mut self, target: Cont, call: Call) {
        self.finish_body(target, call);
        self.refs.change_needs(&self.new, &self.instances, target, vec![]);
    }

    fn finish_body(&mut self, target: Cont, call: Call) {
        self.keep_result(&call);
        self.enqueue(call.callee);
        call.args.iter().for_each(|&arg| self.enqueue(arg));
        let callee = call.mark.map_or(call.callee, |mark| self.new.mark(mark, call.callee));
        let body = Body { callee, args: call.args, span: call.span };
        self.new.replace_body(target, Some(body));
    }

    /// Counts nodes for whom they were built.
    fn count_growth(&mut self, nodes: usize) {
        if let Some(site) = self.site {
            self.state.journal.add_nodes(site, self.target, nodes as u64);
        }
        self.count_nodes(nodes as u64);
    }

    /// Remembers where the result of a call that stays goes.
    fn keep_result(&mut self, call: &Call) {
        let ret = call.args.last().and_then(|&last| self.new.as_cont(last));
        if let (Some(callee), Some(ret)) = (self.new.as_cont(call.callee), ret) {
            self.results[ret] = Some((callee, call.span));
        }
    }

    /// What was called to return to `cont`, and where.
    pub(super) fn returned_by(&self, cont: Cont) -> Option<(Cont, nyala_span::Span)> {
        self.results[cont]
    }

    /// The instance that a continuation of the new program is.
    pub(super) fn instance(&self, cont: Cont) -> Option<&Instance> {
        self.instances[cont].as_ref()
    }

    /// Puts the values of captures and parameters into `env`, and nothing else.
    pub(super) fn bind(&self, instance: &Instance, args: &[Def], env: &mut Env) {
        env.clear();
        let captures = self.plan.captures(instance.old).iter().zip(instance.captured());
        captures.for_each(|(&old, new)| env.insert(old, new));
        let params = self.old.cont(instance.old).params.iter().zip(args);
        params.for_each(|(&old, &new)| env.insert(old, new));
    }

    /// Claims what an evaluation works with.
    fn hold(&mut self, instance: &Instance, args: &[Def], held: &mut Vec<Def>) {
        self.claim(instance.captured().chain(args.iter().copied()), held);
    }

    /// Claims those of `defs` that contain continuations, and writes them down.
    fn claim(&mut self, defs: impl Iterator<Item = Def>, claimed: &mut Vec<Def>) {
        for def in defs {
            if self.new.contains_conts(def) {
                self.refs.claim(&self.new, &self.instances, def);
                claimed.push(def);
            }
        }
    }

    fn release(&mut self, claimed: &mut Vec<Def>) {
        for def in claimed.drain(..) {
            self.refs.release(&self.new, &self.instances, def);
        }
    }

    /// The filters of the parameters that `target` keeps. One that came to depend on what is
    /// executed depends on what nobody knows, and says no; so does one that would keep a
    /// function alive only to ask about it.
    fn set_filter(&mut self, target: Cont, instance: &Instance, env: &mut Env) {
        let old = self.old;
        let filter = &old.cont(instance.old).filter;
        if filter.is_empty() {
            return;
        }
        let kept = filter.iter().zip(instance.fixed()).filter(|(_, fixed)| fixed.is_none());
        let mut new_filter = vec![];
        for (&filter, _) in kept {
            let filter = self.def(filter, env, Mode::Residual);
            let can_stay = self.can_be_filter(filter);
            new_filter.push(if can_stay { filter } else { self.new.lit_bool(false) });
        }
        self.new.set_filter(target, new_filter);
    }

    /// Puts every instance that `def` contains into the queue.
    fn enqueue(&mut self, def: Def) {
        if !self.new.contains_conts(def) {
            return;
        }
        let mut stack = vec![def];
        while let Some(def) = stack.pop() {
            if !self.new.contains_conts(def) || !self.queued.insert(def) {
                continue;
            }
            match self.new.node(def) {
                Node::Cont(cont) if self.instances[cont].is_some() => self.queue.push(cont),
                _ => self.new.for_each_operand(def, |operand| stack.push(operand)),
            }
        }
    }
}
