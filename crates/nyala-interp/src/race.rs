//! Data races between instances that run in parallel.
//!
//! The interpreter runs instances one after the other. While a region runs, each access is recorded with its
//! instance and the [`Clock`] of that instance. A new access races with a recorded one that conflicts with it
//! and does not happen before it. What orders accesses:
//!
//! * a region happens after what precedes it, and before what follows it;
//! * barriers and collective operations order their participants;
//! * `sync` orders a thread with the instance that joins it.
//!
//! Atomic accesses do not race with each other, and order nothing. Lanes of one `vectorize` may write to the same
//! address; one of the values stays.
//!
//! # Which accesses are kept
//!
//! Every race is found, though not every access is kept:
//!
//! * An access is dropped if a later one that happens after it races with everything that it would race with
//!   ([`AccessKind::subsumes`]).
//! * An access is not recorded if two of its kind exist in the same region, from different subgroups. A subgroup
//!   is a set of instances that can synchronize without the rest of the group. An instance that would race with
//!   the new access belongs to at most one of the two subgroups, so it races with the other access
//!   ([`Races::covered`]).

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::errors::{AccessKind, Checked, ErrorKind};

/// Bytes that are watched together; each has a bit in [`Access::mask`].
const GRANULE: usize = 8;

/// The instances and their order.
#[derive(Default)]
pub(crate) struct Races {
    /// The instances since the first open region or thread.
    tasks: Vec<Task>,
    /// How many instances there were before these.
    n_retired: u32,
    /// The vector clock of an instance since the last synchronization of its whole group: how many `syncs` of each
    /// other instance happen before it.
    vector_clocks: FxHashMap<u32, Rc<FxHashMap<u32, u32>>>,
    current: u32,
    /// The number of regions and threads that have not ended.
    open: u32,
    /// Incremented when the last region or thread ends: recorded accesses of earlier generations are void.
    generation: u32,
    /// The code being executed.
    pub(crate) site: Site,
    /// The other access of the race that was found.
    pub(crate) other_site: Option<Site>,
}

/// An operation in compiled code.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Site {
    pub(crate) scope: u32,
    pub(crate) block: u32,
    pub(crate) at: u32,
}

/// The region, group and subgroup of an instance.
#[derive(Clone, Copy, Default)]
pub(crate) struct Membership {
    /// The instance that started its region.
    pub(crate) parent: u32,
    pub(crate) region: u32,
    /// Barriers synchronize a group.
    pub(crate) group: u32,
    /// Collective operations synchronize instances of a subgroup.
    pub(crate) subgroup: u32,
    pub(crate) is_lane: bool,
}

/// The state of an instance.
#[derive(Clone, Copy, Default)]
struct Task {
    member: Membership,
    /// When its parent started it.
    start: Clock,
    now: Clock,
    /// A thread that was not joined yet.
    is_thread: bool,
}

/// The logical time of an instance.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Clock {
    /// The number of synchronizations of its whole group.
    epoch: u32,
    /// The number of other synchronizations.
    syncs: u32,
}

/// The accesses to one allocation.
#[derive(Default)]
pub(crate) struct Shadow {
    generation: u32,
    granules: FxHashMap<usize, Accesses>,
}

type Accesses = SmallVec<[Access; 2]>;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Access {
    task: u32,
    clock: Clock,
    site: Site,
    kind: AccessKind,
    mask: u8,
}

impl AccessKind {
    /// Whether unordered accesses of these kinds to the same byte are a race.
    fn conflicts_with(self, other: AccessKind) -> bool {
        self == AccessKind::Write || self != other
    }

    /// Whether this kind conflicts with every kind that `other` conflicts with.
    fn subsumes(self, other: AccessKind) -> bool {
        self == other || self == AccessKind::Write
    }

    fn is_write(self) -> bool {
        self != AccessKind::Read
    }
}

impl Races {
    #[inline]
    pub(crate) fn is_watching(&self) -> bool {
        self.open > 0
    }

