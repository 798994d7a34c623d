//! Accesses that are contiguous, or equal, in groups of lanes.
//!
//! With 16 lanes, `p(i / 4).x(i % 4)` accesses four blocks of memory, each with four consecutive lanes.
//! So does `p((y + i / 4) * width + x + i % 4)`, a tile of an image. Such an access becomes one short
//! vector for each block. A load from `p(i / 4)` repeats an element in each group: it becomes one vector of the
//! elements, and a shuffle.
//!
//! The position of a lane in its group is in the low bits of its index, as `strides` knows for all
//! lanes. Values computed from it are uniform or strided in a group by the same rules as for all lanes.
//! Loaded values and block parameters do not qualify: they may be anything in inactive lanes.

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Def, Node, Prim, Ty, World};

use super::emit::Emitter;
use super::flow::Flow;
use super::lanewise;
use super::shapes::{Shape, Shapes, Wraps};
use super::strides::{Elements, Known};

/// The depth of the search through operands.
const MAX_DEPTH: usize = 12;

/// The smallest group, in bytes, that gets an access of its own.
const MIN_BYTES: u64 = 8;

/// The smallest group, in lanes, that gets a masked access of its own.
const MIN_MASKED: u32 = 4;

/// How groups of lanes access memory. The number of lanes of a group is a power of two that divides the number of lanes.
#[derive(Clone, Copy)]
pub(super) enum Groups {
    /// Each group accesses consecutive elements.
    Contiguous(u32),
    /// The lanes of a group load the same element, and the groups consecutive ones.
    Repeated(u32),
}

/// A value that is strided in each group of lanes.
#[derive(Clone, Copy)]
struct Run {
    /// The number of lanes of a group: a power of two that divides the number of lanes.
    lanes: u32,
    stride: i64,
    /// The distance from each group to the next one, if it is always the same.
    step: Option<i64>,
}

impl Run {
    /// A value that is strided in all lanes.
    fn of_all(lanes: u32, stride: i64) -> Option<Run> {
        Some(Run { lanes, stride, step: stride.checked_mul(i64::from(lanes)) })
    }

    /// The same value for groups of at most this many lanes.
    fn within(self, lanes: u32) -> Run {
        if lanes >= self.lanes {
            return self;
        }
        let step = |lanes: u32| self.stride.checked_mul(i64::from(lanes));
        let is_even = self.step.is_some() && self.step == step(self.lanes);
        Run { lanes, stride: self.stride, step: step(lanes).filter(|_| is_even) }
    }

    /// The values whose distances `op` computes from those of two values, in the groups of both.
    fn combined(self, other: Run, op: impl Fn(i64, i64) -> Option<i64>) -> Option<Run> {
        let lanes = self.lanes.min(other.lanes);
        let (a, b) = (self.within(lanes), other.within(lanes));
        let step = a.step.zip(b.step).and_then(|(a, b)| op(a, b));
        Some(Run { lanes, stride: op(a.stride, b.stride)?, step })
    }

    fn scaled(self, factor: i64) -> Option<Run> {
        let stride = self.stride.checked_mul(factor)?;
        Some(Run { stride, step: self.step.and_then(|step| step.checked_mul(factor)), ..self })
    }
}

/// The values that an access reads besides its operands.
pub(super) fn operands(world: &World, flow: &Flow, shapes: &Shapes, def: Def, block: usize) -> Vec<Def> {
    let (Node::Load { ptr, .. } | Node::Store { ptr, .. }) = world.node(def) else { return vec![] };
    if of_access(world, (flow, shapes), def, block, true).is_none() {
        return vec![];
    }
    let (mut operands, mut waiting) = (vec![], vec![ptr]);
    while let Some(def) = waiting.pop() {
        match shapes.at(flow, def, block) {
            Shape::Varying => waiting.extend(world.operands(def)),
            _ => operands.push(def),
        }
    }
    operands
}

/// The groups of lanes of a load or store, if they pay off.
pub(super) fn of_access(
    world: &World,
    (flow, shapes): (&Flow, &Shapes),
    def: Def,
    block: usize,
    is_full: bool,
) -> Option<Groups> {
    let (ptr, is_load) = match world.node(def) {
        Node::Load { ptr, .. } => (ptr, true),
        Node::Store { ptr, .. } => (ptr, false),
        _ => return None,
    };
    let (ty, _) = world.types.as_ptr(world.ty(ptr))?;
    if !lanewise::is_scalar(world, ty) || shapes.at(flow, ptr, block) != Shape::Varying {
        return None;
    }
    let size = world.layout(ty).size;
    let run = Search { world, flow, shapes }.value(ptr, block, MAX_DEPTH)?;
    // Of other numbers of lanes, LLVM does not end with legalizing the shuffles, of masks above all.
    if is_load && run.stride == 0 && run.step == Some(size as i64) && shapes.n_lanes().is_power_of_two() {
        return Some(Groups::Repeated(run.lanes));
    }
    let least = if is_full { 2 } else { MIN_MASKED };
    let is_worth_it = run.lanes >= least && u64::from(run.lanes) * size >= MIN_BYTES;
    (run.stride == size as i64 && is_worth_it).then_some(Groups::Contiguous(run.lanes))
}

