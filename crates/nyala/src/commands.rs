//! The commands, one file each.

pub mod add;
pub mod bench;
pub mod build;
pub mod check;
pub mod devices;
pub mod doc;
pub mod explain;
pub mod filter;
pub mod fmt;
pub mod interp;
pub mod ir;
pub mod new;
pub mod remove;
pub mod run;
pub mod stage;
pub mod test;
pub mod tune;
pub mod update;

use std::process::ExitCode;

use crate::cli::{Cli, Command};

/// Runs a command. An `Err` is an error of the system; errors of the program are diagnostics.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::New(args) => new::run(args),
        Command::Add(args) => add::run(args),
        Command::Remove(args) => remove::run(args),
        Command::Update(args) => update::run(args),
        Command::Check(args) => check::run(args),
        Command::Fmt(args) => fmt::run(args),
        Command::Ir(args) => ir::run(args),
        Command::Interp(args) => interp::run(args),
        Command::Run(args) => run::run(args),
        Command::Test(args) => test::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Tune(args) => tune::run(args),
        Command::Build(args) => build::run(args),
        Command::Stage(args) => stage::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Doc(args) => doc::run(args),
        Command::Filter(args) => filter::run(args),
        Command::Devices(args) => devices::run(args),
    }
}
