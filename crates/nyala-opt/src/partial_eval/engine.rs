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

use std::rc::Rc;

use cranelift_entity::packed_option::{PackedOption, ReservedValue as _};
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use nyala_ir::analysis::references::reachable;
use nyala_ir::{Body, Cont, Def, Global, Intrinsic, Linkage, Mark, Node, Ty, World};
use rustc_hash::FxHashMap;

use super::env::Env;
use super::explain::Outcome;
use super::journal::SiteId;
use super::limits::{Link, LinkId, Used};
use super::plan::Plan;
use super::questions::Answers;
use super::refs::Refs;
use super::run_halt::Runs;
use super::spared::Spared;
use super::unfold::{Made, Unfoldings};
use super::{Options, State};

/// One round of evaluation.
pub(super) struct Engine<'a> {
    pub(super) old: &'a World,
    pub(super) new: World,
    pub(super) plan: Plan,
    pub(super) options: &'a Options,
    /// What is known from earlier rounds.
    pub(super) state: &'a mut State,
    instances: Instances,
    pub(super) memo: FxHashMap<Instance, Made>,
    pub(super) unfoldings: Unfoldings,
    /// The continuation whose body is being built.
    pub(super) target: Cont,
    /// What stands for old nodes that mean the same everywhere.
    constants: SecondaryMap<Def, PackedOption<Def>>,
    /// What stands for the others, in the body being built.
    env: Env,
    /// Room for the search for a value: what is to be built, and operands.
    stacks: (Vec<Def>, Vec<Def>),
    /// The same, where a filter is evaluated.
    pub(super) filter_env: Env,
    globals: Vec<(Global, Global)>,
    pub(super) refs: Refs,
    pub(super) spared: Spared,
    pub(super) known: Answers,
    pub(super) queue: Vec<Cont>,
    /// What nobody needed any more when its turn came.
    unneeded: Vec<Cont>,
    queued: EntitySet<Def>,
    pub(super) counters: Counters,
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

/// How many specialisations may follow from each other without anybody having
/// asked for one. A recursion that hands on ever new functions ends here, and
/// keeps them as closures.
const MAX_AUTOMATIC_DEPTH: u32 = 64;

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

/// An old continuation with values. Copies share these.
#[derive(PartialEq, Eq, Hash, Clone)]
pub(super) struct Instance {
    pub(super) old: Cont,
    n_captured: u32,
    /// New values for [`Plan::captures`], in that order; then for each old parameter the value it
    /// is specialised on.
    values: Rc<[PackedOption<Def>]>,
}

impl Instance {
    fn new(
        old: Cont,
        captured: impl Iterator<Item = Def>,
        fixed: impl Iterator<Item = PackedOption<Def>>,
    ) -> Instance {
        let mut values: Vec<PackedOption<Def>> = captured.map(PackedOption::from).collect();
        let n_captured = values.len() as u32;
        values.extend(fixed);
        Instance { old, n_captured, values: values.into() }
    }

    /// The same, specialised on other parameters.
    pub(super) fn with_fixed(&self, fixed: impl Iterator<Item = PackedOption<Def>>) -> Instance {
        Instance::new(self.old, self.captured(), fixed)
    }

    /// The values of captures.
    pub(super) fn captured(&self) -> impl Iterator<Item = Def> + '_ {
        self.values[..self.n_captured as usize].iter().filter_map(|value| value.expand())
    }

    /// For each old parameter the value it is specialised on.
    pub(super) fn fixed(&self) -> &[PackedOption<Def>] {
        &self.values[self.n_captured as usize..]
    }

    /// All values that make it.
    pub(super) fn parts(&self) -> impl Iterator<Item = Def> + '_ {
        self.values.iter().filter_map(|value| value.expand())
    }
}

/// What the continuations of the new program are, as far as they are instances.
pub(super) type Instances = SecondaryMap<Cont, Option<Instance>>;

/// A call in the new program.
pub(super) struct Call {
    pub(super) callee: Def,
    pub(super) args: Vec<Def>,
    pub(super) span: nyala_span::Span,
    pub(super) mark: Option<Mark>,
}

