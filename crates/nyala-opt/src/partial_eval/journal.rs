//! Writes down what the evaluator does at each call, if it is asked to.
//!
//! # Invariants
//!
//! * Recording changes nothing about evaluation.
//! * Specialisations are counted over all rounds; what is [kept](Outcome::Kept) is what the
//!   last round left, since a later round may do what an earlier one could not.

use nyala_ir::analysis::references::reachable;
use nyala_ir::origin::Origin;
use nyala_ir::{Cont, Def, Linkage, Mark, Node, World};
use nyala_span::{Name, Span};
use rustc_hash::FxHashMap;

use super::calls::Rule;
use super::engine::{Call, Engine};
use super::env::Env;
use super::explain::{Explanation, Outcome, ParamAnswer, Reason, Site, Source, Unknown, Variant};
use super::instance::{Instance, merge};
use super::show::{self, Context};
use super::values::Mode;

/// A site of the journal.
pub(super) type SiteId = u32;

/// The sites of all rounds.
#[derive(Clone, Default)]
pub(super) struct Journal {
    index: FxHashMap<(Span, Span), SiteId>,
    sites: Vec<Site>,
    /// The nodes built for each site in this round.
    nodes: Vec<u64>,
    /// The same one after the other, since they may turn out to be in vain.
    built: Vec<Built>,
}

/// Nodes that were built for a site.
#[derive(Clone, Copy)]
struct Built {
    site: SiteId,
    /// In whose body. What is built for one is successive.
    target: Cont,
    nodes: u64,
}

impl Journal {
    /// What an earlier round has kept, this one looks at again.
    pub fn begin_round(&mut self) {
        self.settle_nodes();
        self.built.clear();
        for site in &mut self.sites {
            site.kept = 0;
            site.variants.retain(|variant| variant.outcome != Outcome::Kept);
        }
    }

