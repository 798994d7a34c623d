//! Dominators and post-dominators.
//!
//! [`DomTree::new`] is the algorithm of Lengauer and Tarjan (1979) with path
//! compression: semidominators by depth-first numbering, then dominators from them.
//! It takes O(m log n) steps on every graph. Simpler algorithms are as fast on most graphs, but climb
//! the tree for every vertex, which is slow for the deep trees of fully unrolled loops.
//!
//! Post-dominators are dominators of the reversed graph; see
//! [`Cfg::post_dominators`](super::cfg::Cfg::post_dominators).

use super::graph::Graph;

/// The dominator tree of the vertices that are reachable from a root.
#[derive(Clone, Debug)]
pub struct DomTree {
    root: usize,
    /// The immediate dominator; of the root, itself; `None` if unreachable.
    idom: Vec<Option<usize>>,
    depth: Vec<u32>,
    /// For each vertex one further up, such that a few jumps lead far (Myers' skew-binary lists).
    jump: Vec<u32>,
    /// The interval of a depth-first walk over the tree, for ancestor queries.
    enter: Vec<u32>,
    leave: Vec<u32>,
    preorder: Vec<usize>,
}

impl DomTree {
    /// The dominators of all vertices reachable from `root`.
    pub fn new(graph: &Graph, root: usize) -> DomTree {
        let idom = LengauerTarjan::new(graph, root).run(graph);
        let len = graph.len();
        let mut tree = DomTree {
            root,
            idom,
            depth: vec![0; len],
            jump: vec![root as u32; len],
            enter: vec![0; len],
            leave: vec![0; len],
            preorder: vec![],
        };
        tree.number();
        tree
    }

    fn number(&mut self) {
        let edges: Vec<(usize, usize)> = (0..self.idom.len())
            .filter(|&vertex| vertex != self.root)
            .filter_map(|vertex| Some((self.idom[vertex]?, vertex)))
            .collect();
        let tree = Graph::new(self.idom.len(), &edges);
        let mut stack = vec![(self.root, tree.succs(self.root))];
        self.preorder.push(self.root);
        while let Some((vertex, children)) = stack.last_mut() {
            match children.next() {
                Some(child) => {
                    self.depth[child] = self.depth[*vertex] + 1;
                    self.jump[child] = self.jump_below(*vertex);
                    self.enter[child] = self.preorder.len() as u32;
                    self.preorder.push(child);
                    stack.push((child, tree.succs(child)));
                }
                None => {
                    self.leave[*vertex] = self.preorder.len() as u32;
                    stack.pop();
                }
            }
        }
    }

    /// Where a child of `vertex` jumps to: twice as far as `vertex`, if that made two equal jumps.
    fn jump_below(&self, vertex: usize) -> u32 {
        let first = self.jump[vertex];
        let second = self.jump[first as usize];
        let depth = |vertex: u32| self.depth[vertex as usize];
        let are_equal = self.depth[vertex] - depth(first) == depth(first) - depth(second);
        if are_equal { second } else { vertex as u32 }
    }

    /// The root.
    pub fn root(&self) -> usize {
        self.root
    }

    /// Whether the root leads to `vertex`.
    pub fn is_reachable(&self, vertex: usize) -> bool {
        self.idom[vertex].is_some()
    }

    /// The immediate dominator; `None` for the root and unreachable vertices.
    pub fn idom(&self, vertex: usize) -> Option<usize> {
        self.idom[vertex].filter(|_| vertex != self.root)
    }

    /// The distance from the root.
    pub fn depth(&self, vertex: usize) -> u32 {
        self.depth[vertex]
    }

    /// Whether every path to `below` passes `above`; each vertex dominates itself.
    pub fn dominates(&self, above: usize, below: usize) -> bool {
        let reachable = self.is_reachable(above) && self.is_reachable(below);
        reachable && self.enter[above] <= self.enter[below] && self.leave[below] <= self.leave[above]
    }

    /// The closest vertex that dominates both; both must be reachable.
    pub fn common(&self, mut a: usize, b: usize) -> usize {
        while !self.dominates(a, b) {
            let far = self.jump[a] as usize;
            let above = self.idom(a).expect("the root dominates all that is reachable");
            a = if self.dominates(far, b) { above } else { far };
        }
        a
    }

    /// All reachable vertices, each after its dominators.
    pub fn preorder(&self) -> &[usize] {
        &self.preorder
    }

    /// For each vertex, where its dominance ends: the vertices that it does not
    /// strictly dominate but one of whose predecessors it dominates.
    pub fn frontiers(&self, graph: &Graph) -> Vec<Vec<usize>> {
        let mut frontiers: Vec<Vec<usize>> = vec![vec![]; graph.len()];
        for (from, join) in graph.edges() {
            let mut runner = Some(from).filter(|&from| self.is_reachable(from));
            while let Some(vertex) = runner.filter(|&vertex| Some(vertex) != self.idom(join)) {
                if !frontiers[vertex].contains(&join) {
                    frontiers[vertex].push(join);
                }
                runner = self.idom(vertex);
            }
        }
        frontiers
    }
}

