//! Programs in processes of their own, and the time they have computed.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// What a program did.
pub struct Run {
    /// The time that the processor worked for it, not counting the system's work.
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
}

/// The user time of all processes that were started from here and have ended.
fn children_seconds() -> f64 {
    const CHILDREN: i32 = -1;
    let mut usage = Usage::default();
    // SAFETY: the struct is as large as the system's on 64-bit machines, and ours.
    unsafe { getrusage(CHILDREN, &mut usage) };
    usage.user[0] as f64 + usage.user[1] as f64 * 1e-6
}
