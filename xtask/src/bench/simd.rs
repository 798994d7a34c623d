//! SIMD code: kernels for one thread, in Impala with `vectorize`, and peers.
//!
//! The kernels are in `bench/simd`, in Impala, in C and for ISPC. Each side is a shared
//! library; all of them are called with the same data, alternately, and the best processor
//! time of each counts. Sides:
//!
//! * ours with a number of lanes for each kernel, and with one lane;
//! * ours with vectors as types (`vectors.impala`);
//! * C, scalar: without vectorization by the compiler;
//! * C, vectorized by the compiler, 512 bits wide where the machine has them;
//! * ISPC, where there is an `ispc` on the path, or the environment variable `ISPC` names one.
//!
//! All may treat floats as real numbers, so results agree up to a tolerance. [`first_try`] has many smaller kernels
//! against the best C, and [`threads`] measures the speedup of two threads.

mod first_try;
mod kernels;
mod threads;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use libloading::Library;

use super::peer::Compiler;
use super::process::{build_nyala, succeed, thread_seconds};
use super::{Peer, Row};
use crate::files;
use kernels::{Inputs, KERNELS, Kernel};

/// The number of runs of each kernel on each side.
const ROUNDS: usize = 9;
const QUICK_ROUNDS: usize = 3;

/// The name of our side with vectors as types.
const VECTORS: &str = "vectors";

/// All kernels.
pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let builder = Builder::new()?;
    let sides = builder.sides()?;
    let inputs = Inputs::new();
    let mut rows = vec![];
    for kernel in KERNELS {
        rows.extend(measure(kernel, &inputs, &sides, if quick { QUICK_ROUNDS } else { ROUNDS })?);
    }
    rows.extend(builder.first_try(quick)?);
    rows.extend(threads::rows(&builder.nyala, &builder.folder, quick)?);
    Ok(rows)
}

/// The kernels at the first try only.
pub fn run_first_try(quick: bool) -> anyhow::Result<Vec<Row>> {
    Builder::new()?.first_try(quick)
}

/// A library of kernels.
struct Side {
    name: String,
    library: Library,
}

struct Builder {
    folder: PathBuf,
    nyala: PathBuf,
    compiler: Compiler,
}

