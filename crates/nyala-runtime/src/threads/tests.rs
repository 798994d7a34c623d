//! Loops and tasks, on the pool of this process.

use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use super::*;

extern "C" fn count(args: *mut c_void, lo: i32, hi: i32) {
    // SAFETY: the tests pass a vector of counters that is longer than their loops.
    let counters = unsafe { &*args.cast::<Vec<AtomicI32>>() };
    for i in lo..hi {
        counters[i as usize].fetch_add(1, Ordering::Relaxed);
    }
}

extern "C" fn nested(args: *mut c_void, lo: i32, hi: i32) {
    for _ in lo..hi {
        anydsl_parallel_for(0, 0, 100, args, count);
    }
}

fn counters(n: usize) -> Vec<AtomicI32> {
    (0..n).map(|_| AtomicI32::new(0)).collect()
}

fn address(counters: &Vec<AtomicI32>) -> *mut c_void {
    std::ptr::from_ref(counters).cast_mut().cast()
}

#[test]
fn each_iteration_runs_once() {
    for threads in [0, 1, 2, 3, 8, 100] {
        for len in [0, 1, 2, 7, 1000, 12345] {
            let counters = counters(len);
            anydsl_parallel_for(threads, 0, len as i32, address(&counters), count);
            assert!(counters.iter().all(|n| n.load(Ordering::Relaxed) == 1), "{threads} threads, {len}");
        }
    }
}

#[test]
fn range_with_upper_below_lower_is_empty() {
    for (lower, upper) in [(5, 5), (5, 3), (i32::MAX, i32::MIN)] {
        anydsl_parallel_for(0, lower, upper, std::ptr::null_mut(), count);
    }
}

#[test]
fn nested_and_concurrent_loops_run_all_iterations() {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let counters = counters(100);
                    anydsl_parallel_for(0, 0, 20, address(&counters), nested);
                    assert!(counters.iter().all(|n| n.load(Ordering::Relaxed) == 20));
                }
            });
        }
    });
}

#[test]
fn sync_waits_for_the_task() {
    extern "C" fn set(args: *mut c_void) {
        // SAFETY: the test passes a counter.
        unsafe { &*args.cast::<AtomicI32>() }.store(1, Ordering::Relaxed);
    }
    let flags = counters(10);
    let ids: Vec<i32> = flags
        .iter()
        .map(|flag| anydsl_spawn_thread(std::ptr::from_ref(flag).cast_mut().cast(), set))
        .collect();
    ids.into_iter().for_each(|id| anydsl_sync_thread(id));
    assert!(flags.iter().all(|flag| flag.load(Ordering::Relaxed) == 1));
}

#[test]
fn tasks_wait_for_tasks_that_they_start() {
    extern "C" fn task(args: *mut c_void) {
        // SAFETY: the test passes a counter.
        let counter = unsafe { &*args.cast::<AtomicI32>() };
        if counter.fetch_sub(1, Ordering::Relaxed) > 1 {
            anydsl_sync_thread(anydsl_spawn_thread(args, task));
        }
    }
    let counter = AtomicI32::new(if cfg!(miri) { 10 } else { 1000 });
    anydsl_sync_thread(anydsl_spawn_thread(std::ptr::from_ref(&counter).cast_mut().cast(), task));
    assert_eq!(counter.load(Ordering::Relaxed), 0);
}

/// Tasks start tasks and loops, from several threads at once. Each one runs exactly once, and every wait ends.
#[test]
fn nested_tasks_and_loops_run_once() {
    const TASKS: usize = 8;
    extern "C" fn task(args: *mut c_void) {
        for (threads, rounds) in [(0, 4), (1, 1), (2, 1), (3, 1), (8, 1)] {
            for _ in 0..rounds {
                anydsl_parallel_for(threads, 0, 100, args, count);
            }
        }
        anydsl_parallel_for(0, 0, 2, args, nested);
        anydsl_parallel_for(3, 1, -1, args, nested);
        let inner = anydsl_spawn_thread(args, leaf);
        anydsl_sync_thread(inner);
    }
    extern "C" fn leaf(args: *mut c_void) {
        anydsl_parallel_for(0, 0, 100, args, count);
    }
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let counters = counters(100);
                    let ids = [(); TASKS].map(|()| anydsl_spawn_thread(address(&counters), task));
                    ids.into_iter().rev().for_each(|id| anydsl_sync_thread(id));
                    let expected = 11 * TASKS as i32;
                    assert!(counters.iter().all(|n| n.load(Ordering::Relaxed) == expected));
                }
            });
        }
    });
}
