//! What the evaluator needs to know of the old program, computed once.
//!
//! Evaluating a continuation means building its body again under the values of
//! what is free in it. To keep the cost proportional to what is built, each
//! operation is evaluated once: in the innermost continuation through which all
//! its uses are reached, its *home*. What lies behind takes the value over, as one of
//! its *captures*. (Any home further outside would be right too, but a value that
//! is needed late would be handed on by all continuations in between.)
//!
//! # Invariants
//!
//! * The captures of a continuation are nodes whose home is further outside, so
//!   whoever mentions the continuation has their values. They contain no continuation.
//! * What is constant depends on no parameter: it means the same everywhere.

use cranelift_entity::{EntitySet, SecondaryMap};
use nyala_ir::analysis::references::is_operation;
use nyala_ir::analysis::{DomTree, Graph, References};
use nyala_ir::{Cont, Def, Node, World};

/// Homes, captures and uses of a program.
pub struct Plan {
    homes: SecondaryMap<Def, Home>,
    captures: SecondaryMap<Cont, Vec<Def>>,
    uses: SecondaryMap<Cont, u32>,
    nests_calls: EntitySet<Cont>,
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
    /// The plan of all that is reachable.
    pub fn new(world: &World) -> Plan {
        let refs = References::of_program(world);
        let mut plan = Plan {
            homes: SecondaryMap::with_capacity(world.node_count()),
            captures: SecondaryMap::with_capacity(world.cont_count()),
            uses: SecondaryMap::with_capacity(world.cont_count()),
            nests_calls: EntitySet::new(),
        };
        plan.find_homes(world, &refs);
        let components = Components::new(world, &refs);
        plan.count_uses(world, &refs, &components);
        plan.find_nested_calls(world, &refs, &components);
        let conts: Vec<Cont> = refs.conts(world).collect();
        plan.find_captures(world, &conts);
        plan
    }

    /// Whether `def` means the same everywhere.
    pub fn is_constant(&self, def: Def) -> bool {
        self.homes[def] == Home::Anywhere
    }

    /// The nodes whose values an instance of `cont` needs from around it.
    pub fn captures(&self, cont: Cont) -> &[Def] {
        &self.captures[cont]
    }

    /// How often `cont` is mentioned by a body or another node.
    pub fn uses(&self, cont: Cont) -> u32 {
        self.uses[cont]
    }

    /// Whether `cont` calls itself, perhaps through others, to go on afterwards: each
    /// of its calls returns to a place of its own.
    pub fn nests_calls(&self, cont: Cont) -> bool {
        self.nests_calls.contains(cont)
    }

    /// A call from within the callee's own component that is handed a new continuation.
    fn find_nested_calls(&mut self, world: &World, refs: &References, components: &Components) {
        for cont in refs.conts(world) {
            let Some(body) = &world.cont(cont).body else { continue };
            let (callee, _) = world.without_mark(body.callee);
            let returns_here = body.args.last().is_some_and(|&last| world.as_cont(last).is_some());
            let is_recursive = components.share(refs, world.cont_def(cont), callee);
            if let Some(callee) = world.as_cont(callee).filter(|_| returns_here && is_recursive) {
                self.nests_calls.insert(callee);
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

    /// Counts who mentions a continuation. A recursion may mention itself through an
    /// operation that others share: then each use of the operation counts. So does each call with
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
        // Users have larger numbers than what they use.
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

    /// A continuation captures what its own nodes need from outside, and what the
    /// continuations it mentions capture, as far as it cannot compute that itself.
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
        // What is mentioned comes first, so only loops have to be looked at again.
        for members in Graph::new(conts.len(), &edges).components(&vertices, |_| true) {
            let mut is_growing = true;
            while is_growing {
                is_growing = false;
                // Members are in the order of a search, so what is mentioned mostly comes later.
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

/// For each vertex, whether it depends on a parameter: one that it uses itself or through what it mentions, but none
/// of its own.
///
/// Whose parameter somebody depends on dominates him: there is no other way to get at it. So a search from the uses
/// back to those who mention them has come to the owner of a parameter when it comes to a continuation that
/// is no deeper. Each vertex is visited once, by the search for the outermost parameter that it depends on.
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

/// The strongly connected components of the program, by number. Only what contains a continuation
/// can reach itself, so nothing else has a number.
pub struct Components(Vec<usize>);

impl Components {
    /// Those of all that is reachable.
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
    /// In which search a node was last seen.
    seen_in: SecondaryMap<Def, u32>,
    search: u32,
}

/// What a search has found.
#[derive(Default)]
struct Found {
    captures: Vec<Def>,
    conts: Vec<Cont>,
}

impl Collector {
    /// Looks at `roots`, which `cont` needs.
    ///
    /// What contains a continuation is never captured as a value but always taken
    /// apart: a continuation may mention itself through an operation, and could
    /// then not be made before its captures.
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
