//! The cost of parallel loops and tasks, compared with OpenMP.
//!
//! `bench/threads` has the same cases as an Impala program and as a C program for GCC and its libgomp. Both
//! use the wall clock, so the machine must be idle. The script `run.sh` runs them alternately; with
//! `--bundle FOLDER` the executables and the script are written to a folder, for a machine without compilers.

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
    text.lines().map(row).collect()
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
    build_peer(&sources.join("launch.c"), folder)?;
    fs::copy(sources.join("run.sh"), folder.join("run.sh"))?;
    Ok(())
}

/// Compiles the peer with GCC. It contains its libgomp, because other machines may have none.
fn build_peer(source: &Path, folder: &Path) -> anyhow::Result<()> {
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

/// A line of the script: threads, case, our microseconds, the peer's, and the ratio.
fn row(line: &str) -> anyhow::Result<Row> {
    let mut fields = line.split_whitespace();
    let mut field = || fields.next().with_context(|| format!("this is not a result: {line}"));
    let (threads, case) = (field()?, field()?);
    let (ours, peer) = (field()?.parse()?, field()?.parse()?);
    Ok(Row {
        case: format!("{case}, {threads} threads"),
        unit: "us",
        ours,
        peer: Some(Peer { name: "libgomp".into(), value: peer }),
        checked: false,
    })
}
