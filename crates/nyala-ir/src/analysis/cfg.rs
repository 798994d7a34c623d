//! Control flow within a scope, or between the blocks of a function.
//!
//! Vertices are the continuations of the scope in reverse post order, the entry
//! first, and one more: the exit. The edges say where control may go next:
//!
//! * to a continuation of the scope that is called or passed to the callee, for
//!   the callee may call it: so calls of functions outside lead to their return
//!   points, and `branch` and `switch` to their targets;
//! * to the exit, if the call knows a way out: a continuation that is computed
//!   or a parameter, or one from outside that does not return. A known function
//!   that is passed on counts as one that returns;
//! * to the exit, if it calls code outside of the scope and passes no continuation of the scope.
//!
//! A continuation of the scope that is called through a parameter thus has an
//! edge from where it was passed, not from the call. That keeps the
//! meaning of dominance: the dominators of a vertex have been executed before it.

use rustc_hash::FxHashMap;

use super::dominance::DomTree;
use super::functions::{Function, Functions, Uses};
use super::graph::Graph;
use super::references::ContinuationFinder;
use super::scope::Scope;
use crate::node::{Cont, Def, Intrinsic, Node};
use crate::world::World;

/// The control flow graph of a scope.
#[derive(Clone, Debug)]
pub struct Cfg {
    conts: Vec<Cont>,
    index: FxHashMap<Cont, usize>,
    graph: Graph,
}

impl Cfg {
    /// The control flow graph of `scope`.
    pub fn new(world: &World, scope: &Scope) -> Cfg {
        let mut finder = ContinuationFinder::new(world);
        Cfg::build(scope.conts(), |cont| Flow::of(world, &mut finder, scope, cont))
    }

    /// The control flow graph of one of `functions`: its blocks only.
    pub fn of_function(world: &World, functions: &Functions, function: &Function) -> Cfg {
        Cfg::build(&function.blocks, |block| {
            let Some(body) = &world.cont(block).body else { return Flow { targets: vec![], exits: true } };
            let callee = world.as_cont(body.callee);
            let is_jump = |callee: &Cont| *callee == function.entry || functions.get(*callee).is_none();
            let places = Uses::of(world, functions.styles(), body).targets;
            let mut targets: Vec<Cont> = callee.filter(is_jump).into_iter().collect();
            targets.extend(places.iter().filter_map(|&place| world.as_cont(place)));
            targets.retain(|&target| function.contains(target));
            Flow { exits: targets.is_empty() && !is_dead_end(world, body.callee), targets }
        })
    }

    fn build(scope: &[Cont], mut flow: impl FnMut(Cont) -> Flow) -> Cfg {
        let found: FxHashMap<Cont, usize> = scope.iter().enumerate().map(|(at, &cont)| (cont, at)).collect();
        let exit = found.len();
        let mut edges = vec![];
        for (from, &cont) in scope.iter().enumerate() {
            let flow = flow(cont);
            edges.extend(flow.targets.iter().map(|target| (from, found[target])));
            edges.extend(flow.exits.then_some((from, exit)));
        }
        // The exit is last, whether or not control gets there.
        let mut order = Graph::new(exit + 1, &edges).reverse_post_order(0);
        order.retain(|&vertex| vertex != exit);
        let mut renumbered = vec![None; exit + 1];
        renumbered[exit] = Some(order.len());
        for (new, &old) in order.iter().enumerate() {
            renumbered[old] = Some(new);
        }
        let renumber = |&(from, to): &(usize, usize)| Some((renumbered[from]?, renumbered[to]?));
        let edges: Vec<(usize, usize)> = edges.iter().filter_map(renumber).collect();
        let conts: Vec<Cont> = order.iter().map(|&old| scope[old]).collect();
        let index = conts.iter().enumerate().map(|(at, &cont)| (cont, at)).collect();
        Cfg { graph: Graph::new(conts.len() + 1, &edges), conts, index }
    }

    /// The continuations in reverse post order.
    pub fn conts(&self) -> &[Cont] {
        &self.conts
    }

    /// The continuation of a vertex; `None` for the exit.
    pub fn cont(&self, vertex: usize) -> Option<Cont> {
        self.conts.get(vertex).copied()
    }

    /// The vertex of a continuation of the scope.
    pub fn index(&self, cont: Cont) -> Option<usize> {
        self.index.get(&cont).copied()
    }

    /// The vertex of the entry.
    pub fn entry(&self) -> usize {
        0
    }

    /// The vertex of the exit.
    pub fn exit(&self) -> usize {
        self.conts.len()
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The dominators.
    pub fn dominators(&self) -> DomTree {
        DomTree::new(&self.graph, self.entry())
    }

    /// The post-dominators; the root is the exit.
    ///
    /// Where control never leaves, one vertex of each innermost endless loop
    /// counts as a way out, so that every vertex has post-dominators.
    pub fn post_dominators(&self) -> DomTree {
        let mut edges: Vec<(usize, usize)> = self.graph.edges().collect();
        let vertices: Vec<usize> = (0..self.graph.len()).collect();
        // Components come sinks first, so only those without a way out need one.
        let mut leaves = vec![false; self.graph.len()];
        leaves[self.exit()] = true;
        for component in self.graph.components(&vertices, |_| true) {
            let known = |&vertex: &usize| leaves[vertex] || self.graph.succs(vertex).any(|succ| leaves[succ]);
            if !component.iter().any(known) {
                let last = component.iter().max().expect("a component has a vertex");
                edges.push((*last, self.exit()));
            }
            for vertex in component {
                leaves[vertex] = true;
            }
        }
        DomTree::new(&Graph::new(self.graph.len(), &edges).reversed(), self.exit())
    }
}

/// Where one continuation may hand over control.
struct Flow {
    targets: Vec<Cont>,
    exits: bool,
}

impl Flow {
    fn of(world: &World, finder: &mut ContinuationFinder<'_>, scope: &Scope, cont: Cont) -> Flow {
        let Some(body) = &world.cont(cont).body else {
            return Flow { targets: vec![], exits: true };
        };
        let mut targets = vec![];
        let mut knows_way_out = false;
        let roots: Vec<Def> = std::iter::once(body.callee).chain(body.args.iter().copied()).collect();
        for def in finder.find(&roots) {
            match world.node(def) {
                Node::Cont(cont) if scope.contains(cont) => targets.push(cont),
                Node::Cont(_) => knows_way_out |= def != body.callee && !returns(world, def),
                // A mark of a callee is not a value.
                Node::Mark { .. } | Node::Hide(_) => {}
                _ => knows_way_out = true,
            }
        }
        let outside = world.as_cont(body.callee).filter(|&callee| !scope.contains(callee));
        let leaves_by_call = outside.is_some() && targets.is_empty() && !is_dead_end(world, body.callee);
        Flow { targets, exits: knows_way_out || leaves_by_call }
    }
}

/// Whether `cont` gets a continuation as argument.
fn returns(world: &World, cont: Def) -> bool {
    let params = world.types.as_cn(world.ty(cont)).unwrap_or(&[]);
    params.iter().any(|&param| world.types.as_cn(param).is_some())
}

fn is_dead_end(world: &World, callee: Def) -> bool {
    world.as_intrinsic(callee) == Some(Intrinsic::Unreachable)
}
