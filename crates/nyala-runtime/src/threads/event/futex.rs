//! A word that threads sleep on until it changes: Linux has futexes for that.
//!
//! # What always holds
//!
//! * [`Event::sleep`] returns at once if the word differs from the value that the caller read. So a
//!   change between the read and the sleep is never missed.
//! * It may return without a change. Callers check again.
//! * [`Event::wake`] is a system call. A thread that changes the word calls it only if a thread may be asleep.
//!
//! `portable.rs` has the same interface for other systems.

use std::ffi::{c_int, c_long};
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::AtomicU32;

#[cfg(target_arch = "x86_64")]
const FUTEX: c_long = 202;
#[cfg(target_arch = "aarch64")]
const FUTEX: c_long = 98;

const WAIT_PRIVATE: c_int = 128;
const WAKE_PRIVATE: c_int = 129;

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

/// A word, and the threads that sleep on it.
pub struct Event(AtomicU32);

impl Event {
    pub fn new() -> Event {
        Event(AtomicU32::new(0))
    }

    /// Sleeps while the word has the value that the caller read.
    pub fn sleep(&self, seen: u32) {
        let no_timeout = ptr::null::<u8>();
        // SAFETY: the word outlives the call, which reads only the word.
        unsafe { syscall(FUTEX, self.0.as_ptr(), WAIT_PRIVATE, seen, no_timeout) };
    }

    /// Wakes up to this number of sleeping threads.
    pub fn wake(&self, threads: u32) {
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        // SAFETY: the address only identifies the queue of threads.
        unsafe { syscall(FUTEX, self.0.as_ptr(), WAKE_PRIVATE, threads) };
    }
}

impl Deref for Event {
    type Target = AtomicU32;

    fn deref(&self) -> &AtomicU32 {
        &self.0
    }
}
