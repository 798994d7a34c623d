//! Image pipelines of the library `stencil`, against Halide and OpenCV.
//!
//! The pipelines are in `bench/image`, compiled into a shared library. A Python process there runs them
//! and the peers alternately, on the same pictures of 4096 x 4096 pixels, after it has checked all
//! results. If a peer has several schedules, the best one counts.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::process::{build_nyala, succeed};
use super::{Peer, Row, python};
use crate::files;

/// The packages of the peers, and code that checks them.
const PACKAGES: [&str; 3] = ["numpy", "halide==21.0.0", "opencv-python-headless"];
/// The pipelines whose compilation is measured separately.
const COMPILED: [&str; 5] = ["blur", "gauss", "harris_corners", "sharpen", "smooth_grid"];
const PROBE: &str = "import numpy, halide, cv2";

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let folder = files::repository().join("target/bench/image");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let Some(python) = python::environment("image-peers", &PACKAGES, PROBE) else {
        bail!("Halide and OpenCV cannot be installed: there is nothing to compare with")
    };
    let nyala = build_nyala()?;
    let library = build_library(&nyala, &folder)?;
    let rounds = if quick { "5" } else { "60" };
    let mut rows = vec![];
    let all = std::thread::available_parallelism()?.get();
    for threads in [1, all] {
        let script = files::repository().join("bench/image/harness.py");
        let mut command = Command::new(&python);
        command.arg(script).arg(&library).arg(threads.to_string()).arg(rounds);
        let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
        if !output.status.success() {
            bail!("{command:?} fails:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        rows.extend(rows_of(&String::from_utf8_lossy(&output.stdout), threads)?);
    }
    rows.extend(compiling(&python, &nyala, &folder)?);
    Ok(rows)
}

fn pipelines() -> PathBuf {
    files::repository().join("bench/image/pipelines.impala")
}

/// Our pipelines with the runtime, as a shared library.
fn build_library(nyala: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let (object, library) = (folder.join("pipelines.o"), folder.join("pipelines.so"));
    let mut build = Command::new(nyala);
    build.args(["build", "-O3", "--fast-math", "--emit", "obj", "-o"]).arg(&object).arg(pipelines());
    succeed(&mut build)?;
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let runtime = ["build", "--quiet", "--release", "--package", "nyala-runtime"];
    succeed(Command::new(cargo).args(runtime).current_dir(files::repository()))?;
    let runtime = nyala.with_file_name("libnyala_runtime.a");
    let mut link = Command::new("cc");
    link.args(["-shared", "-o"]).arg(&library).arg(&object).arg(&runtime).args(["-lpthread", "-lm", "-ldl"]);
    succeed(&mut link)?;
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
            bail!("{}: our result is wrong", ours["case"]);
        }
        let peers = figures.iter().filter(|figure| figure["case"] == ours["case"] && *figure != ours);
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
                case: format!("{}, {threads} thread(s), {who}", of(ours, "case")),
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
    let mut command = Command::new(python);
    let script = files::repository().join("bench/image/compiling.py");
    command.arg(script).arg(nyala).arg(pipelines()).arg(folder).args(COMPILED);
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} fails:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut rows = vec![];
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let figure: Value = serde_json::from_str(line).context("bad figures")?;
        for (unit, key) in [("s", "seconds"), ("MiB", "mib")] {
            let case = format!("compiling {}", figure["name"].as_str().unwrap_or_default());
            let ours = figure[key].as_f64().unwrap_or_default();
            rows.push(Row { case, unit, ours, peer: None, checked: true });
        }
    }
    Ok(rows)
}
