//! As `launch.impala`, with rayon: parallel iterators and scopes, on a pool with as many threads as the argument says.
//!
//! All of it runs inside of the pool: loops that are started outside are handed to it first, which takes longer.

use std::hint::black_box;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use rayon::prelude::*;

const ROUNDS: u32 = 100;
const REPEATS: u32 = 9;
const INSTANCES: usize = 16;

/// What the instances write to; each has a cache line of its own.
struct Results(Vec<AtomicI32>);

impl Results {
    /// Some microseconds of arithmetic.
    fn busy(&self, i: usize, steps: i32) {
        let mut x = i as i32;
        for k in 0..steps {
            x = (x ^ k) & 65535;
            x *= 3;
        }
        self.0[i * 64].store(x, Ordering::Relaxed);
    }
}

fn best(name: &str, body: impl Fn()) {
    let measure = |_| {
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| body());
        start.elapsed()
    };
    let best = (0..REPEATS).map(measure).min().unwrap_or_default();
    println!("{name} {:.6}", best.as_secs_f64() * 1e6 / f64::from(ROUNDS));
}

fn each(n: usize, body: impl Fn(usize) + Send + Sync) {
    (0..n).into_par_iter().for_each(body);
}

fn measure(n: usize, p: &Results) {
    let nothing = |i| {
        black_box(i);
    };
    best("empty-16", || each(INSTANCES, nothing));
    best("empty-16-pool", || each(INSTANCES, nothing));
    best("busy-16", || each(INSTANCES, |i| p.busy(i, 3000)));
    best("empty-1000", || each(1000, nothing));
    best("busy-1000", || each(1000, |i| p.busy(i, 100)));
    best("uneven-1000", || each(1000, |i| p.busy(i, if i < 100 { 1000 } else { 10 })));
    best("nested-16x16", || {
        each(INSTANCES, |i| each(INSTANCES, |k| p.busy(i * INSTANCES + k, 100)));
    });
    best("busy-16-after-200us", || {
        p.busy(0, 200_000);
        each(INSTANCES, |i| p.busy(i, 3000));
    });
    best("spawn-empty", || rayon::scope(|scope| (0..n).for_each(|k| scope.spawn(move |_| nothing(k)))));
    best("spawn-busy", || {
        rayon::scope(|scope| (0..n).for_each(|k| scope.spawn(move |_| p.busy(k, 3000))));
    });
}

fn main() {
    let n: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("the system has threads");
    let p = Results((0..1024 * 64).map(|_| AtomicI32::new(0)).collect());
    pool.install(|| measure(n, &p));
}
