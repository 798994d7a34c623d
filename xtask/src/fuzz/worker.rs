//! The process that runs cases, and its protocol with the supervisor.
//!
//! The worker writes a line to standard error when a case begins, before each execution, and when the case is done.
//! The current program is in a file ([`current_path`]): so after a crash the supervisor knows the case, the
//! execution and the program. Other lines come from the compiler or from the
//! program that runs.

use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;

use anyhow::Context as _;
use nyala_tests::random::Random;

use super::Fuzzer;
use crate::files;

/// Runs one case: returns whether its program is accepted, that is, without errors; or describes the fault of the compiler.
pub type Action = Box<dyn Fn(&mut Case) -> Result<bool, String>>;

/// The stack for recursion in the compiler and in programs.
const STACK_BYTES: usize = 256 << 20;

/// One case of a fuzzer.
pub struct Case {
    pub seed: u64,
    pub number: u64,
    text: String,
    executions: u64,
}

impl Case {
    fn new(seed: u64, number: u64) -> Case {
        Case { seed, number, text: String::new(), executions: 0 }
    }

    /// The random numbers of the case.
    pub fn random(&self) -> Random {
        Random::new(self.seed, self.number)
    }

    /// Makes `text` the current program.
    pub fn begin(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        // Without the file, a crash is reported without its program.
        let _ = std::fs::write(current_path(std::process::id()), text);
    }

    /// Announces an execution of the program.
    pub fn execute(&mut self, how: &str) {
        self.executions += 1;
        eprintln!("{EXECUTE}{how}");
    }
}

/// The prefix of the protocol's lines.
pub const CASE: &str = "fuzz: case ";
pub const EXECUTE: &str = "fuzz: execute ";
pub const DONE: &str = "fuzz: done ";

/// A line of a worker.
#[derive(PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// A case begins.
    Case(u64),
    /// An execution begins.
    Execute(&'a str),
    /// A case has ended.
    Done {
        accepted: bool,
        finding: bool,
    },
    Other(&'a str),
}

impl Message<'_> {
    pub fn parse(line: &str) -> Message<'_> {
        if let Some(number) = line.strip_prefix(CASE).and_then(|number| number.parse().ok()) {
            return Message::Case(number);
        }
        if let Some(how) = line.strip_prefix(EXECUTE) {
            return Message::Execute(how);
        }
        match line.strip_prefix(DONE) {
            Some("accepted") => Message::Done { accepted: true, finding: false },
            Some("rejected") => Message::Done { accepted: false, finding: false },
            Some("finding") => Message::Done { accepted: false, finding: true },
            _ => Message::Other(line),
        }
    }
}

/// Runs the cases with these numbers.
pub fn work(fuzzer: &Fuzzer, seed: u64, numbers: impl Iterator<Item = u64> + Send) -> anyhow::Result<()> {
    // The worker itself reports a panic, with its program.
    panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, || work_here(fuzzer, seed, numbers))?;
        thread.join().unwrap_or_else(|_| anyhow::bail!("the fuzzer itself panicked"))
    })
}

fn work_here(fuzzer: &Fuzzer, seed: u64, numbers: impl Iterator<Item = u64>) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder())?;
    let action = (fuzzer.load)()?;
    for number in numbers {
        eprintln!("{CASE}{number}");
        let mut case = Case::new(seed, number);
        let result = panic::catch_unwind(AssertUnwindSafe(|| action(&mut case)));
        let outcome = match result.unwrap_or_else(|payload| Err(panic_message(payload.as_ref()))) {
            Ok(true) => "accepted",
            Ok(false) => "rejected",
            Err(what) => {
                report_finding(fuzzer.name, &case, &what)?;
                "finding"
            }
        };
        eprintln!("{DONE}{outcome}");
    }
    let _ = std::fs::remove_file(current_path(std::process::id()));
    Ok(())
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let message = payload.downcast_ref::<String>().map(String::as_str);
    let message = message.or(payload.downcast_ref::<&str>().copied()).unwrap_or("(no message)");
    // The message of a malformed graph would be too long.
    format!("panicked: {}", message.lines().take(8).collect::<Vec<_>>().join("\n"))
}

fn report_finding(name: &str, case: &Case, what: &str) -> anyhow::Result<()> {
    let path = finding_path(name, case.seed, case.number);
    std::fs::write(&path, &case.text).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("{}: {what}", path.display());
    Ok(())
}

/// The folder of findings.
pub fn folder() -> PathBuf {
    files::repository().join("target/fuzz")
}

/// The file with the program of a finding.
pub fn finding_path(name: &str, seed: u64, case: u64) -> PathBuf {
    folder().join(format!("{name}-{seed}-{case}.impala"))
}

/// The file with the current program of a worker.
pub fn current_path(process: u32) -> PathBuf {
    folder().join(format!("worker-{process}.impala"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_lines_differ_from_output() {
        assert_eq!(Message::parse("fuzz: case 12"), Message::Case(12));
        assert_eq!(Message::parse("fuzz: execute native, -O2"), Message::Execute("native, -O2"));
        assert_eq!(Message::parse("fuzz: done finding"), Message::Done { accepted: false, finding: true });
        assert_eq!(Message::parse("case 12"), Message::Other("case 12"));
    }
}
