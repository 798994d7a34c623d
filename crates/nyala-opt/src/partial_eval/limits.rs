//! How far evaluation goes, and what is said where it ends.
//!
//! Each specialisation remembers the one whose evaluation asked for it: a chain. A
//! limit that is reached is reported with the part of the chain that goes round in circles.
//! The functions of that circle are then no longer specialised because of filters, and
//! evaluation goes on: the circle becomes a recursion of the residual program, and all that has
//! nothing to do with it is specialised as before. Every report takes at least one
//! function out, and only [`MAX_REPORTS`] are made before evaluation stops altogether, so it ends.

use cranelift_entity::entity_impl;
use cranelift_entity::packed_option::PackedOption;
use nyala_ir::origin::OriginLimits;
use nyala_ir::{Cont, Def};
use nyala_span::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::engine::{Engine, Instance, Rule};
use super::{Budget, OnLimit};
use crate::errors::LimitReached;

/// One step of a chain of specialisations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LinkId(u32);
entity_impl!(LinkId, "link");

/// A specialisation and what asked for it.
pub(super) struct Link {
    /// The specialisation.
    clone: Cont,
    /// What was evaluated when it was asked for.
    from: PackedOption<LinkId>,
    /// The call.
    span: Span,
    /// How many steps there are up to here.
    depth: u64,
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
    Growth(u64),
    Depth(u64),
}

/// After so many reports evaluation stops altogether.
const MAX_REPORTS: u64 = 8;

/// A circle has at most so many calls.
const MAX_CIRCLE: usize = 64;

