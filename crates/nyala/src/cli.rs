//! What can be asked on the command line.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use nyala_driver::compile_time::Limits;
use nyala_driver::link::Library;
use nyala_driver::native::{LlvmOptions, NativeOptions};
use nyala_driver::{Dialect, Edition, Options, Prelude, Session};
use nyala_opt::partial_eval::{self, Budget, OnLimit};

use crate::commands::{build, check, devices, explain, fmt, interp, ir, run};

/// The compiler for Impala: high-level libraries, the speed of hand-tuned code.
///
/// A program is a set of source files, given together and in any order; `-` is
/// standard input. Exit status: 0 success, 1 the program has errors, 2 bad usage,
/// 101 an internal error.
#[derive(Parser)]
#[command(name = "nyala", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Check(check::CheckArgs),
    Fmt(fmt::FmtArgs),
    Ir(ir::IrArgs),
    Interp(interp::InterpArgs),
    Run(run::RunArgs),
    Build(build::BuildArgs),
    Explain(explain::ExplainArgs),
    Devices(devices::DevicesArgs),
}

/// The program, and how to read it.
#[derive(Args)]
pub struct ProgramArgs {
    /// The source files of the program; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub statics: StaticArgs,
    #[command(flatten)]
    pub messages: MessageArgs,
}

/// How much the values of statics may take, which are computed when the program is compiled.
#[derive(Args)]
pub struct StaticArgs {
    /// The most operations and calls for the values of all statics together
    #[arg(long, help_heading = STATIC_LIMITS, value_name = "N", default_value_t = Limits::default().steps)]
    pub static_steps: u64,
    /// The most memory for the values of statics, in MiB
    #[arg(long, help_heading = STATIC_LIMITS, value_name = "MIB", default_value_t = Limits::default().memory >> 20)]
    pub static_memory: u64,
}

/// The heading of these arguments.
const STATIC_LIMITS: &str = "Limits of statics";

/// How source text is read.
#[derive(Args)]
pub struct ReadingArgs {
    /// The dialect of all files [default: found out for each file]
    #[arg(long, value_name = "DIALECT")]
    pub dialect: Option<DialectArg>,
    /// The generation of the prelude that the program was written against [default: what a
    /// first line `// edition: ..` says, else impala]
    #[arg(long, value_name = "EDITION")]
    pub edition: Option<EditionArg>,
    /// Leave the prelude (loops, memory, printing, math, ..) out of the program
    #[arg(long, conflicts_with = "edition")]
    pub no_prelude: bool,
}

/// How diagnostics are written.
#[derive(Args)]
pub struct MessageArgs {
    /// How to write diagnostics to standard error
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub message_format: MessageFormat,
    /// Whether diagnostics have colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

/// How native code is made.
#[derive(Args)]
pub struct NativeArgs {
    /// How much to optimise: 0 to 3
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 2, value_parser = value_parser!(u8).range(0..=3))]
    pub opt_level: u8,
    /// The processor to make code for, as LLVM names it [default: this one]. Several, such as
    /// x86-64,x86-64-v3,x86-64-v4, are versions in one file: the last one that a processor can execute runs there
    #[arg(long, value_name = "CPU", value_delimiter = ',')]
    pub target_cpu: Vec<String>,
    /// Tell debuggers of lines, functions and variables
    #[arg(short = 'g')]
    pub debug: bool,
    /// Report operations that fail when the program runs, and end it: overflow, division
    /// by zero, shifts and casts out of range, indices outside arrays of known length
    #[arg(long)]
    pub checked: bool,
    /// Signed integers wrap around on overflow, which is a mistake of the program otherwise
    #[arg(long)]
    pub wrapping: bool,
    /// Floats may be treated as real numbers: reordered, for example
    #[arg(long)]
    pub fast_math: bool,
    /// A library whose functions the program calls: a file, or `m` for the system's `libm`
    #[arg(long, value_name = "LIB")]
    pub link: Vec<OsString>,
    /// The GPU to make kernels for, such as sm_90 or gfx90a; one of each kind may be given [default: sm_70, which
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

