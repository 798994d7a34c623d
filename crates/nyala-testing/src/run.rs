//! Runs tests in parallel, each in a process of its own.
//!
//! The tree of processes: this one starts a *job* for each unit and mode, which compiles the unit. The job starts a
//! *supervisor* for each case, and the supervisor an *attempt*, which calls the test. An attempt that fails may
//! be followed by others with smaller generated arguments. Results go back as lines of JSON.

use std::io;
use std::time::{Duration, Instant};

use nyala_ir::Prim;
use nyala_runtime::devices::Device;
use serde_json::{Value, json};

use crate::discover::{Case, Platform, Unit};
use crate::execute::{Compiled, ExecuteOptions, Mode, compile};
use crate::process::{Ended, Nap, Process, Scratch, spawn};
use crate::property;

/// How tests are run.
#[derive(Clone, Debug)]
pub struct TestOptions {
    /// The ways to run each test.
    pub modes: Vec<Mode>,
    /// How many processes work at once.
    pub jobs: usize,
    /// How long a test may take in one mode.
    pub timeout: Duration,
    /// How often a test with generated arguments is called.
    pub cases: usize,
    /// Chooses the generated arguments.
    pub seed: u32,
    /// How programs are compiled and run.
    pub execute: ExecuteOptions,
}

/// What became of a case in one mode.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The unit.
    pub unit: usize,
    /// The case of the unit.
    pub case: usize,
    /// The way that it was run.
    pub mode: Mode,
    /// What became of it.
    pub outcome: Outcome,
    /// How long it took, without compiling.
    pub seconds: f64,
    /// What it printed, to both streams, and what the compiler reported.
    pub output: String,
}

/// What became of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is as it should be.
    Passed,
    /// It is not, for this reason.
    Failed(String),
    /// It was not run, for this reason.
    Skipped(String),
}

/// Shrinking ends after this time.
const SHRINK_TIME: Duration = Duration::from_secs(5);

/// Runs all cases of all units in all modes, and tells `each` result as soon as it is there.
pub fn run(units: &[Unit], options: &TestOptions, mut each: impl FnMut(RunResult)) -> io::Result<()> {
    let present = present_platforms(units, options)?;
    let mut waiting: Vec<(usize, Mode)> = vec![];
    for &mode in &options.modes {
        waiting.extend((0..units.len()).map(|unit| (unit, mode)));
    }
    waiting.reverse();
    // Cases of one job run at once, too, if there are fewer jobs than processors.
    let share = (options.jobs / waiting.len().max(1)).max(1);
    let (mut running, mut nap): (Vec<Job<'_>>, Nap) = (vec![], Nap::default());
    while !waiting.is_empty() || !running.is_empty() {
        while running.len() < options.jobs.max(1)
            && let Some((unit, mode)) = waiting.pop()
        {
            running.push(Job::start(units, unit, mode, options, share, &present)?);
        }
        let mut left = vec![];
        for mut job in running {
            let ended = job.process.try_wait()?;
            let results = job.new_results()?;
            if !results.is_empty() {
                nap = Nap::default();
            }
            results.into_iter().for_each(&mut each);
            match ended {
                Some(ended) => job.missing_results(ended)?.into_iter().for_each(&mut each),
                None => left.push(job),
            }
        }
        running = left;
        nap.sleep();
    }
    Ok(())
}

/// The platforms of which there is a device. A copy asks: drivers do not work in copies of the process that uses them.
fn present_platforms(units: &[Unit], options: &TestOptions) -> io::Result<Vec<Platform>> {
    let is_native = options.modes.iter().any(|mode| *mode != Mode::Interp);
    let mut present = vec![];
    for platform in Platform::ALL {
        let is_used = units.iter().flat_map(|unit| &unit.cases).any(|case| case.platform == Some(platform));
        if !is_native || !is_used {
            continue;
        }
        let has_device = || {
            let device = Device { platform: platform.number(), number: 0 };
            let devices = device.platform().and_then(|platform| platform.devices());
            i32::from(devices.map_or(true, |devices| devices.is_empty()))
        };
        if spawn(&Scratch::new()?, has_device)?.wait(options.timeout)? == Ended::Status(0) {
            present.push(platform);
        }
    }
    Ok(present)
}

// ---- Jobs -----------------------------------------------------------------------------

/// A process that compiles a unit and runs its cases.
struct Job<'u> {
    unit: usize,
    mode: Mode,
    cases: &'u [Case],
    process: Process,
    results: Scratch,
    /// What the process prints, if it fails.
    log: Scratch,
    /// How many bytes of the results were read.
    n_read: usize,
    /// The cases that have a result.
    has_result: Vec<bool>,
}

