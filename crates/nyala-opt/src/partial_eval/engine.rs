//! One round of evaluation: builds a new program from an old one.
//!
//! A continuation of the new program is an *instance* of an old one: the old
//! continuation with values for its captures and for the parameters it is
//! specialized on. An instance costs nothing until the new program
//! references it; then its body is built, once. Building a body continues
//! through every call that can be evaluated in place, so the cost is
//! proportional to the size of the result.
//!
//! # Invariants
//!
//! * Instances are unique: the same old continuation with the same values is the same
//!   instance. So a recursion that passes on the values it is specialized on calls its own instance and
//!   is a loop.
//! * Each body of the new program is set once, except that a run may replace it later. Every instance that
//!   a body mentions is evaluated or on the work list.
//! * The old program does not change.
//!
//! # Where to look next
//!
//! `calls` decides about calls, by the `rules`. `values` builds values. `limits` bounds the round. Each
//! part of the [`Engine`] is a struct that the module of the same name owns.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::ReservedValue as _;
use nyala_ir::{Body, Cont, Def, Defs, Global, Linkage, Mark, World};
use nyala_span::Span;

use super::call_stack::ReturnCalls;
use super::calls::Next;
use super::chains::Chains;
use super::env::Env;
use super::instance::{Context, Instance, Instances, merge};
use super::limits::Spent;
use super::plan::Plan;
use super::properties::Properties;
use super::refs::Refs;
use super::run_halt::Runs;
use super::unfold::Unfoldings;
use super::untaken::UntakenUses;
use super::values::{Mode, Values};
use super::worklist::WorkList;
use super::{Options, State};

/// One round of evaluation.
pub(super) struct Engine<'a> {
    /// The program before the round.
    pub(super) old: &'a World,
    /// Facts about the old program.
    pub(super) plan: Plan,
    /// The program that the round builds.
    pub(super) new: World,
    pub(super) options: &'a Options,
    /// The results of earlier rounds.
    pub(super) state: &'a mut State,
    /// The continuations of the new program, and their origins.
    pub(super) instances: Instances,
    /// The instances to evaluate.
    pub(super) work: WorkList,
    /// The body that is being built.
    pub(super) current: Current,
    /// The values of old nodes.
    pub(super) values: Values,
    /// Cached properties of new values.
    pub(super) properties: Properties,
    /// Reference counts of new continuations.
    pub(super) refs: Refs,
    /// References that will not come.
    pub(super) untaken: UntakenUses,
    /// Specializations that were evaluated in place.
    pub(super) unfoldings: Unfoldings,
    /// Which specialization led to which.
    pub(super) chains: Chains,
    /// The calls of the old program by their return continuations.
    pub(super) return_calls: ReturnCalls,
    /// The part of the limits that the round has used.
    pub(super) spent: Spent,
    /// Where runs of the evaluator resume.
    pub(super) runs: Runs,
    /// For each return continuation, the callee and the place of the call that gets it.
    callers: SecondaryMap<Cont, Option<(Cont, Span)>>,
}

/// The body that is being built.
#[derive(Clone, Copy)]
pub(super) struct Current {
    /// The continuation that gets the body.
    pub(super) target: Cont,
    /// The context of the instance that is being evaluated.
    pub(super) context: Context,
}

