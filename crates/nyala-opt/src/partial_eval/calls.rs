//! Calls: each is evaluated in place, specialized, or kept.
//!
//! `rules` decides on which parameters a call is specialized. [`Next`] says how evaluation continues, and
//! `engine` does so; `unfold` evaluates a specialization in place.

use nyala_ir::{Body, Cont, Def, Defs, Intrinsic, Linkage, Mark};

use super::engine::{Call, Engine};
use super::env::Env;
use super::explain::Outcome;
use super::instance::{Context, Instance, merge};
use super::journal::SiteId;
use super::memo::Form;
use super::rules::{Rule, is_requested};
use super::values::Mode;

// Note [What is inlined]
//
// A call is replaced by the body of its callee in three cases:
//
// 1. The callee is a block that only this body references (`Engine::rest_of_body`): it is the rest of the body.
// 2. The call is the only reference to its callee, in the old program and so far in the new one
//    (`Engine::is_only_use`). So no code is duplicated. A callee that must be specialized waits until it is.
// 3. A requested specialization fixes all parameters with filters. Most of these have one call: see Note
//    [When a specialization is unfolded].
//
// A run of the evaluator unfolds every call that it reaches: see `run_halt`.

/// How evaluation continues after a call.
pub(super) enum Next {
    /// With the body of this instance, with these arguments for all parameters.
    Inline(Cont, Instance, Defs),
    /// With the body of this specialization, with these arguments for the open parameters.
    Unfold(Instance, Defs),
    /// With another call.
    Again(Call),
    /// This call is kept: the body is complete.
    Emit(Call),
}

impl Engine<'_> {
    /// The callee of the body of `old` under `env`. A branch whose condition is known is replaced by its target,
    /// and the other targets are not evaluated. A block with a single use is evaluated as the rest of the body,
    /// without an instance.
    pub(super) fn call(&mut self, old: Cont, env: &mut Env) -> Call {
        let mut at = old;
        loop {
            let body = self.old.cont(at).body.as_ref().expect("instances have bodies");
            let target = self.known_target(body, env);
            if let Some(target) = target {
                self.spent.counters.folded += 1;
                self.count_untaken_uses(body, target, env);
            }
            let Some(rest) = self.rest_of_body(target.unwrap_or(body.callee)) else {
                return self.call_of(body, target, env);
            };
            self.spent.counters.inlined += 1;
            for (&param, &arg) in self.old.cont(rest).params.iter().zip(&body.args) {
                let value = self.def(arg, env, Mode::Residual);
                env.insert(param, value);
            }
            at = rest;
        }
    }

    /// The block that `callee` is, if the current body has the only reference to it.
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

    /// The target of a branch or switch whose condition is known.
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

    /// Decides about a call. A mark that the call keeps is for later rounds.
    pub(super) fn next(&mut self, mut call: Call) -> Next {
        let known = self.new.as_cont(call.callee);
        let known = known.and_then(|callee| Some((callee, self.instances.get(callee)?.clone())));
        let Some((callee, instance)) = known else {
            // The callee may become known in a later round.
            return Next::Emit(call);
        };
        let halt = call.mark.filter(|&mark| mark == Mark::Halt);
        let is_only_use = halt.is_none() && self.is_only_use(callee, &instance);
        // Whether the callee is specialized is only certain at the end. Until then, such a call waits.
        let must_specialize = self.must_specialize(instance.old);
        if is_only_use && !must_specialize {
            return self.inline(callee, instance, &call);
        }
        if self.state.limits.is_over() {
            return Next::Emit(Call { mark: halt, ..call });
        }
        let rules = self.rules(&instance, &call);
        call.mark = halt;
        let is_specialized = must_specialize && self.check_must_specialize(&instance, &call, &rules);
        if is_only_use && is_specialized {
            return self.inline(callee, instance, &call);
        }
        if rules.iter().all(|rule| rule.is_none()) {
            self.record(&instance, &call, &rules, Outcome::Kept);
            return Next::Emit(call);
        }
        self.specialize(&instance, call, &rules)
    }

    /// Evaluates a callee in place.
    fn inline(&mut self, callee: Cont, instance: Instance, call: &Call) -> Next {
        self.spent.counters.inlined += 1;
        self.untaken.remove(callee, instance.old);
        let site = self.record(&instance, call, &[], Outcome::Inlined);
        self.current.context.site = site.or(self.current.context.site);
        let args = merge(instance.fixed(), &call.args);
        Next::Inline(callee, instance, args)
    }

    /// The context of a new specialization. That of a function follows from the call. A block or return
    /// continuation goes on where it was made: the calls that have returned to it do not lead to the calls in it.
    fn context_of_copy(
        &mut self,
        key: &Instance,
        call: &Call,
        is_requested: bool,
        site: Option<SiteId>,
    ) -> Context {
        let current = self.current.context;
        let is_function = self.old.origin(key.old).is_some();
        let base = match self.new.as_cont(call.callee).filter(|_| !is_function) {
            Some(callee) => {
                self.instances.count_copy(callee);
                self.instances.context(callee)
            }
            None => current,
        };
        self.current.context.link = base.link;
        let link = self.new_link(key.clone(), call);
        self.current.context.link = current.link;
        let implicit_depth = base.implicit_depth + u32::from(!is_requested && is_function);
        Context { implicit_depth, link: link.into(), site: site.or(current.site) }
    }

    /// Whether the current call is the only reference to `callee`. See Note [What is inlined].
    fn is_only_use(&self, callee: Cont, instance: &Instance) -> bool {
        let data = self.old.cont(instance.old);
        data.body.is_some()
            && data.linkage == Linkage::Internal
            && !self.old.keeps_frame(instance.old)
            && self.plan.uses(instance.old) <= 1 + self.untaken.count(callee, instance.old)
            && self.refs.count(self.new.cont_def(callee)) == 1
    }

    /// Fixes the parameters of `instance` that have a rule, if the limits allow it.
    fn specialize(&mut self, instance: &Instance, mut call: Call, rules: &[Option<Rule>]) -> Next {
        let (key, rest) = split(instance, &call.args, rules);
        let link = self.current.context.link;
        if let Some(form) = self.instances.form(&key) {
            let is_loop = link.is_some() && link == self.link_of_form(form);
            let outcome = if is_loop { Outcome::Looped } else { Outcome::Reused };
            self.record(instance, &call, rules, outcome);
            call.args = rest;
            return match form {
                Form::Cont(copy) => Next::Emit(Call { callee: self.new.cont_def(copy), ..call }),
                Form::Unfolded(id) => self.call_again(id, call),
            };
        }
        if let Err(begin) = self.may_specialize(instance, key.fixed(), rules, call.span) {
            self.record(instance, &call, &vec![None; rules.len()], Outcome::Kept);
            return match begin {
                Some(begin) => self.roll_back(begin, call),
                None => Next::Emit(call),
            };
        }
        self.spent.counters.specialized += 1;
        let site = self.record(instance, &call, rules, Outcome::Specialized);
        let is_requested = is_requested(rules);
        if is_requested && self.fixes_all_filters(&key) && self.unfoldings.may_unfold(&key) {
            return self.unfold(key, call, rest, site);
        }
        call.args = rest;
        let context = self.context_of_copy(&key, &call, is_requested, site);
        let copy = self.make_cont(key, context);
        if let Some(run) = self.run_at(call.callee) {
            self.resume(copy, run);
        }
        Next::Emit(Call { callee: self.new.cont_def(copy), ..call })
    }
}

/// The instance with more of its parameters fixed, and the arguments for the others.
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
