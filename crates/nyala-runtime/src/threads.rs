//! Parallel loops, and tasks with their own threads.
//!
//! Read in this order:
//!
//! * `shared_loop`: one loop, and the protocol by which threads join and leave it; `range`: the part of a loop that
//!   a thread executes and others steal from; `job`: the body;
//! * `pool`: the threads that help with loops; `processor`: where they run;
//! * `short_loops`: loops that one thread executes because they are too short to share;
//! * `tasks`: `spawn` and `sync`;
//! * `start`: the number of threads, and how they are started;
//! * `event`, `spin`, `cache_line`: sleeping, spinning, and cache lines for words that many threads change.
//!
//! `cargo xtask sanitize` runs the tests under ThreadSanitizer and Miri.
//!
//! # What always holds
//!
//! * A thread that starts a loop executes it too, and waits only for threads that execute it. So nested loops
//!   terminate with any number of threads.
//! * A loop has at most as many threads as it requests. A thread is started only if the pool has too few.
//! * A thread without work sleeps after some tens of microseconds.

mod cache_line;
#[cfg_attr(
    all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")),
    path = "threads/event/futex.rs"
)]
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    path = "threads/event/portable.rs"
)]
mod event;
mod job;
mod pool;
#[cfg_attr(all(target_os = "linux", not(miri)), path = "threads/processor/linux.rs")]
#[cfg_attr(not(all(target_os = "linux", not(miri))), path = "threads/processor/portable.rs")]
mod processor;
#[cfg(test)]
mod protocol;
mod range;
mod shared_loop;
mod short_loops;
mod spin;
mod start;
mod tasks;
#[cfg(test)]
mod tests;

use std::ffi::c_void;

use job::{Job, RangeFn};
use pool::Pool;
pub(crate) use start::default_threads;
use tasks::{TaskFn, Tasks};

/// Runs `fun(args, lo, hi)` on ranges that cover `lower` to `upper`, on up to `num_threads` threads of the pool;
/// on `default_threads` if that is 0.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_parallel_for(
    num_threads: i32,
    lower: i32,
    upper: i32,
    args: *mut c_void,
    fun: RangeFn,
) {
    let len = i64::from(upper) - i64::from(lower);
    if len <= 0 {
        return;
    }
    let n_threads = match num_threads {
        _ if len == 1 => 1,
        0 => default_threads(),
        n => n.unsigned_abs(),
    };
    match n_threads {
        1 => fun(args, lower, upper),
        n => Pool::get().run(Job { fun, args, lower, len: len as u64 }, n),
    }
}

/// The body of [`anydsl_fibers_spawn`].
type FiberFn = extern "C" fn(*mut c_void, i32, i32);

/// Runs `fun(args, block, warp)` for each warp of each block, on threads as
/// [`anydsl_parallel_for`] does. A warp cannot wait for another one, so a fiber runs to its end.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_fibers_spawn(
    num_threads: i32,
    num_blocks: i32,
    num_warps: i32,
    args: *mut c_void,
    fun: FiberFn,
) {
    struct Fibers {
        num_warps: i32,
        args: *mut c_void,
        fun: FiberFn,
    }
    extern "C" fn run_blocks(fibers: *mut c_void, first: i32, end: i32) {
        // SAFETY: the loop below passes the fibers, which outlive the loop.
        let fibers = unsafe { &*fibers.cast::<Fibers>() };
        for block in first..end {
            for warp in 0..fibers.num_warps {
                (fibers.fun)(fibers.args, block, warp);
            }
        }
    }
    let mut fibers = Fibers { num_warps, args, fun };
    anydsl_parallel_for(num_threads, 0, num_blocks, (&raw mut fibers).cast(), run_blocks);
}

/// Starts a thread that runs `fun(args)`; returns its number.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_spawn_thread(args: *mut c_void, fun: TaskFn) -> i32 {
    Tasks::get().spawn(fun, args)
}

/// Waits for a thread that was started.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_sync_thread(id: i32) {
    Tasks::get().sync(id);
}
