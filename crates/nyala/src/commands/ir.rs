//! `nyala ir`: the program graph, as text or as a picture.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nyala_driver::{Session, pipeline};
use nyala_ir::World;

use crate::cli::{EvaluationArgs, ProgramArgs, WarnArgs};
use crate::output;

/// Print a program's graph
#[derive(Args)]
pub struct IrArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// After which stage of the compiler
    #[arg(long, value_name = "STAGE", default_value = "emitted")]
    stage: Stage,
    /// Print a picture for Graphviz instead of text
    #[arg(long)]
    dot: bool,
    #[command(flatten)]
    warn: WarnArgs,
    #[command(flatten)]
    evaluation: EvaluationArgs,
}

/// Where to look at the graph; each stage comes after those above it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Stage {
    /// As it comes from the source
    Emitted,
    /// After partial evaluation
    Evaluated,
    /// In control-flow form: functions and basic blocks
    Cff,
    /// With SIMD code for the bodies of `vectorize`
    Vectorized,
    /// What native code is made from
    Final,
}

pub fn run(args: IrArgs) -> anyhow::Result<ExitCode> {
    let mut session = args.program.session();
    session.options.evaluation = args.evaluation.options();
    args.warn.set(&mut session);
    let world = args.stage.reach(&mut session);
    let status = output::show_diagnostics(&mut session, &args.program.messages)?;
    if let Some(world) = world {
        let text = if args.dot { nyala_ir::dot::dot(&world) } else { nyala_ir::text::print(&world) };
        output::print(&text)?;
    }
    Ok(status)
}

impl Stage {
    /// Takes the program to this stage.
    fn reach(self, session: &mut Session) -> Option<World> {
        if self == Stage::Final {
            return pipeline::prepare(session);
        }
        let mut world = pipeline::emit(session)?;
        if self >= Stage::Evaluated {
            world = pipeline::evaluate(session, &world);
        }
        if self >= Stage::Cff {
            world = pipeline::control_flow_form(session, world);
        }
        if self >= Stage::Vectorized {
            world = pipeline::vectorize(session, world);
        }
        Some(world)
    }
}
