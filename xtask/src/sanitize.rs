//! `cargo xtask sanitize`: the runtime's tests of threads under ThreadSanitizer and Miri.
//!
//! * ThreadSanitizer runs them natively, with an instrumented standard library, on several numbers of threads, and
//!   the tests of the embedding API. It reports data races.
//! * Miri interprets the smaller ones under many schedules. It reports data races, deadlocks, misuse of memory,
//!   and errors that occur only in memory models weaker than that of x86.
//!
//! Both need a nightly toolchain with the components `rust-src` and `miri`, and are bounded in time.

use std::env::consts::ARCH;
use std::process::Command;
use std::time::Instant;

use anyhow::bail;
use clap::{Args, ValueEnum};

use crate::files;

/// Run the runtime's tests of threads under ThreadSanitizer and Miri
#[derive(Args)]
pub struct SanitizeArgs {
    /// The tools; both by default
    tools: Vec<Tool>,
    /// The number of schedules that Miri tries per test
    #[arg(long, value_name = "N", default_value_t = 16)]
    seeds: u32,
}

/// A tool that checks a program while it runs.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Tool {
    /// ThreadSanitizer
    Tsan,
    Miri,
}

/// The numbers of threads for ThreadSanitizer: as many as processors, and more.
const THREADS: [&str; 3] = ["2", "4", "16"];

pub fn run(args: &SanitizeArgs) -> anyhow::Result<()> {
    let is_wanted = |tool: Tool| args.tools.is_empty() || args.tools.contains(&tool);
    check_toolchain()?;
    if is_wanted(Tool::Tsan) {
        THREADS.iter().try_for_each(|n_threads| thread_sanitizer(n_threads))?;
        embedding()?;
    }
    if is_wanted(Tool::Miri) {
        miri(args.seeds)?;
    }
    Ok(())
}

fn check_toolchain() -> anyhow::Result<()> {
    let list = ["component", "list", "--installed", "--toolchain", "nightly"];
    let installed = Command::new("rustup").args(list).output()?;
    let installed = String::from_utf8_lossy(&installed.stdout).into_owned();
    for component in ["rust-src", "miri"] {
        if !installed.lines().any(|line| line.starts_with(component)) {
            bail!(
                "nightly has no component `{component}`: `rustup component add rust-src miri --toolchain nightly`"
            );
        }
    }
    Ok(())
}

/// Runs all tests of threads; a report makes them fail.
fn thread_sanitizer(n_threads: &str) -> anyhow::Result<()> {
    let runtime = ["--package", "nyala-runtime", "--lib"];
    let of_threads = ["--", "threads::", "flow_graphs::", "devices::cache::"];
    finish(
        &format!("ThreadSanitizer, {n_threads} threads"),
        instrumented_tests().args(runtime).args(of_threads).env("NYALA_THREADS", n_threads),
    )
}

/// Runs the tests of the embedding API. LLVM and the code that it generates are not instrumented.
fn embedding() -> anyhow::Result<()> {
    let embedding = ["--package", "nyala-driver", "--test", "embed"];
    finish("ThreadSanitizer, embedding", instrumented_tests().args(embedding))
}

/// `cargo test` with ThreadSanitizer, for the standard library too.
fn instrumented_tests() -> Command {
    let mut command = cargo_nightly("target/sanitize/tsan");
    let target = format!("{ARCH}-unknown-linux-gnu");
    command.args(["test", "--quiet", "-Zbuild-std", "--target", &target]);
    command.env("RUSTFLAGS", "-Zsanitizer=thread").env("TSAN_OPTIONS", "halt_on_error=1");
    command
}

/// Runs the tests that are small enough for an interpreter, each under many schedules.
fn miri(seeds: u32) -> anyhow::Result<()> {
    let mut command = cargo_nightly("target/sanitize/miri");
    command.args([
        "miri",
        "test",
        "--quiet",
        "--package",
        "nyala-runtime",
        "--lib",
        "--",
        "threads::protocol",
        "threads::short_loops",
    ]);
    // The pool's threads never end. With isolation, time is virtual, so that runs are reproducible.
    command.env("MIRIFLAGS", format!("-Zmiri-ignore-leaks -Zmiri-many-seeds=0..{seeds}"));
    finish(&format!("Miri, {seeds} schedules"), &mut command)
}

fn cargo_nightly(target: &str) -> Command {
    let mut command = Command::new("cargo");
    // Cargo passes its toolchain to child processes; this command needs another one.
    for variable in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "RUSTDOC"] {
        command.env_remove(variable);
    }
    command.arg("+nightly").env("CARGO_TARGET_DIR", files::repository().join(target));
    command.current_dir(files::repository());
    command
}

fn finish(what: &str, command: &mut Command) -> anyhow::Result<()> {
    println!("== {what}");
    let start = Instant::now();
    if !command.status()?.success() {
        bail!("{what}: the report is above");
    }
    println!("== {what}: no reports, {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
