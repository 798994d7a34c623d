//! Partial linearization of control flow.
//!
//! Divergent branches are replaced by straight-line code: all targets are executed one after the other,
//! in the order of the [`Flow`], each under its mask. Uniform branches stay branches. (Moll and Hack:
//! "Partial control-flow linearization", PLDI 2018.) Each vertex has *deferred* targets: vertices that
//! earlier branches lead to and that are not executed yet. Control continues at whichever comes first,
//! a target of the vertex or a deferred one.
//!
//! A divergent loop runs until every lane has exited. Lanes that have exited are deferred to the loop's
//! exits.
//!
//! At least one lane is active at the vertex or at a deferred one. Code that must not run without an
//! active lane, or that is expensive, has a *guard*, which skips it if no lane is active.

use std::collections::BTreeSet;

use nyala_ir::World;

use super::cost;
use super::flow::{End, Flow};
use super::shapes::Shapes;

/// The linearized control flow of a function.
pub(super) struct Plan {
    /// By block: for each of its targets, the vertex to go to first; only one if the branch diverges.
    /// For latches and blocks without targets, the first deferred vertex.
    pub next: Vec<Vec<usize>>,
    /// By vertex: where to go instead if no lane is active.
    pub skip: Vec<Option<usize>>,
    /// By block: an earlier block that has exactly the same active lanes, if there is one.
    pub same_mask: Vec<Option<usize>>,
}

impl Plan {
    /// Linearizes `flow`.
    pub fn new(world: &World, flow: &Flow, shapes: &Shapes) -> Plan {
        let n_vertices = flow.dag.len();
        let plan = Plan {
            next: vec![vec![]; n_vertices],
            skip: vec![None; n_vertices],
            same_mask: (0..n_vertices).map(|vertex| same_mask(flow, vertex)).collect(),
        };
        let deferred = vec![BTreeSet::new(); n_vertices];
        let flags = vec![false; n_vertices];
        let (has_active_lane, is_deferred) = (flags.clone(), flags);
        let mut planner = Planner { world, flow, shapes, plan, deferred, has_active_lane, is_deferred };
        for &vertex in &flow.order {
            planner.vertex(vertex);
        }
        planner.plan
    }
}

/// The closest dominator that `vertex` post-dominates, in the same loop: whenever a lane executes one
/// of them, it executes the other.
fn same_mask(flow: &Flow, vertex: usize) -> Option<usize> {
    if vertex >= flow.exit() {
        return None;
    }
    let innermost = flow.innermost(vertex);
    let mut above = flow.doms.idom(vertex)?;
    // All lanes exit the loops in between.
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
    /// By vertex: the positions that may be deferred when control gets there.
    deferred: Vec<BTreeSet<usize>>,
    /// By vertex: whether a lane is active whenever control gets there.
    has_active_lane: Vec<bool>,
    /// By vertex: whether another vertex defers it. Then control also gets there by edges that the
    /// function does not have.
    is_deferred: Vec<bool>,
}

impl Planner<'_> {
    fn vertex(&mut self, vertex: usize) {
        self.guard(vertex);
        let deferred = self.deferred[vertex].clone();
        if let Some(inner) = self.flow.loop_of_latch(vertex) {
            if self.shapes.divergent_loops[inner] {
                self.plan.next[vertex] = self.continue_at_first(&deferred).into_iter().collect();
            }
            return;
        }
        let Some(end) = self.flow.ends.get(vertex) else { return };
        let targets = end.targets();
        if targets.is_empty() {
            self.plan.next[vertex] = self.continue_at_first(&deferred).into_iter().collect();
            return;
        }
        let positions: Vec<BTreeSet<usize>> = targets
            .iter()
            .map(|&target| self.positions_on_edge(vertex, target).chain(deferred.iter().copied()).collect())
            .collect();
        self.plan.next[vertex] = match self.shapes.diverges(self.flow, vertex) {
            true => {
                let all = positions.into_iter().flatten().collect();
                self.continue_at_first(&all).into_iter().collect()
            }
            false => positions.iter().filter_map(|edge| self.continue_at_first(edge)).collect(),
        };
    }

    /// The positions that lanes on this edge pass: the latches of the divergent loops that it exits,
    /// and its target.
    fn positions_on_edge(&self, from: usize, to: usize) -> impl Iterator<Item = usize> + '_ {
        let latches = self.flow.exited_loops(from, to).filter(|&inner| self.shapes.divergent_loops[inner]);
        let latches = latches.map(|inner| self.flow.position[self.flow.latch(inner)]);
        latches.chain([self.flow.position[self.flow.route(from, to)]])
    }

    /// Continues at the first of these positions, and defers the others.
    fn continue_at_first(&mut self, positions: &BTreeSet<usize>) -> Option<usize> {
        let first = *positions.first()?;
        let vertex = self.flow.order[first];
        self.deferred[vertex].extend(positions.iter().skip(1));
        for &later in positions.iter().skip(1) {
            self.is_deferred[self.flow.order[later]] = true;
        }
        Some(vertex)
    }

    /// Decides whether the vertex is skipped if no lane is active.
    fn guard(&mut self, vertex: usize) {
        let is_block = vertex < self.flow.blocks.len();
        let above = self.plan.same_mask[vertex];
        let mut preds = self.flow.dag.preds(vertex);
        let only = preds.next().filter(|_| preds.next().is_none());
        let follows = |pred: usize| self.has_active_lane[pred] && !self.shapes.diverges(self.flow, pred);
        let inherits = above.is_some_and(|above| self.has_active_lane[above])
            || only.filter(|&pred| pred < self.flow.blocks.len()).is_some_and(follows);
        self.has_active_lane[vertex] =
            self.deferred[vertex].is_empty() || (inherits && !self.is_deferred[vertex]);
        if is_block
            && !self.has_active_lane[vertex]
            && cost::needs_guard(self.world, self.flow, self.shapes, &self.plan, vertex)
        {
            let deferred = self.deferred[vertex].clone();
            self.plan.skip[vertex] = self.continue_at_first(&deferred);
            self.has_active_lane[vertex] = true;
        }
    }
}

impl End {
    /// Whether it has several targets.
    pub fn has_several_targets(&self) -> bool {
        self.targets().len() > 1
    }
}
