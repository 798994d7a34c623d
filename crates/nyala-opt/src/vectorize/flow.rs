//! The control-flow graph of one function, in the order in which it is linearized.
//!
//! Vertices are the blocks of the function, its exit, and a *latch* for each loop: the vertex where the
//! lanes of one iteration reconverge before the back edge. An edge to a loop header from inside of the
//! loop goes to the latch instead, so the remaining graph is acyclic. [`Flow::order`] is a topological
//! order of that graph in which each loop is contiguous, header first and latch last. The exit comes after all calls.

use nyala_ir::analysis::functions::is_return;
use nyala_ir::analysis::{Cfg, DomTree, Graph, LoopForest, Mode, References, Schedule, Scope};
use nyala_ir::{Cont, Def, Intrinsic, Node, World};
use nyala_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Options, Refusal, function_values};

/// The terminator of a block.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// Jumps to one block, with arguments other than memory.
    Jump {
        /// The target.
        target: usize,
        /// The arguments.
        args: Vec<Def>,
    },
    /// Jumps to one of two blocks.
    Branch { cond: Def, then: usize, other: usize },
    /// Jumps to the target of the literal that equals the value, or to `default`.
    Switch { value: Def, cases: Vec<(Def, usize)>, default: usize },
    /// Calls a function and continues at `next` with its results, if it returns.
    Call { callee: Cont, args: Vec<Def>, next: Option<usize> },
    /// Control never gets here.
    Unreachable,
}

/// The control-flow graph of a function that is vectorized.
pub(super) struct Flow {
    /// The blocks by vertex, the entry first.
    pub blocks: Vec<Cont>,
    pub ends: Vec<End>,
    /// The source location of each block's terminator.
    pub spans: Vec<Span>,
    /// The same for reports: in code of the user, if there is some in the loop around.
    pub places: Vec<Span>,
    pub schedule: Schedule,
    pub doms: DomTree,
    /// Post-dominators of the graph, in which a latch leads to the exits of its loop.
    pub post_doms: DomTree,
    pub loops: LoopForest,
    /// The graph without back edges, which lead to latches.
    pub dag: Graph,
    /// All reachable vertices.
    pub order: Vec<usize>,
    /// The position of each vertex in the order.
    pub position: Vec<usize>,
    /// The called functions that need one call for all lanes if their arguments are uniform.
    pub shared: FxHashSet<Cont>,
}

impl Flow {
    /// The control flow of the function that begins at `entry`.
    pub fn new(world: &World, entry: Cont) -> Result<Flow, Refusal> {
        let cfg = Cfg::new(world, &Scope::new(world, entry));
        let params = &world.cont(entry).params;
        let ret = params.last().copied().filter(|&last| is_return(&world.types, world.ty(last)));
        let reader = EndReader { world, cfg: &cfg, ret };
        let ends = cfg.conts().iter().map(|&cont| reader.end(cont)).collect::<Result<Vec<_>, _>>()?;
        let spans: Vec<Span> = cfg.conts().iter().map(|&cont| body_span(world, cont)).collect();
        let n_blocks = cfg.exit();
        let edges: Vec<(usize, usize)> = ends
            .iter()
            .enumerate()
            .flat_map(|(from, end)| end.targets().into_iter().map(move |to| (from, to)))
            .collect();
        let graph = Graph::new(n_blocks + 1, &edges);
        let loops = LoopForest::new(&graph, cfg.entry());
        if let Some(irreducible) = loops.loops().iter().find(|one| one.headers.len() > 1) {
            let at = body_span(world, cfg.conts()[irreducible.headers[0]]);
            return Err(Refusal { at, why: "a loop with several entries".into() });
        }
        let doms = DomTree::new(&graph, cfg.entry());
        let dag = acyclic(&loops, n_blocks, &edges);
        let post_doms = post_dominators(&loops, n_blocks, &dag, &ends);
        let shared = uniform_functions(world, &ends);
        let mut flow = Flow {
            blocks: cfg.conts().to_vec(),
            ends,
            places: spans.clone(),
            spans,
            schedule: Schedule::new(world, &cfg, Mode::Smart),
            doms,
            post_doms,
            loops,
            dag,
            order: vec![],
            position: vec![],
            shared,
        };
        flow.find_order();
        Ok(flow)
    }