/// A call in the new program.
pub(super) struct Call {
    pub(super) callee: Def,
    pub(super) args: Defs,
    pub(super) span: Span,
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
            plan: Plan::new(old),
            new: World::with_types_of(old),
            options,
            state,
            instances: Instances::default(),
            work: WorkList::default(),
            current: Current { target: Cont::reserved_value(), context: Context::default() },
            values: Values::default(),
            properties: Properties::default(),
            refs: Refs::default(),
            untaken: UntakenUses::default(),
            unfoldings: Unfoldings::default(),
            chains: Chains::default(),
            return_calls: ReturnCalls::default(),
            spent: Spent::default(),
            runs: Runs::default(),
            callers: SecondaryMap::new(),
        }
    }

    /// Evaluates everything that is reachable from exported functions and globals, unless the round
    /// has to restart.
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
            while let Some(cont) = self.work.pop() {
                if self.spent.must_restart() {
                    return;
                }
                match self.refs.count(self.new.cont_def(cont)) {
                    0 => self.work.set_aside(cont),
                    _ => self.evaluate(cont),
                }
            }
            if let Some((old_global, new_global)) = self.values.next_global() {
                self.global_value(old_global, new_global);
                continue;
            }
            let revived = self.work.take_revived(&self.new);
            if revived.is_empty() {
                break;
            }
            revived.into_iter().for_each(|cont| self.evaluate(cont));
        }
        self.new.span = Span::NONE;
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
        let Some(instance) = self.instances.get(target).cloned() else { return };
        let args = merge(instance.fixed(), &self.new.cont(target).params);
        let mut env = self.values.take_body_env();
        self.bind(&instance, &args, &mut env);
        self.set_filter(target, &instance, &mut env);
        self.current = Current { target, context: self.instances.context(target) };
        self.untaken.begin_body();
        self.unfoldings.begin_body();
        let mut claimed = vec![];
        let call = self.follow(instance, args, &mut env, &mut claimed);
        self.values.put_body_env(env);
        self.set_body(target, call);
        self.release(&mut claimed);
    }

    /// Evaluates the body of `instance`, and of what it calls, up to a call that is kept. The
    /// caller releases the values that were claimed last.
    fn follow(&mut self, instance: Instance, args: Defs, env: &mut Env, claimed: &mut Vec<Def>) -> Call {
        let mut held = vec![];
        self.hold(&instance, &args, &mut held);
        let mut call = self.body_call(instance.old, env);
        let mut run = self.runs.at(self.current.target);
        loop {
            self.answer_info(&mut call);
            self.check_assertion(&mut call);
            (call.callee, call.mark) = self.new.without_mark(call.callee);
            self.note_return(&call);
            // The references that this evaluation holds must not count for the callee.
            self.claim(call.parts(), claimed);
            self.release(&mut held);
            run = run.or_else(|| self.begin_run(&call));
            let unfolded = run.and_then(|run| self.run_on(run, &call));
            run = run.filter(|_| unfolded.is_some()).or_else(|| self.run_at(call.callee));
            let (instance, args) = match unfolded.unwrap_or_else(|| self.next(call)) {
                Next::Inline(callee, instance, args) => {
                    self.enter(callee);
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
            self.name_args(instance.old, &args);
            self.hold(&instance, &args, &mut held);
            self.release(claimed);
            call = self.body_call(instance.old, env);
        }
    }

    /// Continues in the context of `callee`. A continuation has the context it was made in; a function
    /// is evaluated where it is called.
    fn enter(&mut self, callee: Cont) {
        let context = self.instances.context(callee);
        if self.is_continuation(self.new.cont_def(callee)) {
            self.current.context = context;
        } else {
            self.current.context.implicit_depth = context.implicit_depth;
        }
    }

    /// The callee of the body of `old`. Counts the nodes that are built for it.
    fn body_call(&mut self, old: Cont, env: &mut Env) -> Call {
        let nodes = self.new.node_count();
        let call = self.call(old, env);
        self.count_growth(self.new.node_count() - nodes);
        call
    }

    /// Sets the body of `target`, and releases the references of its previous body.
    pub(super) fn set_body(&mut self, target: Cont, call: Call) {
        let before = self.refs.needs(&self.new, &self.instances, target);
        self.finish_body(target, call);
        self.refs.change_needs(&self.new, &self.instances, target, before);
    }

    /// Sets the body of `target`, and keeps the references of its previous body.
    pub(super) fn add_body(&mut self, target: Cont, call: Call) {
        self.finish_body(target, call);
        self.refs.change_needs(&self.new, &self.instances, target, vec![]);
    }

    fn finish_body(&mut self, target: Cont, call: Call) {
        self.note_caller(&call);
        self.enqueue(call.callee);
        call.args.iter().for_each(|&arg| self.enqueue(arg));
        let callee = call.mark.map_or(call.callee, |mark| self.new.mark(mark, call.callee));
        let span = self.place_of(&call);
        self.new.replace_body(target, Some(Body { callee, args: call.args, span }));
    }

    /// Counts nodes for the current site and the current specialization.
    fn count_growth(&mut self, nodes: usize) {
        let Current { target, context } = self.current;
        if let Some(site) = context.site {
            self.state.journal.add_nodes(site, target, nodes as u64);
        }
        if let Some(link) = context.link.expand() {
            self.spent.count_nodes(&self.chains, link, nodes as u64);
        }
    }

    /// Remembers which call the return continuation of a kept call belongs to.
    fn note_caller(&mut self, call: &Call) {
        let ret = call.args.last().and_then(|&last| self.new.as_cont(last));
        if let (Some(callee), Some(ret)) = (self.new.as_cont(call.callee), ret) {
            self.callers[ret] = Some((callee, call.span));
        }
    }

    /// The callee and the place of the call whose return continuation is `cont`.
    pub(super) fn returned_by(&self, cont: Cont) -> Option<(Cont, Span)> {
        self.callers[cont]
    }

    /// Binds captures and parameters in `env`, and nothing else.
    pub(super) fn bind(&self, instance: &Instance, args: &[Def], env: &mut Env) {
        env.clear();
        let captures = self.plan.captures(instance.old).iter().zip(instance.captured());
        captures.for_each(|(&old, new)| env.insert(old, new));
        let params = self.old.cont(instance.old).params.iter().zip(args);
        params.for_each(|(&old, &new)| env.insert(old, new));
    }

    /// Claims the captures and arguments of an evaluation.
    fn hold(&mut self, instance: &Instance, args: &[Def], held: &mut Vec<Def>) {
        self.claim(instance.captured().chain(args.iter().copied()), held);
    }

    /// Claims those of `defs` that contain continuations, and adds them to `claimed`.
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

    /// Sets the filters of the parameters that `target` keeps. A filter that depends on an effect is
    /// unknown, so it is false. A filter that mentions a function is false too: it would keep the function alive.
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

    fn enqueue(&mut self, def: Def) {
        self.work.add(&self.new, &self.instances, def);
    }
}
