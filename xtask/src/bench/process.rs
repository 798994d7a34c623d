//! Programs in separate processes, and their processor time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::files;

/// The result of a run.
pub struct Run {
    /// The processor time, including that of the system: only the sum of both
    /// is exact.
    pub seconds: f64,
    /// Its output.
    pub output: Vec<u8>,
}

/// Runs a program; it must succeed.
pub fn run_measured(command: &mut Command, input: Option<&Path>) -> anyhow::Result<Run> {
    let input = match input {
        Some(path) => File::open(path).with_context(|| format!("cannot read {}", path.display()))?.into(),
        None => Stdio::null(),
    };
    let before = children_seconds();
    let output = command.stdin(input).output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} fails:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(Run { seconds: children_seconds() - before, output: output.stdout })
}

/// Runs a program that must succeed; ignores its output.
pub fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} fails:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Builds the release version of the compiler.
pub fn build_nyala() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let build = ["build", "--quiet", "--release", "--package", "nyala"];
    succeed(Command::new(cargo).args(build).current_dir(files::repository()))?;
    let own = std::env::current_exe().context("cannot find this program")?;
    Ok(own.with_file_name("nyala").with_extension(std::env::consts::EXE_EXTENSION))
}

/// The start of `struct rusage`, and space for the rest.
#[repr(C)]
#[derive(Default)]
struct Usage {
    user: [i64; 2],
    system: [i64; 2],
    rest: [i64; 14],
}

unsafe extern "C" {
    fn getrusage(who: i32, usage: *mut Usage) -> i32;
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
}

/// The processor time of all child processes that have ended.
fn children_seconds() -> f64 {
    const CHILDREN: i32 = -1;
    let mut usage = Usage::default();
    // SAFETY: the struct has the size of the system's on 64-bit machines.
    unsafe { getrusage(CHILDREN, &mut usage) };
    let seconds = |[seconds, micros]: [i64; 2]| seconds as f64 + micros as f64 * 1e-6;
    seconds(usage.user) + seconds(usage.system)
}

/// The processor time of this thread.
pub fn thread_seconds() -> f64 {
    const THREAD_CPUTIME: i32 = 3;
    clock_seconds(THREAD_CPUTIME)
}

/// The processor time of all threads of this process.
pub fn process_seconds() -> f64 {
    const PROCESS_CPUTIME: i32 = 2;
    clock_seconds(PROCESS_CPUTIME)
}

fn clock_seconds(clock: i32) -> f64 {
    let mut time = [0i64; 2];
    // SAFETY: the system's struct has seconds and nanoseconds on 64-bit machines.
    unsafe { clock_gettime(clock, &mut time) };
    time[0] as f64 + time[1] as f64 * 1e-9
}
