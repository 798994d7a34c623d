//! Loops that are too short to share: to open a loop for other threads and to wait for them takes microseconds.
//!
//! Each thread remembers the bodies that it executed recently. The owner of a shared loop estimates from its first chunk how long
//! one thread would need. After several short executions in a row, it executes the next loop of the same body alone. It reads
//! the clock after each chunk, and shares the iterations that are left when the loop turns out to be long.
//!
//! # What always holds
//!
//! * A loop that is executed alone for longer than [`MAX_ALONE`] is shared after the current chunk.
//! * A body that is short and long in turns is shared: one long execution costs [`PATIENCE`] short ones.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::job::Job;

/// A loop that one thread executes in this time is not worth sharing. Estimates include the reading of the clock.
const MAX_ESTIMATE: Duration = Duration::from_micros(5);

/// A loop that is executed alone is shared after this time.
const MAX_ALONE: Duration = Duration::from_micros(2);

/// Short executions in a row before a loop is executed alone.
const CONFIDENCE: i8 = 3;

/// Short executions that are ignored after one that was long.
const PATIENCE: i8 = 32;

/// The number of times that the clock is read in a loop that is executed alone.
const CHUNKS: u64 = 16;

/// How a body behaved: the number of short executions in a row, below zero after a long one.
#[derive(Clone, Copy)]
struct Record {
    body: usize,
    n_short: i8,
}

const SLOTS: usize = 16;

thread_local! {
    static RECORDS: [Cell<Record>; SLOTS] =
        const { [const { Cell::new(Record { body: 0, n_short: 0 }) }; SLOTS] };
}

/// What one thread knows about the body of a loop.
pub(super) struct History {
    record: Record,
}

impl History {
    /// The history of the job's body on this thread. Bodies that share a slot forget each other.
    pub(super) fn of(job: &Job) -> History {
        let body = job.fun as usize;
        let known = RECORDS.try_with(|records| records[slot(body)].get()).ok();
        let record = known.filter(|record| record.body == body);
        History { record: record.unwrap_or(Record { body, n_short: 0 }) }
    }

    /// Executes the job alone while it is short. Returns the iterations that are left.
    pub(super) fn execute_short(self, job: Job) -> Option<Job> {
        if self.record.n_short < CONFIDENCE {
            return Some(job);
        }
        let start = Instant::now();
        self.execute_until(job, || start.elapsed() > MAX_ALONE)
    }

    /// Executes chunks of the job until `is_long`. Returns the iterations that are left.
    fn execute_until(mut self, job: Job, mut is_long: impl FnMut() -> bool) -> Option<Job> {
        let chunk = job.len.div_ceil(CHUNKS);
        let mut from = 0;
        while from < job.len {
            let to = (from + chunk).min(job.len);
            job.run(from, to);
            from = to;
            if from < job.len && is_long() {
                self.record.n_short = -PATIENCE;
                self.remember();
                return Some(job.after(from));
            }
        }
        None
    }

    /// Takes note of how long the first chunk of a shared loop took.
    pub(super) fn note(mut self, took: Duration, n_iterations: u64, job: &Job) {
        let estimate = took.as_nanos() * u128::from(job.len) / u128::from(n_iterations.max(1));
        let is_short = estimate < MAX_ESTIMATE.as_nanos();
        self.record.n_short = match self.record.n_short {
            n_short if is_short => n_short.saturating_add(1).min(CONFIDENCE),
            n_short => n_short.min(0),
        };
        self.remember();
    }

    fn remember(self) {
        // A thread that is ending remembers nothing.
        let _ = RECORDS.try_with(|records| records[slot(self.record.body)].set(self.record));
    }
}

/// Functions are aligned, so their last bits do not tell them apart.
fn slot(body: usize) -> usize {
    (body >> 4) % SLOTS
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::ptr;
    use std::sync::atomic::{AtomicI32, Ordering};

    use super::*;

    static SUM: AtomicI32 = AtomicI32::new(0);

    extern "C" fn count(_: *mut c_void, from: i32, to: i32) {
        SUM.fetch_add(to - from, Ordering::Relaxed);
    }

    extern "C" fn nothing(_: *mut c_void, _: i32, _: i32) {}

    fn job(fun: super::super::job::RangeFn) -> Job {
        Job { fun, args: ptr::null_mut(), lower: 5, len: 100 }
    }

    fn note_short(job: &Job, n_times: i8) {
        for _ in 0..n_times {
            History::of(job).note(Duration::from_nanos(10), job.len, job);
        }
    }

    // No test reads the clock: on a busy machine any loop may take long.

    #[test]
    fn a_loop_is_shared_before_several_short_ones() {
        let job = job(nothing);
        note_short(&job, CONFIDENCE - 1);
        assert!(History::of(&job).execute_short(job).is_some_and(|rest| rest.len == 100));
    }

    #[test]
    fn a_short_loop_is_executed_alone() {
        let job = job(count);
        note_short(&job, CONFIDENCE);
        let history = History::of(&job);
        assert_eq!(history.record.n_short, CONFIDENCE);
        assert!(history.execute_until(job, || false).is_none());
        assert_eq!(SUM.load(Ordering::Relaxed), 100);
    }

    #[test]
    fn a_loop_that_takes_long_is_shared_after_a_chunk() {
        extern "C" fn other(_: *mut c_void, _: i32, _: i32) {}
        let job = job(other);
        note_short(&job, CONFIDENCE);
        let rest = History::of(&job).execute_until(job, || true).expect("it is long");
        assert_eq!((rest.lower, rest.len), (5 + 7, 100 - 7));
        note_short(&job, PATIENCE);
        assert!(History::of(&job).execute_short(job).is_some(), "a long execution is not forgotten at once");
    }

    #[test]
    fn a_long_estimate_ends_the_execution_by_one_thread() {
        let job = job(nothing);
        note_short(&job, CONFIDENCE);
        History::of(&job).note(Duration::from_millis(1), 1, &job);
        assert!(History::of(&job).execute_short(job).is_some());
    }
}
