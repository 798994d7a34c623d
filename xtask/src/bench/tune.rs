//! What `nyala tune` finds, against schedules chosen by hand and the values in the source.
//!
//! `bench/tune` is a package with a blur, Harris corners and a product of matrices, each twice: with parameters,
//! and with the schedule that an expert has chosen for this kind of machine. A copy of it is tuned; then all
//! benchmarks are measured alternately. `nyala tune` compares the results of all combinations.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::process::{build_nyala, run_measured, succeed};
use super::{Peer, Row};
use crate::files;

/// The benchmarks; each has a twin whose name ends with [`BY_HAND`].
const CASES: [&str; 3] = ["blur", "corners", "multiply"];
const BY_HAND: &str = "_by_hand";

/// How many times everything is measured; the best one counts.
const ROUNDS: usize = 5;
const QUICK_ROUNDS: usize = 1;

/// The time of the search in seconds.
const BUDGET: &str = "300";
const QUICK_BUDGET: &str = "30";

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let nyala = build_nyala()?;
    let folder = files::repository().join("target/bench/tune");
    let [tuned, source] = ["tuned", "source"].map(|name| folder.join(name));
    copy_package(&tuned)?;
    copy_package(&source)?;
    let budget = if quick { QUICK_BUDGET } else { BUDGET };
    succeed(Command::new(&nyala).args(["tune", "--budget", budget]).current_dir(&tuned))?;
    let mut best: BTreeMap<String, f64> = BTreeMap::new();
    for _ in 0..if quick { QUICK_ROUNDS } else { ROUNDS } {
        for (package, prefix) in [(&tuned, ""), (&source, "source ")] {
            for (name, nanoseconds) in measure(&nyala, package)? {
                let old = best.entry(format!("{prefix}{name}")).or_insert(f64::INFINITY);
                *old = old.min(nanoseconds);
            }
        }
    }
    let mut rows = vec![];
    for case in CASES {
        let peers =
            [("by hand", format!("{case}{BY_HAND}")), ("the values in the source", format!("source {case}"))];
        for (name, key) in peers {
            let figure =
                |key: &str| best.get(key).map(|time| time / 1e3).with_context(|| format!("no `{key}`"));
            rows.push(Row {
                case: format!("{case}, {name}"),
                unit: "us",
                ours: figure(case)?,
                peer: Some(Peer { name: name.into(), value: figure(&key)? }),
                checked: true,
            });
        }
    }
    Ok(rows)
}

/// Copies the package, without values that were found before.
fn copy_package(to: &Path) -> anyhow::Result<()> {
    let from = files::repository().join("bench/tune");
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("cannot remove {}", to.display()))?;
    }
    fs::create_dir_all(to.join("src")).with_context(|| format!("cannot create {}", to.display()))?;
    fs::copy(from.join("nyala.toml"), to.join("nyala.toml"))?;
    for file in fs::read_dir(from.join("src"))? {
        let path: PathBuf = file?.path();
        fs::copy(&path, to.join("src").join(path.file_name().context("it is a file")?))?;
    }
    Ok(())
}

/// The smallest time of each benchmark of a package, in nanoseconds.
fn measure(nyala: &Path, package: &Path) -> anyhow::Result<Vec<(String, f64)>> {
    let mut bench = Command::new(nyala);
    bench.args(["bench", "--format", "json", "--time", "0.3"]).current_dir(package);
    let output = String::from_utf8(run_measured(&mut bench, None)?.output)?;
    let mut times = vec![];
    for line in output.lines() {
        let value: Value = serde_json::from_str(line)?;
        let name = value["name"].as_str().context("a benchmark has a name")?.to_owned();
        times.push((name, value["min_ns"].as_f64().context("a benchmark has a time")?));
    }
    ensure!(times.len() == 2 * CASES.len(), "not all benchmarks were measured:\n{output}");
    Ok(times)
}
