//! Poisson problems: cycles until the residual is small.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::checkpoint::Checkpoint;
use crate::cli::Args;
use crate::kernel::{Kernel, Wish};
use crate::output;
use crate::plot;
use crate::problem::Problem;

/// Cycles between two checkpoints.
const CYCLES_PER_CHECKPOINT: u32 = 5;

pub fn run(args: &Args, problem: &Problem) -> Result<()> {
    output::check(args, problem)?;
    let kernel = Kernel::compile(problem, args.processors())?;
    let stored = Checkpoint::of(args, problem)?;
    let mut n_cycles = stored.as_ref().map_or(0, |stored| stored.n_steps);
    if n_cycles > 0 && kernel.is_first() {
        println!("going on after {n_cycles} cycles");
    }
    let first = kernel.start();
    let mut state = match stored {
        Some(mut stored) => stored.states.swap_remove(0),
        None => first.clone(),
    };
    // The tolerance is relative to the start of the problem, not to that of this run.
    let start_norm = if n_cycles == 0 { None } else { Some(norm_of(&kernel, first)) };
    let begin = Instant::now();
    let norms = Rc::new(RefCell::new(Norms { start: start_norm, all: vec![] }));
    loop {
        let (limit, tolerance) = (problem.solver.cycles, problem.solver.tolerance);
        let chunk = if args.checkpoint.is_some() { CYCLES_PER_CHECKPOINT } else { limit };
        let (offset, heard) = (n_cycles, Rc::clone(&norms));
        kernel.solve(&mut state, move |cycle, norm| {
            let mut norms = heard.borrow_mut();
            // The first norm of a chunk is the last of the one before.
            if cycle > 0 || norms.all.is_empty() {
                norms.hear(offset + cycle, norm);
            }
            let is_done = offset + cycle >= limit || norms.is_small(norm, tolerance) || !norm.is_finite();
            if is_done || cycle >= chunk { Wish::End } else { Wish::GoOn }
        });
        let norms = norms.borrow();
        let &(cycle, norm) = norms.all.last().expect("the start has a norm");
        n_cycles = cycle;
        if !norm.is_finite() {
            bail!("the solution diverges: after {cycle} cycles the residual is not a number");
        }
        if let (Some(path), true) = (&args.checkpoint, kernel.is_first()) {
            Checkpoint { n_steps: n_cycles, states: vec![state.clone()] }.write(path, problem)?;
        }
        if norms.is_small(norm, tolerance) || n_cycles >= limit {
            break;
        }
    }
    if kernel.is_first() {
        show(&norms.borrow(), problem, begin.elapsed());
        output::write_result(args, problem, &state)?;
    }
    kernel.end();
    Ok(())
}

fn show(norms: &Norms, problem: &Problem, time: Duration) {
    print!("{}", plot::convergence(&norms.all));
    let &(cycle, norm) = norms.all.last().expect("the start has a norm");
    let verdict = if norms.is_small(norm, problem.solver.tolerance) { "solved" } else { "not solved" };
    println!("{verdict} after {cycle} cycles in {:.2} s", time.as_secs_f64());
}

/// The norms after cycles, and the one at the start of the problem.
struct Norms {
    start: Option<f64>,
    all: Vec<(u32, f64)>,
}

impl Norms {
    fn hear(&mut self, cycle: u32, norm: f64) {
        self.start.get_or_insert(norm);
        self.all.push((cycle, norm));
    }

    fn is_small(&self, norm: f64, tolerance: f64) -> bool {
        self.start.is_some_and(|start| norm <= tolerance * start)
    }
}

/// The norm of the residual of a state.
fn norm_of(kernel: &Kernel, mut state: Vec<f64>) -> f64 {
    let found = Rc::new(Cell::new(0.0));
    let heard = Rc::clone(&found);
    kernel.solve(&mut state, move |_, norm| {
        heard.set(norm);
        Wish::End
    });
    found.get()
}
