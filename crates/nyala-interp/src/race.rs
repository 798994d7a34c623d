//! Data races between instances that run in parallel.
//!
//! The instances of a parallel body run one after the other, so no access ever
//! really meets another one. Instead, accesses made while a region runs are
//! remembered with the instance that made them and the [`Moment`] of that, and
//! compared with those of others that had no order with it. Regions are ordered
//! with what comes before and after them, meetings order the instances that meet,
//! and `sync` orders a thread with the one that joins it. Atomic accesses do not
//! race with each other, nor do they order anything; lanes of one `vectorize` may
//! write to the same place (one of the values stays).
//!
//! # What is remembered
//!
//! Every race is found, though not every access is kept. One goes when a later
//! one follows it in order and races with all that it would race with
//! ([`AccessKind::stands_for`]). And one is not kept if two of its kind are there
//! already that were made in the same region by different teams, the instances
//! that can meet without all others: whoever is to race with it belongs to one of
//! the teams at most, and so races with one of the two ([`Races::covered`]).

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::errors::{AccessKind, Checked, ErrorKind};

/// Bytes that are watched together; each has a bit in [`Access::mask`].
const GRANULE: usize = 8;

/// Who runs, and since when instances have been in order.
#[derive(Default)]
pub(crate) struct Races {
    /// The instances that there have been since anything is open.
    tasks: Vec<Task>,
    /// How many there have been before.
    n_forgotten: u32,
    /// What an instance knows from meetings that were not for its whole group: of
    /// each other one, how many of its meetings came before.
    known: FxHashMap<u32, Rc<FxHashMap<u32, u32>>>,
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

/// Where an instance belongs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Membership {
    /// The instance that started its region.
    pub(crate) parent: u32,
    pub(crate) region: u32,
    /// Instances of the same group meet at barriers, those of a team at other places too.
    pub(crate) group: u32,
    pub(crate) team: u32,
    pub(crate) is_lane: bool,
}

/// What orders an instance.
#[derive(Clone, Copy, Default)]
struct Task {
    member: Membership,
    /// When its parent started it.
    start: Moment,
    now: Moment,
    /// A thread that nobody has joined yet.
    is_thread: bool,
}

/// How far an instance has come.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Moment {
    /// How many meetings of its whole group lie behind it.
    epoch: u32,
    /// How many other meetings.
    meetings: u32,
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
    moment: Moment,
    site: Site,
    kind: AccessKind,
    mask: u8,
}

impl AccessKind {
    /// Whether accesses of both kinds to one place need an order.
    fn conflicts_with(self, other: AccessKind) -> bool {
        self == AccessKind::Write || self != other
    }