struct Search<'a> {
    world: &'a World,
    flow: &'a Flow,
    shapes: &'a Shapes,
}

impl Search<'_> {
    fn value(&self, def: Def, block: usize, depth: usize) -> Option<Run> {
        let (world, all) = (self.world, self.shapes.n_lanes());
        match self.shapes.at(self.flow, def, block) {
            Shape::Uniform => return Run::of_all(all, 0),
            Shape::Strided { stride, wraps: Wraps::Never } => return Run::of_all(all, stride),
            Shape::Varying if depth > 0 && self.shapes.exited_loop(self.flow, def, block).is_none() => {}
            _ => return None,
        }
        let operand = |operand: Def| self.value(operand, block, depth - 1);
        match world.node(def) {
            Node::Arith { op, flags, lhs, rhs } => {
                let prim = world.types.as_prim(world.ty(def)).filter(|prim| prim.is_int())?;
                if let Some(run) = self.in_block(op, prim, lhs, rhs, block) {
                    return Some(run);
                }
                let (a, b) = (operand(lhs)?, operand(rhs)?);
                let is_exact = prim.bits() == 64 || !flags.wrap && prim.is_signed();
                match (op, self.world.as_int(lhs), self.world.as_int(rhs)) {
                    (ArithOp::Add, ..) if is_exact => a.combined(b, i64::checked_add),
                    (ArithOp::Sub, ..) if is_exact => a.combined(b, i64::checked_sub),
                    (ArithOp::Mul, _, Some(factor)) if is_exact => a.scaled(factor),
                    (ArithOp::Mul, Some(factor), _) if is_exact => b.scaled(factor),
                    // Sums that wrap in a narrow type are not contiguous.
                    _ if (a.stride, b.stride) == (0, 0) => {
                        Some(Run { lanes: a.lanes.min(b.lanes), stride: 0, step: None })
                    }
                    _ => None,
                }
            }
            Node::Cast(value) => {
                let inner = operand(value)?;
                let prim = |def: Def| world.types.as_prim(world.ty(def)).filter(|prim| prim.is_int());
                let (from, to) = (prim(value)?, prim(def)?);
                match self.shapes.number(world, value).fits(to) && from.bits() <= to.bits() {
                    true => Some(inner),
                    false => (inner.stride == 0).then_some(Run { step: None, ..inner }),
                }
            }
            // Lanes have elements of a vector of the program.
            Node::Extract { agg, index } if self.shapes.at(self.flow, agg, block) == Shape::Uniform => {
                let number = self.shapes.number(world, index);
                let index = Known { shape: self.shapes.at(self.flow, index, block), number };
                let Elements { lanes, stride } = self.shapes.own_elements(world, agg, index)?;
                let is_even = lanes.is_power_of_two() && all.is_multiple_of(lanes);
                is_even.then_some(Run { lanes, stride, step: None })
            }
            Node::Bitcast(value) if world.types.as_ptr(world.ty(value)).is_some() => operand(value),
            Node::Lea { ptr, index } if !self.shapes.is_private(def) => {
                let base = operand(ptr)?;
                let (pointee, _) = world.types.as_ptr(world.ty(ptr))?;
                let Some(elem) = world.types.elem(pointee) else { return Some(base) };
                let offset = operand(index)?.scaled(world.layout(elem).size as i64)?;
                base.combined(offset, i64::checked_add)
            }
            _ => None,
        }
    }

    /// A quotient, a remainder or the like by a constant, of a value whose stride is a power of two.
    /// The length of a group is limited by the divisor and by the known alignment of lane 0.
    fn in_block(&self, op: ArithOp, prim: Prim, lhs: Def, rhs: Def, block: usize) -> Option<Run> {
        let by = self.world.as_int(rhs)?;
        let Shape::Strided { stride, wraps: Wraps::Never } = self.shapes.at(self.flow, lhs, block) else {
            return None;
        };
        let number = self.shapes.number(self.world, lhs);
        let is_even = !prim.is_signed() || number.is_natural();
        let (bits, own, step) = match op {
            ArithOp::Div if by > 0 && is_even => {
                (by.trailing_zeros(), 0, (by.count_ones() == 1).then_some(1))
            }
            ArithOp::Rem if by > 0 && is_even => (by.trailing_zeros(), stride, None),
            ArithOp::Shr if (0..i64::from(prim.bits())).contains(&by) => (by as u32, 0, Some(1)),
            ArithOp::And if by & 1 == 1 => (by.trailing_ones(), stride, None),
            ArithOp::And if by != 0 => (by.trailing_zeros(), 0, None),
            _ => return None,
        };
        let block = 1i64 << bits.min(number.twos).min(31);
        let all = self.shapes.n_lanes();
        let lanes = u32::try_from(block.checked_div(stride)?).ok()?;
        let is_whole = stride > 0 && i64::from(lanes) * stride == block && lanes.is_power_of_two();
        // `strides` handles groups of all lanes.
        (is_whole && (2..all).contains(&lanes) && all.is_multiple_of(lanes)).then_some(Run {
            lanes,
            stride: own,
            step: step.filter(|_| bits <= number.twos),
        })
    }
}

