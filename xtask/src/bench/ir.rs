//! The program graph: the speed of building and finding nodes, their
//! memory, and the speed of printing and parsing the text form.
//!
//! Each size is measured in a separate process, because the peak of memory is a
//! property of the process.

use std::process::Command;

use anyhow::{Context as _, ensure};
use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Def, Linkage, Prim, Ty, World, text};

use super::Row;
use super::front_end::peak_mib;
use super::process::thread_seconds;
use nyala_tests::random::Random;

/// Operations choose their operands among this number of recent ones.
const WINDOW: usize = 64;
/// Operations of one continuation.
const BODY: usize = 16;
/// Continuations of one function: each may use the values of those around it.
const FUNCTION: usize = 32;
/// Larger worlds are not printed: that would take most of the time.
const MAX_PRINTED: usize = 1_000_000;

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let sizes: &[usize] = if quick { &[100_000, 1_000_000] } else { &[100_000, 1_000_000, 10_000_000] };
    let repetitions = if quick { 3 } else { 5 };
    let mut rows = Vec::new();
    for &size in sizes {
        let runs: Vec<Vec<f64>> =
            (0..repetitions).map(|_| measure_in_child(size)).collect::<Result<_, _>>()?;
        let best = |figure: usize| runs.iter().map(|run| run[figure]).fold(f64::INFINITY, f64::min);
        let n = size as f64;
        let mut row = |what: &str, unit, ours| {
            rows.push(Row { case: format!("{what}, {size} nodes"), unit, ours, peer: None, checked: true });
        };
        row("build", "nodes/s", n / best(0));
        row("find again", "nodes/s", n / best(1));
        row("free variables", "nodes/s", n / best(2));
        row("peak memory", "MiB", best(3));
        if size <= MAX_PRINTED {
            row("print", "nodes/s", n / best(4));
            row("parse", "nodes/s", n / best(5));
        }
    }
    Ok(rows)
}

/// The figures that [`measure_case`] prints.
fn measure_in_child(size: usize) -> anyhow::Result<Vec<f64>> {
    let output = Command::new(std::env::current_exe()?)
        .args(["bench", "ir", "--case", &size.to_string()])
        .output()
        .context("cannot start a process to measure in")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "measuring {size} nodes failed:\n{text}{errors}");
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    ensure!(figures.len() >= 4, "cannot read the figures `{text}`");
    Ok(figures)
}

/// Measures in this process and prints seconds and MiB.
pub fn measure_case(size: usize) -> anyhow::Result<()> {
    let mut world = World::new();
    let build = time(|| grow(&mut world, size));
    let n_nodes = world.node_count();
    ensure!(n_nodes >= size, "the world did not grow to {size} nodes");

    // The same requests again: operations exist already, only continuations are new.
    let mut seen = 0;
    let find = time(|| seen = replay(&mut world));
    ensure!(seen > size / 2, "only {seen} operations were found again");
    ensure!(world.node_count() == n_nodes, "an operation was built twice");

    let roots: Vec<_> = world.conts().map(|(cont, _)| cont).collect();
    let mut free = 0;
    let variables = time(|| free = roots.iter().filter(|&&cont| !world.is_top_level(cont)).count());
    ensure!(free > 0, "no continuation has free variables");
    let peak = peak_mib()?;
    print!("{build} {find} {variables} {peak}");

    if size <= MAX_PRINTED {
        let mut printed = String::new();
        let print_time = time(|| printed = text::print(&world));
        let mut parsed = None;
        let parse_time = time(|| parsed = Some(text::parse(&printed)));
        let again = parsed.context("parsing ran")??;
        ensure!(text::print(&again) == printed, "printing what was parsed gives another text");
        print!(" {print_time} {parse_time}");
    }
    println!();
    Ok(())
}

/// The processor time of `work`.
pub(super) fn time(work: impl FnOnce()) -> f64 {
    let start = thread_seconds();
    work();
    thread_seconds() - start
}

/// Builds functions until there are `size` nodes. Each calls the next.
fn grow(world: &mut World, size: usize) {
    let mut random = Random::new(1, 0);
    let (mem, i32) = (world.types.mem(), world.types.prim(Prim::I32));
    let mut cont = world.new_cont("f", &[mem, i32]);
    world.set_linkage(cont, Linkage::Exported("f".into()));
    while world.node_count() < size {
        cont = function(world, &mut random, cont, [mem, i32]);
    }
    world.set_unreachable(cont, world.param(cont, 0));
}

/// Fills `cont` and a chain of continuations in it, and returns the one without a body
/// that the last of them calls with a number, for the next function.
fn function(world: &mut World, random: &mut Random, mut cont: Cont, params: [Ty; 2]) -> Cont {
    let mut recent: Vec<Def> = vec![];
    for _ in 0..FUNCTION {
        recent.push(world.param(cont, 1));
        for _ in 0..BODY {
            let operation = operation(world, random, &recent);
            recent.push(operation);
        }
        let next = world.new_cont("f", &params);
        let value = recent[recent.len() - 1];
        world.set_body(cont, world.cont_def(next), [world.param(cont, 0), value]);
        cont = next;
        recent.drain(..recent.len().saturating_sub(WINDOW));
    }
    cont
}

/// An operation on two recent values; sometimes one is a literal.
fn operation(world: &mut World, random: &mut Random, recent: &[Def]) -> Def {
    let lhs = *random.pick(recent);
    let rhs = match random.below(4) {
        0 => world.lit_i32(random.below(1000) as i32),
        _ => *random.pick(recent),
    };
    match random.below(8) {
        0 => {
            let cond = world.cmp(CmpOp::Lt, lhs, rhs);
            world.select(cond, rhs, lhs)
        }
        choice => {
            let op = [ArithOp::Add, ArithOp::Sub, ArithOp::Mul, ArithOp::And, ArithOp::Xor][choice % 5];
            world.arith(op, ArithFlags::STRICT, lhs, rhs)
        }
    }
}

/// Requests every operation again; returns their number.
fn replay(world: &mut World) -> usize {
    let defs: Vec<Def> = world.defs().collect();
    let mut operands = Vec::new();
    let mut seen = 0;
    for def in defs {
        operands.clear();
        world.for_each_operand(def, |operand| operands.push(operand));
        if !operands.is_empty() {
            seen += usize::from(world.rebuild(def, &operands) == def);
        }
    }
    seen
}
