//! Which vertices form loops, and how loops nest.
//!
//! A loop is a strongly connected part of the graph. Its *headers* are the
//! entry vertices: one in a reducible loop,
//! several in an irreducible one. Without its headers the rest of a loop falls
//! into smaller components, which are the loops nested in it (Steensgaard 1993).
//! The cost is linear for each level of nesting.

use super::graph::Graph;

/// The loops of a graph.
#[derive(Clone, Debug)]
pub struct LoopForest {
    loops: Vec<Loop>,
    innermost: Vec<Option<usize>>,
}

/// One loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The enclosing loop.
    pub parent: Option<usize>,
    /// Where it is entered, in ascending order.
    pub headers: Vec<usize>,
    /// All its vertices, headers and nested loops included, in ascending order.
    pub vertices: Vec<usize>,
    /// How many loops it is in, itself included.
    pub depth: u32,
}

impl LoopForest {
    /// The loops of `graph`, which is entered at `root`. Each comes after its
    /// enclosing loop.
    pub fn new(graph: &Graph, root: usize) -> LoopForest {
        let mut forest = LoopForest { loops: vec![], innermost: vec![None; graph.len()] };
        // The region of a vertex: the loop whose inside it belongs to; none once
        // it is a header, for then it is in no deeper loop.
        const OUTSIDE: usize = usize::MAX;
        let mut region: Vec<Option<usize>> = vec![Some(OUTSIDE); graph.len()];
        let mut work: Vec<(Option<usize>, Vec<usize>)> = vec![(None, (0..graph.len()).collect())];
        while let Some((parent, vertices)) = work.pop() {
            let inside = Some(parent.unwrap_or(OUTSIDE));
            for component in graph.components(&vertices, |vertex| region[vertex] == inside) {
                if !is_cyclic(graph, &component) {
                    continue;
                }
                let id = forest.add(graph, root, parent, component);
                let Loop { vertices, headers, .. } = &forest.loops[id];
                for &vertex in vertices {
                    region[vertex] = Some(id);
                }
                for &header in headers {
                    region[header] = None;
                }
                work.push((Some(id), vertices.clone()));
            }
        }
        forest
    }

    fn add(&mut self, graph: &Graph, root: usize, parent: Option<usize>, mut vertices: Vec<usize>) -> usize {
        vertices.sort_unstable();
        let is_inside = |vertex: usize| vertices.binary_search(&vertex).is_ok();
        let is_header = |&vertex: &usize| vertex == root || graph.preds(vertex).any(|pred| !is_inside(pred));
        let headers: Vec<usize> = vertices.iter().copied().filter(is_header).collect();
        let id = self.loops.len();
        for &vertex in &vertices {
            self.innermost[vertex] = Some(id);
        }
        let depth = parent.map_or(1, |parent| self.loops[parent].depth + 1);
        self.loops.push(Loop { parent, headers, vertices, depth });
        id
    }

    /// All loops, each after its enclosing loop.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The innermost loop that `vertex` is in.
    pub fn innermost(&self, vertex: usize) -> Option<usize> {
        self.innermost[vertex]
    }

    /// How many loops `vertex` is in.
    pub fn depth(&self, vertex: usize) -> u32 {
        self.innermost[vertex].map_or(0, |innermost| self.loops[innermost].depth)
    }
}

fn is_cyclic(graph: &Graph, component: &[usize]) -> bool {
    match component {
        [one] => graph.succs(*one).any(|succ| succ == *one),
        _ => true,
    }
}
