//! `nyala run`: compile a program in memory and run it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nyala_codegen::llvm;
use nyala_driver::native::{self, NativeOptions};
use nyala_driver::pipeline;

use crate::cli::ProgramArgs;
use crate::output::{self, PROGRAM_ERRORS};

/// Compile a program in memory and run it
///
/// The exit status is the program's.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    native: NativeArgs,
    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

/// How native code is made.
#[derive(Args)]
pub struct NativeArgs {
    /// How much to optimise: 0 to 3
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: u8,
    /// A shared library whose functions the program calls
    #[arg(long, value_name = "LIB")]
    link: Vec<PathBuf>,
}

impl NativeArgs {
    fn options(&self) -> NativeOptions {
        let llvm = llvm::Options { opt_level: self.opt_level, ..llvm::Options::default() };
        NativeOptions { llvm, link: self.link.clone() }
    }
}

pub fn run(args: RunArgs) -> anyhow::Result<ExitCode> {
    let mut session = args.program.session();
    let world = pipeline::emit(&mut session).map(|world| pipeline::evaluate(&mut session, &world));
    let world = world.map(pipeline::control_flow_form);
    let status = output::show_diagnostics(&mut session, &args.program.messages)?;
    let Some(world) = world.filter(|_| status == ExitCode::SUCCESS) else { return Ok(status) };
    let name = args.program.files.last().map(|path| path.display().to_string()).unwrap_or_default();
    let program_args: Vec<String> = std::iter::once(name).chain(args.args).collect();
    let status = native::run(&mut session, &world, &args.native.options(), &program_args);
    output::show_diagnostics(&mut session, &args.program.messages)?;
    // As the system does: the lowest byte of what `main` returns.
    Ok(ExitCode::from(status.map_or(PROGRAM_ERRORS, |status| status as u8)))
}
