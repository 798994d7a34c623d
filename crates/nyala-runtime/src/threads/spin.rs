//! How long a thread looks for a change before it goes to sleep.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

/// A thread that has run out of work looks for more for this long. To sleep and to be woken costs a
/// good part of it, so a program with one loop after another never sleeps, and an idle one does soon.
const PATIENCE: Duration = Duration::from_micros(50);

/// How often to look between two looks at the clock.
const LOOKS: u32 = 16;

/// Whether to look for a change before going to sleep.
#[derive(Clone, Copy)]
pub(super) enum Spin {
    /// There is a processor for each thread.
    Bounded,
    /// There are more threads than processors: who looks keeps another one from working.
    Never,
}

impl Spin {
    /// Looks until the condition holds or patience is at its end. Gives whether it holds.
    pub(super) fn until(self, condition: impl Fn() -> bool) -> bool {
        if condition() {
            return true;
        }
        if let Spin::Never = self {
            return false;
        }
        let start = Instant::now();
        loop {
            for _ in 0..LOOKS {
                spin_loop();
                if condition() {
                    return true;
                }
            }
            if start.elapsed() >= PATIENCE {
                return false;
            }
        }
    }
}
