//! Parallel regions: many instances of one body.
//!
//! Instances run one after the other, in an order that the seed chooses. Instances that execute collective
//! operations together form a group: the lanes of a `vectorize`, or the threads of a work group. An instance
//! that reaches a collective operation is suspended: its registers are saved, and the others run. When all have
//! arrived or ended, those that wait at the same place execute the operation together. See
//! Note [Least progress first].
//!
//! # Invariants
//!
//! * Only the innermost region runs. Its parent is suspended until the region ends.
//! * An instance ends by calling the continuation that it was started with. A call of another continuation from
//!   outside of the body is a jump out of the body, which is an error.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::code::{FRAME, Scope};
use crate::errors::{Checked, ErrorKind, Side, malformed};
use crate::lanes::{CollectiveOp, Participant};
use crate::machine::{Dirty, Machine, Results, Ret};
use crate::race::Membership;
use crate::value::{Activation, Closure, Code, HeldSlots, Value};

/// A parallel construct being executed.
pub(crate) struct Region {
    pub(crate) kind: RegionKind,
    id: u32,
    /// The body of all instances, unless each has its own.
    body: Value,
    /// The next group to start.
    next_group: u64,
    /// The number of the current group.
    pub(crate) group: u64,
    /// The instances of the current group.
    pub(crate) instances: Vec<Instance>,
    pub(crate) current: usize,
    /// Work-group memory of the current group, by the call that reserves it.
    pub(crate) shared: FxHashMap<(u32, u32), u64>,
    /// The dispatch packet of AMD devices: the sizes of the launch.
    pub(crate) packet: Option<u64>,
    pub(crate) parent: Saved,
    ret: Ret,
    results: Results,
}

/// The instances of a region.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RegionKind {
    /// One per number of a range, which is its argument.
    Range { lower: i64, upper: i64 },
    /// Parts of a range. The arguments of each are an address and the bounds of its part.
    Chunks { data: u64, lower: i64, upper: i64 },
    /// One per number, one after the other.
    Loop { lower: i64, upper: i64 },
    /// Groups of `width` lanes over a range.
    Lanes { width: u32, lower: i64, upper: i64 },
    /// One per pair of numbers.
    Pairs { first: u32, second: u32 },
    /// The threads of a kernel.
    Kernel { grid: [u32; 3], block: [u32; 3] },
    /// The tasks of a flow graph that are reachable from `root`.
    Graph { root: u32 },
    /// A single one.
    Once,
}

/// How many threads of a block form a warp.
pub(crate) const WARP: u32 = 32;

/// One execution of the body.
pub(crate) struct Instance {
    pub(crate) task: u32,
    /// Its number in the group.
    pub(crate) number: u32,
    state: State,
}

/// What an instance starts with.
#[derive(Default)]
pub(crate) struct Start {
    pub(crate) body: Value,
    pub(crate) args: SmallVec<[Value; 2]>,
    /// Instances of its group that must end first.
    pub(crate) after: Vec<u32>,
}

enum State {
    NotStarted(Start),
    Waiting(Box<Waiting>),
    Ready(Box<Saved>, Ret, Results),
    Running,
    Done,
}

/// An instance that waits for the others of its group.
pub(crate) struct Waiting {
    saved: Saved,
    ret: Ret,
    op: CollectiveOp,
    participants: Participants,
    args: SmallVec<[Value; 4]>,
    /// See Note [Least progress first].
    progress: Vec<u32>,
}

/// The instances that execute a collective operation together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Participants {
    /// All threads of a work group. They must be at the same place.
    WorkGroup,
    /// The threads of a warp that are at the same place.
    Warp,
    /// The lanes of a vector that are at the same place.
    Lanes,
}

/// The saved state of the machine.
pub(crate) struct Saved {
    /// From [`FRAME`] on.
    pub(crate) regs: Vec<Value>,
    pub(crate) scope: Rc<Scope>,
    pub(crate) block: u32,
    dirty: Dirty,
    activation: Option<Rc<Activation>>,
    held: HeldSlots,
    task: u32,
}

impl Saved {
    /// The call at which the instance was suspended.
    fn span(&self) -> nyala_span::Span {
        self.scope.blocks[self.block as usize].span
    }
}

impl RegionKind {
    /// Whether groups run one after the other, in the order of their numbers.
    fn is_ordered(self) -> bool {
        matches!(self, RegionKind::Loop { .. } | RegionKind::Lanes { .. })
    }

