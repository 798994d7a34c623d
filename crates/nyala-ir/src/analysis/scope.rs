//! Which continuations are nested in which.
//!
//! Nothing in the program says so: a continuation is nested in every one whose
//! parameters it needs, directly or because something it mentions needs them.
//! [`Scope`] answers this for one entry, [`Nesting`] for a whole program.
//!
//! In a well-formed program a parameter's owner dominates every mention of the
//! parameter in the graph of [`References`]: a path around it would leave a root
//! with a free parameter. So nesting is a tree, and [`Nesting`] finds it without
//! computing sets of free parameters. From the deepest owner up, it merges each
//! owner with all that leads to a use of its parameters. What has been merged is
//! entered through its owner only, so every edge is looked at once.

use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashSet;

use super::dominance::DomTree;
use super::references::{References, for_each_node, owner, owner_of};
use crate::node::{Cont, Def};
use crate::world::World;

/// An entry and everything nested in it.
#[derive(Clone, Debug)]
pub struct Scope {
    conts: Vec<Cont>,
    members: FxHashSet<Cont>,
    sole_users: FxHashSet<Cont>,
    free_params: Vec<Def>,
    lifted: Vec<Def>,
}

impl Scope {
    /// The scope of `entry`.
    pub fn new(world: &World, entry: Cont) -> Scope {
        Scope::lifting(world, entry, &[])
    }

    /// The scope that `entry` would have if `lifted`, values from outside, were
    /// parameters of it.
    pub fn lifting(world: &World, entry: Cont, lifted: &[Def]) -> Scope {
        let refs = References::from_roots(world, &[entry]);
        let entry = 0;
        let is_member = members(world, &refs, entry, lifted);
        let vertices: Vec<usize> = (0..refs.conts().len()).filter(|&vertex| is_member[vertex]).collect();
        let conts: Vec<Cont> = vertices.iter().map(|&vertex| refs.conts()[vertex]).collect();
        let sole_users = vertices
            .iter()
            .filter(|&&vertex| vertex != entry && refs.graph().preds(vertex).len() == 1)
            .map(|&vertex| refs.conts()[vertex])
            .collect();
        Scope {
            members: conts.iter().copied().collect(),
            conts,
            sole_users,
            free_params: free_params(world, &refs),
            lifted: lifted.to_vec(),
        }
    }

    /// What the scope is named after.
    pub fn entry(&self) -> Cont {
        self.conts[0]
    }

    /// The entry and all that is nested in it, in the order found from the entry.
    pub fn conts(&self) -> &[Cont] {
        &self.conts
    }

    /// Whether `cont` is the entry or nested in it.
    pub fn contains(&self, cont: Cont) -> bool {
        self.members.contains(&cont)
    }

    /// Whether `cont` is nested in the entry and mentioned by one body only.
    pub fn has_sole_user(&self, cont: Cont) -> bool {
        self.sole_users.contains(&cont)
    }

    /// The parameters of others that the entry needs, directly or through what it
    /// mentions, in the order found.
    pub fn free_params(&self) -> &[Def] {
        &self.free_params
    }

    /// The values that count as parameters of the entry.
    pub fn lifted(&self) -> &[Def] {
        &self.lifted
    }

    /// Whether the entry is nested in nothing.
    pub fn is_top_level(&self) -> bool {
        self.free_params.is_empty()
    }
}

/// What needs the parameters of `entry` or a lifted value, or the parameters of
/// something that does: backwards from the uses, through all that mentions a member.
fn members(world: &World, refs: &References, entry: usize, lifted: &[Def]) -> Vec<bool> {
    let users = users_of_params(world, refs);
    // In what the lifted values belong to, they are not free.
    let mut is_owner = vec![false; refs.conts().len() + 1];
    is_owner[refs.root()] = true;
    for_each_node(world, lifted.iter().copied(), |def| {
        if let Some(owner) = owner_of(world, def).and_then(|owner| refs.index(owner)) {
            is_owner[owner] = true;
        }
    });
    let mut is_member = vec![false; refs.conts().len()];
    let mut work: Vec<usize> = std::iter::once(entry).chain(users_of_lifted(world, refs, lifted)).collect();
    while let Some(vertex) = work.pop() {
        let blocked = vertex != entry && is_owner[vertex];
        if blocked || std::mem::replace(&mut is_member[vertex], true) {
            continue;
        }
        work.extend(&users[vertex]);
        // Who mentions the entry itself is not inside for that reason.
        if vertex != entry {
            work.extend(refs.graph().preds(vertex));
        }
    }
    is_member
}

fn users_of_lifted(world: &World, refs: &References, lifted: &[Def]) -> Vec<usize> {
    let mentions = |&vertex: &usize| {
        let mut found = false;
        let body = world.cont(refs.conts()[vertex]).body.iter();
        let roots = body.flat_map(|body| std::iter::once(body.callee).chain(body.args.iter().copied()));
        for_each_node(world, roots, |def| found |= lifted.contains(&def));
        found
    };
    if lifted.is_empty() { vec![] } else { (0..refs.conts().len()).filter(mentions).collect() }
}

