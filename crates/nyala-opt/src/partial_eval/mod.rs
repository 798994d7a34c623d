//! The partial evaluator: specialises calls whose filters hold, and everything
//! that is higher-order, until nothing is left to do.
//!
//! Leißa et al., "AnyDSL: A Partial Evaluation Framework for Programming
//! High-Performance Libraries" (OOPSLA 2018), section 4, is the specification. At
//! a call of a known function a parameter is specialised if
//!
//! 1. the call is forced (`@@`);
//! 2. its filter, with the arguments put in, folds to `true`;
//! 3. it takes a function or returns (order 2 and more);
//! 4. it is a continuation and the callee is no plain function;
//!
//! and a function with a single use is evaluated where it is called. A call that is marked to
//! run the evaluator has rules of its own: see `run_halt`.
//!
//! # How it works
//!
//! A *round* evaluates the whole program into a new one: see `engine`; what becomes of a call is
//! decided in `calls`, and values are built in `values`. A specialised call is evaluated
//! on the spot, as long as it is the only one of its kind: see `unfold`. Rounds
//! are repeated, since one may leave a function with a single use that had several
//! before, until nothing is left to do: see `settled`. In the end,
//! what only speaks to the evaluator is removed: see `last`.
//!
//! # Why it ends
//!
//! It need not, by itself: a filter may ask for ever more specialisations. A
//! [`Budget`] bounds them; when it is spent, that is reported with the chain of calls that
//! grew, and these stay calls: see `limits`.
//!
//! # What it says
//!
//! `journal` writes down what happens at each call, as an [`Explanation`]; `demands`
//! answers what the program itself asks. `show` writes values as people do.

mod calls;
mod demands;
mod engine;
mod env;
mod explain;
mod instance;
mod journal;
mod last;
mod limits;
mod memo;
mod plan;
mod questions;
mod refs;
mod run_halt;
mod settled;
mod show;
mod spared;
mod unfold;
mod values;

use nyala_ir::World;
use nyala_span::{Diagnostic, Name, Span};
use rustc_hash::FxHashSet;

use engine::Engine;
pub use explain::{Explanation, Outcome, ParamAnswer, Reason, Site, Source, Unknown, Variant};
use journal::Journal;
pub(crate) use last::remove_questions;
pub(crate) use limits::{Asked, Limit, RUN_SHARE, UNASKED_SHARE};

use crate::merge_blocks::{Merge, merge_blocks};

/// How evaluation is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// When to stop.
    pub budget: Budget,
    /// What to do then.
    pub on_limit: OnLimit,
    /// Whether to write down what happens at each call.
    pub explain: bool,
}

/// When evaluation stops. A function can set limits of its own, by attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// How many specialisations may be made, in all rounds together.
    pub specialisations: u64,
    /// How many nodes the program may grow by.
    pub growth: u64,
    /// How deep specialisations may nest: how many calls may be specialised one inside the other.
    pub depth: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { specialisations: 250_000, growth: 2_000_000, depth: 250_000 }
    }
}

/// What to do when a limit is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnLimit {
    /// Warn, leave the calls that grow as they are, and go on with the rest.
    #[default]
    Continue,
    /// Report an error.
    Stop,
}

/// An evaluated program.
pub struct Evaluated {
    /// The program.
    pub world: World,
    /// What happened at each call, if asked for.
    pub explanation: Option<Explanation>,
    /// What to tell the user.
    pub diagnostics: Vec<Diagnostic>,
    /// How many specialisations were made, in all rounds together.
    pub specialised: u64,
}

/// How many rounds there are at most. Each one takes time proportional to the program; what
/// needs more is left as it is.
const MAX_ROUNDS: usize = 32;

/// Evaluates `world`.
///
/// Before: any verified world. After: no call has a filter that holds, or the
/// end of a limit was reported; there is no `known` or `hide` left, and no mark.
pub fn partial_eval(world: &World, options: Options) -> Evaluated {
    let mut evaluation = Evaluation::new(world, options);
    let mut evaluated = evaluation.rounds(world);
    remove_questions(&mut evaluated);
    while merge_blocks(&mut evaluated, Merge::All) {}
    evaluated.compact();
    evaluation.done(evaluated)
}

