//! Watches the processes that run cases.
//!
//! Worker `k` of `n` runs the cases `first + k`, `first + k + n`, and so on. When it crashes or takes too long,
//! that is a finding, and another worker goes on with its next case.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::Fuzzer;
use super::worker::{Message, current_path, finding_path};

/// An execution, or the compilation for it, that takes longer is a finding.
const HANG: Duration = Duration::from_secs(60);

/// A worker is replaced after so many cases: what processes keep, such as names, would add up.
const CASES_PER_WORKER: u64 = 2_000;

/// After so many findings a fuzzer stops: more of them say little more.
const MAX_FINDINGS: u64 = 50;

/// How many lines from the end of a crashed worker's output are shown.
const MAX_LAST_LINES: usize = 12;

/// What to run.
pub struct Plan<'a> {
    pub fuzzer: &'a Fuzzer,
    pub seed: u64,
    pub cases: Range<u64>,
    pub limit: Duration,
    pub n_workers: u64,
}

/// What was done.
#[derive(Clone, Default, Debug)]
pub struct Totals {
    pub programs: u64,
    pub executions: u64,
    pub accepted: u64,
    pub findings: u64,
    pub seconds: f64,
}

/// Runs the plan until its cases are done, its time is over, or there are too many findings.
pub fn run(plan: &Plan<'_>) -> anyhow::Result<Totals> {
    let start = Instant::now();
    let slots: Vec<anyhow::Result<Totals>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..plan.n_workers).map(|number| scope.spawn(move || supervise(plan, start, number))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join();
        threads
            .into_iter()
            .map(|thread| join(thread).unwrap_or_else(|_| anyhow::bail!("a supervisor panicked")))
            .collect()
    });
    let mut totals = Totals { seconds: start.elapsed().as_secs_f64(), ..Totals::default() };
    for slot in slots {
        let slot = slot?;
        totals.programs += slot.programs;
        totals.executions += slot.executions;
        totals.accepted += slot.accepted;
        totals.findings += slot.findings;
    }
    Ok(totals)
}

/// Runs the cases of worker `number`, in one process after the other.
fn supervise(plan: &Plan<'_>, start: Instant, number: u64) -> anyhow::Result<Totals> {
    let mut totals = Totals::default();
    let mut case = plan.cases.start.saturating_add(number);
    let max_findings = MAX_FINDINGS.div_ceil(plan.n_workers);
    while case < plan.cases.end && start.elapsed() < plan.limit && totals.findings < max_findings {
        let last = case.saturating_add((CASES_PER_WORKER - 1) * plan.n_workers);
        let end = last.saturating_add(1).min(plan.cases.end);
        let mut worker = Worker::start(plan, case..end)?;
        case = worker.watch(start + plan.limit, &mut totals)?.saturating_add(plan.n_workers);
    }
    Ok(totals)
}

struct Worker<'a> {
    plan: &'a Plan<'a>,
    process: Child,
    lines: Receiver<String>,
    /// The case that it is at.
    case: u64,
    /// What it does with it.
    doing: String,
    /// The end of what it printed.
    last_lines: VecDeque<String>,
}

impl<'a> Worker<'a> {
    fn start(plan: &'a Plan<'a>, cases: Range<u64>) -> anyhow::Result<Worker<'a>> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["fuzz", plan.fuzzer.name, "--worker", &plan.n_workers.to_string()])
            .args(["--seed", &plan.seed.to_string(), "--first", &cases.start.to_string()])
            .args(["--cases", &(cases.end - cases.start).to_string()])
            // No kernel comes a second time.
            .env("POCL_KERNEL_CACHE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a worker")?;
        let stderr = process.stderr.take().context("the standard error of a worker is a pipe")?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            // What the program prints need not be UTF-8.
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                // A worker that is being replaced has no listener.
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
            }
        });
        let doing = "start".to_owned();
        Ok(Worker { plan, process, lines, case: cases.start, doing, last_lines: VecDeque::new() })
    }

    /// Counts what the worker does until it ends, hangs, or the time is over; its last case.
    fn watch(&mut self, deadline: Instant, totals: &mut Totals) -> anyhow::Result<u64> {
        let failure = loop {
            match self.lines.recv_timeout(HANG) {
                Ok(line) => self.note(&line, totals),
                Err(RecvTimeoutError::Timeout) => break Some(format!("took longer than {HANG:?}")),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.process.wait()?;
                    break (!status.success()).then(|| format!("the process ended with {status}"));
                }
            }
            if Instant::now() > deadline {
                break None;
            }
        };
        self.process.kill()?;
        self.process.wait()?;
        let current = current_path(self.process.id());
        if let Some(what) = failure {
            totals.programs += 1;
            totals.findings += 1;
            let path = finding_path(self.plan.fuzzer.name, self.plan.seed, self.case);
            // It has none if it crashed before it had a program.
            let _ = std::fs::copy(&current, &path);
            let said: String = self.last_lines.iter().map(|line| format!("\n  {line}")).collect();
            println!("{}: {}: {what}{said}", path.display(), self.doing);
        }
        let _ = std::fs::remove_file(current);
        Ok(self.case)
    }

    fn note(&mut self, line: &str, totals: &mut Totals) {
        match Message::parse(line) {
            Message::Case(number) => {
                self.case = number;
                self.doing = "compile".into();
                self.last_lines.clear();
            }
            Message::Execute(how) => {
                totals.executions += 1;
                how.clone_into(&mut self.doing);
            }
            Message::Done { accepted, finding } => {
                totals.programs += 1;
                totals.accepted += u64::from(accepted);
                totals.findings += u64::from(finding);
                if finding {
                    self.last_lines.iter().for_each(|line| println!("{line}"));
                }
            }
            Message::Other(line) => {
                self.last_lines.push_back(line.to_owned());
                if self.last_lines.len() > MAX_LAST_LINES {
                    self.last_lines.pop_front();
                }
            }
        }
    }
}
