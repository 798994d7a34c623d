//! The pool: the threads that execute parallel loops.
//!
//! Workers are started when a loop first needs them, and never end. A worker searches the list of all
//! [`SharedLoop`]s and joins those that are open. If none is open it spins for a while, and then sleeps until a
//! loop is opened.
//!
//! # What always holds
//!
//! * A worker counts itself as a sleeper before its last check for open loops; a thread that opens a loop checks for
//!   sleepers afterwards. So one of them sees the other, and no open loop is missed.
//! * An idle pool takes no processor time: workers that have found nothing for the time of [`Spin`] sleep.
//! * The list only grows, and descriptors are never freed: there are as many as the maximum of concurrent loops.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::cache_line::CacheLine;
use super::event::Event;
use super::job::Job;
use super::processor;
use super::shared_loop::SharedLoop;
use super::short_loops::History;
use super::spin::Spin;
use super::start::{available_processors, max_threads, start_thread};

/// The pool. See the module.
pub(super) struct Pool {
    /// The number of workers.
    n_workers: CacheLine<AtomicU32>,
    /// The number of workers that sleep, or are about to.
    n_sleepers: CacheLine<AtomicU32>,
    /// Changes when a loop is opened while a worker sleeps.
    opened: CacheLine<Event>,
    /// The processor of the thread that woke workers last.
    waker: CacheLine<AtomicU32>,
    /// The list of all descriptors.
    first: OnceLock<&'static SharedLoop>,
    /// The maximum number of workers: lower than allowed once a start has failed. Locked while workers are started.
    max_workers: Mutex<u32>,
    /// Descriptors without an owner.
    free: Mutex<Vec<&'static SharedLoop>>,
    n_processors: u32,
}

thread_local! {
    /// Whether this thread executes a loop: loops that it starts are nested.
    static IS_AT_WORK: Cell<bool> = const { Cell::new(false) };
    /// Descriptors that this thread keeps for its next loops.
    static OWN: RefCell<Descriptors> = const { RefCell::new(Descriptors(vec![])) };
}

