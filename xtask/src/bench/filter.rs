//! Image filters: the table and the sweep of Herrmann and Langhammer's paper, and the same filters in C.
//!
//! For each filter of the paper: the size of its syntax tree before and after partial evaluation, and the times of
//! the interpreter, of the interpreter on the residual tree, of compiled code, and of compiled code after partial
//! evaluation, with compilation, all by processor time. Native code runs on one thread. The peers are in
//! `bench/filter/peers.c`; they get the same planes. The sweep shows from which size on compilation pays.
//!
//! All results are compared with those of the interpreter: no intensity differs by more than one level of 255.

use std::ffi::c_int;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use libloading::Library;
use nyala_driver::{Options, Report, Session};
use nyala_filter::compile::{Compiled, compile};
use nyala_filter::interp::interpret;
use nyala_filter::render::Target;
use nyala_filter::residual::residual;
use nyala_filter::translate::{Setup, UNROLL_LEAVES};
use nyala_filter::{Filter, Picture, Rules, parse};
use nyala_span::SourceMap;

use super::peer::Compiler;
use super::process::{process_seconds, succeed};
use super::{Peer, Row};
use crate::files;

/// The filters, and the speed-ups of the paper's native code after partial evaluation.
const FILTERS: [(&str, f64); 3] = [("gradient", 75.0), ("temperature", 112.0), ("wave", 12.0)];

/// The size of the paper's table, and a smaller one for quick runs.
const SIZE: (usize, usize) = (1024, 768);
const QUICK_SIZE: (usize, usize) = (256, 192);

/// The sides of the pictures of the sweep.
const SWEEP: [usize; 8] = [50, 100, 200, 400, 600, 800, 1000, 1500];

/// The frame. `iter` is a constant of the code after partial evaluation.
const FRAME: i32 = 10;

/// The number of compilations and of runs of native code; the best time counts.
const COMPILATIONS: usize = 5;
const RUNS: usize = 100;

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let compiler = Compiler::find()?;
    let peers = peers(&compiler)?;
    let mut rows = vec![];
    for (name, goal) in FILTERS {
        let filter = load(name)?;
        rows.extend(table(name, goal, &filter, if quick { QUICK_SIZE } else { SIZE }, (&compiler, &peers))?);
    }
    rows.extend(sweep(&load("gradient")?, quick)?);
    Ok(rows)
}

fn load(name: &str) -> anyhow::Result<Filter> {
    let path = files::repository().join(format!("examples/filters/{name}.img"));
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut sources = SourceMap::default();
    let file = sources.add(name, text)?;
    parse(sources.file(file)).map_err(|errors| anyhow::anyhow!(Report::new(errors).human(&sources, false)))
}

fn peers(compiler: &Compiler) -> anyhow::Result<Library> {
    let folder = files::repository().join("target/bench/filter");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path: PathBuf = folder.join("peers.so");
    let mut command = compiler.command();
    command.args(["-shared", "-fPIC", "-o"]).arg(&path).arg(files::repository().join("bench/filter/peers.c"));
    succeed(command.arg("-lm"))?;
    // SAFETY: the library was just compiled, and has no code that runs when it is loaded.
    unsafe { Library::new(&path) }.with_context(|| format!("cannot load {}", path.display()))
}

/// A picture of smooth colours and edges.
fn picture((width, height): (usize, usize)) -> Picture {
    let value = |index: usize| {
        let (pixel, channel) = (index / 3, index % 3);
        let (row, col) = (pixel / width, pixel % width);
        let is_dark = (row / 40 + col / 40) % 2 == 0;
        let value = (row * 2 + col * (channel + 1)) % 256;
        (if is_dark { value / 2 } else { value }) as u16
    };
    Picture::from_interleaved(width, height, 3, 255, value).expect("the sizes are small")
}

/// The processor time of a run.
fn millis(mut run: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let start = process_seconds();
    run()?;
    Ok((process_seconds() - start) * 1e3)
}

fn best(n: usize, mut run: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    (0..n).map(|_| millis(&mut run)).try_fold(f64::INFINITY, |best, time| Ok(best.min(time?)))
}

fn target(filter: &Filter, picture: &Picture, specialize: bool) -> Target {
    let setup = Setup {
        rules: Rules::default(),
        specialize,
        unroll_leaves: UNROLL_LEAVES,
        n_channels: 3,
        size: (picture.width as i32, picture.height as i32),
    };
    Target::new(filter, picture, setup, specialize.then_some(FRAME))
}

fn compiled(filter: &Filter, target: &Target) -> anyhow::Result<(Compiled, Session)> {
    let mut session = Session::new(Options::default());
    let compiled = compile(&mut session, filter, target);
    let compiled = compiled.with_context(|| format!("{:?}", session.diagnostics))?;
    Ok((compiled, session))
}

/// A compiled filter with its pictures.
struct Native {
    code: Compiled,
    source: Picture,
    result: Picture,
    /// Milliseconds of compilation and of a run.
    compile: f64,
    run: f64,
}

fn native(filter: &Filter, picture: &Picture, specialize: bool) -> anyhow::Result<Native> {
    let target = target(filter, picture, specialize);
    let (code, _) = compiled(filter, &target)?;
    let compile = best(COMPILATIONS, || compiled(filter, &target).map(|_| ()))?;
    let mut source = picture.clone().with_margin(target.margin);
    let result = Picture::black(picture.width, picture.height, 3, 255).expect("the sizes are small");
    let mut result = result.with_margin(target.margin);
    let run = best(RUNS, || {
        source.fill_margin(target.setup.rules.boundary);
        let applied = code.apply(&mut source, &mut result, FRAME, 1);
        ensure!(applied.is_ok(), "an operation failed");
        Ok(())
    })?;
    Ok(Native { code, source, result, compile, run })
}