    fn n_groups(self) -> u64 {
        let len = |lower: i64, upper: i64| upper.saturating_sub(lower).max(0) as u64;
        match self {
            RegionKind::Range { lower, upper }
            | RegionKind::Loop { lower, upper }
            | RegionKind::Chunks { lower, upper, .. } => len(lower, upper),
            RegionKind::Lanes { width, lower, upper } => len(lower, upper).div_ceil(u64::from(width)),
            RegionKind::Pairs { first, second } => u64::from(first) * u64::from(second),
            RegionKind::Kernel { grid, block } => {
                (0..3).fold(1, |n: u64, d| n.saturating_mul(u64::from(grid[d] / block[d])))
            }
            RegionKind::Once | RegionKind::Graph { .. } => 1,
        }
    }

    /// The arguments of each instance of a group that has one body.
    fn group(self, group: u64) -> Vec<SmallVec<[Value; 2]>> {
        let number = |value: i64| Value::Bits(u64::from(value as u32));
        let one = |value: i64| SmallVec::from_iter([number(value)]);
        match self {
            RegionKind::Range { lower, .. } | RegionKind::Loop { lower, .. } => {
                vec![one(lower + group as i64)]
            }
            RegionKind::Chunks { data, lower, .. } => {
                let at = lower + group as i64;
                vec![SmallVec::from_iter([Value::Bits(data), number(at), number(at + 1)])]
            }
            RegionKind::Lanes { width, lower, upper } => {
                let first = lower + (group * u64::from(width)) as i64;
                (first..upper.min(first + i64::from(width))).map(one).collect()
            }
            RegionKind::Pairs { second, .. } => {
                let second = u64::from(second);
                vec![SmallVec::from_iter([number((group / second) as i64), number((group % second) as i64)])]
            }
            RegionKind::Kernel { block, .. } => {
                let n_threads = block.iter().map(|&size| size as usize).product();
                vec![SmallVec::new(); n_threads]
            }
            RegionKind::Once | RegionKind::Graph { .. } => vec![SmallVec::new()],
        }
    }
}

/// The `at`-th of `n` numbers in an order that depends on the seed; with seed 0 in ascending order.
fn shuffled(at: u64, n: u64, seed: u64) -> u64 {
    if seed == 0 || n < 2 {
        return at;
    }
    let gcd = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // A step without common divisor visits every number once.
    let step = (mixed >> 32..).find(|&step| gcd(step % n, n) == 1).unwrap_or(1);
    ((u128::from(at) * u128::from(step) + u128::from(mixed & 0xffff_ffff)) % u128::from(n)) as u64
}

impl Instance {
    fn waiting(&self) -> Option<&Waiting> {
        match &self.state {
            State::Waiting(waiting) => Some(waiting),
            _ => None,
        }
    }
}

impl Region {
    fn is_runnable(&self, at: usize) -> bool {
        let instance = &self.instances[at];
        let has_ended = |&other: &u32| matches!(self.instances[other as usize].state, State::Done);
        match &instance.state {
            State::NotStarted(start) => start.after.iter().all(has_ended),
            State::Ready(..) => true,
            _ => false,
        }
    }

    fn membership(&self, number: u32) -> Membership {
        let subgroup = match self.kind {
            RegionKind::Kernel { .. } => number / WARP,
            _ => 0,
        };
        Membership {
            parent: self.parent.task,
            region: self.id,
            group: self.group as u32,
            subgroup,
            is_lane: matches!(self.kind, RegionKind::Lanes { .. }),
        }
    }
}

impl Machine<'_, '_> {
    /// Runs all instances of a body, then passes `results` to `ret`.
    pub(crate) fn start_region(
        &mut self,
        kind: RegionKind,
        body: Value,
        ret: Ret,
        results: Results,
    ) -> Checked<()> {
        let parent = self.save();
        self.memory.races.begin();
        self.n_regions += 1;
        self.regions.push(Region {
            kind,
            id: self.n_regions,
            body,
            next_group: 0,
            group: 0,
            instances: vec![],
            current: 0,
            shared: FxHashMap::default(),
            packet: None,
            parent,
            ret,
            results,
        });
        self.switch_side();
        self.schedule()
    }

    /// Tells the memory whether a kernel runs.
    fn switch_side(&mut self) {
        let is_kernel = |region: &Region| matches!(region.kind, RegionKind::Kernel { .. });
        let side = if self.regions.iter().any(is_kernel) { Side::Device } else { Side::Host };
        self.memory.switch_to(side);
    }

    /// The current instance called its continuation.
    pub(crate) fn instance_done(&mut self) -> Checked<()> {
        let Some(region) = self.regions.last_mut() else { return malformed("no instance runs") };
        let current = region.current;
        region.instances[current].state = State::Done;
        self.schedule()
    }

