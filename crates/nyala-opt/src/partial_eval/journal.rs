//! Records the decision of the evaluator at each call, if [`Options::explain`](super::Options::explain) is set.
//!
//! # Invariants
//!
//! * Recording changes nothing about evaluation.
//! * Specializations are counted over all rounds. [Kept](Outcome::Kept) calls are those of the
//!   last round: a later round may specialize a call that an earlier one kept.

use nyala_ir::analysis::references::reachable;
use nyala_ir::{Cont, Def, Mark, World};
use nyala_span::{Name, Span};
use rustc_hash::FxHashMap;

use super::engine::{Call, Engine};
use super::explain::{Explanation, Outcome, ParamAnswer, Reason, Site, Variant};
use super::instance::{Instance, merge};
use super::rules::Rule;
use super::show;

/// A site of the journal.
pub(super) type SiteId = u32;

/// The sites of all rounds.
#[derive(Clone, Default)]
pub(super) struct Journal {
    index: FxHashMap<(Span, Span), SiteId>,
    sites: Vec<Site>,
    /// The nodes built for each site in this round.
    nodes: Vec<u64>,
    /// The same in order, since they may be dropped.
    built: Vec<Built>,
}

/// Nodes that were built for a site.
#[derive(Clone, Copy)]
struct Built {
    site: SiteId,
    /// The continuation whose body has them. The entries of one body are successive.
    target: Cont,
    nodes: u64,
}

impl Journal {
    /// Starts a round: it decides again about the calls that an earlier round has kept.
    pub fn begin_round(&mut self) {
        self.finish_nodes();
        self.built.clear();
        for site in &mut self.sites {
            site.kept = 0;
            site.variants.retain(|variant| variant.outcome != Outcome::Kept);
        }
    }

    /// Restarts a round: restores the journal from `before` the round, except that the specializations of stopped
    /// functions count as rolled back.
    pub fn restart_round(&mut self, before: Journal, is_stopped: impl Fn(Name) -> bool) {
        let dropped = std::mem::replace(self, before);
        for mut site in dropped.sites.into_iter().filter(|site| is_stopped(site.callee)) {
            let known = self.index.get(&(site.span, site.declared)).copied();
            let before = known.map(|id| &self.sites[id as usize]);
            let done = before.map_or(0, |site| site.specialized.saturating_sub(site.rolled_back));
            let unfolded = before.map_or(0, |site| site.unfolded);
            site.rolled_back = site.specialized.saturating_sub(done) + site.unfolded.saturating_sub(unfolded);
            site.specialized += site.unfolded.saturating_sub(unfolded);
            site.unfolded = unfolded;
            site.nodes = before.map_or(0, |site| site.nodes);
            match known {
                Some(id) => self.sites[id as usize] = site,
                None => {
                    self.index.insert((site.span, site.declared), self.sites.len() as SiteId);
                    self.sites.push(site);
                    self.nodes.push(0);
                }
            }
        }
    }

    /// Counts nodes that were built for a site, in the body of `target`.
    pub fn add_nodes(&mut self, site: SiteId, target: Cont, nodes: u64) {
        self.nodes[site as usize] += nodes;
        self.built.push(Built { site, target, nodes });
    }

    /// The number of entries of [`Journal::add_nodes`].
    pub fn n_built(&self) -> usize {
        self.built.len()
    }

    /// Removes the nodes of `target` from the entry `first` on.
    pub fn drop_nodes(&mut self, first: usize, target: Cont) {
        let built = self.built.iter_mut().skip(first);
        for Built { site, nodes, .. } in built.take_while(|built| built.target == target) {
            self.nodes[*site as usize] -= std::mem::take(nodes);
        }
    }

    /// Counts a specialization for a site that was rolled back.
    pub fn roll_back(&mut self, site: SiteId) {
        self.sites[site as usize].rolled_back += 1;
    }

    /// The explanation for a program of `before` nodes that is now `after`.
    pub fn explanation(mut self, before: u64, after: &World) -> Explanation {
        self.finish_nodes();
        // A site that only a restarted round has seen has no counts.
        self.sites
            .retain(|site| site.specialized + site.reused + site.inlined + site.unfolded + site.kept > 0);
        self.sites.sort_by_key(|site| (site.span, site.declared));
        Explanation { sites: self.sites, nodes_before: before, nodes_after: size(after) }
    }

    /// Adds up a round. Later rounds build the same nodes again, so the largest count is kept.
    fn finish_nodes(&mut self) {
        for (site, nodes) in self.sites.iter_mut().zip(&mut self.nodes) {
            site.nodes = site.nodes.max(std::mem::take(nodes));
        }
    }

