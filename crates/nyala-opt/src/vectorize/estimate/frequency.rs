//! How often the blocks of a function are executed, for one call of it.

use super::super::flow::{End, Flow};
use super::super::linearize::Plan;
use super::super::shapes::Shapes;

/// The iterations of a loop.
const ITERATIONS: f64 = 10.0;

/// By how much the lane that iterates longest exceeds the average, for each doubling of the lanes.
const STRETCH: f64 = 0.2;

/// The independence of the lanes' conditions: 0 if lanes always agree, 1 if they are independent.
const INDEPENDENCE: f64 = 0.4;

/// The least share of active lanes on average is the inverse of this: conditions of several parts nearly always hold, or nearly never.
const MAX_DIVERGENCE: f64 = 2.0;

/// By block: how often it is executed.
pub(super) struct Frequencies {
    /// On average by a lane, which is how often scalar code executes it.
    pub scalar: Vec<f64>,
    /// By SIMD code, for any of the lanes.
    pub simd: Vec<f64>,
}

impl Frequencies {
    /// The frequencies in a SIMD version of a function.
    pub fn new(flow: &Flow, shapes: &Shapes, plan: &Plan) -> Frequencies {
        let n = flow.dag.len();
        let mut all = Frequencies { scalar: vec![0.0; n], simd: vec![0.0; n] };
        for &vertex in flow.order.iter().filter(|&&vertex| vertex < flow.exit()) {
            let (scalar, simd) = all.arriving(flow, shapes, plan, vertex);
            let own = flow.loop_of_header(vertex);
            let iterations = if own.is_some() { ITERATIONS } else { 1.0 };
            let stretch = match own.is_some_and(|own| shapes.divergent_loops[own]) {
                true => 1.0 + STRETCH * f64::from(shapes.n_lanes()).log2(),
                false => 1.0,
            };
            all.scalar[vertex] = scalar * iterations;
            all.simd[vertex] = (simd * iterations * stretch).min(all.scalar[vertex] * MAX_DIVERGENCE);
        }
        all
    }

    /// How often control gets to a vertex, not counting further iterations of its loop.
    fn arriving(&self, flow: &Flow, shapes: &Shapes, plan: &Plan, vertex: usize) -> (f64, f64) {
        if vertex == 0 {
            return (1.0, 1.0);
        }
        if let Some(above) = plan.same_mask.get(vertex).copied().flatten() {
            return (self.scalar[above], self.simd[above]);
        }
        let (mut scalar, mut simd) = (0.0, 0.0);
        for from in flow.dag.preds(vertex).filter(|&from| from < flow.exit()) {
            let share = share(flow, from, vertex);
            scalar += self.scalar[from] * share;
            let taken = match shapes.diverges(flow, from) {
                true if plan.skip.get(vertex).copied().flatten().is_some() => {
                    self.any(from, share, shapes.n_lanes())
                }
                true => 1.0,
                false => share,
            };
            simd += self.simd[from] * taken;
        }
        let limit = self.region(flow, vertex);
        (scalar.min(limit.0), simd.min(limit.1))
    }

    /// The probability that a lane takes an edge, if each active one does with this probability.
    fn any(&self, from: usize, share: f64, lanes: u32) -> f64 {
        let active = (f64::from(lanes) * self.scalar[from] / self.simd[from].max(f64::MIN_POSITIVE)).max(1.0);
        1.0 - (1.0 - share).powf(1.0 + (active - 1.0) * INDEPENDENCE)
    }

    /// How often the closest dominator is executed that is in no loop without the vertex.
    fn region(&self, flow: &Flow, vertex: usize) -> (f64, f64) {
        let mut above = flow.doms.idom(vertex);
        while let Some(at) = above {
            match flow.innermost(at).filter(|&inner| !flow.is_in(vertex, inner)) {
                Some(inner) => above = flow.doms.idom(flow.header(inner)),
                None => return (self.scalar[at], self.simd[at]),
            }
        }
        (f64::INFINITY, f64::INFINITY)
    }
}

/// The share of the lanes at the end of a block that take the edge to a vertex.
fn share(flow: &Flow, from: usize, to: usize) -> f64 {
    let targets = flow.ends[from].targets();
    let is_dead = |target: usize| matches!(flow.ends.get(target), Some(End::Unreachable));
    let exits = |target: usize| flow.exited_loops(from, target).next().is_some();
    let weight = |target: usize| match (is_dead(target), exits(target)) {
        (true, _) => 0.0,
        (false, true) => 1.0 / (ITERATIONS - 1.0),
        (false, false) => 1.0,
    };
    let all: f64 = targets.iter().map(|&target| weight(target)).sum();
    let own: f64 =
        targets.iter().filter(|&&target| flow.route(from, target) == to).map(|&target| weight(target)).sum();
    if all == 0.0 { 1.0 } else { own / all }
}