    /// The round was in vain, and all is as it was before, but that what was done for those who are to blame
    /// is remembered as taken back.
    pub fn begin_again(&mut self, before: Journal, is_to_blame: impl Fn(Name) -> bool) {
        let in_vain = std::mem::replace(self, before);
        for mut site in in_vain.sites.into_iter().filter(|site| is_to_blame(site.callee)) {
            let known = self.index.get(&(site.span, site.declared)).copied();
            let before = known.map(|id| &self.sites[id as usize]);
            let done = before.map_or(0, |site| site.specialised.saturating_sub(site.taken_back));
            let unfolded = before.map_or(0, |site| site.unfolded);
            site.taken_back = site.specialised.saturating_sub(done) + site.unfolded.saturating_sub(unfolded);
            site.specialised += site.unfolded.saturating_sub(unfolded);
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

    /// Nodes were built for a site, in the body of `target`.
    pub fn add_nodes(&mut self, site: SiteId, target: Cont, nodes: u64) {
        self.nodes[site as usize] += nodes;
        self.built.push(Built { site, target, nodes });
    }

    /// How often something was built so far.
    pub fn n_built(&self) -> usize {
        self.built.len()
    }

    /// What was built from `first` on in the body of `target` is not there any more.
    pub fn drop_nodes(&mut self, first: usize, target: Cont) {
        let built = self.built.iter_mut().skip(first);
        for Built { site, nodes, .. } in built.take_while(|built| built.target == target) {
            self.nodes[*site as usize] -= std::mem::take(nodes);
        }
    }

    /// A specialisation that was made for a site is not there any more.
    pub fn take_back(&mut self, site: SiteId) {
        self.sites[site as usize].taken_back += 1;
    }

    /// All of it, for a program that was `before` and is `after`.
    pub fn explanation(mut self, before: u64, after: &World) -> Explanation {
        self.settle_nodes();
        // What was seen in a round in vain only, nobody knows anything of.
        self.sites
            .retain(|site| site.specialised + site.reused + site.inlined + site.unfolded + site.kept > 0);
        self.sites.sort_by_key(|site| (site.span, site.declared));
        Explanation { sites: self.sites, nodes_before: before, nodes_after: size(after) }
    }

    /// Later rounds build again what an earlier one has made larger: the most counts.
    fn settle_nodes(&mut self) {
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
                specialised: 0,
                taken_back: 0,
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

/// How many nodes the roots of a program reach.
pub(super) fn size(world: &World) -> u64 {
    reachable(world).len() as u64
}

impl Context for Engine<'_> {
    fn captured(&self, cont: Cont) -> Vec<(Option<Name>, Def)> {
        let Some(instance) = self.instance(cont) else { return vec![] };
        let names = self.plan.captures(instance.old).iter().map(|&def| self.old.name(def));
        names.zip(instance.captured()).collect()
    }

    fn result_of(&self, cont: Cont) -> Option<Name> {
        self.returned_by(cont).map(|(callee, _)| self.source_name(callee))
    }
}

impl Engine<'_> {
    /// Writes down what became of a call; gives the site.
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
            Outcome::Specialised => site.specialised += 1,
            Outcome::Reused | Outcome::Looped => site.reused += 1,
            Outcome::Inlined => site.inlined += 1,
            Outcome::Unfolded => site.unfolded += 1,
            Outcome::Kept => site.kept += 1,
        }
        // What has lost parameters was specialised before: that it stays is no news.
        let data = self.old.cont(instance.old);
        let arity = self.old.origin(instance.old).map_or(0, |origin| origin.arity);
        let was_specialised = outcome == Outcome::Kept && data.params.len() < arity;
        let is_full = site.variants.len() >= Site::MAX_VARIANTS;
        if was_specialised || is_full {
            site.kept -= u64::from(was_specialised);
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

    /// For each argument of a call, whether it is specialised on and why.
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
                // Functions are specialised on, unless that has become too deep.
                None if self.is_function(arg) => Reason::Limit,
                None => self.why_not(instance, index, &all_args),
            };
            answers.push(ParamAnswer { name, value: self.show(arg), reason });
        }
        answers
    }

    /// A value as people write it.
    pub(super) fn show(&self, def: Def) -> String {
        show::value(&self.new, def, self)
    }

    fn filter_span(&self, instance: &Instance, index: usize) -> Span {
        let name = self.old.name(self.old.cont(instance.old).params[index]);
        self.old.origin(instance.old).and_then(|origin| origin.filter_of(name)).unwrap_or(Span::NONE)
    }

    /// Why nothing asks for a parameter.
    fn why_not(&mut self, instance: &Instance, index: usize, args: &[Def]) -> Reason {
        let old = self.old;
        let Some(&filter) = old.cont(instance.old).filter.get(index) else { return Reason::NoFilter };
        let is_stopped = self.is_stopped(instance.old);
        match old.as_lit(filter) {
            Some(0) => return Reason::NoFilter,
            Some(_) => return Reason::Limit,
            None => {}
        }
        let mut env = Env::default();
        self.bind(instance, args, &mut env);
        if is_stopped && self.holds(filter, &mut env) {
            return Reason::Limit;
        }
        // What was decided must stay open here.
        self.bind(instance, args, &mut env);
        let instantiated = self.def(filter, &mut env, Mode::Residual);
        let instantiated = self.show(instantiated);
        let unknown = self.unknown_in(filter, instance.old, &env);
        Reason::FilterFails { at: self.filter_span(instance, index), instantiated, unknown }
    }

    /// The parameters of `cont` that a filter mentions and whose values are not known.
    fn unknown_in(&mut self, filter: Def, cont: Cont, env: &Env) -> Vec<Unknown> {
        let old = self.old;
        let (mut stack, mut params, mut seen) = (vec![filter], vec![], rustc_hash::FxHashSet::default());
        while let Some(def) = stack.pop().filter(|_| seen.len() < MAX_FILTER_NODES) {
            if !seen.insert(def) {
                continue;
            }
            match old.node(def) {
                Node::Param { cont: owner, index } if owner == cont => params.push((index, def)),
                _ => old.for_each_operand(def, |operand| stack.push(operand)),
            }
        }
        params.sort_unstable();
        let mut unknown = vec![];
        for (index, param) in params {
            let Some(value) = env.get(param) else { continue };
            if let Some((source, at)) = self.source_of(value) {
                let name =
                    old.name(param).map_or_else(|| format!("parameter {index}"), |name| name.to_string());
                unknown.push(Unknown { name, value: self.show(value), source, at });
            }
        }
        unknown
    }

    /// Where a value comes from that is not known, with the place; none for what is known.
    pub(super) fn source_of(&mut self, value: Def) -> Option<(Source, Span)> {
        let mut at = value;
        // Each step goes to an operand, or to what a closure captures, which is older.
        while !self.is_known(at) && !self.is_dynamic(at) {
            let mut parts = vec![];
            self.for_each_part(at, |part| parts.push(part));
            at = parts.into_iter().find(|&part| !self.is_known(part))?;
        }
        if self.is_known(at) {
            return None;
        }
        Some(match self.new.node(at) {
            Node::Param { cont, .. } => self.source_of_param(cont, at),
            Node::Load { .. } => (Source::Load, self.new.span_of(at)),
            Node::Hide(_) => (Source::Hidden, self.new.span_of(at)),
            Node::Undef => (Source::Undefined, Span::NONE),
            Node::Asm { .. } => (Source::Assembly, self.new.span_of(at)),
            _ => (Source::Address, self.new.span_of(at)),
        })
    }

    /// What the source calls a continuation of the new program.
    fn source_name(&self, cont: Cont) -> Name {
        self.new.origin(cont).map_or(self.new.cont(cont).name, |origin| origin.name)
    }

    fn source_of_param(&self, cont: Cont, param: Def) -> (Source, Span) {
        let data = self.new.cont(cont);
        let name = self.new.name(param).map(|name| name.to_string()).unwrap_or_default();
        // Any other parameter is a variable that was put into a loop.
        let is_of_source = |origin: &&Origin| {
            origin.params.iter().any(|param| param.name.is_some_and(|param| param.as_str() == name))
        };
        if let Some(origin) = self.new.origin(cont).filter(is_of_source) {
            let function = origin.name;
            return match data.linkage {
                Linkage::Exported(_) => (Source::ExportedParam { function, param: name }, origin.span),
                _ => (Source::Param { function, param: name }, origin.span),
            };
        }
        match self.returned_by(cont) {
            Some((callee, span)) => {
                let function = self.source_name(callee);
                match self.new.cont(callee).linkage {
                    Linkage::Imported(_) | Linkage::Device(_) | Linkage::Intrinsic(_) => {
                        (Source::ExternResult { function }, span)
                    }
                    _ => (Source::Result { function }, span),
                }
            }
            None => (Source::Join { variable: name }, data.span),
        }
    }
}

/// A filter larger than this is not searched to its end for what is unknown.
const MAX_FILTER_NODES: usize = 1000;