impl<'u> Job<'u> {
    fn start(
        units: &'u [Unit],
        unit: usize,
        mode: Mode,
        options: &TestOptions,
        share: usize,
        present: &[Platform],
    ) -> io::Result<Job<'u>> {
        let (results, log) = (Scratch::new()?, Scratch::new()?);
        let worker = Worker { unit: &units[unit], mode, options, share, present, results: &results };
        let process = spawn(&log, || match worker.work() {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("error: {error}");
                1
            }
        })?;
        let cases = &units[unit].cases[..];
        let has_result = vec![false; cases.len()];
        Ok(Job { unit, mode, cases, process, results, log, n_read: 0, has_result })
    }

    /// The results that came since the last time.
    fn new_results(&mut self) -> io::Result<Vec<RunResult>> {
        let bytes = self.results.read()?;
        let new = &bytes[self.n_read..];
        // A line is written at once, but may be read in parts.
        let complete = new.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.n_read += complete;
        let lines = new[..complete].split(|&byte| byte == b'\n');
        let mut results = vec![];
        for value in lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
            let result = self.result_from(&value);
            if let Some(has_result) = self.has_result.get_mut(result.case) {
                *has_result = true;
                results.push(result);
            }
        }
        Ok(results)
    }

    fn result_from(&self, value: &Value) -> RunResult {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let outcome = match text("outcome").as_str() {
            "passed" => Outcome::Passed,
            "skipped" => Outcome::Skipped(text("reason")),
            _ => Outcome::Failed(text("reason")),
        };
        RunResult {
            unit: self.unit,
            case: value["case"].as_u64().map_or(usize::MAX, |case| case as usize),
            mode: self.mode,
            outcome,
            seconds: value["seconds"].as_f64().unwrap_or_default(),
            output: text("output"),
        }
    }

    /// Failures for the cases that a process left without a result.
    fn missing_results(mut self, ended: Ended) -> io::Result<Vec<RunResult>> {
        let mut results = self.new_results()?;
        let log = String::from_utf8_lossy(&self.log.read()?).into_owned();
        for case in (0..self.cases.len()).filter(|&case| !self.has_result[case]) {
            let reason = format!("the compiler failed: {}", described(ended));
            let (unit, mode, outcome) = (self.unit, self.mode, Outcome::Failed(reason));
            results.push(RunResult { unit, case, mode, outcome, seconds: 0.0, output: log.clone() });
        }
        Ok(results)
    }
}

/// What the process of a job does.
struct Worker<'a> {
    unit: &'a Unit,
    mode: Mode,
    options: &'a TestOptions,
    share: usize,
    present: &'a [Platform],
    results: &'a Scratch,
}

