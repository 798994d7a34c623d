//! Programs in processes of their own, and the time they have computed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::files;

/// What a program did.
pub struct Run {
    /// The time that the processor worked for it. The system's work counts too: systems know the
    /// sum exactly, but divide it by looking at some moments what is going on.
    pub seconds: f64,
    /// What it printed.
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

/// Runs a program that must succeed, and of which nothing else matters.
pub fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} fails:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// The compiler, optimised; whoever runs a benchmark may have built another one.
pub fn build_nyala() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let build = ["build", "--quiet", "--release", "--package", "nyala"];
    succeed(Command::new(cargo).args(build).current_dir(files::repository()))?;
    let own = std::env::current_exe().context("cannot find this program")?;
    Ok(own.with_file_name("nyala").with_extension(std::env::consts::EXE_EXTENSION))
}

/// `struct rusage`, with a part of it that nobody asks for.
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

/// The processor time of all processes that were started from here and have ended.
fn children_seconds() -> f64 {
    const CHILDREN: i32 = -1;
    let mut usage = Usage::default();
    // SAFETY: the struct is as large as the system's on 64-bit machines, and ours.
    unsafe { getrusage(CHILDREN, &mut usage) };
    let seconds = |[seconds, micros]: [i64; 2]| seconds as f64 + micros as f64 * 1e-6;
    seconds(usage.user) + seconds(usage.system)
}

/// The time that the processor has worked for this thread.
pub fn thread_seconds() -> f64 {
    const THREAD_CPUTIME: i32 = 3;
    let mut time = [0i64; 2];
    // SAFETY: seconds and nanoseconds are what the system's struct has on 64-bit machines.
    unsafe { clock_gettime(THREAD_CPUTIME, &mut time) };
    time[0] as f64 + time[1] as f64 * 1e-9
}
