//! The speedup of threads, and the cost of starting loops.
//!
//! `bench/simd/threads.impala` uses the wall clock: two threads
//! need two idle processors.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::super::process::{run_measured, succeed};
use super::super::{Peer, Row};
use super::kernels::KERNELS;
use super::sources;
use crate::files;

/// The number of repetitions; the best counts.
const REPEATS: usize = 40;
const QUICK_REPEATS: usize = 10;

pub fn rows(nyala: &Path, folder: &Path, quick: bool) -> anyhow::Result<Vec<Row>> {
    let executable = folder.join("threads");
    let mut command = Command::new(nyala);
    command.args(["build", "-O3", "--fast-math", "-o"]).arg(&executable);
    command.arg(files::repository().join("bench/simd/threads.impala"));
    succeed(command.args(sources()).arg(folder.join("ours.impala")))?;
    let repeats = if quick { QUICK_REPEATS } else { REPEATS };
    let run = run_measured(Command::new(&executable).arg(repeats.to_string()), None)?;
    let text = String::from_utf8(run.output).context("the program prints text")?;
    let numbers = text.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>();
    let numbers = numbers.with_context(|| format!("these are not numbers: {text}"))?;
    let [kernels @ .., launches] = &numbers[..] else { anyhow::bail!("there is no result") };
    let mut rows = vec![];
    for (kernel, micros) in KERNELS.iter().zip(kernels.chunks_exact(2)) {
        rows.push(Row {
            case: format!("{}, 2 threads / 1 thread, goal 1.85x", kernel.name),
            unit: "ms",
            ours: micros[1] / 1e3,
            peer: Some(Peer { name: "one thread".into(), value: micros[0] / 1e3 }),
            checked: true,
        });
    }
    let case = "launch of parallel(0, 0, 1000), goal 20".into();
    rows.push(Row { case, unit: "us", ours: launches / 1e3, peer: None, checked: true });
    Ok(rows)
}
