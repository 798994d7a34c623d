//! Data races between instances that run in parallel.
//!
//! The instances of a parallel body run one after the other, so no access ever
//! really meets another one. Instead, every access made while a region runs is
//! remembered with the instance that made it, and compared with those of others
//! that had no order with it. Regions are ordered with what comes before and
//! after them, barriers order the instances that meet there, and `sync` orders a
//! thread with the one that joins it. Atomic accesses do not race with each
//! other, and lanes of one `vectorize` may write to the same place (one of the
//! values stays).

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::errors::{AccessKind, Checked, ErrorKind};

/// Bytes that are watched together; each has a bit in [`Access::mask`].
const GRANULE: usize = 8;
/// How many accesses to one granule are remembered. Of more readers than that
/// the oldest are forgotten: a race with them is then reported for a later one.
const REMEMBERED: usize = 8;

/// Who runs, and since when instances have been in order.
#[derive(Default)]
pub(crate) struct Races {
    tasks: Vec<Task>,
    current: u32,
    /// Regions and threads that are not over.
    open: u32,
    /// Changes when nothing is open any more: what was remembered is then void.
    generation: u32,
    /// Where in the program the machine is.
    pub(crate) site: Site,
    /// The other side of the race that was found.
    pub(crate) culprit: Option<Site>,
}

/// A place in compiled code.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Site {
    pub(crate) scope: u32,
    pub(crate) block: u32,
    pub(crate) at: u32,
}

/// What orders an instance.
#[derive(Clone, Copy)]
struct Task {
    parent: u32,
    region: u32,
    /// Instances of the same group meet at barriers.
    group: u32,
    /// How many barriers it has passed.
    epoch: u32,
    is_lane: bool,
    /// A thread that nobody has joined yet.
    is_thread: bool,
}

/// The accesses to one allocation.
#[derive(Default)]
pub(crate) struct Shadow {
    generation: u32,
    granules: FxHashMap<usize, SmallVec<[Access; 2]>>,
}

#[derive(Clone, Copy)]
struct Access {
    task: u32,
    epoch: u32,
    site: Site,
    kind: AccessKind,
    mask: u8,
}

impl Races {
    #[inline]
    pub(crate) fn is_watching(&self) -> bool {
        self.open > 0
    }

    /// The machine executes this block.
    pub(crate) fn enter(&mut self, scope: u32, block: u32) {
        (self.site.scope, self.site.block) = (scope, block);
    }

    /// A region or thread begins.
    pub(crate) fn begin(&mut self) {
        if self.tasks.is_empty() {
            let program = Task { parent: 0, region: 0, group: 0, epoch: 0, is_lane: false, is_thread: false };
            self.tasks.push(program);
        }
        self.open += 1;
    }

    /// A region ends, or a thread is joined.
    pub(crate) fn end(&mut self) {
        self.open -= 1;
        if self.open == 0 {
            self.generation += 1;
        }
    }

    /// A new instance of the current one; gives its number.
    pub(crate) fn add_task(&mut self, parent: u32, region: u32, group: u32, is_lane: bool) -> u32 {
        self.tasks.push(Task { parent, region, group, epoch: 0, is_lane, is_thread: false });
        self.tasks.len() as u32 - 1
    }

    pub(crate) fn make_thread(&mut self, task: u32) {
        self.tasks[task as usize].is_thread = true;
    }

    pub(crate) fn join(&mut self, task: u32) {
        self.tasks[task as usize].is_thread = false;
        self.end();
    }

    /// From now on `task` runs.
    pub(crate) fn switch_to(&mut self, task: u32) {
        self.current = task;
    }

    /// `task` passed a barrier.
    pub(crate) fn pass_barrier(&mut self, task: u32) {
        self.tasks[task as usize].epoch += 1;
    }

    /// Notes an access, unless it races with an earlier one.
    pub(crate) fn access(
        &mut self,
        shadow: &mut Shadow,
        kind: AccessKind,
        offset: usize,
        size: usize,
    ) -> Checked<()> {
        if shadow.generation != self.generation {
            shadow.generation = self.generation;
            shadow.granules.clear();
        }
        let epoch = self.tasks[self.current as usize].epoch;
        for granule in offset / GRANULE..(offset + size).div_ceil(GRANULE) {
            let start = offset.saturating_sub(granule * GRANULE).min(GRANULE);
            let end = (offset + size - granule * GRANULE).min(GRANULE);
            let mask = ((1u16 << end) - (1u16 << start)) as u8;
            let access = Access { task: self.current, epoch, site: self.site, kind, mask };
            self.note(shadow.granules.entry(granule).or_default(), access)?;
        }
        Ok(())
    }

    fn note(&mut self, earlier: &mut SmallVec<[Access; 2]>, access: Access) -> Checked<()> {
        let races = |other: &&Access| self.races(other, &access);
        if let Some(other) = earlier.iter().find(races) {
            self.culprit = Some(other.site);
            return Err(Box::new(ErrorKind::Race {
                access: access.kind,
                other: other.kind,
                other_span: nyala_span::Span::NONE,
                instances: (access.task, other.task),
            }));
        }
        for other in earlier.iter_mut() {
            let is_replaced = access.kind != AccessKind::Read || other.kind == AccessKind::Read;
            if is_replaced && (access.kind != AccessKind::Read || other.task == access.task) {
                other.mask &= !access.mask;
            }
        }
        earlier.retain(|other| other.mask != 0);
        if earlier.len() >= REMEMBERED {
            let oldest_read = earlier.iter().position(|other| other.kind == AccessKind::Read);
            earlier.remove(oldest_read.unwrap_or(0));
        }
        earlier.push(access);
        Ok(())
    }

    fn races(&self, earlier: &Access, access: &Access) -> bool {
        if earlier.task == access.task || earlier.mask & access.mask == 0 {
            return false;
        }
        let is_write = |kind: AccessKind| kind != AccessKind::Read;
        match (earlier.kind, access.kind) {
            (AccessKind::Atomic, AccessKind::Atomic) => false,
            (a, b) if !is_write(a) && !is_write(b) => false,
            (a, b) => self.unordered(earlier, is_write(a) && is_write(b)),
        }
    }

    /// Whether an earlier access has no order with what the current instance does.
    fn unordered(&self, earlier: &Access, both_write: bool) -> bool {
        let mine = self.ancestors(self.current);
        let theirs = self.ancestors(earlier.task);
        // From the program down to where the two went different ways.
        let common = mine.iter().rev().zip(theirs.iter().rev()).take_while(|(a, b)| a == b).count();
        let below = &theirs[..theirs.len() - common];
        if below.iter().any(|&task| self.tasks[task as usize].is_thread) {
            return true;
        }
        let (Some(&their), Some(&my)) = (below.last(), mine[..mine.len() - common].last()) else {
            // One started the other and waits for its end.
            return false;
        };
        let (their_task, my_task) = (self.tasks[their as usize], self.tasks[my as usize]);
        if their_task.region != my_task.region {
            return false;
        }
        if their_task.group != my_task.group {
            return true;
        }
        if my_task.is_lane && both_write {
            return false;
        }
        // Below a barrier's level the epoch of an access is not known.
        their == earlier.task && earlier.epoch == my_task.epoch
    }

    /// `task` and all it is an instance in, the program last.
    fn ancestors(&self, mut task: u32) -> SmallVec<[u32; 4]> {
        let mut all = SmallVec::from_slice(&[task]);
        while task != 0 {
            task = self.tasks[task as usize].parent;
            all.push(task);
        }
        all
    }
}
