//! Flow graphs: tasks and the dependences between them.
//!
//! Tasks are never freed: the language has no operation for that, and a graph may be executed many times. An
//! execution starts at a task and runs all tasks that are reachable from it, each after the tasks it depends on, on
//! the threads of the pool.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::fail;
use crate::threads::{anydsl_parallel_for, default_threads};

/// The body of a task.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Closure {
    /// The code.
    pub run: extern "C" fn(u64),
    /// The address of its environment.
    pub payload: u64,
}

struct Task {
    body: Closure,
    next: Vec<i32>,
}

/// All graphs. Edges connect tasks, so a task does not need its graph.
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

/// Orders one task before another.
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

/// Runs a task and all tasks that are reachable from it.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_execute_graph(graph: i32, root: i32) {
    let graphs = lock(&GRAPHS);
    if !(0..graphs.count).contains(&graph) || !graphs.has(root) {
        fail(format_args!("flow graph {graph} cannot be executed from task {root}: there is no such task"));
    }
    let execution = Execution::new(&graphs, root);
    drop(graphs);
    if execution.has_cycle() {
        fail(format_args!(
            "flow graph {graph} cannot be executed: its tasks depend on each other in a cycle"
        ));
    }
    extern "C" fn work(execution: *mut c_void, first: i32, end: i32) {
        // SAFETY: the loop below passes the execution, which outlives the loop.
        let execution = unsafe { &*execution.cast::<Execution>() };
        (first..end).for_each(|_| execution.run_tasks());
    }
    let workers = execution.tasks.len().min(default_threads() as usize);
    anydsl_parallel_for(0, 0, workers as i32, (&raw const execution).cast_mut().cast(), work);
}

impl Graphs {
    fn has(&self, task: i32) -> bool {
        usize::try_from(task).is_ok_and(|task| task < self.tasks.len())
    }
}

/// The reachable tasks, with new numbers: 0 is the root.
struct Execution {
    tasks: Vec<Closure>,
    next: Vec<Vec<usize>>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

struct Progress {
    ready: Vec<usize>,
    /// For each task, the number of tasks it waits for.
    missing: Vec<usize>,
    /// The number of tasks that have not ended.
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

    /// Whether the dependences have a cycle, so that some tasks never start.
    fn has_cycle(&self) -> bool {
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

    /// Runs tasks until all have ended. There is no cycle: if no task is ready, another thread runs one.
    fn run_tasks(&self) {
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
    fn a_task_runs_after_its_predecessors() {
        static DONE: AtomicU64 = AtomicU64::new(0);
        // Each task sets a bit, and checks the bits of its predecessors.
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
    fn cycles_are_detected() {
        extern "C" fn run(_: u64) {}
        let graph = anydsl_create_graph();
        let [a, b] = [(); 2].map(|()| anydsl_create_task(graph, Closure { run, payload: 0 }));
        anydsl_create_edge(a, b);
        assert!(!Execution::new(&lock(&GRAPHS), a).has_cycle());
        anydsl_create_edge(b, a);
        assert!(Execution::new(&lock(&GRAPHS), a).has_cycle());
    }
}
