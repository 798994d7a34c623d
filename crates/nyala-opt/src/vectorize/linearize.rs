//! One way through a function for all lanes.
//!
//! Where lanes go different ways, all of them go through one place after the other, in the
//! order of the [`Flow`], with masks that say for whom each place is. Where they go
//! the same way, the branch stays a branch. (Moll and Hack: "Partial control-flow
//! linearization", PLDI 2018.) Each vertex knows where lanes may still be *waiting*: places that
//! the branches before it lead to and that are yet to come. From there control goes to
//! whatever comes first among its own targets and these.
//!
//! A divergent loop goes round until no lane is left in it; lanes that leave it wait behind it.
//!
//! At least one lane is active at the vertex or at those where lanes wait. What must not
//! happen without a lane, or is expensive, stands behind a *guard*: it is left out if no lane
//! is there.

use std::collections::BTreeSet;

use nyala_ir::World;

use super::cost;
use super::flow::{End, Flow};
use super::shapes::Shapes;

/// The way through a function.
pub(super) struct Plan {
    /// By block: for each of its targets the vertex to go to first; one for all if lanes part.
    /// For latches and blocks that end, where those go on that wait.
    pub next: Vec<Vec<usize>>,
    /// By vertex: where to go instead if no lane is there.
    pub skip: Vec<Option<usize>>,
    /// By block: the one before it that exactly its lanes pass, if there is one.
    pub same_lanes: Vec<Option<usize>>,
}

impl Plan {
    /// The way through `flow`.
    pub fn new(world: &World, flow: &Flow, shapes: &Shapes) -> Plan {
        let n_vertices = flow.dag.len();
        let plan = Plan {
            next: vec![vec![]; n_vertices],
            skip: vec![None; n_vertices],
            same_lanes: (0..n_vertices).map(|vertex| same_lanes(flow, vertex)).collect(),
        };
        let waiting = vec![BTreeSet::new(); n_vertices];
        let flags = vec![false; n_vertices];
        let (has_lane, is_deferred) = (flags.clone(), flags);
        let mut planner = Planner { world, flow, shapes, plan, waiting, has_lane, is_deferred };
        for &vertex in &flow.order {
            planner.vertex(vertex);
        }
        planner.plan
    }
}

/// The closest block that each lane that gets to `vertex` has passed once for each time
/// it gets there, and from which it cannot but get there.
fn same_lanes(flow: &Flow, vertex: usize) -> Option<usize> {
    if vertex >= flow.exit() {
        return None;
    }
    let innermost = flow.innermost(vertex);
    let mut above = flow.doms.idom(vertex)?;
    // Loops in between are left by all lanes.
    while let Some(inner) = flow.innermost(above).filter(|&inner| Some(inner) != innermost) {
        if innermost.is_some_and(|around| !flow.is_in(above, around)) {
            return None;
        }
        above = flow.doms.idom(flow.header(inner))?;
    }
    let alike = flow.innermost(above) == innermost && flow.post_doms.dominates(vertex, above);
    alike.then_some(above)
}

struct Planner<'a> {
    world: &'a World,
    flow: &'a Flow,
    shapes: &'a Shapes,
    plan: Plan,
    /// By vertex: the places, by position, where lanes may wait when control gets there.
    waiting: Vec<BTreeSet<usize>>,
    /// By vertex: whether a lane is there whenever control is.
    has_lane: Vec<bool>,
    /// By vertex: whether lanes wait there somewhere, so that control also gets there on
    /// ways that are not of the function.
    is_deferred: Vec<bool>,
}

impl Planner<'_> {
    fn vertex(&mut self, vertex: usize) {
        self.guard(vertex);
        let waiting = self.waiting[vertex].clone();
        if let Some(inner) = self.flow.loop_of_latch(vertex) {
            if self.shapes.divergent_loops[inner] {
                self.plan.next[vertex] = self.go(&waiting).into_iter().collect();
            }
            return;
        }
        let Some(end) = self.flow.ends.get(vertex) else { return };
        let targets = end.targets();
        if targets.is_empty() {
            self.plan.next[vertex] = self.go(&waiting).into_iter().collect();
            return;
        }
        let ways: Vec<BTreeSet<usize>> = targets
            .iter()
            .map(|&target| self.way(vertex, target).chain(waiting.iter().copied()).collect())
            .collect();
        self.plan.next[vertex] = match self.shapes.parts(self.flow, vertex) {
            true => {
                let all = ways.into_iter().flatten().collect();
                self.go(&all).into_iter().collect()
            }
            false => ways.iter().filter_map(|way| self.go(way)).collect(),
        };
    }

    /// The positions that lanes pass which take this edge: latches of divergent loops
    /// that it leaves, and its end.
    fn way(&self, from: usize, to: usize) -> impl Iterator<Item = usize> + '_ {
        let latches = self.flow.loops_left(from, to).filter(|&left| self.shapes.divergent_loops[left]);
        let latches = latches.map(|left| self.flow.position[self.flow.latch(left)]);
        latches.chain([self.flow.position[self.flow.route(from, to)]])
    }

    /// Goes to the first of these positions, where lanes wait for the others.
    fn go(&mut self, ways: &BTreeSet<usize>) -> Option<usize> {
        let first = *ways.first()?;
        let vertex = self.flow.order[first];
        self.waiting[vertex].extend(ways.iter().skip(1));
        for &later in ways.iter().skip(1) {
            self.is_deferred[self.flow.order[later]] = true;
        }
        Some(vertex)
    }

    /// Decides whether the vertex is left out if no lane is there.
    fn guard(&mut self, vertex: usize) {
        let is_block = vertex < self.flow.blocks.len();
        let above = self.plan.same_lanes[vertex];
        let mut preds = self.flow.dag.preds(vertex);
        let only = preds.next().filter(|_| preds.next().is_none());
        let follows = |pred: usize| self.has_lane[pred] && !self.shapes.parts(self.flow, pred);
        let inherits = above.is_some_and(|above| self.has_lane[above])
            || only.filter(|&pred| pred < self.flow.blocks.len()).is_some_and(follows);
        self.has_lane[vertex] = self.waiting[vertex].is_empty() || (inherits && !self.is_deferred[vertex]);
        if is_block && !self.has_lane[vertex] && cost::needs_lane(self.world, self.flow, self.shapes, vertex)
        {
            let waiting = self.waiting[vertex].clone();
            self.plan.skip[vertex] = self.go(&waiting);
            self.has_lane[vertex] = true;
        }
    }
}

impl End {
    /// Whether it goes one of several ways.
    pub fn chooses(&self) -> bool {
        self.targets().len() > 1
    }
}
