//! When evaluation stops: decides whether the limits allow one more specialization.
//!
//! [`Spent`] counts within one round, [`LimitState`] over all rounds. See Note [Why evaluation ends]; `limit_report`
//! writes the message.

use cranelift_entity::packed_option::PackedOption;
use nyala_ir::origin::OriginLimits;
use nyala_ir::{Cont, Def, World};
use nyala_span::{Diagnostic, Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::chains::{Chains, LinkId};
use super::engine::{Call, Engine};
use super::instance::Instance;
use super::limit_report::Step;
use super::rules::{self, Rule};
use super::unfold::UnfoldingId;
use super::{Budget, OnLimit};
use crate::errors;

// Note [Why evaluation ends]
//
// A filter may request ever more specializations, so limits bound their number, their nesting and the growth
// of the program. Each specialization is a link of a chain (`chains`). When a limit is reached:
//
// 1. The functions of the cycle at the end of the chain are reported and *stopped*: their filters are
//    ignored from now on. The unfoldings of the cycle are rolled back, so the cycle becomes a recursion of the
//    residual program. All other functions are specialized as before.
// 2. Each report stops at least one function. After MAX_REPORTS, all functions are stopped.
// 3. If the whole program is too large, or the cycle cannot be rolled back because a part of it
//    is a continuation, the round restarts without the cycle: cleaning up the useless part takes longer than building
//    the rest again. Each restart halves the remaining budget, up to MAX_HALVINGS times, so all attempts
//    together take about twice the time of the first.
// 4. A round may make a value known that lets the next round specialize once more, and chains begin anew in each
//    round. After FREE_ROUNDS, all further rounds together may visit 1/REVISIT_SHARE of the nodes that the program
//    may grow by. Then evaluation ends with a report.
//
// See also Note [Why implicit specialization ends], for what happens without filters.

// Note [Why implicit specialization ends]
//
// Calls are specialized on function arguments without a request (rules 3 and 4), and this may repeat too: a
// function that calls its argument twice, with itself as the argument, doubles the program each time. Three bounds
// hold:
//
// 1. Depth: after MAX_IMPLICIT_DEPTH implicit specializations in a row, a call that has led here before is no
//    longer specialized on functions (`Engine::allows_implicit`), unless its functions nest less deep than before.
//    A program has finitely many calls, and nesting does not decrease forever. A block or return continuation goes
//    on where it was made (`Engine::context_of_copy`), so a sequence of calls, however long, has no depth; a loop
//    that passes ever new functions to its header ends because at most MAX_IMPLICIT_DEPTH specializations of the
//    header are made.
// 2. Number: implicit specializations of functions that are already in the chain may be as many as the requested
//    ones plus the nodes of the program plus 1/IMPLICIT_SHARE of the budget.
// 3. Stopped functions: if a cycle reaches a limit although all its functions are stopped, they are no longer
//    specialized on functions.
//
// The arguments that are not specialized on become closures.

/// The functions of the source that a limit stopped, by place and name: these are the same in all rounds.
pub(super) type FunctionKey = (Span, Name);

/// Which kind of request exceeds a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// A filter, or none.
    Filter,
    /// `@@` at the call.
    Force,
    /// A run of the evaluator.
    Run,
}

/// Which limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    Specializations(u64),
    /// Of implicit specializations in cycles.
    Implicit(u64),
    Growth(u64),
    Depth(u64),
}

/// Whose limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Exceeded {
    /// The function's.
    Function(Limit),
    /// The whole program's.
    Program(Limit),
}

/// After this many reports all functions are stopped.
const MAX_REPORTS: u64 = 8;

/// Runs may nest to this share of the depth: a run looks ahead for the place where it resumes, so one step of it
/// takes as long as this many other steps.
pub(crate) const RUN_SHARE: u64 = 10;

/// Implicit specializations in cycles get this share of the specializations.
pub(crate) const IMPLICIT_SHARE: u64 = 25;

/// How often restarts halve the budget. The rest is for functions that do not repeat.
const MAX_HALVINGS: u32 = 6;

/// The number of rounds that may visit the whole program, whatever its size. Most programs need a few.
const FREE_ROUNDS: usize = 32;

/// Further rounds may visit this share of the nodes that the program may grow by.
const REVISIT_SHARE: u64 = 2;

