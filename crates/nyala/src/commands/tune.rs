//! `nyala tune`: find the fastest values of a program's parameters on this machine.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::{Args, ValueEnum, value_parser};
use nyala_driver::native::NativeOptions;
use nyala_driver::package::tuned;
use nyala_driver::session::LEVEL_THAT_ADAPTS_LANES;
use nyala_driver::tuning::{self, Parameter};
use nyala_driver::{Session, pipeline};
use nyala_testing::discover::{self, Unit, Wanted};
use nyala_testing::execute::ExecuteOptions;
use nyala_testing::tune::space::{Group, groups};
use nyala_testing::tune::{Found, Progress, TuneOptions, report, tune};

use crate::cli::ProgramArgs;
use crate::output::{self, Mode, PROGRAM_ERRORS};

/// Find the fastest values of the program's parameters on this machine
///
/// Parameters are statics with the attribute `#[tune(..)]`, which lists their candidates. The benchmarks of the
/// program that use them are measured. The values are kept in a file, nyala.tune in the folder of the package,
/// which builds for the same processor read.
#[derive(Args)]
pub struct TuneArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Tune only with benchmarks whose names contain this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// List the parameters with their values instead of tuning them
    #[arg(long)]
    list: bool,
    /// How many seconds to measure, in all
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    budget: f64,
    /// The first number of the random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u32,
    /// How many combinations are compiled at once [default: one for each processor]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// How much to optimize: 0 to 3
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 3, value_parser = value_parser!(u8).range(0..=3))]
    opt_level: u8,
    /// How to write what is found
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: FormatArg,
}

/// How the outcome is written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// A table for people
    Human,
    /// One JSON object per line
    Json,
}

pub fn run(args: TuneArgs) -> anyhow::Result<ExitCode> {
    let mut session = args.program.session_of_cases();
    session.options.adapts_lanes = args.opt_level >= LEVEL_THAT_ADAPTS_LANES;
    let mut checking = session.clone();
    let Some(program) = pipeline::check(&mut checking) else {
        return Ok(output::show_diagnostics(&mut checking, &args.program.messages)?);
    };
    let mut cases = discover::cases(&checking, &program, Wanted::Benchmarks);
    discover::make_unique(&mut cases);
    cases.retain(|case| case.platform.is_none());
    cases.retain(|case| args.filter.as_ref().is_none_or(|text| case.name.contains(text)));
    let (groups, unmeasured) = groups(&program, tuning::parameters(&checking), &cases);
    if args.list {
        output::print(&report::list(&groups, &unmeasured))?;
        return Ok(ExitCode::SUCCESS);
    }
    if groups.is_empty() {
        eprint!("{}", report::list(&groups, &unmeasured));
        anyhow::bail!(
            "there is no parameter that a benchmark measures: `#[tune(8, 16)] static tile = 8;` is one"
        );
    }
    let mut target = Target::of(&mut checking)?;
    args.tune_all(&Unit { session, cases }, &groups, &unmeasured, &mut target)
}

/// Where values are kept.
struct Target {
    path: PathBuf,
    cpu: String,
    /// What the file contains.
    text: Option<String>,
}

impl Target {
    /// The file of the program. One that cannot be read is an error before anything is measured: nothing is lost.
    fn of(session: &mut Session) -> anyhow::Result<Target> {
        let cpu =
            tuning::processor(session).context("cannot find the name of this processor without LLVM")?;
        let path = tuning::file(session).map(Path::to_owned).context("the program is not in a file")?;
        let text = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
        };
        let target = Target { path, cpu, text };
        target.updated(&[])?;
        Ok(target)
    }

    fn updated(&self, values: &[(String, Option<String>)]) -> anyhow::Result<String> {
        tuned::updated(self.text.as_deref(), &self.cpu, values).map_err(anyhow::Error::msg).with_context(
            || {
                format!(
                    "`{}` has no tuned values, and is not overwritten; mend or delete it",
                    self.path.display()
                )
            },
        )
    }

    /// Writes values. There is no file if all of them are in the source.
    fn write(&mut self, values: &[(String, Option<String>)]) -> anyhow::Result<()> {
        if self.text.is_none() && values.iter().all(|(_, value)| value.is_none()) {
            return Ok(());
        }
        let text = self.updated(values)?;
        output::write_file(&self.path, text.as_bytes(), Mode::Plain)?;
        self.text = Some(text);
        Ok(())
    }
}

impl TuneArgs {
    /// Tunes group after group; each gets its part of what is left of the budget.
    fn tune_all(
        &self,
        unit: &Unit,
        groups: &[Group],
        unmeasured: &[Parameter],
        target: &mut Target,
    ) -> anyhow::Result<ExitCode> {
        let (start, mut is_well) = (Instant::now(), true);
        let budget = Duration::try_from_secs_f64(self.budget).unwrap_or(Duration::MAX);
        for (index, group) in groups.iter().enumerate() {
            let left = budget.saturating_sub(start.elapsed()) / (groups.len() - index) as u32;
            // Even if others took longer than planned, a group gets some time.
            let share = left.max(budget / (2 * groups.len() as u32));
            let mut shown = Shown::new();
            let found = tune(unit, group, &self.options(share), &mut |progress| shown.show(group, progress));
            shown.end();
            match found? {
                Ok(found) => {
                    is_well &= found.wrong().next().is_none();
                    self.report(&found)?;
                    target.write(&chosen_values(&found))?;
                }
                Err(reason) => {
                    is_well = false;
                    eprintln!("error: the values in the source cannot be measured: {reason}");
                }
            }
        }
        if self.format == FormatArg::Human {
            self.conclude(unmeasured, target)?;
        }
        Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(PROGRAM_ERRORS) })
    }

    fn report(&self, found: &Found) -> anyhow::Result<()> {
        output::print(&match self.format {
            FormatArg::Human => report::human(found) + "\n",
            FormatArg::Json => report::json(found),
        })
    }

    fn conclude(&self, unmeasured: &[Parameter], target: &Target) -> anyhow::Result<()> {
        for parameter in unmeasured {
            output::print(&format!("no benchmark measures `{}`\n", parameter.name))?;
        }
        output::print(&match target.text {
            Some(_) => format!("the values for {} are in {}\n", target.cpu, target.path.display()),
            None => format!("no values are faster on {} than those in the source\n", target.cpu),
        })
    }

    fn options(&self, budget: Duration) -> TuneOptions {
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        TuneOptions {
            opt_level: self.opt_level,
            budget,
            seed: self.seed,
            jobs: self.jobs.map_or(processors, NonZeroUsize::get),
            execute: ExecuteOptions { native: NativeOptions::default(), leaks: false },
        }
    }
}

/// The lines of the file: a parameter with the value in the source has none.
fn chosen_values(found: &Found) -> Vec<(String, Option<String>)> {
    let values = found.group.values(&found.chosen).into_iter().zip(&found.chosen);
    values.map(|((name, value), &number)| (name, (number > 0).then_some(value))).collect()
}

/// Progress on standard error: a line that changes on a terminal.
struct Shown {
    is_terminal: bool,
    is_open: bool,
}

impl Shown {
    fn new() -> Shown {
        Shown { is_terminal: io::stderr().is_terminal(), is_open: false }
    }

    fn show(&mut self, group: &Group, progress: Progress) {
        let line = report::progress(group, progress);
        // Progress is no reason to stop.
        let _ = match self.is_terminal {
            true => write!(io::stderr(), "\r\x1b[2K{line}"),
            false => writeln!(io::stderr(), "{line}"),
        };
        self.is_open = self.is_terminal;
    }

    fn end(&mut self) {
        if self.is_open {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}
