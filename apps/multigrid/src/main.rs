//! `nyala-multigrid`: solves the problem of a file, by the library `multigrid`.
//!
//! The command line ([`cli`]) names a file, which describes an equation ([`problem`]) by functions of the position
//! ([`expression`]). The app writes a program in Impala for it ([`program`]), compiles it ([`kernel`]), checks the values
//! of the functions ([`values`]), and runs it ([`solve`], [`evolve`]) from the start or from a checkpoint
//! ([`checkpoint`]). It plots the convergence ([`plot`]) and writes pictures, animations and data for other programs
//! ([`output`]). Errors on the command line end with status 2, all others with status 1.

mod checkpoint;
mod cli;
mod evolve;
mod expression;
mod kernel;
mod output;
mod plot;
mod problem;
mod program;
mod solve;
mod values;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use nyala_driver::embed::CompileError;

use cli::Args;
use problem::{Equation, Problem};

fn main() -> ExitCode {
    nyala_process::run("nyala-multigrid", run_args)
}

fn run_args() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Errors of the compiler say that they are.
            match error.downcast_ref::<CompileError>() {
                Some(errors) => eprintln!("{errors}"),
                None => eprintln!("error: {error:#}"),
            }
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let name = args.problem.display();
    let text = std::fs::read_to_string(&args.problem).with_context(|| format!("cannot read `{name}`"))?;
    let problem = Problem::read(&name.to_string(), &text).with_context(|| format!("in `{name}`"))?;
    if args.show_program {
        print!("{}", program::write(&problem, args.processors()));
        return Ok(());
    }
    match problem.equation {
        Equation::Poisson => solve::run(args, &problem),
        Equation::Heat | Equation::Wave => evolve::run(args, &problem),
    }
}