/// The limits that were reached in all rounds.
#[derive(Default)]
pub(super) struct LimitState {
    /// Functions whose filters are ignored.
    stopped: FxHashSet<FunctionKey>,
    /// Functions that are no longer specialized on functions without a request.
    first_order: FxHashSet<FunctionKey>,
    /// Functions that join them after this round.
    too_deep: FxHashSet<FunctionKey>,
    /// The specializations of finished rounds.
    specialized: u64,
    /// How often a limit was reached.
    n_reports: u64,
    /// How often this round was restarted.
    n_restarts: u32,
    /// The number of finished rounds.
    n_rounds: usize,
    /// The nodes that rounds visited after the free ones.
    revisited: u64,
    /// The function that was specialized last.
    last: Option<FunctionKey>,
    /// The names of functions that are no longer specialized on functions because of their depth.
    deep: Vec<Name>,
    /// Whether evaluation is over: only functions with a single use are still inlined.
    is_over: bool,
    /// The size of the program before evaluation.
    nodes_before: u64,
}

impl LimitState {
    pub(super) fn new(nodes_before: u64) -> LimitState {
        LimitState { nodes_before, ..LimitState::default() }
    }

    pub(super) fn begin_round(&mut self) {
        self.n_restarts = 0;
    }

    pub(super) fn restart_round(&mut self) {
        self.n_restarts += 1;
    }

    /// Counts a round that has built `world` and specialized `last` last.
    pub(super) fn end_round(&mut self, counters: Counters, last: Option<FunctionKey>, world: &World) {
        self.specialized += counters.specialized;
        self.last = last;
        self.n_rounds += 1;
        if self.n_rounds > FREE_ROUNDS {
            self.revisited += world.node_count() as u64;
        }
        let mut names: Vec<Name> = self.too_deep.iter().map(|&(_, name)| name).collect();
        names.sort_by_key(|name| name.as_str());
        names.retain(|name| !self.deep.contains(name));
        self.deep.extend(names);
        self.first_order.extend(self.too_deep.drain());
    }

    /// Whether the filters of a function are ignored.
    pub(super) fn is_stopped(&self, function: FunctionKey) -> bool {
        self.n_reports > 0 && (self.n_reports >= MAX_REPORTS || self.stopped.contains(&function))
    }

    /// Whether a function called `name` was stopped.
    pub(super) fn has_stopped(&self, name: Name) -> bool {
        self.stopped.iter().any(|&(_, other)| other == name)
    }

    /// Whether a function is no longer specialized on functions without a request.
    pub(super) fn is_first_order(&self, function: FunctionKey) -> bool {
        self.first_order.contains(&function)
    }

    /// After this round, the function is no longer specialized on functions without a request.
    pub(super) fn set_too_deep(&mut self, function: FunctionKey) {
        self.too_deep.insert(function);
    }

    /// The report that there may be no more rounds with this limit of growth.
    pub(super) fn too_many_rounds(&self, growth: u64) -> Option<Diagnostic> {
        let is_exceeded = self.revisited > growth / REVISIT_SHARE;
        is_exceeded.then(|| errors::too_many_rounds(self.n_rounds, self.last))
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The names of functions that are no longer specialized on functions because of their depth.
    pub(super) fn deep(&self) -> &[Name] {
        &self.deep
    }

    pub(super) fn specialized(&self) -> u64 {
        self.specialized
    }

    pub(super) fn nodes_before(&self) -> u64 {
        self.nodes_before
    }

    /// The rest of a limit after `used`. Each report leaves more room for functions that have
    /// nothing to do with it; each restart leaves half.
    fn room(&self, limit: u64, used: u64) -> u64 {
        let more = limit.saturating_add(limit / MAX_REPORTS * self.n_reports);
        more.saturating_sub(used) >> self.n_restarts.min(MAX_HALVINGS)
    }
}

/// The work of one round.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    /// New instances made by specializing a call.
    pub specialized: u64,
    /// Calls evaluated in place.
    pub inlined: u64,
    /// Branches whose condition was known.
    pub folded: u64,
    /// Answers to `pe_info` and `pe_assert`.
    pub answered: u64,
}