    /// Moves the places of blocks to the first code of the user in their innermost loop.
    pub fn place_in_own_code(&mut self, world: &World, options: &Options) {
        let mut firsts: FxHashMap<Option<usize>, Option<Span>> = FxHashMap::default();
        for block in 0..self.exit() {
            if options.is_own(self.spans[block]) {
                continue;
            }
            let around = self.innermost(block);
            let first = *firsts.entry(around).or_insert_with(|| {
                let inside =
                    (0..self.exit()).filter(|&other| around.is_none_or(|own| self.is_in(other, own)));
                let spans = inside.flat_map(|other| {
                    let ops = self.schedule.block(other).iter().map(|&def| world.span_of(def));
                    ops.chain([self.spans[other]])
                });
                spans
                    .filter(|&span| !span.is_none() && options.is_own(span))
                    .min_by_key(|span| (span.lo, span.hi))
            });
            self.places[block] = first.unwrap_or(self.spans[block]);
        }
    }

    /// The exit of the function.
    pub fn exit(&self) -> usize {
        self.blocks.len()
    }

    /// The vertex where the lanes of one iteration of a loop reconverge.
    pub fn latch(&self, in_loop: usize) -> usize {
        self.blocks.len() + 1 + in_loop
    }

    /// The loop whose latch this is.
    pub fn loop_of_latch(&self, vertex: usize) -> Option<usize> {
        vertex.checked_sub(self.blocks.len() + 1)
    }

    /// The loop whose header this is.
    pub fn loop_of_header(&self, vertex: usize) -> Option<usize> {
        let innermost = self.innermost(vertex)?;
        (self.header(innermost) == vertex).then_some(innermost)
    }

    /// The header of a loop.
    pub fn header(&self, in_loop: usize) -> usize {
        self.loops.loops()[in_loop].headers[0]
    }

    /// The innermost loop of a vertex; a latch is in its own loop.
    pub fn innermost(&self, vertex: usize) -> Option<usize> {
        match self.loop_of_latch(vertex) {
            Some(in_loop) => Some(in_loop),
            None if vertex == self.exit() => None,
            None => self.loops.innermost(vertex),
        }
    }

    /// Whether a vertex is in a loop.
    pub fn is_in(&self, vertex: usize, in_loop: usize) -> bool {
        self.loops_around(vertex).any(|around| around == in_loop)
    }

    /// The loops that a vertex is in, from the innermost outwards.
    pub fn loops_around(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.innermost(vertex), |&inner| self.loops.loops()[inner].parent)
    }

    /// The loops that an edge leaves, from the innermost outwards.
    pub fn exited_loops(&self, from: usize, to: usize) -> impl Iterator<Item = usize> + '_ {
        self.loops_around(from).take_while(move |&around| !self.is_in(to, around))
    }

    /// Whether the edge is a back edge.
    pub fn is_back_edge(&self, from: usize, to: usize) -> bool {
        self.loop_of_header(to).is_some_and(|in_loop| self.is_in(from, in_loop))
    }

    /// The vertex that an edge leads to: for a back edge, the latch.
    pub fn route(&self, from: usize, to: usize) -> usize {
        match self.loop_of_header(to).filter(|&in_loop| self.is_in(from, in_loop)) {
            Some(in_loop) => self.latch(in_loop),
            None => to,
        }
    }

    /// The vertices of a loop, latches included.
    pub fn vertices_of(&self, in_loop: usize) -> &[usize] {
        let (first, last) = (self.position[self.header(in_loop)], self.position[self.latch(in_loop)]);
        &self.order[first..=last]
    }

    /// Orders the vertices of each loop; an inner loop counts as one vertex.
    fn find_order(&mut self) {
        let n_vertices = self.dag.len();
        // A stack: vertices, and loops that are not ordered yet.
        let mut stack = self.order_of(None);
        stack.reverse();
        let mut order = vec![];
        while let Some(item) = stack.pop() {
            match item {
                Item::Vertex(vertex) => order.push(vertex),
                Item::Loop(inner) => stack.extend(self.order_of(Some(inner)).into_iter().rev()),
            }
        }
        self.position = vec![usize::MAX; n_vertices];
        for (at, &vertex) in order.iter().enumerate() {
            self.position[vertex] = at;
        }
        self.order = order;
    }

    /// Calls on paths that do not reach the exit, each with an edge to it. Lanes that take such a path may end the
    /// program, so the function must not return before.
    fn calls_before_the_exit(&self) -> Vec<(usize, usize)> {
        let edges: Vec<(usize, usize)> = self.dag.edges().collect();
        let reversed = Graph::new(self.dag.len(), &edges).reversed();
        let returning: FxHashSet<usize> = reversed.reverse_post_order(self.exit()).into_iter().collect();
        let is_call = |end: &End| matches!(end, End::Call { .. });
        let calls =
            (0..self.exit()).filter(|&block| is_call(&self.ends[block]) && !returning.contains(&block));
        calls.map(|block| (block, self.exit())).collect()
    }

    /// The order of the vertices directly in a loop, or of the function.
    fn order_of(&self, region: Option<usize>) -> Vec<Item> {
        let represent = |vertex: usize| -> Option<usize> {
            let mut child = None;
            for around in self.loops_around(vertex) {
                if Some(around) == region {
                    return Some(child.map_or(vertex, |inner| self.latch(inner)));
                }
                child = Some(around);
            }
            region.is_none().then(|| child.map_or(vertex, |inner| self.latch(inner)))
        };
        let calls = region.is_none().then(|| self.calls_before_the_exit()).into_iter().flatten();
        let edges: Vec<(usize, usize)> = self
            .dag
            .edges()
            .chain(calls)
            .filter_map(|(from, to)| Some((represent(from)?, represent(to)?)))
            .filter(|(from, to)| from != to)
            .collect();
        let root = represent(region.map_or(0, |region| self.header(region))).unwrap_or(0);
        let order = Graph::new(self.dag.len(), &edges).reverse_post_order(root);
        let item = |vertex: usize| match self.loop_of_latch(vertex).filter(|&inner| Some(inner) != region) {
            Some(inner) => Item::Loop(inner),
            None => Item::Vertex(vertex),
        };
        order.into_iter().map(item).collect()
    }
}

