//! `nyala ir`: the program graph, as text or for Graphviz.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nyala_driver::pipeline::{self, Graph, Stage};

use crate::cli::{EvaluationArgs, ProgramArgs, WarnArgs};
use crate::output;

/// Print the graph of a program
#[derive(Args)]
pub struct IrArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// The stage of the compiler
    #[arg(long, value_name = "STAGE", default_value = "emitted")]
    stage: StageArg,
    /// Print input for Graphviz instead of text
    #[arg(long)]
    dot: bool,
    #[command(flatten)]
    warn: WarnArgs,
    #[command(flatten)]
    evaluation: EvaluationArgs,
}

/// The stages, in order.
#[derive(Clone, Copy, ValueEnum)]
enum StageArg {
    /// After lowering
    Emitted,
    /// After partial evaluation
    Evaluated,
    /// In control-flow form: functions and basic blocks
    Cff,
    /// After vectorization
    Vectorized,
    /// The kernels, one program per platform
    Device,
    /// The host program, the input of native code generation
    Final,
}

impl From<StageArg> for Stage {
    fn from(stage: StageArg) -> Stage {
        match stage {
            StageArg::Emitted => Stage::Emitted,
            StageArg::Evaluated => Stage::Evaluated,
            StageArg::Cff => Stage::Cff,
            StageArg::Vectorized => Stage::Vectorized,
            StageArg::Device => Stage::Device,
            StageArg::Final => Stage::Final,
        }
    }
}

pub fn run(args: IrArgs) -> anyhow::Result<ExitCode> {
    let mut session = args.program.session();
    session.options.evaluation = args.evaluation.options();
    args.warn.set(&mut session);
    let graphs = pipeline::graphs(&mut session, args.stage.into());
    let status = output::show_diagnostics(&mut session, &args.program.messages)?;
    for graph in graphs.iter().flatten() {
        output::print(&args.shown(graph))?;
    }
    Ok(status)
}

impl IrArgs {
    /// A graph as text, under the name of its platform.
    fn shown(&self, graph: &Graph) -> String {
        let (text, comment) = match self.dot {
            true => (nyala_ir::dot::dot(&graph.world), "//"),
            false => (nyala_ir::text::print(&graph.world), ";"),
        };
        let heading = graph.platform.map(|platform| format!("{comment} {}\n", platform.name()));
        heading.unwrap_or_default() + &text
    }
}
