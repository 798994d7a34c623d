//! Recurrences: how long an iteration of a loop waits for the one before.
//!
//! The distance from a value at the beginning of an iteration to the same value at its end is the time that the iteration takes at least, however
//! many instructions the processor executes at once. In SIMD code, selects and masks make values depend on the conditions that chose them. Scalar
//! code predicts these conditions, and executes iterations of several lanes at once.

use nyala_ir::{ArithOp, Def, MathOp, Node, World};
use rustc_hash::FxHashMap;

use super::super::flow::{End, Flow};
use super::super::forms::{Access, Form};
use super::super::shapes::{Shape, Shapes, data_params};
use super::Machine;

/// Latencies in cycles. A gather takes longer with more lanes, and waits for earlier stores to the same variable.
const FLOAT: f64 = 3.0;
const LONG: f64 = 12.0;
const FUNCTION: f64 = 25.0;
const COMPARE: f64 = 4.0;
const LOAD: f64 = 6.0;
const GATHER: f64 = 9.0;
const GATHERED_LANE: f64 = 1.6;
const LANE_BY_LANE: f64 = 2.0;
const STORED: f64 = 20.0;
const SELECT: f64 = 1.0;
const MASK: f64 = 2.0;

/// The largest number of values of a loop whose recurrences are searched.
const MAX_PARAMS: usize = 24;

/// How many iterations of different lanes scalar code executes at once, on average: if all lanes have the same number of iterations,
/// and if not, so that the processor does not foresee the last one.
const OVERLAP: f64 = 4.0;
const DIVERGENT_OVERLAP: f64 = 1.3;

/// The recurrences of one function.
pub(super) struct Latencies<'a> {
    pub world: &'a World,
    pub flow: &'a Flow,
    pub shapes: &'a Shapes,
    pub machine: Machine,
}

/// A value that an iteration leaves to the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carried {
    /// A parameter of the header.
    Param(usize, Def),
    /// The lanes that have not exited.
    Mask,
}

/// Whether one lane or all of them are executed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Scalar,
    Simd,
}