enum Item {
    Vertex(usize),
    Loop(usize),
}

impl End {
    /// The targets, each once.
    pub fn targets(&self) -> Vec<usize> {
        let mut targets = match self {
            End::Jump { target, .. } => vec![*target],
            End::Branch { then, other, .. } => vec![*then, *other],
            End::Switch { cases, default, .. } => {
                cases.iter().map(|&(_, target)| target).chain([*default]).collect()
            }
            End::Call { next, .. } => next.iter().copied().collect(),
            End::Unreachable => vec![],
        };
        let mut seen = FxHashSet::default();
        targets.retain(|&target| seen.insert(target));
        targets
    }
}

pub(super) fn body_span(world: &World, cont: Cont) -> Span {
    world.cont(cont).body.as_ref().map_or(world.cont(cont).span, |body| body.span)
}

/// The called functions that need one call for all lanes if their arguments are uniform: functions that
/// do not use the lane index, allocate, or call code that the compiler cannot see.
fn uniform_functions(world: &World, ends: &[End]) -> FxHashSet<Cont> {
    let called = ends.iter().filter_map(|end| match end {
        End::Call { callee, .. } => Some(*callee),
        _ => None,
    });
    let called: FxHashSet<Cont> = called.filter(|&callee| world.cont(callee).body.is_some()).collect();
    called.into_iter().filter(|&callee| is_uniform(world, callee)).collect()
}

fn is_uniform(world: &World, function: Cont) -> bool {
    let reached = References::from_roots(world, &[function]);
    let stays_inside = |cont: Cont| match world.as_intrinsic(world.cont_def(cont)) {
        Some(intrinsic) => {
            matches!(intrinsic, Intrinsic::Branch | Intrinsic::Switch | Intrinsic::Unreachable)
        }
        None => world.cont(cont).body.is_some(),
    };
    let counts = |&def: &Def| matches!(world.node(def), Node::Alloc { .. } | Node::Asm { .. });
    reached.conts(world).all(|cont| stays_inside(cont) && !function_values::calls_one(world, cont))
        && !reached.nodes().iter().any(counts)
}

/// The graph without back edges.
fn acyclic(loops: &LoopForest, n_blocks: usize, edges: &[(usize, usize)]) -> Graph {
    let is_back = |from: usize, to: usize| {
        loops.innermost(to).filter(|&inner| {
            let one = &loops.loops()[inner];
            one.headers[0] == to && one.vertices.binary_search(&from).is_ok()
        })
    };
    let routed: Vec<(usize, usize)> = edges
        .iter()
        .map(|&(from, to)| (from, is_back(from, to).map_or(to, |inner| n_blocks + 1 + inner)))
        .collect();
    Graph::new(n_blocks + 1 + loops.loops().len(), &routed)
}

