//! `nyala run`: compile a program in memory and run it.

use std::process::ExitCode;

use clap::Args;
use nyala_driver::native::{self, NativeOptions};
use nyala_driver::pipeline;

use crate::cli::{NativeArgs, ProgramArgs};
use crate::output::{self, PROGRAM_ERRORS};

/// Compile a program in memory and run it
///
/// The exit status is that of the program.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    native: NativeArgs,
    /// Write the names of the functions for the profiler `perf`, to the folder for temporary files
    #[arg(long)]
    perf_map: bool,
    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

pub fn run(args: RunArgs) -> anyhow::Result<ExitCode> {
    let mut session = args.native.session(&args.program);
    let program = pipeline::prepare(&mut session);
    let status = output::show_diagnostics(&mut session, &args.program.messages)?;
    let Some(program) = program else { return Ok(status) };
    let name = args.program.name(&session);
    let program_args: Vec<String> = std::iter::once(name).chain(args.args).collect();
    let options = NativeOptions { perf_map: args.perf_map, ..args.native.options(None) };
    let status = native::run(&mut session, &program, &options, &program_args);
    args.native.timing.show(&session)?;
    output::show_diagnostics(&mut session, &args.program.messages)?;
    // As on the system: the lowest byte of the result of `main`.
    Ok(ExitCode::from(status.map_or(PROGRAM_ERRORS, |status| status as u8)))
}
