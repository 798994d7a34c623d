//! `cargo xtask device-bundle`: a folder of executables with kernels, for machines that have a
//! GPU and its driver and nothing else.
//!
//! The programs are those of `tests/gpu`, each for every platform that executables can be made
//! for. A script runs them and compares what they print with what they should.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use clap::Args;
use nyala_tests::expectations::Expectations;

use crate::files;

/// Make a folder of executables that test and measure a machine's GPU
#[derive(Args)]
pub struct DeviceBundleArgs {
    /// Where to put it
    #[arg(short, long, value_name = "FOLDER", default_value = "target/device-bundle")]
    output: PathBuf,
    /// The GPU to make kernels for
    #[arg(long, value_name = "ARCH", default_value = "sm_70")]
    gpu_arch: String,
}

/// The platforms that programs are made for.
const PLATFORMS: [&str; 2] = ["cuda", "opencl"];

/// What runs the programs of a bundle.
const SCRIPT: &str = r#"#!/bin/sh
# Runs every program and compares what it prints with what it should; with `--sanitize` under
# each tool of compute-sanitizer too, with `--cuda-only` none for OpenCL. The exit status is the number of failures.
cd "$(dirname "$0")" || exit 99
failures=0
say() { printf '%-40s %s\n' "$1" "$2"; }
for program in tests/*; do
    name=$(basename "$program")
    case "$program" in *.opencl) [ "$1" = --cuda-only ] && continue ;; esac
    if "$program" > "out.$$" 2> "err.$$" && cmp -s "out.$$" "expected/${name%.*}"; then
        say "$name" ok
    else
        say "$name" FAILED
        diff "out.$$" "expected/${name%.*}" | head -5
        head -5 "err.$$"
        failures=$((failures + 1))
    fi
    if [ "$1" = --sanitize ]; then
        for tool in memcheck racecheck initcheck synccheck; do
            if compute-sanitizer --tool "$tool" --error-exitcode 9 "$program" > "out.$$" 2>&1; then
                say "$name $tool" ok
            else
                say "$name $tool" FAILED
                grep '=========' "out.$$" | head -8
                failures=$((failures + 1))
            fi
        done
    fi
done
rm -f "out.$$" "err.$$"
echo "$failures failures"
exit "$failures"
"#;

pub fn run(args: &DeviceBundleArgs) -> anyhow::Result<()> {
    let nyala = build_compiler()?;
    let bundle = files::repository().join(&args.output);
    for folder in ["tests", "expected"] {
        fs::create_dir_all(bundle.join(folder))?;
    }
    let tests = files::with_extension("tests/gpu", "impala")?;
    for program in tests.iter().filter(|file| !file.path.starts_with("tests/gpu/on")) {
        let name = program.path.file_stem().context("a source file has a name")?;
        let expected = Expectations::parse(&program.text).map_err(anyhow::Error::msg)?;
        let lines: String = expected.out.iter().map(|line| format!("{line}\n")).collect();
        fs::write(bundle.join("expected").join(name), lines)?;
        for platform in PLATFORMS {
            let output = bundle.join("tests").join(name).with_extension(platform);
            build(&nyala, args, &program.path, platform, &output)?;
        }
    }
    let script = bundle.join("run.sh");
    fs::write(&script, SCRIPT)?;
    println!("{}: `sh run.sh` runs it", bundle.display());
    Ok(())
}

fn build_compiler() -> anyhow::Result<PathBuf> {
    let built = Command::new("cargo")
        .args(["build", "--release", "-q", "-p", "nyala"])
        .current_dir(files::repository())
        .status()?;
    match built.success() {
        true => Ok(files::repository().join("target/release/nyala")),
        false => bail!("the compiler cannot be built"),
    }
}

fn build(
    nyala: &Path,
    args: &DeviceBundleArgs,
    program: &Path,
    platform: &str,
    output: &Path,
) -> anyhow::Result<()> {
    let on = Path::new("tests/gpu/on");
    let built = Command::new(nyala)
        .args(["build", "-O3", "--target-cpu", "x86-64-v2", "--gpu-arch", &args.gpu_arch, "-o"])
        .arg(output)
        .args([program, &on.join("support.impala"), &on.join(format!("{platform}.impala"))])
        .current_dir(files::repository())
        .output()?;
    match built.status.success() {
        true => Ok(()),
        false => bail!("{}: {}", program.display(), String::from_utf8_lossy(&built.stderr)),
    }
}