/// The state of the algorithm. All but `number` is indexed by depth-first number.
struct LengauerTarjan {
    /// By vertex.
    number: Vec<Option<usize>>,
    vertex: Vec<usize>,
    parent: Vec<usize>,
    semi: Vec<usize>,
    /// The number with the least semidominator on the compressed path above.
    label: Vec<usize>,
    ancestor: Vec<usize>,
}

impl LengauerTarjan {
    fn new(graph: &Graph, root: usize) -> LengauerTarjan {
        let mut number = vec![None; graph.len()];
        let (mut vertex, mut parent) = (vec![], vec![]);
        let mut stack = vec![(root, 0)];
        while let Some((next, from)) = stack.pop() {
            if number[next].is_some() {
                continue;
            }
            let here = vertex.len();
            number[next] = Some(here);
            vertex.push(next);
            parent.push(from);
            stack.extend(
                graph.succs(next).rev().filter(|&succ| number[succ].is_none()).map(|succ| (succ, here)),
            );
        }
        let identity: Vec<usize> = (0..vertex.len()).collect();
        LengauerTarjan {
            number,
            semi: identity.clone(),
            label: identity,
            ancestor: parent.clone(),
            vertex,
            parent,
        }
    }

    fn run(mut self, graph: &Graph) -> Vec<Option<usize>> {
        let len = self.vertex.len();
        // Numbers whose semidominator is known but not yet their dominator, by semidominator.
        let mut waiting: Vec<Vec<usize>> = vec![vec![]; len];
        let mut idom = vec![0; len];
        for here in (1..len).rev() {
            for pred in graph.preds(self.vertex[here]) {
                if let Some(pred) = self.number[pred] {
                    let best = self.eval(pred, here);
                    self.semi[here] = self.semi[here].min(self.semi[best]);
                }
            }
            waiting[self.semi[here]].push(here);
            let parent = self.parent[here];
            for number in std::mem::take(&mut waiting[parent]) {
                let best = self.eval(number, here - 1);
                // Either the semidominator, or that of `best`, which is settled below.
                idom[number] = if self.semi[best] < self.semi[number] { best } else { parent };
            }
        }
        for here in 1..len {
            if idom[here] != self.semi[here] {
                idom[here] = idom[idom[here]];
            }
        }
        let by_vertex = |number: usize| self.vertex[idom[number]];
        self.number.iter().map(|number| number.map(by_vertex)).collect()
    }

    /// The number with the least semidominator on the tree path from `from` up
    /// to, but without, the first number that is not above `last` (those are not
    /// linked yet). Compresses that path.
    fn eval(&mut self, from: usize, last: usize) -> usize {
        if from <= last {
            return from;
        }
        let mut path = vec![from];
        let mut top = from;
        while self.ancestor[top] > last {
            top = self.ancestor[top];
            path.push(top);
        }
        path.pop();
        while let Some(below) = path.pop() {
            let above = self.ancestor[below];
            if self.semi[self.label[above]] < self.semi[self.label[below]] {
                self.label[below] = self.label[above];
            }
            self.ancestor[below] = self.ancestor[above];
        }
        self.label[from]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition: `a` dominates `b` if the root does not reach `b` without `a`.
    fn slow_dominates(graph: &Graph, root: usize, a: usize, b: usize) -> bool {
        let mut seen = vec![false; graph.len()];
        let mut stack = vec![root];
        while let Some(vertex) = stack.pop() {
            if vertex != a && !std::mem::replace(&mut seen[vertex], true) {
                stack.extend(graph.succs(vertex));
            }
        }
        !seen[b]
    }

    #[test]
    fn agrees_with_the_definition_on_random_graphs() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        for _ in 0..500 {
            let len = 1 + random(12);
            let edges: Vec<(usize, usize)> = (0..random(30)).map(|_| (random(len), random(len))).collect();
            let graph = Graph::new(len, &edges);
            let tree = DomTree::new(&graph, 0);
            let reachable = graph.reverse_post_order(0);
            for b in 0..len {
                assert_eq!(tree.is_reachable(b), reachable.contains(&b));
            }
            for &b in &reachable {
                for &a in &reachable {
                    let expected = slow_dominates(&graph, 0, a, b);
                    assert_eq!(tree.dominates(a, b), expected, "{a} over {b} in {edges:?}");
                }
            }
        }
    }

    #[test]
    fn a_ladder_of_early_exits_is_fast() {
        let len = 100_000;
        let exit = len;
        let mut edges: Vec<(usize, usize)> = (1..len).map(|to| (to - 1, to)).collect();
        edges.extend((0..len).map(|from| (from, exit)));
        let graph = Graph::new(len + 1, &edges);
        let tree = DomTree::new(&graph, 0);
        assert_eq!(tree.idom(exit), Some(0));
        assert_eq!(tree.depth(len - 1), len as u32 - 1);
        assert_eq!(DomTree::new(&graph.reversed(), exit).idom(7), Some(exit));
    }

    #[test]
    fn a_ladder_with_separate_exits_is_fast() {
        let len = 100_000;
        let mut edges: Vec<(usize, usize)> = (1..len).map(|to| (to - 1, to)).collect();
        edges.extend((0..len).flat_map(|exit| [(exit, len + exit), (0, len + exit)]));
        let graph = Graph::new(2 * len, &edges);
        let tree = DomTree::new(&graph, 0);
        assert!((len..2 * len).all(|exit| tree.idom(exit) == Some(0)));
    }
}