    /// Chooses what runs next: an instance, or the parent if all instances have ended.
    fn schedule(&mut self) -> Checked<()> {
        loop {
            let seed = self.host.seed;
            let Some(region) = self.regions.last_mut() else { return malformed("no region runs") };
            let n = region.instances.len() as u64;
            let is_runnable = |at: &usize| region.is_runnable(*at);
            if let Some(at) = (0..n).map(|at| shuffled(at, n, seed) as usize).find(is_runnable) {
                return self.resume(at);
            }
            if region.instances.iter().any(|instance| instance.waiting().is_some()) {
                self.execute_collective()?;
            } else if region.next_group < region.kind.n_groups() {
                self.start_group()?;
            } else {
                return self.end_region();
            }
        }
    }

    fn start_group(&mut self) -> Checked<()> {
        let seed = self.host.seed;
        let Some(region) = self.regions.last_mut() else { return malformed("no region runs") };
        let group = match region.kind {
            kind if kind.is_ordered() => region.next_group,
            kind => shuffled(region.next_group, kind.n_groups(), seed),
        };
        region.next_group += 1;
        region.group = group;
        for addr in region.shared.drain().map(|(_, addr)| addr) {
            self.memory.free_shared(addr);
        }
        if region.kind.is_ordered() {
            // Groups are ordered, as if each were a region.
            self.n_regions += 1;
            region.id = self.n_regions;
        }
        let body = &region.body;
        let starts = match region.kind {
            RegionKind::Graph { root } => self.graphs.reachable_from(root),
            kind => {
                let all = kind.group(group).into_iter();
                all.map(|args| Start { body: body.clone(), args, after: vec![] }).collect()
            }
        };
        let instances = starts.into_iter().zip(0..).map(|(start, number)| {
            let task = self.memory.races.add_task(region.membership(number));
            Instance { task, number, state: State::NotStarted(start) }
        });
        region.instances = instances.collect();
        Ok(())
    }

    fn resume(&mut self, at: usize) -> Checked<()> {
        let Some(region) = self.regions.last_mut() else { return malformed("no region runs") };
        region.current = at;
        self.task = region.instances[at].task;
        self.memory.races.switch_to(self.task);
        match std::mem::replace(&mut region.instances[at].state, State::Running) {
            State::Ready(saved, ret, results) => {
                self.restore(*saved);
                self.deliver(ret, results)
            }
            State::NotStarted(start) => {
                if !start.after.is_empty() {
                    let others = start.after.iter().map(|&other| region.instances[other as usize].task);
                    self.memory.races.order_after(self.task, others);
                }
                self.args.clear();
                self.args.extend(start.args);
                self.args.push(Closure::value(Code::InstanceEnd { task: self.task }));
                self.call_value(start.body)
            }
            State::Waiting(_) | State::Running | State::Done => malformed("an instance that cannot run"),
        }
    }

    fn end_region(&mut self) -> Checked<()> {
        let Some(region) = self.regions.pop() else { return malformed("no region runs") };
        for addr in region.shared.values().copied().chain(region.packet) {
            self.memory.free_shared(addr);
        }
        self.memory.races.end();
        self.switch_side();
        self.restore(region.parent);
        self.memory.races.switch_to(self.task);
        self.deliver(region.ret, region.results)
    }

    // ---- Suspending -------------------------------------------------------------

    pub(crate) fn save(&mut self) -> Saved {
        let end = self.scope.end as usize;
        let regs = self.regs[FRAME as usize..end].iter_mut().map(std::mem::take).collect();
        Saved {
            regs,
            scope: self.scope.clone(),
            block: self.block,
            dirty: std::mem::take(&mut self.dirty),
            activation: self.activation.take(),
            held: std::mem::take(&mut self.held),
            task: self.task,
        }
    }

    pub(crate) fn restore(&mut self, saved: Saved) {
        self.leave();
        self.visit(&saved.scope);
        let end = saved.scope.end as usize;
        for (reg, value) in self.regs[FRAME as usize..end].iter_mut().zip(saved.regs) {
            *reg = value;
        }
        self.scope = saved.scope;
        self.block = saved.block;
        self.dirty = saved.dirty;
        self.activation = saved.activation;
        self.held = saved.held;
        self.task = saved.task;
    }

    // ---- Collective operations ----------------------------------------------------

    /// Whether the instances of the innermost region can be such participants.
    pub(crate) fn can_synchronize(&self, participants: Participants) -> bool {
        match self.regions.last().map(|region| region.kind) {
            Some(RegionKind::Kernel { .. }) => participants != Participants::Lanes,
            Some(RegionKind::Lanes { .. }) => participants == Participants::Lanes,
            _ => false,
        }
    }

