//! The control-flow analysis of runs: finds the post-dominator of a call that is kept.
//!
//! It is the analysis of section 4 of the GPCE'15 paper:
//!
//! * *Local*: it starts at the call that is kept, and covers the continuations of the run. All other code is
//!   *outside*: declarations, functions without free variables, and
//!   continuations that are older than the run. A call of the latter leaves the run.
//! * *Symbolic*: code outside is not analyzed. A call to the outside may call
//!   all functions that it gets; a function that is called from there gets the symbol of that call for
//!   all functions among its arguments.
//! * *Partially context-sensitive*: there is a symbol for each place inside that calls the outside.
//!   Within the run there is no context: unfolding has given every call its own copy.
//!
//! Paths that never end do not count, so paths that do not leave the run are ignored.
//!
//! # Cost
//!
//! Vertices are visited one by one, those of inner calls first, until all paths pass through a
//! single one. So the rest of the program is rarely visited.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use nyala_ir::analysis::{DomTree, Graph};
use nyala_ir::{Cont, Def, Defs, Intrinsic, Node};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::engine::{Call, Engine};
use super::super::instance::merge;
use super::Run;

/// A vertex of the control flow.
type Vertex = usize;

/// The end of the run.
const EXIT: Vertex = 0;

/// The call that is kept.
const START: Vertex = 1;

/// The most vertices. If there are more, the run is over.
const MAX_VERTICES: usize = 10_000;

/// The kind of a vertex.
enum Place {
    Exit,
    Start,
    /// A continuation of the run.
    Inside(Cont),
    /// The symbol of a call to the outside.
    Outside,
}

/// A callee.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// A continuation of the run, the symbol of a call, or the exit.
    At(Vertex),
    /// A function from outside.
    Foreign,
}

/// The continuation at which `run` resumes after `call`, if there is one.
pub(super) fn post_dominator(engine: &mut Engine<'_>, run: Run, call: &Call) -> Option<Cont> {
    let mut cfa = Cfa {
        engine,
        run,
        places: vec![Place::Exit, Place::Start],
        calls: vec![None, Some((call.callee, call.args.clone()))],
        inside: FxHashMap::default(),
        outside: FxHashMap::default(),
        values: FxHashMap::default(),
        readers: FxHashMap::default(),
        edges: vec![],
        is_reached: vec![true, true],
        frontier: BinaryHeap::new(),
        again: vec![],
    };
    let end = cfa.explore()?;
    cfa.immediate_post_dominator(end)
}

impl Engine<'_> {
    /// The callees of the body of an instance, for any caller. The instance is not evaluated.
    fn peek(&mut self, cont: Cont) -> Call {
        let instance = self.instances.get(cont).expect("only instances are visited").clone();
        let args = merge(instance.fixed(), &self.new.cont(cont).params);
        let context = std::mem::replace(&mut self.current.context, self.instances.context(cont));
        let mut env = self.values.take_side_env();
        self.bind(&instance, &args, &mut env);
        let body = self.old.cont(instance.old).body.as_ref().expect("instances have bodies");
        let target = self.known_target(body, &mut env);
        let call = self.call_of(body, target, &mut env);
        self.values.put_side_env(env);
        self.current.context = context;
        call
    }
}

/// The analysis of one call.
struct Cfa<'e, 'a> {
    engine: &'e mut Engine<'a>,
    run: Run,
    places: Vec<Place>,
    /// The callee and the arguments of each vertex that was visited.
    calls: Vec<Option<(Def, Defs)>>,
    inside: FxHashMap<Cont, Vertex>,
    /// For a vertex, its symbol for calls to the outside.
    outside: FxHashMap<Vertex, Vertex>,
    /// The callees that a parameter may have.
    values: FxHashMap<Def, Vec<Value>>,
    /// The vertices to visit again when a parameter gets another one.
    readers: FxHashMap<Def, Vec<Vertex>>,
    edges: Vec<(Vertex, Vertex)>,
    is_reached: Vec<bool>,
    /// The vertices that are reached and not visited, the most urgent first.
    frontier: BinaryHeap<Reverse<(u32, u32, Vertex)>>,
    again: Vec<Vertex>,
}

impl Cfa<'_, '_> {
    /// Follows control flow until all paths lead out of the run or to a single
    /// vertex. None if there are too many vertices.
    fn explore(&mut self) -> Option<Vertex> {
        self.again.push(START);
        let mut leaves = false;
        loop {
            while let Some(vertex) = self.again.pop() {
                let known = self.edges.len();
                self.follow(vertex);
                leaves |= self.edges[known..].iter().any(|&(_, to)| to == EXIT);
            }
            if self.places.len() > MAX_VERTICES {
                return None;
            }
            let is_single = self.frontier.len() == 1 && !leaves;
            match self.frontier.pop() {
                None => return Some(EXIT),
                Some(Reverse((.., vertex))) if is_single => return Some(vertex),
                Some(Reverse((.., vertex))) => {
                    if let Place::Inside(cont) = self.places[vertex] {
                        let call = self.engine.peek(cont);
                        self.calls[vertex] = Some((call.callee, call.args));
                        self.again.push(vertex);
                    }
                }
            }
        }
    }

    fn immediate_post_dominator(&self, end: Vertex) -> Option<Cont> {
        let reversed = Graph::new(self.places.len(), &self.edges).reversed();
        let doms = DomTree::new(&reversed, end);
        let mut at = START;
        while let Some(above) = doms.idom(at).filter(|_| doms.is_reachable(at)) {
            if let Place::Inside(cont) = self.places[above] {
                return Some(cont);
            }
            at = above;
        }
        None
    }

