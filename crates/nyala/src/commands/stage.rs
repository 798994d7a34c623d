//! `nyala stage`: evaluate, trace and compile programs of DeepCPS and Staged-C.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum, value_parser};
use nyala_driver::native::{LlvmOptions, NativeOptions, Output};
use nyala_driver::{Options, Session};
use nyala_span::SourceMap;
use nyala_stage::code::{Code, Const, Term};
use nyala_stage::html::Page;
use nyala_stage::machine::{Host, Limits, Machine, Memory, Outcome, StepEvent};
use nyala_stage::native::{self, Compiler, Residual};
use nyala_stage::program::{Language, Program};
use nyala_stage::{Error, deep, print, trace};

use crate::cli::MessageArgs;
use crate::output::{self, Mode, PROGRAM_ERRORS};

/// Stage a program of DeepCPS (.deep) or Staged-C (.sc) and run it
///
/// Evaluates what is active before the program runs, and then the program, in the interpreter of the calculus. With
/// --run the residual program is compiled and run as native code.
#[derive(Args)]
pub struct StageArgs {
    /// The program: a file .deep or .sc; `-` is standard input
    file: PathBuf,
    /// The language [default: that of the file's extension]
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<LanguageArg>,
    /// Compile the residual program and run it; its calls of `compile` specialize while it runs
    #[arg(long, conflicts_with = "emit")]
    run: bool,
    /// Write a form of the program instead of running it
    #[arg(long, value_name = "WHAT")]
    emit: Option<Emit>,
    /// The output of --emit [default: standard output; for an executable, the name of the program]
    #[arg(short, value_name = "FILE", requires = "emit")]
    output: Option<PathBuf>,
    /// Print each step with its rule on standard error
    #[arg(long)]
    trace: bool,
    /// Write a page that shows each step
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// `compile` makes native code in the interpreter too
    #[arg(long, conflicts_with_all = ["run", "emit"])]
    jit: bool,
    /// Maximum number of steps
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps)]
    steps: u64,
    /// Maximum size of the program while it is staged, in bodies
    #[arg(long, value_name = "N", default_value_t = Limits::default().bodies)]
    bodies: usize,
    /// Optimization level of native code: 0 to 3
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 3, value_parser = value_parser!(u8).range(0..=3))]
    opt_level: u8,
    /// Floats of native code may be treated as real numbers: reordered, for example
    #[arg(long)]
    fast_math: bool,
    #[command(flatten)]
    messages: MessageArgs,
    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

/// The languages, as arguments.
#[derive(Clone, Copy, ValueEnum)]
enum LanguageArg {
    Deep,
    Sc,
}

/// The forms of a program.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// The program as DeepCPS
    Deep,
    /// The program before evaluation, with natural staging and all names
    Calculus,
    /// The program after all that is active before it runs
    Residual,
    /// The graph of the residual program
    Ir,
    /// LLVM assembly
    Llvm,
    /// Assembly
    Asm,
    /// An object file
    Obj,
    /// An executable
    Exe,
}

pub fn run(args: StageArgs) -> anyhow::Result<ExitCode> {
    let mut session = Session::new(Options::default());
    session.load(&args.file);
    let status = match stage(&args, &mut session) {
        Ok(status) => status,
        Err(Failure::Program) => None,
        Err(Failure::System(error)) => return Err(error),
    };
    output::show_diagnostics(&mut session, &args.messages)?;
    Ok(ExitCode::from(status.map_or(PROGRAM_ERRORS, |status| status as u8)))
}

/// Why a command failed.
enum Failure {
    /// The diagnostics of the session tell.
    Program,
    System(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::System(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::System(error.into())
    }
}

fn stage(args: &StageArgs, session: &mut Session) -> Result<Option<i32>, Failure> {
    let Some((file, _)) = session.sources.files().next() else { return Err(Failure::Program) };
    let language = args.language()?;
    let program =
        Program::read(language, session.sources.file(file)).map_err(|errors| report(session, &errors))?;
    match args.emit {
        Some(Emit::Deep) => return args.write_text(&deep::print(&program.block)),
        Some(Emit::Calculus) => return args.write_text(&print::print(&program.code)),
        _ => {}
    }
    let mut console = Console::new(args, &session.sources);
    let mut machine = program.machine(args.limits());
    let staged = machine.stage(&mut console);
    let result = match (staged, args.emit) {
        (Err(error), _) => Err(error),
        (Ok(_), None) if !args.run => machine.run_to_end(&mut console).map(Some),
        (Ok(_), _) => Ok(None),
    };
    let page = console.finish()?;
    if let (Some(path), Some(page)) = (&args.html, page) {
        output::write_file(path, page.as_bytes(), Mode::Plain)?;
    }
    match result.map_err(|error| report(session, &[error]))? {
        Some(Outcome::Quit(status)) => Ok(Some(status)),
        Some(Outcome::Exit(value)) => {
            output::print(&(show(&value) + "\n"))?;
            Ok(Some(0))
        }
        Some(Outcome::Waiting) => Ok(None),
        None => {
            let (code, _) = machine.snapshot();
            let (exports, fast_math) = (&program.exports[..], args.fast_math);
            args.compile(session, Residual { code: &code, memory: &machine.memory, exports, fast_math })
        }
    }
}

fn report(session: &mut Session, errors: &[Error]) -> Failure {
    session.diagnostics.extend(errors.iter().map(Error::to_diagnostic));
    Failure::Program
}

/// The result of a program.
fn show(value: &nyala_stage::machine::LiveValue) -> String {
    match value {
        Term::Const(Const::Scalar(prim, bits)) => nyala_stage::machine::show_scalar(*prim, *bits),
        Term::Tuple(parts) => format!("[{}]", parts.iter().map(show).collect::<Vec<_>>().join(", ")),
        Term::Const(value) => print::show_const(*value),
        Term::Always => "always".into(),
        Term::Never => "never".into(),
        Term::Param(_) => "a value that is not bound".into(),
        Term::Lambda(_) | Term::Closed(_) | Term::Primitive(_) => "a function".into(),
    }
}

impl StageArgs {
    fn language(&self) -> anyhow::Result<Language> {
        match self.language {
            Some(LanguageArg::Deep) => Ok(Language::Deep),
            Some(LanguageArg::Sc) => Ok(Language::StagedC),
            None => match Language::of_file(&self.file.to_string_lossy()) {
                Some(language) => Ok(language),
                None => bail!("the file is neither .deep nor .sc; `--language` says what it is"),
            },
        }
    }

