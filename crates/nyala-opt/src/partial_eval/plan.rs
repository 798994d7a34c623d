//! Facts about the old program that the evaluator needs, computed once.
//!
//! Evaluating a continuation means building its body again with values for its free
//! variables. To keep the cost proportional to the result, each
//! operation is evaluated once: in the innermost continuation that all
//! its uses are reached through, its *home*. Continuations inside take the value over, as one of
//! their *captures*. (A home further outside would be correct too, but then all continuations in between would
//! capture a value that is used late.)
//!
//! # Invariants
//!
//! * The captures of a continuation are nodes whose home is further outside, so
//!   a node that mentions the continuation has their values. They contain no continuation.
//! * A constant depends on no parameter: it is the same everywhere.

use cranelift_entity::{EntitySet, SecondaryMap};
use nyala_ir::analysis::references::is_operation;
use nyala_ir::analysis::{DomTree, Graph, References};
use nyala_ir::{Cont, Def, Node, World};

/// Homes, captures and uses of a program.
pub struct Plan {
    homes: SecondaryMap<Def, Home>,
    captures: SecondaryMap<Cont, Vec<Def>>,
    uses: SecondaryMap<Cont, u32>,
    non_tail_recursive: EntitySet<Cont>,
}

/// Where a node is evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Home {
    /// Anywhere: it depends on no parameter.
    #[default]
    Anywhere,
    /// In this continuation.
    In(Cont),
}

impl Plan {
    /// The plan of the reachable program.
    pub fn new(world: &World) -> Plan {
        let refs = References::of_program(world);
        let mut plan = Plan {
            homes: SecondaryMap::with_capacity(world.node_count()),
            captures: SecondaryMap::with_capacity(world.cont_count()),
            uses: SecondaryMap::with_capacity(world.cont_count()),
            non_tail_recursive: EntitySet::new(),
        };
        plan.find_homes(world, &refs);
        let components = Components::new(world, &refs);
        plan.count_uses(world, &refs, &components);
        plan.find_non_tail_recursion(world, &refs, &components);
        let conts: Vec<Cont> = refs.conts(world).collect();
        plan.find_captures(world, &conts);
        plan
    }

    /// Whether `def` is the same everywhere.
    pub fn is_constant(&self, def: Def) -> bool {
        self.homes[def] == Home::Anywhere
    }

    /// The nodes outside of `cont` whose values an instance of it needs.
    pub fn captures(&self, cont: Cont) -> &[Def] {
        &self.captures[cont]
    }

    /// How often `cont` is mentioned by a body or another node.
    pub fn uses(&self, cont: Cont) -> u32 {
        self.uses[cont]
    }

    /// Whether `cont` calls itself, directly or through others, outside of tail position: each such
    /// call has a return continuation of its own.
    pub fn is_non_tail_recursive(&self, cont: Cont) -> bool {
        self.non_tail_recursive.contains(cont)
    }

    /// Finds calls within the strongly connected component of the callee that pass a new return continuation.
    fn find_non_tail_recursion(&mut self, world: &World, refs: &References, components: &Components) {
        for cont in refs.conts(world) {
            let Some(body) = &world.cont(cont).body else { continue };
            let (callee, _) = world.without_mark(body.callee);
            let has_return = body.args.last().is_some_and(|&last| world.as_cont(last).is_some());
            let is_recursive = components.share(refs, world.cont_def(cont), callee);
            if let Some(callee) = world.as_cont(callee).filter(|_| has_return && is_recursive) {
                self.non_tail_recursive.insert(callee);
            }
        }
    }

    fn find_homes(&mut self, world: &World, refs: &References) {
        let doms = DomTree::new(refs.graph(), refs.root());
        let depends = depends_on_params(world, refs, &doms);
        for &vertex in doms.preorder() {
            let Some(&def) = refs.nodes().get(vertex) else { continue };
            self.homes[def] =
                match (world.as_cont(def), doms.idom(vertex).and_then(|idom| refs.nodes().get(idom))) {
                    (Some(_), _) if !depends[vertex] => Home::Anywhere,
                    (Some(cont), _) => Home::In(cont),
                    (None, None) => Home::Anywhere,
                    (None, Some(_)) if world.is_made_of_constants(def) && !depends[vertex] => Home::Anywhere,
                    (None, Some(&above)) => world.as_cont(above).map_or(self.homes[above], Home::In),
                };
        }
        for (cont, data) in refs.conts(world).map(|cont| (cont, world.cont(cont))) {
            for &param in &data.params {
                self.homes[param] = Home::In(cont);
            }
        }
    }

    /// Counts the references to each continuation. A recursion may reference itself through a
    /// shared operation: then each use of the operation counts. So does each call with
    /// the same mark.
    fn count_uses(&mut self, world: &World, refs: &References, components: &Components) {
        let mut counts: SecondaryMap<Def, u32> = SecondaryMap::with_capacity(world.node_count());
        for &def in refs.nodes() {
            let mut count = |used: Def| counts[used] += 1;
            match world.as_cont(def) {
                Some(cont) => mentioned(world, cont).for_each(&mut count),
                None => world.for_each_operand(def, &mut count),
            }
        }
        // Users have larger numbers than their operands.
        for def in world.defs().rev().filter(|&def| is_operation(world, def)) {
            let is_shared = counts[def] > 1;
            let is_mark = matches!(world.node(def), Node::Mark { .. });
            world.for_each_operand(def, |used| {
                counts[used] += u32::from(is_shared && (is_mark || components.share(refs, def, used)));
            });
        }
        for cont in refs.conts(world) {
            self.uses[cont] = counts[world.cont_def(cont)];
        }
    }

