//! Free variables, computed lazily and cached.
//!
//! Each node has a set of parameters and continuations that it reaches through
//! operations alone (its *mentions*), computed from those of its operands on first
//! use, and cached. Sets are shared; see `set`.
//!
//! A continuation's free parameters are those that its body and filter mention, and
//! those free in the continuations they mention, less its own: the least solution
//! of these equations. They are computed on demand and cached until a body or
//! filter changes that they depend on.
//!
//! # Invariants
//!
//! * A continuation whose solution is kept mentions only continuations whose
//!   solution is kept. So a change has to look only at those that are kept.
//! * Nothing recurses on the depth of the program.

mod set;

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
pub use set::Set;
use set::{Element, Sets};

use crate::node::{Cont, Def, Linkage, Node};
use crate::world::World;

/// The sets of a world and the solutions that are kept.
#[derive(Clone)]
pub(crate) struct Free {
    sets: Sets,
    /// The computed sets of mentioned nodes.
    mentions: SecondaryMap<Def, PackedOption<Set>>,
    solutions: SecondaryMap<Cont, Option<Set>>,
    /// For each continuation, those whose solution was computed from its own.
    dependents: SecondaryMap<Cont, Vec<Cont>>,
}

impl Free {
    pub fn new() -> Free {
        Free {
            sets: Sets::new(),
            mentions: SecondaryMap::new(),
            solutions: SecondaryMap::new(),
            dependents: SecondaryMap::new(),
        }
    }

    /// Invalidates the sets that depend on the body or filter of `cont`.
    pub fn changed(&mut self, cont: Cont) {
        // Programs change much more often than they are queried.
        if self.solutions[cont].is_none() {
            return;
        }
        let mut stack = vec![cont];
        while let Some(cont) = stack.pop() {
            if self.solutions[cont].take().is_some() {
                stack.append(&mut self.dependents[cont]);
            }
        }
    }
}

impl Free {
    /// The set of `def`, if those of its operands are known.
    fn mix(&mut self, world: &World, def: Def) -> Option<Set> {
        let is_cont = match world.node(def) {
            Node::Param { .. } => Some(false),
            Node::Cont(_) => Some(true),
            _ => None,
        };
        if let Some(is_cont) = is_cont {
            return Some(self.sets.singleton(Element::new(def, is_cont)));
        }
        let mut mix = Some(Set::EMPTY);
        world.for_each_operand(def, |operand| {
            let operand = self.mentions[operand].expand();
            mix = mix.zip(operand).map(|(mentions, operand)| self.sets.union(mentions, operand));
        });
        mix
    }
}

// ---- Queries ----------------------------------------------------------------------

impl World {
    /// The nodes that `def` mentions. Computed on first use, for all its operands too:
    /// most nodes are never queried.
    fn mention_set(&self, def: Def) -> Set {
        let free = &mut *self.free.borrow_mut();
        if let Some(mentions) = free.mentions[def].expand() {
            return mentions;
        }
        let mut stack = vec![def];
        while let Some(&next) = stack.last() {
            match free.mentions[next].expand().or_else(|| free.mix(self, next)) {
                Some(mentions) => {
                    free.mentions[next] = mentions.into();
                    stack.pop();
                    if next == def {
                        return mentions;
                    }
                }
                None => self.for_each_operand(next, |operand| {
                    if free.mentions[operand].is_none() {
                        stack.push(operand);
                    }
                }),
            }
        }
        unreachable!("the loop ends with `def`, which is at the bottom of the stack")
    }

    /// The parameters and continuations that `def` reaches through operations
    /// alone: parameters, then continuations, oldest first. Both reach themselves.
    pub fn mentions(&self, def: Def) -> Vec<Def> {
        let mentions = self.mention_set(def);
        self.free.borrow().sets.elements(mentions)
    }

    /// Whether `def` reaches the parameter or continuation `other` through operations alone.
    pub fn has_mention(&self, def: Def, other: Def) -> bool {
        self.set_contains(self.mention_set(def), other)
    }

    /// The parameters that `def` depends on, also through the bodies of continuations.
    pub fn free_set(&self, def: Def) -> Set {
        let mentions = self.mention_set(def);
        let (params, conts) = self.free.borrow().sets.by_kind(mentions);
        let mut free = params;
        for cont in self.set_elements(conts) {
            let cont = self.as_cont(cont).expect("this side holds continuations");
            let one = self.cont_free_set(cont);
            free = self.free.borrow_mut().sets.union(free, one);
        }
        free
    }

    /// The parameters that `def` depends on, oldest first.
    pub fn free_params(&self, def: Def) -> Vec<Def> {
        self.set_elements(self.free_set(def))
    }

