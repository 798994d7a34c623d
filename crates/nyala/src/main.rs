//! The command-line program: arguments in, text and exit status out.
//!
//! `nyala-driver` does all work. [`cli`] has the arguments, `commands` one file per
//! command, and [`output`] the output of results; `nyala-process` handles panics and exhausted memory.
//!
//! Exit status: 0 success, 1 the program has errors, 2 bad usage, 101 an internal
//! error; `interp` and `run` pass on the status of the program. Like other programs, this one is ended by `SIGPIPE`
//! when it writes to a pipe without a reader; a shell shows that as status 141.

mod cli;
mod commands;
mod output;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    nyala_process::run("nyala", || {
        let cli = cli::Cli::parse();
        commands::run(cli).unwrap_or_else(|error| output::fail(&error))
    })
}