impl Worker<'_> {
    fn work(&self) -> io::Result<()> {
        let mut cases: Vec<usize> = vec![];
        for (number, case) in self.unit.cases.iter().enumerate() {
            match case.platform.filter(|platform| !self.can_run(*platform)) {
                Some(platform) => {
                    let reason = format!("there is no {} device", platform.name());
                    self.tell(number, &Outcome::Skipped(reason), 0.0, "")?;
                }
                None => cases.push(number),
            }
        }
        match self.compile(&cases) {
            Ok(compiled) => self.supervise_all(&cases, &compiled),
            // One of them may be to blame: the others need not fail.
            Err(_) if cases.len() > 1 => cases.iter().try_for_each(|&case| match self.compile(&[case]) {
                Ok(compiled) => self.supervise_all(&[case], &compiled),
                Err(report) => self.not_compiled(case, &report),
            }),
            Err(report) => cases.iter().try_for_each(|&case| self.not_compiled(case, &report)),
        }
    }

    fn can_run(&self, platform: Platform) -> bool {
        self.mode == Mode::Interp || self.present.contains(&platform)
    }

    fn compile(&self, cases: &[usize]) -> Result<Compiled, String> {
        let cases: Vec<&Case> = cases.iter().map(|&case| &self.unit.cases[case]).collect();
        compile(self.unit, &cases, self.mode, &self.options.execute)
    }

    fn not_compiled(&self, case: usize, report: &str) -> io::Result<()> {
        let outcome = match self.unit.cases[case].fails {
            true => Outcome::Passed,
            false => Outcome::Failed("it does not compile".into()),
        };
        self.tell(case, &outcome, 0.0, report)
    }

    fn tell(&self, case: usize, outcome: &Outcome, seconds: f64, output: &str) -> io::Result<()> {
        let (name, reason) = match outcome {
            Outcome::Passed => ("passed", ""),
            Outcome::Failed(reason) => ("failed", &**reason),
            Outcome::Skipped(reason) => ("skipped", &**reason),
        };
        let line = json!({
            "case": case, "outcome": name, "reason": reason, "seconds": seconds, "output": output,
        });
        self.results.append(format!("{line}\n").as_bytes())
    }

    /// Runs cases that were compiled together, some of them at once.
    fn supervise_all(&self, cases: &[usize], compiled: &Compiled) -> io::Result<()> {
        let (mut running, mut nap): (Vec<Process>, Nap) = (vec![], Nap::default());
        let nothing = Scratch::new()?;
        for (number, &case) in cases.iter().enumerate() {
            if self.unit.cases[case].no_run {
                self.tell(case, &Outcome::Passed, 0.0, "")?;
                continue;
            }
            while running.len() >= self.share {
                drop_ended(&mut running)?;
                nap.sleep();
            }
            nap = Nap::default();
            running.push(spawn(&nothing, || match self.supervise(case, number, compiled) {
                Ok(()) => 0,
                Err(_) => 1,
            })?);
        }
        while !running.is_empty() {
            drop_ended(&mut running)?;
            nap.sleep();
        }
        Ok(())
    }

    /// Runs one case, which is this one of those that were compiled together.
    fn supervise(&self, case: usize, number: usize, compiled: &Compiled) -> io::Result<()> {
        let start = Instant::now();
        let parts: Vec<Prim> =
            compiled.entries[number].inputs.iter().flat_map(|input| input.parts.clone()).collect();
        let tapes: Vec<Vec<u64>> = match parts.is_empty() {
            true => vec![vec![]],
            false => (0..self.options.cases).map(|k| property::tape(&parts, self.options.seed, k)).collect(),
        };
        let mut attempt = self.attempt(number, &tapes, self.options.timeout, compiled)?;
        if let (Some(_), Some(tape)) =
            (&attempt.failure, tapes.get(attempt.last).filter(|_| !parts.is_empty()))
        {
            attempt = self.shrink(number, &parts, tape, attempt, compiled)?;
        }
        let outcome = match (attempt.failure, self.unit.cases[case].fails) {
            (None, false) => Outcome::Passed,
            (None, true) => Outcome::Failed("it does not fail, as it should".into()),
            (Some(reason), false) => Outcome::Failed(reason),
            (Some(reason), true) if attempt.is_too_long => Outcome::Failed(reason),
            (Some(_), true) => Outcome::Passed,
        };
        self.tell(case, &outcome, start.elapsed().as_secs_f64(), &attempt.output)
    }

    /// Calls a case for each list of numbers, in a process of its own.
    fn attempt(
        &self,
        number: usize,
        tapes: &[Vec<u64>],
        limit: Duration,
        compiled: &Compiled,
    ) -> io::Result<Attempt> {
        let (output, progress) = (Scratch::new()?, Scratch::new()?);
        let work = || {
            let begun = |tape: usize| {
                // Without it, the test runs all the same.
                let _ = progress.append(&(tape as u64).to_le_bytes());
            };
            let status = compiled.call(number, tapes, begun);
            let _ = progress.append(&RETURNED.to_le_bytes());
            status
        };
        let ended = spawn(&output, work)?.wait(limit)?;
        let progress: Vec<u64> = progress
            .read()?
            .chunks_exact(8)
            .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
            .collect();
        let has_returned = progress.last() == Some(&RETURNED);
        let failure = match ended {
            Ended::Status(0) if has_returned => None,
            Ended::Status(1) => Some("it failed".into()),
            Ended::TimedOut => Some(format!("it took more than {} s", limit.as_secs_f64())),
            ended => Some(described(ended)),
        };
        let last = progress.iter().rfind(|&&tape| tape != RETURNED).map_or(0, |&tape| tape as usize);
        let output = String::from_utf8_lossy(&output.read()?).into_owned();
        Ok(Attempt { failure, is_too_long: ended == Ended::TimedOut, output, last })
    }

    /// Looks for smaller arguments with which a case fails.
    fn shrink(
        &self,
        number: usize,
        parts: &[Prim],
        tape: &[u64],
        first: Attempt,
        compiled: &Compiled,
    ) -> io::Result<Attempt> {
        let (mut tape, mut smallest, start) = (tape.to_vec(), first, Instant::now());
        let case = smallest.last;
        let mut problem = None;
        let n_steps = property::shrink(parts, &mut tape, |tape| {
            let left = SHRINK_TIME.checked_sub(start.elapsed())?;
            let limit = self.options.timeout.min(left);
            match self.attempt(number, &[tape.to_vec()], limit, compiled) {
                // What runs out of time only now need not have failed.
                Ok(attempt) if attempt.is_too_long && !smallest.is_too_long => Some(false),
                Ok(attempt) if attempt.failure.is_some() => {
                    smallest = attempt;
                    Some(true)
                }
                Ok(_) => Some(false),
                Err(error) => {
                    problem = Some(error);
                    None
                }
            }
        });
        if let Some(error) = problem {
            return Err(error);
        }
        let arguments = property::shown(&compiled.entries[number].inputs, &tape);
        let steps = match n_steps {
            0 => String::new(),
            n => format!(", made smaller {n} times"),
        };
        smallest.output +=
            &format!("arguments: {arguments}\n(case {case} of seed {}{steps})\n", self.options.seed);
        Ok(smallest)
    }
}

