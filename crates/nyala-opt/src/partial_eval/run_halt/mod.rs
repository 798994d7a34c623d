//! Runs of the evaluator: the marks `@run f(..)` and `@halt f(..)`.
//!
//! Leißa et al., "Shallow Embedding of DSLs via Online Partial Evaluation" (GPCE 2015), is the
//! specification of these marks. They belong to calls, and the callee needs no filters:
//!
//! * A *run* begins at a marked call. It unfolds every call of a known function.
//! * A branch on an unknown condition and a call of an unknown function are kept. The run resumes at their
//!   post-dominator (`cfa`). The code in between is evaluated as if there were no run.
//! * A call with the mark `halt` is kept, and the run resumes at its return continuation.
//! * The run is over when it calls a continuation that is older than the run.
//!
//! Marks never change what a program computes: they only decide which calls are unfolded. Runs end: see Note
//! [Why a run ends]. `recursion` warns about calls that may start an unbounded number of them.

mod cfa;
mod recursion;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use nyala_ir::{Cont, Def, Intrinsic, Mark};

use super::calls::Next;
use super::engine::{Call, Engine};
use super::explain::Outcome;
use super::instance::{Instance, merge};
use super::rules::Rule;
pub(super) use recursion::recursive_runs;

// Note [Why a run ends]
//
// A run unfolds only calls that every execution of the program makes, since it enters no target of an
// unknown branch. So it ends if the program ends for at least one input (theorem 2 of the paper).
// This does not hold for programs that never end, and for runs that begin in the residual code of each
// other (`recursion`). The limits of evaluation apply to these: each unfolded function counts as a
// specialization, and each step as growth. See Note [Why evaluation ends].

/// A run: the continuations from this number on are younger than it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    start: usize,
}

/// The runs of a round.
#[derive(Default)]
pub(super) struct Runs {
    /// The continuations at which a run resumes.
    resumed: SecondaryMap<Cont, Option<Run>>,
    /// The number of unfolded calls.
    steps: u64,
}

impl Runs {
    /// The run that resumes at `cont`.
    pub(super) fn at(&self, cont: Cont) -> Option<Run> {
        self.resumed[cont]
    }

    /// The number of unfolded calls.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }
}

impl Engine<'_> {
    /// The run that begins with a call.
    pub(super) fn begin_run(&self, call: &Call) -> Option<Run> {
        let begins = !self.state.limits.is_over() && call.mark == Some(Mark::Run);
        begins.then(|| Run { start: self.new.cont_count() })
    }

    /// The run that resumes at `callee`.
    pub(super) fn run_at(&self, callee: Def) -> Option<Run> {
        self.new.as_cont(callee).and_then(|callee| self.runs.at(callee))
    }

    /// How `run` continues with a call. None if it does not unfold the call: then the usual rules apply.
    pub(super) fn run_on(&mut self, run: Run, call: &Call) -> Option<Next> {
        let Some((callee, instance)) = self.unfoldable(call) else {
            self.resume_after(run, call);
            return None;
        };
        if self.leaves(run, callee) || !self.may_run_into(&instance, call) {
            return None;
        }
        Some(self.run_into(callee, instance, call))
    }

    /// The callee, if it is known and the call has no mark `halt`.
    fn unfoldable(&self, call: &Call) -> Option<(Cont, Instance)> {
        let callee = self.new.as_cont(call.callee).filter(|_| call.mark != Some(Mark::Halt))?;
        Some((callee, self.instances.get(callee)?.clone()))
    }

    /// Whether `run` is over when it calls `cont`.
    fn leaves(&mut self, run: Run, cont: Cont) -> bool {
        cont.index() < run.start && self.is_continuation(self.new.cont_def(cont))
    }

    /// Whether the limits allow to unfold one more call; reports if not.
    fn may_run_into(&mut self, instance: &Instance, call: &Call) -> bool {
        if self.is_function(call.callee) {
            let is_stopped = self.is_stopped(instance.old);
            return !is_stopped && self.is_within_limits(&with_all(instance, &call.args), call);
        }
        // A loop: the enclosing function is reported.
        match self.current.context.link.expand().filter(|_| self.exceeds_growth()) {
            Some(link) => self.is_within_limits(&self.chains.link(link).instance.clone(), call),
            None => true,
        }
    }

    fn is_within_limits(&mut self, instance: &Instance, call: &Call) -> bool {
        self.may_specialize(instance, instance.fixed(), &[Some(Rule::Run)], call.span).is_ok()
    }

    fn run_into(&mut self, callee: Cont, instance: Instance, call: &Call) -> Next {
        self.spent.counters.inlined += 1;
        self.runs.steps += 1;
        let args = merge(instance.fixed(), &call.args);
        if self.is_function(call.callee) {
            self.spent.counters.specialized += 1;
            let rules = vec![Some(Rule::Run); call.args.len()];
            let site = self.record(&instance, call, &rules, Outcome::Unfolded);
            self.current.context.site = site.or(self.current.context.site);
            self.add_run_link(with_all(&instance, &call.args), call);
        }
        Next::Inline(callee, instance, args)
    }

    /// Resumes `run` after a call that is kept.
    fn resume_after(&mut self, run: Run, call: &Call) {
        let at = match self.returns_to(call) {
            Some(at) => Some(at),
            None => cfa::post_dominator(self, run, call),
        };
        if let Some(at) = at.filter(|&at| self.is_inside(run, at)) {
            self.resume(at, run);
        }
    }

    /// Resumes `run` at `at`.
    pub(super) fn resume(&mut self, at: Cont, run: Run) {
        match &mut self.runs.resumed[at] {
            Some(earlier) => *earlier = run.min(*earlier),
            none => {
                *none = Some(run);
                if self.new.cont(at).body.is_some() {
                    // It was evaluated without the run.
                    self.work.add_again(at);
                }
            }
        }
    }

    /// The return continuation of a call that has no other function among its arguments.
    fn returns_to(&mut self, call: &Call) -> Option<Cont> {
        let (&last, others) = call.args.split_last()?;
        let last = self.new.as_cont(last)?;
        if matches!(self.new.as_intrinsic(call.callee), Some(Intrinsic::Branch | Intrinsic::Switch)) {
            return None;
        }
        let mut is_data = |&arg: &Def| self.new.types.order(self.new.ty(arg)) == 0;
        (call.mark == Some(Mark::Halt) || others.iter().all(&mut is_data)).then_some(last)
    }

    /// Whether `run` evaluates `cont`: it has values that it depends on, and it is
    /// younger than the run or a function.
    fn is_inside(&mut self, run: Run, cont: Cont) -> bool {
        let is_closed = self.instances.get(cont).is_none_or(|instance| instance.parts().next().is_none());
        !is_closed && !self.leaves(run, cont)
    }
}

/// The instance with all parameters fixed.
fn with_all(instance: &Instance, args: &[Def]) -> Instance {
    instance.with_fixed(merge(instance.fixed(), args).into_iter().map(PackedOption::from))
}
