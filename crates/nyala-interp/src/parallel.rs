//! Parallel regions: many instances of one body.
//!
//! Instances run one after the other, in an order that the seed chooses. Those
//! that have to meet (the lanes of a `vectorize` at a lane function, the threads
//! of a kernel's block at a barrier, those of a warp at a warp function) form a
//! group: an instance that arrives is put aside with its registers, the others
//! run, and when all have arrived or ended, those who wait at the same place go
//! on together.
//!
//! # Invariants
//!
//! * Only the innermost region runs, and its parent is put aside until it is over.
//! * An instance ends by calling the continuation it was given. Calling any other
//!   one that was made outside is a jump out of the body, which is an error.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::code::{FRAME, Scope};
use crate::errors::{Checked, ErrorKind, malformed};
use crate::lanes::{Arrived, Meeting};
use crate::machine::{Dirty, Machine, Results, Ret};
use crate::race::Membership;
use crate::value::{Activation, Closure, Code, HeldSlots, Value};

/// A parallel construct being executed.
pub(crate) struct Region {
    pub(crate) kind: RegionKind,
    id: u32,
    /// What instances execute, unless each has its own.
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
    /// What an AMD device is told about the launch.
    pub(crate) packet: Option<u64>,
    pub(crate) parent: Saved,
    ret: Ret,
    results: Results,
}

/// What the instances are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RegionKind {
    /// One for each number of a range, which it is given.
    Range { lower: i64, upper: i64 },
    /// Pieces of a range, each with an address and where it begins and ends.
    Chunks { data: u64, lower: i64, upper: i64 },
    /// One for each number, one after the other.
    Loop { lower: i64, upper: i64 },
    /// Groups of `width` lanes over a range.
    Lanes { width: u32, lower: i64, upper: i64 },
    /// One for each pair of numbers.
    Pairs { first: u32, second: u32 },
    /// The threads of a kernel.
    Kernel { grid: [u32; 3], block: [u32; 3] },
    /// The tasks of a flow graph, from one of them on.
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
    /// Instances of its group that must end before.
    pub(crate) after: Vec<u32>,
}

enum State {
    Fresh(Start),
    Waiting(Box<Waiting>),
    Ready(Box<Saved>, Ret, Results),
    Running,
    Done,
}

/// An instance that waits for the others of its group.
pub(crate) struct Waiting {
    saved: Saved,
    ret: Ret,
    meeting: Meeting,
    circle: Circle,
    args: SmallVec<[Value; 4]>,
    /// How far it has come. See Note [Who is behind].
    progress: Vec<u32>,
}

/// Who meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Circle {
    /// The threads of a block; all of them, and at the same place.
    Block,
    /// Those threads of a warp that are at the same place.
    Warp,
    /// Those lanes of a vector that are at the same place.
    Lanes,
}

/// The state of the machine, put aside.
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
    /// Where control was.
    fn span(&self) -> nyala_span::Span {
        self.scope.blocks[self.block as usize].span
    }
}

impl RegionKind {
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

    /// The arguments of each instance of a group, if they all do the same.
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

/// The `at`-th of `n` numbers, in an order that depends on the seed; seed 0 is
/// the natural one.
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
            State::Fresh(start) => start.after.iter().all(has_ended),
            State::Ready(..) => true,
            _ => false,
        }
    }

    fn membership(&self, number: u32) -> Membership {
        let team = match self.kind {
            RegionKind::Kernel { .. } => number / WARP,
            _ => 0,
        };
        Membership {
            parent: self.parent.task,
            region: self.id,
            group: self.group as u32,
            team,
            is_lane: matches!(self.kind, RegionKind::Lanes { .. }),
        }
    }
}

