//! The rules that decide on which parameters a call is specialized.
//!
//! See Note [Which parameters are specialized].

use nyala_ir::{Def, Mark};

use super::engine::{Call, Engine};
use super::env::Env;
use super::instance::{Instance, merge};
use super::limits::Request;
use super::values::Mode;

// Note [Which parameters are specialized]
//
// A call of a known function is specialized on a parameter if one of these rules holds. They are the rules of
// section 4 of the OOPSLA'18 paper:
//
// 1. The call is forced (`@@`).
// 2. The filter of the parameter folds to `true` with the arguments put in. What is unknown now counts as unknown.
// 3. The argument is a function: its type has order 2 or more.
// 4. The argument is a continuation, and the callee would not be a plain function otherwise: one with one return
//    continuation, no other function among its parameters, and no free variables. Control-flow form needs plain
//    functions.
//
// Rules 1 and 2 are requests of the program. Rules 3 and 4 are implicit: no filter is needed, since they remove
// closures. A memory token is never specialized on.
//
// Rule 4 has an exception. In a non-tail recursion every call has a new return continuation, so specialization on
// it would not end. So the return continuation stays a parameter, and the free variables of the function may be
// data: lambda lifting passes them.
//
// A limit turns off rules 1 and 2 for stopped functions (see Note [Why evaluation ends]), and rules 3 and 4 for
// first-order ones (see Note [Why implicit specialization ends]).

/// How many implicit specializations may follow from each other in a recursion, or be made of one block. A
/// recursion that passes ever new functions to itself ends here, and keeps them as closures. See Note
/// [Why implicit specialization ends].
///
/// Such a recursion may become as many nested loops. LLVM takes 0.6 s for 32 of them, and more than a minute for 64.
const MAX_IMPLICIT_DEPTH: u32 = 32;

/// Why a call is specialized on a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// `@@` at the call.
    Forced,
    /// Its filter holds.
    Filter,
    /// The argument is a function.
    HigherOrder,
    /// The argument is a continuation, and the callee is no plain function.
    Continuation,
    /// A run of the evaluator unfolds the callee.
    Run,
}

/// Whether the program requests a specialization, by a filter, `@@` or a run.
pub(super) fn is_requested(rules: &[Option<Rule>]) -> bool {
    rules.iter().any(|rule| matches!(rule, Some(Rule::Forced | Rule::Filter | Rule::Run)))
}

/// The kind of request.
pub(super) fn request(rules: &[Option<Rule>]) -> Request {
    if rules.contains(&Some(Rule::Run)) {
        Request::Run
    } else if rules.contains(&Some(Rule::Forced)) {
        Request::Force
    } else {
        Request::Filter
    }
}

