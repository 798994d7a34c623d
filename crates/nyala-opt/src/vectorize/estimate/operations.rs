//! The cost of the operations, accesses, branches and calls of a function, in scalar and in SIMD code.

use nyala_ir::{ArithOp, Cont, Def, MathOp, Node, Ty, World};
use nyala_span::Span;

use super::super::calls;
use super::super::flow::{End, Flow};
use super::super::forms::{Access, Form};
use super::super::function_values;
use super::super::lane_functions::lane_function;
use super::super::lanewise;
use super::super::linearize::Plan;
use super::super::memory::n_scalars;
use super::super::one_lane;
use super::super::prefetch;
use super::super::shapes::{Shape, Shapes, data_params};
use super::frequency::Frequencies;
use super::latency::{self, Code, Latencies};
use super::{Call, CauseKind, Counts, Machine, Masks};

/// The simple instructions that a processor executes in a cycle.
const PER_CYCLE: f64 = 5.0;

/// The counter and the branch of the loop over lanes or groups.
const LOOP: f64 = 2.0;

/// A division or square root; a function such as `exp`, inline.
const DIVISION: f64 = 5.0;
const FUNCTION: f64 = 20.0;

/// A call of a function, and of one whose body is not seen.
const CALL: f64 = 4.0;
const FOREIGN: f64 = 12.0;

/// What a branch costs on average that the processor cannot predict.
const UNPREDICTED: f64 = 4.0;

/// An access of one lane of a gather or scatter: by one instruction, or lane by lane.
const GATHERED: f64 = 4.0;
const SCATTERED: f64 = 5.0;
const LANE_BY_LANE: f64 = 5.0;

/// The share that an access costs beside one to the same struct.
const ADJACENT: f64 = 0.5;

/// An access under a mask that the machine does not have, for each lane.
const MASKED_LANE: f64 = 3.0;

/// A collective operation.
const COLLECTIVE: f64 = 4.0;

/// Counts a SIMD version of a function.
pub(super) struct Counter<'a> {
    pub world: &'a World,
    pub flow: &'a Flow,
    pub shapes: &'a Shapes,
    pub plan: &'a Plan,
    pub frequencies: &'a Frequencies,
    pub machine: Machine,
    pub is_masked: bool,
}

/// The cost of an operation for one lane in scalar code, and for all lanes in SIMD code.
#[derive(Clone, Copy)]
struct Cost {
    scalar: f64,
    simd: f64,
    /// Why SIMD code takes more than an instruction for each register.
    cause: Option<CauseKind>,
}

impl Cost {
    /// An operation that is executed once for all lanes.
    fn once(cost: f64) -> Cost {
        Cost { scalar: cost, simd: cost, cause: None }
    }

    fn of(scalar: f64, simd: f64) -> Cost {
        Cost { scalar, simd, cause: None }
    }
}

