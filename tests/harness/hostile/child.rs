//! One input in a separate process: on the stack of its main thread, with measured memory
//! and time.
//!
//! The process is this test itself, started with `--child NAME SIZE STAGE`. It writes the
//! code of the first error, if any, and fails if it needs too much time or memory.

use std::process::{Command, ExitCode};
use std::time::Duration;

use libtest_mimic::Failed;
use nyala_driver::{Options, Prelude, Report, Session, pipeline};
use nyala_interp::Io;
use nyala_tests::clock::Clock;

/// The limit of processor time in seconds. Builds with checks are slow,
/// so the limit is generous: it detects superlinear growth.
const TIME_LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 5 });

/// The limit of memory in KiB.
const MEMORY_LIMIT: u64 = 1 << 20;

/// The limit of executed steps.
const MAX_STEPS: u64 = 100_000;

/// The stages that an input passes through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    Check,
    Format,
    Emit,
    Interpret,
}

const STAGES: [Stage; 4] = [Stage::Check, Stage::Format, Stage::Emit, Stage::Interpret];

/// Processes an input; returns the code of the first error.
pub fn start(name: &str, size: usize, stage: Stage) -> Result<Option<String>, Failed> {
    let itself = std::env::current_exe()?;
    let stage_name = format!("{stage:?}");
    let output = Command::new(itself).args(["--child", name, &size.to_string(), &stage_name]).output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{stage:?} at size {size}: {}\n{stderr}", output.status).into());
    }
    let code = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok((!code.is_empty()).then_some(code))
}

/// Processes the input if this process was started for it.
pub fn run_if_child() -> Option<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [flag, name, size, stage] = &args[..] else { return None };
    if flag != "--child" {
        return None;
    }
    let stage = STAGES.into_iter().find(|it| format!("{it:?}") == *stage)?;
    let text = crate::text(name, size.parse().ok()?)?;
    Some(match process(text, stage) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    })
}

fn process(mut text: String, stage: Stage) -> Result<(), String> {
    end_at_time_limit();
    let clock = Clock::start();
    let mut session = Session::new(Options { prelude: Prelude::Absent, ..Options::default() });
    if stage == Stage::Interpret && text.starts_with("fn f(x: i32) -> i32") {
        text.push_str("fn main() -> i32 { f(0) }\n");
    }
    session.add_text("hostile.impala", text);
    match stage {
        Stage::Check => drop(pipeline::check(&mut session)),
        Stage::Format => drop(pipeline::format(&mut session)),
        Stage::Emit => drop(pipeline::emit(&mut session)),
        Stage::Interpret => interpret(&mut session),
    }
    if let Some(first) = session.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        println!("{}", first.code);
    }
    check_limits(&mut session, &clock)
}

fn interpret(session: &mut Session) {
    let Some(world) = pipeline::emit(session) else { return };
    let options = nyala_interp::Options { steps: Some(MAX_STEPS), ..nyala_interp::Options::default() };
    let (output, input, nanos) = (&mut std::io::sink(), &mut std::io::empty(), &mut || 0);
    pipeline::interp(session, &world, &options, Io { output, input, nanos });
}

/// Renders the diagnostics, and checks time and memory.
fn check_limits(session: &mut Session, clock: &Clock) -> Result<(), String> {
    let report = Report::new(std::mem::take(&mut session.diagnostics));
    let drawn = report.human(&session.sources, false) + &report.json(&session.sources);
    if clock.elapsed() > TIME_LIMIT {
        return Err(format!("it took {:?}", clock.elapsed()));
    }
    // 100 errors and 100 warnings of a few lines each, twice.
    if drawn.len() > 1 << 20 {
        return Err(format!("its report has {} bytes", drawn.len()));
    }
    match peak_memory() {
        Some(peak) if peak > MEMORY_LIMIT => Err(format!("it took {} MiB of memory", peak >> 10)),
        _ => Ok(()),
    }
}

/// The peak memory of this process in KiB; none if the system does not report it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Ends the process with an error at the time limit.
fn end_at_time_limit() {
    std::thread::spawn(|| {
        std::thread::sleep(10 * TIME_LIMIT);
        eprintln!("it does not end");
        std::process::exit(1);
    });
}
