//! The command-line program: arguments in, text and exit status out.
//!
//! All work is done by `nyala-driver`. Read [`cli`] for what can be asked,
//! `commands` for what each command does (one file each), [`output`] for how
//! results are shown, [`internal_error`] for what happens when the compiler
//! itself fails, and [`memory`] for what happens when memory runs out.
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

/// Lets the system end the process when it writes to a pipe that nobody reads, which Rust keeps it from. So a program
/// that is run or interpreted here ends as its executable does.
#[cfg(unix)]
fn end_with_the_reader() {
    // SAFETY: this is the default action.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

#[cfg(not(unix))]
fn end_with_the_reader() {}