    /// The machine starts to execute this block.
    pub(crate) fn enter(&mut self, scope: u32, block: u32) {
        (self.site.scope, self.site.block) = (scope, block);
    }

    /// A region or thread begins.
    pub(crate) fn begin(&mut self) {
        self.open += 1;
    }

    /// A region ends, or a thread is joined.
    pub(crate) fn end(&mut self) {
        self.open -= 1;
        if self.open == 0 {
            self.generation += 1;
            self.n_retired += self.tasks.len() as u32;
            self.tasks.clear();
            self.vector_clocks.clear();
        }
    }

    /// Adds an instance. Returns its number, which is unique.
    pub(crate) fn add_task(&mut self, member: Membership) -> u32 {
        let start = self.task(member.parent).now;
        self.tasks.push(Task { member, start, ..Task::default() });
        self.n_retired + self.tasks.len() as u32
    }

    pub(crate) fn make_thread(&mut self, task: u32) {
        self.task_mut(task).is_thread = true;
    }

    pub(crate) fn join(&mut self, task: u32) {
        self.task_mut(task).is_thread = false;
        self.end();
    }

    /// Makes `task` the running instance.
    pub(crate) fn switch_to(&mut self, task: u32) {
        self.current = task;
    }

    /// A barrier: all running instances of a group synchronize.
    pub(crate) fn synchronize_group(&mut self, tasks: impl Iterator<Item = u32>) {
        for task in tasks {
            self.task_mut(task).now.epoch += 1;
            self.vector_clocks.remove(&task);
        }
    }

    /// Some instances of a group synchronize.
    pub(crate) fn synchronize(&mut self, tasks: impl Iterator<Item = u32> + Clone) {
        let mut all = self.merged_clocks(tasks.clone());
        for task in tasks.clone() {
            let now = &mut self.task_mut(task).now;
            now.syncs += 1;
            all.insert(task, now.syncs);
        }
        let all = Rc::new(all);
        for task in tasks {
            self.vector_clocks.insert(task, all.clone());
        }
    }

    /// Orders `task`, which has not started, after others of its group, which have ended.
    pub(crate) fn order_after(&mut self, task: u32, others: impl Iterator<Item = u32> + Clone) {
        let mut all = self.merged_clocks(others.clone());
        all.extend(others.map(|other| (other, self.task(other).now.syncs + 1)));
        self.vector_clocks.insert(task, Rc::new(all));
    }

    /// The maximum of the vector clocks of some instances.
    fn merged_clocks(&self, tasks: impl Iterator<Item = u32>) -> FxHashMap<u32, u32> {
        let mut all: FxHashMap<u32, u32> = FxHashMap::default();
        let clocks = tasks.filter_map(|task| self.vector_clocks.get(&task));
        for (&other, &syncs) in clocks.flat_map(|clock| &**clock) {
            let entry = all.entry(other).or_default();
            *entry = syncs.max(*entry);
        }
        all
    }