    /// Suspends the current instance at a collective operation.
    pub(crate) fn wait(
        &mut self,
        op: CollectiveOp,
        participants: Participants,
        args: &[Value],
        ret: Ret,
    ) -> Checked<()> {
        if self.callbacks.last().is_some_and(|&n_regions| n_regions == self.regions.len()) {
            let what = "a collective operation in a function that C calls";
            return Err(Box::new(ErrorKind::Unsupported { what: what.into() }));
        }
        let progress = self.progress();
        let saved = self.save();
        let Some(region) = self.regions.last_mut() else { return malformed("no region runs") };
        let waiting = Waiting { saved, ret, op, participants, args: args.into(), progress };
        let current = region.current;
        region.instances[current].state = State::Waiting(Box::new(waiting));
        self.schedule()
    }

    /// Executes a collective operation. All instances of the group wait or have ended. The operation with the least
    /// progress comes first, so that the other instances wait at the point where they reconverge.
    fn execute_collective(&mut self) -> Checked<()> {
        let Some(region) = self.regions.last() else { return malformed("no region runs") };
        let all: Vec<(&Instance, &Waiting)> =
            region.instances.iter().filter_map(|instance| Some((instance, instance.waiting()?))).collect();
        // A barrier needs all instances, so it comes after operations that need some.
        let first = all
            .iter()
            .min_by_key(|(_, waiting)| (waiting.participants == Participants::WorkGroup, &waiting.progress));
        let Some(&(first, Waiting { op, participants, progress, saved, .. })) = first else {
            return malformed("no instance waits");
        };
        let participates = |&&(instance, waiting): &&(&Instance, &Waiting)| {
            let is_same_warp =
                *participants != Participants::Warp || instance.number / WARP == first.number / WARP;
            waiting.progress == *progress && is_same_warp
        };
        if *participants == Participants::WorkGroup
            && let Some((_, other)) = all.iter().find(|waiting| !participates(waiting))
        {
            let (here, other) = (saved.span(), other.saved.span());
            return Err(Box::new(ErrorKind::BarrierDivergence { here, other }));
        }
        let width = match (participants, region.kind) {
            (Participants::Warp, _) => WARP,
            (_, RegionKind::Lanes { width, .. }) => width,
            _ => region.instances.len() as u32,
        };
        let lane = |instance: &Instance| match participants {
            Participants::Warp => instance.number % WARP,
            _ => instance.number,
        };
        let (numbers, arrived): (Vec<usize>, Vec<Participant>) = all
            .iter()
            .filter(participates)
            .map(|(instance, waiting)| {
                let (lane, args) = (lane(instance), waiting.args.clone());
                (instance.number as usize, Participant { lane, task: instance.task, args })
            })
            .unzip();
        let is_whole_group = match participants {
            // A barrier does not wait for instances that have ended.
            Participants::WorkGroup => true,
            Participants::Warp => false,
            Participants::Lanes => numbers.len() == region.instances.len(),
        };
        let results = self.collective_results(*op, width, &arrived)?;
        self.release(&numbers, results, is_whole_group)
    }

    /// Makes instances ready to run after a collective operation.
    fn release(&mut self, numbers: &[usize], results: Vec<Results>, is_whole_group: bool) -> Checked<()> {
        let Some(region) = self.regions.last_mut() else { return malformed("no region runs") };
        let tasks = numbers.iter().map(|&at| region.instances[at].task);
        match is_whole_group {
            true => self.memory.races.synchronize_group(tasks),
            false => self.memory.races.synchronize(tasks),
        }
        for (&at, results) in numbers.iter().zip(results) {
            let state = &mut region.instances[at].state;
            if let State::Waiting(waiting) = std::mem::replace(state, State::Done) {
                *state = State::Ready(Box::new(waiting.saved), waiting.ret, results);
            }
        }
        Ok(())
    }

    /// Checks that a call stays inside of the current instance. A closure from outside of it must be called like a
    /// function, with a return continuation.
    pub(crate) fn check_jump(&self, closure: &Closure) -> Checked<()> {
        if self.task == 0 {
            return Ok(());
        }
        let is_out = match closure.code {
            Code::Func(_) | Code::KeepAlive => false,
            Code::Halt => true,
            Code::ReturnToC { .. } => closure.task != self.task,
            Code::InstanceEnd { task } => task != self.task,
            Code::Block(_) => {
                closure.task != self.task && !self.args.iter().any(|arg| matches!(arg, Value::Fn(_)))
            }
        };
        if is_out { Err(Box::new(ErrorKind::JumpOut)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffled_order_is_a_permutation() {
        for seed in 0..20 {
            for n in 1..40 {
                let mut order: Vec<u64> = (0..n).map(|at| shuffled(at, n, seed)).collect();
                order.sort_unstable();
                assert_eq!(order, (0..n).collect::<Vec<u64>>());
            }
        }
    }
}
