//! The arguments of the command line.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum, value_parser};
use nyala_driver::compile_time::Limits;
use nyala_driver::link::Library;
use nyala_driver::native::{LlvmOptions, NativeOptions};
use nyala_driver::package::MANIFEST;
use nyala_driver::session::LEVEL_THAT_ADAPTS_LANES;
use nyala_driver::tuning::Tuning;
use nyala_driver::{Dialect, Edition, Options, Prelude, Session, TargetChoice, without_controls};
use nyala_opt::partial_eval::{self, Budget, OnLimit};

use crate::commands::{
    add, bench, build, check, devices, doc, explain, filter, fmt, interp, ir, new, remove, run, stage, test,
    tune, update,
};

/// The compiler for Impala: high-level libraries, the speed of hand-tuned code.
///
/// A program is a set of source files, given together and in any order; `-` is standard input. Without files, it is
/// the package around the current folder. Exit status: 0 success, 1 the program has errors, 2 bad usage, 101 an
/// internal error.
#[derive(Parser)]
#[command(name = "nyala", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    New(new::NewArgs),
    Add(add::AddArgs),
    Remove(remove::RemoveArgs),
    Update(update::UpdateArgs),
    Check(check::CheckArgs),
    Fmt(fmt::FmtArgs),
    Ir(ir::IrArgs),
    Interp(interp::InterpArgs),
    Run(run::RunArgs),
    Test(test::TestArgs),
    Bench(bench::BenchArgs),
    Tune(tune::TuneArgs),
    Build(build::BuildArgs),
    Stage(stage::StageArgs),
    Explain(explain::ExplainArgs),
    Doc(doc::DocArgs),
    Filter(filter::FilterArgs),
    Devices(devices::DevicesArgs),
}

/// The program and the options of the front end.
#[derive(Args)]
pub struct ProgramArgs {
    /// The source files of the program; `-` is standard input [default: the package around the current folder]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub statics: StaticArgs,
    #[command(flatten)]
    pub messages: MessageArgs,
}

/// Which package, and which part of it.
#[derive(Args)]
pub struct TargetArgs {
    /// The folder of the package [default: the one around the current folder]
    #[arg(long = "package", value_name = "DIR", conflicts_with = "files")]
    package: Option<PathBuf>,
    /// The program of the package: its name, or its path such as examples/hello
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    program: Option<String>,
    /// The library of the package
    #[arg(long, conflicts_with_all = ["files", "program"])]
    lib: bool,
}

impl TargetArgs {
    /// The folder of the package.
    pub fn folder(&self) -> PathBuf {
        package_folder(self.package.as_deref())
    }

    /// The folder of the package, if there is one.
    pub fn opt_folder(&self) -> Option<PathBuf> {
        self.package.clone().or_else(package_around)
    }

    /// The part of the package.
    pub fn target(&self) -> TargetChoice {
        match &self.program {
            Some(name) => TargetChoice::Program(name.clone()),
            None if self.lib => TargetChoice::Library,
            None => TargetChoice::Default,
        }
    }
}

/// The folder of a package: named, or the innermost one with a manifest around the current folder.
/// Ends the process with a message about usage if there is none.
pub fn package_folder(named: Option<&Path>) -> PathBuf {
    named.map(Path::to_owned).or_else(package_around).unwrap_or_else(|| {
        let message = format!("no source files are given, and no folder around has a `{MANIFEST}`");
        Cli::command().error(ErrorKind::MissingRequiredArgument, message).exit()
    })
}

/// The innermost folder with a manifest, from the current one upwards; as a short path.
fn package_around() -> Option<PathBuf> {
    let current = std::env::current_dir().ok()?;
    let mut path = PathBuf::new();
    for folder in current.ancestors() {
        if folder.join(MANIFEST).is_file() {
            return Some(path);
        }
        path.push("..");
    }
    None
}

/// The budget for the initializers of statics, which are evaluated at compile time.
#[derive(Args)]
pub struct StaticArgs {
    /// Maximum number of operations and calls to evaluate all statics
    #[arg(long, help_heading = STATIC_LIMITS, value_name = "N", default_value_t = Limits::default().steps)]
    pub static_steps: u64,
    /// Maximum memory to evaluate statics, in MiB
    #[arg(long, help_heading = STATIC_LIMITS, value_name = "MIB", default_value_t = Limits::default().memory >> 20)]
    pub static_memory: u64,
}

/// The heading of these arguments.
const STATIC_LIMITS: &str = "Limits of statics";

/// The options of the front end.
#[derive(Args)]
pub struct ReadingArgs {
    /// The dialect of all files [default: detected for each file]
    #[arg(long, value_name = "DIALECT")]
    pub dialect: Option<DialectArg>,
    /// The edition of the prelude [default: that of a first line `// edition: ..`, else impala]
    #[arg(long, value_name = "EDITION")]
    pub edition: Option<EditionArg>,
    /// Compile without the prelude (loops, memory, printing, math, ..); `--edition` selects the rules of the
    /// language only
    #[arg(long)]
    pub no_prelude: bool,
    /// A folder that is a library, or that holds libraries as folders; looked at before those of the environment
    /// variable NYALA_PATH
    #[arg(long, value_name = "DIR")]
    pub library: Vec<PathBuf>,
}

