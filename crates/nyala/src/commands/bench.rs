//! `nyala bench`: measure the benchmarks of a program.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum, value_parser};
use nyala_driver::native::NativeOptions;
use nyala_driver::pipeline;
use nyala_driver::session::LEVEL_THAT_ADAPTS_LANES;
use nyala_testing::bench::{self, BenchOptions, Measurement};
use nyala_testing::bench_report::{self, SavedRun};
use nyala_testing::discover::{self, Case, Unit, Wanted};
use nyala_testing::execute::ExecuteOptions;

use crate::cli::ProgramArgs;
use crate::output::{self, PROGRAM_ERRORS};

/// Measure the benchmarks of a program
///
/// Benchmarks are functions with the attribute `#[bench]`. Each is compiled and measured in a process of its own.
#[derive(Args)]
pub struct BenchArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Measure only benchmarks whose names contain this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// List the benchmarks instead of measuring them
    #[arg(long)]
    list: bool,
    /// How much to optimize: 0 to 3
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 3, value_parser = value_parser!(u8).range(0..=3))]
    opt_level: u8,
    /// The processor to make code for, as LLVM names it [default: this one]
    #[arg(long, value_name = "CPU")]
    target_cpu: Option<String>,
    /// How many seconds each benchmark is measured
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    time: f64,
    /// How many seconds compiling and measuring a benchmark may take
    #[arg(long, value_name = "SECONDS", default_value_t = 300.0)]
    timeout: f64,
    /// Save the measurements under this name, in target/nyala-bench
    #[arg(long, value_name = "NAME")]
    save: Option<String>,
    /// Compare with measurements that were saved under this name
    #[arg(long, value_name = "NAME")]
    compare: Option<String>,
    /// How to write measurements
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: FormatArg,
}

/// How measurements are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// For people
    Human,
    /// One JSON object per line
    Json,
}

pub fn run(args: BenchArgs) -> anyhow::Result<ExitCode> {
    let mut session = args.program.session_of_cases();
    session.options.cpu = args.target_cpu.clone();
    session.options.adapts_lanes = args.opt_level >= LEVEL_THAT_ADAPTS_LANES;
    let mut checking = session.clone();
    let Some(program) = pipeline::check(&mut checking) else {
        return Ok(output::show_diagnostics(&mut checking, &args.program.messages)?);
    };
    let mut cases = discover::cases(&checking, &program, Wanted::Benchmarks);
    discover::make_unique(&mut cases);
    cases.retain(|case| args.filter.as_ref().is_none_or(|text| case.name.contains(text)));
    if args.list {
        output::print(&cases.iter().map(|case| case.name.clone() + "\n").collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let old = match &args.compare {
        Some(name) => SavedRun::load(name).with_context(|| format!("cannot read the run `{name}`"))?,
        None => SavedRun::default(),
    };
    let is_well = args.measure_all(&Unit { session, cases }, &old)?;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(PROGRAM_ERRORS) })
}

impl BenchArgs {
    /// Measures, writes and saves; whether all benchmarks were measured.
    fn measure_all(&self, unit: &Unit, old: &SavedRun) -> anyhow::Result<bool> {
        let (options, mut new, mut is_well) = (self.options(), SavedRun::default(), true);
        let width = unit.cases.iter().map(|case| case.name.chars().count()).max().unwrap_or(0).max(20);
        if self.format == FormatArg::Human {
            output::print(&bench_report::headline(width))?;
        }
        for case in &unit.cases {
            match bench::measure(unit, case, &options)? {
                Ok(measurement) => {
                    output::print(&self.line(case, &measurement, old, width))?;
                    new.add(case, &measurement);
                }
                Err(report) => {
                    is_well = false;
                    eprint!("error: `{}` at {} was not measured\n{report}", case.name, case.place);
                }
            }
        }
        if let Some(name) = &self.save {
            new.save(name).with_context(|| format!("cannot save the run `{name}`"))?;
        }
        Ok(is_well)
    }

    fn line(&self, case: &Case, measurement: &Measurement, old: &SavedRun, width: usize) -> String {
        let change = old.change(case, measurement);
        match self.format {
            FormatArg::Human => bench_report::human(case, measurement, change, width),
            FormatArg::Json => bench_report::json(case, measurement, change),
        }
    }

    fn options(&self) -> BenchOptions {
        let seconds = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let mut native = NativeOptions::default();
        native.llvm.cpu = self.target_cpu.clone();
        BenchOptions {
            opt_level: self.opt_level,
            time: seconds(self.time),
            timeout: seconds(self.timeout),
            execute: ExecuteOptions { native, leaks: false },
        }
    }
}
