//! Parallel regions: many instances of one body.
//!
//! Instances run one after the other, in an order that the seed chooses. Those
//! that have to meet (the lanes of a `vectorize` at a lane function, the threads
//! of a kernel's block at a barrier) form a group: an instance that arrives is
//! put aside with its registers, the others run, and when all have arrived or
//! ended, those who wait at the same place go on together.
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
use crate::machine::{Dirty, Machine, Results, Ret};
use crate::value::{Activation, Closure, Code, Value};

/// A parallel construct being executed.
pub(crate) struct Region {
    pub(crate) kind: RegionKind,
    id: u32,
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
    parent: Saved,
    ret: Ret,
    results: Results,
}

/// What the instances are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RegionKind {
    /// One for each number of a range, which it is given.
    Range { lower: i64, upper: i64 },
    /// Groups of `width` lanes over a range.
    Lanes { width: u32, lower: i64, upper: i64 },
    /// One for each pair of numbers.
    Pairs { first: u32, second: u32 },
    /// The threads of a kernel.
    Kernel { grid: [u32; 3], block: [u32; 3] },
    /// A single one.
    Once,
}

/// One execution of the body.
pub(crate) struct Instance {
    pub(crate) task: u32,
    /// Its number in the group.
    pub(crate) number: u32,
    args: SmallVec<[Value; 2]>,
    state: State,
}

enum State {
    Fresh,
    Waiting(Box<Waiting>),
    Ready(Box<Saved>, Ret, Results),
    Running,
    Done,
}

/// An instance that waits for the others of its group.
pub(crate) struct Waiting {
    saved: Saved,
    ret: Ret,
    pub(crate) meeting: Meeting,
    pub(crate) args: SmallVec<[Value; 4]>,
    /// Where it is: blocks by their order, from the body inwards.
    place: Vec<(u32, u32)>,
}

/// Why instances meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meeting {
    Barrier,
    Any,
    All,
    Ballot,
    Extract,
    Insert,
    Load,
    Store,
    Shuffle,
    Compact,
}

/// The state of the machine, put aside.
pub(crate) struct Saved {
    regs: Vec<Value>,
    scope: Rc<Scope>,
    block: u32,
    dirty: Dirty,
    activation: Option<Rc<Activation>>,
    task: u32,
}

impl RegionKind {
    fn n_groups(self) -> u64 {
        let len = |lower: i64, upper: i64| upper.saturating_sub(lower).max(0) as u64;
        match self {
            RegionKind::Range { lower, upper } => len(lower, upper),
            RegionKind::Lanes { width, lower, upper } => len(lower, upper).div_ceil(u64::from(width)),
            RegionKind::Pairs { first, second } => u64::from(first) * u64::from(second),
            RegionKind::Kernel { grid, block } => {
                (0..3).map(|d| u64::from(grid[d]) / u64::from(block[d])).product()
            }
            RegionKind::Once => 1,
        }
    }