    /// Whether all that conflicts with `other` conflicts with this.
    fn stands_for(self, other: AccessKind) -> bool {
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

    /// The machine executes this block.
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
            self.n_forgotten += self.tasks.len() as u32;
            self.tasks.clear();
            self.known.clear();
        }
    }

    /// A new instance; gives its number, which no other one has had.
    pub(crate) fn add_task(&mut self, member: Membership) -> u32 {
        let start = self.task(member.parent).now;
        self.tasks.push(Task { member, start, ..Task::default() });
        self.n_forgotten + self.tasks.len() as u32
    }

    pub(crate) fn make_thread(&mut self, task: u32) {
        self.task_mut(task).is_thread = true;
    }

    pub(crate) fn join(&mut self, task: u32) {
        self.task_mut(task).is_thread = false;
        self.end();
    }

    /// From now on `task` runs.
    pub(crate) fn switch_to(&mut self, task: u32) {
        self.current = task;
    }

    /// All instances of a group meet that have not ended.
    pub(crate) fn all_meet(&mut self, tasks: impl Iterator<Item = u32>) {
        for task in tasks {
            self.task_mut(task).now.epoch += 1;
            self.known.remove(&task);
        }
    }

    /// Some instances of a group meet.
    pub(crate) fn some_meet(&mut self, tasks: impl Iterator<Item = u32> + Clone) {
        let mut all = self.joint_knowledge(tasks.clone());
        for task in tasks.clone() {
            let now = &mut self.task_mut(task).now;
            now.meetings += 1;
            all.insert(task, now.meetings);
        }
        let all = Rc::new(all);
        for task in tasks {
            self.known.insert(task, all.clone());
        }
    }

    /// `task`, which has not started yet, comes after others of its group, which have ended.
    pub(crate) fn follow(&mut self, task: u32, others: impl Iterator<Item = u32> + Clone) {
        let mut all = self.joint_knowledge(others.clone());
        all.extend(others.map(|other| (other, self.task(other).now.meetings + 1)));
        self.known.insert(task, Rc::new(all));
    }

    /// All that some instances know of others.
    fn joint_knowledge(&self, tasks: impl Iterator<Item = u32>) -> FxHashMap<u32, u32> {
        let mut all: FxHashMap<u32, u32> = FxHashMap::default();
        for (&other, &meetings) in tasks.filter_map(|task| self.known.get(&task)).flat_map(|known| &**known) {
            let known = all.entry(other).or_default();
            *known = meetings.max(*known);
        }
        all
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
        let moment = self.task(self.current).now;
        for granule in offset / GRANULE..(offset + size).div_ceil(GRANULE) {
            let start = offset.saturating_sub(granule * GRANULE).min(GRANULE);
            let end = (offset + size - granule * GRANULE).min(GRANULE);
            let mask = ((1u16 << end) - (1u16 << start)) as u8;
            let access = Access { task: self.current, moment, site: self.site, kind, mask };
            self.note(shadow.granules.entry(granule).or_default(), access)?;
        }
        Ok(())
    }

    fn note(&mut self, earlier: &mut Accesses, mut access: Access) -> Checked<()> {
        if let Some(other) = earlier.iter().find(|other| self.races(other, &access)) {
            self.culprit = Some(other.site);
            return Err(Box::new(ErrorKind::Race {
                access: access.kind,
                other: other.kind,
                other_span: nyala_span::Span::NONE,
                instances: (access.task, other.task),
            }));
        }
        for other in earlier.iter_mut() {
            if access.kind.stands_for(other.kind) && self.is_over(other) {
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

    /// Whether an earlier access comes before all that the current instance does now.
    fn is_over(&self, earlier: &Access) -> bool {
        earlier.task == self.current || !self.is_unordered(earlier, false)
    }

    /// Whether an earlier access has no order with what the current instance does.
    fn is_unordered(&self, earlier: &Access, both_write: bool) -> bool {
        let mine = self.ancestors(self.current);
        let theirs = self.ancestors(earlier.task);
        // From the program down to where the two went different ways.
        let common = mine.iter().rev().zip(theirs.iter().rev()).take_while(|(a, b)| a == b).count();
        let below = &theirs[..theirs.len() - common];
        if below.iter().any(|&task| self.task(task).is_thread) {
            return true;
        }
        let (Some(&their), Some(&my)) = (below.last(), mine[..mine.len() - common].last()) else {
            // One started the other and waits for its end.
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
        let moment = match below.iter().rev().nth(1) {
            Some(&child) => self.task(child).start,
            None => earlier.moment,
        };
        moment.epoch == self.task(my).now.epoch && !self.has_met_since(my, their, moment)
    }

    /// Whether `my` knows, by a chain of meetings, that `their` is past `moment`.
    fn has_met_since(&self, my: u32, their: u32, moment: Moment) -> bool {
        let known = self.known.get(&my).and_then(|known| known.get(&their));
        known.is_some_and(|&meetings| meetings > moment.meetings)
    }

    /// The bytes of `access` for which two earlier ones stand: of its kind, from
    /// one region that it is in too, by different teams.
    fn covered(&self, earlier: &Accesses, access: &Access) -> u8 {
        let mut covered = 0;
        for &level in &self.ancestors(access.task) {
            let region = self.task(level).member.region;
            let mut teams = [None; GRANULE];
            for other in earlier.iter().filter(|other| other.kind == access.kind) {
                let around = self.ancestors(other.task);
                let members = around.iter().map(|&task| self.task(task).member);
                let Some(member) = members.into_iter().find(|member| member.region == region) else {
                    continue;
                };
                let team = (member.group, member.team);
                for (byte, first) in teams.iter_mut().enumerate() {
                    if other.mask & access.mask & 1 << byte != 0 && *first.get_or_insert(team) != team {
                        covered |= 1 << byte;
                    }
                }
            }
        }
        covered
    }

    /// `task` and all it is an instance in, the program last.
    fn ancestors(&self, mut task: u32) -> SmallVec<[u32; 4]> {
        let mut all = SmallVec::from_slice(&[task]);
        while task != 0 {
            task = self.task(task).member.parent;
            all.push(task);
        }
        all
    }

    /// What is known about an instance; 0 is the program.
    fn task(&self, task: u32) -> Task {
        match task {
            0 => Task::default(),
            task => self.tasks[(task - self.n_forgotten - 1) as usize],
        }
    }

    fn task_mut(&mut self, task: u32) -> &mut Task {
        &mut self.tasks[(task - self.n_forgotten - 1) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instances of one region: `(group, team)` of each.
    fn region(races: &mut Races, members: &[(u32, u32)]) -> Vec<u32> {
        races.begin();
        let member = |&(group, team)| Membership { region: 1, group, team, ..Membership::default() };
        members.iter().map(|at| races.add_task(member(at))).collect()
    }

    fn access(races: &mut Races, shadow: &mut Shadow, task: u32, kind: AccessKind, at: usize) -> bool {
        races.switch_to(task);
        races.access(shadow, kind, at, 1).is_err()
    }

    #[test]
    fn the_first_of_many_readers_is_not_forgotten() {
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
    fn a_meeting_of_some_orders_only_them() {
        let (mut races, mut shadow) = (Races::default(), Shadow::default());
        let tasks = region(&mut races, &[(0, 0), (0, 0), (0, 0)]);
        for &task in &tasks {
            assert!(!access(&mut races, &mut shadow, task, AccessKind::Read, 0));
        }
        races.some_meet(tasks[..2].iter().copied());
        races.some_meet(tasks[..2].iter().copied());
        assert!(access(&mut races, &mut shadow, tasks[0], AccessKind::Write, 0), "the third has read");
        races.all_meet(tasks.iter().copied());
        assert!(!access(&mut races, &mut shadow, tasks[0], AccessKind::Write, 0));
    }

    #[test]
    fn knowledge_is_passed_on() {
        let (mut races, mut shadow) = (Races::default(), Shadow::default());
        let tasks = region(&mut races, &[(0, 0), (0, 0), (0, 0)]);
        assert!(!access(&mut races, &mut shadow, tasks[0], AccessKind::Write, 0));
        races.some_meet(tasks[..2].iter().copied());
        races.some_meet(tasks[1..].iter().copied());
        assert!(!access(&mut races, &mut shadow, tasks[2], AccessKind::Write, 0));
    }

    #[test]
    fn what_a_nested_region_did_before_a_barrier_is_over_after_it() {
        let (mut races, mut shadow) = (Races::default(), Shadow::default());
        let tasks = region(&mut races, &[(0, 0), (0, 0)]);
        races.begin();
        let inner = races.add_task(Membership { parent: tasks[0], region: 2, ..Membership::default() });
        assert!(!access(&mut races, &mut shadow, inner, AccessKind::Write, 0));
        races.end();
        assert!(access(&mut races, &mut shadow, tasks[1], AccessKind::Read, 0));
        races.all_meet(tasks.iter().copied());
        assert!(!access(&mut races, &mut shadow, tasks[1], AccessKind::Read, 0));
    }

    #[test]
    fn an_atomic_access_does_not_hide_a_read() {
        let (mut races, mut shadow) = (Races::default(), Shadow::default());
        let tasks = region(&mut races, &[(0, 0), (1, 0)]);
        assert!(!access(&mut races, &mut shadow, tasks[0], AccessKind::Read, 0));
        assert!(!access(&mut races, &mut shadow, tasks[0], AccessKind::Atomic, 0));
        assert!(access(&mut races, &mut shadow, tasks[1], AccessKind::Atomic, 0));
    }
}
