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
//! and a function with a single use is evaluated where it is called.
//!
//! # How it works
//!
//! A *round* evaluates the whole program into a new one: see `engine`. Rounds
//! are repeated, since one may leave a function with a single use that had several
//! before. The last round removes what only speaks to the evaluator: `?e` becomes
//! `false`, `$e` becomes `e`.
//!
//! # Why it ends
//!
//! It need not, by itself: a filter may ask for ever more specialisations. A
//! [`Budget`] counts them; when it is spent, the rest of the program stays as it
//! is and the chain of calls that grew is reported.

mod engine;
mod explain;
mod plan;
mod refs;

use nyala_ir::World;
use nyala_span::{Code, Diagnostic, Name, Span};

use engine::Engine;
pub use explain::{Event, Outcome, Reason};

/// How evaluation is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// When to stop.
    pub budget: Budget,
    /// Whether to record an [`Event`] for each call.
    pub explain: bool,
    /// The last round, which removes what only speaks to the evaluator.
    #[doc(hidden)]
    pub is_final: bool,
}

/// When evaluation stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// How many specialisations a round may make.
    pub specialisations: u64,
    /// How many nodes a round may make.
    pub nodes: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { specialisations: 250_000, nodes: 20_000_000 }
    }
}

/// An evaluated program.
pub struct Evaluated {
    /// The program.
    pub world: World,
    /// What was decided in each round, if asked for.
    pub events: Vec<Vec<Event>>,
    /// What to tell the user.
    pub diagnostics: Vec<Diagnostic>,
}

/// How many rounds there are at most. Each one takes time proportional to the program; what
/// needs more is left as it is.
const MAX_ROUNDS: usize = 32;

/// Evaluates `world`.
///
/// Before: any verified world. After: no call has a filter that holds, or the
/// budget's end was reported; there is no `known`, `hide` or `run` left.
pub fn partial_eval(world: &World, options: Options) -> Evaluated {
    let mut evaluated = evaluate_rounds(world, options);
    evaluated.world = finish(&evaluated.world, options);
    evaluated
}

/// Evaluates `world`, but keeps what speaks to the evaluator: something may
/// become known that leads to more evaluation.
pub fn evaluate_rounds(world: &World, options: Options) -> Evaluated {
    let mut evaluated = Evaluated { world: World::new(), events: vec![], diagnostics: vec![] };
    let mut current = None;
    for _ in 0..MAX_ROUNDS {
        let mut engine = Engine::new(current.as_ref().unwrap_or(world), &options);
        engine.run();
        let (counters, exhausted) = (engine.counters, engine.exhausted.take());
        evaluated.events.push(std::mem::take(&mut engine.events));
        check(&engine.new);
        current = Some(engine.new);
        if let Some(exhausted) = exhausted {
            evaluated.diagnostics.push(exhausted.into_diagnostic(options.budget));
            break;
        }
        if counters == Default::default() {
            break;
        }
    }
    evaluated.world = current.expect("there is at least one round");
    evaluated
}

/// The last round: removes what only speaks to the evaluator, and all that is dead.
pub fn finish(world: &World, options: Options) -> World {
    let options = Options { is_final: true, explain: false, ..options };
    let mut engine = Engine::new(world, &options);
    engine.run();
    check(&engine.new);
    engine.new
}

/// In debug builds, what a round has built must be well-formed.
fn check(world: &World) {
    if cfg!(debug_assertions)
        && let Err(errors) = nyala_ir::verify::verify(world)
    {
        panic!("partial evaluation built a malformed program: {errors}\n{}", nyala_ir::text::print(world));
    }
}

/// The budget is spent.
#[derive(Clone, Debug)]
struct Exhausted {
    /// The calls that led there, innermost first: who is called, from where, and the values of
    /// its fixed parameters.
    chain: Vec<(Name, Span, Vec<Option<String>>)>,
    specialised: u64,
    nodes: u64,
}

impl Exhausted {
    /// How many calls of the chain are kept.
    const MAX_CHAIN: usize = 8;

    fn into_diagnostic(self, budget: Budget) -> Diagnostic {
        let (name, span) =
            self.chain.first().map_or((Name::new("?"), Span::NONE), |&(name, span, _)| (name, span));
        let message = format!("partial evaluation of `{name}` does not come to an end");
        let mut diagnostic = Diagnostic::warning(Code("W0900"), span, message)
            .with_label("this call is specialised again and again")
            .with_note(format!(
                "stopped after {} specialisations and {} nodes (the budget is {} and {}); the rest stays as it is",
                self.specialised, self.nodes, budget.specialisations, budget.nodes
            ));
        for (name, _, fixed) in self.chain.iter().rev() {
            let fixed: Vec<String> =
                fixed.iter().map(|value| value.clone().unwrap_or_else(|| "_".into())).collect();
            diagnostic = diagnostic.with_note(format!("`{name}({})`", fixed.join(", ")));
        }
        diagnostic
    }
}
