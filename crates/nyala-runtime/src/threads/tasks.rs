//! Tasks that programs start with `spawn` and wait for with `sync`.
//!
//! # What always holds
//!
//! * Each running task has its own thread, or that of the `sync` which waits for it. So tasks may wait for each other.
//! * `sync` runs a task that no thread has begun: it need not wait for another thread.
//! * Threads are kept when their tasks end. A new one is started only if there are fewer idle threads than
//!   tasks in the queue.
//! * A thread that takes a task wakes another one if the queue has more. So one wake is enough for many tasks.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::cache_line::CacheLine;
use super::event::Event;
use super::job::publish_streamed;
use super::spin::Spin;
use super::start::{available_processors, start_thread};
use crate::fail;

/// The body of a task.
pub(super) type TaskFn = extern "C" fn(*mut c_void);

/// Idle threads beyond this number end.
const MAX_IDLE: u32 = 256;

/// A task that was started.
struct Task {
    /// The number of tasks that were started before it: the queue is sorted by it.
    place: u64,
    fun: TaskFn,
    /// The argument of the body. It is atomic because another thread reads it.
    args: AtomicPtr<c_void>,
    state: CacheLine<Event>,
}

// The states of a task.
const UNFINISHED: u32 = 0;
const DONE: u32 = 1;
/// Not done, and a thread sleeps until then.
const AWAITED: u32 = 2;

impl Task {
    fn run(&self) {
        (self.fun)(self.args.load(Ordering::Relaxed));
        publish_streamed();
    }

    fn mark_done(&self) {
        if self.state.swap(DONE, Ordering::AcqRel) == AWAITED {
            self.state.wake(u32::MAX);
        }
    }

    fn wait(&self, spin: Spin) {
        let is_done = || self.state.load(Ordering::Acquire) == DONE;
        if spin.until(is_done) {
            return;
        }
        let _ = self.state.compare_exchange(UNFINISHED, AWAITED, Ordering::AcqRel, Ordering::Acquire);
        while !is_done() {
            self.state.sleep(AWAITED);
        }
    }
}

/// All tasks, and the threads that run them.
pub(super) struct Tasks {
    table: Mutex<Table>,
    /// Changes when a task is queued: spinning threads poll it.
    n_queued: CacheLine<AtomicU32>,
    wakes: Condvar,
    n_processors: u32,
}

#[derive(Default)]
struct Table {
    /// The number of tasks that were started; its lower bits are the number of the next one.
    n_started: u64,
    /// The tasks for which `sync` was not called.
    started: HashMap<i32, Arc<Task>>,
    queue: VecDeque<Arc<Task>>,
    n_threads: u32,
    /// The number of threads without a task.
    n_idle: u32,
    /// The number of these that sleep and are not about to be woken.
    n_sleepers: u32,
    /// The number of sleepers that may wake up.
    n_wakes: u32,
}

impl Table {
    /// Removes a task from the queue. Returns whether it was there: then no thread has begun it.
    fn take_back(&mut self, task: &Task) -> bool {
        let at = self.queue.binary_search_by_key(&task.place, |other| other.place);
        at.is_ok_and(|at| self.queue.remove(at).is_some())
    }

    /// Whether to wake a thread for the tasks in the queue. Each thread wakes the next.
    fn wakes_one(&mut self) -> bool {
        let wakes = self.n_sleepers > 0 && self.n_wakes == 0 && !self.queue.is_empty();
        if wakes {
            self.n_sleepers -= 1;
            self.n_wakes += 1;
        }
        wakes
    }
}