impl Engine<'_> {
    /// Whether filters are no longer followed for calls of `old`.
    pub(super) fn is_stopped(&self, old: Cont) -> bool {
        let data = self.old.cont(old);
        !self.state.stopped.is_empty() && self.state.stopped.contains(&(data.span, data.name))
    }

    /// The limit that one more specialisation of `old` would exceed.
    fn exceeded(&self, old: Cont) -> Option<Limit> {
        let Budget { specialisations, growth, depth } = self.options.budget;
        let own = self.old.origin(old).map_or(OriginLimits::default(), |origin| origin.limits);
        let used = self.used.get(&old);
        // A report frees some room for all that has nothing to do with it.
        let more = |limit: u64| limit.saturating_add(limit / MAX_REPORTS * self.state.n_reports);
        let chain = self.link.expand().map_or(0, |link| self.links[link].depth) + 1;
        let grown = (self.new.node_count() as u64).saturating_sub(self.state.nodes_before);
        let own_depth = own.depth.unwrap_or(depth);
        if chain > own_depth {
            return Some(Limit::Depth(own_depth));
        }
        let own_uses = used.map_or(0, |used| used.specialisations);
        if let Some(limit) = own.specialisations.filter(|&limit| own_uses >= limit) {
            return Some(Limit::Specialisations(limit));
        }
        if let Some(limit) = own.growth.filter(|&limit| used.is_some_and(|used| used.nodes > limit)) {
            return Some(Limit::Growth(limit));
        }
        if own.specialisations.is_none() && self.counters.specialised >= more(specialisations) {
            return Some(Limit::Specialisations(specialisations));
        }
        (own.growth.is_none() && grown > more(growth)).then_some(Limit::Growth(growth))
    }

    /// Whether a call of `instance` may be specialised once more; reports if not.
    pub(super) fn may_specialise(
        &mut self,
        instance: &Instance,
        fixed: &[Option<Def>],
        rules: &[Option<Rule>],
        span: Span,
    ) -> bool {
        let Some(limit) = self.exceeded(instance.old) else { return true };
        if self.state.n_reports < MAX_REPORTS {
            self.report_limit(limit, instance, fixed, rules, span);
        }
        self.state.n_reports += 1;
        if self.options.on_limit == OnLimit::Stop || self.state.n_reports >= MAX_REPORTS {
            self.state.is_over = true;
        }
        false
    }

    /// Puts a new specialisation at the end of the current chain.
    pub(super) fn add_link(&mut self, clone: Cont, old: Cont, span: Span) {
        let depth = self.link.expand().map_or(0, |link| self.links[link].depth) + 1;
        self.link_of[clone] = self.links.push(Link { clone, from: self.link, span, depth }).into();
        if self.old.origin(old).is_some_and(|origin| origin.limits != OriginLimits::default()) {
            self.used.entry(old).or_default().specialisations += 1;
        }
    }

    /// Nodes were built for the current specialisation.
    pub(super) fn count_nodes(&mut self, nodes: u64) {
        let Some(link) = self.link.expand().filter(|_| !self.used.is_empty()) else { return };
        let old = self.old_of(link);
        if let Some(used) = self.used.get_mut(&old) {
            used.nodes += nodes;
        }
    }

    fn report_limit(
        &mut self,
        limit: Limit,
        instance: &Instance,
        fixed: &[Option<Def>],
        rules: &[Option<Rule>],
        span: Span,
    ) {
        let chain: Vec<LinkId> = self.chain().collect();
        let circle = self.circle(&chain, instance.old);
        for &old in &circle {
            let data = self.old.cont(old);
            self.state.stopped.insert((data.span, data.name));
        }
        let is_inside = |engine: &Self, link: LinkId| circle.contains(&engine.old_of(link));
        let length = chain.iter().take_while(|&&link| is_inside(self, link)).count();
        // The calls that lead into the circle, from the inside out.
        let entries: Vec<Span> =
            chain.iter().skip(length.saturating_sub(1)).map(|&link| self.links[link].span).take(3).collect();
        let same: Vec<LinkId> =
            chain[..length].iter().copied().filter(|&link| self.old_of(link) == instance.old).collect();
        let mut calls: Vec<Vec<Option<String>>> = Vec::new();
        for &link in same.iter().rev().take(SHOWN_CALLS) {
            calls.push(self.shown_values(&self.fixed_of(link)));
        }
        let n_calls = same.len() + 1;
        calls.push(self.shown_values(fixed));
        let names: Vec<Name> =
            chain[..length].iter().rev().take(SHOWN_CALLS + 1).map(|&link| self.name_of(link)).collect();
        let (origin, params) = (self.old.origin(instance.old), &self.old.cont(instance.old).params);
        let params: Vec<String> = params
            .iter()
            .map(|&param| self.old.name(param).map_or_else(|| "_".into(), |name| name.to_string()))
            .collect();
        let filters: Vec<Span> = match rules.contains(&Some(Rule::Filter)) {
            true => {
                let open = (0..fixed.len()).filter(|&index| instance.fixed[index].is_none());
                let asked = open.zip(rules).filter(|(_, rule)| **rule == Some(Rule::Filter));
                let name = |index: usize| self.old.name(self.old.cont(instance.old).params[index]);
                asked.filter_map(|(index, _)| origin?.filter_of(name(index))).collect()
            }
            false => vec![],
        };
        let report = LimitReached {
            limit,
            stops: self.options.on_limit == OnLimit::Stop,
            function: origin.map_or(self.old.cont(instance.old).name, |origin| origin.name),
            call: span,
            filter: filters.first().copied(),
            is_forced: rules.contains(&Some(Rule::Forced)),
            entries,
            params,
            calls,
            n_calls,
            circle: names,
        };
        self.state.diagnostics.push(report.diagnostic());
    }

    /// The current chain, from the inside out.
    fn chain(&self) -> impl Iterator<Item = LinkId> + '_ {
        std::iter::successors(self.link.expand(), |&link| self.links[link].from.expand())
    }

    fn old_of(&self, link: LinkId) -> Cont {
        self.instance(self.links[link].clone).expect("specialisations are instances").old
    }

    fn fixed_of(&self, link: LinkId) -> Box<[Option<Def>]> {
        self.instance(self.links[link].clone).expect("specialisations are instances").fixed.clone()
    }

    fn name_of(&self, link: LinkId) -> Name {
        let old = self.old_of(link);
        self.old.origin(old).map_or(self.old.cont(old).name, |origin| origin.name)
    }

    fn shown_values(&self, fixed: &[Option<Def>]) -> Vec<Option<String>> {
        fixed.iter().map(|fixed| fixed.map(|def| self.show(def))).collect()
    }

    /// The functions that the end of a chain goes through again and again.
    fn circle(&self, chain: &[LinkId], last: Cont) -> FxHashSet<Cont> {
        let mut counts: FxHashMap<Cont, usize> = FxHashMap::default();
        *counts.entry(last).or_default() += 1;
        for &link in chain.iter().take(MAX_CIRCLE) {
            *counts.entry(self.old_of(link)).or_default() += 1;
        }
        counts.into_iter().filter(|&(cont, count)| count > 1 || cont == last).map(|(cont, _)| cont).collect()
    }
}

/// How many calls of a circle are shown with their values, besides the last.
const SHOWN_CALLS: usize = 4;