/// An evaluation in progress: what its rounds have in common.
pub struct Evaluation {
    options: Options,
    state: State,
}

/// What one round leaves for the next.
#[derive(Default)]
struct State {
    /// What happened at each call.
    journal: Journal,
    /// Functions whose filters are no longer followed, by place and name.
    stopped: FxHashSet<(Span, Name)>,
    /// Functions that are no longer specialised on functions unasked, by place and name.
    deep_enough: FxHashSet<(Span, Name)>,
    /// Those that this round found to be so.
    too_deep: FxHashSet<(Span, Name)>,
    /// How many specialisations were made so far.
    specialised: u64,
    /// How often a limit was reached.
    n_reports: u64,
    /// How often this round was begun in vain.
    attempts: u32,
    /// Nothing is specialised any more.
    is_over: bool,
    /// The size of the program before evaluation.
    nodes_before: u64,
    /// What `pe_info` has said so far, and where.
    told: FxHashSet<(Span, String)>,
    /// What is certain.
    diagnostics: Vec<Diagnostic>,
    /// What the last round found missing, which a later one may yet do.
    pending: Vec<Diagnostic>,
}

impl State {
    /// Whether filters are no longer followed for a function.
    fn is_stopped(&self, function: (Span, Name)) -> bool {
        self.n_reports > 0 && (self.n_reports >= limits::MAX_REPORTS || self.stopped.contains(&function))
    }
}

impl Evaluation {
    /// The evaluation of `world`.
    pub fn new(world: &World, options: Options) -> Evaluation {
        let diagnostics = run_halt::recursive_runs(world);
        let state = State { nodes_before: journal::size(world), diagnostics, ..State::default() };
        Evaluation { options, state }
    }

    /// Evaluates `world` until nothing is left to do.
    fn rounds(&mut self, world: &World) -> World {
        let (mut current, mut is_changed) = self.round(world);
        for _ in 1..MAX_ROUNDS {
            if !is_changed || self.is_settled(&current) {
                break;
            }
            (current, is_changed) = self.round(&current);
        }
        current
    }

    /// Evaluates `world` once; whether that did anything. What speaks to the evaluator is kept:
    /// something may become known that leads to more evaluation.
    pub fn round(&mut self, world: &World) -> (World, bool) {
        self.state.attempts = 0;
        let (counters, new) = loop {
            let before = self.options.explain.then(|| self.state.journal.clone());
            self.state.journal.begin_round();
            self.state.pending.clear();
            let mut engine = Engine::new(world, &self.options, &mut self.state);
            engine.run();
            if !engine.is_in_vain {
                break (engine.counters, engine.new);
            }
            self.state.attempts += 1;
            if let Some(before) = before {
                let stopped = &self.state.stopped;
                self.state
                    .journal
                    .begin_again(before, |name| stopped.iter().any(|&(_, other)| other == name));
            }
        };
        self.state.specialised += counters.specialised;
        self.state.deep_enough.extend(self.state.too_deep.drain());
        check(&new);
        (new, counters != Default::default())
    }

    /// Whether more rounds would leave `world` as it is.
    pub fn is_settled(&self, world: &World) -> bool {
        self.state.is_over || settled::is_settled(world, &self.state)
    }

    /// Whether the program asks what could not be answered as it wants, so far.
    pub fn is_asked(&self) -> bool {
        !self.state.pending.is_empty()
    }

    /// The result.
    pub fn done(self, world: World) -> Evaluated {
        let State { journal, nodes_before, mut diagnostics, pending, specialised, .. } = self.state;
        diagnostics.extend(pending);
        let explanation = self.options.explain.then(|| journal.explanation(nodes_before, &world));
        Evaluated { world, explanation, diagnostics, specialised }
    }
}

/// In debug builds, what a round has built must be well-formed.
fn check(world: &World) {
    if cfg!(debug_assertions)
        && let Err(errors) = nyala_ir::verify::verify(world)
    {
        panic!("partial evaluation built a malformed program: {errors}\n{}", nyala_ir::text::print(world));
    }
}