impl Builder {
    fn new() -> anyhow::Result<Builder> {
        let folder = files::repository().join("target/bench/simd");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Builder { folder, nyala: build_nyala()?, compiler: Compiler::find()? })
    }

    fn first_try(&self, quick: bool) -> anyhow::Result<Vec<Row>> {
        first_try::rows(&self.nyala, &self.folder, &self.compiler, quick)
    }

    /// Ours first, then scalar C, then all others.
    fn sides(&self) -> anyhow::Result<Vec<Side>> {
        let c = files::repository().join("bench/simd/kernels.c");
        let mut sides = vec![
            self.impala("ours", |kernel| kernel.lanes)?,
            self.shared("scalar C", &["-ffast-math", "-fno-vectorize", "-fno-slp-vectorize"], &c)?,
            self.shared("C", &["-ffast-math", "-mprefer-vector-width=512"], &c)?,
            self.impala("one lane", |_| 1)?,
            self.vectors()?,
        ];
        sides.extend(self.ispc()?);
        Ok(sides)
    }

    /// Our kernels with vectors as types.
    fn vectors(&self) -> anyhow::Result<Side> {
        self.library(VECTORS, &[files::repository().join("bench/simd/vectors.impala")])
    }

    /// Our kernels, with these numbers of lanes.
    fn impala(&self, name: &str, lanes: impl Fn(&Kernel) -> u32) -> anyhow::Result<Side> {
        let choice = self.folder.join(format!("{name}.impala"));
        std::fs::write(&choice, numbers_of_lanes(lanes))
            .with_context(|| format!("cannot write {}", choice.display()))?;
        let mut all = sources();
        all.push(choice);
        self.library(name, &all)
    }

    /// A library of these files of Impala.
    fn library(&self, name: &str, sources: &[PathBuf]) -> anyhow::Result<Side> {
        let object = self.folder.join(format!("{name}.o"));
        let mut command = Command::new(&self.nyala);
        command.args(["build", "-O3", "--fast-math", "--emit", "obj", "-o"]).arg(&object);
        succeed(command.args(sources))?;
        self.shared(name, &[], &object)
    }

    /// ISPC's kernels, with 16 and with 32 lanes, if there is an ISPC.
    fn ispc(&self) -> anyhow::Result<Vec<Side>> {
        let ispc = std::env::var_os("ISPC").unwrap_or("ispc".into());
        if Command::new(&ispc).arg("--version").output().is_err() {
            return Ok(vec![]);
        }
        let source = files::repository().join("bench/simd/kernels.ispc");
        let mut sides = vec![];
        for target in ["avx512icl-x16", "avx512icl-x32"] {
            let object = self.folder.join(format!("ispc-{target}.o"));
            let mut command = Command::new(&ispc);
            command.args(["-O3", "--pic", "--opt=fast-math", &format!("--target={target}"), "-o"]);
            succeed(command.arg(&object).arg(&source))?;
            sides.push(self.shared(&format!("ISPC {target}"), &[], &object)?);
        }
        Ok(sides)
    }

    /// Compiles a file to a shared library with the C compiler.
    fn shared(&self, name: &str, options: &[&str], input: &Path) -> anyhow::Result<Side> {
        let path = self.folder.join(format!("{name}.so"));
        let mut command = self.compiler.command();
        command.args(options).args(["-shared", "-fPIC", "-o"]).arg(&path).arg(input);
        succeed(command.arg("-lm"))?;
        // SAFETY: the library was just compiled from the kernels, and has no code
        // that runs when it is loaded.
        let library = unsafe { Library::new(&path) };
        let library = library.with_context(|| format!("cannot load {}", path.display()))?;
        Ok(Side { name: name.to_owned(), library })
    }
}

/// A source file that defines the numbers of lanes.
pub(super) fn numbers_of_lanes(lanes: impl Fn(&Kernel) -> u32) -> String {
    KERNELS
        .iter()
        .map(|kernel| format!("fn @{}_lanes() -> i32 {{ {} }}\n", kernel.name, lanes(kernel)))
        .collect()
}

/// The source files of our kernels, without the numbers of lanes.
fn sources() -> Vec<PathBuf> {
    let path = |name: &str| Path::new("bench/simd").join(name).with_extension("impala");
    ["support", "mandelbrot", "aobench", "volume", "options", "nbody", "neighbours"]
        .map(|name| files::repository().join(path(name)))
        .into()
}

/// Runs a kernel on all sides, and compares ours with each of the others.
fn measure(kernel: &Kernel, inputs: &Inputs, sides: &[Side], rounds: usize) -> anyhow::Result<Vec<Row>> {
    let mut outputs = vec![vec![0u32; kernel.n_results]; sides.len()];
    let mut best = vec![f64::INFINITY; sides.len()];
    for _ in 0..rounds {
        for ((side, output), best) in sides.iter().zip(&mut outputs).zip(&mut best) {
            let before = thread_seconds();
            (kernel.run)(&side.library, inputs, output)?;
            *best = best.min(thread_seconds() - before);
        }
    }
    let mut rows = vec![];
    for (other, side) in sides.iter().enumerate().skip(1) {
        let share = kernel.differing(&outputs[0], &outputs[other]);
        let name = kernel.name;
        ensure!(
            share <= kernel.may_differ,
            "{name}: {:.2} % of the results differ from those of {}",
            100.0 * share,
            side.name
        );
        let goal = if other == 1 { format!(", goal {}x", kernel.goal) } else { String::new() };
        rows.push(Row {
            case: format!("{name} x{} / {}{goal}", kernel.lanes, side.name),
            unit: "ms",
            ours: best[0] * 1e3,
            peer: Some(Peer { name: side.name.clone(), value: best[other] * 1e3 }),
            checked: true,
        });
    }
    Ok(rows)
}
