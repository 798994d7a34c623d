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
//! * Each body of the new program is set once, and everything it mentions has an
//!   entry in the queue or has been evaluated.
//! * The old program does not change.

use std::rc::Rc;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{Body, Cont, Def, Global, Intrinsic, Linkage, Node, Ty, TyKind, World};
use rustc_hash::FxHashMap;

use super::explain::Outcome;
use super::journal::SiteId;
use super::leaves::Leaves;
use super::limits::{Link, LinkId, Used};
use super::plan::Plan;
use super::refs::Refs;
use super::{Options, State};

/// One round of evaluation.
pub(super) struct Engine<'a> {
    pub(super) old: &'a World,
    pub(super) new: World,
    pub(super) plan: Plan,
    pub(super) options: &'a Options,
    /// What is known from earlier rounds.
    pub(super) state: &'a mut State,
    instances: SecondaryMap<Cont, Option<Rc<Instance>>>,
    memo: FxHashMap<Rc<Instance>, Cont>,
    /// What stands for old nodes that mean the same everywhere.
    constants: FxHashMap<Def, Def>,
    globals: Vec<(Global, Global)>,
    refs: Refs,
    leaves: Leaves,
    /// For instances, how many of the uses in the old program will not come.
    spared: FxHashMap<Cont, u32>,
    known: SecondaryMap<Def, Known>,
    queue: Vec<Cont>,
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
    site_of: SecondaryMap<Cont, Option<SiteId>>,
    /// The call in the source for which something is being built.
    site: Option<SiteId>,
    /// For the place a call returns to, what was called and where.
    results: SecondaryMap<Cont, Option<(Cont, nyala_span::Span)>>,
    /// How many specialisations that nobody asked for led to an instance.
    depths: SecondaryMap<Cont, u32>,
    /// The depth of what is being evaluated.
    depth: u32,
    liftable: SecondaryMap<Def, Known>,
    filterable: SecondaryMap<Def, Known>,
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
}

/// An old continuation with values.
#[derive(PartialEq, Eq, Hash, Clone)]
pub(super) struct Instance {
    pub(super) old: Cont,
    /// New values for [`Plan::captures`], in that order.
    pub(super) captured: Rc<[Def]>,
    /// For each old parameter the value it is specialised on.
    pub(super) fixed: Box<[Option<Def>]>,
}

impl Instance {
    /// All values that make it.
    fn parts(&self) -> impl Iterator<Item = Def> + '_ {
        self.captured.iter().copied().chain(self.fixed.iter().flatten().copied())
    }
}

/// A question that is asked once for each node.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Known {
    #[default]
    Unasked,
    No,
    Yes,
}

/// A call in the new program.
pub(super) struct Call {
    pub(super) callee: Def,
    pub(super) args: Vec<Def>,
    pub(super) span: nyala_span::Span,
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
}

