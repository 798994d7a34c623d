//! The graph of references between nodes.
//!
//! A continuation mentions the nodes of its body and filter, an operation its
//! operands. Control reaches only mentioned continuations, so this graph contains
//! every control flow graph. Nesting is computed from it.
//!
//! Operations are vertices, too: an operation that many bodies share is
//! visited once, with all its operands.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap, entity_impl};
use rustc_hash::{FxHashMap, FxHashSet};

use super::graph::Graph;
use crate::node::{Cont, ContData, Def, Linkage, Node};
use crate::types::TyKind;
use crate::world::World;

/// The graph of mentions, from some roots on.
///
/// Its vertices are continuations and operations; one more vertex,
/// [`References::root`], leads to the roots. Parameters are not vertices but
/// [uses](References::uses): an edge to its owner would mean something else.
#[derive(Clone, Debug)]
pub struct References {
    nodes: Vec<Def>,
    index: Index,
    uses: Vec<(usize, Def)>,
    graph: Graph,
}

/// The vertices of nodes. A table costs more for each node, an array as much as the program is large.
#[derive(Clone, Debug)]
enum Index {
    Table(FxHashMap<Def, usize>),
    Array(SecondaryMap<Def, PackedOption<Vertex>>),
}

/// A vertex, as small as it can be.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Vertex(u32);
entity_impl!(Vertex, "vertex");

impl Index {
    fn get(&self, def: Def) -> Option<usize> {
        match self {
            Index::Table(table) => table.get(&def).copied(),
            Index::Array(array) => array[def].expand().map(|vertex| vertex.0 as usize),
        }
    }

    /// The vertex of `def`; `next` if it has none yet.
    fn get_or_insert(&mut self, def: Def, next: usize) -> usize {
        match self {
            Index::Table(table) => *table.entry(def).or_insert(next),
            Index::Array(array) => match array[def].expand() {
                Some(vertex) => vertex.0 as usize,
                None => {
                    array[def] = Vertex(next as u32).into();
                    next
                }
            },
        }
    }
}

impl References {
    /// From `roots` on.
    pub fn from_roots(world: &World, roots: &[Cont]) -> References {
        let index = Index::Array(SecondaryMap::with_capacity(world.node_count()));
        References::new(world, roots, index, |_| true)
    }

    /// From `entry` on, but not beyond other continuations that depend on no
    /// parameter: nothing nested in the entry, and nothing that it needs from
    /// outside, is behind those.
    pub fn within(world: &World, entry: Cont) -> References {
        let index = Index::Table(FxHashMap::default());
        References::new(world, &[entry], index, |cont| cont == entry || !world.is_top_level(cont))
    }

    fn new(world: &World, roots: &[Cont], mut index: Index, looks_into: impl Fn(Cont) -> bool) -> References {
        let mut nodes = vec![];
        let mut number = |def: Def, nodes: &mut Vec<Def>| {
            let vertex = index.get_or_insert(def, nodes.len());
            if vertex == nodes.len() {
                nodes.push(def);
            }
            vertex
        };
        let (mut edges, mut uses) = (vec![], vec![]);
        let roots: Vec<usize> = roots.iter().map(|&root| number(world.cont_def(root), &mut nodes)).collect();
        let mut from = 0;
        while let Some(&def) = nodes.get(from) {
            if world.as_cont(def).is_some_and(|cont| !looks_into(cont)) {
                from += 1;
                continue;
            }
            for_each_mention(world, def, |mentioned| match world.node(mentioned) {
                Node::Param { .. } => uses.push((from, mentioned)),
                Node::Cont(_) => edges.push((from, number(mentioned, &mut nodes))),
                _ if is_operation(world, mentioned) => edges.push((from, number(mentioned, &mut nodes))),
                _ => {}
            });
            from += 1;
        }
        edges.extend(roots.iter().map(|&to| (nodes.len(), to)));
        let graph = Graph::new(nodes.len() + 1, &edges);
        References { nodes, index, uses, graph }
    }

    /// All that the outside can get hold of: from exported continuations and
    /// from the values of globals on.
    pub fn of_program(world: &World) -> References {
        References::from_roots(world, &program_roots(world))
    }

    /// As [`References::of_program`], with one more root.
    pub fn with_entry(world: &World, entry: Cont) -> References {
        let mut roots = vec![entry];
        roots.extend(program_roots(world));
        References::from_roots(world, &roots)
    }

    /// The vertices but for the root: continuations and operations, in the order
    /// they were found; the roots first.
    pub fn nodes(&self) -> &[Def] {
        &self.nodes
    }

    /// The continuations, in the order they were found.
    pub fn conts<'a>(&'a self, world: &'a World) -> impl Iterator<Item = Cont> + 'a {
        self.nodes.iter().filter_map(|&def| world.as_cont(def))
    }

    /// The vertex of a continuation or operation, if it is reachable.
    pub fn index(&self, def: Def) -> Option<usize> {
        self.index.get(def)
    }