/// What an attempt writes at its end.
const RETURNED: u64 = u64::MAX;

/// A call of a case.
struct Attempt {
    /// Why it failed, if it did.
    failure: Option<String>,
    is_too_long: bool,
    output: String,
    /// The last list of numbers that it was called with.
    last: usize,
}

fn drop_ended(processes: &mut Vec<Process>) -> io::Result<()> {
    let mut left = vec![];
    for mut process in processes.drain(..) {
        if process.try_wait()?.is_none() {
            left.push(process);
        }
    }
    *processes = left;
    Ok(())
}

/// The end of a process in words.
fn described(ended: Ended) -> String {
    match ended {
        Ended::Status(status) => format!("it ended with exit status {status}"),
        Ended::Signal(signal) => format!("it was ended by {}", signal_name(signal)),
        Ended::TimedOut => "it took too long".into(),
    }
}

fn signal_name(signal: i32) -> String {
    match signal {
        libc::SIGABRT => "SIGABRT".into(),
        libc::SIGBUS => "SIGBUS".into(),
        libc::SIGFPE => "SIGFPE".into(),
        libc::SIGILL => "SIGILL".into(),
        libc::SIGKILL => "SIGKILL".into(),
        libc::SIGSEGV => "SIGSEGV".into(),
        other => format!("signal {other}"),
    }
}
