//! Properties of new values that the rules depend on: known, liftable, usable in a filter, how deep functions nest.
//!
//! A property of a value depends on all its parts, and values share parts. So the result for each node
//! is cached.

use cranelift_entity::SecondaryMap;
use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{Def, Node, TyKind};

use super::engine::Engine;

/// The cached results of each property.
#[derive(Default)]
pub(super) struct Properties {
    known: Cache,
    liftable: Cache,
    filterable: Cache,
    /// One more than the nesting of functions in a node; 0 if it is not computed.
    nesting: SecondaryMap<Def, u32>,
}

/// The results for one property.
type Cache = SecondaryMap<Def, Cached>;

/// Whether a node has a property.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Cached {
    #[default]
    NotComputed,
    No,
    Yes,
}

impl Engine<'_> {
    /// Whether `def` is known: it depends on no run-time value.
    pub(super) fn is_known(&mut self, def: Def) -> bool {
        let mut cache = std::mem::take(&mut self.properties.known);
        let known = self.all_parts(&mut cache, def, |engine, def| !engine.is_dynamic(def));
        self.properties.known = cache;
        known
    }

    /// Whether lambda lifting can pass `def` as data: it contains no continuation that is
    /// a parameter.
    pub(super) fn is_liftable(&mut self, def: Def) -> bool {
        let mut cache = std::mem::take(&mut self.properties.liftable);
        let liftable = self.all_parts(&mut cache, def, |engine, def| {
            let is_param = matches!(engine.new.node(def), Node::Param { .. });
            !is_param || !matches!(engine.new.types.kind(engine.new.ty(def)), TyKind::Cn(_))
        });
        self.properties.liftable = cache;
        liftable
    }

    /// Whether `def` can be part of a filter: it has no effect and mentions no function.
    pub(super) fn can_be_filter(&mut self, def: Def) -> bool {
        let mut cache = std::mem::take(&mut self.properties.filterable);
        let can_be = self.all_parts(&mut cache, def, |engine, def| {
            !has_effect(&engine.new, def) && engine.new.as_cont(def).is_none()
        });
        self.properties.filterable = cache;
        can_be
    }

    /// How deep functions nest in `def`: a function counts one more than the functions that it captures or is
    /// specialized on.
    pub(super) fn nesting(&mut self, def: Def) -> u32 {
        let mut cache = std::mem::take(&mut self.properties.nesting);
        let mut stack = vec![def];
        while let Some(&next) = stack.last() {
            let (before, mut most) = (stack.len(), 0);
            if cache[next] == 0 && self.new.contains_conts(next) {
                self.for_each_part(next, |part| match cache[part] {
                    0 => stack.push(part),
                    part => most = most.max(part - 1),
                });
            }
            if stack.len() == before {
                let own = u32::from(self.new.as_cont(next).is_some());
                cache[next] = cache[next].max(most + own + 1);
                stack.pop();
            }
        }
        let nesting = cache[def] - 1;
        self.properties.nesting = cache;
        nesting
    }

    /// Whether `holds` is true for `def` and all its parts: operands, and the captures and fixed
    /// parameters of an instance.
    fn all_parts(&self, cache: &mut Cache, def: Def, holds: impl Fn(&Self, Def) -> bool) -> bool {
        if cache[def] != Cached::NotComputed {
            return cache[def] == Cached::Yes;
        }
        let mut stack = vec![def];
        while let Some(&next) = stack.last() {
            if cache[next] != Cached::NotComputed {
                stack.pop();
                continue;
            }
            let mut all = holds(self, next);
            let before = stack.len();
            if all {
                self.for_each_part(next, |part| match cache[part] {
                    Cached::NotComputed => stack.push(part),
                    Cached::No => all = false,
                    Cached::Yes => {}
                });
            }
            if !all {
                stack.truncate(before);
            }
            if stack.len() == before {
                cache[next] = if all { Cached::Yes } else { Cached::No };
            }
        }
        cache[def] == Cached::Yes
    }

    pub(super) fn for_each_part(&self, def: Def, each: impl FnMut(Def)) {
        match self.new.node(def) {
            Node::Cont(cont) => {
                self.instances.get(cont).into_iter().flat_map(|instance| instance.parts()).for_each(each)
            }
            _ => self.new.for_each_operand(def, each),
        }
    }

    /// Whether `def` has order 1: a basic block or a return continuation.
    pub(super) fn is_continuation(&mut self, def: Def) -> bool {
        self.new.types.order(self.new.ty(def)) == 1
    }

    /// Whether `def` has order 2 or more: it takes a function, or a return continuation.
    pub(super) fn is_function(&mut self, def: Def) -> bool {
        self.new.types.order(self.new.ty(def)) > 1
    }

    /// Whether the node itself is a run-time value.
    pub(super) fn is_dynamic(&self, def: Def) -> bool {
        has_effect(&self.new, def)
            || matches!(self.new.node(def), Node::Param { .. } | Node::Undef | Node::Hide(_))
    }
}