impl Call {
    /// Callee and arguments.
    pub(super) fn parts(&self) -> impl Iterator<Item = Def> + '_ {
        std::iter::once(self.callee).chain(self.args.iter().copied())
    }
}

/// Why a call is specialised on a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// `@@` at the call.
    Forced,
    /// Its filter holds.
    Filter,
    /// It is a function that takes a function or returns.
    HigherOrder,
    /// It is a continuation, and the callee is no plain function.
    Continuation,
    /// The evaluator runs into the callee.
    Run,
}

/// How far a filter has to be decided.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// What is unknown may become known later.
    Residual,
    /// What is unknown now is unknown.
    Decide,
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
            memo: FxHashMap::default(),
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

    fn global_value(&mut self, old_global: Global, new_global: Global) {
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
    fn follow(&mut self, instance: Instance, args: Vec<Def>, env: &mut Env, claimed: &mut Vec<Def>) -> Call {
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
            self.state.journal.add_nodes(site, nodes as u64);
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
            if self.refs.contains_conts(&self.new, def) {
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

    // ---- Calls ----------------------------------------------------------------

    /// What the body of `old` calls under `env`. Where a branch goes is decided
    /// here if it can be, so that the other side is never looked at.
    fn call(&mut self, old: Cont, env: &mut Env) -> Call {
        let body = self.old.cont(old).body.as_ref().expect("only what has a body is evaluated");
        let target = self.known_target(body, env);
        if let Some(target) = target {
            self.counters.folded += 1;
            self.spare_other_targets(body, target, env);
        }
        self.call_of(body, target, env)
    }

    /// The call of a body, or the jump to its known target.
    pub(super) fn call_of(&mut self, body: &Body, target: Option<Def>, env: &mut Env) -> Call {
        let n_args = if target.is_some() { 1 } else { body.args.len() };
        let callee = self.def(target.unwrap_or(body.callee), env, Mode::Residual);
        let args = body.args[..n_args].iter().map(|&arg| self.def(arg, env, Mode::Residual)).collect();
        Call { callee, args, span: body.span, mark: None }
    }

    pub(super) fn known_target(&mut self, body: &Body, env: &mut Env) -> Option<Def> {
        match (self.old.as_intrinsic(body.callee)?, body.args.as_slice()) {
            (Intrinsic::Branch, &[_, cond, then, other]) => {
                let cond = self.def(cond, env, Mode::Residual);
                Some(if self.new.as_lit(cond)? != 0 { then } else { other })
            }
            (Intrinsic::Switch, &[_, value, default, ref cases @ ..]) => {
                let value = self.def(value, env, Mode::Residual);
                let bits = self.new.as_lit(value)?;
                let case = cases.chunks_exact(2).find(|case| self.old.as_lit(case[0]) == Some(bits));
                Some(case.map_or(default, |case| case[1]))
            }
            _ => None,
        }
    }

    /// What to do with a call. A mark that it keeps is for later rounds.
    fn next(&mut self, mut call: Call) -> Next {
        let known = self.new.as_cont(call.callee);
        let known = known.and_then(|callee| Some((callee, self.instances[callee].clone()?)));
        let Some((callee, instance)) = known else {
            // Something may be possible in a later round.
            return Next::Emit(call);
        };
        let halt = call.mark.filter(|&mark| mark == Mark::Halt);
        let is_sole_use = halt.is_none() && self.is_sole_use(callee, &instance);
        // Whether a demand is met shows in the end: until then, a call that does not meet it waits.
        let is_demanding = self.is_demanding(instance.old);
        if is_sole_use && !is_demanding {
            return self.inline(callee, instance, &call);
        }
        if self.state.is_over {
            return Next::Emit(Call { mark: halt, ..call });
        }
        let rules = self.rules(&instance, &call);
        call.mark = halt;
        let meets_demand = is_demanding && self.meets_demand(&instance, &call, &rules);
        if is_sole_use && meets_demand {
            return self.inline(callee, instance, &call);
        }
        if rules.iter().all(|rule| rule.is_none()) {
            self.record(&instance, &call, &rules, Outcome::Kept);
            return Next::Emit(call);
        }
        self.specialise(&instance, call, &rules)
    }

    /// Evaluates a callee on the spot.
    fn inline(&mut self, callee: Cont, instance: Instance, call: &Call) -> Next {
        self.counters.inlined += 1;
        self.spared.forget(callee, instance.old);
        self.site = self.record(&instance, call, &[], Outcome::Inlined).or(self.site);
        let args = merge(instance.fixed(), &call.args);
        Next::Inline(callee, instance, args)
    }

    /// Whether `callee` has no other use than the call at hand, now or later.
    fn is_sole_use(&self, callee: Cont, instance: &Instance) -> bool {
        let data = self.old.cont(instance.old);
        data.body.is_some()
            && data.linkage == Linkage::Internal
            && self.plan.uses(instance.old) <= 1 + self.spared.uses(callee, instance.old)
            && self.refs.count(self.new.cont_def(callee)) == 1
    }

    /// For each parameter that is still open, why it is specialised, if it is.
    fn rules(&mut self, instance: &Instance, call: &Call) -> Vec<Option<Rule>> {
        let old = self.old;
        let data = old.cont(instance.old);
        if data.body.is_none() {
            return vec![None; call.args.len()];
        }
        let mut env = std::mem::take(&mut self.filter_env);
        let mut is_bound = false;
        let mem = self.new.types.mem();
        let may_go_deeper = self.may_go_deeper(instance.old);
        let is_stopped = self.is_stopped(instance.old) || call.mark == Some(Mark::Halt);
        let open = (0..instance.fixed().len()).filter(|&index| instance.fixed()[index].is_none());
        let mut rule = |engine: &mut Self, index: usize, arg: Def| {
            let ty = engine.new.ty(arg);
            if ty == mem {
                return None;
            }
            if call.mark == Some(Mark::Force) && !is_stopped {
                return Some(Rule::Forced);
            }
            if let Some(&filter) = data.filter.get(index).filter(|_| !is_stopped) {
                if !std::mem::replace(&mut is_bound, true) {
                    engine.bind(instance, &merge(instance.fixed(), &call.args), &mut env);
                }
                if engine.holds(filter, &mut env) {
                    return Some(Rule::Filter);
                }
            }
            (may_go_deeper && engine.new.types.order(ty) > 1).then_some(Rule::HigherOrder)
        };
        let mut rules: Vec<Option<Rule>> = Vec::with_capacity(call.args.len());
        for (index, &arg) in open.zip(&call.args) {
            rules.push(rule(self, index, arg));
        }
        self.filter_env = env;
        if may_go_deeper && !self.is_plain_function(instance, call, &rules) {
            // A recursion that nests would be specialised on ever new places to return to.
            let keeps_return = self.plan.nests_calls(instance.old);
            let last = call.args.len().wrapping_sub(1);
            for (i, (rule, &arg)) in rules.iter_mut().zip(&call.args).enumerate() {
                let is_continuation = self.new.types.order(self.new.ty(arg)) == 1;
                let may_be = is_continuation && !(keeps_return && i == last);
                *rule = rule.or(may_be.then_some(Rule::Continuation));
            }
        }
        rules
    }

    /// Whether a call may be specialised on functions without anybody having asked for it. Where
    /// that has become too deep once, it stays so: a later round would only go on.
    fn may_go_deeper(&mut self, old: Cont) -> bool {
        let data = self.old.cont(old);
        let key = (data.span, data.name);
        let is_function = self.old.origin(old).is_some();
        if self.depth >= MAX_AUTOMATIC_DEPTH && is_function {
            self.state.deep_enough.insert(key);
        }
        self.depth < MAX_AUTOMATIC_DEPTH && !self.state.deep_enough.contains(&key)
    }

    /// Whether a filter is true for the arguments in `env`, where what is unknown is decided.
    pub(super) fn holds(&mut self, filter: Def, env: &mut Env) -> bool {
        let value = match self.old.as_lit(filter) {
            Some(bits) => return bits != 0,
            None => self.def(filter, env, Mode::Decide),
        };
        self.new.as_lit(value) == Some(1)
    }

    /// Whether a call leaves a function that needs no closure: one continuation to
    /// return to, no other function among the arguments that stay, and no free variables.
    ///
    /// A recursion that nests may have free variables that can be handed to it as data: it would
    /// be specialised on ever new places to return to otherwise.
    fn is_plain_function(&mut self, instance: &Instance, call: &Call, rules: &[Option<Rule>]) -> bool {
        let nests = self.plan.nests_calls(instance.old);
        let mut n_functions = 0;
        for (&arg, rule) in call.args.iter().zip(rules) {
            let is_fine = match rule {
                Some(_) => self.is_known(arg) || (nests && self.is_liftable(arg)),
                None => {
                    let order = self.new.types.order(self.new.ty(arg));
                    n_functions += u32::from(order > 0);
                    order <= 1 && n_functions <= 1
                }
            };
            if !is_fine {
                return false;
            }
        }
        instance.parts().all(|def| self.is_known(def) || (nests && self.is_liftable(def)))
    }

    /// Fixes more parameters of `instance`, unless that is too much.
    fn specialise(&mut self, instance: &Instance, mut call: Call, rules: &[Option<Rule>]) -> Next {
        let (key, rest) = split(instance, &call.args, rules);
        if let Some(&made) = self.memo.get(&key) {
            let link = self.link_of_made(made);
            let is_loop = self.link.is_some() && self.link == link;
            let outcome = if is_loop { Outcome::Looped } else { Outcome::Reused };
            self.record(instance, &call, rules, outcome);
            call.args = rest;
            return match made {
                Made::Cont(clone) => Next::Emit(Call { callee: self.new.cont_def(clone), ..call }),
                Made::Unfolded(id) => self.call_again(id, call),
            };
        }
        if let Err(begin) = self.may_specialise(instance, key.fixed(), rules, call.span) {
            self.record(instance, &call, &vec![None; rules.len()], Outcome::Kept);
            return match begin {
                Some(begin) => self.take_back(begin, call),
                None => Next::Emit(call),
            };
        }
        self.counters.specialised += 1;
        let site = self.record(instance, &call, rules, Outcome::Specialised);
        let is_asked = rules.iter().any(|rule| matches!(rule, Some(Rule::Forced | Rule::Filter)));
        if is_asked && self.gets_all_it_asks_for(&key) && self.unfoldings.may_unfold(&key) {
            return self.unfold(key, call, rest, site);
        }
        call.args = rest;
        let clone = self.make_cont(key.clone());
        if let Some(run) = self.run_at(call.callee) {
            self.resume(clone, run);
        }
        self.depths[clone] = self.depth + u32::from(!is_asked);
        self.link_of[clone] = self.new_link(key, call.span).into();
        self.site_of[clone] = site.or(self.site);
        Next::Emit(Call { callee: self.new.cont_def(clone), ..call })
    }

    /// Whether all parameters are fixed that have a filter. Otherwise an instance is likely to be a loop.
    fn gets_all_it_asks_for(&self, instance: &Instance) -> bool {
        let data = self.old.cont(instance.old);
        let mem = self.old.types.mem();
        let asks = |param: Def, filter: Def| self.old.ty(param) != mem && self.old.as_lit(filter) != Some(0);
        let filters = data.params.iter().zip(&data.filter);
        filters
            .zip(instance.fixed())
            .all(|((&param, &filter), fixed)| fixed.is_some() || !asks(param, filter))
    }

    // ---- Nodes ------------------------------------------------------------------

    /// The value of an old node that means the same everywhere.
    fn constant(&mut self, old: Def) -> Def {
        let mut env = std::mem::take(&mut self.filter_env);
        env.clear();
        let value = self.def(old, &mut env, Mode::Residual);
        self.filter_env = env;
        value
    }

    /// The value of `old` under `env`, which gets all values found on the way.
    pub(super) fn def(&mut self, old: Def, env: &mut Env, mode: Mode) -> Def {
        if let Some(value) = self.value(old, env) {
            return value;
        }
        let (mut stack, mut operands) = std::mem::take(&mut self.stacks);
        stack.push(old);
        while let Some(&next) = stack.last() {
            if self.value(next, env).is_some() {
                stack.pop();
                continue;
            }
            operands.clear();
            if self.operands(next, env, &mut operands, &mut stack) {
                let new = self.finish(next, &operands, mode);
                if self.plan.is_constant(next) && mode == Mode::Residual {
                    self.constants[next] = new.into();
                } else {
                    env.insert(next, new);
                }
                stack.pop();
            }
        }
        self.stacks = (stack, operands);
        self.value(old, env).expect("found above")
    }

    pub(super) fn value(&self, old: Def, env: &Env) -> Option<Def> {
        env.get(old).or_else(|| self.constants[old].expand())
    }

    /// The values that `old` is built from; those that are not known yet go onto the stack. Whether
    /// all are known.
    fn operands(&self, old: Def, env: &Env, operands: &mut Vec<Def>, stack: &mut Vec<Def>) -> bool {
        let before = stack.len();
        let each = |def: Def| match self.value(def, env) {
            Some(value) => operands.push(value),
            None => stack.push(def),
        };
        match self.old.node(old) {
            Node::Cont(cont) => self.plan.captures(cont).iter().copied().for_each(each),
            _ => self.old.for_each_operand(old, each),
        }
        stack.len() == before
    }

    /// The value of `old`, whose operands have these values.
    fn finish(&mut self, old: Def, operands: &[Def], mode: Mode) -> Def {
        match self.old.node(old) {
            Node::Cont(cont) => self.cont(cont, operands),
            Node::Global(global) => self.new_global(global),
            Node::Param { cont, index } => panic!(
                "parameter {index} of `{}` has no value here: the plan is wrong",
                self.old.cont(cont).name
            ),
            Node::Known(_) => {
                let value = operands[0];
                match (self.is_known(value), mode) {
                    (true, _) => self.new.lit_bool(true),
                    (false, Mode::Decide) => self.new.lit_bool(false),
                    (false, Mode::Residual) => self.new.known(value),
                }
            }
            node => {
                self.new.span = self.old.span_of(old);
                let new = self.new.rebuild_as(node, self.old.ty(old), operands);
                self.copy_name(old, new);
                new
            }
        }
    }

    fn copy_name(&mut self, old: Def, new: Def) {
        if let Some(name) = self.old.name(old)
            && self.new.name(new).is_none()
        {
            self.new.set_name(new, name);
        }
    }

    /// The instance of `cont` with these values for its captures.
    fn cont(&mut self, cont: Cont, captured: &[Def]) -> Def {
        let old = self.old;
        let data = old.cont(cont);
        if data.body.is_none() {
            return self.declaration(cont);
        }
        let fixed = data.params.iter().map(|_| None.into());
        let instance = self.instantiate(Instance::new(cont, captured.iter().copied(), fixed));
        self.new.cont_def(instance)
    }

    /// The continuation for an instance on no parameter.
    fn instantiate(&mut self, instance: Instance) -> Cont {
        match self.memo.get(&instance) {
            Some(&Made::Cont(cont)) => cont,
            Some(Made::Unfolded(_)) => panic!("what fixes no parameter is not unfolded"),
            None => {
                let cont = self.make_cont(instance);
                self.depths[cont] = self.depth;
                self.link_of[cont] = self.link;
                self.site_of[cont] = self.site;
                cont
            }
        }
    }

    /// A new continuation for an instance; it gets a body when it is needed.
    pub(super) fn make_cont(&mut self, instance: Instance) -> Cont {
        let old = self.old;
        let data = old.cont(instance.old);
        let is_whole = instance.fixed().iter().all(|fixed| fixed.is_none());
        let ty = if is_whole {
            old.ty(data.def)
        } else {
            let open = data.params.iter().zip(instance.fixed()).filter(|(_, fixed)| fixed.is_none());
            let tys: Vec<Ty> = open.map(|(&param, _)| old.ty(param)).collect();
            self.new.types.cn(&tys)
        };
        self.new.span = data.span;
        let cont = self.new.new_cont_of(data.name, ty);
        let open = data.params.iter().zip(instance.fixed()).filter(|(_, fixed)| fixed.is_none());
        for (index, (&param, _)) in open.enumerate() {
            self.copy_name(param, self.new.param(cont, index));
        }
        if is_whole {
            self.new.set_linkage(cont, data.linkage.clone());
        }
        self.instances[cont] = Some(instance.clone());
        self.memo.insert(instance, Made::Cont(cont));
        cont
    }

    /// What is declared only stays as it is.
    fn declaration(&mut self, cont: Cont) -> Def {
        let old = self.old;
        let data = old.cont(cont);
        let tys: Vec<Ty> = data.params.iter().map(|&param| old.ty(param)).collect();
        match data.linkage {
            Linkage::Intrinsic(Intrinsic::Branch) => return self.new.branch(),
            Linkage::Intrinsic(Intrinsic::Unreachable) => return self.new.unreachable(),
            Linkage::Intrinsic(Intrinsic::Switch) => return self.new.switch(tys[1], (tys.len() - 3) / 2),
            _ => {}
        }
        self.new.span = data.span;
        let new = self.new.new_cont(data.name, &tys);
        self.new.set_linkage(new, data.linkage.clone());
        self.new.cont_def(new)
    }

    fn new_global(&mut self, global: Global) -> Def {
        let data = self.old.global(global);
        self.new.span = data.span;
        let def = self.new.new_global(data.name, data.ty, data.is_mut, None);
        let Node::Global(new) = self.new.node(def) else { panic!("a new global is a global") };
        self.new.set_global_linkage(new, data.linkage.clone());
        if !data.is_mut && data.init.is_some() {
            // Its value steers evaluation, so it has to be there at once.
            self.global_value(global, new);
        } else {
            self.globals.push((global, new));
        }
        def
    }

    /// Puts every instance that `def` contains into the queue.
    fn enqueue(&mut self, def: Def) {
        if !self.refs.contains_conts(&self.new, def) {
            return;
        }
        let mut stack = vec![def];
        while let Some(def) = stack.pop() {
            if !self.refs.contains_conts(&self.new, def) || !self.queued.insert(def) {
                continue;
            }
            match self.new.node(def) {
                Node::Cont(cont) if self.instances[cont].is_some() => self.queue.push(cont),
                _ => self.new.for_each_operand(def, |operand| stack.push(operand)),
            }
        }
    }
}

/// How evaluation goes on after a call.
pub(super) enum Next {
    /// With the body of this instance, under these arguments for all parameters.
    Inline(Cont, Instance, Vec<Def>),
    /// With the body of this specialisation, under these arguments for the open parameters.
    Unfold(Instance, Vec<Def>),
    /// With another call.
    Again(Call),
    /// Not: this call stays.
    Emit(Call),
}

/// The values of all parameters: those fixed, and `args` for the others.
pub(super) fn merge(fixed: &[PackedOption<Def>], args: &[Def]) -> Vec<Def> {
    let mut args = args.iter().copied();
    fixed
        .iter()
        .map(|fixed| fixed.expand().or_else(|| args.next()).expect("an argument for each open parameter"))
        .collect()
}

/// The instance with more of its parameters fixed, and the arguments that are left.
fn split(instance: &Instance, args: &[Def], rules: &[Option<Rule>]) -> (Instance, Vec<Def>) {
    let mut open = args.iter().copied().zip(rules);
    let mut rest = vec![];
    let key = instance.with_fixed(instance.fixed().iter().map(|&fixed| {
        if fixed.is_some() {
            return fixed;
        }
        let (arg, rule) = open.next().expect("an argument for each open parameter");
        if rule.is_none() {
            rest.push(arg);
        }
        rule.map(|_| arg).into()
    }));
    (key, rest)
}
