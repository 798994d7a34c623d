//! Uses of the addresses of a function's variables.
//!
//! An address that is only used for loads and stores does not escape. Other addresses
//! escape: into memory or another value, into a closure, or to a called function.
//! Escapes determine the lifetime of a variable.

use rustc_hash::{FxHashMap, FxHashSet};

use super::functions::{Function, Functions, Uses};
use crate::node::{Def, Node};
use crate::world::World;

/// A use of an address other than a load or store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressUse {
    /// It is put into memory, an aggregate, or a parameter of a block.
    Kept,
    /// This function, which is a value, captures it.
    Captured(Def),
    /// It is an argument of a call.
    Passed {
        /// Of what.
        callee: Def,
        /// Which.
        index: usize,
    },
}

/// The uses of addresses in `function`, each with the owner of the address: a slot, or a
/// parameter of the function that is a pointer.
pub fn address_uses(world: &World, functions: &Functions, function: &Function) -> Vec<(Def, AddressUse)> {
    let mut finder = Finder { world, functions, uses: vec![], roots: FxHashMap::default() };
    for &param in world.cont(function.entry).params.iter().filter(|&&param| is_pointer(world, param)) {
        finder.roots.insert(param, param);
    }
    for def in own_nodes(world, functions, function) {
        finder.look_at(def);
    }
    for body in function.bodies(world) {
        let callee = world.as_cont(body.callee);
        let is_jump =
            callee.is_some_and(|callee| functions.get(callee).is_none() && function.contains(callee));
        for (index, arg) in body.args.iter().enumerate() {
            let passed = AddressUse::Passed { callee: body.callee, index };
            finder.note(*arg, if is_jump { AddressUse::Kept } else { passed });
        }
    }
    finder.uses
}

/// The operands of the values in `function`, operands first, up to its captures.
fn own_nodes(world: &World, functions: &Functions, function: &Function) -> Vec<Def> {
    let mut seen: FxHashSet<Def> = function.captures.iter().copied().collect();
    let mut work = vec![];
    for body in function.bodies(world) {
        let Uses { values, targets } = Uses::of(world, functions.styles(), body);
        let places = targets.into_iter().chain([body.callee]);
        work.extend(places.filter(|&place| world.as_cont(place).is_none()).chain(values));
    }
    let mut nodes = vec![];
    while let Some(def) = work.pop() {
        if seen.insert(def) {
            nodes.push(def);
            world.for_each_operand(def, |operand| work.push(operand));
        }
    }
    // Operands are built before their users.
    nodes.sort_unstable();
    nodes
}

struct Finder<'a> {
    world: &'a World,
    functions: &'a Functions,
    uses: Vec<(Def, AddressUse)>,
    /// The slots and allocations that addresses belong to.
    roots: FxHashMap<Def, Def>,
}

impl Finder<'_> {
    fn note(&mut self, address: Def, how: AddressUse) {
        self.uses.extend(self.roots.get(&address).map(|&root| (root, how)));
    }

    fn look_at(&mut self, def: Def) {
        let world = self.world;
        if let Some(root) = self.root(def) {
            self.roots.insert(def, root);
            return;
        }
        match world.node(def) {
            Node::Cont(cont) => {
                let functions = self.functions;
                for &capture in functions.captures(cont) {
                    self.note(capture, AddressUse::Captured(def));
                }
            }
            // The last one is the memory after a variable was made, not its address.
            Node::Load { .. } | Node::Cmp { .. } | Node::Extract { .. } => {}
            Node::Store { value, .. } => self.note(value, AddressUse::Kept),
            _ => world.for_each_operand(def, |operand| self.note(operand, AddressUse::Kept)),
        }
    }

    /// The variable whose address `def` is.
    fn root(&self, def: Def) -> Option<Def> {
        match self.world.node(def) {
            Node::Slot { .. } => Some(def),
            Node::Extract { agg: from, .. }
            | Node::Lea { ptr: from, .. }
            | Node::Hide(from)
            | Node::Streaming(from)
            | Node::Bitcast(from)
            | Node::Cast(from)
                if is_pointer(self.world, def) =>
            {
                self.roots.get(&from).copied()
            }
            _ => None,
        }
    }
}

fn is_pointer(world: &World, def: Def) -> bool {
    world.types.as_ptr(world.ty(def)).is_some()
}
