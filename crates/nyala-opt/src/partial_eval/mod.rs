//! The partial evaluator: specializes calls whose filters hold, and all higher-order calls.
//!
//! Leißa et al., "AnyDSL: A Partial Evaluation Framework for Programming
//! High-Performance Libraries" (OOPSLA 2018), section 4, is the specification.
//!
//! # How it works
//!
//! A *round* evaluates the whole program into a new one (`engine`, with its `worklist`). `calls` decides about each
//! call, by the `rules`; `values` builds values in an environment (`env`); `memo` finds the instance of an equal
//! specialization; `untaken` drops branches that are not taken. A specialization that is requested is evaluated in
//! place, as long as it has one call (`unfold`). A call that is marked to run the evaluator has rules of its own
//! (`run_halt`). Rounds repeat, since a round may leave a single use of a function that had several, until there is
//! a fixed point (`fixed_point`). At the end, annotations for the evaluator are removed (`remove_annotations`), and
//! questions for the `cost` of functions are answered.
//!
//! # The arguments
//!
//! Each decision has a note beside it:
//!
//! * in `rules`, Note [Which parameters are specialized];
//! * in `calls`, Note [What is inlined];
//! * in `unfold`, Note [When a specialization is unfolded];
//! * in `limits`, Note [Why evaluation ends] and Note [Why implicit specialization ends];
//! * in `run_halt`, Note [Why a run ends].
//!
//! # Its state
//!
//! `State` lives through all rounds: the journal, the limits that were reached, the diagnostics. `Engine` is the
//! state of one round: tables of the old program (`plan`) and of the new one (`instance`, `refs`, `properties`),
//! the work list, the chains of specializations, and what is spent of the limits.
//!
//! # Reports
//!
//! `journal` records the decision at each call, as an [`Explanation`] (`explain`), with the `sources` of unknown
//! values; `reports` keeps diagnostics until a round confirms them; `directives` answers `pe_info` and `pe_assert`;
//! `limit_report` describes the calls that reach a limit; both show the active calls (`call_stack`). `show` writes
//! values as source text.

mod call_stack;
mod calls;
mod chains;
mod cost;
mod directives;
mod engine;
mod env;
mod explain;
mod fixed_point;
mod instance;
mod journal;
mod limit_report;
mod limits;
mod memo;
mod plan;
mod properties;
mod refs;
mod remove_annotations;
mod reports;
mod rules;
mod run_halt;
mod show;
mod sources;
mod unfold;
mod untaken;
mod values;
mod worklist;

use nyala_ir::World;
use nyala_span::{Diagnostic, Name};

use engine::Engine;
pub use explain::{Explanation, Outcome, ParamAnswer, Reason, Site, Source, Unknown, Variant};
use journal::Journal;
use limits::LimitState;
pub(crate) use limits::{IMPLICIT_SHARE, Limit, RUN_SHARE, Request};
pub(crate) use remove_annotations::remove_annotations;
use reports::Reports;

use crate::errors::LimitReached;
use crate::merge_blocks::{Merge, merge_blocks};

/// How evaluation is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// When to stop.
    pub budget: Budget,
    /// The behaviour at a limit.
    pub on_limit: OnLimit,
    /// Whether to record the decision at each call.
    pub explain: bool,
}

/// When evaluation stops. A function can set limits of its own, by attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The most specializations, in all rounds together.
    pub specializations: u64,
    /// The most nodes that the program may grow by.
    pub growth: u64,
    /// The most specialized calls that may nest.
    pub depth: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { specializations: 250_000, growth: 2_000_000, depth: 250_000 }
    }
}

/// The behaviour when a limit is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnLimit {
    /// Warn, keep the calls that reached it, and continue with the rest.
    #[default]
    Continue,
    /// Report an error.
    Stop,
}