    /// The arguments of each instance of a group.
    fn group(self, group: u64) -> Vec<SmallVec<[Value; 2]>> {
        let number = |value: i64| Value::Bits(u64::from(value as u32));
        let one = |value: i64| SmallVec::from_iter([number(value)]);
        match self {
            RegionKind::Range { lower, .. } => vec![one(lower + group as i64)],
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
            RegionKind::Once => vec![SmallVec::new()],
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

impl Machine<'_, '_> {
    /// Runs all instances of `body`, then goes on with `results`.
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
            let is_runnable =
                |at: &usize| matches!(region.instances[*at].state, State::Fresh | State::Ready(..));
            if let Some(at) = (0..n).map(|at| shuffled(at, n, seed) as usize).find(is_runnable) {
                return self.resume(at);
            }
            if region.instances.iter().any(|instance| matches!(instance.state, State::Waiting(_))) {
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
        let group = shuffled(region.next_group, region.kind.n_groups(), seed);
        region.next_group += 1;
        for addr in region.shared.drain().map(|(_, addr)| addr) {
            self.memory.free_shared(addr);
        }
        let is_lane = matches!(region.kind, RegionKind::Lanes { .. });
        let (parent, id) = (region.parent.task, region.id);
        let instances = region.kind.group(group).into_iter().zip(0..).map(|(args, number)| {
            let task = self.memory.races.add_task(parent, id, group as u32, is_lane);
            Instance { task, number, args, state: State::Fresh }
        });
        region.instances = instances.collect();
        region.group = group;
        Ok(())
    }

    fn resume(&mut self, at: usize) -> Checked<()> {
        let Some(region) = self.regions.last_mut() else { return malformed("no region runs") };
        region.current = at;
        let instance = &mut region.instances[at];
        self.task = instance.task;
        self.memory.races.switch_to(self.task);
        match std::mem::replace(&mut instance.state, State::Running) {
            State::Ready(saved, ret, results) => {
                self.restore(*saved);
                self.deliver(ret, results)
            }
            _ => {
                self.args.clear();
                self.args.append(&mut instance.args.to_vec());
                self.args.push(Closure::value(Code::Done { task: instance.task }));
                let body = region.body.clone();
                self.call_value(body)
            }
        }
    }

    fn end_region(&mut self) -> Checked<()> {
        let Some(region) = self.regions.pop() else { return malformed("no region runs") };
        for &addr in region.shared.values() {
            self.memory.free_shared(addr);
        }
        self.memory.races.end();
        self.restore(region.parent);
        self.memory.races.switch_to(self.task);
        self.deliver(region.ret, region.results)
    }

    // ---- Putting aside ----------------------------------------------------------

    fn save(&mut self) -> Saved {
        let end = self.scope.end as usize;
        let regs = self.regs[FRAME as usize..end].iter_mut().map(std::mem::take).collect();
        Saved {
            regs,
            scope: self.scope.clone(),
            block: self.block,
            dirty: std::mem::take(&mut self.dirty),
            activation: self.activation.take(),
            task: self.task,
        }
    }

    fn restore(&mut self, saved: Saved) {
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
        self.task = saved.task;
    }

    // ---- Meeting ----------------------------------------------------------------

    /// Whether the current instance has others to meet for this.
    pub(crate) fn can_meet(&self, meeting: Meeting) -> bool {
        let kind = self.regions.last().map(|region| region.kind);
        match meeting {
            Meeting::Barrier => matches!(kind, Some(RegionKind::Kernel { .. })),
            _ => matches!(kind, Some(RegionKind::Lanes { .. })),
        }
    }

    /// The current instance waits for the others of its group.
    pub(crate) fn wait(&mut self, meeting: Meeting, args: &[Value], ret: Ret) -> Checked<()> {
        let place = self.place();
        let saved = self.save();
        let Some(region) = self.regions.last_mut() else { return malformed("no region runs") };
        let waiting = Waiting { saved, ret, meeting, args: args.into(), place };
        let current = region.current;
        region.instances[current].state = State::Waiting(Box::new(waiting));
        self.schedule()
    }

    /// All instances of the group wait or have ended: those who are furthest
    /// behind go on together, so that the others wait where ways join again.
    fn meet(&mut self) -> Checked<()> {
        let Some(region) = self.regions.last_mut() else { return malformed("no region runs") };
        let waiting = |instance: &Instance| match &instance.state {
            State::Waiting(waiting) => Some((waiting.place.clone(), waiting.meeting)),
            _ => None,
        };
        let Some((place, meeting)) = region.instances.iter().filter_map(waiting).min_by(|a, b| a.0.cmp(&b.0))
        else {
            return malformed("nobody waits");
        };
        let mut here = vec![];
        for (at, instance) in region.instances.iter().enumerate() {
            match waiting(instance) {
                Some((other, _)) if other == place => here.push(at),
                Some((other, Meeting::Barrier)) => return Err(self.diverged(&place, &other)),
                _ => {}
            }
        }
        let args: Vec<(u32, SmallVec<[Value; 4]>)> = here
            .iter()
            .map(|&at| {
                let instance = &region.instances[at];
                let args = match &instance.state {
                    State::Waiting(waiting) => waiting.args.clone(),
                    _ => SmallVec::new(),
                };
                (instance.number, args)
            })
            .collect();
        let width = match region.kind {
            RegionKind::Lanes { width, .. } => width,
            _ => region.instances.len() as u32,
        };
        let results = self.meeting_results(meeting, width, &args)?;
        let Some(region) = self.regions.last_mut() else { return malformed("no region runs") };
        for (at, results) in here.into_iter().zip(results) {
            let instance = &mut region.instances[at];
            self.memory.races.pass_barrier(instance.task);
            if let State::Waiting(waiting) = std::mem::replace(&mut instance.state, State::Done) {
                instance.state = State::Ready(Box::new(waiting.saved), waiting.ret, results);
            }
        }
        Ok(())
    }

    fn diverged(&self, here: &[(u32, u32)], other: &[(u32, u32)]) -> Box<ErrorKind> {
        let span = |place: &[(u32, u32)]| {
            let last =
                place.last().map(|&(scope, block)| self.program.scope(scope).blocks[block as usize].span);
            last.unwrap_or(nyala_span::Span::NONE)
        };
        Box::new(ErrorKind::BarrierDivergence { here: span(here), other: span(other) })
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
