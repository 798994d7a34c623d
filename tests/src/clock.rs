//! Measures time on busy machines.

use std::time::{Duration, Instant};

/// Measures the processor time of this thread, because machines may be busy.
/// If the system does not report it, the wall clock is used.
pub struct Clock {
    start: Instant,
    used: Option<Duration>,
}

impl Clock {
    /// Starts a measurement.
    pub fn start() -> Clock {
        Clock { start: Instant::now(), used: Clock::used() }
    }

    /// The processor time of this thread since the start.
    pub fn elapsed(&self) -> Duration {
        match (self.used, Clock::used()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.start.elapsed(),
        }
    }

    fn used() -> Option<Duration> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    }
}
