//! The body of a loop: a function of the program, and its iterations.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

/// The body of a loop, for a range of it.
pub(super) type RangeFn = extern "C" fn(*mut c_void, i32, i32);

/// The iterations `lower` to `lower + len` of a body.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) fun: RangeFn,
    /// The argument of the body. The language lets iterations share captures.
    pub(super) args: *mut c_void,
    pub(super) lower: i32,
    pub(super) len: u64,
}

impl Job {
    /// Runs the iterations `from` to `to`, counted from the first.
    pub(super) fn run(&self, from: u64, to: u64) {
        let bound = |at: u64| (i64::from(self.lower) + at as i64) as i32;
        (self.fun)(self.args, bound(from), bound(to));
    }

    /// The iterations after the first `n`.
    pub(super) fn after(self, n: u64) -> Job {
        Job { lower: (i64::from(self.lower) + n as i64) as i32, len: self.len - n, ..self }
    }

    /// Makes the writes of this thread visible to other threads.
    pub(super) fn publish(&self) {
        publish_streamed();
    }
}

/// Makes non-temporal stores of this thread visible to other threads: such stores are not ordered with the store
/// that says that the work is done.
pub(super) fn publish_streamed() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has the instruction; it touches no memory of the program.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// A job that threads share. A reader must know that it is not being written.
pub(super) struct JobCell {
    fun: AtomicPtr<()>,
    args: AtomicPtr<c_void>,
    lower: AtomicI32,
    len: AtomicU64,
}

impl JobCell {
    pub(super) fn new() -> JobCell {
        extern "C" fn nothing(_: *mut c_void, _: i32, _: i32) {}
        JobCell {
            fun: AtomicPtr::new(nothing as RangeFn as *mut ()),
            args: AtomicPtr::new(ptr::null_mut()),
            lower: AtomicI32::new(0),
            len: AtomicU64::new(0),
        }
    }

    pub(super) fn store(&self, job: Job) {
        self.fun.store(job.fun as *mut (), Ordering::Relaxed);
        self.args.store(job.args, Ordering::Relaxed);
        self.lower.store(job.lower, Ordering::Relaxed);
        self.len.store(job.len, Ordering::Relaxed);
    }

    pub(super) fn load(&self) -> Job {
        let fun = self.fun.load(Ordering::Relaxed);
        Job {
            // SAFETY: only `new` and `store` write it, with functions of this type.
            fun: unsafe { std::mem::transmute::<*mut (), RangeFn>(fun) },
            args: self.args.load(Ordering::Relaxed),
            lower: self.lower.load(Ordering::Relaxed),
            len: self.len.load(Ordering::Relaxed),
        }
    }
}