/// The output of diagnostics.
#[derive(Args)]
pub struct MessageArgs {
    /// Format of diagnostics on standard error
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub message_format: MessageFormat,
    /// Whether diagnostics are colored
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

/// The options for native code.
#[derive(Args)]
pub struct NativeArgs {
    /// Optimization level: 0 to 3
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 2, value_parser = value_parser!(u8).range(0..=3))]
    pub opt_level: u8,
    /// The target processor, as LLVM names it [default: this one]. Several, such as
    /// x86-64,x86-64-v3,x86-64-v4, are versions in one file: the last one that a processor can execute runs there
    #[arg(long, value_name = "CPU", value_delimiter = ',')]
    pub target_cpu: Vec<String>,
    /// Emit debug information: lines, functions and variables
    #[arg(short = 'g')]
    pub debug: bool,
    /// Check operations at run time, and end the program if one fails: overflow, division
    /// by zero, shifts and casts out of range, indices outside arrays of known length
    #[arg(long)]
    pub checked: bool,
    /// Signed integers wrap around on overflow; by default, overflow is an error of the program
    #[arg(long)]
    pub wrapping: bool,
    /// Floats may be treated as real numbers: reordered, for example
    #[arg(long)]
    pub fast_math: bool,
    /// A library whose functions the program calls: a file, or `m` for the system's `libm`
    #[arg(long, value_name = "LIB")]
    pub link: Vec<OsString>,
    /// The GPU to compile kernels for, such as sm_90 or gfx90a; one of each kind may be given [default: sm_70, which
    /// the driver compiles for newer ones, and gfx90a]
    #[arg(long, value_name = "ARCH")]
    pub gpu_arch: Vec<String>,
    #[command(flatten)]
    pub warn: WarnArgs,
    #[command(flatten)]
    pub timing: TimingArgs,
    #[command(flatten)]
    pub evaluation: EvaluationArgs,
}

/// Additional warnings.
#[derive(Args)]
pub struct WarnArgs {
    /// Enable a warning about correct but slow code
    #[arg(long, value_name = "WHAT")]
    pub warn: Vec<Warning>,
}

/// Warnings about slow code.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Warning {
    /// Functions that are still values after partial evaluation, with the reason
    Closures,
}

impl WarnArgs {
    /// Sets the options of a session.
    pub fn set(&self, session: &mut Session) {
        session.options.warn_closures = self.warn.contains(&Warning::Closures);
    }
}

/// The option for timings.
#[derive(Args)]
pub struct TimingArgs {
    /// Print the time of each phase of the compiler
    #[arg(long)]
    pub time_passes: bool,
}

/// The heading of these arguments. Each argument names it: a heading of the struct would also apply to later
/// arguments.
const LIMITS: &str = "Limits of partial evaluation";

/// The limits of partial evaluation.
#[derive(Args)]
pub struct EvaluationArgs {
    /// Maximum number of specializations
    #[arg(long, alias = "pe-specialisations", help_heading = LIMITS, value_name = "N", default_value_t = Budget::default().specializations)]
    pub pe_specializations: u64,
    /// Maximum growth of the program in nodes
    #[arg(long, help_heading = LIMITS, value_name = "N", default_value_t = Budget::default().growth)]
    pub pe_growth: u64,
    /// Maximum depth of nested specializations
    #[arg(long, help_heading = LIMITS, value_name = "N", default_value_t = Budget::default().depth)]
    pub pe_depth: u64,
    /// Behaviour when a limit is reached
    #[arg(long, help_heading = LIMITS, value_name = "WHAT", default_value = "continue")]
    pub pe_on_limit: OnLimitArg,
}

/// Behaviour when a limit is reached.
#[derive(Clone, Copy, ValueEnum)]
pub enum OnLimitArg {
    /// Warn, keep the calls that reached it, and evaluate the rest
    Continue,
    /// Report an error
    Stop,
}

impl EvaluationArgs {
    /// The evaluator's options for these arguments.
    pub fn options(&self) -> partial_eval::Options {
        let budget =
            Budget { specializations: self.pe_specializations, growth: self.pe_growth, depth: self.pe_depth };
        let on_limit = match self.pe_on_limit {
            OnLimitArg::Continue => OnLimit::Continue,
            OnLimitArg::Stop => OnLimit::Stop,
        };
        partial_eval::Options { budget, on_limit, ..Default::default() }
    }
}

impl NativeArgs {
    /// A session with the loaded files of the program, for native code.
    pub fn session(&self, program: &ProgramArgs) -> Session {
        let mut session = program.session();
        session.options.evaluation = self.evaluation.options();
        session.options.checked = self.checked;
        self.warn.set(&mut session);
        session.options.debug = self.debug;
        session.options.lower.name_values = self.debug;
        session.options.lower.tell_debuggers = self.debug && self.opt_level == 0;
        session.options.gpu_arch = self.gpu_arch.clone();
        session.options.lower.wrapping = self.wrapping;
        session.options.lower.fast_math = self.fast_math;
        self.set_processor(&mut session.options);
        session.options.adapts_lanes = self.opt_level >= LEVEL_THAT_ADAPTS_LANES && self.target_cpu.len() < 2;
        session
    }