/// What else to warn of.
#[derive(Args)]
pub struct WarnArgs {
    /// Warn of what is fine but costs time
    #[arg(long, value_name = "WHAT")]
    pub warn: Vec<Warning>,
}

/// What may cost time.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Warning {
    /// Functions that are still values after partial evaluation, with the reason
    Closures,
}

impl WarnArgs {
    /// Tells a session what was asked for.
    pub fn set(&self, session: &mut Session) {
        session.options.warn_closures = self.warn.contains(&Warning::Closures);
    }
}

/// Whether to show where the time goes.
#[derive(Args)]
pub struct TimingArgs {
    /// Print how long each phase of the compiler took
    #[arg(long)]
    pub time_passes: bool,
}

/// The heading of these arguments. Each names it: a heading for all would hold for what
/// follows them too.
const LIMITS: &str = "Limits of partial evaluation";

/// How far partial evaluation goes.
#[derive(Args)]
pub struct EvaluationArgs {
    /// The most specializations
    #[arg(long, alias = "pe-specialisations", help_heading = LIMITS, value_name = "N", default_value_t = Budget::default().specializations)]
    pub pe_specializations: u64,
    /// The most nodes that the program grows by
    #[arg(long, help_heading = LIMITS, value_name = "N", default_value_t = Budget::default().growth)]
    pub pe_growth: u64,
    /// The most specialized calls that nest
    #[arg(long, help_heading = LIMITS, value_name = "N", default_value_t = Budget::default().depth)]
    pub pe_depth: u64,
    /// What to do when a limit is reached
    #[arg(long, help_heading = LIMITS, value_name = "WHAT", default_value = "continue")]
    pub pe_on_limit: OnLimitArg,
}

/// What to do when a limit is reached.
#[derive(Clone, Copy, ValueEnum)]
pub enum OnLimitArg {
    /// Warn, keep the calls that reached it, and continue with the rest
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
    /// A session with the program's files loaded, to make native code for.
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
        session
    }

    /// How to compile and link for a target, by default this machine.
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
        }
    }
}

impl TimingArgs {
    /// Shows how long the phases took, if that was asked for.
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

/// The generations of the prelude, as arguments.
#[derive(Clone, Copy, ValueEnum)]
pub enum EditionArg {
    /// What new programs are written against
    Impala,
    /// Generators take their body first, as in Artic
    Artic,
    /// As programs of 2015 know it: `@f(..)` runs the partial evaluator, `$f(..)` halts it
    #[value(name = "2015")]
    E2015,
    /// As programs of 2018 know it
    #[value(name = "2018")]
    E2018,
    /// As programs of 2019 know it
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

/// How diagnostics are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// Drawn for people
    Human,
    /// One JSON object per line
    Json,
}

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless the environment variable NO_COLOR is set
    Auto,
    Always,
    Never,
}

impl ProgramArgs {
    /// A session with the program's files loaded.
    pub fn session(&self) -> Session {
        let mut session = Session::new(self.reading.options());
        let StaticArgs { static_steps, static_memory } = self.statics;
        session.options.statics =
            Limits { steps: static_steps, memory: static_memory.saturating_mul(1 << 20) };
        for path in &self.files {
            session.load(path);
        }
        session
    }
}

impl ReadingArgs {
    /// The driver's options for these arguments.
    pub fn options(&self) -> Options {
        let dialect = self.dialect.map(|dialect| match dialect {
            DialectArg::Impala => Dialect::Impala,
            DialectArg::Artic => Dialect::Artic,
        });
        let prelude = match self.edition {
            _ if self.no_prelude => Prelude::Absent,
            None => Prelude::AsWritten,
            Some(edition) => Prelude::Edition(edition.into()),
        };
        Options { dialect, prelude, ..Options::default() }
    }
}
