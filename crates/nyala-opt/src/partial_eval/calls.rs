//! What becomes of a call: whether it is evaluated on the spot, specialised, or stays.
//!
//! The rules are those of the paper: see [`Rule`]. Where evaluation goes on, [`Next`] says, and
//! `engine` does it; `unfold` evaluates a specialisation where it is called.

use nyala_ir::{Body, Cont, Def, Defs, Intrinsic, Linkage, Mark};

use super::engine::{Call, Engine};
use super::env::Env;
use super::explain::Outcome;
use super::instance::{Instance, merge};
use super::memo::Made;
use super::values::Mode;

/// How many specialisations may follow from each other without anybody having
/// asked for one. A recursion that hands on ever new functions ends here, and
/// keeps them as closures.
const MAX_AUTOMATIC_DEPTH: u32 = 64;

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

/// How evaluation goes on after a call.
pub(super) enum Next {
    /// With the body of this instance, under these arguments for all parameters.
    Inline(Cont, Instance, Defs),
    /// With the body of this specialisation, under these arguments for the open parameters.
    Unfold(Instance, Defs),
    /// With another call.
    Again(Call),
    /// Not: this call stays.
    Emit(Call),
}

impl Engine<'_> {
    /// What the body of `old` calls under `env`. Where a branch goes is decided
    /// here if it can be, so that the other side is never looked at. What lies behind is evaluated at once if nothing
    /// else leads there: nobody needs a continuation for that.
    pub(super) fn call(&mut self, old: Cont, env: &mut Env) -> Call {
        let mut at = old;
        loop {
            let body = self.old.cont(at).body.as_ref().expect("only what has a body is evaluated");
            let target = self.known_target(body, env);
            if let Some(target) = target {
                self.counters.folded += 1;
                self.spare_other_targets(body, target, env);
            }
            let Some(rest) = self.rest_of_body(target.unwrap_or(body.callee)) else {
                return self.call_of(body, target, env);
            };
            self.counters.inlined += 1;
            for (&param, &arg) in self.old.cont(rest).params.iter().zip(&body.args) {
                let value = self.def(arg, env, Mode::Residual);
                env.insert(param, value);
            }
            at = rest;
        }
    }

    /// The block that `callee` is, if the body at hand has its only use.
    fn rest_of_body(&mut self, callee: Def) -> Option<Cont> {
        let block = self.old.as_cont(callee).filter(|&block| self.plan.uses(block) == 1)?;
        let data = self.old.cont(block);
        let is_block = data.body.is_some()
            && data.linkage == Linkage::Internal
            && self.old.origin(block).is_none()
            && self.new.types.order(data.ty) == 1;
        is_block.then_some(block)
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
    pub(super) fn next(&mut self, mut call: Call) -> Next {
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
    /// that has become too deep, it must not go round in circles any further. It stays so in later rounds, which would
    /// only go on; in this one, calls of the same functions elsewhere are none the worse for it.
    fn may_go_deeper(&mut self, old: Cont) -> bool {
        let data = self.old.cont(old);
        let key = (data.span, data.name);
        if self.depth < MAX_AUTOMATIC_DEPTH {
            return !self.state.deep_enough.contains(&key);
        }
        if self.old.origin(old).is_none() {
            return false;
        }
        let goes_round = self.circle(old).contains(&old);
        if goes_round {
            self.state.too_deep.insert(key);
        }
        !goes_round
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
        if let Some(made) = self.memo.get(&key) {
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
}

/// The instance with more of its parameters fixed, and the arguments that are left.
fn split(instance: &Instance, args: &[Def], rules: &[Option<Rule>]) -> (Instance, Defs) {
    let mut open = args.iter().copied().zip(rules);
    let mut rest = Defs::new();
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
