//! `nyala explain`: what partial evaluation or vectorisation did, and why.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nyala_driver::evaluation::{Answers, Question};
use nyala_driver::vectorization::Vectorization;
use nyala_driver::{Session, pipeline};

use crate::cli::{EvaluationArgs, ProgramArgs};
use crate::output;

/// Say what partial evaluation did at each call, and why
///
/// For each call in the order of the source: whether it is specialised, on which parameters, by which
/// filter or rule; for a filter that does not hold, what it came to and which argument was not known.
#[derive(Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Only calls in functions of this name, and calls of them
    #[arg(long = "fn", value_name = "NAME")]
    function: Option<String>,
    /// How to write it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Calls in the prelude too
    #[arg(long)]
    prelude: bool,
    /// Instead, what became of each `vectorize`: which values stay scalar, which accesses are
    /// contiguous, which branches are left, and why
    #[arg(long, conflicts_with = "function")]
    vectorize: bool,
    #[command(flatten)]
    evaluation: EvaluationArgs,
}

/// How to write the answers.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON object
    Json,
    /// A page that shows the source with the answers beside it
    Html,
}

pub fn run(args: ExplainArgs) -> anyhow::Result<ExitCode> {
    let mut session = args.program.session();
    session.options.evaluation = args.evaluation.options();
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
    anyhow::ensure!(!matches!(args.format, Format::Html), "there is no page about vectorisation");
    let facts = pipeline::explain_vectorization(&mut session);
    let status = output::show_diagnostics(&mut session, &args.program.messages)?;
    if let Some(facts) = facts {
        let answers = Vectorization::new(&session, &facts, args.prelude);
        output::print(&match args.format {
            Format::Json => answers.json(),
            _ => answers.text(),
        })?;
    }
    Ok(status)
}
