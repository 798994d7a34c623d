//! Measuring time on machines that are busy with other things too.

use std::time::{Duration, Instant};

/// Measures the time that this thread has the processor: machines may be busy with
/// other things. Where the system does not tell, any time counts.
pub struct Clock {
    start: Instant,
    used: Option<Duration>,
}

impl Clock {
    /// Starts to measure.
    pub fn start() -> Clock {
        Clock { start: Instant::now(), used: Clock::used() }
    }

    /// How long this thread has had the processor since the start.
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
