//! Supervises the processes that run cases.
//!
//! Worker `k` of `n` runs the cases `first + k`, `first + k + n`, and so on. A crash or a timeout is a
//! finding, and another worker continues with the next case.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::Fuzzer;
use super::worker::{Message, current_path, finding_path};

/// The limit of processor time of an execution or its compilation. A worker that is silent for so long is looked at.
const HANG: Duration = Duration::from_secs(60);

/// A worker is replaced after this number of cases: its memory grows, for example by interned names.
const CASES_PER_WORKER: u64 = 2_000;

/// A fuzzer stops after this number of findings.
const MAX_FINDINGS: u64 = 50;

/// The number of lines that are shown from the end of a crashed worker's output.
const MAX_LAST_LINES: usize = 12;

/// The cases to run.
pub struct Plan<'a> {
    pub fuzzer: &'a Fuzzer,
    pub seed: u64,
    pub cases: Range<u64>,
    pub limit: Duration,
    pub n_workers: u64,
}

/// The counts of a run.
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
    /// The current case.
    case: u64,
    /// The current execution.
    doing: String,
    /// The end of its output.
    last_lines: VecDeque<String>,
}

impl<'a> Worker<'a> {
    fn start(plan: &'a Plan<'a>, cases: Range<u64>) -> anyhow::Result<Worker<'a>> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["fuzz", plan.fuzzer.name, "--worker", &plan.n_workers.to_string()])
            .args(["--seed", &plan.seed.to_string(), "--first", &cases.start.to_string()])
            .args(["--cases", &(cases.end - cases.start).to_string()])
            // Every kernel is new, so a cache would only grow.
            .env("POCL_KERNEL_CACHE", "0")
            // Native code that accesses memory beyond the end of an array ends at once.
            .env("NYALA_GUARD", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a worker")?;
        let stderr = process.stderr.take().context("the standard error of a worker is a pipe")?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            // The output of the program may not be UTF-8.
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                // A worker that is being replaced has no receiver.
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
            }
        });
        let doing = "start".to_owned();
        Ok(Worker { plan, process, lines, case: cases.start, doing, last_lines: VecDeque::new() })
    }

    /// Counts the cases of the worker until it ends, hangs, or the time is over; returns its last case.
    fn watch(&mut self, deadline: Instant, totals: &mut Totals) -> anyhow::Result<u64> {
        let mut step = StepTime::begin(self.process.id());
        let failure = loop {
            match self.lines.recv_timeout(HANG) {
                Ok(line) => {
                    step = StepTime::begin(self.process.id());
                    self.note(&line, totals);
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(what) = step.excess() {
                        break Some(what);
                    }
                }
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
            // There is no program if the worker crashed before it had one.
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

/// The processor time that a worker has used for its current step. On a busy machine, a step may take much longer than that.
struct StepTime {
    process: u32,
    /// At the beginning of the step, and when it was looked at last.
    start: Option<Duration>,
    last: Option<Duration>,
}

impl StepTime {
    fn begin(process: u32) -> StepTime {
        let now = processor_time(process);
        StepTime { process, start: now, last: now }
    }

    /// What is wrong with the step; none if it goes on. To be called once [`HANG`] has passed since the last call.
    fn excess(&mut self) -> Option<String> {
        let now = processor_time(self.process);
        let last = std::mem::replace(&mut self.last, now);
        match now.zip(self.start) {
            // Other systems than Linux do not say.
            None => Some(format!("took longer than {HANG:?}")),
            Some((now, start)) if now - start > HANG => {
                Some(format!("took longer than {HANG:?} of processor time"))
            }
            _ => (now == last && sleeps(self.process)).then(|| "waits for ever".to_owned()),
        }
    }
}

/// The processor time of a process until now, as Linux counts it: in hundredths of a second.
fn processor_time(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let ticks = stat_fields(&stat)?.skip(11).take(2).map(|field| field.parse::<u64>().ok());
    Some(Duration::from_millis(10 * ticks.sum::<Option<u64>>()?))
}

/// Whether all threads of a process wait for something other than a processor.
fn sleeps(process: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let mut stats = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    stats.all(|stat| stat_fields(&stat).is_some_and(|mut fields| fields.next() == Some("S")))
}

/// The fields of a line `stat` that follow the name of the program: the third one, which is the state, and so on.
fn stat_fields(stat: &str) -> Option<impl Iterator<Item = &str>> {
    // The name may have spaces; it ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn step_that_sleeps_is_an_excess_and_one_that_computes_is_not() {
        let mut waits = Command::new("sleep").arg("60").spawn().expect("there is `sleep`");
        while !sleeps(waits.id()) || processor_time(waits.id()).is_none() {}
        let mut step = StepTime::begin(waits.id());
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(step.excess().as_deref(), Some("waits for ever"));
        waits.kill().expect("it runs");
        waits.wait().expect("it has ended");

        let mut step = StepTime::begin(std::process::id());
        let start = processor_time(std::process::id());
        while processor_time(std::process::id()) == start {}
        assert_eq!(step.excess(), None);
    }
}
