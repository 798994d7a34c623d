//! Loops on many threads, and threads of their own.
//!
//! A loop is shared by the threads of one pool, which is started when it is first needed. Each
//! thread that takes part owns a range of the loop. It takes pieces from the front, the
//! smaller the less is left, and when it has nothing left it steals the back half of somebody
//! else's range. So nobody has to say how large pieces should be.
//!
//! # What always holds
//!
//! * Whoever starts a loop takes part in it, and waits only for pieces that other threads are
//!   working on. So nested loops come to their end, whatever the number of threads.
//! * No loop makes more threads than the pool has, unless it asks for a number of its own.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Builder, JoinHandle, Thread};

use crate::fail;

/// How much stack a thread has.
const STACK: usize = 64 << 20;

/// How often to look before going to sleep.
const PATIENCE: usize = 2000;

/// A share of this part of a range is taken at once.
const SHARE: u64 = 8;

/// The body of a loop, for a range of it.
type RangeFn = extern "C" fn(*mut c_void, i32, i32);

/// The body of a thread.
type TaskFn = extern "C" fn(*mut c_void);

/// What a body is handed. Compiled programs see to it that threads may share it.
#[derive(Clone, Copy)]
struct Args(*mut c_void);

// SAFETY: it is only handed to the body; the language lets bodies share what they capture.
unsafe impl Send for Args {}
// SAFETY: as above.
unsafe impl Sync for Args {}

impl Args {
    /// What is handed over. As a method, so that closures take along the whole.
    fn pointer(self) -> *mut c_void {
        self.0
    }
}

/// Runs `fun(args, lo, hi)` on ranges that together are `lower` to `upper`: on the threads of the
/// pool if `num_threads` is 0, else on that many threads.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_parallel_for(
    num_threads: i32,
    lower: i32,
    upper: i32,
    args: *mut c_void,
    fun: RangeFn,
) {
    let len = i64::from(upper) - i64::from(lower);
    match (len, num_threads) {
        (..=0, _) => {}
        (1, _) | (_, 1) => fun(args, lower, upper),
        (len, 0) => match Pool::get() {
            Some(pool) => pool.run(lower, len as u64, Args(args), fun),
            None => fun(args, lower, upper),
        },
        (len, n) => {
            on_own_threads(u64::from(n.unsigned_abs()).min(len as u64), lower, len as u64, Args(args), fun)
        }
    }
}

/// The body of [`anydsl_fibers_spawn`].
type FiberFn = extern "C" fn(*mut c_void, i32, i32);

/// Runs `fun(args, block, warp)` for each warp of each block, on threads as
/// [`anydsl_parallel_for`] does. Nothing in the language lets a warp wait for another, so a
/// fiber runs to its end.
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
        // SAFETY: this is what the loop below is handed, which ends before that does.
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

/// Shares the range among `n` threads: each takes some of it, and then again, until nothing is left.
fn on_own_threads(n: u64, lower: i32, len: u64, args: Args, fun: RangeFn) {
    let bound = |at: u64| (i64::from(lower) + at as i64) as i32;
    let share = (len / (n * SHARE)).max(1);
    let taken = AtomicU64::new(0);
    let work = || {
        loop {
            let at = taken.fetch_add(share, Ordering::Relaxed);
            if at >= len {
                break;
            }
            fun(args.pointer(), bound(at), bound(len.min(at + share)));
        }
        publish_streamed();
    };
    thread::scope(|scope| {
        for _ in 1..n {
            if let Err(error) = Builder::new().stack_size(STACK).spawn_scoped(scope, work) {
                warn(&error);
                break;
            }
        }
        work();
    });
}

/// Lets other threads see what this one wrote past the caches: such stores are not ordered with
/// what tells other threads that the work is done.
fn publish_streamed() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction; it touches no memory of the program.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

fn warn(error: &std::io::Error) {
    eprintln!("warning: cannot start a thread, going on with fewer: {error}");
}

thread_local! {
    /// The place of a thread among those that share loops: its number in the pool. Threads from
    /// elsewhere take part in their own loops only, where they are the ones with number 0.
    static PLACE: Cell<usize> = const { Cell::new(0) };
}

