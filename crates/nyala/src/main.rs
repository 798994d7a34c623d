//! The command-line program: arguments in, text and exit status out.
//!
//! All work is done by `nyala-driver`. Read [`cli`] for what can be asked,
//! `commands` for what each command does (one file each), [`output`] for how
//! results are shown, and [`internal_error`] for what happens when the compiler
//! itself fails.
//!
//! Exit status: 0 success, 1 the program has errors, 2 bad usage, 101 an internal
//! error; `interp` and `run` pass on the status of the program.

mod cli;
mod commands;
mod internal_error;
mod output;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    nyala_driver::native::set_fatal_hook(internal_error::llvm_gave_up);
    let result = match internal_error::guard(|| commands::run(cli)) {
        Ok(result) => result,
        Err(failure) => return internal_error::report(&failure),
    };
    result.unwrap_or_else(|error| output::fail(&error))
}