/// An evaluated program.
pub struct Evaluated {
    /// The residual program.
    pub world: World,
    /// The decisions at each call, if [`Options::explain`] is set.
    pub explanation: Option<Explanation>,
    /// The diagnostics for the user.
    pub diagnostics: Vec<Diagnostic>,
    /// The limits that were reached, with the numbers of their diagnostics.
    pub(crate) limits: Vec<(usize, LimitReached)>,
    /// The number of specializations, in all rounds together.
    pub specialized: u64,
    /// The functions that pass ever new functions to themselves. They are not specialized on all of them.
    pub deep: Vec<Name>,
}

/// Evaluates `world`.
///
/// Before: any verified world. After: no call has a filter that holds, or a limit was
/// reported; there is no `known`, no `hide` and no mark.
pub fn partial_eval(world: &World, options: Options) -> Evaluated {
    let mut evaluation = Evaluation::new(world, options);
    let mut evaluated = evaluation.rounds(world);
    remove_annotations(&mut evaluated);
    while merge_blocks(&mut evaluated, Merge::All) {}
    evaluated.compact();
    evaluation.finish(evaluated)
}

/// An evaluation in progress, over all its rounds.
pub struct Evaluation {
    options: Options,
    state: State,
}

/// The results of one round for the next.
struct State {
    journal: Journal,
    limits: LimitState,
    reports: Reports,
}

impl Evaluation {
    /// The evaluation of `world`.
    pub fn new(world: &World, options: Options) -> Evaluation {
        let state = State {
            journal: Journal::default(),
            limits: LimitState::new(journal::size(world)),
            reports: Reports::new(run_halt::recursive_runs(world)),
        };
        Evaluation { options, state }
    }

    /// Evaluates `world` to a fixed point.
    fn rounds(&mut self, world: &World) -> World {
        let (mut current, mut is_changed) = self.round(world);
        while is_changed && !self.is_fixed_point(&current) && self.allows_round() {
            (current, is_changed) = self.round(&current);
        }
        current
    }

    /// Whether the limits allow another round; if not, reports that.
    pub(crate) fn allows_round(&mut self) -> bool {
        match self.state.limits.too_many_rounds(self.options.budget.growth) {
            Some(report) => {
                self.state.reports.add(report);
                false
            }
            None => true,
        }
    }

    /// Evaluates `world` once; whether that changed anything. Annotations for the evaluator are kept: a later
    /// round may know more.
    pub fn round(&mut self, world: &World) -> (World, bool) {
        self.state.limits.begin_round();
        let (counters, last, new) = loop {
            let before = self.options.explain.then(|| self.state.journal.clone());
            self.state.journal.begin_round();
            self.state.reports.begin_round();
            let mut engine = Engine::new(world, &self.options, &mut self.state);
            engine.run();
            if !engine.spent.must_restart() {
                let last = engine.spent.last().map(|old| engine.function_key(old));
                break (engine.spent.counters, last, engine.new);
            }
            self.state.limits.restart_round();
            if let Some(before) = before {
                let limits = &self.state.limits;
                self.state.journal.restart_round(before, |name| limits.has_stopped(name));
            }
        };
        self.state.limits.end_round(counters, last, &new);
        check(&new);
        (new, counters != Default::default())
    }

    /// Whether more rounds would leave `world` as it is.
    pub fn is_fixed_point(&self, world: &World) -> bool {
        self.state.limits.is_over() || fixed_point::is_fixed_point(world, &self.state.limits)
    }

    /// Whether the last round has diagnostics that another round may remove.
    pub fn has_pending_reports(&self) -> bool {
        self.state.reports.has_pending()
    }

    /// The result.
    pub fn finish(self, world: World) -> Evaluated {
        let State { journal, limits, reports } = self.state;
        let explanation = self.options.explain.then(|| journal.explanation(limits.nodes_before(), &world));
        let (specialized, deep) = (limits.specialized(), limits.deep().to_vec());
        let (diagnostics, limits) = reports.finish();
        Evaluated { world, explanation, diagnostics, limits, specialized, deep }
    }
}

/// In debug builds, the program that a round has built must be well-formed.
fn check(world: &World) {
    if cfg!(debug_assertions)
        && let Err(errors) = nyala_ir::verify::verify(world)
    {
        panic!("partial evaluation built a malformed program: {errors}\n{}", nyala_ir::text::print(world));
    }
}
