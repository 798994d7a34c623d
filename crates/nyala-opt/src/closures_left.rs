//! Which functions are closures after evaluation, and why.
//!
//! [`closures_left`] names each with its place in
//! the source and with the use that makes it a value. Bodies of parallel loops do not count: they
//! are passed to the runtime once.

use nyala_ir::analysis::Functions;
use nyala_ir::analysis::functions::Uses;
use nyala_ir::analysis::references::for_each_node;
use nyala_ir::{Body, Cont, Def, Linkage, Node, World};
use nyala_span::{Diagnostic, Name, Span};
use rustc_hash::FxHashSet;

use crate::errors::closure_left;

/// Why a function is a closure at run time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Why {
    /// It is part of an aggregate.
    InData,
    /// It is written to memory.
    InMemory,
    /// It is in a static variable.
    InStatic,
    /// It is one of several, chosen at run time.
    Chosen,
    /// It is an argument of this function, which is not specialized on it.
    Argument(Name),
    /// It is an argument of a function that is a value itself.
    ArgumentOfUnknown,
    /// A function returns it.
    Returned,
    /// It is the return continuation of a call of this function, which uses return continuations as values, or calls a
    /// function that does.
    ReturnOf(Name),
}

/// A warning for each closure, in the order of the program's functions.
///
/// Before: a program in control-flow form.
pub fn closures_left(world: &World) -> Vec<Diagnostic> {
    let functions = Functions::styled(world);
    let mut finder = Finder { world, functions: &functions, found: vec![], seen: FxHashSet::default() };
    let statics: Vec<Def> = world.globals().filter_map(|(_, global)| global.init).collect();
    for_each_node(world, statics, |def| finder.note(def, Why::InStatic));
    for function in functions.all() {
        for body in function.bodies(world) {
            finder.visit(body);
        }
    }
    finder.found.iter().map(|&(at, name, why)| closure_left(at, name, why)).collect()
}

struct Finder<'a> {
    world: &'a World,
    functions: &'a Functions,
    found: Vec<(Span, Name, Why)>,
    seen: FxHashSet<(Span, Name, Why)>,
}

impl Finder<'_> {
    fn visit(&mut self, body: &Body) {
        let world = self.world;
        let values = Uses::of(world, self.functions.styles(), body).values;
        for (index, &arg) in body.args.iter().enumerate() {
            if values.contains(&arg) {
                self.note(arg, self.argument(body, index));
            }
        }
        for_each_node(world, values, |user| {
            let why = match world.node(user) {
                Node::Store { .. } => Why::InMemory,
                Node::Select { .. } => Why::Chosen,
                _ => Why::InData,
            };
            world.for_each_operand(user, |operand| self.note(operand, why));
        });
    }

    /// Why the argument of a call is a value.
    fn argument(&self, body: &Body, index: usize) -> Why {
        let world = self.world;
        match (world.node(body.callee), world.as_cont(body.callee)) {
            (Node::Param { cont, index: last }, _) if last as usize + 1 == world.cont(cont).params.len() => {
                Why::Returned
            }
            (_, Some(callee)) => {
                let name = world.cont(callee).name;
                let is_return = index + 1 == body.args.len() && self.functions.styles().is_passing(callee);
                if is_return { Why::ReturnOf(name) } else { Why::Argument(name) }
            }
            _ => Why::ArgumentOfUnknown,
        }
    }

    /// Notes that `def` is a value, if it is a function of the program.
    fn note(&mut self, def: Def, why: Why) {
        let Some(cont) = self.world.as_cont(def).filter(|&cont| self.counts(cont)) else { return };
        let data = self.world.cont(cont);
        let closure = (data.span, data.name, why);
        if self.seen.insert(closure) {
            self.found.push(closure);
        }
    }

    fn counts(&self, cont: Cont) -> bool {
        let is_internal = self.world.cont(cont).linkage == Linkage::Internal;
        is_internal && self.functions.get(cont).is_some_and(|function| function.may_outlive)
    }
}