    /// Adds the edges from `vertex` that are known so far.
    fn follow(&mut self, vertex: Vertex) {
        let (callee, args) = self.calls[vertex].clone().expect("the vertex was visited");
        let is_branch =
            matches!(self.engine.new.as_intrinsic(callee), Some(Intrinsic::Branch | Intrinsic::Switch));
        if is_branch {
            for target in args.iter().flat_map(|&arg| self.resolve(arg, vertex)).collect::<Vec<_>>() {
                self.pass(vertex, target, &[]);
            }
        } else {
            for target in self.resolve(callee, vertex) {
                self.pass(vertex, target, &args);
            }
        }
    }

    /// Control goes from `vertex` to `target`, with `args`.
    fn pass(&mut self, vertex: Vertex, target: Value, args: &[Def]) {
        if let Value::At(to) = target {
            match self.places[to] {
                Place::Inside(cont) => {
                    self.edge(vertex, to);
                    let params = self.engine.new.cont(cont).params.clone();
                    for (param, &arg) in params.into_iter().zip(args) {
                        for value in self.resolve(arg, vertex) {
                            self.add_value(param, value);
                        }
                    }
                    return;
                }
                Place::Exit | Place::Start => return self.edge(vertex, to),
                Place::Outside => {}
            }
        }
        let symbol = self.symbol(vertex);
        self.edge(vertex, symbol);
        // A function that escaped in an earlier call may call the arguments of that call.
        if let Value::At(earlier) = target {
            self.edge(symbol, earlier);
        }
        for value in args.iter().flat_map(|&arg| self.resolve(arg, vertex)).collect::<Vec<_>>() {
            self.leak(symbol, value);
        }
    }

    /// The outside, in a call with this symbol, may call `value`.
    fn leak(&mut self, symbol: Vertex, value: Value) {
        let Value::At(to) = value else { return };
        self.edge(symbol, to);
        if let Place::Inside(cont) = self.places[to] {
            for param in self.engine.new.cont(cont).params.clone() {
                if self.is_callable(param) {
                    self.add_value(param, Value::At(symbol));
                }
            }
        }
    }

    /// The callees that `def` may be, for `reader`; none for data.
    fn resolve(&mut self, def: Def, reader: Vertex) -> Vec<Value> {
        let (mut values, mut seen) = (vec![], FxHashSet::default());
        let mut stack = vec![def];
        while let Some(def) = stack.pop() {
            if !self.is_callable(def) {
                continue;
            }
            match self.engine.new.node(def) {
                Node::Cont(cont) => values.push(self.value_of(cont)),
                Node::Param { cont, .. } if self.has_reached(cont) => {
                    let readers = self.readers.entry(def).or_default();
                    if !readers.contains(&reader) {
                        readers.push(reader);
                    }
                    values.extend(self.values.get(&def).into_iter().flatten());
                }
                _ if !seen.insert(def) => {}
                _ => {
                    let before = stack.len();
                    self.engine.new.for_each_operand(def, |operand| stack.push(operand));
                    if stack[before..].iter().all(|&operand| !self.is_callable(operand)) {
                        stack.truncate(before);
                        values.push(self.unknown(def));
                    }
                }
            }
        }
        values
    }

    /// Whether `def` is or contains a function or continuation.
    fn is_callable(&mut self, def: Def) -> bool {
        let ty = self.engine.new.ty(def);
        self.engine.new.types.order(ty) > 0
    }

    /// A continuation or function from outside.
    fn unknown(&mut self, def: Def) -> Value {
        if self.engine.is_continuation(def) { Value::At(EXIT) } else { Value::Foreign }
    }

    fn value_of(&mut self, cont: Cont) -> Value {
        if self.engine.is_inside(self.run, cont) {
            return Value::At(self.vertex(cont));
        }
        let is_earlier = self.engine.instances.get(cont).is_some() && self.engine.leaves(self.run, cont);
        if is_earlier { Value::At(EXIT) } else { Value::Foreign }
    }

    fn has_reached(&self, cont: Cont) -> bool {
        self.inside.get(&cont).is_some_and(|&vertex| self.is_reached[vertex])
    }

    fn vertex(&mut self, cont: Cont) -> Vertex {
        if let Some(&vertex) = self.inside.get(&cont) {
            return vertex;
        }
        let vertex = self.new_vertex(Place::Inside(cont));
        self.inside.insert(cont, vertex);
        vertex
    }

    /// The symbol for calls from `vertex` to the outside.
    fn symbol(&mut self, vertex: Vertex) -> Vertex {
        if let Some(&symbol) = self.outside.get(&vertex) {
            return symbol;
        }
        let symbol = self.new_vertex(Place::Outside);
        self.outside.insert(vertex, symbol);
        symbol
    }

    fn new_vertex(&mut self, place: Place) -> Vertex {
        self.places.push(place);
        self.calls.push(None);
        self.is_reached.push(false);
        self.places.len() - 1
    }

    fn add_value(&mut self, param: Def, value: Value) {
        let values = self.values.entry(param).or_default();
        if !values.contains(&value) {
            values.push(value);
            self.again.extend(self.readers.get(&param).into_iter().flatten());
        }
    }

    fn edge(&mut self, from: Vertex, to: Vertex) {
        self.edges.push((from, to));
        if !std::mem::replace(&mut self.is_reached[to], true)
            && let Place::Inside(cont) = self.places[to]
        {
            let depth = self.engine.chains.depth(self.engine.instances.context(cont).link);
            let place = self.engine.new.cont(cont).span.lo;
            self.frontier.push(Reverse((u32::MAX - depth, place, to)));
        }
    }
}
