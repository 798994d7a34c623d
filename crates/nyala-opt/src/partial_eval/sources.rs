//! Why a parameter is not specialized: the value of its filter, and the sources of the unknown values in it.

use nyala_ir::origin::Origin;
use nyala_ir::{Cont, Def, Linkage, Node};
use nyala_span::{Name, Span};
use rustc_hash::FxHashSet;

use super::engine::Engine;
use super::env::Env;
use super::explain::{Reason, Source, Unknown};
use super::instance::Instance;
use super::show::Context;
use super::values::Mode;

/// The most nodes of a filter that are searched for unknown values.
const MAX_FILTER_NODES: usize = 1000;

impl Context for Engine<'_> {
    fn captured(&self, cont: Cont) -> Vec<(Option<Name>, Def)> {
        let Some(instance) = self.instances.get(cont) else { return vec![] };
        let names = self.plan.captures(instance.old).iter().map(|&def| self.old.name(def));
        names.zip(instance.captured()).collect()
    }

    fn result_of(&self, cont: Cont) -> Option<Name> {
        self.returned_by(cont).map(|(callee, _)| self.source_name(callee))
    }
}

impl Engine<'_> {
    /// Why the filter of a parameter does not hold.
    pub(super) fn why_not(&mut self, instance: &Instance, index: usize, args: &[Def]) -> Reason {
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
        // Values that were decided for the filter must stay residual here.
        self.bind(instance, args, &mut env);
        let instantiated = self.def(filter, &mut env, Mode::Residual);
        let instantiated = self.show(instantiated);
        let unknown = self.unknown_in(filter, instance.old, &env);
        Reason::FilterFails { at: self.filter_span(instance, index), instantiated, unknown }
    }

    /// The parameters of `cont` in a filter whose values are unknown.
    fn unknown_in(&mut self, filter: Def, cont: Cont, env: &Env) -> Vec<Unknown> {
        let old = self.old;
        let (mut stack, mut params, mut seen) = (vec![filter], vec![], FxHashSet::default());
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

    /// The source of an unknown value, with its place; none for a known value.
    pub(super) fn source_of(&mut self, value: Def) -> Option<(Source, Span)> {
        let mut at = value;
        // Each step goes to an operand or a capture, which is older, so this ends.
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

    /// The name of a new continuation in the source.
    fn source_name(&self, cont: Cont) -> Name {
        self.new.origin(cont).map_or(self.new.cont(cont).name, |origin| origin.name)
    }

    fn source_of_param(&self, cont: Cont, param: Def) -> (Source, Span) {
        let data = self.new.cont(cont);
        let name = self.new.name(param).map(|name| name.to_string()).unwrap_or_default();
        // Any other parameter is a variable that a loop changes.
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
