//! The report about a limit: collects the cycle of calls that reached it.

use cranelift_entity::packed_option::PackedOption;
use nyala_ir::{Cont, Def};
use nyala_span::{Name, Span};
use rustc_hash::FxHashSet;

use super::OnLimit;
use super::chains::{Link, LinkId};
use super::engine::Engine;
use super::limits::{Limit, Request};
use crate::errors::LimitReached;

/// How many calls of a cycle are shown with their values, besides the last.
const SHOWN_CALLS: usize = 4;

/// How many of the calls that lead to a cycle are shown.
const SHOWN_ENTRIES: usize = 3;

/// A specialized call.
pub(super) struct Step {
    pub(super) old: Cont,
    pub(super) fixed: Box<[PackedOption<Def>]>,
    pub(super) span: Span,
    pub(super) request: Request,
}

impl Engine<'_> {
    /// The report about a cycle of calls that `last` would continue.
    pub(super) fn limit_reached(
        &mut self,
        limit: Limit,
        last: Step,
        cycle: &FxHashSet<Cont>,
    ) -> LimitReached {
        let mut chain: Vec<LinkId> = self.current_chain().collect();
        let mut last = last;
        // A call that leaves the cycle is not the cause: the one before it is.
        while !cycle.contains(&last.old) && !chain.is_empty() {
            last = self.step(chain.remove(0));
        }
        let length = chain.iter().take_while(|&&link| cycle.contains(&self.chains.old_of(link))).count();
        // The calls that lead into the cycle, innermost first.
        let first = chain.get(length.saturating_sub(1));
        let entries = first.map_or(vec![], |&link| self.entries(link));
        let same = chain[..length].iter().copied().filter(|&link| self.chains.old_of(link) == last.old);
        let same: Vec<LinkId> = same.collect();
        let first_calls = same.iter().rev().take(SHOWN_CALLS).map(|&link| self.step(link).fixed);
        let calls: Vec<_> =
            first_calls.chain([last.fixed.clone()]).map(|fixed| self.shown_values(&fixed)).collect();
        let names = chain[..length].iter().rev().take(SHOWN_CALLS + 1).map(|&link| self.chains.old_of(link));
        let names: Vec<Cont> = names.collect();
        let steady = self.steady(&same, &last);
        let data = self.old.cont(last.old);
        let name = |param: &Def| self.old.name(*param).map_or_else(|| "_".into(), |name| name.to_string());
        LimitReached {
            limit,
            stops: self.options.on_limit == OnLimit::Stop,
            function: self.name_of(last.old),
            call: last.span,
            filter: self.requesting_filter(&last),
            leader: self.leader(),
            request: last.request,
            entries: entries.into_iter().take(SHOWN_ENTRIES).collect(),
            params: data.params.iter().map(name).collect(),
            calls,
            n_calls: same.len() + 1,
            cycle: names.into_iter().map(|old| self.name_of(old)).collect(),
            key: self.function_key(last.old),
            steady,
            remedy: None,
        }
    }

    /// The named parameters that are known, and the same in all these calls of a function.
    fn steady(&mut self, calls: &[LinkId], last: &Step) -> Vec<Name> {
        let old = self.old;
        let mut steady = vec![];
        for (index, &param) in old.cont(last.old).params.iter().enumerate() {
            let is_data = self.new.types.order(old.ty(param)) == 0 && old.ty(param) != old.types.mem();
            let Some(value) = last.fixed[index].expand().filter(|_| is_data) else { continue };
            let is_same = |&link: &LinkId| self.step(link).fixed[index].expand() == Some(value);
            if calls.iter().all(is_same) && self.is_known(value) {
                steady.extend(old.name(param));
            }
        }
        steady
    }

    fn current_chain(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.chains.chain(self.current.context.link)
    }

    /// The filter of the first parameter that a step is specialized on and that has one.
    fn requesting_filter(&self, step: &Step) -> Option<Span> {
        let origin = self.old.origin(step.old).filter(|_| step.request == Request::Filter)?;
        let params = self.old.cont(step.old).params.iter().zip(&step.fixed);
        let fixed = params.filter(|(_, fixed)| fixed.is_some());
        fixed.filter_map(|(&param, _)| origin.filter_of(self.old.name(param))).next()
    }

    /// The innermost function with a filter that occurs in the chain more than once, and a filter of it.
    fn leader(&self) -> Option<(Name, Span)> {
        let mut seen = FxHashSet::default();
        let functions = self.current_chain().map(|link| self.chains.old_of(link));
        let leader = functions.filter(|&old| !self.has_no_filter(old)).find(|&old| !seen.insert(old))?;
        let origin = self.old.origin(leader)?;
        let params = self.old.cont(leader).params.iter();
        let filter = params.filter_map(|&param| origin.filter_of(self.old.name(param))).next()?;
        Some((origin.name, filter))
    }

    /// A call of the chain and the active calls around it, innermost first.
    fn entries(&self, link: LinkId) -> Vec<Span> {
        let Link { span, ret, .. } = self.chains.link(link);
        let mut calls = vec![*span];
        calls.extend(ret.expand().map(|ret| self.active_calls(ret, link.into())).into_iter().flatten());
        calls.dedup();
        calls
    }

    fn step(&self, link: LinkId) -> Step {
        let Link { instance, span, is_run, .. } = self.chains.link(link);
        let request = if *is_run { Request::Run } else { Request::Filter };
        Step { old: instance.old, fixed: instance.fixed().into(), span: *span, request }
    }

    /// The name of an old continuation in the source.
    fn name_of(&self, old: Cont) -> Name {
        self.old.origin(old).map_or(self.old.cont(old).name, |origin| origin.name)
    }

    fn shown_values(&self, fixed: &[PackedOption<Def>]) -> Vec<Option<String>> {
        fixed.iter().map(|fixed| fixed.expand().map(|def| self.show(def))).collect()
    }
}
