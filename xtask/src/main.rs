//! `cargo xtask`: checks, benchmarks and fuzzers that take longer than the ordinary tests.
//!
//! * [`tidy`]: checks the repository;
//! * [`bench`](mod@bench): benchmarks;
//! * [`device_bundle`]: programs with kernels, for machines with a GPU;
//! * [`setup`]: installs what tests of kernels need;
//! * [`sanitize`]: the runtime's threads under ThreadSanitizer and Miri;
//! * [`fuzz`]: random programs that find faults.
//!
//! `test` runs all tests of the workspace, `images` those on large pictures. [`files`] reads the repository, and
//! [`python`] installs packages of Python.

mod bench;
mod device_bundle;
mod files;
mod fuzz;
mod python;
mod sanitize;
mod setup;
mod tidy;

use std::process::ExitCode;

use clap::Parser;

/// Checks, benchmarks and fuzzing for the nyala repository.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
enum Task {
    Tidy(tidy::TidyArgs),
    Bench(bench::BenchArgs),
    DeviceBundle(device_bundle::DeviceBundleArgs),
    /// Install what tests of kernels need, where possible: an OpenCL driver, `ptxas`
    Setup,
    Fuzz(fuzz::FuzzArgs),
    Sanitize(sanitize::SanitizeArgs),
    /// Run all tests, as continuous integration does
    Test,
    /// Compare all filters of the image library with plain loops, on large pictures
    Images,
}

fn main() -> ExitCode {
    match run(Task::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Tidy(args) => tidy::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::DeviceBundle(args) => device_bundle::run(&args),
        Task::Setup => setup::run(),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Sanitize(args) => sanitize::run(&args),
        Task::Test => tidy::cargo(&["test", "--workspace"]),
        Task::Images => tidy::cargo(
            &[
                ["test", "--release", "--package", "nyala-tests", "--test", "images", "--"].as_slice(),
                &["--ignored", "--test-threads=1"],
            ]
            .concat(),
        ),
    }
}
