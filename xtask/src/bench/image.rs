//! Image pipelines of the library `stencil`, against OpenCV, Halide and C.
//!
//! The pipelines are in `bench/image`, without schedules, compiled into a shared library. A Python process there
//! runs them and the peers alternately, on the same pictures of three sizes, after it has compared all results. If
//! a peer has several schedules, the best one counts. Pipelines with schedules are compared with a copy.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::process::{build_nyala, succeed};
use super::{Peer, Row, python};
use crate::files;

/// The packages of the peers, and code that checks them.
const PACKAGES: [&str; 3] = ["numpy", "halide==21.0.0", "opencv-python-headless"];
const PROBE: &str = "import numpy, halide, cv2";

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let folder = files::repository().join("target/bench/image");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let Some(python) = python::environment("image-peers", &PACKAGES, PROBE) else {
        bail!("Halide and OpenCV cannot be installed: there is nothing to compare with")
    };
    let nyala = build_nyala()?;
    let library = build_library(&nyala, &folder, "pipelines")?;
    let tuned = build_library(&nyala, &folder, "tuned")?;
    let peers = build_peers(&folder)?;
    let rounds = if quick { "2" } else { "15" };
    let mut rows = vec![];
    let all = std::thread::available_parallelism()?.get();
    for threads in [1, all] {
        let threads_arg = threads.to_string();
        let mut pipelines = Command::new(&python);
        pipelines.arg(bench_file("harness.py")).args([&library, &peers]).args([&threads_arg, rounds]);
        let mut limits = Command::new(&python);
        limits.arg(bench_file("tuned.py")).arg(&tuned).args([&threads_arg, rounds]);
        for mut command in [pipelines, limits] {
            rows.extend(rows_of(&printed(&mut command)?, threads)?);
        }
    }
    rows.extend(compiling(&python, &nyala, &folder)?);
    Ok(rows)
}

fn bench_file(name: &str) -> PathBuf {
    files::repository().join("bench/image").join(name)
}

/// The output of a command that succeeds.
fn printed(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} fails:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A program of ours with the runtime, as a shared library.
fn build_library(nyala: &Path, folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let library = folder.join(name).with_extension("so");
    let mut build = Command::new(nyala);
    // Many pipelines in one program need more evaluation than a program usually has.
    build.args(["build", "-O3", "--fast-math", "--pe-specializations", "1000000", "--pe-growth", "8000000"]);
    build.args(["--emit", "shared", "-o"]).arg(&library);
    succeed(build.arg(bench_file(name).with_extension("impala")))?;
    Ok(library)
}

/// The pipelines in C, as a shared library.
fn build_peers(folder: &Path) -> anyhow::Result<PathBuf> {
    let library = folder.join("peers.so");
    let mut build = Command::new("cc");
    build.args(["-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC", "-o"]).arg(&library);
    succeed(build.arg(bench_file("peers.c")).arg("-lm"))?;
    Ok(library)
}

/// A row per pipeline and peer, with the best of its schedules.
fn rows_of(figures: &str, threads: usize) -> anyhow::Result<Vec<Row>> {
    let figures: Vec<Value> =
        figures.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("bad figures")?;
    let of = |figure: &Value, key: &str| figure[key].as_str().unwrap_or_default().to_owned();
    let mut rows = vec![];
    for ours in figures.iter().filter(|figure| figure["who"] == "ours") {
        if ours["right"] != true {
            bail!("{}, {}: our result is wrong", ours["case"], ours["size"]);
        }
        let is_same = |figure: &Value| figure["case"] == ours["case"] && figure["size"] == ours["size"];
        let peers = figures.iter().filter(|figure| is_same(figure) && *figure != ours);
        let mut best: Vec<(String, String, f64)> = vec![];
        for peer in peers.filter(|peer| peer["right"] != false) {
            let (who, value) = (of(peer, "who"), peer["gpixels"].as_f64().unwrap_or_default());
            let family = who.split(',').next().unwrap_or_default().to_owned();
            match best.iter_mut().find(|(known, ..)| *known == family) {
                Some(known) if value > known.2 => *known = (family, who, value),
                Some(_) => {}
                None => best.push((family, who, value)),
            }
        }
        for (_, who, value) in best {
            rows.push(Row {
                case: format!("{}, {}, {threads} thread(s), {who}", of(ours, "case"), of(ours, "size")),
                unit: "Gpixel/s",
                ours: ours["gpixels"].as_f64().unwrap_or_default(),
                peer: Some(Peer { name: who, value }),
                checked: true,
            });
        }
    }
    Ok(rows)
}

/// The time and the memory of compiling single pipelines, evaluation included.
fn compiling(python: &Path, nyala: &Path, folder: &Path) -> anyhow::Result<Vec<Row>> {
    let pipelines = bench_file("pipelines.impala");
    let text = std::fs::read_to_string(&pipelines).context("the pipelines cannot be read")?;
    let names = text.lines().filter_map(|line| line.strip_prefix("#[export] fn ")?.split('(').next());
    let mut command = Command::new(python);
    command.arg(bench_file("compiling.py")).arg(nyala).arg(&pipelines).arg(folder).args(names);
    let figures = printed(&mut command)?;
    let mut rows = vec![];
    for line in figures.lines() {
        let figure: Value = serde_json::from_str(line).context("bad figures")?;
        for (unit, key) in [("s", "seconds"), ("MiB", "mib")] {
            let case = format!("compiling {}", figure["name"].as_str().unwrap_or_default());
            let ours = figure[key].as_f64().unwrap_or_default();
            rows.push(Row { case, unit, ours, peer: None, checked: true });
        }
    }
    Ok(rows)
}
