//! `nyala check`: diagnostics only.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nyala_driver::{Session, TargetChoice, explain, pipeline};

use crate::cli::{EvaluationArgs, MessageArgs, ReadingArgs, TargetArgs, TimingArgs};
use crate::output::{self, PROGRAM_ERRORS};

/// Report errors and warnings of a program, or of a whole package
///
/// Of a package, its library and all its programs are checked, unless one of them is named.
#[derive(Args)]
pub struct CheckArgs {
    /// The source files of the program; `-` is standard input [default: the package around the current folder]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Explain a diagnostic, with an example
    #[arg(long, value_name = "CODE", conflicts_with = "files")]
    explain: Option<String>,
    #[command(flatten)]
    target: TargetArgs,
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
    if args.files.is_empty() {
        return check_package(&args, &args.target.folder());
    }
    let mut session = Session::new(args.reading.options());
    session.options.evaluation = args.evaluation.options();
    for path in &args.files {
        session.load(path);
    }
    check(&args, session)
}

fn check(args: &CheckArgs, mut session: Session) -> anyhow::Result<ExitCode> {
    pipeline::check_all(&mut session);
    args.timing.show(&session)?;
    Ok(output::show_diagnostics(&mut session, &args.messages)?)
}

/// Checks what is named, or everything that is made from a package. What they share is reported once.
fn check_package(args: &CheckArgs, folder: &Path) -> anyhow::Result<ExitCode> {
    let (mut status, mut shown) = (ExitCode::SUCCESS, HashSet::new());
    for target in targets(args, folder) {
        let mut session = Session::new(args.reading.options());
        session.options.evaluation = args.evaluation.options();
        session.load_package(folder, &target);
        if !session.has_errors() {
            pipeline::check_all(&mut session);
        }
        args.timing.show(&session)?;
        if session.has_errors() {
            status = ExitCode::from(PROGRAM_ERRORS);
        }
        let Session { sources, diagnostics, .. } = &mut session;
        diagnostics
            .retain(|it| shown.insert((it.code, sources.describe(it.primary.span), it.message.clone())));
        output::show_diagnostics(&mut session, &args.messages)?;
    }
    Ok(status)
}

fn targets(args: &CheckArgs, folder: &Path) -> Vec<TargetChoice> {
    let named = args.target.target();
    let mut session = Session::new(args.reading.options());
    match session.package_targets(folder) {
        Some(targets) if named == TargetChoice::Default => {
            let library = (!targets.library.is_empty()).then_some(TargetChoice::Library);
            let programs = targets.programs.into_iter().map(|program| TargetChoice::Program(program.path));
            library.into_iter().chain(programs).collect()
        }
        // What is wrong with the package is reported when it is loaded again.
        _ => vec![named],
    }
}

fn explain_code(code: &str) -> anyhow::Result<ExitCode> {
    let Some(text) = explain(code) else {
        anyhow::bail!("unknown diagnostic `{code}`; examples of codes are `E0203` and `W0001`");
    };
    output::print(text)?;
    Ok(ExitCode::SUCCESS)
}
