//! How far evaluation goes, and what is said where it ends.
//!
//! Each specialisation remembers the one whose evaluation asked for it: a chain. A
//! limit that is reached is reported with the part of the chain that goes round in circles.
//! The functions of that circle are then no longer specialised because of filters, what was unfolded
//! of it is taken back, and evaluation goes on: the circle becomes a recursion of the residual program,
//! and all that has nothing to do with it is specialised as before. Every report takes at least one
//! function out, and after `MAX_REPORTS` no filter is followed any more, so it ends.
//!
//! If the program as a whole has become too large, or what the circle has made cannot be taken back, most of it is useless. To clean that up, and to compile it, would take
//! much longer than it took to make it, so the round begins once more, without the circle. Each time half as much is allowed, so that
//! all attempts together take about twice as long as the first.
//!
//! Functions are specialised on functions without anybody asking, and that may go round in circles too: a function that calls what it is
//! given twice, given itself, and so on, makes twice as much each time. If that becomes much more than what was asked for and than the program, or if a circle comes to
//! a limit although its filters are not followed, its functions are no longer specialised on functions; these are closures then.

use cranelift_entity::entity_impl;
use cranelift_entity::packed_option::PackedOption;
use nyala_ir::origin::OriginLimits;
use nyala_ir::{Cont, Def};
use nyala_span::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::Rule;
use super::engine::Engine;
use super::instance::Instance;
use super::unfold::UnfoldingId;
use super::{Budget, OnLimit};
use crate::errors::LimitReached;

/// One step of a chain of specialisations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LinkId(u32);
entity_impl!(LinkId, "link");

/// A specialisation and what asked for it.
pub(super) struct Link {
    /// The specialisation.
    pub(super) instance: Instance,
    /// What was evaluated when it was asked for.
    from: PackedOption<LinkId>,
    /// The call.
    pub(super) span: Span,
    /// How it was unfolded, if it was.
    pub(super) unfolding: PackedOption<UnfoldingId>,
    /// How many steps there are up to here.
    depth: u32,
    /// Whether a run asked for it.
    is_run: bool,
}

/// A specialised call.
struct Step {
    old: Cont,
    fixed: Box<[PackedOption<Def>]>,
    span: Span,
    asked: Asked,
}

/// Who asks for a specialisation that goes beyond a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// A filter, or nobody.
    Filter,
    /// `@@` at the call.
    Force,
    /// A run of the evaluator.
    Run,
}

/// How much of a limit a function has used.
#[derive(Default)]
pub(super) struct Used {
    specialisations: u64,
    nodes: u64,
}

/// Which limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    Specialisations(u64),
    /// Of specialisations that nobody asked for, in circles.
    Unasked(u64),
    Growth(u64),
    Depth(u64),
}

/// Whose limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    /// The function's.
    Own(Limit),
    /// The whole program's.
    Program(Limit),
}

/// After so many reports no filter is followed any more.
pub(super) const MAX_REPORTS: u64 = 8;

/// A run looks ahead for where it goes on, so a step of one takes as long as this many others: it may go to this share of the depth.
pub(crate) const RUN_SHARE: u64 = 10;

/// What nobody asked for and goes round in circles gets this share of the specialisations.
pub(crate) const UNASKED_SHARE: u64 = 25;

/// So often is what is allowed halved: some room is left for all that is well-behaved.
const MAX_HALVINGS: u32 = 6;

/// A circle has at most so many calls.
const MAX_CIRCLE: usize = 64;