/// The use of the limits in one round.
#[derive(Default)]
pub(super) struct Spent {
    pub(super) counters: Counters,
    /// Specializations with a request.
    requested: u64,
    /// Implicit specializations of functions that are already in the chain.
    implicit_in_cycles: u64,
    /// The use of functions with their own limits.
    by_function: FxHashMap<Cont, FunctionSpent>,
    must_restart: bool,
    /// The function that was specialized last.
    last: Option<Cont>,
}

/// The use of one function of its own limits.
#[derive(Default)]
struct FunctionSpent {
    specializations: u64,
    nodes: u64,
}

impl Spent {
    /// The function that was specialized last.
    pub(super) fn last(&self) -> Option<Cont> {
        self.last
    }

    /// Whether the round must restart. See Note [Why evaluation ends].
    pub(super) fn must_restart(&self) -> bool {
        self.must_restart
    }

    /// Counts a specialization of a function with limits of its own.
    fn count_link(&mut self, world: &World, old: Cont) {
        if world.origin(old).is_some_and(|origin| origin.limits != OriginLimits::default()) {
            self.by_function.entry(old).or_default().specializations += 1;
        }
    }

    /// Counts nodes that were built for a link.
    pub(super) fn count_nodes(&mut self, chains: &Chains, link: LinkId, nodes: u64) {
        if self.by_function.is_empty() {
            return;
        }
        if let Some(spent) = self.by_function.get_mut(&chains.old_of(link)) {
            spent.nodes += nodes;
        }
    }
}