impl Machine<'_, '_> {
    /// Runs all instances of a body, then goes on with `results`.
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
        self.schedule()
    }

    /// The current instance called its continuation.
    pub(crate) fn instance_done(&mut self) -> Checked<()> {
        let Some(region) = self.regions.last_mut() else { return malformed("no instance runs") };
        let current = region.current;
        region.instances[current].state = State::Done;
        self.schedule()
    }

    /// Finds what to run next: an instance, or the parent when all are done.
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
                self.meet()?;
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
            RegionKind::Loop { .. } => region.next_group,
            kind => shuffled(region.next_group, kind.n_groups(), seed),
        };
        region.next_group += 1;
        region.group = group;
        for addr in region.shared.drain().map(|(_, addr)| addr) {
            self.memory.free_shared(addr);
        }
        if let RegionKind::Loop { .. } = region.kind {
            // Each round is ordered with the others as if it were a region of its own.
            self.n_regions += 1;
            region.id = self.n_regions;
        }
        let body = &region.body;
        let starts = match region.kind {
            RegionKind::Graph { root } => self.graphs.from(root),
            kind => {
                let all = kind.group(group).into_iter();
                all.map(|args| Start { body: body.clone(), args, after: vec![] }).collect()
            }
        };
        let instances = starts.into_iter().zip(0..).map(|(start, number)| {
            let task = self.memory.races.add_task(region.membership(number));
            Instance { task, number, state: State::Fresh(start) }
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
            State::Fresh(start) => {
                if !start.after.is_empty() {
                    let others = start.after.iter().map(|&other| region.instances[other as usize].task);
                    self.memory.races.follow(self.task, others);
                }
                self.args.clear();
                self.args.extend(start.args);
                self.args.push(Closure::value(Code::Done { task: self.task }));
                self.call_value(start.body)
            }
            State::Waiting(_) | State::Running | State::Done => malformed("an instance that cannot go on"),
        }
    }

    fn end_region(&mut self) -> Checked<()> {
        let Some(region) = self.regions.pop() else { return malformed("no region runs") };
        for addr in region.shared.values().copied().chain(region.packet) {
            self.memory.free_shared(addr);
        }
        self.memory.races.end();
        self.restore(region.parent);
        self.memory.races.switch_to(self.task);
        self.deliver(region.ret, region.results)
    }

    // ---- Putting aside ----------------------------------------------------------

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

    // ---- Meeting ----------------------------------------------------------------

    /// Whether the current instance has others to meet.
    pub(crate) fn can_meet(&self, circle: Circle) -> bool {
        match self.regions.last().map(|region| region.kind) {
            Some(RegionKind::Kernel { .. }) => circle != Circle::Lanes,
            Some(RegionKind::Lanes { .. }) => circle == Circle::Lanes,
            _ => false,
        }
    }

    /// The current instance waits for others of its group.
    pub(crate) fn wait(&mut self, meeting: Meeting, circle: Circle, args: &[Value], ret: Ret) -> Checked<()> {
        if self.callbacks.last().is_some_and(|&n_regions| n_regions == self.regions.len()) {
            let what = "a meeting inside of a function that C calls";
            return Err(Box::new(ErrorKind::Unsupported { what: what.into() }));
        }
        let progress = self.progress();
        let saved = self.save();
        let Some(region) = self.regions.last_mut() else { return malformed("no region runs") };
        let waiting = Waiting { saved, ret, meeting, circle, args: args.into(), progress };
        let current = region.current;
        region.instances[current].state = State::Waiting(Box::new(waiting));
        self.schedule()
    }

    /// All instances of the group wait or have ended: those who are furthest
    /// behind go on together, so that the others wait where ways join again.
    fn meet(&mut self) -> Checked<()> {
        let Some(region) = self.regions.last() else { return malformed("no region runs") };
        let all: Vec<(&Instance, &Waiting)> =
            region.instances.iter().filter_map(|instance| Some((instance, instance.waiting()?))).collect();
        // A barrier is for all, so it comes after what is for some.
        let first =
            all.iter().min_by_key(|(_, waiting)| (waiting.circle == Circle::Block, &waiting.progress));
        let Some(&(first, Waiting { meeting, circle, progress, saved, .. })) = first else {
            return malformed("nobody waits");
        };
        let is_here = |&&(instance, waiting): &&(&Instance, &Waiting)| {
            let is_near = *circle != Circle::Warp || instance.number / WARP == first.number / WARP;
            waiting.progress == *progress && is_near
        };
        if *circle == Circle::Block
            && let Some((_, other)) = all.iter().find(|waiting| !is_here(waiting))
        {
            let (here, other) = (saved.span(), other.saved.span());
            return Err(Box::new(ErrorKind::BarrierDivergence { here, other }));
        }
        let width = match (circle, region.kind) {
            (Circle::Warp, _) => WARP,
            (_, RegionKind::Lanes { width, .. }) => width,
            _ => region.instances.len() as u32,
        };
        let number = |instance: &Instance| match circle {
            Circle::Warp => instance.number % WARP,
            _ => instance.number,
        };
        let here = all.iter().filter(is_here);
        let (numbers, arrived): (Vec<usize>, Vec<Arrived>) = here
            .map(|(instance, waiting)| {
                let (lane, args) = (number(instance), waiting.args.clone());
                (instance.number as usize, Arrived { lane, task: instance.task, args })
            })
            .unzip();
        let is_for_all = match circle {
            // Those that have ended do not keep the others from meeting.
            Circle::Block => true,
            Circle::Warp => false,
            Circle::Lanes => numbers.len() == region.instances.len(),
        };
        let meeting = *meeting;
        let results = self.meeting_results(meeting, width, &arrived)?;
        self.go_on_together(&numbers, results, is_for_all)
    }

    /// Lets instances, by their numbers, go on after a meeting.
    fn go_on_together(&mut self, numbers: &[usize], results: Vec<Results>, is_for_all: bool) -> Checked<()> {
        let Some(region) = self.regions.last_mut() else { return malformed("no region runs") };
        let tasks = numbers.iter().map(|&at| region.instances[at].task);
        match is_for_all {
            true => self.memory.races.all_meet(tasks),
            false => self.memory.races.some_meet(tasks),
        }
        for (&at, results) in numbers.iter().zip(results) {
            let state = &mut region.instances[at].state;
            if let State::Waiting(waiting) = std::mem::replace(state, State::Done) {
                *state = State::Ready(Box::new(waiting.saved), waiting.ret, results);
            }
        }
        Ok(())
    }

    /// A closure made outside of the current instance may only be called like a
    /// function, with a continuation to come back to.
    pub(crate) fn check_jump(&self, closure: &Closure) -> Checked<()> {
        if self.task == 0 {
            return Ok(());
        }
        let is_out = match closure.code {
            Code::Func(_) | Code::Guard => false,
            Code::Halt => true,
            Code::Back { .. } => closure.task != self.task,
            Code::Done { task } => task != self.task,
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
    fn a_shuffled_order_has_every_number_once() {
        for seed in 0..20 {
            for n in 1..40 {
                let mut order: Vec<u64> = (0..n).map(|at| shuffled(at, n, seed)).collect();
                order.sort_unstable();
                assert_eq!(order, (0..n).collect::<Vec<u64>>());
            }
        }
    }
}
