//! What the evaluator needs to know of the old program, computed once.
//!
//! Evaluating a continuation means building its body again under the values of
//! what is free in it. To keep the cost proportional to what is built, an
//! operation is evaluated where it becomes possible: in the innermost
//! continuation whose parameters it needs, its *home*. All that is nested in
//! there takes the value over, as one of its *captures*.
//!
//! # Invariants
//!
//! * The captures of a continuation are nodes whose home is further outside, so
//!   whoever mentions the continuation has their values. They contain no continuation.
//! * What has no home depends on no parameter: it means the same everywhere.

use cranelift_entity::SecondaryMap;
use nyala_ir::analysis::Nesting;
use nyala_ir::{Cont, Def, Node, World};
use rustc_hash::{FxHashMap, FxHashSet};

/// Homes, captures and uses of a program.
pub struct Plan {
    homes: SecondaryMap<Def, Home>,
    has_conts: SecondaryMap<Def, bool>,
    captures: FxHashMap<Cont, Vec<Def>>,
    uses: SecondaryMap<Cont, u32>,
}

/// Where a node can first be evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Home {
    /// No body mentions it.
    #[default]
    Unseen,
    /// It depends on no parameter.
    Anywhere,
    /// In this continuation.
    In(Cont),
}

impl Plan {
    /// The plan of all that is reachable.
    pub fn new(world: &World) -> Plan {
        let nesting = Nesting::new(world);
        let mut plan = Plan {
            homes: SecondaryMap::new(),
            has_conts: SecondaryMap::new(),
            captures: FxHashMap::default(),
            uses: SecondaryMap::new(),
        };
        for &cont in nesting.conts() {
            plan.find_homes(world, &nesting, cont);
        }
        plan.find_captures(world, nesting.conts());
        plan
    }

    /// Whether `def` means the same everywhere. What no body mentions is part of a
    /// global's value, which depends on no parameter.
    pub fn is_constant(&self, def: Def) -> bool {
        !matches!(self.homes[def], Home::In(_))
    }

    /// The nodes whose values an instance of `cont` needs from around it.
    pub fn captures(&self, cont: Cont) -> &[Def] {
        self.captures.get(&cont).map_or(&[], |captures| captures)
    }

    /// How often `cont` is mentioned by a body or another node.
    pub fn uses(&self, cont: Cont) -> u32 {
        self.uses[cont]
    }

    /// The homes of all nodes that `cont` mentions, operands first.
    fn find_homes(&mut self, world: &World, nesting: &Nesting, cont: Cont) {
        for root in mentioned(world, cont) {
            if let Some(used) = world.as_cont(root) {
                self.uses[used] += 1;
            }
            let mut stack = vec![(root, false)];
            while let Some((def, operands_done)) = stack.pop() {
                if self.homes[def] != Home::Unseen {
                    continue;
                }
                if operands_done {
                    self.homes[def] = self.home(world, nesting, def);
                    self.has_conts[def] = self.contains_conts(world, def);
                } else {
                    stack.push((def, true));
                    world.for_each_operand(def, |operand| {
                        stack.push((operand, false));
                        if let Some(used) = world.as_cont(operand) {
                            self.uses[used] += 1;
                        }
                    });
                }
            }
        }
    }

    fn home(&self, world: &World, nesting: &Nesting, def: Def) -> Home {
        match world.node(def) {
            Node::Param { cont, .. } => return Home::In(cont),
            Node::Cont(cont) => return nesting.parent(cont).map_or(Home::Anywhere, Home::In),
            _ => {}
        }
        let mut innermost = Home::Anywhere;
        world.for_each_operand(def, |operand| {
            let home = self.homes[operand];
            innermost = match (innermost, home) {
                (Home::In(a), Home::In(b)) if nesting.depth(a) >= nesting.depth(b) => Home::In(a),
                (_, Home::In(b)) => Home::In(b),
                (old, _) => old,
            };
        });
        innermost
    }

    fn contains_conts(&self, world: &World, def: Def) -> bool {
        let mut any = world.as_cont(def).is_some();
        world.for_each_operand(def, |operand| any |= self.has_conts[operand]);
        any
    }

    /// A continuation captures what its own nodes need from outside, and what the
    /// continuations it mentions capture, as far as it cannot compute that itself.
    fn find_captures(&mut self, world: &World, conts: &[Cont]) {
        let mut collectors: FxHashMap<Cont, Collector> = FxHashMap::default();
        let mut mentioned_by: FxHashMap<Cont, Vec<Cont>> = FxHashMap::default();
        let mut work = vec![];
        for &cont in conts {
            let mut collector = Collector::default();
            let mut found = collector.collect(world, self, cont, mentioned(world, cont).collect());
            for &nested in &found.conts {
                mentioned_by.entry(nested).or_default().push(cont);
            }
            work.push((cont, std::mem::take(&mut found.captures)));
            collectors.insert(cont, collector);
        }
        while let Some((cont, fresh)) = work.pop() {
            for &user in mentioned_by.get(&cont).map_or(&[][..], |users| users) {
                let collector = collectors.get_mut(&user).expect("every continuation has one");
                let found = collector.collect(world, self, user, fresh.clone());
                if !found.captures.is_empty() {
                    work.push((user, found.captures));
                }
            }
        }
        self.captures = collectors.into_iter().map(|(cont, collector)| (cont, collector.captures)).collect();
    }
}

/// Finds the captures of one continuation.
#[derive(Default)]
struct Collector {
    seen: FxHashSet<Def>,
    captures: Vec<Def>,
}

/// What one step of a [`Collector`] has found.
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
        let mut found = Found::default();
        let mut stack = roots;
        stack.reverse();
        while let Some(def) = stack.pop() {
            if !self.seen.insert(def) {
                continue;
            }
            match (world.node(def), plan.homes[def]) {
                (Node::Cont(mentioned), Home::In(_)) => found.conts.push(mentioned),
                (_, Home::Anywhere | Home::Unseen) => {}
                (Node::Param { .. }, Home::In(home)) if home == cont => {}
                (_, Home::In(home)) if home == cont || plan.has_conts[def] => {
                    world.for_each_operand(def, |operand| stack.push(operand));
                }
                (_, Home::In(_)) => found.captures.push(def),
            }
        }
        self.captures.extend(&found.captures);
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