impl Emitter<'_> {
    /// Loads scalars of type `ty` by groups of `lanes` lanes.
    pub fn load_run(&mut self, ptr: Def, ty: Ty, lanes: u32, block: usize) -> Def {
        let mut values = vec![];
        for first in (0..self.task.lanes).step_by(lanes as usize) {
            let (at, mask) = (self.at_lane(ptr, first, block), self.group_of(self.mask, first, lanes));
            let (mem, value) = self.world.load_lanes(self.mem, at, mask);
            self.mem = mem;
            values.extend((0..lanes).map(|lane| self.world.extract_at(value, lane)));
        }
        let ty = self.world.types.simd(ty, self.task.lanes);
        self.world.aggregate(ty, &values)
    }

    /// Loads a scalar of type `ty` for each group of `lanes` lanes: one vector.
    pub fn load_repeated(&mut self, ptr: Def, ty: Ty, lanes: u32, block: usize) -> Def {
        let at = self.at_lane(ptr, 0, block);
        let mask = self.any_of_groups(self.mask, lanes);
        let (mem, values) = self.world.load_lanes(self.mem, at, mask);
        self.mem = mem;
        let parts: Vec<Def> =
            (0..self.task.lanes).map(|lane| self.world.extract_at(values, lane / lanes)).collect();
        let ty = self.world.types.simd(ty, self.task.lanes);
        self.world.aggregate(ty, &parts)
    }

    /// For each group of `lanes` lanes, whether one of them is active. Masks are shuffled as bytes, for which there are instructions.
    fn any_of_groups(&mut self, mask: Def, lanes: u32) -> Def {
        let (all, n_groups) = (self.task.lanes, self.task.lanes / lanes);
        let [no, yes] = [0, 1].map(|byte| self.world.lit(Prim::U8, byte));
        let (then, other) = (self.world.splat(yes, all), self.world.splat(no, all));
        let bytes = self.world.select(mask, then, other);
        let byte = self.world.types.prim(Prim::U8);
        let ty = self.world.types.simd(byte, n_groups);
        let mut any = self.world.splat(no, n_groups);
        for lane in 0..lanes {
            let parts: Vec<Def> =
                (0..n_groups).map(|group| self.world.extract_at(bytes, group * lanes + lane)).collect();
            let part = self.world.aggregate(ty, &parts);
            any = self.world.arith(ArithOp::Or, ArithFlags::STRICT, any, part);
        }
        let none = self.world.splat(no, n_groups);
        self.world.cmp(CmpOp::Ne, any, none)
    }

    /// Stores scalars by groups of `lanes` lanes.
    pub fn store_run(&mut self, ptr: Def, value: Def, lanes: u32, block: usize) {
        for first in (0..self.task.lanes).step_by(lanes as usize) {
            let (at, mask) = (self.at_lane(ptr, first, block), self.group_of(self.mask, first, lanes));
            let value = self.group_of(value, first, lanes);
            self.mem = self.world.store_lanes(self.mem, at, mask, value);
        }
    }

    /// The value of one lane, computed by scalar operations.
    fn at_lane(&mut self, def: Def, lane: u32, block: usize) -> Def {
        let rep = self.rep(def, block);
        match rep.shape {
            Shape::Uniform => rep.def,
            Shape::Strided { stride, .. } => {
                let (ty, further) = (self.world.ty(def), stride * i64::from(lane));
                match self.world.types.as_prim(ty) {
                    Some(prim) => {
                        let further = self.world.lit(prim, further as u64);
                        self.world.arith(ArithOp::Add, ArithFlags::WRAP, rep.def, further)
                    }
                    None => {
                        let further = self.world.lit_i64(further);
                        self.bytes_from(rep.def, ty, further)
                    }
                }
            }
            Shape::Varying => {
                let operands: Vec<Def> = self
                    .world
                    .operands(def)
                    .into_iter()
                    .map(|operand| self.at_lane(operand, lane, block))
                    .collect();
                self.rebuilt(def, &operands)
            }
        }
    }

    /// Some consecutive lanes of a simd value.
    pub(super) fn group_of(&mut self, all: Def, first: u32, lanes: u32) -> Def {
        let parts: Vec<Def> = (first..first + lanes).map(|lane| self.world.extract_at(all, lane)).collect();
        let elem = self.world.types.elem(self.world.ty(all)).expect("a simd value has lanes of a type");
        let ty = self.world.types.simd(elem, lanes);
        self.world.aggregate(ty, &parts)
    }
}