    /// The parameters of others that `cont` depends on.
    pub fn cont_free_set(&self, cont: Cont) -> Set {
        if let Some(set) = self.free.borrow().solutions[cont] {
            return set;
        }
        Solver::new(self, cont).solve();
        self.free.borrow().solutions[cont].expect("the solver keeps what it solves")
    }

    /// The parameters of others that `cont` depends on, oldest first.
    pub fn cont_free_params(&self, cont: Cont) -> Vec<Def> {
        self.set_elements(self.cont_free_set(cont))
    }

    /// Whether `cont` depends on no other continuation's parameters.
    pub fn is_top_level(&self, cont: Cont) -> bool {
        self.cont_free_set(cont).is_empty()
    }

    /// The elements of a set, oldest first.
    fn set_elements(&self, set: Set) -> Vec<Def> {
        self.free.borrow().sets.elements(set)
    }

    /// Whether `def` is in `set`.
    pub fn set_contains(&self, set: Set, def: Def) -> bool {
        let element = Element::new(def, matches!(self.node(def), Node::Cont(_)));
        self.free.borrow().sets.contains(set, element)
    }

    /// Whether `def` has one value for the whole run, and it is known: a literal, the
    /// address of a global or a place in it, a continuation that depends on no
    /// parameter, an aggregate of such.
    pub fn is_constant(&self, def: Def) -> bool {
        self.is_made_of_constants(def) && (!self.contains_conts(def) || self.free_set(def).is_empty())
    }
}

// ---- Solving ----------------------------------------------------------------------

/// One continuation's equation.
struct Equation {
    cont: Cont,
    /// Parameters that the body and filter mention.
    local: Set,
    /// Continuations that they mention.
    mentioned: Vec<Cont>,
}

struct Solver<'w> {
    world: &'w World,
    /// Callees before callers, as far as there is no recursion.
    equations: Vec<Equation>,
}

impl<'w> Solver<'w> {
    /// Collects the equations that `root` needs and that have no solution yet.
    fn new(world: &'w World, root: Cont) -> Solver<'w> {
        enum Step {
            Enter(Cont),
            Leave(Equation),
        }
        let mut solver = Solver { world, equations: vec![] };
        let mut seen = SecondaryMap::<Cont, bool>::new();
        let mut stack = vec![Step::Enter(root)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Leave(equation) => solver.equations.push(equation),
                Step::Enter(cont) => {
                    if world.free.borrow().solutions[cont].is_some()
                        || std::mem::replace(&mut seen[cont], true)
                    {
                        continue;
                    }
                    let equation = solver.equation(cont);
                    let callees: Vec<Cont> = equation.mentioned.clone();
                    stack.push(Step::Leave(equation));
                    stack.extend(callees.into_iter().rev().map(Step::Enter));
                }
            }
        }
        solver
    }

    fn equation(&self, cont: Cont) -> Equation {
        let data = self.world.cont(cont);
        let body = data.body.iter().flat_map(|body| std::iter::once(&body.callee).chain(&body.args));
        let mentions: Vec<Set> = body.chain(&data.filter).map(|&def| self.world.mention_set(def)).collect();
        let free = &mut *self.world.free.borrow_mut();
        let mentions = mentions.into_iter().fold(Set::EMPTY, |all, one| free.sets.union(all, one));
        let (local, conts) = free.sets.by_kind(mentions);
        let conts = free.sets.elements(conts);
        let mentioned = conts.into_iter().filter_map(|def| self.world.as_cont(def)).collect();
        Equation { cont, local, mentioned }
    }

    /// Goes over the equations until nothing changes. Without recursion that is
    /// once; each nesting of loops may take one more.
    fn solve(self) {
        let free = &mut *self.world.free.borrow_mut();
        loop {
            let mut again = false;
            for equation in &self.equations {
                let mut set = equation.local;
                for &other in &equation.mentioned {
                    // A component without solution follows later; then this one is computed again.
                    match free.solutions[other] {
                        Some(solution) => set = free.sets.union(set, solution),
                        None => again = true,
                    }
                }
                for &param in &self.world.cont(equation.cont).params {
                    set = free.sets.remove(set, Element::new(param, false));
                }
                let old = free.solutions[equation.cont].replace(set);
                again |= old.is_some_and(|old| old != set);
            }
            if !again {
                break;
            }
        }
        for equation in &self.equations {
            for &other in &equation.mentioned {
                // Intrinsics never get a body.
                if !matches!(self.world.cont(other).linkage, Linkage::Intrinsic(_)) {
                    free.dependents[other].push(equation.cont);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
