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
    operations: FxHashSet<Def>,
    sole_users: FxHashSet<Cont>,
    free_params: Vec<Def>,
    captures: Vec<Def>,
    lifted: Vec<Def>,
}

impl Scope {
    /// The scope of `entry`.
    pub fn new(world: &World, entry: Cont) -> Scope {
        Scope::lifting(world, entry, &[])
    }

    /// The scope that `entry` would have if `lifted`, values from outside, were
    /// parameters of it.
    ///
    /// If the scope calls what a lifted value belongs to (the body of a loop goes
    /// back to its head), that is another activation, with values of its own: it
    /// stays outside, and so do the values that it needs.
    pub fn lifting(world: &World, entry: Cont, lifted: &[Def]) -> Scope {
        let refs = References::within(world, entry);
        let is_member = members(world, &refs, lifted);
        let (free, bound) = free_and_bound_uses(world, &refs);
        let mut captures = captures(world, &refs, &free, &bound, &is_member);
        captures.retain(|def| !lifted.contains(def));
        let mut scope = Scope {
            conts: vec![],
            members: FxHashSet::default(),
            operations: FxHashSet::default(),
            sole_users: FxHashSet::default(),
            free_params: unique(free.iter().map(|&(_, param)| param)),
            captures,
            lifted: lifted.to_vec(),
        };
        for (vertex, &def) in refs.nodes().iter().enumerate().filter(|&(vertex, _)| is_member[vertex]) {
            let Some(cont) = world.as_cont(def) else {
                scope.operations.insert(def);
                continue;
            };
            scope.conts.push(cont);
            scope.members.insert(cont);
            if let (Some(user), true) = (sole_user(&refs, vertex), vertex != ENTRY) {
                scope.sole_users.extend(world.as_cont(user).map(|_| cont));
            }
        }
        scope
    }

    /// The entry of the scope.
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

    /// The operations that depend on a parameter of the scope, in no order.
    pub fn operations(&self) -> impl Iterator<Item = Def> {
        self.operations.iter().copied()
    }

