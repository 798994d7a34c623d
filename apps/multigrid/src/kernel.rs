//! The program, compiled when the app runs, as functions of states.

use std::cell::RefCell;
use std::ffi::OsStr;

use anyhow::Result;
use nyala_driver::embed::{Function, Module};
use nyala_driver::link::Library;

use crate::problem::Problem;
use crate::program::{self, CHECKS, PROGRESS, Processors};
use crate::values::{self, Wrong};

type Find = unsafe extern "C" fn(i32, *mut f64) -> i32;
type Start = unsafe extern "C" fn(i32, *mut f64);
type Solve = unsafe extern "C" fn(i32, *mut f64);
type Begin = unsafe extern "C" fn() -> i32;
type End = unsafe extern "C" fn();
type TakeSteps = unsafe extern "C" fn(i32, f64, i32, *mut f64, *mut f64);

/// The values of all points, x first.
pub type State = Vec<f64>;

pub struct Kernel {
    n: i32,
    n_points: usize,
    find: Function<Find>,
    start: Function<Start>,
    solve: Function<Solve>,
    take_steps: Function<TakeSteps>,
    end: Function<End>,
    rank: i32,
}

/// What the solver does after a cycle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    End = 0,
    GoOn = 1,
}

type Progress<'a> = dyn FnMut(u32, f64) -> Wish + 'a;

thread_local! {
    /// The function that hears of cycles, while [`Kernel::solve`] runs.
    static HEARS: RefCell<Option<Box<Progress<'static>>>> = const { RefCell::new(None) };
}

extern "C" fn progress(cycle: i32, norm: f64) -> i32 {
    HEARS.with_borrow_mut(|hears| match hears {
        Some(hears) => hears(cycle.unsigned_abs(), norm) as i32,
        None => Wish::End as i32,
    })
}

impl Kernel {
    /// With MPI, the process becomes one of several. The values of the problem are checked.
    pub fn compile(problem: &Problem, processors: Processors) -> Result<Kernel> {
        let mut compiler = program::compiler(problem, processors);
        if processors.mpi {
            compiler = compiler.link(Library::new(OsStr::new("mpi")));
        }
        let compiler = compiler
            .define(PROGRESS, progress as extern "C" fn(i32, f64) -> i32)
            .define(CHECKS, values::hear as extern "C" fn(i32, i32, i32));
        let module: Module = compiler.compile()?;
        // SAFETY: the methods below pass states of all points, and a place of four numbers.
        let kernel = unsafe {
            Kernel {
                n: problem.n as i32,
                n_points: problem.n_points(),
                find: module.function("find_wrong_value")?,
                start: module.function("fill_with_start")?,
                solve: module.function("solve_problem")?,
                take_steps: module.function("take_steps")?,
                end: module.function("end")?,
                rank: module.function::<Begin>("begin")?(),
            }
        };
        if kernel.is_first() {
            values::check(problem, &kernel)?;
        }
        Ok(kernel)
    }

    /// A function that looks for a value that the problem cannot have.
    pub fn finder(&self) -> impl FnOnce() -> Option<Wrong> + Send + 'static {
        let (n, find) = (self.n, self.find.clone());
        move || {
            let mut place = [0.0; 4];
            // SAFETY: the function writes four numbers.
            let function = unsafe { find(n, place.as_mut_ptr()) };
            let [x, y, z, value] = place;
            Some(Wrong { function: usize::try_from(function).ok()?, position: [x, y, z], value })
        }
    }

    /// Ends the work with other processes. Without it, after an error, `mpirun` ends them.
    pub fn end(self) {
        // SAFETY: the function has no arguments.
        unsafe { (self.end)() };
    }

    /// Whether this process is the only one, or the first of several. It has all values of states, and writes the results.
    pub fn is_first(&self) -> bool {
        self.rank == 0
    }

    /// The state that the problem starts with.
    pub fn start(&self) -> State {
        let mut state = vec![0.0; self.n_points];
        // SAFETY: the state has all points.
        unsafe { (self.start)(self.n, state.as_mut_ptr()) };
        state
    }

    /// Executes cycles from a state until `hears` ends them. It gets the number of cycles and the norm of the residual.
    pub fn solve(&self, state: &mut State, hears: impl FnMut(u32, f64) -> Wish + 'static) {
        assert_eq!(state.len(), self.n_points);
        HEARS.set(Some(Box::new(hears)));
        // SAFETY: the state has all points.
        unsafe { (self.solve)(self.n, state.as_mut_ptr()) };
        HEARS.set(None);
    }

    /// Advances the last two states by time steps.
    pub fn take_steps(&self, step: f64, n_steps: u32, now: &mut State, before: &mut State) {
        assert!(now.len() == self.n_points && before.len() == self.n_points);
        // SAFETY: both states have all points.
        unsafe { (self.take_steps)(self.n, step, n_steps as i32, now.as_mut_ptr(), before.as_mut_ptr()) };
    }
}