impl Latencies<'_> {
    /// The cycles that an iteration of a loop takes at least.
    pub fn of_iteration(&self, of: usize, code: Code) -> f64 {
        let header = self.flow.header(of);
        let is_divergent = self.shapes.divergent_loops[of];
        let params = data_params(self.world, self.flow.blocks[header]);
        let mut carried: Vec<Carried> = (0..params.len())
            .filter(|&index| self.shapes.of(params[index]) == Shape::Varying)
            .map(|index| Carried::Param(index, params[index]))
            .collect();
        if code == Code::Simd && is_divergent {
            carried.push(Carried::Mask);
        }
        if carried.len() > MAX_PARAMS {
            return 0.0;
        }
        let distances: Vec<Vec<Option<f64>>> =
            carried.iter().map(|&from| self.to_next_iteration(of, from, &carried, code)).collect();
        let mut longest: f64 = 0.0;
        for (from, row) in distances.iter().enumerate() {
            for (there, column) in row.iter().zip(&distances) {
                if let (Some(there), Some(back)) = (there, column[from]) {
                    longest = longest.max((there + back) / 2.0);
                }
            }
        }
        match (code, is_divergent) {
            (Code::Scalar, false) => longest / OVERLAP,
            (Code::Scalar, true) => longest / DIVERGENT_OVERLAP,
            (Code::Simd, true) if self.rereads_variable(of) => longest.max(STORED + LOAD),
            (Code::Simd, _) => longest,
        }
    }

    /// Whether a loop reads a variable of each lane that it also writes: stores under masks are not forwarded to loads.
    fn rereads_variable(&self, of: usize) -> bool {
        let (mut read, mut written) = (vec![], vec![]);
        let blocks = self.flow.vertices_of(of).iter().filter(|&&vertex| vertex < self.flow.exit());
        for &def in blocks.flat_map(|&block| self.flow.schedule.block(block)) {
            match self.world.node(def) {
                Node::Load { ptr, .. } if self.shapes.is_private(ptr) => read.push(root(self.world, ptr)),
                Node::Store { ptr, .. } if self.shapes.is_private(ptr) => written.push(root(self.world, ptr)),
                _ => {}
            }
        }
        read.iter().any(|variable| written.contains(variable))
    }

    /// The distances from a value of this iteration to the carried values of the next one.
    fn to_next_iteration(
        &self,
        of: usize,
        from: Carried,
        carried: &[Carried],
        code: Code,
    ) -> Vec<Option<f64>> {
        let (flow, header) = (self.flow, self.flow.header(of));
        let mut distance = FxHashMap::default();
        if let Carried::Param(_, param) = from {
            distance.insert(param, 0.0);
        }
        let mut next: Vec<Option<f64>> = vec![None; carried.len()];
        let mut exits: Option<f64> = None;
        for &block in flow.vertices_of(of).iter().filter(|&&vertex| vertex < flow.exit()) {
            if block != header {
                self.enter(&mut distance, block, code);
            }
            for &def in flow.schedule.block(block) {
                let operands = self.world.operands(def).into_iter();
                let start = operands.filter_map(|operand| distance.get(&operand).copied()).reduce(f64::max);
                let is_masked = from == Carried::Mask && self.is_masked_load(def, block);
                let start = latest(start, is_masked.then_some(0.0));
                if let Some(start) = start {
                    distance.insert(def, start + self.latency(def, block, code));
                }
            }
            match &flow.ends[block] {
                End::Jump { target, args } if *target == header => {
                    for (slot, value) in next.iter_mut().zip(carried) {
                        if let Carried::Param(index, _) = *value {
                            *slot = latest(*slot, distance.get(&args[index]).copied());
                        }
                    }
                }
                End::Branch { cond: on, .. } | End::Switch { value: on, .. }
                    if flow.ends[block].targets().iter().any(|&to| !flow.is_in(to, of)) =>
                {
                    exits = latest(exits, distance.get(on).copied());
                }
                _ => {}
            }
        }
        if code == Code::Simd && self.shapes.divergent_loops[of] {
            // The lanes that have exited keep their values, and leave the mask.
            next.iter_mut().for_each(|slot| *slot = latest(*slot, exits.map(|exits| exits + MASK)));
        }
        next
    }

    /// The parameters of a block get the values of all edges to it, and in SIMD code depend on the branch that chose.
    fn enter(&self, distance: &mut FxHashMap<Def, f64>, block: usize, code: Code) {
        let params = data_params(self.world, self.flow.blocks[block]);
        if params.is_empty() {
            return;
        }
        let above = self.flow.doms.idom(block).filter(|&above| self.shapes.diverges(self.flow, above));
        let chosen = above.filter(|_| code == Code::Simd).and_then(|above| match &self.flow.ends[above] {
            End::Branch { cond: on, .. } | End::Switch { value: on, .. } => distance.get(on).copied(),
            _ => None,
        });
        let mut all: Vec<Option<f64>> = vec![chosen; params.len()];
        for end in &self.flow.ends {
            match end {
                End::Jump { target, args } if *target == block => {
                    for (slot, arg) in all.iter_mut().zip(args) {
                        *slot = latest(*slot, distance.get(arg).copied());
                    }
                }
                _ => {}
            }
        }
        let select = if chosen.is_some() { SELECT } else { 0.0 };
        for (param, arrival) in params.into_iter().zip(all) {
            if let Some(arrival) = arrival {
                distance.insert(param, arrival + select);
            }
        }
    }

    fn latency(&self, def: Def, block: usize, code: Code) -> f64 {
        let is_float =
            |def: Def| self.world.types.as_prim(self.world.ty(def)).is_some_and(|prim| prim.is_float());
        match self.world.node(def) {
            Node::Load { ptr, .. } => self.load(def, ptr, block, code),
            Node::Arith { op: ArithOp::Div | ArithOp::Rem, .. } => LONG,
            Node::Arith { .. } if is_float(def) => FLOAT,
            Node::Arith { op: ArithOp::Mul, .. } => 3.0,
            Node::Arith { .. } | Node::Select { .. } => 1.0,
            Node::Cmp { .. } if code == Code::Simd => COMPARE,
            Node::Cmp { .. } => 1.0,
            Node::Cast(_) if is_float(def) => FLOAT,
            Node::Math { op, .. } => match op {
                MathOp::Fabs | MathOp::Fmin | MathOp::Fmax | MathOp::Fma | MathOp::Fmuladd => FLOAT,
                MathOp::Sqrt => LONG,
                _ => FUNCTION,
            },
            _ => 0.0,
        }
    }

    fn is_masked_load(&self, def: Def, block: usize) -> bool {
        let Node::Load { ptr, .. } = self.world.node(def) else { return false };
        self.shapes.at(self.flow, ptr, block) != Shape::Uniform
    }

    fn load(&self, def: Def, ptr: Def, block: usize, code: Code) -> f64 {
        let access = Access::new(self.world, self.flow, self.shapes, (def, ptr), block, true);
        let is_gather = matches!(
            access.map(|access| access.form),
            Some(Form::Varying | Form::Strided(_) | Form::PerLane)
        );
        if code == Code::Scalar || !is_gather {
            return LOAD;
        }
        let lane = if self.machine.has_gather { GATHERED_LANE } else { LANE_BY_LANE };
        let stored = if self.shapes.is_private(ptr) { STORED } else { 0.0 };
        GATHER + lane * f64::from(self.shapes.n_lanes()) + stored
    }
}

/// The variable that an address is in.
pub(super) fn root(world: &World, mut ptr: Def) -> Def {
    while let Node::Lea { ptr: inner, .. } | Node::Bitcast(inner) = world.node(ptr) {
        ptr = inner;
    }
    ptr
}

fn latest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        _ => a.or(b),
    }
}