/// The values of old nodes in the evaluation of one body.
pub(super) type Env = FxHashMap<Def, Def>;

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
            constants: FxHashMap::default(),
            globals: vec![],
            refs: Refs::default(),
            leaves: Leaves::default(),
            spared: FxHashMap::default(),
            known: SecondaryMap::new(),
            queue: vec![],
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
        }
    }

    /// Evaluates all that the outside can reach.
    pub(super) fn run(&mut self) {
        let old = self.old;
        let is_exported = |linkage: &Linkage| matches!(linkage, Linkage::Exported(_));
        for (cont, data) in old.conts().filter(|(_, data)| is_exported(&data.linkage)) {
            let root = self.constant(data.def);
            self.refs.claim(&self.new, root);
            self.enqueue(root);
            debug_assert!(self.plan.captures(cont).is_empty(), "exported and nested");
        }
        for (_, global) in old.globals().filter(|(_, global)| is_exported(&global.linkage)) {
            self.constant(global.def);
        }
        loop {
            while let Some(cont) = self.queue.pop() {
                self.evaluate(cont);
            }
            let Some((old_global, new_global)) = self.globals.pop() else { break };
            self.global_value(old_global, new_global);
        }
        self.new.span = nyala_span::Span::NONE;
    }

    fn global_value(&mut self, old_global: Global, new_global: Global) {
        if let Some(init) = self.old.global(old_global).init {
            let value = self.constant(init);
            self.refs.claim(&self.new, value);
            self.enqueue(value);
            self.new.set_global_init(new_global, value);
        }
    }

    /// Builds the body of `target`.
    fn evaluate(&mut self, target: Cont) {
        let Some(instance) = self.instances[target].clone() else { return };
        let own = self.new.cont(target).params.clone();
        let mut own = own.into_iter();
        let args: Vec<Def> = instance
            .fixed
            .iter()
            .map(|fixed| fixed.or_else(|| own.next()).expect("a parameter for each that is not fixed"))
            .collect();
        let mut env = self.env(&instance, &args);
        self.set_filter(target, &instance, &mut env);
        let mut held = self.hold(&instance, &args);
        let mut old = instance.old;
        self.depth = self.depths[target];
        self.link = self.link_of[target];
        self.site = self.site_of[target];
        let call = loop {
            let nodes = self.new.node_count();
            let mut call = self.call(old, &mut env);
            self.count_growth(self.new.node_count() - nodes);
            self.answer_info(&mut call);
            let forced = self.strip_run(&mut call);
            // Whoever is called must not count as needed by this evaluation.
            self.refs.claim(&self.new, call.callee);
            call.args.iter().for_each(|&arg| self.refs.claim(&self.new, arg));
            held.drain(..).for_each(|def| self.refs.release(&self.new, def));
            let next = self.next(&call, forced);
            let release = |engine: &mut Self, call: &Call| {
                engine.refs.release(&engine.new, call.callee);
                call.args.iter().for_each(|&arg| engine.refs.release(&engine.new, arg));
            };
            match next {
                Next::Inline(callee, instance, args) => {
                    self.depth = self.depths[callee];
                    if self.is_continuation(self.new.cont_def(callee)) {
                        // Back to where it was made; a function is evaluated where it is called.
                        self.link = self.link_of[callee];
                        self.site = self.site_of[callee];
                    }
                    env = self.env(&instance, &args);
                    held = self.hold(&instance, &args);
                    old = instance.old;
                    release(self, &call);
                }
                Next::Emit(emitted) => {
                    let needs = std::iter::once(emitted.callee).chain(emitted.args.iter().copied());
                    self.refs.set_needs(&self.new, target, needs.collect());
                    release(self, &call);
                    break emitted;
                }
            }
        };
        self.keep_result(&call);
        self.enqueue(call.callee);
        call.args.iter().for_each(|&arg| self.enqueue(arg));
        let body = Body { callee: call.callee, args: call.args, span: call.span };
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
    pub(super) fn instance(&self, cont: Cont) -> Option<&Rc<Instance>> {
        self.instances[cont].as_ref()
    }

    /// The values of captures and parameters.
    pub(super) fn env(&self, instance: &Instance, args: &[Def]) -> Env {
        let captures =
            self.plan.captures(instance.old).iter().copied().zip(instance.captured.iter().copied());
        let params = self.old.cont(instance.old).params.iter().copied().zip(args.iter().copied());
        captures.chain(params).collect()
    }

    /// Claims what an evaluation works with.
    fn hold(&mut self, instance: &Instance, args: &[Def]) -> Vec<Def> {
        let held: Vec<Def> = instance.captured.iter().chain(args).copied().collect();
        held.iter().for_each(|&def| self.refs.claim(&self.new, def));
        held
    }

    /// The filters of the parameters that `target` keeps. One that came to depend on what is
    /// executed depends on what nobody knows, and says no; so does one that would keep a
    /// function alive only to ask about it.
    fn set_filter(&mut self, target: Cont, instance: &Instance, env: &mut Env) {
        let old = self.old;
        let filter = &old.cont(instance.old).filter;
        if filter.is_empty() || self.options.is_final {
            return;
        }
        let kept = filter.iter().zip(&instance.fixed).filter(|(_, fixed)| fixed.is_none());
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
        let span = body.span;
        if let Some(target) = self.known_target(body, env) {
            self.counters.folded += 1;
            self.spare_other_targets(body, target, env);
            let mem = self.def(body.args[0], env, Mode::Residual);
            let callee = self.def(target, env, Mode::Residual);
            return Call { callee, args: vec![mem], span };
        }
        let callee = self.def(body.callee, env, Mode::Residual);
        let args = body.args.iter().map(|&arg| self.def(arg, env, Mode::Residual)).collect();
        Call { callee, args, span }
    }

    fn known_target(&mut self, body: &Body, env: &mut Env) -> Option<Def> {
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

    /// Notes that the sides of a branch that are not taken will not use what they mention. Where all
    /// sides meet again, only one comes, and evaluation goes on there at once.
    fn spare_other_targets(&mut self, body: &Body, taken: Def, env: &mut Env) {
        let old = self.old;
        for side in body.args[2..].iter().filter(|&&arg| arg != taken).filter_map(|&arg| old.as_cont(arg)) {
            for &(cont, mentions) in self.leaves.of(old, &self.plan, side).iter() {
                if self.plan.captures(cont).iter().all(|&def| self.value(def, env).is_some()) {
                    let instance = self.def(old.cont(cont).def, env, Mode::Residual);
                    let instance = self.new.as_cont(instance).expect("an instance is a continuation");
                    *self.spared.entry(instance).or_default() += mentions;
                }
            }
        }
    }

    /// Removes `run` from the callee; whether it was there.
    fn strip_run(&mut self, call: &mut Call) -> bool {
        let Node::Run(callee) = self.new.node(call.callee) else { return false };
        call.callee = callee;
        true
    }

    /// What to do with a call.
    fn next(&mut self, call: &Call, forced: bool) -> Next {
        let emit = |callee: Def, args: Vec<Def>| Next::Emit(Call { callee, args, span: call.span });
        let as_is = |engine: &mut Self| {
            // A forced call that nothing could be done about may be possible in a later round.
            let callee =
                if forced && !engine.options.is_final { engine.new.run(call.callee) } else { call.callee };
            emit(callee, call.args.clone())
        };
        let Some(callee) = self.new.as_cont(call.callee) else { return as_is(self) };
        let Some(instance) = self.instances[callee].clone() else { return as_is(self) };
        let is_sole_use = self.is_sole_use(callee, &instance);
        // Whether a demand is met shows in the last round: until then, a call that does not meet it waits.
        let is_demanding = !self.options.is_final && self.is_demanding(instance.old);
        if is_sole_use && !is_demanding {
            return self.inline(callee, instance, call);
        }
        if self.options.is_final || self.state.is_over {
            return emit(call.callee, call.args.clone());
        }
        let rules = self.rules(&instance, call, forced);
        let meets_demand = is_demanding && self.meets_demand(&instance, call, &rules);
        if is_sole_use && meets_demand {
            return self.inline(callee, instance, call);
        }
        if rules.iter().all(|rule| rule.is_none()) {
            self.record(&instance, call, &rules, Outcome::Kept);
            return emit(call.callee, call.args.clone());
        }
        let (fixed, rest) = split(&instance.fixed, &call.args, &rules);
        match self.specialise(&instance, fixed, call, &rules) {
            Some(clone) => emit(self.new.cont_def(clone), rest),
            None => emit(call.callee, call.args.clone()),
        }
    }

    /// Evaluates a callee on the spot.
    fn inline(&mut self, callee: Cont, instance: Rc<Instance>, call: &Call) -> Next {
        self.counters.inlined += 1;
        self.spared.remove(&callee);
        self.site = self.record(&instance, call, &[], Outcome::Inlined).or(self.site);
        let args = merge(&instance.fixed, &call.args);
        Next::Inline(callee, instance, args)
    }

    /// Whether `callee` has no other use than the call at hand, now or later.
    fn is_sole_use(&self, callee: Cont, instance: &Instance) -> bool {
        let data = self.old.cont(instance.old);
        data.body.is_some()
            && data.linkage == Linkage::Internal
            && self.plan.uses(instance.old) <= 1 + self.spared.get(&callee).copied().unwrap_or(0)
            && self.refs.count(self.new.cont_def(callee)) == 1
    }

    /// For each parameter that is still open, why it is specialised, if it is.
    fn rules(&mut self, instance: &Instance, call: &Call, forced: bool) -> Vec<Option<Rule>> {
        let old = self.old;
        let data = old.cont(instance.old);
        if data.body.is_none() {
            return vec![None; call.args.len()];
        }
        let open: Vec<usize> = (0..instance.fixed.len()).filter(|&i| instance.fixed[i].is_none()).collect();
        let all_args = merge(&instance.fixed, &call.args);
        let mut env = None;
        let mem = self.new.types.mem();
        let may_go_deeper = self.may_go_deeper(instance.old);
        let is_stopped = self.is_stopped(instance.old);
        let mut rules: Vec<Option<Rule>> = open
            .iter()
            .zip(&call.args)
            .map(|(&index, &arg)| {
                let ty = self.new.ty(arg);
                if ty == mem {
                    return None;
                }
                if forced && !is_stopped {
                    return Some(Rule::Forced);
                }
                if let Some(&filter) = data.filter.get(index).filter(|_| !is_stopped) {
                    let env = env.get_or_insert_with(|| self.env(instance, &all_args));
                    if self.holds(filter, env) {
                        return Some(Rule::Filter);
                    }
                }
                (may_go_deeper && self.new.types.order(ty) > 1).then_some(Rule::HigherOrder)
            })
            .collect();
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

    /// Whether a filter is true for the arguments in `env`.
    pub(super) fn holds(&mut self, filter: Def, env: &mut Env) -> bool {
        match self.old.as_lit(filter) {
            Some(bits) => bits != 0,
            None => {
                // Not in `env`: there, what is unknown must stay open.
                let mut decided = env.clone();
                let value = self.def(filter, &mut decided, Mode::Decide);
                self.new.as_lit(value) == Some(1)
            }
        }
    }

    /// Whether a call leaves a function that needs no closure: one continuation to
    /// return to, no other function among the arguments that stay, and no free variables.
    ///
    /// A recursion that nests may have free variables that can be handed to it as data: it would
    /// be specialised on ever new places to return to otherwise.
    fn is_plain_function(&mut self, instance: &Instance, call: &Call, rules: &[Option<Rule>]) -> bool {
        let args = call.args.iter().zip(rules);
        let staying = args.clone().filter(|(_, rule)| rule.is_none());
        let tys: Vec<Ty> = staying.map(|(&arg, _)| self.new.ty(arg)).collect();
        let orders: Vec<u32> =
            tys.into_iter().map(|ty| self.new.types.order(ty)).filter(|&order| order > 0).collect();
        let fixed = args.filter(|(_, rule)| rule.is_some()).map(|(&arg, _)| arg);
        let fixed: Vec<Def> = instance.parts().chain(fixed).collect();
        let nests = self.plan.nests_calls(instance.old);
        orders.len() <= 1
            && orders.iter().all(|&order| order == 1)
            && fixed.into_iter().all(|def| self.is_known(def) || (nests && self.is_liftable(def)))
    }

    /// The instance with more parameters fixed; none if that is too much.
    fn specialise(
        &mut self,
        instance: &Instance,
        fixed: Box<[Option<Def>]>,
        call: &Call,
        rules: &[Option<Rule>],
    ) -> Option<Cont> {
        let key = Instance { old: instance.old, captured: instance.captured.clone(), fixed };
        if let Some(&clone) = self.memo.get(&key) {
            let is_loop = self.link.is_some() && self.link == self.link_of[clone];
            let outcome = if is_loop { Outcome::Looped } else { Outcome::Reused };
            self.record(instance, call, rules, outcome);
            return Some(clone);
        }
        if !self.may_specialise(instance, &key.fixed, rules, call.span) {
            self.record(instance, call, &vec![None; rules.len()], Outcome::Kept);
            return None;
        }
        self.counters.specialised += 1;
        let clone = self.instantiate(key);
        let asked = |rule: &Option<Rule>| matches!(rule, Some(Rule::Forced | Rule::Filter));
        self.depths[clone] = self.depth + u32::from(!rules.iter().any(asked));
        self.add_link(clone, instance.old, call.span);
        self.site_of[clone] = self.record(instance, call, rules, Outcome::Specialised).or(self.site);
        Some(clone)
    }

    // ---- Nodes ------------------------------------------------------------------

    /// The value of an old node that means the same everywhere.
    fn constant(&mut self, old: Def) -> Def {
        self.def(old, &mut Env::default(), Mode::Residual)
    }

    /// The value of `old` under `env`, which gets all values found on the way.
    pub(super) fn def(&mut self, old: Def, env: &mut Env, mode: Mode) -> Def {
        let mut stack = vec![old];
        while let Some(&next) = stack.last() {
            if self.value(next, env).is_some() {
                stack.pop();
                continue;
            }
            let before = stack.len();
            self.push_operands(next, env, &mut stack);
            if stack.len() == before {
                let new = self.finish(next, env, mode);
                if self.plan.is_constant(next) && mode == Mode::Residual {
                    self.constants.insert(next, new);
                } else {
                    env.insert(next, new);
                }
                stack.pop();
            }
        }
        self.value(old, env).expect("found above")
    }

    fn value(&self, old: Def, env: &Env) -> Option<Def> {
        env.get(&old).or_else(|| self.constants.get(&old)).copied()
    }

    /// What must be known before `old` can be built and is not.
    fn push_operands(&self, old: Def, env: &Env, stack: &mut Vec<Def>) {
        let mut push = |def: Def| {
            if self.value(def, env).is_none() {
                stack.push(def);
            }
        };
        match self.old.node(old) {
            Node::Cont(cont) => self.plan.captures(cont).iter().copied().for_each(push),
            _ => self.old.for_each_operand(old, &mut push),
        }
    }

    /// The value of `old`, whose operands have values.
    fn finish(&mut self, old: Def, env: &Env, mode: Mode) -> Def {
        match self.old.node(old) {
            Node::Cont(cont) => self.cont(cont, env),
            Node::Global(global) => self.new_global(global),
            Node::Param { cont, index } => panic!(
                "parameter {index} of `{}` has no value here: the plan is wrong",
                self.old.cont(cont).name
            ),
            Node::Known(_) if self.options.is_final => self.new.lit_bool(false),
            Node::Known(value) => {
                let value = self.value(value, env).expect("operands come first");
                match (self.is_known(value), mode) {
                    (true, _) => self.new.lit_bool(true),
                    (false, Mode::Decide) => self.new.lit_bool(false),
                    (false, Mode::Residual) => self.new.known(value),
                }
            }
            Node::Hide(value) | Node::Run(value) if self.options.is_final => {
                self.value(value, env).expect("operands come first")
            }
            node => {
                let mut operands = vec![];
                self.old.for_each_operand(old, |operand| {
                    operands.push(self.value(operand, env).expect("operands come first"));
                });
                self.new.span = self.old.span_of(old);
                let new = self.new.rebuild_as(node, self.old.ty(old), &operands);
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

    /// The instance of `cont` under `env`.
    fn cont(&mut self, cont: Cont, env: &Env) -> Def {
        let old = self.old;
        let data = old.cont(cont);
        if data.body.is_none() {
            return self.declaration(cont);
        }
        let captures = self.plan.captures(cont).iter();
        let captured = captures.map(|&def| self.value(def, env).expect("captures come first")).collect();
        let fixed = vec![None; data.params.len()].into();
        let instance = self.instantiate(Instance { old: cont, captured, fixed });
        self.new.cont_def(instance)
    }

    /// The continuation for an instance; it gets a body when it is needed.
    fn instantiate(&mut self, instance: Instance) -> Cont {
        if let Some(&cont) = self.memo.get(&instance) {
            return cont;
        }
        let old = self.old;
        let data = old.cont(instance.old);
        let open = data.params.iter().zip(&instance.fixed).filter(|(_, fixed)| fixed.is_none());
        let open: Vec<Def> = open.map(|(&param, _)| param).collect();
        let tys: Vec<Ty> = open.iter().map(|&param| old.ty(param)).collect();
        self.new.span = data.span;
        let cont = self.new.new_cont(data.name, &tys);
        for (index, &param) in open.iter().enumerate() {
            self.copy_name(param, self.new.param(cont, index));
        }
        if instance.fixed.iter().all(|fixed| fixed.is_none()) {
            self.new.set_linkage(cont, data.linkage.clone());
        }
        self.refs.set_needs(&self.new, cont, instance.parts().collect());
        self.depths[cont] = self.depth;
        self.link_of[cont] = self.link;
        self.site_of[cont] = self.site;
        let instance = Rc::new(instance);
        self.instances[cont] = Some(instance.clone());
        self.memo.insert(instance, cont);
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

    /// Whether `def` depends on nothing that is only known when the program runs.
    pub(super) fn is_known(&mut self, def: Def) -> bool {
        let mut cache = std::mem::take(&mut self.known);
        let known = self.all_parts(&mut cache, def, |engine, def| !engine.is_dynamic(def));
        self.known = cache;
        known
    }

    /// Whether `def` is data or a function that captures only what is liftable:
    /// it contains no continuation that is a parameter.
    fn is_liftable(&mut self, def: Def) -> bool {
        let mut cache = std::mem::take(&mut self.liftable);
        let liftable = self.all_parts(&mut cache, def, |engine, def| {
            let is_param = matches!(engine.new.node(def), Node::Param { .. });
            !is_param || !matches!(engine.new.types.kind(engine.new.ty(def)), TyKind::Cn(_))
        });
        self.liftable = cache;
        liftable
    }

    /// Whether `def` can stand in a filter: it executes nothing and mentions no function.
    fn can_be_filter(&mut self, def: Def) -> bool {
        let mut cache = std::mem::take(&mut self.filterable);
        let can_be = self.all_parts(&mut cache, def, |engine, def| {
            !has_effect(&engine.new, def) && engine.new.as_cont(def).is_none()
        });
        self.filterable = cache;
        can_be
    }

    /// Whether `holds` for `def` and all that it is made of: its operands, and what an
    /// instance captures and is specialised on.
    fn all_parts(
        &self,
        cache: &mut SecondaryMap<Def, Known>,
        def: Def,
        holds: impl Fn(&Self, Def) -> bool,
    ) -> bool {
        let mut stack = vec![def];
        while let Some(&next) = stack.last() {
            if cache[next] != Known::Unasked {
                stack.pop();
                continue;
            }
            let (mut all, mut pending) = (holds(self, next), vec![]);
            if all {
                self.for_each_part(next, |part| match cache[part] {
                    Known::Unasked => pending.push(part),
                    Known::No => all = false,
                    Known::Yes => {}
                });
            }
            if !all || pending.is_empty() {
                cache[next] = if all { Known::Yes } else { Known::No };
            } else {
                stack.extend(pending);
            }
        }
        cache[def] == Known::Yes
    }

    pub(super) fn for_each_part(&self, def: Def, each: impl FnMut(Def)) {
        match self.new.node(def) {
            Node::Cont(cont) => {
                self.instances[cont].iter().flat_map(|instance| instance.parts()).for_each(each)
            }
            _ => self.new.for_each_operand(def, each),
        }
    }

    /// Whether `def` is called to go on and never comes back: a block, or a place to return to.
    pub(super) fn is_continuation(&mut self, def: Def) -> bool {
        self.new.types.order(self.new.ty(def)) == 1
    }

    /// Whether `def` takes a function or returns.
    pub(super) fn is_function(&mut self, def: Def) -> bool {
        self.new.types.order(self.new.ty(def)) > 1
    }

    /// Whether a node by itself is only known when the program runs.
    pub(super) fn is_dynamic(&self, def: Def) -> bool {
        has_effect(&self.new, def)
            || matches!(self.new.node(def), Node::Param { .. } | Node::Undef | Node::Hide(_))
    }
}

/// How evaluation goes on after a call.
enum Next {
    /// With the body of this instance, under these arguments for all parameters.
    Inline(Cont, Rc<Instance>, Vec<Def>),
    /// Not: this call stays.
    Emit(Call),
}

/// The values of all parameters: those fixed, and `args` for the others.
pub(super) fn merge(fixed: &[Option<Def>], args: &[Def]) -> Vec<Def> {
    let mut args = args.iter().copied();
    fixed
        .iter()
        .map(|fixed| fixed.or_else(|| args.next()).expect("an argument for each open parameter"))
        .collect()
}

/// What becomes fixed besides what is, and the arguments that are left.
fn split(fixed: &[Option<Def>], args: &[Def], rules: &[Option<Rule>]) -> (Box<[Option<Def>]>, Vec<Def>) {
    let mut open = args.iter().copied().zip(rules);
    let mut rest = vec![];
    let fixed = fixed
        .iter()
        .map(|fixed| {
            fixed.or_else(|| {
                let (arg, rule) = open.next().expect("an argument for each open parameter");
                if rule.is_none() {
                    rest.push(arg);
                }
                rule.is_some().then_some(arg)
            })
        })
        .collect();
    (fixed, rest)
}
