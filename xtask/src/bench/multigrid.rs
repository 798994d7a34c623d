//! Multigrid: a V-cycle of the library against one in C by hand, a whole solve against hypre and AMGCL, fused
//! passes against separate ones, and several sweeps in one pass, also against Devito. Each component has its share
//! of the rate of a copy.
//!
//! Times are those of the processor, on one thread. The cycles of all start at 0; their solutions are compared.

mod peers;

use anyhow::{Context as _, ensure};
use libloading::Library;
use nyala_driver::embed::{Compiler as Nyala, Module};

use super::peer::Compiler;
use super::process::succeed;
use super::{Peer, Row};
use crate::files;
use peers::Solver;

type Cycles = unsafe extern "C" fn(i32, i32, *const f32, *mut f32) -> f64;
type PeerCycles = unsafe extern "C" fn(i32, i32, i32, *const f32, *mut f32) -> f64;
type Solve = unsafe extern "C" fn(i32, f64, *mut f64) -> f64;
type Components = unsafe extern "C" fn(i32, i32, *mut f64);

/// The levels that `bench/multigrid/kernels.impala` has code for.
const N_LEVELS: i32 = 8;

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let (n, n_runs) = if quick { (1024, 5) } else { (4096, 10) };
    let module = Nyala::new().file(files::repository().join("bench/multigrid/kernels.impala")).compile()?;
    let compiler = Compiler::find()?;
    let library = peer(&compiler)?;
    let mut rows = cycles(&module, &library, &compiler.name, (n, n_runs))?;
    rows.push(whole_solve(&module, n, &peers::HYPRE)?);
    // Its matrices need 400 bytes per unknown.
    rows.push(whole_solve(&module, 1024, &peers::AMGCL)?);
    rows.extend(components(&module, (n, n_runs))?);
    Ok(rows)
}

fn peer(compiler: &Compiler) -> anyhow::Result<Library> {
    let folder = files::repository().join("target/bench/multigrid");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join("peer.so");
    let mut command = compiler.command();
    // As in our code, products and sums may be contracted.
    command.args(["-ffp-contract=fast", "-shared", "-fPIC", "-o"]).arg(&path);
    succeed(command.arg(files::repository().join("bench/multigrid/peer.c")).arg("-lm"))?;
    // SAFETY: the library was just compiled, and has no code that runs when it is loaded.
    unsafe { Library::new(&path) }.with_context(|| format!("cannot load {}", path.display()))
}

fn cycles(
    module: &Module,
    library: &Library,
    peer: &str,
    (n, n_runs): (i32, i32),
) -> anyhow::Result<Vec<Row>> {
    let side = n as usize + 1;
    let rhs: Vec<f32> =
        (0..side * side).map(|i| ((i % side * 7 + i / side * 13) % 101) as f32 - 50.0).collect();
    let mut solutions = vec![vec![0.0f32; side * side]; 3];
    let [expected, separate, fused] = &mut solutions[..] else { unreachable!("three solutions") };
    // SAFETY: all functions read and write the points of a side of `n` intervals.
    let (peer_time, separate_time, fused_time) = unsafe {
        let peer_cycles = library.get::<PeerCycles>(b"peer_cycles")?;
        (
            peer_cycles(n, N_LEVELS, n_runs, rhs.as_ptr(), expected.as_mut_ptr()),
            module.function::<Cycles>("separate_cycles")?(n, n_runs, rhs.as_ptr(), separate.as_mut_ptr()),
            module.function::<Cycles>("fused_cycles")?(n, n_runs, rhs.as_ptr(), fused.as_mut_ptr()),
        )
    };
    let scale = expected.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    for found in [&*separate, &*fused] {
        let difference = expected.iter().zip(found).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
        ensure!(difference <= 1e-3 * scale, "the solutions differ by {difference}, of {scale}");
    }
    let row = |case: &str, time: f64| Row {
        case: format!("V-cycle {n} x {n}, {case}"),
        unit: "ms",
        ours: time * 1e3,
        peer: Some(Peer { name: format!("C by hand, {peer}"), value: peer_time * 1e3 }),
        checked: true,
    };
    Ok(vec![row("fused", fused_time), row("separate", separate_time)])
}

/// A solve of the equation until the residual is `TOLERANCE` of that at the start.
fn whole_solve(module: &Module, n: i32, peer: &Solver) -> anyhow::Result<Row> {
    const TOLERANCE: f64 = 1e-8;
    let mut values = [0.0f64; 3];
    // SAFETY: the function writes three values.
    let time = unsafe { module.function::<Solve>("whole_solve")?(n, TOLERANCE, values.as_mut_ptr()) };
    let found = match (peer.solve)(n, TOLERANCE) {
        Ok(solved) => {
            for (ours, theirs) in values.iter().zip(&solved.solution) {
                let difference = (ours - theirs).abs();
                ensure!(difference <= 1e-5 * theirs.abs(), "the solutions are {ours} and {theirs}");
            }
            let name = format!("{}, {} iterations", peer.name, solved.iterations);
            Some(Peer { name, value: solved.seconds * 1e3 })
        }
        Err(why) => {
            eprintln!("MISSING: {}: {why:#}", peer.name);
            None
        }
    };
    Ok(Row {
        case: format!("solve to {TOLERANCE:e}, {n} x {n}, f64, {} cycles", values[2]),
        unit: "ms",
        ours: time * 1e3,
        checked: found.is_some(),
        peer: found,
    })
}

fn components(module: &Module, (n, n_runs): (i32, i32)) -> anyhow::Result<Vec<Row>> {
    let mut times = [0.0f64; 7];
    // SAFETY: the function writes seven times.
    unsafe { module.function::<Components>("components")?(n, n_runs, times.as_mut_ptr()) };
    let [apart, together, sweeps, one_pass, copy, down, up] = times.map(|time| time * 1e3);
    let devito = match peers::devito_sweeps(n, n_runs) {
        Ok(seconds) => Some(seconds * 1e3),
        Err(why) => {
            eprintln!("MISSING: Devito: {why:#}");
            None
        }
    };
    let row = |case: &str, unit: &'static str, ours: f64, peer: Option<(&str, f64)>| Row {
        case: case.to_owned(),
        unit,
        ours,
        peer: peer.map(|(name, value)| Peer { name: name.to_owned(), value }),
        // `tests/run/multigrid` compares the numbers.
        checked: true,
    };
    // The values per point that a component reads or writes at least, and its share of the rate of a copy.
    let share = |case: &str, time: f64, values: f64| {
        row(&format!("{case}: share of memory bandwidth"), "%", 100.0 * values / time / (2.0 / copy), None)
    };
    Ok(vec![
        row("residual and restriction, fused", "ms", together, Some(("separate passes", apart))),
        row("four sweeps in one pass", "ms", one_pass, Some(("a pass for each sweep", sweeps))),
        row(
            "four sweeps in one pass, and Devito",
            "ms",
            one_pass,
            devito.map(|time| ("Devito, gcc -O3", time)),
        ),
        row("copy", "ms", copy, None),
        share("residual and restriction, separate", apart, 4.25),
        share("residual and restriction, fused", together, 2.25),
        share("a pass for each sweep", sweeps, 12.0),
        share("four sweeps in one pass", one_pass, 3.0),
        share("way down, fused", down, 3.25),
        share("way up, fused", up, 3.25),
    ])
}
