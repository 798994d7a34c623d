//! What the evaluator asks about values of the new program.
//!
//! A question about a value is one about all that it is made of, which may be much and is shared;
//! so answers are kept, one for each node.

use cranelift_entity::SecondaryMap;
use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{Def, Node, TyKind};

use super::engine::Engine;

/// The answers to one question.
pub(super) type Answers = SecondaryMap<Def, Known>;

/// A question that is asked once for each node.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Known {
    #[default]
    Unasked,
    No,
    Yes,
}

impl Engine<'_> {
    /// Whether `def` depends on nothing that is only known when the program runs.
    pub(super) fn is_known(&mut self, def: Def) -> bool {
        let mut cache = std::mem::take(&mut self.known);
        let known = self.all_parts(&mut cache, def, |engine, def| !engine.is_dynamic(def));
        self.known = cache;
        known
    }

    /// Whether `def` is data or a function that captures only what is liftable:
    /// it contains no continuation that is a parameter.
    pub(super) fn is_liftable(&mut self, def: Def) -> bool {
        let mut cache = std::mem::take(&mut self.liftable);
        let liftable = self.all_parts(&mut cache, def, |engine, def| {
            let is_param = matches!(engine.new.node(def), Node::Param { .. });
            !is_param || !matches!(engine.new.types.kind(engine.new.ty(def)), TyKind::Cn(_))
        });
        self.liftable = cache;
        liftable
    }

    /// Whether `def` can stand in a filter: it executes nothing and mentions no function.
    pub(super) fn can_be_filter(&mut self, def: Def) -> bool {
        let mut cache = std::mem::take(&mut self.filterable);
        let can_be = self.all_parts(&mut cache, def, |engine, def| {
            !has_effect(&engine.new, def) && engine.new.as_cont(def).is_none()
        });
        self.filterable = cache;
        can_be
    }

    /// Whether `holds` for `def` and all that it is made of: its operands, and what an
    /// instance captures and is specialised on.
    fn all_parts(&self, cache: &mut Answers, def: Def, holds: impl Fn(&Self, Def) -> bool) -> bool {
        if cache[def] != Known::Unasked {
            return cache[def] == Known::Yes;
        }
        let mut stack = vec![def];
        while let Some(&next) = stack.last() {
            if cache[next] != Known::Unasked {
                stack.pop();
                continue;
            }
            let mut all = holds(self, next);
            let before = stack.len();
            if all {
                self.for_each_part(next, |part| match cache[part] {
                    Known::Unasked => stack.push(part),
                    Known::No => all = false,
                    Known::Yes => {}
                });
            }
            if !all {
                stack.truncate(before);
            }
            if stack.len() == before {
                cache[next] = if all { Known::Yes } else { Known::No };
            }
        }
        cache[def] == Known::Yes
    }

    pub(super) fn for_each_part(&self, def: Def, each: impl FnMut(Def)) {
        match self.new.node(def) {
            Node::Cont(cont) => {
                self.instance(cont).into_iter().flat_map(|instance| instance.parts()).for_each(each)
            }
            _ => self.new.for_each_operand(def, each),
        }
    }

    /// Whether `def` is called to go on and never comes back: a block, or a place to return to.
    pub(super) fn is_continuation(&mut self, def: Def) -> bool {
        self.new.types.order(self.new.ty(def)) == 1
    }

    /// Whether `def` takes a function or returns.
    pub(super) fn is_function(&mut self, def: Def) -> bool {
        self.new.types.order(self.new.ty(def)) > 1
    }

    /// Whether a node by itself is only known when the program runs.
    pub(super) fn is_dynamic(&self, def: Def) -> bool {
        has_effect(&self.new, def)
            || matches!(self.new.node(def), Node::Param { .. } | Node::Undef | Node::Hide(_))
    }
}