    /// A continuation captures the values that its own nodes need from outside, and the captures of the
    /// continuations it mentions, except those that it computes itself.
    fn find_captures(&mut self, world: &World, conts: &[Cont]) {
        let mut collector = Collector::default();
        let own: Vec<Found> = conts
            .iter()
            .map(|&cont| collector.collect(world, self, cont, mentioned(world, cont).collect()))
            .collect();
        let mut numbers: SecondaryMap<Cont, usize> = SecondaryMap::with_capacity(world.cont_count());
        conts.iter().enumerate().for_each(|(number, &cont)| numbers[cont] = number);
        let nested = |user: usize| own[user].conts.iter().map(|&cont| numbers[cont]);
        let edges: Vec<(usize, usize)> =
            (0..conts.len()).flat_map(|user| nested(user).map(move |used| (user, used))).collect();
        let vertices: Vec<usize> = (0..conts.len()).collect();
        // Callees come before their users, so only cycles need more than one step.
        for members in Graph::new(conts.len(), &edges).components(&vertices, |_| true) {
            let mut is_growing = true;
            while is_growing {
                is_growing = false;
                // Members are in the order of a search, so most callees come after their users.
                for &user in members.iter().rev() {
                    let mut roots = own[user].captures.clone();
                    nested(user).for_each(|used| roots.extend(self.captures(conts[used])));
                    let captures = collector.collect(world, self, conts[user], roots).captures;
                    is_growing |= captures.len() > self.captures(conts[user]).len() && members.len() > 1;
                    self.captures[conts[user]] = captures;
                }
            }
        }
    }
}

/// For each vertex, whether it depends on a parameter of another continuation, directly or through the nodes it
/// mentions.
///
/// The owner of a parameter dominates all nodes that depend on it. So a backward search from the uses has reached
/// the owner when it reaches a continuation that is no deeper in the dominator tree. Each vertex is visited once,
/// by the search for the outermost parameter that it depends on.
fn depends_on_params(world: &World, refs: &References, doms: &DomTree) -> Vec<bool> {
    let owner = |param: Def| match world.node(param) {
        Node::Param { cont, .. } => refs.index(world.cont_def(cont)),
        _ => None,
    };
    let depth_of = |param: Def| owner(param).map_or(0, |vertex| doms.depth(vertex));
    let mut uses: Vec<(u32, usize)> =
        refs.uses().iter().map(|&(vertex, param)| (depth_of(param), vertex)).collect();
    uses.sort_unstable();
    let mut depends = vec![false; refs.graph().len()];
    let mut stack = vec![];
    for (depth, vertex) in uses {
        stack.push(vertex);
        while let Some(vertex) = stack.pop() {
            let is_cont = refs.nodes().get(vertex).is_none_or(|&def| world.as_cont(def).is_some());
            let is_owner = is_cont && doms.depth(vertex) <= depth;
            if !is_owner && !std::mem::replace(&mut depends[vertex], true) {
                stack.extend(refs.graph().preds(vertex));
            }
        }
    }
    depends
}

/// The strongly connected components of the program, by number. Only nodes that contain a continuation
/// can reach themselves, so other nodes have no number.
pub struct Components(Vec<usize>);

impl Components {
    /// The components of the reachable program.
    pub fn new(world: &World, refs: &References) -> Components {
        let has_conts =
            |vertex: usize| refs.nodes().get(vertex).is_some_and(|&def| world.contains_conts(def));
        let vertices: Vec<usize> = (0..refs.nodes().len()).filter(|&vertex| has_conts(vertex)).collect();
        let mut numbers = vec![usize::MAX; refs.nodes().len() + 1];
        for (number, members) in refs.graph().components(&vertices, has_conts).iter().enumerate() {
            members.iter().for_each(|&member| numbers[member] = number);
        }
        Components(numbers)
    }

    /// Whether two nodes reach each other.
    pub fn share(&self, refs: &References, a: Def, b: Def) -> bool {
        let number =
            |def: Def| refs.index(def).map(|vertex| self.0[vertex]).filter(|&number| number != usize::MAX);
        number(a).is_some() && number(a) == number(b)
    }
}

/// Finds captures, for one continuation after the other.
#[derive(Default)]
struct Collector {
    /// The last search that saw a node.
    seen_in: SecondaryMap<Def, u32>,
    search: u32,
}

/// The result of a search.
#[derive(Default)]
struct Found {
    captures: Vec<Def>,
    conts: Vec<Cont>,
}

impl Collector {
    /// Searches from `roots`, which `cont` needs.
    ///
    /// A node that contains a continuation is never captured as a value: its parts are. A
    /// continuation may mention itself through an operation, and could then not be made before its captures.
    fn collect(&mut self, world: &World, plan: &Plan, cont: Cont, roots: Vec<Def>) -> Found {
        self.search += 1;
        let mut found = Found::default();
        let mut stack = roots;
        stack.reverse();
        while let Some(def) = stack.pop() {
            if std::mem::replace(&mut self.seen_in[def], self.search) == self.search {
                continue;
            }
            match (world.node(def), plan.homes[def]) {
                (Node::Cont(mentioned), Home::In(_)) => found.conts.push(mentioned),
                (_, Home::Anywhere) => {}
                (Node::Param { .. }, Home::In(home)) if home == cont => {}
                (_, Home::In(home)) if home == cont || world.contains_conts(def) => {
                    world.for_each_operand(def, |operand| stack.push(operand));
                }
                (_, Home::In(_)) => found.captures.push(def),
            }
        }
        found
    }
}

/// The nodes that the body and the filter of `cont` mention directly.
fn mentioned(world: &World, cont: Cont) -> impl Iterator<Item = Def> + '_ {
    let data = world.cont(cont);
    let body =
        data.body.iter().flat_map(|body| std::iter::once(body.callee).chain(body.args.iter().copied()));
    body.chain(data.filter.iter().copied())
}