impl Engine<'_> {
    /// Whether the filters of `old` are ignored.
    pub(super) fn is_stopped(&self, old: Cont) -> bool {
        self.state.limits.is_stopped(self.function_key(old))
    }

    pub(super) fn function_key(&self, old: Cont) -> FunctionKey {
        let data = self.old.cont(old);
        (data.span, data.name)
    }

    /// Adds a call, which is specialized to `instance`, to the current chain.
    pub(super) fn new_link(&mut self, instance: Instance, call: &Call) -> LinkId {
        self.spent.count_link(self.old, instance.old);
        let last = instance.fixed().last().and_then(|last| last.expand()).or(call.args.last().copied());
        let ret = last.filter(|&last| self.is_continuation(last));
        self.chains.add(self.current.context.link, instance, call.span, ret.into())
    }

    /// Adds a call that a run unfolds to the current chain, and makes it the current link.
    pub(super) fn add_run_link(&mut self, instance: Instance, call: &Call) {
        let link = self.new_link(instance, call);
        self.chains.set_run(link);
        self.current.context.link = link.into();
    }

    /// The limit that one more specialization of `old` would exceed.
    fn exceeded(&self, old: Cont, rules: &[Option<Rule>], is_implicit_cycle: bool) -> Option<Exceeded> {
        let own = self.old.origin(old).map_or(OriginLimits::default(), |origin| origin.limits);
        if let Some(limit) = self.exceeded_by_function(old, &own, rules) {
            return Some(Exceeded::Function(limit));
        }
        let Budget { specializations, growth, .. } = self.options.budget;
        let state = &self.state.limits;
        if own.specializations.is_none() {
            let most = state.room(specializations, state.specialized);
            if self.spent.counters.specialized >= most {
                return Some(Exceeded::Program(Limit::Specializations(most)));
            }
            // See Note [Why implicit specialization ends].
            let most = state.room(specializations / IMPLICIT_SHARE, 0);
            let justified = self.spent.requested + state.nodes_before;
            if is_implicit_cycle && self.spent.implicit_in_cycles >= most + justified {
                return Some(Exceeded::Program(Limit::Implicit(self.spent.implicit_in_cycles)));
            }
        }
        let most = state.room(growth, 0);
        (own.growth.is_none() && self.growth() > most).then_some(Exceeded::Program(Limit::Growth(most)))
    }

    /// The limit of the function itself that one more specialization of `old` would exceed. The limit of depth
    /// holds for each function.
    fn exceeded_by_function(&self, old: Cont, own: &OriginLimits, rules: &[Option<Rule>]) -> Option<Limit> {
        let depth = self.options.budget.depth;
        let is_run = rules.contains(&Some(Rule::Run));
        let most = own.depth.unwrap_or(if is_run { depth / RUN_SHARE } else { depth });
        let chain = u64::from(self.chains.depth(self.current.context.link)) + 1;
        // Implicit specializations have a depth of their own.
        if rules::is_requested(rules) && chain > most {
            return Some(Limit::Depth(most));
        }
        let spent = self.spent.by_function.get(&old);
        let specialized = spent.map_or(0, |spent| spent.specializations);
        if let Some(limit) = own.specializations.filter(|&limit| specialized >= limit) {
            return Some(Limit::Specializations(limit));
        }
        let limit = own.growth.filter(|&limit| spent.is_some_and(|spent| spent.nodes > limit))?;
        Some(Limit::Growth(limit))
    }

    /// Whether the limits allow one more specialization of `instance`. If not, reports the limit once and returns
    /// the unfolding to roll back to, if there is one. See Note [Why evaluation ends].
    pub(super) fn may_specialize(
        &mut self,
        instance: &Instance,
        fixed: &[PackedOption<Def>],
        rules: &[Option<Rule>],
        span: Span,
    ) -> Result<(), Option<UnfoldingId>> {
        let is_requested = rules::is_requested(rules);
        let link = self.current.context.link;
        let is_implicit_cycle = !is_requested && self.chains.leads_through(link, instance.old);
        let (limit, is_program) = match self.exceeded(instance.old, rules, is_implicit_cycle) {
            None => {
                self.spent.requested += u64::from(is_requested);
                self.spent.implicit_in_cycles += u64::from(is_implicit_cycle);
                self.spent.last = Some(instance.old);
                return Ok(());
            }
            Some(Exceeded::Function(limit)) => (limit, false),
            Some(Exceeded::Program(limit)) => (limit, true),
        };
        let cycle = self.chains.cycle(link, instance.old);
        let stops = self.options.on_limit == OnLimit::Stop;
        if cycle.iter().all(|&old| self.is_stopped(old)) {
            self.spent.must_restart |= is_program && !stops && self.keep_closures(&cycle);
            return Err(None);
        }
        let last = Step { old: instance.old, fixed: fixed.into(), span, request: rules::request(rules) };
        let report = self.limit_reached(limit, last, &cycle);
        self.state.reports.add_limit(report);
        let begin = self.first_unfolding(&cycle);
        if !is_requested && cycle.iter().all(|&old| self.has_no_filter(old)) {
            self.keep_closures(&cycle);
        }
        let keys: Vec<FunctionKey> = cycle.into_iter().map(|old| self.function_key(old)).collect();
        let state = &mut self.state.limits;
        state.stopped.extend(keys);
        state.n_reports += 1;
        state.is_over |= stops;
        // Only unfoldings can be rolled back.
        self.spent.must_restart |= (is_program || begin.is_none()) && !stops;
        Err(begin)
    }

    /// The outermost unfolding of a cycle at the end of the current chain; none if a part of the cycle is a
    /// continuation.
    fn first_unfolding(&self, cycle: &FxHashSet<Cont>) -> Option<UnfoldingId> {
        let chain = self.chains.chain(self.current.context.link);
        let links = chain.take_while(|&link| cycle.contains(&self.chains.old_of(link)));
        let unfolded: Option<Vec<UnfoldingId>> =
            links.map(|link| self.chains.link(link).unfolding.expand()).collect();
        unfolded.and_then(|unfolded| unfolded.last().copied())
    }

    /// From now on, `functions` are not specialized on functions without a request; whether that is new for any.
    fn keep_closures(&mut self, functions: &FxHashSet<Cont>) -> bool {
        let keys: Vec<FunctionKey> = functions.iter().map(|&old| self.function_key(old)).collect();
        let first_order = &mut self.state.limits.first_order;
        let before = first_order.len();
        first_order.extend(keys);
        first_order.len() > before
    }

    /// Whether no filter of `old` can hold.
    pub(super) fn has_no_filter(&self, old: Cont) -> bool {
        self.old.cont(old).filter.iter().all(|&filter| self.old.as_lit(filter) == Some(0))
    }

    /// How much the program has grown. Each step of a run counts as a node, even if nothing is left of it.
    fn growth(&self) -> u64 {
        let size = self.new.node_count() as u64 + self.runs.steps();
        size.saturating_sub(self.state.limits.nodes_before)
    }

    /// Whether the program has grown so much that runs must stop.
    pub(super) fn exceeds_growth(&self) -> bool {
        self.growth() > self.options.budget.growth
    }
}
