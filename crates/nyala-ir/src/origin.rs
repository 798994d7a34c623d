//! Information about functions of the source that is not in the graph.
//!
//! The graph has continuations with filters; the source constructs (a
//! filter's text, a limit for the evaluator, a demand to be specialized) is kept in
//! a table beside it. An origin is found by the place and the name of a function, which all
//! its instances and specializations have in common, so passes need not know of it.

use std::sync::Arc;

use nyala_span::{Name, Span};
use rustc_hash::FxHashMap;

use crate::node::{Cont, ContData};
use crate::world::World;

/// A function or lambda of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Its name; `lambda` for an anonymous function.
    pub name: Name,
    /// The span of its name; the whole span for a lambda.
    pub span: Span,
    /// Its body; [`Span::NONE`] if it has none.
    pub body: Span,
    /// Its parameters, without those that conversion to continuation-passing style adds.
    pub params: Vec<OriginParam>,
    /// How many parameters its continuation has, before any is specialized.
    pub arity: usize,
    /// The filter of the function as a whole.
    pub filter: Option<Span>,
    /// How far the evaluator may go here, where the user says so.
    pub limits: OriginLimits,
    /// Whether it is an error to leave a call of it unspecialized.
    pub must_specialize: bool,
    /// Whether it is in a package that is not the user's. Variables of the user have better names.
    pub is_foreign: bool,
    /// Whether debuggers show a frame for it: it is not merged with its caller, and keeps its parameters.
    pub keeps_frame: bool,
}

/// A parameter of an [`Origin`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OriginParam {
    /// Its name, if it is no pattern.
    pub name: Option<Name>,
    /// Its filter, or that of the whole function.
    pub filter: Option<Span>,
}

/// Limits of partial evaluation that a function sets for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OriginLimits {
    /// How many specializations there may be of it.
    pub specializations: Option<u64>,
    /// How many nodes they may have together.
    pub growth: Option<u64>,
    /// The depth of nested specializations in which it may be specialized.
    pub depth: Option<u64>,
}

impl Origin {
    /// The span of the filter of a parameter; that of the whole function for unnamed parameters.
    pub fn filter_of(&self, name: Option<Name>) -> Option<Span> {
        let named = self.params.iter().find(|param| param.name.is_some() && param.name == name);
        named.map_or(self.filter, |param| param.filter)
    }

    /// Whether it has a filter.
    pub fn has_filters(&self) -> bool {
        self.filter.is_some() || self.params.iter().any(|param| param.filter.is_some())
    }
}

/// All origins of a program; worlds made from each other share them.
#[derive(Clone, Default, Debug)]
pub struct Origins(Arc<FxHashMap<(Span, Name), Origin>>);

impl Origins {
    /// Adds one, unless it is known: the instances of a generic function have one origin.
    pub fn add(&mut self, place: Span, name: Name, origin: impl FnOnce() -> Origin) {
        Arc::make_mut(&mut self.0).entry((place, name)).or_insert_with(origin);
    }

    /// The functions of this name, in no particular order.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Origin> {
        self.0.values().filter(move |origin| origin.name.as_str() == name)
    }

    /// Whether a place is in the declaration of a function, before its body.
    pub fn declares(&self, at: Span) -> bool {
        self.0.values().any(|origin| origin.span.hi <= at.lo && at.hi <= origin.body.lo)
    }

    /// Whether a place is in the body of a function that is not the user's.
    pub fn is_foreign(&self, at: Span) -> bool {
        self.0.values().any(|origin| origin.is_foreign && origin.body.contains(at.lo))
    }

    fn of(&self, data: &ContData) -> Option<&Origin> {
        self.0.get(&(data.span, data.name))
    }
}

impl World {
    /// The source function of `cont`; `None` for a block.
    pub fn origin(&self, cont: Cont) -> Option<&Origin> {
        self.origins.of(self.cont(cont))
    }

    /// Whether a function stays apart from its callers, for debuggers.
    pub fn keeps_frame(&self, cont: Cont) -> bool {
        self.origin(cont).is_some_and(|origin| origin.keeps_frame)
    }
}
