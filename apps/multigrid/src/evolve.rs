//! Heat and wave problems: time steps, with a frame of the animation now and then.

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

use crate::checkpoint::Checkpoint;
use crate::cli::Args;
use crate::kernel::Kernel;
use crate::output::{self, Animation};
use crate::problem::Problem;

pub fn run(args: &Args, problem: &Problem) -> Result<()> {
    output::check(args, problem)?;
    let kernel = Kernel::compile(problem, args.processors())?;
    let stored = Checkpoint::of(args, problem)?;
    let (mut n_steps, mut states) = match stored {
        Some(stored) if stored.states.len() == 2 => (stored.n_steps, stored.states),
        Some(_) => bail!("the checkpoint must have two states"),
        // A wave starts at rest.
        None => (0, vec![kernel.start(), kernel.start()]),
    };
    if n_steps > 0 && kernel.is_first() {
        println!("going on after {n_steps} steps");
    }
    let bar = match kernel.is_first() {
        true => ProgressBar::new(u64::from(problem.time.steps)),
        false => ProgressBar::hidden(),
    };
    bar.set_style(
        ProgressStyle::with_template("{bar:40} {pos}/{len} steps, {eta} left").expect("it is a template"),
    );
    let mut animation = Animation::new(args, problem)?;
    let [now, before] = &mut states[..] else { bail!("there must be two states") };
    if kernel.is_first() {
        animation.add(n_steps, now)?;
    }
    while n_steps < problem.time.steps {
        let n = problem.time.steps_per_frame.min(problem.time.steps - n_steps);
        kernel.take_steps(problem.time.step, n, now, before);
        n_steps += n;
        bar.set_position(u64::from(n_steps));
        if now.iter().any(|value| !value.is_finite()) {
            bail!("the values grow without bound after {n_steps} steps: choose a smaller `time.step`");
        }
        if kernel.is_first() {
            animation.add(n_steps, now)?;
            if let Some(path) = &args.checkpoint {
                Checkpoint { n_steps, states: vec![now.clone(), before.clone()] }.write(path, problem)?;
            }
        }
    }
    bar.finish_and_clear();
    if kernel.is_first() {
        let (least, most) = output::range(now);
        println!("{n_steps} steps of {:.3e}; values from {least:.6} to {most:.6}", problem.time.step);
        animation.finish()?;
        output::write_vtk(args, problem, now)?;
    }
    kernel.end();
    Ok(())
}