impl Tasks {
    pub(super) fn get() -> &'static Tasks {
        static TASKS: OnceLock<Tasks> = OnceLock::new();
        TASKS.get_or_init(|| Tasks {
            table: Mutex::default(),
            n_queued: CacheLine(AtomicU32::new(0)),
            wakes: Condvar::new(),
            n_processors: available_processors(),
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a task. Returns its number.
    pub(super) fn spawn(&'static self, fun: TaskFn, args: *mut c_void) -> i32 {
        let state = CacheLine(Event::new());
        let mut table = self.table();
        let place = table.n_started;
        let task = Arc::new(Task { place, fun, args: AtomicPtr::new(args), state });
        let id = place as i32;
        table.n_started += 1;
        table.started.insert(id, task.clone());
        table.queue.push_back(task.clone());
        self.n_queued.fetch_add(1, Ordering::Release);
        let needs_thread = table.queue.len() > table.n_idle as usize;
        let wakes_one = !needs_thread && table.wakes_one();
        if needs_thread {
            table.n_threads += 1;
            table.n_idle += 1;
        }
        drop(table);
        if wakes_one {
            self.wakes.notify_one();
        }
        if needs_thread {
            self.start_thread_for(&task);
        }
        id
    }

    /// Starts a thread. If that fails, runs the task here, unless another thread has taken it.
    fn start_thread_for(&'static self, task: &Arc<Task>) {
        if start_thread(|| self.serve()) {
            return;
        }
        let mut table = self.table();
        table.n_threads -= 1;
        table.n_idle -= 1;
        let is_ours = table.take_back(task);
        drop(table);
        if is_ours {
            task.run();
            task.mark_done();
        }
    }

    /// Removes a task, and runs it or waits for it.
    pub(super) fn sync(&self, id: i32) {
        let mut table = self.table();
        let Some(task) = table.started.remove(&id) else {
            drop(table);
            fail(format_args!("sync: there is no thread {id}, or it was waited for already"));
        };
        let is_ours = table.take_back(&task);
        let spin = self.spin(&table);
        drop(table);
        if is_ours { task.run() } else { task.wait(spin) }
    }

    fn spin(&self, table: &Table) -> Spin {
        if table.n_threads >= self.n_processors { Spin::Never } else { Spin::Bounded }
    }

    /// The main loop of a thread: runs tasks until there are enough other idle threads.
    fn serve(&self) {
        while let Some(mut task) = self.first_task() {
            loop {
                task.run();
                let mut table = self.table();
                table.n_idle += 1;
                let next = Self::take(&mut table);
                let wakes_one = table.wakes_one();
                drop(table);
                if wakes_one {
                    self.wakes.notify_one();
                }
                // After the thread is counted as idle: a thread that waited for this task may start another one.
                task.mark_done();
                match next {
                    Some(next) => task = next,
                    None => break,
                }
            }
        }
    }

    fn take(table: &mut Table) -> Option<Arc<Task>> {
        let task = table.queue.pop_front()?;
        table.n_idle -= 1;
        Some(task)
    }

    /// Waits for a task: spins for a while, then sleeps. None if the thread should end.
    fn first_task(&self) -> Option<Arc<Task>> {
        let mut table = self.table();
        let mut is_patient = true;
        loop {
            if let Some(task) = Self::take(&mut table) {
                let wakes_one = table.wakes_one();
                drop(table);
                if wakes_one {
                    self.wakes.notify_one();
                }
                return Some(task);
            }
            if table.n_idle > MAX_IDLE {
                table.n_idle -= 1;
                table.n_threads -= 1;
                return None;
            }
            if is_patient {
                // Under the lock: no task is missed.
                let seen = self.n_queued.load(Ordering::Relaxed);
                let spin = self.spin(&table);
                drop(table);
                is_patient = spin.until(|| self.n_queued.load(Ordering::Acquire) != seen);
                table = self.table();
            } else {
                table = self.sleep(table);
                is_patient = true;
            }
        }
    }

    fn sleep<'a>(&'a self, mut table: MutexGuard<'a, Table>) -> MutexGuard<'a, Table> {
        table.n_sleepers += 1;
        while table.n_wakes == 0 {
            table = self.wakes.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
        table.n_wakes -= 1;
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_taken_back_from_the_queue_once() {
        extern "C" fn nothing(_: *mut c_void) {}
        let task = |place| {
            let (args, state) = (AtomicPtr::default(), CacheLine(Event::new()));
            Arc::new(Task { place, fun: nothing, args, state })
        };
        let tasks = [3, 4, 7].map(task);
        let mut table = Table { queue: tasks.iter().cloned().collect(), ..Table::default() };
        assert!(table.take_back(&tasks[1]));
        assert!(!table.take_back(&tasks[1]));
        let places: Vec<u64> = table.queue.iter().map(|task| task.place).collect();
        assert_eq!(places, [3, 7]);
    }
}
