//! `nyala explain`: the decisions of partial evaluation or vectorization, with reasons.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nyala_driver::evaluation::{Answers, Question};
use nyala_driver::vectorization::Vectorization;
use nyala_driver::{Session, pipeline};

use crate::cli::{EvaluationArgs, ProgramArgs};
use crate::output;

/// Explain the decision of partial evaluation at each call
///
/// For each call in the order of the source: whether it is specialized, on which parameters, and by which
/// filter or rule. For a filter that does not hold: its value and the unknown arguments.
#[derive(Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Only calls in functions of this name, and calls of them
    #[arg(long = "fn", value_name = "NAME")]
    function: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Include calls in the prelude
    #[arg(long)]
    prelude: bool,
    /// Explain each `vectorize` instead: uniform values, contiguous accesses, remaining
    /// branches, and the reasons
    #[arg(long, conflicts_with = "function")]
    vectorize: bool,
    /// The processor whose costs `--vectorize` estimates, as LLVM names it [default: this one]
    #[arg(long, value_name = "CPU")]
    target_cpu: Option<String>,
    #[command(flatten)]
    evaluation: EvaluationArgs,
}

/// Output formats.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Text
    Text,
    /// One JSON object
    Json,
    /// A page with the annotated source
    Html,
}

pub fn run(args: ExplainArgs) -> anyhow::Result<ExitCode> {
    let mut session = args.program.session();
    session.options.evaluation = args.evaluation.options();
    session.options.cpu = args.target_cpu.clone();
    session.options.adapts_lanes = true;
    if args.vectorize {
        return explain_vectorize(&args, session);
    }
    let explained = pipeline::explain_evaluation(&mut session);
    let status = output::show_diagnostics(&mut session, &args.program.messages)?;
    if let Some((residual, explanation)) = explained {
        let question = Question { function: args.function, with_prelude: args.prelude };
        let answers = Answers::new(&session, &residual, &explanation, &question);
        output::print(&match args.format {
            Format::Text => answers.text(),
            Format::Json => answers.json(),
            Format::Html => answers.html(),
        })?;
    }
    Ok(status)
}

fn explain_vectorize(args: &ExplainArgs, mut session: Session) -> anyhow::Result<ExitCode> {
    let facts = pipeline::explain_vectorization(&mut session);
    let status = output::show_diagnostics(&mut session, &args.program.messages)?;
    if let Some(facts) = facts {
        let answers = Vectorization::new(&session, &facts, args.prelude);
        output::print(&match args.format {
            Format::Text => answers.text(),
            Format::Json => answers.json(),
            Format::Html => answers.html(),
        })?;
    }
    Ok(status)
}
