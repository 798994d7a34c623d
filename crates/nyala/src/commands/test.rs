//! `nyala test`: run the tests of a program.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use nyala_driver::{pipeline, without_controls};
use nyala_testing::discover::{self, Unit, Wanted};
use nyala_testing::execute::{ExecuteOptions, Mode};
use nyala_testing::report::{Format, Reporter};
use nyala_testing::run::{self, TestOptions};

use crate::cli::ProgramArgs;
use crate::output::{self, PROGRAM_ERRORS};

/// Run the tests of a program
///
/// Tests are functions with the attribute `#[test]`, and the examples in documentation comments. Each is run in
/// the checked interpreter and as native code, in a process of its own.
#[derive(Args)]
pub struct TestArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Run only tests whose names contain this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// List the tests instead of running them
    #[arg(long)]
    list: bool,
    /// How to run each test; may be given several times [default: interp, O0, O3]
    #[arg(long, value_name = "MODE")]
    mode: Vec<ModeArg>,
    /// How many tests run at once [default: one for each processor]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// How many seconds a test may take in one mode
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    timeout: f64,
    /// How often a test with generated arguments is called
    #[arg(long, value_name = "N", default_value_t = 100)]
    cases: u32,
    /// Chooses the generated arguments
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u32,
    /// Accept memory that is never released
    #[arg(long)]
    allow_leaks: bool,
    /// How to write results
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: FormatArg,
}

/// The ways to run a test, as arguments.
#[derive(Clone, Copy, ValueEnum)]
enum ModeArg {
    /// In the checked interpreter
    Interp,
    /// As native code without optimization
    #[value(name = "O0")]
    O0,
    #[value(name = "O1")]
    O1,
    #[value(name = "O2")]
    O2,
    /// As native code, as fast as possible
    #[value(name = "O3")]
    O3,
}

/// How results are written.
#[derive(Clone, Copy, ValueEnum)]
enum FormatArg {
    /// For people
    Human,
    /// One JSON object per line
    Json,
    /// XML, as JUnit writes it
    Junit,
}

pub fn run(args: TestArgs) -> anyhow::Result<ExitCode> {
    let session = args.program.session_of_cases();
    let mut units = vec![];
    let others = if args.program.is_whole_package() { session.test_programs() } else { vec![] };
    for session in std::iter::once(session).chain(others) {
        let mut checking = session.clone();
        let Some(program) = pipeline::check(&mut checking) else {
            return Ok(output::show_diagnostics(&mut checking, &args.program.messages)?);
        };
        let examples = discover::examples(&session);
        units.push(Unit { cases: discover::cases(&checking, &program, Wanted::Tests), session });
        units.extend(examples);
    }
    discover::make_unique(units.iter_mut().flat_map(|unit| &mut unit.cases));
    for unit in &mut units {
        unit.cases.retain(|case| args.filter.as_ref().is_none_or(|text| case.name.contains(text)));
    }
    units.retain(|unit| !unit.cases.is_empty());
    if let Some(text) = args.filter.as_ref().filter(|_| units.is_empty()) {
        eprintln!("note: no test has `{}` in its name", without_controls(text));
    }
    if args.list {
        let names = units.iter().flat_map(|unit| &unit.cases).map(|case| case.name.clone() + "\n");
        output::print(&names.collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let options = args.options();
    let mut reporter = Reporter::new(args.format.into(), &units, &options.modes);
    output::print(&reporter.begin())?;
    let start = Instant::now();
    let mut failure = Ok(());
    run::run(&units, &options, |result| {
        if failure.is_ok() {
            failure = output::print(&reporter.add(result));
        }
    })?;
    failure?;
    let (text, counts) = reporter.finish(start.elapsed());
    output::print(&text)?;
    Ok(if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(PROGRAM_ERRORS) })
}

impl TestArgs {
    fn options(&self) -> TestOptions {
        let modes = match self.mode.is_empty() {
            true => vec![Mode::Interp, Mode::Native(0), Mode::Native(3)],
            false => self.mode.iter().map(|&mode| mode.into()).collect(),
        };
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        TestOptions {
            modes,
            jobs: self.jobs.map_or(processors, NonZeroUsize::get),
            timeout: Duration::try_from_secs_f64(self.timeout).unwrap_or(Duration::MAX),
            cases: self.cases as usize,
            seed: self.seed,
            execute: ExecuteOptions { leaks: !self.allow_leaks, ..ExecuteOptions::default() },
        }
    }
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Mode {
        match mode {
            ModeArg::Interp => Mode::Interp,
            ModeArg::O0 => Mode::Native(0),
            ModeArg::O1 => Mode::Native(1),
            ModeArg::O2 => Mode::Native(2),
            ModeArg::O3 => Mode::Native(3),
        }
    }
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Format {
        match format {
            FormatArg::Human => Format::Human,
            FormatArg::Json => Format::Json,
            FormatArg::Junit => Format::Junit,
        }
    }
}