/// The threads that share loops, besides those that start them.
struct Pool {
    /// How many threads there are with one that starts a loop.
    threads: usize,
    /// Loops with work left, the latest last.
    loops: Mutex<Vec<Arc<Loop>>>,
    /// How many loops were started; who sleeps waits for another one.
    started: AtomicUsize,
    wake: Condvar,
}

impl Pool {
    /// The pool, unless one thread has to do all.
    fn get() -> Option<&'static Pool> {
        static POOL: OnceLock<Pool> = OnceLock::new();
        let pool = POOL.get_or_init(|| Pool {
            threads: number_of_threads(),
            loops: Mutex::new(vec![]),
            started: AtomicUsize::new(0),
            wake: Condvar::new(),
        });
        static START: OnceLock<usize> = OnceLock::new();
        let helpers =
            *START.get_or_init(|| (1..pool.threads).take_while(|&place| pool.start_helper(place)).count());
        (helpers > 0).then_some(pool)
    }

    fn start_helper(&'static self, place: usize) -> bool {
        let help = move || {
            PLACE.set(place);
            self.help();
        };
        let started = Builder::new().name("nyala".into()).stack_size(STACK).spawn(help);
        started.inspect_err(warn).is_ok()
    }

    fn run(&self, lower: i32, len: u64, args: Args, fun: RangeFn) {
        let place = PLACE.get();
        let work = Arc::new(Loop::new(self.threads, place, lower, len, args, fun));
        let mut loops = lock(&self.loops);
        loops.push(work.clone());
        self.started.fetch_add(1, Ordering::Release);
        drop(loops);
        self.wake.notify_all();
        work.take_part(place);
        lock(&self.loops).retain(|other| !Arc::ptr_eq(other, &work));
        work.wait();
    }

    /// What a thread of the pool does, for ever.
    fn help(&self) {
        loop {
            let started = self.started.load(Ordering::Acquire);
            let work = lock(&self.loops).iter().rev().find(|work| work.has_work()).cloned();
            match work {
                Some(work) => work.take_part(PLACE.get()),
                None => self.sleep(started),
            }
        }
    }

    /// Waits until more loops than `seen` were started.
    fn sleep(&self, seen: usize) {
        for _ in 0..PATIENCE {
            if self.started.load(Ordering::Acquire) != seen {
                return;
            }
            std::hint::spin_loop();
        }
        let mut loops = lock(&self.loops);
        while self.started.load(Ordering::Acquire) == seen {
            loops = self.wake.wait(loops).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As many as the machine can run at once, or as the environment says.
pub(crate) fn number_of_threads() -> usize {
    let available = || thread::available_parallelism().map_or(1, usize::from);
    match std::env::var("NYALA_THREADS") {
        Err(_) => available(),
        Ok(text) => text.parse().ok().filter(|&n| n > 0).unwrap_or_else(|| {
            eprintln!("warning: NYALA_THREADS is `{text}`, which is no number of threads");
            available()
        }),
    }
}

/// A loop that threads share.
struct Loop {
    lower: i32,
    args: Args,
    fun: RangeFn,
    /// What each thread that takes part owns.
    ranges: Vec<Range>,
    /// How many iterations are not done.
    left: AtomicU64,
    owner: Thread,
}

/// From where to where, each in 32 bits. Alone in its cache line.
#[repr(align(128))]
struct Range(AtomicU64);

fn pack(from: u64, to: u64) -> u64 {
    from << 32 | to
}

fn unpack(range: u64) -> (u64, u64) {
    (range >> 32, range & 0xffff_ffff)
}

impl Range {
    /// Takes the part of the range that `part` chooses; the rest stays.
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

    fn take_front(&self) -> Option<(u64, u64)> {
        self.take(|from, to| (from, from + (to - from).div_ceil(SHARE)))
    }

    fn take_back_half(&self) -> Option<(u64, u64)> {
        self.take(|from, to| (from + (to - from) / 2, to))
    }
}

impl Loop {
    /// A loop that belongs to the thread with this place.
    fn new(threads: usize, place: usize, lower: i32, len: u64, args: Args, fun: RangeFn) -> Loop {
        let start = |at: usize| if at == place { pack(0, len) } else { 0 };
        let ranges = (0..threads).map(|at| Range(AtomicU64::new(start(at)))).collect();
        Loop { lower, args, fun, ranges, left: AtomicU64::new(len), owner: thread::current() }
    }

    /// Whether there is anything to steal.
    fn has_work(&self) -> bool {
        self.ranges.iter().any(|range| {
            let (from, to) = unpack(range.0.load(Ordering::Relaxed));
            from < to
        })
    }

    /// Works until nobody has anything left.
    fn take_part(&self, place: usize) {
        loop {
            while let Some((from, to)) = self.ranges[place].take_front() {
                self.execute(from, to);
            }
            let n = self.ranges.len();
            let stolen = (1..n).find_map(|step| self.ranges[(place + step) % n].take_back_half());
            match stolen {
                Some((from, to)) => self.ranges[place].0.store(pack(from, to), Ordering::Release),
                None => return,
            }
        }
    }

    fn execute(&self, from: u64, to: u64) {
        let bound = |at: u64| (i64::from(self.lower) + at as i64) as i32;
        (self.fun)(self.args.0, bound(from), bound(to));
        publish_streamed();
        if self.left.fetch_sub(to - from, Ordering::AcqRel) == to - from {
            self.owner.unpark();
        }
    }

    /// Waits for what others are working on.
    fn wait(&self) {
        for _ in 0..PATIENCE {
            if self.left.load(Ordering::Acquire) == 0 {
                return;
            }
            std::hint::spin_loop();
        }
        while self.left.load(Ordering::Acquire) > 0 {
            thread::park();
        }
    }
}

/// The threads that were started and not waited for.
#[derive(Default)]
struct Tasks {
    next: i32,
    running: HashMap<i32, Option<JoinHandle<()>>>,
}

fn tasks() -> MutexGuard<'static, Tasks> {
    static TASKS: OnceLock<Mutex<Tasks>> = OnceLock::new();
    lock(TASKS.get_or_init(Mutex::default))
}

/// Starts a thread that runs `fun(args)`; gives its number.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_spawn_thread(args: *mut c_void, fun: TaskFn) -> i32 {
    let args = Args(args);
    let run = move || {
        let args = args;
        fun(args.0);
        publish_streamed();
    };
    let started = Builder::new().stack_size(STACK).spawn(run);
    let handle = started.inspect_err(|error| {
        warn(error);
        run();
    });
    let mut tasks = tasks();
    let id = tasks.next;
    tasks.next += 1;
    tasks.running.insert(id, handle.ok());
    id
}

