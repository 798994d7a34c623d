//! Runs of the evaluator: what `@run f(..)` and `@halt f(..)` ask for.
//!
//! Leißa et al., "Shallow Embedding of DSLs via Online Partial Evaluation" (GPCE 2015), is the
//! specification of these marks. They stand at calls, and the callee needs no filters:
//!
//! * A *run* begins at a marked call. While it lasts, every call of something known is unfolded.
//! * A branch that depends on what is unknown is not followed, nor is a call of something unknown:
//!   they stay, and the run goes on at the next place through which all ways from there lead, their
//!   post-dominator (`cfa`). What lies between is evaluated as if there were no run.
//! * A call that is marked to halt stays, and the run goes on where it returns to.
//! * The run is over when it calls a continuation that was there before it began.
//!
//! # Why a run ends
//!
//! A run only does what every execution of the program must do too, as it enters no side of an
//! open branch. So it ends if the program does for at least one input (theorem 2 of the paper).
//! That says nothing of programs that never end, nor of runs that begin in each other's residual
//! code: see `recursion`. The limits of evaluation hold for these: what is unfolded counts as
//! specialised, and each step as growth.
//!
//! None of this changes what a program does: where a run goes on only decides what is unfolded.

mod cfa;
mod recursion;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use nyala_ir::{Cont, Def, Intrinsic, Mark};

use super::calls::{Next, Rule};
use super::engine::{Call, Engine};
use super::explain::Outcome;
use super::instance::{Instance, merge};
pub(super) use recursion::recursive_runs;

/// A run: the continuations from this number on were made after it began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    start: usize,
}

/// The runs of a round.
#[derive(Default)]
pub(super) struct Runs {
    /// The continuations at which a run goes on.
    resumed: SecondaryMap<Cont, Option<Run>>,
    /// How many calls were unfolded.
    pub(super) steps: u64,
}

impl Runs {
    /// The run that goes on at `cont`.
    pub(super) fn at(&self, cont: Cont) -> Option<Run> {
        self.resumed[cont]
    }
}

impl Engine<'_> {
    /// The run that begins with a call.
    pub(super) fn begin_run(&self, call: &Call) -> Option<Run> {
        let begins = !self.state.is_over && call.mark == Some(Mark::Run);
        begins.then(|| Run { start: self.new.cont_count() })
    }

    /// The run that goes on at `callee`.
    pub(super) fn run_at(&self, callee: Def) -> Option<Run> {
        self.new.as_cont(callee).and_then(|callee| self.runs.at(callee))
    }

    /// How `run` goes on with a call; none if it does not, and the call is like any other.
    pub(super) fn run_on(&mut self, run: Run, call: &Call) -> Option<Next> {
        let Some((callee, instance)) = self.unfoldable(call) else {
            self.resume_behind(run, call);
            return None;
        };
        if self.leaves(run, callee) || !self.may_run_into(&instance, call) {
            return None;
        }
        Some(self.run_into(callee, instance, call))
    }

    /// What is called, if it is known and nobody stays out of it.
    fn unfoldable(&self, call: &Call) -> Option<(Cont, Instance)> {
        let callee = self.new.as_cont(call.callee).filter(|_| call.mark != Some(Mark::Halt))?;
        Some((callee, self.instance(callee)?.clone()))
    }

    /// Whether `run` is over when it calls `cont`.
    fn leaves(&mut self, run: Run, cont: Cont) -> bool {
        cont.index() < run.start && self.is_continuation(self.new.cont_def(cont))
    }

    /// Whether the limits allow one more call to be unfolded; reports if not.
    fn may_run_into(&mut self, instance: &Instance, call: &Call) -> bool {
        if self.is_function(call.callee) {
            let is_stopped = self.is_stopped(instance.old);
            return !is_stopped && self.is_within_limits(&with_all(instance, &call.args), call);
        }
        // A loop: the function that it stands in is to blame.
        match self.link.expand().filter(|_| self.is_run_too_long()) {
            Some(link) => self.is_within_limits(&self.instance_at(link), call),
            None => true,
        }
    }

    fn is_within_limits(&mut self, instance: &Instance, call: &Call) -> bool {
        self.may_specialise(instance, instance.fixed(), &[Some(Rule::Run)], call.span).is_ok()
    }

    fn run_into(&mut self, callee: Cont, instance: Instance, call: &Call) -> Next {
        self.counters.inlined += 1;
        self.runs.steps += 1;
        let args = merge(instance.fixed(), &call.args);
        if self.is_function(call.callee) {
            self.counters.specialised += 1;
            let rules = vec![Some(Rule::Run); call.args.len()];
            self.site = self.record(&instance, call, &rules, Outcome::Unfolded).or(self.site);
            self.add_run_link(with_all(&instance, &call.args), call.span);
        }
        Next::Inline(callee, instance, args)
    }

    /// Lets `run` go on behind a call that stays.
    fn resume_behind(&mut self, run: Run, call: &Call) {
        let at = match self.returns_to(call) {
            Some(at) => Some(at),
            None => cfa::post_dominator(self, run, call),
        };
        if let Some(at) = at.filter(|&at| self.is_inside(run, at)) {
            self.resume(at, run);
        }
    }

    /// Lets `run` go on at `at`.
    pub(super) fn resume(&mut self, at: Cont, run: Run) {
        match &mut self.runs.resumed[at] {
            Some(earlier) => *earlier = run.min(*earlier),
            none => {
                *none = Some(run);
                if self.new.cont(at).body.is_some() {
                    // It was evaluated without a run.
                    self.queue.push(at);
                }
            }
        }
    }

    /// Where a call certainly goes on: behind it, if it is told no other place.
    fn returns_to(&mut self, call: &Call) -> Option<Cont> {
        let (&last, others) = call.args.split_last()?;
        let last = self.new.as_cont(last)?;
        if matches!(self.new.as_intrinsic(call.callee), Some(Intrinsic::Branch | Intrinsic::Switch)) {
            return None;
        }
        let mut is_data = |&arg: &Def| self.new.types.order(self.new.ty(arg)) == 0;
        (call.mark == Some(Mark::Halt) || others.iter().all(&mut is_data)).then_some(last)
    }

    /// Whether `cont` belongs to what `run` evaluates: it depends on something there, and was
    /// either made by the run or is a function.
    fn is_inside(&mut self, run: Run, cont: Cont) -> bool {
        let is_closed = self.instance(cont).is_none_or(|instance| instance.parts().next().is_none());
        !is_closed && !self.leaves(run, cont)
    }
}

/// The instance with all parameters fixed.
fn with_all(instance: &Instance, args: &[Def]) -> Instance {
    instance.with_fixed(merge(instance.fixed(), args).into_iter().map(PackedOption::from))
}
