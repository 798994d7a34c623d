//! `nyala build`: compile a program to files.
//!
//! All outputs are computed before the first is written, so a program with errors
//! writes no file. Several files are written together or not at all.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use nyala_driver::device::{self, Platform};
use nyala_driver::interface::{self, Interface};
use nyala_driver::native::{self, Output, Product};
use nyala_driver::tuning::Tuning;
use nyala_driver::{Outlined, Session, pipeline};

use crate::cli::{NativeArgs, ProgramArgs};
use crate::output::{self, Mode, NewFile};

/// Compile a program to an executable or another kind of file
///
/// The system's C compiler links executables (`cc`, or the value of the environment
/// variable CC). They run without nyala.
#[derive(Args)]
pub struct BuildArgs {
    /// The kinds of output, separated by commas
    #[arg(long, value_name = "KIND", default_value = "exe", value_delimiter = ',')]
    emit: Vec<Emit>,
    /// The file to write; `-` is standard output. For several kinds, each adds its
    /// extension [default: named after the last source file]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// The target machine, as LLVM names it [default: this one]
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    native: NativeArgs,
    /// Where the outputs of a package go, and what they are called.
    #[arg(skip)]
    package_output: Option<PathBuf>,
}

/// The kinds of output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// An executable
    Exe,
    /// A shared library with the exported functions and the runtime
    Shared,
    /// A static library with the exported functions and the runtime
    Staticlib,
    /// An object file
    Obj,
    /// Assembly of the target
    Asm,
    /// LLVM assembly, optimized
    Llvm,
    /// The graph before native code generation, as text
    Ir,
    /// A C header with the exported functions and their types
    Header,
    /// The kernels for NVIDIA's GPUs, as PTX
    Ptx,
    /// The kernels for OpenCL, as source text
    Opencl,
    /// The kernels for AMD's GPUs, as an object file
    Amdgcn,
}

impl Emit {
    /// The file of this kind for a program that is called `name`, which may have a folder.
    fn file(self, name: &Path) -> PathBuf {
        let file = name.with_extension(self.extension());
        match (self, file.file_name()) {
            (Emit::Shared | Emit::Staticlib, Some(stem)) => {
                let mut library = OsString::from("lib");
                library.push(stem);
                file.with_file_name(library)
            }
            _ => file,
        }
    }

    /// The extension of such files.
    fn extension(self) -> &'static str {
        match self {
            Emit::Exe => std::env::consts::EXE_EXTENSION,
            Emit::Shared => std::env::consts::DLL_EXTENSION,
            Emit::Staticlib => "a",
            Emit::Obj => "o",
            Emit::Asm => "s",
            Emit::Llvm => "ll",
            Emit::Ir => "ir",
            Emit::Header => "h",
            Emit::Ptx => "ptx",
            Emit::Opencl => "cl",
            Emit::Amdgcn => "amdgcn.o",
        }
    }
}

pub fn run(mut args: BuildArgs) -> anyhow::Result<ExitCode> {
    args.spare_sources()?;
    let mut session = args.native.session(&args.program);
    if args.target.is_some() && args.native.target_cpu.is_empty() {
        // No processor is known whose tuned values and registers would fit.
        session.options.tuning = Tuning::SOURCE;
        session.options.adapts_lanes = false;
    }
    args.package_output = session.output_name();
    let contents = args.contents(&mut session);
    let status = output::show_diagnostics(&mut session, &args.program.messages)?;
    session.timings.enter("write");
    if let Some(contents) = &contents {
        args.write(contents)?;
    }
    args.native.timing.show(&session)?;
    Ok(status)
}

impl BuildArgs {
    /// Rejects an output that would overwrite a source file, such as one without extension.
    fn spare_sources(&self) -> anyhow::Result<()> {
        for path in self.emit.iter().map(|&emit| self.path(emit)) {
            let Ok(target) = fs::canonicalize(&path) else { continue };
            let is_source =
                self.program.files.iter().any(|file| fs::canonicalize(file).is_ok_and(|file| file == target));
            anyhow::ensure!(
                !is_source,
                "cannot write `{}`: it is a source file of the program; use `-o` for another name",
                path.display()
            );
        }
        Ok(())
    }

    /// The contents of all files, unless there are errors.
    fn contents(&self, session: &mut Session) -> Option<Vec<Vec<u8>>> {
        let (program, interface) = pipeline::prepare_with_interface(session)?;
        self.emit.iter().map(|&emit| self.emitted(session, &program, &interface, emit)).collect()
    }

    fn emitted(
        &self,
        session: &mut Session,
        program: &Outlined,
        seen: &Interface,
        emit: Emit,
    ) -> Option<Vec<u8>> {
        let options = self.native.options(self.target.clone());
        let link =
            |session: &mut Session, product| native::link(session, program.clone(), seen, &options, product);
        let kind = match emit {
            Emit::Exe => return link(session, Product::Executable),
            Emit::Staticlib => return link(session, Product::StaticLibrary),
            Emit::Shared => {
                let path = self.path(emit);
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                return link(session, Product::SharedLibrary { name: &name });
            }
            Emit::Ir => return Some(nyala_ir::text::print(&program.host).into_bytes()),
            Emit::Header => {
                return Some(interface::c::header(seen, &self.name()).into_bytes());
            }
            Emit::Ptx => return device::code(session, program, &options.llvm, Platform::Cuda),
            Emit::Opencl => return device::code(session, program, &options.llvm, Platform::OpenCl),
            Emit::Amdgcn => return device::code(session, program, &options.llvm, Platform::Hsa),
            Emit::Obj => Output::Object,
            Emit::Asm => Output::Assembly,
            Emit::Llvm => Output::Llvm,
        };
        native::compile(session, program, &options.llvm, kind)
    }

    /// Writes all files with their contents.
    fn write(&self, contents: &[Vec<u8>]) -> anyhow::Result<()> {
        if let (Some(path), None) = (&self.package_output, &self.output) {
            let folder = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        }
        let mut files = vec![];
        for (&emit, contents) in self.emit.iter().zip(contents) {
            let path = self.path(emit);
            let mode = if matches!(emit, Emit::Exe | Emit::Shared) { Mode::Executable } else { Mode::Plain };
            match is_standard_output(&path) {
                true => output::print_bytes(contents)?,
                false => files.push(NewFile { path, contents, mode }),
            }
        }
        output::write_files(&files)
    }

    /// The path of the output.
    fn path(&self, emit: Emit) -> PathBuf {
        match &self.output {
            Some(path) if self.emit.len() == 1 || is_standard_output(path) => path.clone(),
            Some(path) => emit.file(path),
            None => emit.file(self.stem()),
        }
    }

    /// The name of the program: that of its output, if it has one.
    fn name(&self) -> Cow<'_, str> {
        let output = self.output.as_deref().filter(|path| !is_standard_output(path));
        let stem = || self.stem().file_name().unwrap_or_default();
        output.and_then(Path::file_stem).unwrap_or_else(stem).to_string_lossy()
    }

    /// The name of the last source file, without folder and extension; for a package, a file in its folder `build`.
    fn stem(&self) -> &Path {
        if let Some(path) = &self.package_output {
            return path;
        }
        let last = self.program.files.last().filter(|path| !is_standard_output(path));
        last.and_then(|path| path.file_stem()).map_or(Path::new("program"), Path::new)
    }
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}