/// Whether no intensity differs by more than one level.
fn agree(a: &Picture, b: &Picture) -> bool {
    a.interleaved().zip(b.interleaved()).all(|(a, b)| a.abs_diff(b) <= 1)
}

/// The rows of a filter.
fn table(
    name: &str,
    goal: f64,
    filter: &Filter,
    size: (usize, usize),
    (compiler, peers): (&Compiler, &Library),
) -> anyhow::Result<Vec<Row>> {
    let picture = picture(size);
    let mut rows = vec![];
    let mut row = |what: &str, unit, ours, peer, checked| {
        rows.push(Row { case: format!("{name}, {what}"), unit, ours, peer, checked });
    };
    let small = target(filter, &picture, true);
    let evaluated = residual(filter, &small).context("a loop is left")?;
    row("tree before evaluation", "nodes", filter.size() as f64, None, true);
    row("tree after evaluation", "nodes", evaluated.size() as f64, None, true);

    let mut expected = None;
    let mut interpreted = |filter: &Filter| -> anyhow::Result<(f64, bool)> {
        let mut result = None;
        let time = millis(|| {
            result = interpret(filter, &picture, Rules::default(), FRAME).ok();
            Ok(())
        })?;
        let result = result.context("an operation failed")?;
        let is_right = expected.as_ref().is_none_or(|expected| agree(expected, &result));
        expected.get_or_insert(result);
        Ok((time, is_right))
    };
    let (interpreter, _) = interpreted(filter)?;
    let (interpreter_pe, is_right) = interpreted(&evaluated)?;
    let expected = expected.context("it was interpreted")?;
    row("interpreted", "ms", interpreter, None, true);
    row("interpreted + PE", "ms", interpreter_pe, None, is_right);

    let mut unspecialized = native(filter, &picture, false)?;
    let mut ours = native(filter, &picture, true)?;
    for (what, native) in [("compiled", &mut unspecialized), ("compiled + PE", &mut ours)] {
        let is_right = agree(&expected, &native.result);
        row(&format!("{what}: compilation"), "ms", native.compile, None, is_right);
        row(&format!("{what}: run"), "ms", native.run, None, is_right);
        row(&format!("{what}: with compilation"), "ms", native.compile + native.run, None, is_right);
    }
    let is_right = agree(&expected, &ours.result);
    let goal = Peer { name: "the paper's speed-ups over its interpreter".into(), value: 1.0 / goal };
    row("compiled + PE: part of interpreter", "times", ours.run / interpreter, Some(goal), is_right);

    let (best_ours, best_c) = best_of_both(&mut ours, peers, name)?;
    let is_right = agree(&expected, &ours.result);
    let peer = Peer { name: compiler.name.clone(), value: best_c };
    row("compiled + PE and C", "ms", best_ours, Some(peer), is_right);
    Ok(rows)
}

/// The shortest times of a filter and of its peer in C, which leaves its result. Both use the same planes, as their
/// places in memory matter. Runs alternate, so that both have the same machine.
fn best_of_both(ours: &mut Native, peers: &Library, name: &str) -> anyhow::Result<(f64, f64)> {
    let (mut best_ours, mut best_c) = (f64::INFINITY, f64::INFINITY);
    let (code, source, result) = (&ours.code, &mut ours.source, &mut ours.result);
    for _ in 0..RUNS {
        best_ours = best_ours.min(millis(|| {
            ensure!(code.apply(source, result, FRAME, 1).is_ok(), "an operation failed");
            Ok(())
        })?);
        best_c = best_c.min(millis(|| call(peers, name, source, result))?);
    }
    Ok((best_ours, best_c))
}

type InC = unsafe extern "C" fn(*const f32, *mut f32, c_int, c_int, isize, isize, c_int);

fn call(peers: &Library, name: &str, source: &mut Picture, result: &mut Picture) -> anyhow::Result<()> {
    let (width, height) = (source.width as c_int, source.height as c_int);
    let (stride, plane) = (source.stride() as isize, source.plane() as isize);
    // SAFETY: the library has a function of this name with these types; both pictures have the margin that it reads.
    unsafe {
        let filter: libloading::Symbol<'_, InC> = peers.get(name)?;
        filter(source.first_pixel(), result.first_pixel(), width, height, stride, plane, FRAME);
    }
    Ok(())
}

/// Interpreted and compiled for pictures of several sizes, with compilation.
fn sweep(filter: &Filter, quick: bool) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    let sides = SWEEP.iter().filter(|&&side| !quick || side <= 200);
    for &side in sides {
        let picture = picture((side, side));
        let mut expected = None;
        // As often as compilation, where that does not take long.
        let n = if side <= 200 { COMPILATIONS } else { 1 };
        let interpreter = best(n, || {
            expected = interpret(filter, &picture, Rules::default(), FRAME).ok();
            Ok(())
        })?;
        let native = native(filter, &picture, true)?;
        let checked = expected.is_some_and(|expected| agree(&expected, &native.result));
        let peer = Some(Peer { name: "the interpreter".into(), value: interpreter });
        let case = format!("gradient {side} x {side}, with compilation");
        rows.push(Row { case, unit: "ms", ours: native.compile + native.run, peer, checked });
    }
    Ok(rows)
}
