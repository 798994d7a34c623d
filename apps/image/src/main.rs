//! `nyala-image`: filters for pictures, from the library `stencil`.
//!
//! The command line ([`cli`]) names filters ([`filters`], [`chain`]) and their schedule ([`schedule`]). The app writes a program in
//! Impala for them ([`program`]), which may use filters of the user ([`own`]), compiles it ([`kernel`]), and applies it to pictures
//! ([`picture`]), also to many at once ([`many`]). [`mod@bench`] measures it. Errors on the command line end with status 2, all others
//! with status 1, and no file is partly written.

mod bench;
mod chain;
mod cli;
mod filters;
mod kernel;
mod many;
mod own;
mod picture;
mod program;
mod schedule;

use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};
use clap::Parser;

use cli::Args;
use filters::{FILTERS, On, Param};
use kernel::Filtering;
use own::Own;
use picture::{Kind, Picture};
use program::Plan;

fn main() -> ExitCode {
    nyala_process::run("nyala-image", run_args)
}

fn run_args() -> ExitCode {
    let args = Args::parse();
    let own = match Own::read(&args.filters) {
        Ok(own) => own,
        Err(error) => return failed(&error, 2),
    };
    if args.list {
        list(&own);
        return ExitCode::SUCCESS;
    }
    let plan = match plan(&args, own) {
        Ok(plan) => plan,
        Err(error) => return failed(&error, 2),
    };
    match run(&args, plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error, 1),
    }
}

fn failed(error: &anyhow::Error, status: u8) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::from(status)
}

/// The plan from the command line.
fn plan(args: &Args, own: Own) -> Result<Plan> {
    let mut steps = vec![];
    for text in args.filter.iter().chain(&args.then) {
        steps.extend(chain::parse(text, &own.filters)?);
    }
    if let Some(output) = args.output.as_ref().filter(|_| !has_several(args)) {
        Kind::of(output)?;
    }
    if !(0.0..=1.0).contains(&args.outside) {
        return Err(anyhow!("`--outside` must be between 0 and 1, not {}", args.outside));
    }
    let device = args.device;
    let schedule = match &args.schedule {
        Some(text) => schedule::parse(text, device)?,
        None => schedule::default(device),
    };
    let (boundary, outside, threads, bits) = (args.boundary, args.outside, args.threads, args.bits);
    Ok(Plan { steps, boundary, outside, schedule, device, threads, bits, own })
}

/// Whether results go to a folder.
fn has_several(args: &Args) -> bool {
    args.inputs.len() > 1 || args.inputs.iter().any(|input| input.is_dir())
}

fn run(args: &Args, plan: Plan) -> Result<()> {
    let input = args.inputs.first().context("there is no picture")?;
    if args.show_program {
        print!("{}", plan.chain(Picture::read(input)?.format()));
        return Ok(());
    }
    let mut filtering = Filtering::new(plan);
    match (&args.output, args.bench) {
        (output, true) => {
            let result = bench::measure(&mut filtering, input)?;
            output.as_ref().map_or(Ok(()), |output| result.write(output))
        }
        (Some(output), false) if has_several(args) => {
            many::filter(filtering, &args.inputs, output, args.time)
        }
        (Some(output), false) => {
            let times = many::filter_one(&Mutex::new(filtering), input, output)?;
            if args.time {
                eprintln!("{}: {times}", input.display());
            }
            Ok(())
        }
        (None, false) => Err(anyhow!("`--output` is missing")),
    }
}

/// Prints all filters with their parameters.
fn list(own: &Own) {
    for filter in &own.filters {
        println!("{:<16} {}", filter.name, filter.about);
        for Param { name, is_whole, .. } in filter.params() {
            println!("    {name}={}", if is_whole { "an integer" } else { "a number" });
        }
    }
    for filter in FILTERS {
        let on = match filter.on {
            On::Channels => "each colour",
            On::Brightness => "brightness",
            On::Gray => "brightness; the result is gray",
        };
        println!("{:<16} {} ({on})", filter.name, filter.about);
        for Param { name, default, min, max, about, .. } in filter.params {
            let default = default.map_or_else(String::new, |default| default.to_string());
            println!("    {name}={default:<8} {about}, {min} to {max}");
        }
    }
}