impl Counter<'_> {
    /// Counts the function.
    pub fn function(&mut self, function: Cont) -> Counts {
        let mut counts = Counts {
            function,
            is_masked: self.is_masked,
            scalar: LOOP,
            simd: LOOP,
            has_divergent_loop: self.shapes.divergent_loops.contains(&true),
            calls: vec![],
            causes: vec![],
            is_collective: false,
        };
        let mut in_loops = vec![(0.0, 0.0); self.flow.loops.loops().len()];
        for block in 0..self.flow.blocks.len() {
            let before = (counts.scalar, counts.simd);
            for &def in self.flow.schedule.block(block) {
                let cost = self.operation(def, block);
                self.add(&mut counts, block, cost, self.world.span_of(def));
            }
            self.end(&mut counts, block);
            if self.plan.skip[block].is_some() {
                self.add(&mut counts, block, self.divergence(0.0, 2.0), self.flow.places[block]);
            }
            if let Some(inner) = self.flow.innermost(block) {
                in_loops[inner].0 += counts.scalar - before.0;
                in_loops[inner].1 += counts.simd - before.1;
            }
        }
        for (index, &(scalar, simd)) in in_loops.iter().enumerate() {
            self.wait(&mut counts, index, scalar, simd);
        }
        counts
    }

    /// Adds the time in which iterations of a loop wait, if that is longer than the execution of its instructions.
    fn wait(&self, counts: &mut Counts, of: usize, scalar: f64, simd: f64) {
        let latencies =
            Latencies { world: self.world, flow: self.flow, shapes: self.shapes, machine: self.machine };
        let header = self.flow.header(of);
        let least = |code: Code| PER_CYCLE * latencies.of_iteration(of, code);
        let scalar = (self.frequencies.scalar[header] * least(Code::Scalar) - scalar).max(0.0);
        let simd = (self.frequencies.simd[header] * least(Code::Simd) - simd).max(0.0);
        counts.scalar += scalar;
        counts.simd += simd;
        counts.causes.push((CauseKind::Latency, self.flow.places[header], simd));
    }

    fn add(&self, counts: &mut Counts, block: usize, cost: Cost, at: Span) {
        let simd = self.frequencies.simd[block] * cost.simd;
        counts.scalar += self.frequencies.scalar[block] * cost.scalar;
        counts.simd += simd;
        if let Some(kind) = cost.cause {
            counts.causes.push((kind, at, simd));
        }
    }

    fn divergence(&self, scalar: f64, simd: f64) -> Cost {
        Cost { scalar, simd, cause: Some(CauseKind::Divergence) }
    }

    fn lanes(&self) -> f64 {
        f64::from(self.shapes.n_lanes())
    }

    /// The registers that hold one value of this type for each lane.
    fn registers(&self, ty: Ty) -> f64 {
        let bits = match self.world.types.as_prim(ty) {
            Some(prim) => prim.bits().max(8),
            None if self.world.types.as_ptr(ty).is_some() => 64,
            None => 32 * n_scalars(self.world, ty) as u32,
        };
        (self.lanes() * f64::from(bits) / f64::from(self.machine.register_bits)).max(1.0)
    }

    /// The cost of a mask operation.
    fn mask(&self) -> f64 {
        match self.machine.masks {
            Masks::All => 1.0,
            _ => (self.lanes() * 32.0 / f64::from(self.machine.register_bits)).max(1.0),
        }
    }

    fn operation(&self, def: Def, block: usize) -> Cost {
        let world = self.world;
        let simple = match world.node(def) {
            Node::Load { ptr, .. } | Node::Store { ptr, .. } => return self.access(def, ptr, block),
            Node::Alloc { .. } => return Cost::of(FOREIGN, FOREIGN * self.lanes()),
            Node::Arith { op: ArithOp::Div | ArithOp::Rem, .. } => match self.is_float(def) {
                true => DIVISION,
                false => return self.integer_division(def),
            },
            Node::Math { op, .. } => function_cost(op),
            Node::Arith { .. } | Node::Cmp { .. } | Node::Cast(_) | Node::Select { .. } => 1.0,
            _ => return Cost::once(0.0),
        };
        match self.shapes.of(def) {
            // Numbers in registers; addresses are parts of accesses.
            Shape::Varying => Cost::of(simple, simple * self.registers(self.operand_ty(def))),
            _ => Cost::once(simple),
        }
    }

    fn is_float(&self, def: Def) -> bool {
        self.world.types.as_prim(self.world.ty(def)).is_some_and(|prim| prim.is_float())
    }

    /// Divisions of integers have no vector instruction; those by constants are multiplications.
    fn integer_division(&self, def: Def) -> Cost {
        let Node::Arith { rhs, .. } = self.world.node(def) else { return Cost::once(DIVISION) };
        let is_varying = self.shapes.of(def) == Shape::Varying;
        match (self.world.as_lit(rhs), is_varying) {
            (_, false) => Cost::once(DIVISION),
            (Some(by), true) if by.is_power_of_two() => {
                Cost::of(2.0, 2.0 * self.registers(self.world.ty(def)))
            }
            (Some(_), true) => Cost::of(3.0, 4.0 * self.registers(self.world.ty(def))),
            (None, true) => Cost::of(2.0 * DIVISION, 3.0 * self.lanes()),
        }
    }

    /// The type whose registers an operation works on.
    fn operand_ty(&self, def: Def) -> Ty {
        match self.world.node(def) {
            Node::Cmp { lhs, .. } => self.world.ty(lhs),
            _ => self.world.ty(def),
        }
    }

    /// A load or store. The forms are those that the report shows.
    fn access(&self, def: Def, ptr: Def, block: usize) -> Cost {
        let is_partial = self.is_masked || self.frequencies.is_partial(block);
        let access = Access::new(self.world, self.flow, self.shapes, (def, ptr), block, !is_partial);
        let Some(access) = access else { return Cost::once(1.0) };
        let n = n_scalars(self.world, access.ty) as f64;
        let is_store = matches!(self.world.node(def), Node::Store { .. });
        if one_lane::of_block(self.world, self.flow, self.shapes, block).is_some() {
            return Cost::of(n, n);
        }
        let registers = self.registers(access.ty);
        let lanes = self.lanes() * n;
        match access.form {
            Form::Uniform if is_store && !self.shapes.is_private(ptr) => Cost::of(n, 3.0 * n),
            Form::Uniform if !self.shapes.is_private(ptr) => Cost::once(n),
            Form::Uniform | Form::Contiguous if is_partial && !self.has_masks(access.ty) => {
                Cost { scalar: n, simd: MASKED_LANE * lanes, cause: Some(CauseKind::MaskedAccess) }
            }
            Form::Uniform | Form::Contiguous => Cost::of(n, registers),
            Form::Reversed => Cost::of(n, 2.0 * registers),
            Form::Grouped(group) => Cost::of(n, 2.0 * lanes / f64::from(group.max(1))),
            Form::Repeated(_) => Cost::of(n, 2.0 * registers),
            Form::Shuffled(_) if self.shares_vectors(def, ptr, access.form, block) => {
                Cost::of(n, 1.5 * registers)
            }
            Form::Shuffled(_) => Cost::of(n, 4.0 * registers),
            Form::LookedUp(n_elements) => {
                let vectors = n_elements as f64 * 8.0 / f64::from(self.machine.register_bits);
                Cost::of(n, registers * (2.0 * vectors).max(2.0))
            }
            Form::PerLane => {
                let kind = if is_store { CauseKind::Scatter } else { CauseKind::Gather };
                Cost { scalar: n, simd: LANE_BY_LANE * lanes, cause: Some(kind) }
            }
            _ => {
                let (kind, has_it, native) = match is_store {
                    true => (CauseKind::Scatter, self.machine.has_scatter, SCATTERED),
                    false => (CauseKind::Gather, self.machine.has_gather, GATHERED),
                };
                let each = if has_it { native } else { LANE_BY_LANE };
                // Adjacent words are gathered together.
                let words = if self.is_near_another(def, ptr, block) {
                    ADJACENT * n
                } else {
                    1.0 + ADJACENT * (n - 1.0)
                };
                Cost { scalar: n, simd: each * self.lanes() * words, cause: Some(kind) }
            }
        }
    }

    /// Whether an earlier load of the block reads another field of the same structs.
    fn is_near_another(&self, def: Def, ptr: Def, block: usize) -> bool {
        let own = self.varying_part(ptr, block);
        let others = self.flow.schedule.block(block).iter().take_while(|&&other| other != def);
        others.copied().any(|other| match self.world.node(other) {
            Node::Load { ptr, .. } => self.varying_part(ptr, block) == own,
            _ => false,
        })
    }

    /// Whether an earlier access of the block, of the same kind and to the same variable, has the same stride. They share vectors.
    fn shares_vectors(&self, def: Def, ptr: Def, form: Form, block: usize) -> bool {
        let is_store = |def: Def| matches!(self.world.node(def), Node::Store { .. });
        let variable = latency::root(self.world, ptr);
        let others = self.flow.schedule.block(block).iter().take_while(|&&other| other != def);
        others.copied().filter(|&other| is_store(other) == is_store(def)).any(|other| {
            let (Node::Load { ptr, .. } | Node::Store { ptr, .. }) = self.world.node(other) else {
                return false;
            };
            let access = Access::new(self.world, self.flow, self.shapes, (other, ptr), block, false);
            latency::root(self.world, ptr) == variable && access.is_some_and(|access| access.form == form)
        })
    }

    /// The address without uniform steps at its end, such as the field of a struct.
    fn varying_part(&self, mut ptr: Def, block: usize) -> Def {
        loop {
            match self.world.node(ptr) {
                Node::Bitcast(inner) => ptr = inner,
                Node::Lea { ptr: inner, index }
                    if self.shapes.at(self.flow, index, block) == Shape::Uniform =>
                {
                    ptr = inner;
                }
                _ => return ptr,
            }
        }
    }

    /// Whether the machine has contiguous accesses to values of this type under masks.
    fn has_masks(&self, ty: Ty) -> bool {
        let parts = lanewise::flat(self.world, ty);
        let is_word = |&ty: &Ty| self.world.layout(ty).size >= 4;
        match self.machine.masks {
            Masks::All => true,
            Masks::Words => parts.iter().all(is_word),
            Masks::None => false,
        }
    }

    /// The end of a block: a branch, a call, or a jump that passes values.
    fn end(&self, counts: &mut Counts, block: usize) {
        let at = self.flow.places[block];
        match &self.flow.ends[block] {
            End::Branch { .. } | End::Switch { .. } => {
                let exits = |&to: &usize| self.flow.exited_loops(block, to).next().is_some();
                let targets = self.flow.ends[block].targets();
                // The end of a loop is predicted but once.
                let unpredicted = if targets.iter().any(exits) { 0.0 } else { UNPREDICTED };
                let n_targets = targets.len() as f64;
                let cost = match self.shapes.diverges(self.flow, block) {
                    true => self.divergence(1.0 + unpredicted, n_targets * self.mask()),
                    false => Cost::once(1.0),
                };
                self.add(counts, block, cost, at);
            }
            End::Jump { target, args } => {
                let cost = self.blends(block, *target, args);
                self.add(counts, block, cost, at);
            }
            End::Call { callee, args, .. } => self.call(counts, block, *callee, args),
            End::Unreachable => {}
        }
    }

    /// Selects where lanes reconverge.
    fn blends(&self, block: usize, target: usize, args: &[Def]) -> Cost {
        let reached = self.flow.route(block, target);
        let latch = self.flow.loop_of_latch(reached);
        let is_divergent = latch.is_some_and(|own| self.shapes.divergent_loops[own]);
        let is_join = self.flow.dag.preds(reached).nth(1).is_some() && self.frequencies.is_partial(block);
        if !(is_divergent || is_join) || target >= self.flow.blocks.len() {
            return Cost::once(0.0);
        }
        let params = data_params(self.world, self.flow.blocks[target]);
        let blended = params.iter().zip(args).filter(|(param, arg)| {
            param != arg && self.shapes.of(**param) == Shape::Varying && !self.shapes.is_private(**param)
        });
        let registers = blended.map(|(&param, _)| self.registers(self.world.ty(param))).sum();
        self.divergence(0.0, registers)
    }

    fn call(&self, counts: &mut Counts, block: usize, callee: Cont, args: &[Def]) {
        let (world, at) = (self.world, self.flow.places[block]);
        let shapes = || args.iter().map(|&arg| self.shapes.at(self.flow, arg, block));
        let cost = if lane_function(world, callee).is_some() {
            counts.is_collective = true;
            Cost::once(COLLECTIVE)
        } else if calls::is_called_once(self.flow, callee, shapes()) {
            Cost::once(FOREIGN)
        } else if world.cont(callee).body.is_some() && !function_values::calls_one(world, callee) {
            let (scalar, simd) = (self.frequencies.scalar[block], self.frequencies.simd[block]);
            counts.calls.push(Call { callee, scalar, simd });
            Cost::once(CALL)
        } else if prefetch::line_offsets(world, callee, shapes(), self.shapes.n_lanes()).is_some() {
            Cost::once(1.0)
        } else {
            let moved = shapes().filter(|&shape| shape != Shape::Uniform).count() as f64 + 1.0;
            let simd = self.lanes() * (FOREIGN + 2.0 * moved);
            Cost { scalar: FOREIGN, simd, cause: Some(CauseKind::PerLane) }
        };
        self.add(counts, block, cost, at);
    }
}

impl Frequencies {
    /// Whether only some lanes execute a block.
    fn is_partial(&self, block: usize) -> bool {
        self.simd[block] > 1.001 * self.scalar[block]
    }
}

/// The cost of a mathematical function. It is the same for each register.
fn function_cost(op: MathOp) -> f64 {
    match op {
        MathOp::Fabs | MathOp::Fmin | MathOp::Fmax | MathOp::Fma | MathOp::Fmuladd => 1.0,
        MathOp::Floor | MathOp::Ceil | MathOp::Trunc | MathOp::RoundEven | MathOp::Copysign => 1.0,
        MathOp::Sqrt => DIVISION,
        _ => FUNCTION,
    }
}
