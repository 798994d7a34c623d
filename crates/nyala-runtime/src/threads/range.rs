//! The part of a loop that one thread executes and others may steal from.

use std::sync::atomic::{AtomicU64, Ordering};

use super::cache_line::CacheLine;

/// A thread takes this fraction of its range at once: chunks get smaller towards the end.
const PIECES: u64 = 8;

/// A range of iterations, `from` in the upper half and `to` in the lower half of one word.
pub(super) struct Range(CacheLine<AtomicU64>);

fn pack(from: u64, to: u64) -> u64 {
    from << 32 | to
}

fn unpack(range: u64) -> (u64, u64) {
    (range >> 32, range & 0xffff_ffff)
}

impl Range {
    pub(super) fn empty() -> Range {
        Range(CacheLine(AtomicU64::new(0)))
    }

    /// Replaces an empty range. Only its owner may call this.
    pub(super) fn fill(&self, from: u64, to: u64) {
        self.0.store(pack(from, to), Ordering::Release);
    }

    /// Takes a chunk from the front.
    pub(super) fn take_front(&self) -> Option<(u64, u64)> {
        self.take(|from, to| (from, from + (to - from).div_ceil(PIECES)))
    }

    /// Steals the back half.
    pub(super) fn take_back_half(&self) -> Option<(u64, u64)> {
        self.take(|from, to| (from + (to - from) / 2, to))
    }

    /// Takes the part that `part` chooses, at the start or the end of the range; the rest stays.
    fn take(&self, part: impl Fn(u64, u64) -> (u64, u64)) -> Option<(u64, u64)> {
        let mut range = self.0.load(Ordering::Relaxed);
        loop {
            let (from, to) = unpack(range);
            if from >= to {
                return None;
            }
            let taken = part(from, to);
            let rest = if taken.0 == from { pack(taken.1, to) } else { pack(from, taken.0) };
            match self.0.compare_exchange_weak(range, rest, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(taken),
                Err(now) => range = now,
            }
        }
    }
}
