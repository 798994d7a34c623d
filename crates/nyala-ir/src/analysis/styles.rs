//! Which functions are in direct style, and which are in continuation-passing style.
//!
//! A direct-style function returns as the machine does: its return continuation is an address on the stack.
//! A function whose return continuation escapes, to an exception
//! handler, a generator or data, cannot be direct. It is *passing*:
//! it takes its return continuation as an ordinary parameter, and ends by calling it.
//!
//! A call of a passing function never returns. So its return continuation is a
//! value too, a closure over the live values of the caller; and the caller
//! is passing as well. Functions that are called through
//! values must agree on the style, so a *type* is passing if one function of
//! that type is passing and used as a value.
//!
//! # Invariants
//!
//! * A direct function calls only direct functions, and its return continuation does not escape.
//! * If a passing type returns, the type of its return continuation is passing.
//! * A program without escaping return continuations has no passing function.

use rustc_hash::FxHashSet;

use super::functions::{Function, Functions, is_place, is_return, is_target, return_param};
use crate::node::{Body, Cont, Def};
use crate::types::Ty;
use crate::world::World;

/// The styles of functions and of types.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Styles {
    functions: FxHashSet<Cont>,
    types: FxHashSet<Ty>,
}

impl Styles {
    /// Whether the function `entry` is passing.
    pub fn is_passing(&self, entry: Cont) -> bool {
        self.functions.contains(&entry)
    }

    /// Whether values of type `ty` are called as passing functions are.
    pub fn is_passing_type(&self, ty: Ty) -> bool {
        self.types.contains(&ty)
    }

    /// Whether a call of `callee`, which is not the caller's own return continuation,
    /// never returns.
    pub fn passes(&self, world: &World, callee: Def) -> bool {
        match world.as_cont(callee) {
            Some(cont) => self.is_passing(cont),
            None => self.is_passing_type(world.ty(callee)),
        }
    }

    /// Whether argument `index` of a call is a place where control may go from there,
    /// rather than a value.
    pub fn is_target(&self, world: &World, body: &Body, index: usize) -> bool {
        is_target(world, body, index) && !self.passes(world, body.callee)
    }

    /// Whether no function is passing.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The styles that `functions` need.
    pub(super) fn of(world: &World, functions: &Functions) -> Styles {
        let mut styles = functions.styles().clone();
        let captured: FxHashSet<Def> =
            functions.all().iter().flat_map(|function| function.captures.iter().copied()).collect();
        let keeps_return = |function: &&Function| {
            function.ret.is_some_and(|ret| captured.contains(&ret))
                || function.kept_return(world, functions.styles()).is_some()
        };
        styles.functions.extend(functions.all().iter().filter(keeps_return).map(|function| function.entry));
        while styles.grow(world, functions) {}
        styles
    }

    /// Looks at all functions once; whether one has changed its style.
    fn grow(&mut self, world: &World, functions: &Functions) -> bool {
        let before = (self.functions.len(), self.types.len());
        for function in functions.all() {
            let ty = world.cont(function.entry).ty;
            let agrees = function.is_value && self.types.contains(&ty);
            if agrees || function.bodies(world).any(|body| self.never_comes_back(world, function, body)) {
                self.functions.insert(function.entry);
            }
            if self.is_passing(function.entry) {
                self.types.extend(return_param(world, function.entry).map(|ret| world.ty(ret)));
                self.types.extend(function.is_value.then_some(ty));
            }
        }
        let returns: Vec<Ty> = self
            .types
            .iter()
            .filter_map(|&ty| world.types.as_cn(ty)?.last().copied())
            .filter(|&last| is_return(&world.types, last))
            .collect();
        self.types.extend(returns);
        before != (self.functions.len(), self.types.len())
    }

    /// Whether a call in `function` continues in a passing function.
    fn never_comes_back(&self, world: &World, function: &Function, body: &Body) -> bool {
        let passes = |callee: Def| Some(callee) != function.ret && self.passes(world, callee);
        let mut places = (0..body.args.len()).filter(|&index| is_place(world, body, index));
        passes(body.callee)
            || places.any(|index| world.as_cont(body.args[index]).is_none() && passes(body.args[index]))
    }
}
