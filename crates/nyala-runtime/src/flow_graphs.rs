//! Flow graphs: tasks, and which of them come before which.
//!
//! Tasks are kept until the process ends, as nothing in the language ends their lives; a graph may be executed
//! many times. Executing one starts at a task and does all that it leads to, each when all before it that take part are
//! done, on the threads that also share loops.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::fail;
use crate::threads::{anydsl_parallel_for, default_threads};

/// What a task does: code, and what it is handed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Closure {
    /// The code.
    pub run: extern "C" fn(u64),
    /// The address of what it captures.
    pub payload: u64,
}

struct Task {
    body: Closure,
    next: Vec<i32>,
}

/// All graphs. Edges lead from task to task, so tasks need not know which graph they are of.
struct Graphs {
    count: i32,
    tasks: Vec<Task>,
}

static GRAPHS: Mutex<Graphs> = Mutex::new(Graphs { count: 0, tasks: vec![] });

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new graph.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_create_graph() -> i32 {
    let mut graphs = lock(&GRAPHS);
    graphs.count += 1;
    graphs.count - 1
}

/// A new task of a graph.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_create_task(graph: i32, body: Closure) -> i32 {
    let mut graphs = lock(&GRAPHS);
    if !(0..graphs.count).contains(&graph) {
        fail(format_args!("a task cannot be created: there is no flow graph {graph}"));
    }
    graphs.tasks.push(Task { body, next: vec![] });
    i32::try_from(graphs.tasks.len() - 1).unwrap_or_else(|_| fail(format_args!("there are too many tasks")))
}

/// Makes one task come before another.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_create_edge(from: i32, to: i32) {
    let mut graphs = lock(&GRAPHS);
    for task in [from, to] {
        if !graphs.has(task) {
            fail(format_args!("tasks {from} and {to} cannot be connected: there is no task {task}"));
        }
    }
    graphs.tasks[from as usize].next.push(to);
}

/// Does a task, and all that it leads to.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_execute_graph(graph: i32, root: i32) {
    let graphs = lock(&GRAPHS);
    if !(0..graphs.count).contains(&graph) || !graphs.has(root) {
        fail(format_args!("flow graph {graph} cannot be executed from task {root}: there is no such task"));
    }
    let execution = Execution::new(&graphs, root);
    drop(graphs);
    if execution.has_circle() {
        fail(format_args!(
            "flow graph {graph} cannot be executed: its tasks wait for each other in a circle"
        ));
    }
    extern "C" fn work(execution: *mut c_void, first: i32, end: i32) {
        // SAFETY: this is what the loop below is handed, which ends before that does.
        let execution = unsafe { &*execution.cast::<Execution>() };
        (first..end).for_each(|_| execution.take_part());
    }
    let workers = execution.tasks.len().min(default_threads() as usize);
    anydsl_parallel_for(0, 0, workers as i32, (&raw const execution).cast_mut().cast(), work);
}

impl Graphs {
    fn has(&self, task: i32) -> bool {
        usize::try_from(task).is_ok_and(|task| task < self.tasks.len())
    }
}

/// The tasks that take part, numbered anew: 0 is where it starts.
struct Execution {
    tasks: Vec<Closure>,
    next: Vec<Vec<usize>>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

struct Progress {
    ready: Vec<usize>,
    /// For each task, how many others it waits for.
    missing: Vec<usize>,
    /// How many tasks are not done.
    left: usize,
}

impl Execution {
    fn new(graphs: &Graphs, root: i32) -> Execution {
        let (mut numbers, mut found) = (HashMap::from([(root, 0)]), vec![root]);
        let mut next: Vec<Vec<usize>> = vec![];
        while let Some(&task) = found.get(next.len()) {
            let number = |after: &i32| {
                *numbers.entry(*after).or_insert_with(|| {
                    found.push(*after);
                    found.len() - 1
                })
            };
            next.push(graphs.tasks[task as usize].next.iter().map(number).collect());
        }
        let tasks: Vec<Closure> = found.iter().map(|&task| graphs.tasks[task as usize].body).collect();
        let mut missing = vec![0; tasks.len()];
        next.iter().flatten().for_each(|&after| missing[after] += 1);
        let progress = Mutex::new(Progress { ready: vec![0], missing, left: tasks.len() });
        Execution { tasks, next, progress, changed: Condvar::new() }
    }

    /// Whether some tasks can never start.
    fn has_circle(&self) -> bool {
        let mut missing = lock(&self.progress).missing.clone();
        let mut ready = if missing[0] == 0 { vec![0] } else { vec![] };
        let mut started = 0;
        while let Some(done) = ready.pop() {
            started += 1;
            for &after in &self.next[done] {
                missing[after] -= 1;
                if missing[after] == 0 {
                    ready.push(after);
                }
            }
        }
        started < self.tasks.len()
    }

    /// Does tasks until all are done. As there is no circle, somebody is at work whenever none is ready.
    fn take_part(&self) {
        let mut progress = lock(&self.progress);
        while progress.left > 0 {
            let Some(task) = progress.ready.pop() else {
                progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(progress);
            let Closure { run, payload } = self.tasks[task];
            run(payload);
            progress = lock(&self.progress);
            progress.left -= 1;
            for &after in &self.next[task] {
                progress.missing[after] -= 1;
                if progress.missing[after] == 0 {
                    progress.ready.push(after);
                }
            }
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_task_is_done_after_all_before_it() {
        static DONE: AtomicU64 = AtomicU64::new(0);
        // Each task has a bit, and must find those of the tasks before it.
        extern "C" fn run(payload: u64) {
            let (bit, before) = (payload & 0xffff, payload >> 16);
            assert_eq!(DONE.load(Ordering::SeqCst) & before, before);
            assert_eq!(DONE.fetch_or(bit, Ordering::SeqCst) & bit, 0);
        }
        let graph = anydsl_create_graph();
        let task =
            |bit: u64, before: u64| anydsl_create_task(graph, Closure { run, payload: bit | before << 16 });
        let (root, end) = (task(1, 0), task(2, 0b1111_1101));
        for bit in 2..8 {
            let middle = task(1 << bit, 1);
            anydsl_create_edge(root, middle);
            anydsl_create_edge(middle, end);
        }
        for _ in 0..20 {
            DONE.store(0, Ordering::SeqCst);
            anydsl_execute_graph(graph, root);
            assert_eq!(DONE.load(Ordering::SeqCst), 0b1111_1111);
        }
    }

    #[test]
    fn a_circle_is_noticed() {
        extern "C" fn run(_: u64) {}
        let graph = anydsl_create_graph();
        let [a, b] = [(); 2].map(|()| anydsl_create_task(graph, Closure { run, payload: 0 }));
        anydsl_create_edge(a, b);
        assert!(!Execution::new(&lock(&GRAPHS), a).has_circle());
        anydsl_create_edge(b, a);
        assert!(Execution::new(&lock(&GRAPHS), a).has_circle());
    }
}