impl Engine<'_> {
    /// For each open parameter, the rule that specializes it, if any.
    pub(super) fn rules(&mut self, instance: &Instance, call: &Call) -> Vec<Option<Rule>> {
        if self.old.cont(instance.old).body.is_none() {
            return vec![None; call.args.len()];
        }
        let allows_implicit = self.allows_implicit(instance, call);
        let mut rules = self.requests(instance, call);
        if allows_implicit {
            for (rule, &arg) in rules.iter_mut().zip(&call.args) {
                let is_function = rule.is_none() && self.is_function(arg);
                *rule = rule.or(is_function.then_some(Rule::HigherOrder));
            }
            if !self.is_plain_function(instance, call, &rules) {
                self.add_continuations(instance, call, &mut rules);
            }
        }
        rules
    }

    /// Rules 1 and 2: `@@`, and filters that hold.
    fn requests(&mut self, instance: &Instance, call: &Call) -> Vec<Option<Rule>> {
        let filter = &self.old.cont(instance.old).filter;
        let is_ignored = self.is_stopped(instance.old) || call.mark == Some(Mark::Halt);
        let is_forced = call.mark == Some(Mark::Force);
        if is_ignored || (!is_forced && filter.is_empty()) {
            return vec![None; call.args.len()];
        }
        let mem = self.new.types.mem();
        let mut env = self.values.take_side_env();
        let mut is_bound = false;
        let open = (0..instance.fixed().len()).filter(|&index| instance.fixed()[index].is_none());
        let mut rules = Vec::with_capacity(call.args.len());
        for (index, &arg) in open.zip(&call.args) {
            let rule = if self.new.ty(arg) == mem {
                None
            } else if is_forced {
                Some(Rule::Forced)
            } else if let Some(&filter) = filter.get(index) {
                if !std::mem::replace(&mut is_bound, true) {
                    self.bind(instance, &merge(instance.fixed(), &call.args), &mut env);
                }
                self.holds(filter, &mut env).then_some(Rule::Filter)
            } else {
                None
            };
            rules.push(rule);
        }
        self.values.put_side_env(env);
        rules
    }

    /// Rule 4: adds the continuations among the arguments, except the return continuation of a non-tail recursion.
    fn add_continuations(&mut self, instance: &Instance, call: &Call, rules: &mut [Option<Rule>]) {
        let old = instance.old;
        let keeps_return = self.plan.is_non_tail_recursive(old) || self.old.keeps_frame(old);
        let last = call.args.len().wrapping_sub(1);
        for (i, (rule, &arg)) in rules.iter_mut().zip(&call.args).enumerate() {
            let is_specialized = self.is_continuation(arg) && !(keeps_return && i == last);
            *rule = rule.or(is_specialized.then_some(Rule::Continuation));
        }
    }

    /// Whether rules 3 and 4 apply to a call. See Note [Why implicit specialization ends].
    ///
    /// A function that is too deep here stays so in later rounds, which would only continue. In this round,
    /// calls of it with a smaller depth are still specialized.
    fn allows_implicit(&mut self, instance: &Instance, call: &Call) -> bool {
        let key = self.function_key(instance.old);
        if self.old.origin(instance.old).is_none() {
            let n_copies = self.new.as_cont(call.callee).map_or(0, |callee| self.instances.n_copies(callee));
            return n_copies < MAX_IMPLICIT_DEPTH && !self.state.limits.is_first_order(key);
        }
        if self.current.context.implicit_depth < MAX_IMPLICIT_DEPTH || !self.repeats(instance, call) {
            return !self.state.limits.is_first_order(key);
        }
        self.state.limits.set_too_deep(key);
        false
    }

    /// Whether the same call has led here before, with functions that nested no deeper than now.
    fn repeats(&mut self, instance: &Instance, call: &Call) -> bool {
        let link = self.current.context.link;
        let Some(earlier) = self.chains.earlier(link, instance.old, call.span) else { return false };
        let before: Vec<Def> = earlier.parts().collect();
        let now: Vec<Def> = instance.parts().chain(call.args.iter().copied()).collect();
        let mut nesting = |defs: Vec<Def>| defs.into_iter().map(|def| self.nesting(def)).max();
        nesting(now) >= nesting(before)
    }

    /// Whether a filter is true for the arguments in `env`. What is unknown now counts as unknown.
    pub(super) fn holds(&mut self, filter: Def, env: &mut Env) -> bool {
        let value = match self.old.as_lit(filter) {
            Some(bits) => return bits != 0,
            None => self.def(filter, env, Mode::Decide),
        };
        self.new.as_lit(value) == Some(1)
    }

    /// Whether specialization by `rules` leaves a plain function. See Note [Which parameters are specialized].
    fn is_plain_function(&mut self, instance: &Instance, call: &Call, rules: &[Option<Rule>]) -> bool {
        let may_lift = self.plan.is_non_tail_recursive(instance.old);
        let mut n_functions = 0;
        for (&arg, rule) in call.args.iter().zip(rules) {
            let is_fine = match rule {
                Some(_) => self.is_known(arg) || (may_lift && self.is_liftable(arg)),
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
        instance.parts().all(|def| self.is_known(def) || (may_lift && self.is_liftable(def)))
    }

    /// Whether an instance fixes all parameters whose filters can hold.
    pub(super) fn fixes_all_filters(&self, instance: &Instance) -> bool {
        let data = self.old.cont(instance.old);
        let mem = self.old.types.mem();
        let can_hold =
            |param: Def, filter: Def| self.old.ty(param) != mem && self.old.as_lit(filter) != Some(0);
        let filters = data.params.iter().zip(&data.filter);
        filters
            .zip(instance.fixed())
            .all(|((&param, &filter), fixed)| fixed.is_some() || !can_hold(param, filter))
    }
}
