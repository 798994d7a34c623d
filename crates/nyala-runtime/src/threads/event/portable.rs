//! A word that threads sleep on until it changes, for systems without futexes.
//!
//! `futex.rs` says what always holds.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A word, and the threads that sleep on it.
pub struct Event {
    word: AtomicU32,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Event {
    pub fn new() -> Event {
        Event { word: AtomicU32::new(0), lock: Mutex::new(()), changed: Condvar::new() }
    }

    /// Sleeps while the word has the value that the caller read.
    pub fn sleep(&self, seen: u32) {
        let mut guard = self.guard();
        while self.word.load(Ordering::SeqCst) == seen {
            guard = self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Wakes up to this number of sleeping threads.
    pub fn wake(&self, threads: u32) {
        // A thread that has read the word holds the lock until it sleeps.
        drop(self.guard());
        match threads {
            1 => self.changed.notify_one(),
            _ => self.changed.notify_all(),
        }
    }

    fn guard(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Event {
    type Target = AtomicU32;

    fn deref(&self) -> &AtomicU32 {
        &self.word
    }
}