/// Post-dominators of the acyclic graph, with edges from each latch to the exits of its loop.
fn post_dominators(loops: &LoopForest, n_blocks: usize, dag: &Graph, ends: &[End]) -> DomTree {
    let mut edges: Vec<(usize, usize)> = dag.edges().collect();
    for (inner, one) in loops.loops().iter().enumerate() {
        let first_latch = n_blocks + 1;
        let is_inside = |vertex: usize| {
            let block =
                vertex.checked_sub(first_latch).map_or(vertex, |latch| loops.loops()[latch].headers[0]);
            one.vertices.binary_search(&block).is_ok()
        };
        let exits = one.vertices.iter().flat_map(|&vertex| dag.succs(vertex));
        let mut exits: Vec<usize> = exits.filter(|&target| !is_inside(target)).collect();
        if exits.is_empty() {
            exits.push(n_blocks);
        }
        edges.extend(exits.into_iter().map(|to| (first_latch + inner, to)));
    }
    for (vertex, _) in ends.iter().enumerate().filter(|(_, end)| end.targets().is_empty()) {
        edges.push((vertex, n_blocks));
    }
    DomTree::new(&Graph::new(dag.len(), &edges).reversed(), n_blocks)
}

fn is_function(world: &World, def: Def) -> bool {
    world.types.as_cn(world.ty(def)).is_some()
}

struct EndReader<'a> {
    world: &'a World,
    cfg: &'a Cfg,
    ret: Option<Def>,
}

impl EndReader<'_> {
    fn end(&self, cont: Cont) -> Result<End, Refusal> {
        let world = self.world;
        let Some(body) = &world.cont(cont).body else { return Ok(End::Unreachable) };
        let refuse = |why: &str| Err(Refusal { at: body.span, why: why.into() });
        let mut callee = body.callee;
        while let Node::Mark { callee: inner, .. } | Node::Hide(inner) = world.node(callee) {
            callee = inner;
        }
        let args: Vec<Def> =
            body.args.iter().copied().filter(|&arg| world.ty(arg) != world.types.mem()).collect();
        if Some(callee) == self.ret {
            return Ok(End::Jump { target: self.cfg.exit(), args });
        }
        let Some(called) = world.as_cont(callee) else { return refuse("a call of an unknown function") };
        match world.as_intrinsic(callee) {
            Some(Intrinsic::Branch) => {
                let (Some(then), Some(other)) = (self.target(args[1]), self.target(args[2])) else {
                    return refuse("a jump to an unknown target");
                };
                return Ok(End::Branch { cond: args[0], then, other });
            }
            Some(Intrinsic::Switch) => {
                return self.switch(&args).map_or_else(|| refuse("a jump to an unknown target"), Ok);
            }
            Some(Intrinsic::Unreachable) => return Ok(End::Unreachable),
            Some(intrinsic) if args.iter().rev().skip(1).any(|&arg| is_function(world, arg)) => {
                return refuse(&format!("a call of `{}`", intrinsic.name()));
            }
            _ => {}
        }
        if let Some(target) = self.cfg.index(called).filter(|&target| target != self.cfg.entry()) {
            return Ok(End::Jump { target, args });
        }
        let (next, args) = match args.split_last() {
            Some((&last, rest)) if is_return(&world.types, world.ty(last)) => match self.target(last) {
                Some(next) => (Some(next), rest.to_vec()),
                None => return refuse("a call with an unknown return continuation"),
            },
            _ => (None, args),
        };
        Ok(End::Call { callee: called, args, next })
    }

    fn switch(&self, args: &[Def]) -> Option<End> {
        let [value, default, cases @ ..] = args else { return None };
        let cases = cases.chunks_exact(2).map(|case| Some((case[0], self.target(case[1])?)));
        Some(End::Switch {
            value: *value,
            cases: cases.collect::<Option<_>>()?,
            default: self.target(*default)?,
        })
    }

    /// The vertex of a jump target.
    fn target(&self, def: Def) -> Option<usize> {
        if Some(def) == self.ret {
            return Some(self.cfg.exit());
        }
        self.world.as_cont(def).and_then(|cont| self.cfg.index(cont))
    }
}
