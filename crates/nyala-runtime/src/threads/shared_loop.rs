//! One loop that several threads execute, and the protocol by which they join and leave it.
//!
//! A [`SharedLoop`] is a descriptor that is used for one loop after another and is never freed. Its owner
//! opens it with a number of *seats*. A thread joins by taking the next seat. The number of the seat
//! determines its part of the loop:
//!
//! * A loop with a seat for every iteration: each seat is one iteration. A thread that has finished takes another
//!   seat.
//! * A longer loop: each seat has a [`Range`] of the loop. A thread that has finished its range steals from others.
//!
//! The owner has seat 0. When no iterations are left, it closes the loop and waits until all threads that
//! joined have left.
//!
//! # What always holds
//!
//! * The job is written only while the loop is closed and no thread is in it. A thread reads it only between
//!   joining and leaving. So a thread never reads the job of another loop.
//! * A thread takes a seat by an addition to one word. A thread that is late for one loop finds it closed, or joins
//!   the next one.
//! * No thread waits for threads that have not joined. So nested loops terminate with any number of threads.
//! * All writes of the threads are visible to the owner when [`SharedLoop::finish`] returns.
//!
//! `cargo xtask sanitize` checks the protocol; [`pool`](super::pool) brings threads here.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::cache_line::CacheLine;
use super::event::Event;
use super::job::{Job, JobCell};
use super::range::Range;
use super::short_loops::History;
use super::spin::Spin;

/// The descriptor of a loop. See the module.
pub(super) struct SharedLoop {
    entrance: CacheLine<Entrance>,
    exit: CacheLine<Exit>,
    /// One per seat.
    ranges: Box<[Range]>,
    /// The next descriptor in the list.
    pub(super) next: OnceLock<&'static SharedLoop>,
}

/// The state that a joining thread reads. It is one cache line, so the first read fetches all of it.
struct Entrance {
    /// The number of seats in the upper half, and the number of requests in the lower half.
    seats: AtomicU64,
    /// Whether no iterations are left to steal: joining is useless.
    is_exhausted: AtomicBool,
    job: JobCell,
}

/// The state that leaving threads change.
struct Exit {
    /// The number of seats that threads have left, minus those that the owner waits for: 0 when all have left.
    left: Event,
    /// Whether the owner sleeps until all have left.
    is_owner_asleep: AtomicBool,
}

/// The position of a thread in a loop.
pub(super) struct Seat {
    number: u32,
    n_seats: u32,
}

/// Executes the first chunk of a loop, and notes how long it takes.
fn run_timed(job: &Job, from: u64, to: u64) {
    let history = History::of(job);
    let start = Instant::now();
    job.run(from, to);
    history.note(start.elapsed(), to - from, job);
}

fn unpack(seats: u64) -> (u32, u32) {
    ((seats >> 32) as u32, seats as u32)
}

impl SharedLoop {
    /// A closed loop for up to `max_seats` threads.
    pub(super) fn new(max_seats: u32) -> SharedLoop {
        SharedLoop {
            entrance: CacheLine(Entrance {
                seats: AtomicU64::new(0),
                is_exhausted: AtomicBool::new(false),
                job: JobCell::new(),
            }),
            exit: CacheLine(Exit { left: Event::new(), is_owner_asleep: AtomicBool::new(false) }),
            ranges: (0..max_seats).map(|_| Range::empty()).collect(),
            next: OnceLock::new(),
        }
    }

    pub(super) fn max_seats(&self) -> u32 {
        self.ranges.len() as u32
    }

    /// Opens the loop; returns the owner's seat. Only the owner may call this, while the loop is closed.
    ///
    /// If `is_spread`, each seat gets a part of the loop; otherwise the owner has all iterations at first.
    pub(super) fn open(&self, job: Job, n_seats: u32, is_spread: bool) -> Seat {
        let n_seats = n_seats.min(self.max_seats());
        if u64::from(n_seats) < job.len {
            let (parts, len) = (if is_spread { u64::from(n_seats) } else { 1 }, job.len);
            let start = |at: u64| at.min(parts) * len / parts;
            for (at, range) in (0..).zip(&self.ranges[..n_seats as usize]) {
                range.fill(start(at), start(at + 1));
            }
        }
        let n_seats = u64::from(n_seats).min(job.len);
        self.entrance.is_exhausted.store(false, Ordering::Relaxed);
        self.entrance.job.store(job);
        // Ordered before the check for sleeping threads.
        self.entrance.seats.store(n_seats << 32 | 1, Ordering::SeqCst);
        Seat { number: 0, n_seats: n_seats as u32 }
    }

