//! The cost of parallel loops and tasks, compared with OpenMP and rayon.
//!
//! `bench/threads` has the same cases as an Impala program, as a C program for GCC and its libgomp, and as a Rust
//! program with rayon. All use the wall clock, so the machine must be idle. The script `run.sh` runs them
//! alternately; with `--bundle FOLDER` the executables and the script are written to a folder, for a machine
//! without compilers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::process::{build_nyala, run_measured, succeed};
use super::{Peer, Row};
use crate::files;

/// The number of runs of each program; the best time counts.
const ROUNDS: usize = 5;
const QUICK_ROUNDS: usize = 1;

/// The processor of the executables: the bundle may run on another machine.
const CPU: &str = "x86-64-v3";

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let folder = files::repository().join("target/bench/threads");
    write_bundle(&folder)?;
    let rounds = if quick { QUICK_ROUNDS } else { ROUNDS };
    let run = run_measured(Command::new(folder.join("run.sh")).arg(rounds.to_string()), None)?;
    let text = String::from_utf8(run.output).context("the script prints text")?;
    let rows: Vec<[Row; 2]> = text.lines().map(rows).collect::<anyhow::Result<_>>()?;
    Ok(rows.into_iter().flatten().collect())
}

/// Writes the executables and the script that runs them.
pub fn write_bundle(folder: &Path) -> anyhow::Result<()> {
    let nyala = build_nyala()?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let sources = files::repository().join("bench/threads");
    let mut build = Command::new(nyala);
    build.args(["build", "-O3", "-o"]).arg(folder.join("nyala")).arg(sources.join("launch.impala"));
    if cfg!(target_arch = "x86_64") {
        build.args(["--target-cpu", CPU]);
    }
    succeed(&mut build)?;
    build_libgomp(&sources.join("launch.c"), folder)?;
    build_rayon(&sources.join("rayon"), folder)?;
    fs::copy(sources.join("run.sh"), folder.join("run.sh"))?;
    Ok(())
}

/// Compiles the peer with GCC. It contains its libgomp, because other machines may have none.
fn build_libgomp(source: &Path, folder: &Path) -> anyhow::Result<()> {
    let found = run_measured(Command::new("gcc").arg("-print-file-name=libgomp.a"), None)?;
    let libgomp = PathBuf::from(String::from_utf8_lossy(&found.output).trim());
    let object = folder.join("launch.o");
    succeed(Command::new("gcc").args(["-O2", "-fopenmp", "-c", "-o"]).arg(&object).arg(source))?;
    let mut link = Command::new("gcc");
    link.arg(&object).arg(libgomp).args(["-lpthread", "-ldl", "-o"]).arg(folder.join("libgomp"));
    succeed(&mut link)?;
    fs::remove_file(object)?;
    Ok(())
}

/// Compiles the peer with rayon, a package of its own.
fn build_rayon(package: &Path, folder: &Path) -> anyhow::Result<()> {
    let target = files::repository().join("target/bench/rayon");
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--quiet", "--locked", "--manifest-path"]);
    build.arg(package.join("Cargo.toml")).arg("--target-dir").arg(&target);
    if cfg!(target_arch = "x86_64") {
        build.env("RUSTFLAGS", format!("-Ctarget-cpu={CPU}"));
    }
    succeed(&mut build)?;
    fs::copy(target.join("release/launch-rayon"), folder.join("rayon"))?;
    Ok(())
}

/// A line of the script: threads, case and our microseconds; and for each peer its name, its microseconds and the
/// ratio.
fn rows(line: &str) -> anyhow::Result<[Row; 2]> {
    let mut fields = line.split_whitespace();
    let mut field = || fields.next().with_context(|| format!("this is not a result: {line}"));
    let (threads, case, ours) = (field()?, field()?, field()?.parse()?);
    let mut row = || -> anyhow::Result<Row> {
        let (peer, value, _ratio) = (field()?, field()?.parse()?, field()?);
        Ok(Row {
            case: format!("{case}, {threads} threads, {peer}"),
            unit: "us",
            ours,
            peer: Some(Peer { name: peer.to_owned(), value }),
            checked: false,
        })
    };
    Ok([row()?, row()?])
}
