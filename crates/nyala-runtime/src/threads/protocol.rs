//! Tests of the protocol with threads that end: small enough for Miri, which tries many schedules.

use std::ffi::c_void;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use super::job::Job;
use super::shared_loop::SharedLoop;
use super::spin::Spin;

/// Counts the executions of each iteration, without atomics: two executions at once are a data race.
extern "C" fn count(args: *mut c_void, lower: i32, upper: i32) {
    // Other threads should join while this one executes.
    thread::yield_now();
    let counts = args.cast::<u32>();
    for i in lower..upper {
        // SAFETY: the tests pass a vector that is as long as their loops.
        unsafe { *counts.add(i as usize) += 1 };
    }
}

/// An owner runs loops of some lengths in one descriptor, while other threads join.
fn check(n_seats: u32, n_helpers: usize, lengths: &[usize], spin: Spin) {
    let shared = SharedLoop::new(n_seats);
    let rounds = if cfg!(miri) { 1 } else { 100 };
    let left = AtomicU32::new(rounds * lengths.len() as u32);
    let ready = Barrier::new(n_helpers + 1);
    thread::scope(|scope| {
        for _ in 0..n_helpers {
            scope.spawn(|| {
                ready.wait();
                while left.load(Ordering::Relaxed) > 0 {
                    match shared.join() {
                        Some(seat) => shared.help(seat),
                        None => thread::yield_now(),
                    }
                }
            });
        }
        ready.wait();
        let lengths = (0..rounds).flat_map(|_| lengths);
        for (at, &len) in lengths.enumerate() {
            let mut counts = vec![0u32; len];
            let job = Job { fun: count, args: counts.as_mut_ptr().cast(), lower: 0, len: len as u64 };
            let seat = shared.open(job, n_seats, at % 2 == 0);
            shared.finish(seat, spin);
            left.fetch_sub(1, Ordering::Relaxed);
            assert!(counts.iter().all(|&n| n == 1), "{counts:?}");
        }
    });
}

#[test]
fn loops_with_a_seat_for_each_iteration() {
    check(3, 2, &[3, 2, 3, 3], Spin::Never);
}

#[test]
fn loops_with_a_range_for_each_seat() {
    check(3, 2, &[7, 20, 4], Spin::Never);
}

#[test]
fn loops_of_both_kinds_in_one_descriptor() {
    check(3, 3, &[3, 9, 2, 9], Spin::Never);
    check(3, 3, &[9, 2, 9, 3], Spin::Bounded);
}
