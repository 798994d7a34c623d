//! `nyala build`: compile a program to a file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use nyala_driver::native::{self, LlvmOptions, Output};
use nyala_driver::{Session, pipeline};
use nyala_ir::World;

use crate::cli::{NativeArgs, ProgramArgs};
use crate::output;

/// Compile a program to a file
#[derive(Args)]
pub struct BuildArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    native: NativeArgs,
    /// What to write
    #[arg(long, value_name = "KIND", default_value = "obj")]
    emit: Emit,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// The machine to make code for, as LLVM names it [default: this one]
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
}

/// What to write.
#[derive(Clone, Copy, ValueEnum)]
enum Emit {
    /// An object file
    Obj,
    /// Assembly of the target
    Asm,
    /// LLVM assembly, optimised
    Llvm,
    /// The graph that native code is made from, as text
    Ir,
}

pub fn run(args: BuildArgs) -> anyhow::Result<ExitCode> {
    let mut session = args.native.session(&args.program);
    let contents = pipeline::prepare(&mut session).and_then(|world| args.contents(&mut session, &world));
    let status = output::show_diagnostics(&mut session, &args.program.messages)?;
    if let Some(contents) = contents {
        args.write(&contents).with_context(|| format!("cannot write `{}`", args.output.display()))?;
    }
    Ok(status)
}

impl BuildArgs {
    fn contents(&self, session: &mut Session, world: &World) -> Option<Vec<u8>> {
        let kind = match self.emit {
            Emit::Obj => Output::Object,
            Emit::Asm => Output::Assembly,
            Emit::Llvm => Output::Llvm,
            Emit::Ir => return Some(nyala_ir::text::print(world).into_bytes()),
        };
        let options = LlvmOptions {
            opt_level: self.native.opt_level,
            target: self.target.clone(),
            cpu: self.native.target_cpu.clone(),
        };
        native::compile(session, world, &options, kind)
    }

    fn write(&self, contents: &[u8]) -> std::io::Result<()> {
        match self.output == Path::new("-") {
            true => output::print_bytes(contents),
            false => output::write_file(&self.output, contents),
        }
    }
}
