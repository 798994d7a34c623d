//! Peers in programs of their own: the solvers hypre and AMGCL, and Devito, which generates stencil code.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::bench::process::{run_measured, succeed};
use crate::{files, python};

/// A solver that a program measures.
pub struct Solver {
    /// Its name.
    pub name: &'static str,
    /// Solves the equation on a grid of this number of intervals, to a tolerance.
    pub solve: fn(i32, f64) -> anyhow::Result<Solved>,
}

/// The fastest solve, and its solution at two points.
pub struct Solved {
    /// Processor time.
    pub seconds: f64,
    /// Cycles, or iterations.
    pub iterations: f64,
    /// At the center, and halfway to the left of it.
    pub solution: [f64; 2],
}

pub const HYPRE: Solver = Solver { name: "hypre PFMG", solve: hypre };
pub const AMGCL: Solver = Solver { name: "AMGCL", solve: amgcl };

fn source(name: &str) -> PathBuf {
    files::repository().join("bench/multigrid").join(name)
}

fn folder() -> PathBuf {
    files::repository().join("target/bench/multigrid")
}

/// Geometric multigrid for structured grids; needs `libhypre-dev`.
fn hypre(n: i32, tolerance: f64) -> anyhow::Result<Solved> {
    let program = folder().join("hypre");
    let mut compiler = Command::new("mpicc");
    compiler.args(["-O3", "-march=native", "-I/usr/include/hypre", "-o"]).arg(&program);
    succeed(compiler.arg(source("hypre.c")).args(["-lHYPRE", "-lm"]))?;
    let mut command = Command::new(&program);
    // Red-black Gauss-Seidel is its fastest smoother here.
    command.args([&n.to_string(), &tolerance.to_string(), "3"]);
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    solved(&mut command)
}

/// Algebraic multigrid as preconditioner; needs `libboost-dev`.
fn amgcl(n: i32, tolerance: f64) -> anyhow::Result<Solved> {
    let program = folder().join("amgcl");
    let mut compiler = Command::new("g++");
    compiler.args(["-O3", "-march=native", "-std=c++17", "-I"]).arg(amgcl_headers()?);
    succeed(compiler.arg("-o").arg(&program).arg(source("amgcl.cpp")))?;
    solved(Command::new(&program).args([&n.to_string(), &tolerance.to_string()]))
}

/// The folder of AMGCL's headers, which come with the sources of its Python package.
fn amgcl_headers() -> anyhow::Result<PathBuf> {
    const PACKAGE: &str = "pyamgcl-1.0.0.post4";
    let headers = folder().join(PACKAGE);
    if !headers.exists() {
        let mut download = Command::new("python3");
        download.args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]);
        succeed(download.arg(PACKAGE.replacen('-', "==", 1)).arg("--dest").arg(folder()))?;
        let archive = folder().join(PACKAGE).with_extension("post4.tar.gz");
        succeed(Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(folder()))?;
    }
    Ok(headers)
}

/// What a program of a solver prints.
fn solved(command: &mut Command) -> anyhow::Result<Solved> {
    let output = String::from_utf8(run_measured(command, None)?.output)?;
    let numbers: Result<Vec<f64>, _> = output.split_whitespace().map(str::parse).collect();
    let [seconds, iterations, u, v] = numbers?[..] else { bail!("it prints `{output}`") };
    ensure!(iterations > 0.0, "it does not converge");
    Ok(Solved { seconds, iterations, solution: [u, v] })
}

/// The time of four sweeps in code of Devito, in seconds.
pub fn devito_sweeps(n: i32, n_runs: i32) -> anyhow::Result<f64> {
    let python = python::environment("multigrid-peers", &["devito", "setuptools"], "import devito")
        .context("it cannot be installed")?;
    let mut command = Command::new(&python);
    command.arg(source("sweeps.py")).args([n.to_string(), n_runs.to_string()]);
    command.envs([("OMP_NUM_THREADS", "1"), ("DEVITO_ARCH", "gcc"), ("DEVITO_LANGUAGE", "C")]);
    let output = String::from_utf8(run_measured(&mut command, None)?.output)?;
    Ok(output.trim().parse()?)
}
