//! The command-line program: arguments in, text and exit status out.
//!
//! `nyala-driver` does all work. [`cli`] has the arguments, `commands` one file per
//! command, [`output`] the output of results, [`internal_error`] the handling of panics,
//! and [`memory`] the handling of exhausted memory.
//!
//! Exit status: 0 success, 1 the program has errors, 2 bad usage, 101 an internal
//! error; `interp` and `run` pass on the status of the program. Like other programs, this one is ended by `SIGPIPE`
//! when it writes to a pipe without a reader; a shell shows that as status 141.

mod cli;
mod commands;
mod internal_error;
mod memory;
mod output;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    end_with_the_reader();
    memory::watch();
    let cli = cli::Cli::parse();
    nyala_driver::native::set_fatal_hook(internal_error::llvm_gave_up);
    let result = match internal_error::guard(|| commands::run(cli)) {
        Ok(result) => result,
        Err(failure) => return internal_error::report(&failure),
    };
    result.unwrap_or_else(|error| output::fail(&error))
}

/// Restores the default action of `SIGPIPE`, which Rust changes: a write to a pipe without reader ends the process. So a
/// program that is run or interpreted here ends as its executable does.
#[cfg(unix)]
fn end_with_the_reader() {
    // SAFETY: this is the default action.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

#[cfg(not(unix))]
fn end_with_the_reader() {}
