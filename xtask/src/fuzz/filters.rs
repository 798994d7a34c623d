//! Programs do the same under all filters.
//!
//! Random programs and those under `tests/run` get random annotations; the interpreter
//! before evaluation, the interpreter after it, and native code must agree.
//!
//! Compiled programs may crash and evaluation may hang, so the work is done by child
//! processes: each takes the cases from a given one on, says on its standard error
//! which case it is at, and is replaced when it ends or takes too long.

use std::io::{BufRead as _, BufReader};
use std::panic;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::Args;
use nyala_driver::native::{self, LlvmOptions, NativeOptions};
use nyala_driver::{Prelude, pipeline};
use nyala_tests::equivalence::{Agreed, Outcome, Subject};
use nyala_tests::generate;
use nyala_tests::random::Random;

use super::{FuzzArgs, report_finding};
use crate::files;

#[derive(Args)]
pub struct FilterArgs {
    #[command(flatten)]
    common: FuzzArgs,
    /// Do the cases in this process; for our own use
    #[arg(long, hide = true)]
    worker: bool,
}

/// Assignments of annotations for each program.
const N_ASSIGNMENTS: u64 = 8;
/// Every so many programs, one comes from the repository.
const FROM_REPOSITORY_EVERY: u64 = 8;
/// An assignment that takes longer is a finding.
const HANG: Duration = Duration::from_secs(20);

pub fn run(args: FilterArgs) -> anyhow::Result<()> {
    if args.worker { work(&args.common) } else { supervise(&args.common) }
}

/// What was done so far.
#[derive(Default)]
struct Totals {
    programs: u64,
    assignments: u64,
    /// Programs that take too long or have no run to compare with.
    unusable: u64,
    /// Assignments that are not allowed.
    rejected: u64,
    native: u64,
    /// Runs of programs that have no native code yet.
    not_native: u64,
    findings: u64,
}

fn supervise(args: &FuzzArgs) -> anyhow::Result<()> {
    let (start, limit) = (Instant::now(), Duration::from_secs(args.time));
    let mut totals = Totals::default();
    let end = args.first.saturating_add(args.cases);
    let mut case = args.first;
    while case < end && start.elapsed() < limit {
        case = watch(args, case, end, limit.saturating_sub(start.elapsed()), &mut totals)?;
    }
    let Totals { programs, assignments, unusable, rejected, native, not_native, findings } = totals;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "filters: {programs} programs x {assignments} assignments in {seconds:.1} s; left out: {unusable} programs, \
         {rejected} assignments; native runs: {native}, without native code yet: {not_native}; {findings} findings"
    );
    ensure!(findings == 0, "{findings} findings");
    Ok(())
}

/// Lets a worker do cases from `first` on until it ends, one way or another; the case to
/// go on with.
fn watch(args: &FuzzArgs, first: u64, end: u64, limit: Duration, totals: &mut Totals) -> anyhow::Result<u64> {
    let start = Instant::now();
    let (mut child, lines) = start_worker(args.seed, first, end)?;
    let (mut case, mut assignment) = (first, 0);
    let failure = loop {
        let line = match lines.recv_timeout(HANG) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => break Some(format!("took longer than {HANG:?}")),
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait()?;
                break (!status.success()).then(|| format!("the process ended with {status}"));
            }
        };
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["case", number] => {
                (case, assignment) = (number.parse()?, 0);
                if start.elapsed() > limit {
                    break None;
                }
                totals.programs += 1;
            }
            ["assignment", number] => {
                assignment = number.parse()?;
                totals.assignments += 1;
            }
            ["unusable"] => totals.unusable += 1,
            ["rejected"] => totals.rejected += 1,
            ["native"] => totals.native += 1,
            ["not-native"] => totals.not_native += 1,
            ["finding"] => totals.findings += 1,
            _ => println!("{line}"),
        }
    };
    child.kill()?;
    child.wait()?;
    if let Some(what) = failure {
        totals.findings += 1;
        let text = text_of(args.seed, case, assignment)?;
        report_finding("filters", args.seed, case, &format!("assignment {assignment}: {what}"), &text)?;
    }
    Ok(case + 1)
}

/// A worker and what it says.
fn start_worker(seed: u64, first: u64, end: u64) -> anyhow::Result<(Child, Receiver<String>)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["fuzz", "filters", "--worker"])
        .args(["--seed", &seed.to_string(), "--first", &first.to_string()])
        .args(["--cases", &(end - first).to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start a process to work in")?;
    let stderr = BufReader::new(child.stderr.take().context("it is piped")?);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            // Nobody listens any more when the worker is being replaced.
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    Ok((child, receiver))
}

/// Program number `case`, and the numbers that are left for its annotations.
fn program(seed: u64, case: u64) -> anyhow::Result<(String, Prelude, Random)> {
    let mut random = Random::new(seed, case);
    if !case.is_multiple_of(FROM_REPOSITORY_EVERY) {
        return Ok((generate::program(&mut random), Prelude::Absent, random));
    }
    let programs = files::with_extension("tests/run", "impala")?;
    ensure!(!programs.is_empty(), "there is no program under tests/run");
    let text = random.pick(&programs).text.clone();
    Ok((text, Prelude::AsWritten, random))
}

/// The text under an assignment, once more.
fn text_of(seed: u64, case: u64, assignment: u64) -> anyhow::Result<String> {
    let (text, prelude, mut random) = program(seed, case)?;
    let Some(subject) = Subject::new(&text, prelude) else { return Ok(text) };
    (0..assignment).for_each(|_| drop(subject.assign(&mut random)));
    Ok(subject.assign(&mut random))
}

/// Does cases, and says so on the standard error.
fn work(args: &FuzzArgs) -> anyhow::Result<()> {
    // Of a malformed program there would be too much.
    panic::set_hook(Box::new(|info| {
        eprintln!("{}", info.to_string().lines().take(4).collect::<Vec<_>>().join(" "));
    }));
    for case in (0..args.cases).map(|number| args.first + number) {
        eprintln!("case {case}");
        let (text, prelude, mut random) = program(args.seed, case)?;
        let Some(subject) = Subject::new(&text, prelude) else {
            eprintln!("unusable");
            continue;
        };
        for assignment in 0..N_ASSIGNMENTS {
            eprintln!("assignment {assignment}");
            let text = subject.assign(&mut random);
            if let Err(what) = check(&subject, &text, prelude != Prelude::Absent) {
                eprintln!("finding");
                let what = format!("assignment {assignment}: {what}");
                report_finding("filters", args.seed, case, &what, &text)?;
                break;
            }
        }
    }
    Ok(())
}

/// Compares all runs of one program. One with output prints it here, so it is
/// compared in the interpreter only.
fn check(subject: &Subject, text: &str, has_output: bool) -> Result<(), String> {
    let Some(Agreed { world, mut session }) = subject.check(text)? else {
        eprintln!("rejected");
        return Ok(());
    };
    if has_output {
        return Ok(());
    }
    let Some(program) = pipeline::outline(&mut session, world) else {
        eprintln!("not-native");
        return Ok(());
    };
    for opt_level in [0, 2] {
        let llvm = LlvmOptions { opt_level, ..LlvmOptions::default() };
        let options = NativeOptions { llvm, ..NativeOptions::default() };
        let Some(status) = native::run(&mut session, &program, &options, &["program".to_owned()]) else {
            eprintln!("not-native");
            return Ok(());
        };
        eprintln!("native");
        let outcome = Outcome { status, output: String::new() };
        subject.compare(&outcome, &format!("as native code, -O{opt_level},"))?;
    }
    Ok(())
}
