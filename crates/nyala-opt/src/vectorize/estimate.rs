//! The estimated cost of SIMD code beside the scalar loop.
//!
//! The unit is the time of a simple instruction, such as an addition of two registers. Each function that gets a SIMD version is counted twice:
//! as it is executed for one lane by scalar code, and as it is executed for all lanes at once. [`operations`] counts the blocks, [`frequency`]
//! says how often they are executed, [`latency`] what iterations wait for. Calls are resolved at the end, when all SIMD versions are known.
//!
//! The data is unknown: the estimate assumes that branches go either way, loops have a few iterations, and lanes often agree. So it tells layouts and
//! structures apart, not programs that differ by a few percent. Nothing in the generated code depends on them.

mod frequency;
mod latency;
mod operations;

use nyala_ir::{Cont, World};
use nyala_span::Span;

use super::ActiveLanes;
use super::flow::Flow;
use super::linearize::Plan;
use super::shapes::Shapes;

/// What is known of the processor that executes SIMD code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// The size of a vector register.
    pub register_bits: u32,
    /// The number of vector registers.
    pub registers: u32,
    /// Whether it has loads from varying addresses.
    pub has_gather: bool,
    /// Whether it has stores to varying addresses.
    pub has_scatter: bool,
    /// The contiguous accesses that it has under masks.
    pub masks: Masks,
}

/// Contiguous accesses under masks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Masks {
    /// None.
    None,
    /// To numbers of 32 and 64 bits.
    Words,
    /// To all numbers; each instruction may have a mask.
    All,
}

impl Machine {
    /// x86-64 without extensions, or AArch64 with NEON.
    pub const BASELINE: Machine = Machine {
        register_bits: 128,
        registers: 16,
        has_gather: false,
        has_scatter: false,
        masks: Masks::None,
    };
    /// x86-64 with AVX2.
    pub const AVX2: Machine = Machine {
        register_bits: 256,
        registers: 16,
        has_gather: true,
        has_scatter: false,
        masks: Masks::Words,
    };
    /// x86-64 with AVX-512.
    pub const AVX512: Machine =
        Machine { register_bits: 512, registers: 32, has_gather: true, has_scatter: true, masks: Masks::All };
}

/// The estimated cost of one lane of a `vectorize`, in tenths of a simple instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// In a scalar loop.
    pub scalar: u64,
    /// Its share of the SIMD code.
    pub simd: u64,
    /// Whether lanes exit a loop in different iterations.
    pub has_divergent_loop: bool,
    /// What has the largest shares of the SIMD code beyond plain arithmetic, the largest first.
    pub causes: Vec<Cause>,
}

/// A part of the cost of SIMD code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cause {
    /// Its kind.
    pub kind: CauseKind,
    /// The code.
    pub at: Span,
    /// Its share, in percent.
    pub percent: u32,
}

/// Why SIMD code costs more than a vector instruction for each scalar one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CauseKind {
    /// A load from varying addresses.
    Gather,
    /// A store to varying addresses.
    Scatter,
    /// A contiguous access under a mask that the machine does not have.
    MaskedAccess,
    /// A function that is called for one lane after the other.
    PerLane,
    /// Masks and selects of a divergent branch or loop.
    Divergence,
    /// An iteration of a loop waits for results of the one before.
    Latency,
}

/// The SIMD code is expected to be slower if it costs more than this many percent of the scalar loop.
const LOSES: u64 = 133;

/// The smallest share of a cause that is reported, in percent, and the number of causes.
const MIN_PERCENT: u32 = 10;
const MAX_CAUSES: usize = 3;

impl Estimate {
    /// Whether the SIMD code is expected to be slower than the scalar loop.
    pub fn is_slower(&self) -> bool {
        100 * self.simd > LOSES * self.scalar
    }

    /// Whether that is sure enough to execute the loop: without divergent loops, accesses under masks may be cheaper
    /// than estimated.
    pub(super) fn is_surely_slower(&self) -> bool {
        self.has_divergent_loop && self.is_slower()
    }
}

