//! Free variables, cheap to ask for.
//!
//! Each node has a set of parameters and continuations that it reaches through
//! operations alone (its *mentions*), made from those of its operands when somebody
//! first asks, and kept. Sets are shared; see `set`.
//!
//! A continuation's free parameters are those that its body and filter mention, and
//! those free in the continuations they mention, less its own: the least solution
//! of these equations. They are computed when asked for and kept until a body or
//! filter changes that they depend on.
//!
//! # Invariants
//!
//! * A continuation whose solution is kept mentions only continuations whose
//!   solution is kept. So a change has to look only at those that are kept.
//! * Nothing recurses on the depth of the program.

mod set;

use cranelift_entity::SecondaryMap;
pub use set::Set;
use set::{Element, Sets};

use crate::node::{Cont, Def, Linkage, Node};
use crate::types::TyKind;
use crate::world::World;

/// What a node is made of, in one number: its mentions, and whether it is made of
/// constants and continuations only.
#[derive(Clone, Copy)]
pub(crate) struct MadeOf(u32);

impl MadeOf {
    fn new(mentions: Set, constant: bool) -> MadeOf {
        MadeOf(mentions.index() << 1 | u32::from(constant))
    }

    fn mentions(self) -> Set {
        Set::from_index(self.0 >> 1)
    }

    fn is_constant(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The sets of a world and the solutions that are kept.
#[derive(Clone)]
pub(crate) struct Free {
    sets: Sets,
    /// What nodes are made of, as far as somebody has asked.
    made_of: SecondaryMap<Def, Option<MadeOf>>,
    solutions: SecondaryMap<Cont, Option<Set>>,
    /// For each continuation, those whose solution was computed from its own.
    dependents: SecondaryMap<Cont, Vec<Cont>>,
}

impl Free {
    pub fn new() -> Free {
        Free {
            sets: Sets::new(),
            made_of: SecondaryMap::new(),
            solutions: SecondaryMap::new(),
            dependents: SecondaryMap::new(),
        }
    }

    /// Forgets what depends on the body or filter of `cont`.
    pub fn changed(&mut self, cont: Cont) {
        let mut stack = vec![cont];
        while let Some(cont) = stack.pop() {
            if self.solutions[cont].take().is_some() {
                stack.append(&mut self.dependents[cont]);
            }
        }
    }
}

impl Free {
    /// What `def` is made of, if that is known for all its operands.
    fn mix(&mut self, world: &World, def: Def) -> Option<MadeOf> {
        let node = world.node(def);
        match node {
            Node::Param { .. } | Node::Cont(_) => {
                let is_cont = matches!(node, Node::Cont(_));
                return Some(MadeOf::new(self.sets.singleton(Element::new(def, is_cont)), is_cont));
            }
            Node::Global(_) => return Some(MadeOf::new(Set::EMPTY, true)),
            _ => {}
        }
        let mut mix = Some((Set::EMPTY, is_transparent(world, node)));
        world.for_each_operand(def, |operand| {
            mix = mix.zip(self.made_of[operand]).map(|((mentions, constant), operand)| {
                (self.sets.union(mentions, operand.mentions()), constant & operand.is_constant())
            });
        });
        mix.map(|(mentions, constant)| MadeOf::new(mentions, constant))
    }
}

/// Whether an operation is constant when its operands are. Others that have
/// constant operands were not folded, because they would fail or must not be.
fn is_transparent(world: &World, node: Node) -> bool {
    match node {
        Node::Lit(_) | Node::Undef | Node::SizeOf(_) | Node::AlignOf(_) => true,
        Node::Aggregate(_) | Node::Insert { .. } | Node::Variant { .. } => true,
        Node::Bitcast(_) | Node::Lea { .. } | Node::Mark { .. } | Node::Streaming(_) => true,
        Node::Cast(value) => matches!(world.types.kind(world.ty(value)), TyKind::Ptr { .. }),
        _ => false,
    }
}

// ---- Questions --------------------------------------------------------------------

impl World {
    /// What `def` is made of. Found when first asked for, for all that it uses too:
    /// most programs are built without anybody asking.
    fn made_of(&self, def: Def) -> MadeOf {
        let free = &mut *self.free.borrow_mut();
        if let Some(made_of) = free.made_of[def] {
            return made_of;
        }
        let mut stack = vec![def];
        while let Some(&next) = stack.last() {
            match free.made_of[next].or_else(|| free.mix(self, next)) {
                Some(made_of) => {
                    free.made_of[next] = Some(made_of);
                    stack.pop();
                    if next == def {
                        return made_of;
                    }
                }
                None => self.for_each_operand(next, |operand| {
                    if free.made_of[operand].is_none() {
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
        let mentions = self.made_of(def).mentions();
        self.free.borrow().sets.elements(mentions)
    }

    /// Whether `def` reaches the parameter or continuation `other` through operations alone.
    pub fn has_mention(&self, def: Def, other: Def) -> bool {
        self.set_contains(self.made_of(def).mentions(), other)
    }

    /// The parameters that `def` depends on, also through the bodies of continuations.
    pub fn free_set(&self, def: Def) -> Set {
        let mentions = self.made_of(def).mentions();
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
        self.free.borrow().solutions[cont].expect("the solver keeps what it was asked for")
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
    pub fn set_elements(&self, set: Set) -> Vec<Def> {
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
        self.made_of(def).is_constant() && self.free_set(def).is_empty()
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
        let mentions: Vec<Set> =
            body.chain(&data.filter).map(|&def| self.world.made_of(def).mentions()).collect();
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
                    // One that has no solution yet comes later; then all is done again.
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