    /// Whether a thread can join.
    pub(super) fn is_open(&self) -> bool {
        let (n_seats, taken) = unpack(self.entrance.seats.load(Ordering::SeqCst));
        taken < n_seats && !self.entrance.is_exhausted.load(Ordering::Relaxed)
    }

    /// The approximate number of threads besides the owner.
    pub(super) fn n_helpers(&self) -> u32 {
        let (n_seats, taken) = unpack(self.entrance.seats.load(Ordering::Relaxed));
        taken.min(n_seats).saturating_sub(1)
    }

    /// Takes a seat, if there is one.
    pub(super) fn join(&self) -> Option<Seat> {
        if !self.is_open() {
            return None;
        }
        let (n_seats, number) = unpack(self.entrance.seats.fetch_add(1, Ordering::AcqRel));
        (number < n_seats).then_some(Seat { number, n_seats })
    }

    /// Executes iterations until none is left, and leaves.
    pub(super) fn help(&self, seat: Seat) {
        let n_seats = self.work(seat, Job::run);
        if self.exit.left.fetch_add(n_seats, Ordering::SeqCst).wrapping_add(n_seats) == 0
            && self.exit.is_owner_asleep.load(Ordering::SeqCst)
        {
            self.exit.left.wake(1);
        }
    }

    /// Executes iterations until none is left, closes the loop, and waits until all threads have left.
    pub(super) fn finish(&self, seat: Seat, spin: Spin) {
        let n_own = self.work(seat, run_timed);
        let (n_seats, asked) = unpack(self.entrance.seats.swap(0, Ordering::AcqRel));
        let n_others = asked.min(n_seats) - n_own;
        if n_others == 0 {
            return;
        }
        self.exit.left.fetch_sub(n_others, Ordering::AcqRel);
        let have_left = || self.exit.left.load(Ordering::Acquire) == 0;
        if spin.until(have_left) {
            return;
        }
        self.exit.is_owner_asleep.store(true, Ordering::SeqCst);
        loop {
            match self.exit.left.load(Ordering::SeqCst) {
                0 => break,
                left => self.exit.left.sleep(left),
            }
        }
        self.exit.is_owner_asleep.store(false, Ordering::Relaxed);
    }

    /// Executes iterations, starting with this seat. `run_first` executes the first chunk. Returns the number of seats
    /// that were taken.
    fn work(&self, seat: Seat, run_first: impl Fn(&Job, u64, u64)) -> u32 {
        let job = self.entrance.job.load();
        let n_seats = if job.len <= u64::from(seat.n_seats) {
            self.work_by_iteration(&job, seat, run_first)
        } else {
            self.work_by_range(&job, seat, run_first);
            1
        };
        job.publish();
        n_seats
    }

    fn work_by_iteration(&self, job: &Job, seat: Seat, run_first: impl Fn(&Job, u64, u64)) -> u32 {
        run_first(job, u64::from(seat.number), u64::from(seat.number) + 1);
        let mut n_own = 1;
        // A read is cheaper than an addition when all threads finish at the same time.
        while unpack(self.entrance.seats.load(Ordering::Relaxed)).1 < seat.n_seats {
            // The owner may have closed the loop meanwhile: then there are no seats.
            let (n_seats, number) = unpack(self.entrance.seats.fetch_add(1, Ordering::Relaxed));
            if number >= n_seats {
                break;
            }
            job.run(u64::from(number), u64::from(number) + 1);
            n_own += 1;
        }
        n_own
    }

    fn work_by_range(&self, job: &Job, seat: Seat, run_first: impl Fn(&Job, u64, u64)) {
        let ranges = &self.ranges[..seat.n_seats as usize];
        let (before, from_own) = ranges.split_at(seat.number as usize);
        let [own, after @ ..] = from_own else { return };
        if let Some((from, to)) = own.take_front() {
            run_first(job, from, to);
        }
        loop {
            while let Some((from, to)) = own.take_front() {
                job.run(from, to);
            }
            match after.iter().chain(before).find_map(Range::take_back_half) {
                Some((from, to)) => own.fill(from, to),
                None => break,
            }
        }
        if !self.entrance.is_exhausted.load(Ordering::Relaxed) {
            self.entrance.is_exhausted.store(true, Ordering::Relaxed);
        }
    }
}