/// Waits for a thread that was started.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_sync_thread(id: i32) {
    let Some(handle) = tasks().running.remove(&id) else {
        fail(format_args!("sync: there is no thread {id}, or it was waited for already"));
    };
    if handle.is_some_and(|handle| handle.join().is_err()) {
        fail(format_args!("sync: thread {id} did not come to its end"));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicI32;

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
    fn each_index_is_run_once() {
        for threads in [0, 1, 2, 3, 8, 100] {
            for len in [0, 1, 2, 7, 1000, 12345] {
                let counters = counters(len);
                anydsl_parallel_for(threads, 0, len as i32, address(&counters), count);
                assert!(counters.iter().all(|n| n.load(Ordering::Relaxed) == 1), "{threads} threads, {len}");
            }
        }
    }

    #[test]
    fn a_range_that_goes_backwards_is_empty() {
        for (lower, upper) in [(5, 5), (5, 3), (i32::MAX, i32::MIN)] {
            anydsl_parallel_for(0, lower, upper, std::ptr::null_mut(), count);
        }
    }

    #[test]
    fn loops_in_loops_and_many_loops_at_once() {
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
    fn a_loop_on_the_pool_shares_its_work() {
        // More helpers than the machine may have: what they steal must add up all the same.
        let work = Loop::new(4, 2, 0, 10_000, Args(std::ptr::null_mut()), nothing);
        thread::scope(|scope| {
            for place in 0..4 {
                let work = &work;
                scope.spawn(move || work.take_part(place));
            }
        });
        assert_eq!(work.left.load(Ordering::Relaxed), 0);
    }

    extern "C" fn nothing(_: *mut c_void, _: i32, _: i32) {}

    #[test]
    fn threads_are_waited_for() {
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

    /// Tasks start tasks and loops on the pool and on threads of their own, from several threads at
    /// once. Nothing is lost, done twice, or waited for in vain.
    #[test]
    fn a_storm_of_tasks_and_loops() {
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
}
