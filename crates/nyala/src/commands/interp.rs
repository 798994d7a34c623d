//! `nyala interp`: run a program with every access checked.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use nyala_driver::pipeline;
use nyala_interp::{Io, Options};

use crate::cli::ProgramArgs;
use crate::output::{self, PROGRAM_ERRORS};

/// Run a program in the checked interpreter
///
/// Every access to memory and every operation is checked; errors are reported at their
/// position in the source. The exit status is that of the program.
#[derive(Args)]
pub struct InterpArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Stop after this number of operations and calls
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Seed for the order of parallel instances; 0 is the natural order
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Report memory leaks
    #[arg(long)]
    leaks: bool,
    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

pub fn run(args: InterpArgs) -> anyhow::Result<ExitCode> {
    let mut session = args.program.session();
    let world = pipeline::emit_for_interp(&mut session);
    let status = output::show_diagnostics(&mut session, &args.program.messages)?;
    let Some(world) = world else { return Ok(status) };

    let mut stdout = io::stdout().lock();
    let start = Instant::now();
    let io = Io {
        output: &mut stdout,
        input: &mut io::stdin().lock(),
        nanos: &mut || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
    };
    let options = args.options(args.program.name(&session));
    let status = pipeline::interp(&mut session, &world, &options, io);
    stdout.flush().context(output::NO_OUTPUT)?;
    output::show_diagnostics(&mut session, &args.program.messages)?;
    // As on the system: the lowest byte of the result of `main`.
    Ok(ExitCode::from(status.map_or(PROGRAM_ERRORS, |status| status as u8)))
}

impl InterpArgs {
    fn options(&self, name: String) -> Options {
        let args = std::iter::once(name).chain(self.args.iter().cloned()).collect();
        Options { steps: self.steps, seed: self.seed, leaks: self.leaks, args, ..Options::default() }
    }
}