/// The counts of one SIMD version of a function, without those of its callees.
pub(super) struct Counts {
    function: Cont,
    is_masked: bool,
    /// The cost for one lane in scalar code, and for all lanes in SIMD code.
    scalar: f64,
    simd: f64,
    has_divergent_loop: bool,
    /// The calls of functions with SIMD versions.
    calls: Vec<Call>,
    causes: Vec<(CauseKind, Span, f64)>,
    /// Whether it has collective operations, which a scalar loop cannot execute.
    is_collective: bool,
}

/// Calls of a function with a SIMD version: how often scalar code and SIMD code make them.
struct Call {
    callee: Cont,
    scalar: f64,
    simd: f64,
}

/// Counts a SIMD version.
pub(super) fn count(
    world: &World,
    flow: &Flow,
    shapes: &Shapes,
    plan: &Plan,
    (function, active): (Cont, ActiveLanes),
    machine: Machine,
) -> Counts {
    let frequencies = frequency::Frequencies::new(flow, shapes, plan);
    let is_masked = active != ActiveLanes::All;
    let mut counter =
        operations::Counter { world, flow, shapes, plan, frequencies: &frequencies, machine, is_masked };
    counter.function(function)
}

/// The estimate for a `vectorize` whose body is `body`; none if scalar code cannot do the same.
pub(super) fn estimate(all: &[Counts], body: Cont, lanes: u32) -> Option<Estimate> {
    let mut sum = Sum {
        all,
        stack: vec![],
        scalar: 0.0,
        simd: 0.0,
        has_divergent_loop: false,
        causes: vec![],
        is_collective: false,
    };
    sum.add(body, false, 1.0, 1.0);
    if sum.is_collective {
        return None;
    }
    let tenths = |cost: f64| (cost * 10.0).round() as u64;
    let lanes = f64::from(lanes);
    let mut causes: Vec<Cause> = vec![];
    for (kind, at, cost) in &sum.causes {
        // Small costs at one place add up.
        let share = cost / sum.simd * 100.0;
        match causes.iter_mut().find(|cause| (cause.kind, cause.at) == (*kind, *at)) {
            Some(cause) => cause.percent += share.round() as u32,
            None => causes.push(Cause { kind: *kind, at: *at, percent: share.round() as u32 }),
        }
    }
    causes.retain(|cause| cause.percent >= MIN_PERCENT);
    causes.sort_by_key(|cause| (std::cmp::Reverse(cause.percent), cause.at.lo, cause.kind));
    causes.truncate(MAX_CAUSES);
    let has_divergent_loop = sum.has_divergent_loop;
    Some(Estimate { scalar: tenths(sum.scalar), simd: tenths(sum.simd / lanes), has_divergent_loop, causes })
}

/// The sum over a function and its callees.
struct Sum<'a> {
    all: &'a [Counts],
    /// The functions that are being added: recursive calls count once.
    stack: Vec<Cont>,
    scalar: f64,
    simd: f64,
    has_divergent_loop: bool,
    causes: Vec<(CauseKind, Span, f64)>,
    is_collective: bool,
}

/// The deepest chain of calls that is added up.
const MAX_DEPTH: usize = 16;

impl Sum<'_> {
    /// Adds a function that scalar code and SIMD code call so many times.
    fn add(&mut self, function: Cont, is_masked: bool, scalar: f64, simd: f64) {
        if self.stack.contains(&function) || self.stack.len() > MAX_DEPTH {
            return;
        }
        let versions = || self.all.iter().filter(|counts| counts.function == function);
        let version = versions().find(|counts| counts.is_masked == is_masked).or_else(|| versions().next());
        let Some(counts) = version else { return };
        self.scalar += scalar * counts.scalar;
        self.simd += simd * counts.simd;
        self.has_divergent_loop |= counts.has_divergent_loop;
        self.is_collective |= counts.is_collective;
        self.causes.extend(counts.causes.iter().map(|&(kind, at, cost)| (kind, at, simd * cost)));
        self.stack.push(function);
        for call in &counts.calls {
            self.add(call.callee, true, scalar * call.scalar, simd * call.simd);
        }
        self.stack.pop();
    }
}
