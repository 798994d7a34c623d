//! `nyala check`: diagnostics only.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nyala_driver::{Session, explain, pipeline};

use crate::cli::{EvaluationArgs, MessageArgs, ReadingArgs, TimingArgs};
use crate::output;

/// Report errors and warnings of a program
#[derive(Args)]
pub struct CheckArgs {
    /// The source files of the program; `-` is standard input
    #[arg(required_unless_present = "explain", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Explain a diagnostic, with an example
    #[arg(long, value_name = "CODE", conflicts_with = "files")]
    explain: Option<String>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    messages: MessageArgs,
    #[command(flatten)]
    timing: TimingArgs,
    #[command(flatten)]
    evaluation: EvaluationArgs,
}

pub fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    if let Some(code) = &args.explain {
        return explain_code(code);
    }
    let mut session = Session::new(args.reading.options());
    session.options.evaluation = args.evaluation.options();
    for path in &args.files {
        session.load(path);
    }
    pipeline::check_all(&mut session);
    args.timing.show(&session)?;
    Ok(output::show_diagnostics(&mut session, &args.messages)?)
}

fn explain_code(code: &str) -> anyhow::Result<ExitCode> {
    let Some(text) = explain(code) else {
        anyhow::bail!("unknown diagnostic `{code}`; examples of codes are `E0203` and `W0001`");
    };
    output::print(text)?;
    Ok(ExitCode::SUCCESS)
}