    /// Chooses the processor whose tuned values are used. A program for several has the values in the source.
    fn set_processor(&self, options: &mut Options) {
        options.cpu = self.target_cpu.first().cloned();
        if self.target_cpu.len() > 1 {
            options.tuning = Tuning::SOURCE;
        }
    }

    /// The options to compile and link for a target, by default this machine.
    pub fn options(&self, target: Option<String>) -> NativeOptions {
        NativeOptions {
            llvm: LlvmOptions {
                opt_level: self.opt_level,
                target,
                cpu: self.target_cpu.first().cloned(),
                versions: self.target_cpu.iter().skip(1).cloned().collect(),
                ..LlvmOptions::default()
            },
            link: self.link.iter().map(|name| Library::new(name)).collect(),
            perf_map: false,
            is_cached: false,
        }
    }
}

impl TimingArgs {
    /// Prints the times of the phases with `--time`.
    pub fn show(&self, session: &Session) -> io::Result<()> {
        if self.time_passes {
            write!(io::stderr(), "{}", session.timings.table())?;
        }
        Ok(())
    }
}

/// The two dialects, as arguments.
#[derive(Clone, Copy, ValueEnum)]
pub enum DialectArg {
    Impala,
    Artic,
}

/// The editions, as arguments.
#[derive(Clone, Copy, ValueEnum)]
pub enum EditionArg {
    /// The current edition, for new programs
    Impala,
    /// Generators take their body first, as in Artic
    Artic,
    /// Programs of 2015: `@f(..)` runs the partial evaluator, `$f(..)` halts it
    #[value(name = "2015")]
    E2015,
    /// Programs of 2018
    #[value(name = "2018")]
    E2018,
    /// Programs of 2019
    #[value(name = "2019")]
    E2019,
}

impl From<EditionArg> for Edition {
    fn from(edition: EditionArg) -> Edition {
        match edition {
            EditionArg::Impala => Edition::Default,
            EditionArg::Artic => Edition::Artic,
            EditionArg::E2015 => Edition::E2015,
            EditionArg::E2018 => Edition::E2018,
            EditionArg::E2019 => Edition::E2019,
        }
    }
}

/// The output of diagnostics.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// Text with source excerpts
    Human,
    /// One JSON object per line
    Json,
}

/// When to use colors.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless the environment variable NO_COLOR is set
    Auto,
    Always,
    Never,
}

impl ProgramArgs {
    /// A session with the loaded files of the program.
    pub fn session(&self) -> Session {
        let mut session = Session::new(self.reading.options());
        let StaticArgs { static_steps, static_memory } = self.statics;
        session.options.statics =
            Limits { steps: static_steps, memory: static_memory.saturating_mul(1 << 20) };
        match self.files.is_empty() {
            true => session.load_package(&self.target.folder(), &self.target.target()),
            false => self.files.iter().for_each(|path| session.load(path)),
        }
        session
    }

    /// As [`ProgramArgs::session`], for a command whose `--filter` chooses among functions of the program. Ends the
    /// process with a message about usage if an argument looks like the name of such a function.
    pub fn session_of_cases(&self) -> Session {
        let is_name =
            |path: &&PathBuf| path.extension().is_none() && path.as_os_str() != "-" && !path.exists();
        if let Some(name) = self.files.iter().find(is_name) {
            let name = without_controls(&name.display().to_string()).into_owned();
            let message = format!("there is no file `{name}`; `--filter {name}` chooses by name");
            Cli::command().error(ErrorKind::InvalidValue, message).exit();
        }
        self.session()
    }

    /// Whether the program is a package of which no part is chosen.
    pub fn is_whole_package(&self) -> bool {
        self.files.is_empty() && self.target.target() == TargetChoice::Default
    }

    /// What the program is called: as its last file, or as the target of its package.
    pub fn name(&self, session: &Session) -> String {
        let last = self.files.last().map(|path| path.display().to_string());
        last.or_else(|| session.target_name().map(str::to_owned)).unwrap_or_default()
    }
}

impl ReadingArgs {
    /// The driver's options for these arguments.
    pub fn options(&self) -> Options {
        let dialect = self.dialect.map(|dialect| match dialect {
            DialectArg::Impala => Dialect::Impala,
            DialectArg::Artic => Dialect::Artic,
        });
        let prelude = match (self.edition, self.no_prelude) {
            (None, false) => Prelude::AsWritten,
            (None, true) => Prelude::Absent,
            (Some(edition), false) => Prelude::Edition(edition.into()),
            (Some(edition), true) => Prelude::RulesOnly(edition.into()),
        };
        let environment = std::env::var_os("NYALA_PATH").unwrap_or_default();
        let folders = std::env::split_paths(&environment).filter(|folder| !folder.as_os_str().is_empty());
        let libraries = self.library.iter().cloned().chain(folders).collect();
        Options { dialect, prelude, libraries, ..Options::default() }
    }
}