    /// Whether the operation `def` depends on a parameter of the scope.
    pub fn computes(&self, def: Def) -> bool {
        self.operations.contains(&def)
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

    /// The values from outside that the entry needs, directly or through
    /// continuations it mentions other than their owners: free parameters, and
    /// operations on such that need nothing inside. To lift these rather than the
    /// parameters behind them keeps effects outside: the address of a slot is
    /// lifted, not the memory it was made with.
    pub fn captures(&self) -> &[Def] {
        &self.captures
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

/// The vertex of the entry in references from it.
const ENTRY: usize = 0;

/// What needs the parameters of the entry or a lifted value, or the parameters of
/// something that does: backwards from the uses, through all that mentions a member.
fn members(world: &World, refs: &References, lifted: &[Def]) -> Vec<bool> {
    let users = users_of_params(world, refs);
    // In what the lifted values belong to, they are not free.
    let mut is_owner = vec![false; refs.nodes().len() + 1];
    is_owner[refs.root()] = true;
    for_each_node(world, lifted.iter().copied(), |def| {
        let owner = owner_of(world, def).map(|owner| world.cont_def(owner));
        if let Some(owner) = owner.and_then(|owner| refs.index(owner)) {
            is_owner[owner] = true;
        }
    });
    let mut is_member = vec![false; refs.nodes().len()];
    let mut work: Vec<usize> = std::iter::once(ENTRY).chain(users_of_lifted(refs, lifted)).collect();
    while let Some(vertex) = work.pop() {
        let blocked = vertex != ENTRY && is_owner[vertex];
        if blocked || std::mem::replace(&mut is_member[vertex], true) {
            continue;
        }
        work.extend(&users[vertex]);
        // Who mentions the entry itself is not inside for that reason.
        if vertex != ENTRY {
            work.extend(refs.graph().preds(vertex));
        }
    }
    is_member
}

fn users_of_lifted(refs: &References, lifted: &[Def]) -> Vec<usize> {
    let lifted: FxHashSet<Def> = lifted.iter().copied().collect();
    let params = refs.uses().iter().filter(|(_, param)| lifted.contains(param)).map(|&(user, _)| user);
    let operations = (0..refs.nodes().len()).filter(|&vertex| lifted.contains(&refs.nodes()[vertex]));
    params.chain(operations.flat_map(|vertex| refs.graph().preds(vertex))).collect()
}

/// The one vertex that mentions `vertex`.
fn sole_user(refs: &References, vertex: usize) -> Option<Def> {
    let mut preds = refs.graph().preds(vertex);
    let first = preds.next().filter(|&pred| pred != refs.root())?;
    preds.next().is_none().then_some(refs.nodes()[first])
}

/// A parameter and the vertex that mentions it.
type Use = (usize, Def);

/// The uses of parameters whose owner does not enclose the use, and the others.
fn free_and_bound_uses(world: &World, refs: &References) -> (Vec<Use>, Vec<Use>) {
    let doms = DomTree::new(refs.graph(), refs.root());
    refs.uses().iter().copied().partition(|&(user, param)| {
        let owner = refs.index(world.cont_def(owner(world, param)));
        !owner.is_some_and(|owner| doms.dominates(owner, user))
    })
}

fn unique(defs: impl Iterator<Item = Def>) -> Vec<Def> {
    let mut seen = FxHashSet::default();
    defs.filter(|&def| seen.insert(def)).collect()
}

/// See [`Scope::captures`].
fn captures(world: &World, refs: &References, free: &[Use], bound: &[Use], is_member: &[bool]) -> Vec<Def> {
    let is_operation =
        |vertex: usize| refs.nodes().get(vertex).is_some_and(|&def| world.as_cont(def).is_none());
    // The operations that need one of some uses, directly or through operands.
    let needing = |uses: &[Use]| {
        let mut needs = vec![false; refs.nodes().len()];
        let mut work: Vec<usize> = uses.iter().map(|&(user, _)| user).collect();
        while let Some(vertex) = work.pop() {
            if is_operation(vertex) && !std::mem::replace(&mut needs[vertex], true) {
                work.extend(refs.graph().preds(vertex));
            }
        }
        needs
    };
    let (needs_free, needs_bound) = (needing(free), needing(bound));
    let is_outside = |vertex: usize| is_operation(vertex) && !needs_bound[vertex] && !is_member[vertex];
    let is_here = reached_before_owners(world, refs, free);
    let is_inside = |vertex: usize| vertex != refs.root() && is_here[vertex] && !is_outside(vertex);
    let params = free.iter().filter(|&&(user, _)| is_inside(user)).map(|&(_, param)| param);
    let used_inside = |vertex: usize| refs.graph().preds(vertex).any(is_inside);
    let is_captured = |&vertex: &usize| needs_free[vertex] && is_outside(vertex) && used_inside(vertex);
    let operations = (0..refs.nodes().len()).filter(is_captured).map(|vertex| refs.nodes()[vertex]);
    unique(params.chain(operations))
}

/// What the entry reaches without entering an owner of a free parameter again:
/// from there on, the parameter is that of another activation.
fn reached_before_owners(world: &World, refs: &References, free: &[Use]) -> Vec<bool> {
    let mut is_reached = vec![false; refs.nodes().len()];
    let owners = free.iter().filter_map(|&(_, param)| refs.index(world.cont_def(owner(world, param))));
    let owners: FxHashSet<usize> = owners.collect();
    let mut work = vec![ENTRY];
    while let Some(vertex) = work.pop() {
        let is_new = !std::mem::replace(&mut is_reached[vertex], true);
        if is_new {
            work.extend(refs.graph().succs(vertex).filter(|succ| !owners.contains(succ)));
        }
    }
    is_reached
}

/// For each vertex, who else mentions one of its parameters.
fn users_of_params(world: &World, refs: &References) -> Vec<Vec<usize>> {
    let mut users = vec![vec![]; refs.nodes().len()];
    for &(user, param) in refs.uses() {
        let owner = refs.index(world.cont_def(owner(world, param)));
        if let Some(owner) = owner.filter(|&owner| owner != user) {
            users[owner].push(user);
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
        Nesting::of(world, &References::within(world, entry))
    }

    /// The nesting of a program that is also entered at `entry`, exported or not.
    pub fn with_entry(world: &World, entry: Cont) -> Nesting {
        Nesting::of(world, &References::with_entry(world, entry))
    }

    fn of(world: &World, refs: &References) -> Nesting {
        let doms = DomTree::new(refs.graph(), refs.root());
        let parents = parents(world, refs, &doms);
        let mut nesting = Nesting {
            conts: refs.conts(world).collect(),
            parent: SecondaryMap::new(),
            depth: SecondaryMap::new(),
        };
        let cont_at = |vertex: usize| refs.nodes().get(vertex).and_then(|&def| world.as_cont(def));
        // An owner dominates what is nested in it, so its depth is known first.
        for &vertex in doms.preorder() {
            let Some(cont) = cont_at(vertex) else { continue };
            if let Some(parent) = parents[vertex].and_then(cont_at) {
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

    /// The innermost continuation that `cont` is nested in; `None` if it is top-level.
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
    let mut parents: Vec<Option<usize>> = vec![None; refs.nodes().len()];
    let mut merged = UnionFind::new(refs.nodes().len());
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