impl Engine<'_> {
    /// Whether filters are no longer followed for calls of `old`.
    pub(super) fn is_stopped(&self, old: Cont) -> bool {
        self.state.is_stopped(self.key(old))
    }

    /// What a function is known by in all rounds.
    fn key(&self, old: Cont) -> (Span, Name) {
        let data = self.old.cont(old);
        (data.span, data.name)
    }

    /// The limit that one more specialisation of `old` would exceed.
    fn exceeded(&self, old: Cont, rules: &[Option<Rule>], is_unasked_circle: bool) -> Option<Whose> {
        let Budget { specialisations, growth, depth } = self.options.budget;
        let own = self.old.origin(old).map_or(OriginLimits::default(), |origin| origin.limits);
        let used = self.used.get(&old);
        let chain = u64::from(self.chain_len()) + 1;
        let is_run = rules.contains(&Some(Rule::Run));
        let own_depth = own.depth.unwrap_or(if is_run { depth / RUN_SHARE } else { depth });
        // What nobody asked for has a depth of its own, which ends quietly.
        if is_asked(rules) && chain > own_depth {
            return Some(Whose::Own(Limit::Depth(own_depth)));
        }
        let own_uses = used.map_or(0, |used| used.specialisations);
        if let Some(limit) = own.specialisations.filter(|&limit| own_uses >= limit) {
            return Some(Whose::Own(Limit::Specialisations(limit)));
        }
        if let Some(limit) = own.growth.filter(|&limit| used.is_some_and(|used| used.nodes > limit)) {
            return Some(Whose::Own(Limit::Growth(limit)));
        }
        // A report frees some room for all that has nothing to do with it.
        let more = |limit: u64| limit.saturating_add(limit / MAX_REPORTS * self.state.n_reports);
        let room =
            |limit: u64, used: u64| more(limit).saturating_sub(used) >> self.state.attempts.min(MAX_HALVINGS);
        let made = self.counters.specialised;
        if own.specialisations.is_none() {
            let most = room(specialisations, self.state.specialised);
            if made >= most {
                return Some(Whose::Program(Limit::Specialisations(most)));
            }
            let most = room(specialisations / UNASKED_SHARE, 0);
            let justified = self.asked + self.state.nodes_before;
            if is_unasked_circle && self.unasked_circles >= most + justified {
                return Some(Whose::Program(Limit::Unasked(self.unasked_circles)));
            }
        }
        let most = room(growth, 0);
        (own.growth.is_none() && self.grown() > most).then_some(Whose::Program(Limit::Growth(most)))
    }

    /// Whether a call of `instance` may be specialised once more; reports if not, and says what
    /// was unfolded in vain.
    pub(super) fn may_specialise(
        &mut self,
        instance: &Instance,
        fixed: &[PackedOption<Def>],
        rules: &[Option<Rule>],
        span: Span,
    ) -> Result<(), Option<UnfoldingId>> {
        let is_unasked_circle = !is_asked(rules) && self.leads_to_itself(instance.old);
        let (limit, is_whole) = match self.exceeded(instance.old, rules, is_unasked_circle) {
            None => {
                self.asked += u64::from(is_asked(rules));
                self.unasked_circles += u64::from(is_unasked_circle);
                return Ok(());
            }
            Some(Whose::Own(limit)) => (limit, false),
            Some(Whose::Program(limit)) => (limit, true),
        };
        let circle = self.circle(instance.old);
        let stops = self.options.on_limit == OnLimit::Stop;
        if circle.iter().all(|&old| self.is_stopped(old)) {
            self.is_in_vain |= is_whole && !stops && self.keep_closures(&circle);
            return Err(None);
        }
        let asked = if rules.contains(&Some(Rule::Run)) {
            Asked::Run
        } else if rules.contains(&Some(Rule::Forced)) {
            Asked::Force
        } else {
            Asked::Filter
        };
        let last = Step { old: instance.old, fixed: fixed.into(), span, asked };
        let report = self.limit_reached(limit, last, &circle);
        self.state.diagnostics.push(report.diagnostic());
        let links = self.chain().take_while(|&link| circle.contains(&self.old_of(link)));
        let unfolded: Option<Vec<UnfoldingId>> =
            links.map(|link| self.links[link].unfolding.expand()).collect();
        let begin = unfolded.and_then(|unfolded| unfolded.last().copied());
        if !is_asked(rules) && circle.iter().all(|&old| self.has_no_filter(old)) {
            self.keep_closures(&circle);
        }
        let keys: Vec<_> = circle.into_iter().map(|old| self.key(old)).collect();
        self.state.stopped.extend(keys);
        self.state.n_reports += 1;
        self.state.is_over |= stops;
        // Only what was unfolded can be taken back.
        self.is_in_vain |= (is_whole || begin.is_none()) && !stops;
        Err(begin)
    }

    /// Functions that are no longer specialised on functions; whether any of them was before.
    fn keep_closures(&mut self, functions: &FxHashSet<Cont>) -> bool {
        let before = self.state.deep_enough.len();
        let keys: Vec<_> = functions.iter().map(|&old| self.key(old)).collect();
        self.state.deep_enough.extend(keys);
        self.state.deep_enough.len() > before
    }

    /// Whether nothing in the source asks for specialisations of `old`.
    fn has_no_filter(&self, old: Cont) -> bool {
        self.old.cont(old).filter.iter().all(|&filter| self.old.as_lit(filter) == Some(0))
    }

    /// Whether the chain goes through `old` already.
    fn leads_to_itself(&self, old: Cont) -> bool {
        self.chain().take(MAX_CIRCLE).any(|link| self.old_of(link) == old)
    }

    /// How much the program has grown. What runs unfold counts, even if nothing is left of it.
    fn grown(&self) -> u64 {
        let size = self.new.node_count() as u64 + self.runs.steps;
        size.saturating_sub(self.state.nodes_before)
    }

    /// Whether the program has grown so much that nothing more is unfolded.
    pub(super) fn is_run_too_long(&self) -> bool {
        self.grown() > self.options.budget.growth
    }

    /// How long the chain is that led to `cont`.
    pub(super) fn link_depth(&self, cont: Cont) -> u32 {
        self.link_of[cont].expand().map_or(0, |link| self.links[link].depth)
    }

    /// How long the current chain is.
    fn chain_len(&self) -> u32 {
        self.link.expand().map_or(0, |link| self.links[link].depth)
    }

    /// The instance that a step of the chain leads to.
    pub(super) fn instance_at(&self, link: LinkId) -> Instance {
        self.links[link].instance.clone()
    }

    /// Puts a call that a run unfolds at the end of the current chain, and goes on with that.
    pub(super) fn add_run_link(&mut self, instance: Instance, span: Span) {
        let link = self.new_link(instance, span);
        self.links[link].is_run = true;
        self.link = link.into();
    }

    /// A link at the end of the current chain.
    pub(super) fn new_link(&mut self, instance: Instance, span: Span) -> LinkId {
        let depth = self.chain_len() + 1;
        let old = instance.old;
        if self.old.origin(old).is_some_and(|origin| origin.limits != OriginLimits::default()) {
            self.used.entry(old).or_default().specialisations += 1;
        }
        self.links.push(Link {
            instance,
            from: self.link,
            span,
            unfolding: None.into(),
            depth,
            is_run: false,
        })
    }

    /// Nodes were built for the current specialisation.
    pub(super) fn count_nodes(&mut self, nodes: u64) {
        let Some(link) = self.link.expand().filter(|_| !self.used.is_empty()) else { return };
        let old = self.old_of(link);
        if let Some(used) = self.used.get_mut(&old) {
            used.nodes += nodes;
        }
    }

    /// What to say about the circle of calls that `last` would go on with.
    fn limit_reached(&self, limit: Limit, last: Step, circle: &FxHashSet<Cont>) -> LimitReached {
        let mut chain: Vec<LinkId> = self.chain().collect();
        let mut last = last;
        // A call that leaves the circle is not to blame: the one before it is.
        while !circle.contains(&last.old) && !chain.is_empty() {
            last = self.step(chain.remove(0));
        }
        let length = chain.iter().take_while(|&&link| circle.contains(&self.old_of(link))).count();
        // The calls that lead into the circle, from the inside out.
        let entries = chain.iter().skip(length.saturating_sub(1)).map(|&link| self.links[link].span);
        let same = chain[..length].iter().copied().filter(|&link| self.old_of(link) == last.old);
        let same: Vec<LinkId> = same.collect();
        let first = same.iter().rev().take(SHOWN_CALLS).map(|&link| self.step(link).fixed);
        let calls = first.chain([last.fixed.clone()]).map(|fixed| self.shown_values(&fixed)).collect();
        let names = chain[..length].iter().rev().take(SHOWN_CALLS + 1).map(|&link| self.old_of(link));
        let data = self.old.cont(last.old);
        let name = |param: &Def| self.old.name(*param).map_or_else(|| "_".into(), |name| name.to_string());
        LimitReached {
            limit,
            stops: self.options.on_limit == OnLimit::Stop,
            function: self.name_of(last.old),
            call: last.span,
            filter: self.asking_filter(&last),
            leader: self.leader(),
            asked: last.asked,
            entries: entries.take(SHOWN_ENTRIES).collect(),
            params: data.params.iter().map(name).collect(),
            calls,
            n_calls: same.len() + 1,
            circle: names.map(|old| self.name_of(old)).collect(),
        }
    }

    /// The filter of the first parameter that a step is specialised on and that has one.
    fn asking_filter(&self, step: &Step) -> Option<Span> {
        let origin = self.old.origin(step.old).filter(|_| step.asked == Asked::Filter)?;
        let params = self.old.cont(step.old).params.iter().zip(&step.fixed);
        let fixed = params.filter(|(_, fixed)| fixed.is_some());
        fixed.filter_map(|(&param, _)| origin.filter_of(self.old.name(param))).next()
    }

    /// The innermost function with a filter that the chain goes through more than once, and a filter of it.
    fn leader(&self) -> Option<(Name, Span)> {
        let mut seen = FxHashSet::default();
        let asking = self.chain().map(|link| self.old_of(link)).filter(|&old| !self.has_no_filter(old));
        let leader = asking.into_iter().find(|&old| !seen.insert(old))?;
        let origin = self.old.origin(leader)?;
        let params = self.old.cont(leader).params.iter();
        let filter = params.filter_map(|&param| origin.filter_of(self.old.name(param))).next()?;
        Some((origin.name, filter))
    }

    /// The calls that a place is executed in, from the inside out, and the one that evaluation came by before:
    /// the chain has calls too that have returned already, since what comes behind them is evaluated
    /// as a part of them, and has none that were evaluated on the spot.
    pub(super) fn calls_around(&self, place: Span) -> (Vec<Span>, Option<Span>) {
        let (mut calls, mut before) = (vec![], None);
        for link in self.chain() {
            let Link { instance, span, .. } = &self.links[link];
            let body = self.old.origin(instance.old).map_or(Span::NONE, |origin| origin.body);
            if body.contains(calls.last().unwrap_or(&place).lo) {
                calls.push(*span);
                before = None;
            } else if before.is_none_or(|before: Span| body.contains(before.lo)) {
                // The outer one of two calls says more: it is nearer to the user.
                before = Some(*span);
            }
        }
        (calls, before)
    }

    /// The current chain, from the inside out.
    fn chain(&self) -> impl Iterator<Item = LinkId> + '_ {
        std::iter::successors(self.link.expand(), |&link| self.links[link].from.expand())
    }

    fn old_of(&self, link: LinkId) -> Cont {
        self.links[link].instance.old
    }

    fn step(&self, link: LinkId) -> Step {
        let Link { instance, span, is_run, .. } = &self.links[link];
        let asked = if *is_run { Asked::Run } else { Asked::Filter };
        Step { old: instance.old, fixed: instance.fixed().into(), span: *span, asked }
    }

    /// What the source calls a continuation of the old program.
    fn name_of(&self, old: Cont) -> Name {
        self.old.origin(old).map_or(self.old.cont(old).name, |origin| origin.name)
    }

    fn shown_values(&self, fixed: &[PackedOption<Def>]) -> Vec<Option<String>> {
        fixed.iter().map(|fixed| fixed.expand().map(|def| self.show(def))).collect()
    }

    /// The functions that the end of the chain goes through again and again; `last` if
    /// there are none.
    pub(super) fn circle(&self, last: Cont) -> FxHashSet<Cont> {
        let mut counts: FxHashMap<Cont, usize> = FxHashMap::default();
        let recent = self.chain().take(MAX_CIRCLE).map(|link| self.old_of(link));
        recent.chain([last]).for_each(|old| *counts.entry(old).or_default() += 1);
        let repeated: FxHashSet<Cont> =
            counts.into_iter().filter(|&(_, count)| count > 1).map(|(old, _)| old).collect();
        if repeated.is_empty() { FxHashSet::from_iter([last]) } else { repeated }
    }
}

/// Whether somebody asks for a specialisation.
fn is_asked(rules: &[Option<Rule>]) -> bool {
    rules.iter().any(|rule| matches!(rule, Some(Rule::Forced | Rule::Filter | Rule::Run)))
}

/// How many calls of a circle are shown with their values, besides the last.
const SHOWN_CALLS: usize = 4;

/// How many of the calls that lead to a circle are shown.
const SHOWN_ENTRIES: usize = 3;