    fn limits(&self) -> Limits {
        Limits { steps: self.steps, bodies: self.bodies, ..Limits::default() }
    }

    fn native_options(&self) -> NativeOptions {
        let llvm = LlvmOptions { opt_level: self.opt_level, ..LlvmOptions::default() };
        NativeOptions { llvm, ..NativeOptions::default() }
    }

    /// Runs or writes the residual program.
    fn compile(&self, session: &mut Session, residual: Residual<'_>) -> Result<Option<i32>, Failure> {
        let options = self.native_options();
        let Some(emit) = self.emit else {
            let name = self.file.display().to_string();
            let args: Vec<String> = std::iter::once(name).chain(self.args.iter().cloned()).collect();
            let status = native::run(session, residual, &options, self.limits(), &args);
            return status.map(Some).ok_or(Failure::Program);
        };
        let contents = match emit {
            Emit::Residual => return self.write_text(&print::print(residual.code)),
            Emit::Ir => {
                native::graph(session, residual).map(|world| nyala_ir::text::print(&world).into_bytes())
            }
            Emit::Llvm => native::compile_file(session, residual, &options, Output::Llvm),
            Emit::Asm => native::compile_file(session, residual, &options, Output::Assembly),
            Emit::Obj => native::compile_file(session, residual, &options, Output::Object),
            Emit::Exe => native::link(session, residual, &options),
            Emit::Deep | Emit::Calculus => unreachable!("they are written before evaluation"),
        };
        let contents = contents.ok_or(Failure::Program)?;
        let stem = self.file.file_stem().map_or_else(|| PathBuf::from("program"), PathBuf::from);
        match (&self.output, emit) {
            (None, Emit::Exe) => output::write_file(&stem, &contents, Mode::Executable)?,
            (Some(path), Emit::Exe) => output::write_file(path, &contents, Mode::Executable)?,
            (Some(path), _) if path != Path::new("-") => output::write_file(path, &contents, Mode::Plain)?,
            _ => output::print_bytes(&contents)?,
        }
        Ok(Some(0))
    }

    fn write_text(&self, text: &str) -> Result<Option<i32>, Failure> {
        match &self.output {
            Some(path) if path != Path::new("-") => output::write_file(path, text.as_bytes(), Mode::Plain)?,
            _ => output::print(text)?,
        }
        Ok(Some(0))
    }
}

/// The output and the arguments of the program, and its observers.
struct Console<'a> {
    args: &'a [String],
    sources: &'a SourceMap,
    traces: bool,
    page: Option<Page>,
    compiler: Option<Compiler>,
    functions: Vec<native::Function>,
    output: io::Result<()>,
}

impl<'a> Console<'a> {
    fn new(args: &'a StageArgs, sources: &'a SourceMap) -> Console<'a> {
        Console {
            args: &args.args,
            sources,
            traces: args.trace,
            page: args.html.as_ref().map(|_| Page::new(&args.file.display().to_string())),
            compiler: args.jit.then(|| Compiler::new(args.native_options(), sources.clone())),
            functions: vec![],
            output: Ok(()),
        }
    }

    fn finish(self) -> anyhow::Result<Option<String>> {
        self.output.context(output::NO_OUTPUT)?;
        Ok(self.page.map(|page| page.finish()))
    }
}

impl Host for Console<'_> {
    fn print(&mut self, line: &str) {
        if self.output.is_ok() {
            self.output = writeln!(io::stdout(), "{line}");
        }
    }

    fn arg(&mut self, index: i64) -> i32 {
        let arg = usize::try_from(index).ok().and_then(|index| self.args.get(index));
        arg.and_then(|arg| arg.parse().ok()).unwrap_or(0)
    }

    fn compile(&mut self, code: &std::rc::Rc<Code>, memory: &Memory) -> Result<Option<u32>, String> {
        let Some(compiler) = &mut self.compiler else { return Ok(None) };
        let function = compiler
            .compile(code, memory)
            .map_err(|errors| errors.into_iter().map(|error| error.message).collect::<Vec<_>>().join("; "))?;
        self.functions.push(function);
        Ok(Some(self.functions.len() as u32 - 1))
    }

    fn call(&mut self, native: u32, args: &[Const], memory: &Memory) -> Result<Option<Const>, String> {
        // SAFETY: the compiler lives as long as this; as every compiled program, the function promises to access only
        // memory that is valid.
        unsafe { self.functions[native as usize].call(args, memory) }
    }

    fn observes(&self) -> bool {
        self.traces || self.page.is_some()
    }

    fn step(&mut self, event: &StepEvent, machine: &Machine) {
        if self.traces {
            // If standard error is closed, the trace is lost.
            let _ = writeln!(io::stderr(), "{}", trace::line(event, self.sources));
        }
        if let Some(page) = &mut self.page {
            page.step(event, machine, self.sources);
        }
    }
}