    /// Every parameter that a vertex mentions by itself, with the vertex.
    pub fn uses(&self) -> &[(usize, Def)] {
        &self.uses
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The vertex that leads to the roots.
    pub fn root(&self) -> usize {
        self.nodes.len()
    }
}

/// The continuations and operations that are reachable from the outside, as in
/// [`References::of_program`], without the graph.
pub fn reachable(world: &World) -> Vec<Def> {
    let mut nodes = vec![];
    let mut seen = EntitySet::new();
    let mut visit = |def: Def, nodes: &mut Vec<Def>| {
        if (world.as_cont(def).is_some() || is_operation(world, def)) && seen.insert(def) {
            nodes.push(def);
        }
    };
    program_roots(world).into_iter().for_each(|root| visit(world.cont_def(root), &mut nodes));
    let mut from = 0;
    while let Some(&def) = nodes.get(from) {
        for_each_mention(world, def, |mentioned| visit(mentioned, &mut nodes));
        from += 1;
    }
    nodes
}

/// Calls `each` with the nodes that `def` mentions directly, in order.
pub fn for_each_mention(world: &World, def: Def, each: impl FnMut(Def)) {
    match world.node(def) {
        Node::Cont(cont) => mentions(world.cont(cont)).for_each(each),
        _ => world.for_each_operand(def, each),
    }
}

/// Callee, arguments and filters.
fn mentions(data: &ContData) -> impl Iterator<Item = Def> + '_ {
    let body =
        data.body.iter().flat_map(|body| std::iter::once(body.callee).chain(body.args.iter().copied()));
    body.chain(data.filter.iter().copied())
}

/// Exported continuations, then those in the values of globals.
pub fn program_roots(world: &World) -> Vec<Cont> {
    let is_exported = |linkage: &Linkage| matches!(linkage, Linkage::Exported(_));
    let exported = world.conts().filter(|(_, data)| is_exported(&data.linkage)).map(|(cont, _)| cont);
    let mut roots: Vec<Cont> = exported.collect();
    roots.extend(conts_in_globals(world));
    roots
}

/// The continuations in the values of globals.
pub fn conts_in_globals(world: &World) -> Vec<Cont> {
    let mut conts = vec![];
    // Tables of numbers may be long.
    let values =
        world.globals().filter_map(|(_, global)| global.init).filter(|&init| world.contains_conts(init));
    for_each_node(world, values, |def| conts.extend(world.as_cont(def)));
    conts
}

/// Whether `def` is computed, not a literal, parameter or continuation.
pub fn is_operation(world: &World, def: Def) -> bool {
    let mut has_operand = false;
    world.for_each_operand(def, |_| has_operand = true);
    has_operand
}

/// Calls `each` with every node that `roots` reach through operands, once, users
/// before operands.
pub fn for_each_node(world: &World, roots: impl IntoIterator<Item = Def>, mut each: impl FnMut(Def)) {
    let mut seen = FxHashSet::default();
    let mut stack: Vec<Def> = roots.into_iter().collect();
    stack.reverse();
    while let Some(def) = stack.pop() {
        if seen.insert(def) {
            each(def);
            let first = stack.len();
            world.for_each_operand(def, |operand| stack.push(operand));
            stack[first..].reverse();
        }
    }
}

/// Finds the values of continuation type behind operations. It remembers which
/// operations have none behind them, so that asking for many bodies that share
/// operations does not walk these again.
pub struct ContinuationFinder<'a> {
    world: &'a World,
    has_any: FxHashMap<Def, bool>,
}

impl<'a> ContinuationFinder<'a> {
    /// One that has seen nothing.
    pub fn new(world: &'a World) -> ContinuationFinder<'a> {
        ContinuationFinder { world, has_any: FxHashMap::default() }
    }

    /// All values of continuation type that `roots` are or reach, in the order of
    /// first mention.
    pub fn find(&mut self, roots: &[Def]) -> Vec<Def> {
        let mut found = vec![];
        let mut seen = FxHashSet::default();
        let mut stack: Vec<Def> = roots.iter().rev().copied().collect();
        while let Some(def) = stack.pop() {
            if !self.has_any(def) || !seen.insert(def) {
                continue;
            }
            found.extend(self.is_continuation(def).then_some(def));
            let first = stack.len();
            self.world.for_each_operand(def, |operand| stack.push(operand));
            stack[first..].reverse();
        }
        found
    }

    fn is_continuation(&self, def: Def) -> bool {
        matches!(self.world.types.kind(self.world.ty(def)), TyKind::Cn(_))
    }

    fn has_any(&mut self, def: Def) -> bool {
        let mut stack = vec![def];
        while let Some(&next) = stack.last() {
            let before = stack.len();
            let mut any = self.is_continuation(next);
            self.world.for_each_operand(next, |operand| match self.has_any.get(&operand) {
                Some(&has) => any |= has,
                None => stack.push(operand),
            });
            if stack.len() == before {
                self.has_any.insert(next, any);
                stack.pop();
            }
        }
        self.has_any[&def]
    }
}

/// The continuation that a parameter belongs to.
pub(crate) fn owner(world: &World, param: Def) -> Cont {
    owner_of(world, param).expect("only parameters have an owner")
}

/// The continuation that `def` belongs to, if it is a parameter.
pub(crate) fn owner_of(world: &World, def: Def) -> Option<Cont> {
    match world.node(def) {
        Node::Param { cont, .. } => Some(cont),
        _ => None,
    }
}