/// The descriptors of a thread. Other threads get them when it ends.
struct Descriptors(Vec<&'static SharedLoop>);

impl Drop for Descriptors {
    fn drop(&mut self) {
        lock(&Pool::get().free).append(&mut self.0);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    pub(super) fn get() -> &'static Pool {
        static POOL: OnceLock<Pool> = OnceLock::new();
        POOL.get_or_init(|| Pool {
            n_workers: CacheLine(AtomicU32::new(0)),
            n_sleepers: CacheLine(AtomicU32::new(0)),
            opened: CacheLine(Event::new()),
            waker: CacheLine(AtomicU32::new(0)),
            first: OnceLock::new(),
            max_workers: Mutex::new(max_threads() - 1),
            free: Mutex::new(vec![]),
            n_processors: available_processors(),
        })
    }

    /// Runs a loop on up to `n_threads` threads, including the current one.
    pub(super) fn run(&'static self, job: Job, n_threads: u32) {
        let history = History::of(&job);
        let Some(job) = history.execute_short(job) else { return };
        let n_seats = u64::from(n_threads).min(job.len) as u32;
        let n_workers = self.ensure_workers(n_seats - 1);
        if n_workers == 0 {
            job.run(0, job.len);
            return;
        }
        let n_seats = n_seats.min(n_workers + 1);
        let is_nested = IS_AT_WORK.replace(true);
        let shared = self.descriptor(n_seats);
        let seat = shared.open(job, n_seats, !is_nested);
        if self.n_sleepers.load(Ordering::SeqCst) > 0 {
            self.wake_for(shared, n_seats - 1);
        }
        shared.finish(seat, self.spin());
        if OWN.try_with(|own| own.borrow_mut().0.push(shared)).is_err() {
            lock(&self.free).push(shared);
        }
        IS_AT_WORK.set(is_nested);
    }

    /// Starts workers until there are `wanted`, or the maximum. Returns their number.
    fn ensure_workers(&'static self, wanted: u32) -> u32 {
        let n_workers = self.n_workers.load(Ordering::Acquire);
        if n_workers >= wanted {
            return n_workers;
        }
        let mut max_workers = lock(&self.max_workers);
        let mut n_workers = self.n_workers.load(Ordering::Acquire);
        while n_workers < wanted.min(*max_workers) {
            match start_thread(|| self.serve()) {
                true => n_workers += 1,
                false => *max_workers = n_workers,
            }
        }
        self.n_workers.store(n_workers, Ordering::Release);
        n_workers
    }

    fn is_oversubscribed(&self) -> bool {
        self.n_workers.load(Ordering::Relaxed) >= self.n_processors
    }

    fn spin(&self) -> Spin {
        if self.is_oversubscribed() { Spin::Never } else { Spin::Bounded }
    }

    /// An unused descriptor with at least `n_seats` seats.
    fn descriptor(&self, n_seats: u32) -> &'static SharedLoop {
        let fits = |shared: &SharedLoop| shared.max_seats() >= n_seats;
        // A thread that is ending has no descriptors.
        let own = OWN.try_with(|own| own.borrow_mut().0.pop_if(|shared| fits(shared)));
        own.ok().flatten().unwrap_or_else(|| {
            let mut free = lock(&self.free);
            match free.iter().position(|shared| fits(shared)) {
                Some(at) => free.swap_remove(at),
                None => self.add_descriptor(n_seats.next_power_of_two()),
            }
        })
    }

    fn add_descriptor(&self, max_seats: u32) -> &'static SharedLoop {
        let shared: &'static SharedLoop = Box::leak(Box::new(SharedLoop::new(max_seats)));
        let mut end = &self.first;
        while let Err(taken) = end.set(shared) {
            debug_assert!(std::ptr::eq(taken, shared));
            end = &end.get().expect("it is set").next;
        }
        shared
    }

    fn loops(&self) -> impl Iterator<Item = &'static SharedLoop> {
        std::iter::successors(self.first.get().copied(), |shared| shared.next.get().copied())
    }

    fn has_open_loop(&self) -> bool {
        self.loops().any(SharedLoop::is_open)
    }

    /// Wakes up to `n_helpers` sleepers for a loop.
    fn wake_for(&self, shared: &SharedLoop, n_helpers: u32) {
        let others = self.loops().filter(|other| !std::ptr::eq(*other, shared));
        let at_work: u32 = others.map(SharedLoop::n_helpers).sum();
        let asleep = self.n_sleepers.load(Ordering::Relaxed);
        let looking = self.n_workers.load(Ordering::Relaxed).saturating_sub(at_work).saturating_sub(asleep);
        let missing = n_helpers.saturating_sub(looking);
        // More threads than processors: each thread wakes the next if there is still work.
        self.wake(if self.is_oversubscribed() { missing.min(1) } else { missing });
    }

    fn wake(&self, n_threads: u32) {
        if n_threads > 0 {
            if let Some(processor) = processor::current() {
                self.waker.store(processor, Ordering::Relaxed);
            }
            self.opened.fetch_add(1, Ordering::SeqCst);
            self.opened.wake(n_threads);
        }
    }

    /// The main loop of a worker.
    fn serve(&self) {
        IS_AT_WORK.set(true);
        let mut is_misplaced = false;
        loop {
            if !self.spin().until(|| self.help()) {
                self.sleep(&mut is_misplaced);
            }
        }
    }

    /// Joins all open loops. Returns whether there was any.
    fn help(&self) -> bool {
        let mut has_helped = false;
        for shared in self.loops() {
            while let Some(seat) = shared.join() {
                if self.is_oversubscribed() && shared.is_open() && self.n_sleepers.load(Ordering::Relaxed) > 0
                {
                    self.wake(1);
                }
                shared.help(seat);
                has_helped = true;
            }
        }
        has_helped
    }

    /// Sleeps until a loop is opened. `is_misplaced` tells whether this worker was ever woken on the processor of
    /// the thread that woke it.
    fn sleep(&self, is_misplaced: &mut bool) {
        let seen = self.opened.load(Ordering::SeqCst);
        self.n_sleepers.fetch_add(1, Ordering::SeqCst);
        if !self.has_open_loop() {
            let sleep = || self.opened.sleep(seen);
            match *is_misplaced {
                true => processor::elsewhere(self.waker.load(Ordering::Relaxed), sleep),
                false => sleep(),
            }
            let waker = self.waker.load(Ordering::Relaxed);
            if !self.is_oversubscribed() && processor::current() == Some(waker) {
                *is_misplaced = true;
                processor::elsewhere(waker, || ());
            }
        }
        self.n_sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}
