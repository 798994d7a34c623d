//! Spinning: how long a thread polls before it sleeps.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

/// A thread without work polls for this long. Sleeping and waking take a good part of this time, so the threads of
/// a program with one loop after another never sleep, and those of an idle one soon do.
const SPIN_TIME: Duration = Duration::from_micros(50);

/// The number of polls between two reads of the clock.
const CHECKS: u32 = 16;

/// Whether to poll before sleeping.
#[derive(Clone, Copy)]
pub(super) enum Spin {
    /// There is a processor for each thread.
    Bounded,
    /// There are more threads than processors: a spinning thread would delay another one.
    Never,
}

impl Spin {
    /// Polls until the condition holds or the time is over. Returns whether it holds.
    pub(super) fn until(self, condition: impl Fn() -> bool) -> bool {
        if condition() {
            return true;
        }
        if let Spin::Never = self {
            return false;
        }
        let start = Instant::now();
        loop {
            for _ in 0..CHECKS {
                spin_loop();
                if condition() {
                    return true;
                }
            }
            if start.elapsed() >= SPIN_TIME {
                return false;
            }
        }
    }
}