    fn site(&mut self, world: &World, span: Span, callee: Cont) -> Option<SiteId> {
        let origin = world.origin(callee).filter(|_| !span.is_none())?;
        let id = *self.index.entry((span, origin.span)).or_insert_with(|| {
            self.nodes.push(0);
            self.sites.push(Site {
                span,
                callee: origin.name,
                declared: origin.span,
                body: origin.body,
                variants: vec![],
                specialized: 0,
                rolled_back: 0,
                reused: 0,
                inlined: 0,
                unfolded: 0,
                kept: 0,
                nodes: 0,
            });
            (self.sites.len() - 1) as SiteId
        });
        Some(id)
    }
}

/// The number of reachable nodes of a program.
pub(super) fn size(world: &World) -> u64 {
    reachable(world).len() as u64
}

impl Engine<'_> {
    /// Records the decision at a call; returns the site.
    pub(super) fn record(
        &mut self,
        instance: &Instance,
        call: &Call,
        rules: &[Option<Rule>],
        outcome: Outcome,
    ) -> Option<SiteId> {
        if !self.options.explain {
            return None;
        }
        let id = self.state.journal.site(self.old, call.span, instance.old)?;
        let site = &mut self.state.journal.sites[id as usize];
        match outcome {
            Outcome::Specialized => site.specialized += 1,
            Outcome::Reused | Outcome::Looped => site.reused += 1,
            Outcome::Inlined => site.inlined += 1,
            Outcome::Unfolded => site.unfolded += 1,
            Outcome::Kept => site.kept += 1,
        }
        // A function that has lost parameters was specialized before, and that was recorded.
        let data = self.old.cont(instance.old);
        let arity = self.old.origin(instance.old).map_or(0, |origin| origin.arity);
        let was_specialized = outcome == Outcome::Kept && data.params.len() < arity;
        let is_full = site.variants.len() >= Site::MAX_VARIANTS;
        if was_specialized || is_full {
            site.kept -= u64::from(was_specialized);
            return Some(id);
        }
        let params = match outcome {
            Outcome::Inlined => vec![],
            _ => self.answers(instance, call, rules),
        };
        let variant = Variant { outcome, params, times: 1 };
        let variants = &mut self.state.journal.sites[id as usize].variants;
        let same = |old: &&mut Variant| old.outcome == outcome && old.params == variant.params;
        match variants.iter_mut().find(same) {
            Some(old) => old.times += 1,
            None => variants.push(variant),
        }
        Some(id)
    }

    /// For each argument of a call, whether the call is specialized on it and why.
    pub(super) fn answers(
        &mut self,
        instance: &Instance,
        call: &Call,
        rules: &[Option<Rule>],
    ) -> Vec<ParamAnswer> {
        let old = self.old;
        let data = old.cont(instance.old);
        let all_args = merge(instance.fixed(), &call.args);
        let mem = self.new.types.mem();
        let mut answers = vec![];
        let open = (0..instance.fixed().len()).filter(|&index| instance.fixed()[index].is_none());
        for (position, index) in open.enumerate() {
            let arg = call.args[position];
            let is_return = index + 1 == data.params.len() && self.is_continuation(arg);
            let rule = rules.get(position).copied().flatten();
            if self.new.ty(arg) == mem || (is_return && rule != Some(Rule::Continuation)) {
                continue;
            }
            let name = match old.name(data.params[index]) {
                Some(name) => name.to_string(),
                None if index + 1 == data.params.len() => "return".into(),
                None => format!("parameter {index}"),
            };
            let reason = match rule {
                Some(Rule::Forced) => Reason::Forced,
                Some(Rule::Filter) => Reason::Filter { at: self.filter_span(instance, index) },
                Some(Rule::HigherOrder) => Reason::HigherOrder,
                Some(Rule::Continuation) => Reason::Continuation,
                Some(Rule::Run) => Reason::Run,
                None if call.mark == Some(Mark::Halt) => Reason::Halted,
                // Rule 3 applies to functions unless a limit was reached.
                None if self.is_function(arg) => Reason::Limit,
                None => self.why_not(instance, index, &all_args),
            };
            answers.push(ParamAnswer { name, value: self.show(arg), reason });
        }
        answers
    }

    /// A value as source text.
    pub(super) fn show(&self, def: Def) -> String {
        show::value(&self.new, def, self)
    }

    pub(super) fn filter_span(&self, instance: &Instance, index: usize) -> Span {
        let name = self.old.name(self.old.cont(instance.old).params[index]);
        self.old.origin(instance.old).and_then(|origin| origin.filter_of(name)).unwrap_or(Span::NONE)
    }
}