    /// Records an access. Fails if it races with an earlier one.
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
        let clock = self.task(self.current).now;
        for granule in offset / GRANULE..(offset + size).div_ceil(GRANULE) {
            let start = offset.saturating_sub(granule * GRANULE).min(GRANULE);
            let end = (offset + size - granule * GRANULE).min(GRANULE);
            let mask = ((1u16 << end) - (1u16 << start)) as u8;
            let access = Access { task: self.current, clock, site: self.site, kind, mask };
            self.record(shadow.granules.entry(granule).or_default(), access)?;
        }
        Ok(())
    }

    fn record(&mut self, earlier: &mut Accesses, mut access: Access) -> Checked<()> {
        if let Some(other) = earlier.iter().find(|other| self.races(other, &access)) {
            self.other_site = Some(other.site);
            return Err(Box::new(ErrorKind::Race {
                access: access.kind,
                other: other.kind,
                other_span: nyala_span::Span::NONE,
                instances: (access.task, other.task),
            }));
        }
        for other in earlier.iter_mut() {
            if access.kind.subsumes(other.kind) && self.happens_before_now(other) {
                other.mask &= !access.mask;
            }
        }
        earlier.retain(|other| other.mask != 0);
        access.mask &= !self.covered(earlier, &access);
        match earlier.iter_mut().find(|other| Access { mask: access.mask, ..**other } == access) {
            Some(same) => same.mask |= access.mask,
            None if access.mask != 0 => earlier.push(access),
            None => {}
        }
        Ok(())
    }

    fn races(&self, earlier: &Access, access: &Access) -> bool {
        earlier.mask & access.mask != 0
            && earlier.task != access.task
            && earlier.kind.conflicts_with(access.kind)
            && self.is_unordered(earlier, earlier.kind.is_write() && access.kind.is_write())
    }

    /// Whether an earlier access happens before the current instance's next one.
    fn happens_before_now(&self, earlier: &Access) -> bool {
        earlier.task == self.current || !self.is_unordered(earlier, false)
    }

    /// Whether an earlier access and the current instance are not ordered.
    fn is_unordered(&self, earlier: &Access, both_write: bool) -> bool {
        let mine = self.ancestors(self.current);
        let theirs = self.ancestors(earlier.task);
        // The common ancestors, from the program down.
        let common = mine.iter().rev().zip(theirs.iter().rev()).take_while(|(a, b)| a == b).count();
        let below = &theirs[..theirs.len() - common];
        if below.iter().any(|&task| self.task(task).is_thread) {
            return true;
        }
        let (Some(&their), Some(&my)) = (below.last(), mine[..mine.len() - common].last()) else {
            // One is an ancestor of the other, and waits for it.
            return false;
        };
        let (their_member, my_member) = (self.task(their).member, self.task(my).member);
        if their_member.region != my_member.region {
            return false;
        }
        if their_member.group != my_member.group {
            return true;
        }
        if my_member.is_lane && both_write {
            return false;
        }
        let clock = match below.iter().rev().nth(1) {
            Some(&child) => self.task(child).start,
            None => earlier.clock,
        };
        clock.epoch == self.task(my).now.epoch && !self.happens_before(my, their, clock)
    }

    /// Whether a chain of synchronizations leads from `their` at `clock` to `my`.
    fn happens_before(&self, my: u32, their: u32, clock: Clock) -> bool {
        let syncs = self.vector_clocks.get(&my).and_then(|clock| clock.get(&their));
        syncs.is_some_and(|&syncs| syncs > clock.syncs)
    }

    /// The bytes of `access` that two earlier accesses cover: of the same kind, in a common region, and from
    /// different subgroups.
    fn covered(&self, earlier: &Accesses, access: &Access) -> u8 {
        let mut covered = 0;
        for &level in &self.ancestors(access.task) {
            let region = self.task(level).member.region;
            let mut subgroups = [None; GRANULE];
            for other in earlier.iter().filter(|other| other.kind == access.kind) {
                let around = self.ancestors(other.task);
                let members = around.iter().map(|&task| self.task(task).member);
                let Some(member) = members.into_iter().find(|member| member.region == region) else {
                    continue;
                };
                let subgroup = (member.group, member.subgroup);
                for (byte, first) in subgroups.iter_mut().enumerate() {
                    if other.mask & access.mask & 1 << byte != 0 && *first.get_or_insert(subgroup) != subgroup
                    {
                        covered |= 1 << byte;
                    }
                }
            }
        }
        covered
    }

    /// `task`, its parent, and so on; the program is the last.
    fn ancestors(&self, mut task: u32) -> SmallVec<[u32; 4]> {
        let mut all = SmallVec::from_slice(&[task]);
        while task != 0 {
            task = self.task(task).member.parent;
            all.push(task);
        }
        all
    }

    /// The state of an instance; 0 is the program.
    fn task(&self, task: u32) -> Task {
        match task {
            0 => Task::default(),
            task => self.tasks[(task - self.n_retired - 1) as usize],
        }
    }

    fn task_mut(&mut self, task: u32) -> &mut Task {
        &mut self.tasks[(task - self.n_retired - 1) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instances of one region, each with its `(group, subgroup)`.
    fn region(races: &mut Races, members: &[(u32, u32)]) -> Vec<u32> {
        races.begin();
        let member = |&(group, subgroup)| Membership { region: 1, group, subgroup, ..Membership::default() };
        members.iter().map(|at| races.add_task(member(at))).collect()
    }

    fn access(races: &mut Races, shadow: &mut Shadow, task: u32, kind: AccessKind, at: usize) -> bool {
        races.switch_to(task);
        races.access(shadow, kind, at, 1).is_err()
    }

    #[test]
    fn write_races_with_the_first_of_many_reads() {
        let (mut races, mut shadow) = (Races::default(), Shadow::default());
        let tasks = region(&mut races, &(0..100).map(|group| (group, 0)).collect::<Vec<_>>());
        for &task in &tasks {
            assert!(!access(&mut races, &mut shadow, task, AccessKind::Read, 3));
        }
        assert!(shadow.granules[&0].len() <= 2, "memory does not grow with the number of readers");
        assert!(!access(&mut races, &mut shadow, tasks[99], AccessKind::Write, 4), "another byte");
        assert!(access(&mut races, &mut shadow, tasks[99], AccessKind::Write, 3));
    }

    #[test]
    fn collective_operation_orders_its_participants_only() {
        let (mut races, mut shadow) = (Races::default(), Shadow::default());
        let tasks = region(&mut races, &[(0, 0), (0, 0), (0, 0)]);
        for &task in &tasks {
            assert!(!access(&mut races, &mut shadow, task, AccessKind::Read, 0));
        }
        races.synchronize(tasks[..2].iter().copied());
        races.synchronize(tasks[..2].iter().copied());
        assert!(access(&mut races, &mut shadow, tasks[0], AccessKind::Write, 0), "the third has read");
        races.synchronize_group(tasks.iter().copied());
        assert!(!access(&mut races, &mut shadow, tasks[0], AccessKind::Write, 0));
    }

    #[test]
    fn happens_before_is_transitive() {
        let (mut races, mut shadow) = (Races::default(), Shadow::default());
        let tasks = region(&mut races, &[(0, 0), (0, 0), (0, 0)]);
        assert!(!access(&mut races, &mut shadow, tasks[0], AccessKind::Write, 0));
        races.synchronize(tasks[..2].iter().copied());
        races.synchronize(tasks[1..].iter().copied());
        assert!(!access(&mut races, &mut shadow, tasks[2], AccessKind::Write, 0));
    }

    #[test]
    fn barrier_orders_accesses_of_nested_regions() {
        let (mut races, mut shadow) = (Races::default(), Shadow::default());
        let tasks = region(&mut races, &[(0, 0), (0, 0)]);
        races.begin();
        let inner = races.add_task(Membership { parent: tasks[0], region: 2, ..Membership::default() });
        assert!(!access(&mut races, &mut shadow, inner, AccessKind::Write, 0));
        races.end();
        assert!(access(&mut races, &mut shadow, tasks[1], AccessKind::Read, 0));
        races.synchronize_group(tasks.iter().copied());
        assert!(!access(&mut races, &mut shadow, tasks[1], AccessKind::Read, 0));
    }

    #[test]
    fn atomic_access_does_not_subsume_a_read() {
        let (mut races, mut shadow) = (Races::default(), Shadow::default());
        let tasks = region(&mut races, &[(0, 0), (1, 0)]);
        assert!(!access(&mut races, &mut shadow, tasks[0], AccessKind::Read, 0));
        assert!(!access(&mut races, &mut shadow, tasks[0], AccessKind::Atomic, 0));
        assert!(access(&mut races, &mut shadow, tasks[1], AccessKind::Atomic, 0));
    }
}
