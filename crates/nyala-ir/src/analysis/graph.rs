//! Plain directed graphs, and the algorithms that need no more than that.
//!
//! Vertices are numbered from 0. Both directions are stored, so a graph can be
//! read backwards at no cost. Nothing here recurses.

/// A directed graph that does not change. Parallel edges are kept once.
#[derive(Clone, Debug)]
pub struct Graph {
    succs: Adjacency,
    preds: Adjacency,
}

#[derive(Clone, Debug)]
struct Adjacency {
    /// The neighbours of `v` are `targets[starts[v]..starts[v + 1]]`.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Adjacency {
    /// Buckets `edges` by their first end; the order within a bucket is kept.
    fn new(len: usize, edges: impl Iterator<Item = (usize, usize)> + Clone) -> Adjacency {
        let mut starts = vec![0u32; len + 1];
        for (from, _) in edges.clone() {
            starts[from + 1] += 1;
        }
        for vertex in 0..len {
            starts[vertex + 1] += starts[vertex];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; starts[len] as usize];
        for (from, to) in edges {
            targets[next[from] as usize] = to as u32;
            next[from] += 1;
        }
        Adjacency { starts, targets }
    }

    fn of(&self, vertex: usize) -> &[u32] {
        &self.targets[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }
}

impl Graph {
    /// A graph of `len` vertices. Successors keep the order of `edges`.
    pub fn new(len: usize, edges: &[(usize, usize)]) -> Graph {
        let all = Adjacency::new(len, edges.iter().copied());
        // The last source seen for each target finds parallel edges in one sweep.
        let mut seen_from = vec![usize::MAX; len];
        let mut unique = Vec::with_capacity(edges.len());
        for from in 0..len {
            for &to in all.of(from) {
                if std::mem::replace(&mut seen_from[to as usize], from) != from {
                    unique.push((from, to as usize));
                }
            }
        }
        let succs = Adjacency::new(len, unique.iter().copied());
        let preds = Adjacency::new(len, unique.iter().map(|&(from, to)| (to, from)));
        Graph { succs, preds }
    }

    /// How many vertices there are.
    pub fn len(&self) -> usize {
        self.succs.starts.len() - 1
    }

    /// Whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where edges from `vertex` lead.
    pub fn succs(&self, vertex: usize) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + '_ {
        self.succs.of(vertex).iter().map(|&to| to as usize)
    }

    /// The predecessors of `vertex`.
    pub fn preds(&self, vertex: usize) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + '_ {
        self.preds.of(vertex).iter().map(|&from| from as usize)
    }

    /// All edges, by source.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.len()).flat_map(|from| self.succs(from).map(move |to| (from, to)))
    }

    /// The graph with all edges turned around.
    pub fn reversed(self) -> Graph {
        Graph { succs: self.preds, preds: self.succs }
    }

    /// The vertices that are reachable from `root`, in reverse post order: a vertex comes before
    /// its successors, except along back edges.
    pub fn reverse_post_order(&self, root: usize) -> Vec<usize> {
        let mut order = vec![];
        let mut seen = vec![false; self.len()];
        seen[root] = true;
        // Successors are visited last to first, so that the reversed order has
        // them first to last.
        let mut stack = vec![(root, self.succs(root).rev())];
        while let Some((vertex, succs)) = stack.last_mut() {
            match succs.find(|&succ| !std::mem::replace(&mut seen[succ], true)) {
                Some(succ) => stack.push((succ, self.succs(succ).rev())),
                None => {
                    order.push(*vertex);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// The strongly connected components of the part of the graph for which
    /// `keep` holds, each before those that lead to it (Tarjan).
    pub fn components(&self, vertices: &[usize], keep: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        Components::default().run(self, vertices, keep)
    }
}

/// The state of Tarjan's algorithm. It is keyed by position of first visit, so
/// its cost is that of the part looked at.
#[derive(Default)]
struct Components {
    /// The number of each vertex seen, in order of discovery.
    number: rustc_hash::FxHashMap<usize, u32>,
    /// By number: the lowest number reachable while still on `open`.
    low: Vec<u32>,
    /// By number: whether its component is complete.
    closed: Vec<bool>,
    open: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Components {
    fn run(mut self, graph: &Graph, vertices: &[usize], keep: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        for &root in vertices {
            if !keep(root) || self.number.contains_key(&root) {
                continue;
            }
            self.enter(root);
            let mut stack = vec![(root, graph.succs(root))];
            while let Some((vertex, succs)) = stack.last_mut() {
                let vertex = *vertex;
                match succs.find(|&succ| keep(succ)) {
                    Some(succ) => match self.number.get(&succ) {
                        Some(&number) => self.reaches(vertex, number),
                        None => {
                            self.enter(succ);
                            stack.push((succ, graph.succs(succ)));
                        }
                    },
                    None => {
                        stack.pop();
                        self.leave(vertex, stack.last().map(|(parent, _)| *parent));
                    }
                }
            }
        }
        self.found
    }

    fn enter(&mut self, vertex: usize) {
        let number = self.low.len() as u32;
        self.number.insert(vertex, number);
        self.low.push(number);
        self.closed.push(false);
        self.open.push(vertex);
    }

    fn reaches(&mut self, vertex: usize, number: u32) {
        if !self.closed[number as usize] {
            let low = &mut self.low[self.number[&vertex] as usize];
            *low = number.min(*low);
        }
    }

    fn leave(&mut self, vertex: usize, parent: Option<usize>) {
        let number = self.number[&vertex];
        let low = self.low[number as usize];
        if low == number {
            let at = self.open.iter().rposition(|&open| open == vertex).expect("entered, not yet left");
            let component = self.open.split_off(at);
            for member in &component {
                self.closed[self.number[member] as usize] = true;
            }
            self.found.push(component);
        } else if let Some(parent) = parent {
            self.reaches(parent, low);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_edges_are_kept_once_and_in_order() {
        let graph = Graph::new(3, &[(0, 2), (0, 1), (0, 2), (1, 2)]);
        assert_eq!(graph.succs(0).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(graph.preds(2).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn reverse_post_order_puts_joins_after_branches() {
        let graph = Graph::new(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 1)]);
        assert_eq!(graph.reverse_post_order(0)[0], 0);
        let straight = Graph::new(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(straight.reverse_post_order(0), [0, 1, 2, 3]);
    }

    #[test]
    fn components_come_sinks_first() {
        let graph = Graph::new(5, &[(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 3)]);
        let all: Vec<usize> = (0..5).collect();
        let mut found = graph.components(&all, |_| true);
        for component in &mut found {
            component.sort_unstable();
        }
        assert_eq!(found, [vec![3, 4], vec![1, 2], vec![0]]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let len = 200_000;
        let edges: Vec<(usize, usize)> = (1..len).map(|to| (to - 1, to)).collect();
        let graph = Graph::new(len, &edges);
        assert_eq!(graph.reverse_post_order(0).len(), len);
        let all: Vec<usize> = (0..len).collect();
        assert_eq!(graph.components(&all, |_| true).len(), len);
    }
}
