//! Classic programs, as executables: ours in Impala, the peers in C.
//!
//! The programs are in `bench/classic`, each in both languages; [`super::peer`] chooses
//! the C compiler. Runs are interleaved and the best of each
//! counts, in processor time of the program, so that other work on the machine
//! has little influence. Both sides must print the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use super::peer::Compiler;
use super::process::{Run, build_nyala, run_measured, succeed};
use super::{Peer, Row};
use crate::files;

/// A program and its argument.
struct Case {
    name: &'static str,
    size: u32,
    quick: u32,
}

/// `reverse_complement` reads the output of `fasta` of that size.
const CASES: &[Case] = &[
    Case { name: "aobench", size: 200, quick: 64 },
    Case { name: "fannkuch_redux", size: 10, quick: 9 },
    Case { name: "fasta", size: 2_500_000, quick: 500_000 },
    Case { name: "mandelbrot", size: 2_000, quick: 1_000 },
    Case { name: "n_body", size: 4_000_000, quick: 1_000_000 },
    Case { name: "pidigits", size: 10_000, quick: 4_000 },
    Case { name: "reverse_complement", size: 10_000_000, quick: 2_000_000 },
    Case { name: "spectral_norm", size: 2_000, quick: 900 },
];

/// The number of runs of each side.
const ROUNDS: usize = 25;
const QUICK_ROUNDS: usize = 7;

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let folder = files::repository().join("target/bench/classic");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let compiler = Compiler::find()?;
    let nyala = build_nyala()?;
    let mut pairs = vec![];
    for case in CASES {
        pairs.push(Pair::build(case, quick, &folder, &nyala, &compiler)?);
    }
    for round in 0..if quick { QUICK_ROUNDS } else { ROUNDS } {
        for pair in &mut pairs {
            pair.run(round)?;
        }
    }
    let mut rows: Vec<Row> = pairs.iter().map(|pair| pair.row(&compiler)).collect();
    rows.push(mean(&rows));
    rows.push(slowest_compilation(&nyala, &folder, if quick { 2 } else { 5 })?);
    Ok(rows)
}

/// One program, in both languages.
struct Pair {
    name: &'static str,
    /// The argument; none if there is an input.
    size: Option<u32>,
    input: Option<PathBuf>,
    /// Ours and the peer.
    executables: [PathBuf; 2],
    best: [f64; 2],
}

impl Pair {
    fn build(case: &Case, quick: bool, folder: &Path, nyala: &Path, peer: &Compiler) -> anyhow::Result<Pair> {
        let size = if quick { case.quick } else { case.size };
        let executables = [folder.join(case.name), folder.join(format!("{}.peer", case.name))];
        let mut ours = Command::new(nyala);
        ours.args(["build", "-O3", "-o"]).arg(&executables[0]).args(sources(case.name));
        succeed(&mut ours)?;
        let c = files::repository().join(format!("bench/classic/{}.c", case.name));
        succeed(peer.command().arg("-o").arg(&executables[1]).arg(c).arg("-lm"))?;
        let reads = case.name == "reverse_complement";
        let input = reads.then(|| make_input(folder, size)).transpose()?;
        let size = (!reads).then_some(size);
        Ok(Pair { name: case.name, size, input, executables, best: [f64::INFINITY; 2] })
    }

    /// Runs both sides, alternating which is first.
    fn run(&mut self, round: usize) -> anyhow::Result<()> {
        let mut outputs = [vec![], vec![]];
        for turn in 0..2 {
            let side = (round + turn) % 2;
            let mut command = Command::new(&self.executables[side]);
            command.args(self.size.map(|size| size.to_string()));
            let Run { seconds, output } = run_measured(&mut command, self.input.as_deref())?;
            self.best[side] = self.best[side].min(seconds);
            outputs[side] = output;
        }
        if outputs[0] != outputs[1] {
            bail!("{}: the two sides print different results", self.name);
        }
        Ok(())
    }

    fn row(&self, compiler: &Compiler) -> Row {
        let [ours, theirs] = self.best.map(|seconds| seconds * 1e3);
        let peer = Some(Peer { name: compiler.name.clone(), value: theirs });
        Row { case: self.name.into(), unit: "ms", ours, peer, checked: true }
    }
}

/// The source files of our program.
fn sources(name: &str) -> [PathBuf; 2] {
    ["support", name].map(|name| files::repository().join(format!("bench/classic/{name}.impala")))
}

/// The output of `fasta`.
fn make_input(folder: &Path, size: u32) -> anyhow::Result<PathBuf> {
    let path = folder.join(format!("input.{size}"));
    let Run { output, .. } =
        run_measured(Command::new(folder.join("fasta.peer")).arg(size.to_string()), None)?;
    std::fs::write(&path, output).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// The geometric mean of the ratios.
fn mean(rows: &[Row]) -> Row {
    let ratios: Vec<f64> = rows.iter().filter_map(Row::ratio).collect();
    let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
    Row {
        case: "geometric mean".into(),
        unit: "times the peers",
        ours: mean.exp(),
        peer: None,
        checked: true,
    }
}

/// The program with the longest compilation at the default level.
fn slowest_compilation(nyala: &Path, folder: &Path, rounds: usize) -> anyhow::Result<Row> {
    let mut slowest = (0.0, "");
    for case in CASES {
        let mut best = f64::INFINITY;
        for _ in 0..rounds {
            let mut command = Command::new(nyala);
            command.args(["build", "-O2", "--emit", "obj", "-o"]).arg(folder.join("compiled.o"));
            best = run_measured(command.args(sources(case.name)), None)?.seconds.min(best);
        }
        slowest = if best > slowest.0 { (best, case.name) } else { slowest };
    }
    let (seconds, name) = slowest;
    let case = format!("slowest to compile: {name}");
    Ok(Row { case, unit: "ms", ours: seconds * 1e3, peer: None, checked: true })
}
