//! `nyala-image`: filters for pictures, from the library `stencil`.
//!
//! The command line ([`cli`]) names filters ([`filters`], [`chain`]) and their schedule ([`schedule`]). The app writes a program in
//! Impala for them ([`program`]), compiles it ([`kernel`]), and applies it to a picture ([`picture`]) or a folder of pictures
//! ([`folder`]). Errors on the command line end with status 2, all others with status 1, and
//! no file is partly written.

mod bench;
mod chain;
mod cli;
mod filters;
mod folder;
mod kernel;
mod picture;
mod program;
mod schedule;

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::Parser;

use cli::Args;
use filters::{FILTERS, On, Param};
use kernel::Filtering;
use picture::{Kind, Picture};
use program::Plan;

fn main() -> ExitCode {
    let args = Args::parse();
    if args.list {
        list();
        return ExitCode::SUCCESS;
    }
    let plan = match plan(&args) {
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
fn plan(args: &Args) -> Result<Plan> {
    let mut steps = vec![];
    for text in args.filter.iter().chain(&args.then) {
        steps.extend(chain::parse(text)?);
    }
    if let Some(output) = args.output.as_ref().filter(|_| !is_folder(args)) {
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
    Ok(Plan { steps, boundary, outside, schedule, device, threads, bits })
}

fn is_folder(args: &Args) -> bool {
    args.input.as_ref().is_some_and(|input| input.is_dir())
}

fn run(args: &Args, plan: Plan) -> Result<()> {
    let input = args.input.as_deref().context("there is no picture")?;
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
        (Some(output), false) if is_folder(args) => folder::filter(&mut filtering, input, output),
        (Some(output), false) => folder::filter_one(&mut filtering, input, output),
        (None, false) => Err(anyhow!("`--output` is missing")),
    }
}

/// Prints all filters with their parameters.
fn list() {
    for filter in FILTERS {
        let on = match filter.on {
            On::Channels => "each colour",
            On::Brightness => "brightness",
            On::Gray => "brightness; the result is gray",
        };
        println!("{:<16} {} ({on})", filter.name, filter.about);
        for Param { name, default, min, max, about, .. } in filter.params {
            println!("    {name}={default:<8} {about}, {min} to {max}");
        }
    }
}
