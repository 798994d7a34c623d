//! `cargo xtask device-bundle`: a folder of executables with kernels, for machines that have a
//! GPU and its driver and nothing else.
//!
//! The programs are those of `tests/gpu`, each for every platform that executables can be made
//! for. A script runs them and compares what they print with what they should. Another one
//! measures the kernels of `bench/gpu`, against CUDA C++ if there is a compiler for that.

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
sanitize=
cuda_only=
for option in "$@"; do
    case "$option" in
        --sanitize) sanitize=yes ;;
        --cuda-only) cuda_only=yes ;;
        *) echo "usage: run.sh [--sanitize] [--cuda-only]"; exit 98 ;;
    esac
done
say() { printf '%-40s %s\n' "$1" "$2"; }
for program in tests/*; do
    name=$(basename "$program")
    case "$program" in *.opencl) [ "$cuda_only" ] && continue ;; esac
    if "$program" > "out.$$" 2> "err.$$" && [ "$(cat "out.$$")" = "$(cat "expected/${name%.*}")" ]; then
        say "$name" ok
    else
        say "$name" FAILED
        diff "out.$$" "expected/${name%.*}" | head -5
        head -5 "err.$$"
        failures=$((failures + 1))
    fi
    if [ "$sanitize" ]; then
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

/// What measures kernels: ours and those in CUDA C++, in turns, the best of three each.
const BENCH: &str = r#"#!/bin/sh
# Measures kernels against the same ones in CUDA C++, which nvcc compiles here: microseconds for
# one launch, ours and theirs, and the ratio, which is above 1 where ours are faster.
cd "$(dirname "$0")/bench" || exit 99
rm -f ours peers.txt
nvcc -O3 -arch=native -o peers peers.cu || exit 98
for round in 1 2 3; do
    ./kernels >> ours || exit 97
    ./peers >> peers.txt || exit 96
done
awk '
    NR == FNR { if (!($1 in ours) || $2 < ours[$1]) ours[$1] = $2; value[$1] = $3; next }
    { if (!($1 in peer)) order[++n] = $1; if (!($1 in peer) || $2 < peer[$1]) peer[$1] = $2; theirs[$1] = $3 }
    END {
        for (i = 1; i <= n; ++i) {
            name = order[i]
            if (!(name in ours)) { printf "%-12s %12s %12.2f\n", name, "", peer[name]; continue }
            same = value[name] == theirs[name] ? "same result" : "RESULTS " value[name] " " theirs[name]
            printf "%-12s %12.2f %12.2f %8.3f  %s\n", name, ours[name], peer[name], peer[name] / ours[name], same
        }
    }' ours peers.txt
"#;

pub fn run(args: &DeviceBundleArgs) -> anyhow::Result<()> {
    let nyala = build_compiler()?;
    let bundle = files::repository().join(&args.output);
    for folder in ["tests", "expected", "bench"] {
        fs::create_dir_all(bundle.join(folder))?;
    }
    let tests = files::with_extension("tests/gpu", "impala")?;
    for program in tests.iter().filter(|file| !file.path.starts_with("tests/gpu/on")) {
        let name = program.path.file_stem().context("a source file has a name")?;
        let expected = Expectations::parse(&program.text).map_err(anyhow::Error::msg)?;
        let lines: String = expected.out.iter().map(|line| format!("{line}\n")).collect();
        fs::write(bundle.join("expected").join(name), lines)?;
        let is_for_cuda = program.path.starts_with("tests/gpu/cuda");
        for platform in PLATFORMS.into_iter().filter(|platform| !is_for_cuda || *platform == "cuda") {
            let output = bundle.join("tests").join(name).with_extension(platform);
            let on = Path::new("tests/gpu/on");
            let platform = on.join(format!("{platform}.impala"));
            build(&nyala, args, &[&program.path, &on.join("support.impala"), &platform], &output)?;
        }
    }
    build(&nyala, args, &[Path::new("bench/gpu/kernels.impala")], &bundle.join("bench/kernels"))?;
    fs::copy(files::repository().join("bench/gpu/peers.cu"), bundle.join("bench/peers.cu"))?;
    fs::write(bundle.join("run.sh"), SCRIPT)?;
    fs::write(bundle.join("bench.sh"), BENCH)?;
    println!("{}: `sh run.sh` tests a GPU, `sh bench.sh` measures it", bundle.display());
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

fn build(nyala: &Path, args: &DeviceBundleArgs, sources: &[&Path], output: &Path) -> anyhow::Result<()> {
    let built = Command::new(nyala)
        .args(["build", "-O3", "--target-cpu", "x86-64-v2", "--gpu-arch", &args.gpu_arch, "-o"])
        .arg(output)
        .args(sources)
        .current_dir(files::repository())
        .output()?;
    match built.status.success() {
        true => Ok(()),
        false => bail!("{}: {}", output.display(), String::from_utf8_lossy(&built.stderr)),
    }
}
