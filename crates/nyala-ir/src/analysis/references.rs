//! Which continuations mention which.
//!
//! A continuation *mentions* the continuations and parameters that its body and
//! filter reach through primitive operations. Control can only get from one
//! continuation to another if something on the way mentioned it, so this graph
//! stands above every control flow graph, and it is what nesting is read from.

use rustc_hash::{FxHashMap, FxHashSet};

use super::graph::Graph;
use crate::node::{Cont, Def, Linkage, Node};
use crate::world::World;

/// What the body and the filter of one continuation mention, each thing once, in
/// the order of first mention.
#[derive(Clone, Debug, Default)]
pub struct Mentions {
    /// Continuations.
    pub conts: Vec<Cont>,
    /// Parameters, also its own.
    pub params: Vec<Def>,
}

impl Mentions {
    /// What `cont` mentions.
    pub fn of(world: &World, cont: Cont) -> Mentions {
        let data = world.cont(cont);
        let body =
            data.body.iter().flat_map(|body| std::iter::once(body.callee).chain(body.args.iter().copied()));
        let filter = data.filter.iter().copied();
        let mut mentions = Mentions::default();
        for_each_node(world, body.chain(filter), |def| match world.node(def) {
            Node::Cont(cont) => mentions.conts.push(cont),
            Node::Param { .. } => mentions.params.push(def),
            _ => {}
        });
        mentions
    }
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

/// The graph of mentions, from some roots on.
///
/// Vertex `v` is `conts[v]`; one more vertex, [`References::root`], leads to the roots.
#[derive(Clone, Debug)]
pub struct References {
    conts: Vec<Cont>,
    index: FxHashMap<Cont, usize>,
    params: Vec<Vec<Def>>,
    graph: Graph,
}

impl References {
    /// From `roots` on.
    pub fn from_roots(world: &World, roots: &[Cont]) -> References {
        let mut conts = vec![];
        let mut index = FxHashMap::default();
        let mut number = |cont: Cont, conts: &mut Vec<Cont>| {
            *index.entry(cont).or_insert_with(|| {
                conts.push(cont);
                conts.len() - 1
            })
        };
        let (mut edges, mut params) = (vec![], vec![]);
        let roots: Vec<usize> = roots.iter().map(|&root| number(root, &mut conts)).collect();
        while let Some(&cont) = conts.get(params.len()) {
            let mentions = Mentions::of(world, cont);
            let from = params.len();
            edges.extend(mentions.conts.iter().map(|&to| (from, number(to, &mut conts))));
            params.push(mentions.params);
        }
        edges.extend(roots.iter().map(|&to| (conts.len(), to)));
        let graph = Graph::new(conts.len() + 1, &edges);
        References { conts, index, params, graph }
    }

    /// All that the outside can get hold of: from exported continuations and
    /// from the values of globals on.
    pub fn of_program(world: &World) -> References {
        References::from_roots(world, &program_roots(world))
    }

    /// The continuations, in the order they were found; every root first.
    pub fn conts(&self) -> &[Cont] {
        &self.conts
    }

    /// The vertex of a continuation, if it is reachable.
    pub fn index(&self, cont: Cont) -> Option<usize> {
        self.index.get(&cont).copied()
    }

    /// The parameters that a vertex mentions.
    pub fn params(&self, vertex: usize) -> &[Def] {
        &self.params[vertex]
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The vertex that leads to the roots.
    pub fn root(&self) -> usize {
        self.conts.len()
    }
}

/// Exported continuations, then those in the values of globals.
fn program_roots(world: &World) -> Vec<Cont> {
    let is_exported = |linkage: &Linkage| matches!(linkage, Linkage::Exported(_));
    let exported = world.conts().filter(|(_, data)| is_exported(&data.linkage)).map(|(cont, _)| cont);
    let mut roots: Vec<Cont> = exported.collect();
    let values = world.globals().filter_map(|(_, global)| global.init);
    for_each_node(world, values, |def| roots.extend(world.as_cont(def)));
    roots
}

/// The continuation that a parameter belongs to.
pub(crate) fn owner(world: &World, param: Def) -> Cont {
    owner_of(world, param).expect("only parameters are asked for their owner")
}

/// The continuation that `def` belongs to, if it is a parameter.
pub(crate) fn owner_of(world: &World, def: Def) -> Option<Cont> {
    match world.node(def) {
        Node::Param { cont, .. } => Some(cont),
        _ => None,
    }
}