/// The parameters that something reachable mentions where their owner does not
/// enclose it.
fn free_params(world: &World, refs: &References) -> Vec<Def> {
    let doms = DomTree::new(refs.graph(), refs.root());
    let mut seen = FxHashSet::default();
    let mut free = vec![];
    for vertex in 0..refs.conts().len() {
        let is_bound = |param: Def| {
            let owner = refs.index(owner(world, param));
            owner.is_some_and(|owner| doms.dominates(owner, vertex))
        };
        let here = refs.params(vertex).iter().copied();
        free.extend(here.filter(|&param| !is_bound(param) && seen.insert(param)));
    }
    free
}

/// For each vertex, who else mentions one of its parameters.
fn users_of_params(world: &World, refs: &References) -> Vec<Vec<usize>> {
    let mut users = vec![vec![]; refs.conts().len()];
    for vertex in 0..refs.conts().len() {
        for &param in refs.params(vertex) {
            if let Some(owner) = refs.index(owner(world, param)).filter(|&owner| owner != vertex) {
                users[owner].push(vertex);
            }
        }
    }
    users
}

/// The nesting tree of all continuations that a program can reach.
#[derive(Clone, Debug)]
pub struct Nesting {
    conts: Vec<Cont>,
    parent: SecondaryMap<Cont, Option<Cont>>,
    depth: SecondaryMap<Cont, u32>,
}

impl Nesting {
    /// The nesting of a well-formed program. Uses of parameters that break the
    /// rules (see `verify`) are overlooked.
    pub fn new(world: &World) -> Nesting {
        Nesting::of(world, &References::of_program(world))
    }

    /// The nesting of what `entry` can reach. Uses of parameters from further
    /// outside are overlooked, so the entry is at the top.
    pub fn within(world: &World, entry: Cont) -> Nesting {
        Nesting::of(world, &References::from_roots(world, &[entry]))
    }

    fn of(world: &World, refs: &References) -> Nesting {
        let doms = DomTree::new(refs.graph(), refs.root());
        let parents = parents(world, refs, &doms);
        let mut nesting =
            Nesting { conts: refs.conts().to_vec(), parent: SecondaryMap::new(), depth: SecondaryMap::new() };
        // An owner dominates what is nested in it, so its depth is known first.
        for &vertex in doms.preorder().iter().filter(|&&vertex| vertex != refs.root()) {
            let cont = refs.conts()[vertex];
            if let Some(parent) = parents[vertex].map(|parent| refs.conts()[parent]) {
                nesting.parent[cont] = Some(parent);
                nesting.depth[cont] = nesting.depth[parent] + 1;
            }
        }
        nesting
    }

    /// All reachable continuations.
    pub fn conts(&self) -> &[Cont] {
        &self.conts
    }

    /// The innermost continuation that `cont` is nested in; none if it is top-level.
    pub fn parent(&self, cont: Cont) -> Option<Cont> {
        self.parent[cont]
    }

    /// How many continuations `cont` is nested in.
    pub fn depth(&self, cont: Cont) -> u32 {
        self.depth[cont]
    }
}

/// The innermost owner that each vertex needs.
fn parents(world: &World, refs: &References, doms: &DomTree) -> Vec<Option<usize>> {
    let users = users_of_params(world, refs);
    let mut parents: Vec<Option<usize>> = vec![None; refs.conts().len()];
    let mut merged = UnionFind::new(refs.conts().len());
    let mut owners: Vec<usize> = (0..users.len()).filter(|&owner| !users[owner].is_empty()).collect();
    owners.sort_by_key(|&owner| std::cmp::Reverse(doms.depth(owner)));
    for owner in owners {
        let legal = |&&user: &&usize| doms.dominates(owner, user);
        let mut work: Vec<usize> = users[owner].iter().filter(legal).copied().collect();
        while let Some(vertex) = work.pop() {
            let outermost = merged.find(vertex);
            if outermost != owner {
                parents[outermost] = Some(owner);
                merged.merge_into(outermost, owner);
                work.extend(refs.graph().preds(outermost));
            }
        }
    }
    parents
}

/// Disjoint sets, each known by one chosen element.
struct UnionFind {
    up: Vec<usize>,
}

impl UnionFind {
    fn new(len: usize) -> UnionFind {
        UnionFind { up: (0..len).collect() }
    }

    fn find(&mut self, mut at: usize) -> usize {
        while self.up[at] != at {
            self.up[at] = self.up[self.up[at]];
            at = self.up[at];
        }
        at
    }

    fn merge_into(&mut self, chosen_of_one: usize, chosen: usize) {
        self.up[chosen_of_one] = chosen;
    }
}
