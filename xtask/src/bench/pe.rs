//! The partial evaluator: specializations per second, and how time and memory grow with the
//! residual program.
//!
//! The programs are in `bench/pe`; each is evaluated for several values of `size`, in a
//! separate process, and must compute the same afterwards. The last one is an interpreter
//! for a bytecode: specialized to a program, it must be as fast as that program written by hand.

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use nyala_driver::{Options, Report, Session, pipeline};
use nyala_interp::Io;
use nyala_ir::World;
use nyala_opt::partial_eval::{self, Budget};
use nyala_tests::random::Random;

use super::front_end::{peak_mib, reset_peak_mib};
use super::ir::time;
use super::process::{Run, build_nyala, run_measured, succeed};
use super::{Peer, Row};
use crate::files;

/// A program, and whether quick runs skip it.
struct Case {
    program: &'static str,
    size: u32,
    is_long: bool,
}

const fn case(program: &'static str, size: u32) -> Case {
    Case { program, size, is_long: false }
}

const fn long(program: &'static str, size: u32) -> Case {
    Case { program, size, is_long: true }
}

const CASES: &[Case] = &[
    case("unroll", 100),
    case("unroll", 1_000),
    case("unroll", 10_000),
    case("unroll", 100_000),
    long("unroll", 1_000_000),
    case("pow", 16),
    case("pow", 62),
    case("ackermann_2", 10),
    case("ackermann_2", 100),
    case("ackermann_3", 6),
    case("batcher", 64),
    case("batcher", 512),
    case("bose_nelson", 64),
    case("bose_nelson", 512),
    case("bytecode", 1_000),
    case("bytecode", 10_000),
];

/// The default limits are for hand-written programs; these programs are larger on purpose.
const BUDGET: Budget = Budget { specializations: 100_000_000, growth: 1_000_000_000, depth: 100_000_000 };

/// The goals: specializations per second, with ten operations each, and the maximum growth of
/// time and memory for ten times the size.
const MIN_CALLS: f64 = 200_000.0;
const MAX_GROWTH: f64 = 11.0;

/// Shorter times are not compared.
const MIN_SECONDS: f64 = 0.002;

/// How long a process repeats an evaluation.
const AGAIN: Duration = Duration::from_millis(20);

/// The number of runs of the bytecode per measurement, and the number of measurements.
const ROUNDS: u32 = 100_000;
const TRIES: usize = 5;

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let (mut rows, mut measured) = (vec![], vec![]);
    for (index, case) in CASES.iter().enumerate().filter(|(_, case)| !(quick && case.is_long)) {
        let runs = measure_often(index, quick)?;
        let best = |figure: usize| runs.iter().map(|run| run[figure]).fold(f64::INFINITY, f64::min);
        let mut row = |what: &str, unit, ours| {
            let case = format!("{} {}, {what}", case.program, case.size);
            rows.push(Row { case, unit, ours, peer: None, checked: true });
        };
        row("time", "ms", best(0) * 1e3);
        row("specialized", "calls/s", best(1) / best(0));
        row("residual", "nodes", best(2));
        row("growth", "nodes/node", best(2) / best(4));
        row("peak memory", "MiB", best(3));
        row("memory of evaluation", "MiB", best(5));
        measured.push(Measured { case, seconds: best(0), mib: best(5) });
    }
    let specialized = rows.iter_mut().rfind(|row| row.case.starts_with("unroll") && row.unit == "calls/s");
    specialized.context("unrolling is measured")?.peer = goal(MIN_CALLS);
    rows.extend(growth_with_size(&measured));
    rows.push(futamura(10_000)?);
    Ok(rows)
}

/// A goal; the ratio is at least 1 if it is reached.
fn goal(value: f64) -> Option<Peer> {
    Some(Peer { name: "the goal, and in the last row the program written by hand".into(), value })
}

/// The figures of a case.
struct Measured {
    case: &'static Case,
    seconds: f64,
    mib: f64,
}

/// The growth of time and memory for ten times the size, for times that are long enough.
fn growth_with_size(measured: &[Measured]) -> Vec<Row> {
    let mut rows = vec![];
    for small in measured.iter().filter(|small| small.seconds > MIN_SECONDS) {
        let Case { program, size, .. } = small.case;
        let is_tenfold = |large: &&Measured| large.case.program == *program && large.case.size == size * 10;
        for large in measured.iter().filter(is_tenfold) {
            let mut row = |what: &str, ours| {
                let case = format!("{program} {size} to {}, {what}", large.case.size);
                rows.push(Row { case, unit: "times", ours, peer: goal(MAX_GROWTH), checked: true });
            };
            row("time", large.seconds / small.seconds);
            row("memory", large.mib / small.mib);
        }
    }
    rows
}

/// The figures of many runs: short times have more noise, so they are repeated more often.
fn measure_often(index: usize, quick: bool) -> anyhow::Result<Vec<Vec<f64>>> {
    let (least, seconds) = if quick { (2, 0) } else { (5, 4) };
    let (begin, mut runs) = (Instant::now(), vec![]);
    while runs.len() < least || begin.elapsed() < Duration::from_secs(seconds) {
        runs.push(measure_in_child(index)?);
    }
    Ok(runs)
}

/// The figures that [`measure_case`] prints.
fn measure_in_child(index: usize) -> anyhow::Result<Vec<f64>> {
    let output = Command::new(std::env::current_exe()?)
        .args(["bench", "pe", "--case", &index.to_string()])
        .output()
        .context("cannot start a process to measure in")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "measuring case {index} failed:\n{text}{errors}");
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    ensure!(figures.len() == 6, "cannot read the figures `{text}`");
    Ok(figures)
}

/// Measures in this process and prints seconds, specializations, nodes, MiB, nodes before evaluation, and the
/// MiB that evaluation added.
pub fn measure_case(index: usize) -> anyhow::Result<()> {
    let Case { program, size, .. } = CASES.get(index).context("there is no such case")?;
    let mut session = Session::new(Options::default());
    session.load(&files::repository().join(format!("bench/pe/{program}.impala")));
    session.add_text("size.impala", parameters(program, *size));
    let world = pipeline::emit(&mut session)
        .with_context(|| Report::new(session.diagnostics.clone()).human(&session.sources, false))?;
    let options = partial_eval::Options { budget: BUDGET, ..Default::default() };
    let mut evaluated = None;
    let before_mib = reset_peak_mib()?;
    let seconds = time(|| evaluated = Some(nyala_opt::pipeline::evaluate(&world, options)));
    let evaluated = evaluated.context("it was evaluated")?;
    ensure!(evaluated.diagnostics.is_empty(), "{:?}", evaluated.diagnostics);
    let peak = peak_mib()?;
    let seconds = seconds.min(time_again(&world, options));
    ensure!(interpret(&world)? == interpret(&evaluated.world)?, "evaluation changed what it computes");
    let (before, after) = (world.node_count(), evaluated.world.node_count());
    println!("{seconds} {} {after} {peak} {before} {}", evaluated.specialized, peak - before_mib);
    Ok(())
}

/// The best time of more evaluations, for at most [`AGAIN`] in all: the first one of a process also touches code
/// and memory for the first time, which takes up to a tenth of a short time.
fn time_again(world: &World, options: partial_eval::Options) -> f64 {
    let (begin, mut best) = (Instant::now(), f64::INFINITY);
    while begin.elapsed() < AGAIN {
        best = best.min(time(|| drop(nyala_opt::pipeline::evaluate(world, options))));
    }
    best
}

/// The exit status and the output of `main`.
fn interpret(world: &World) -> anyhow::Result<(i32, Vec<u8>)> {
    let mut output = vec![];
    let io = Io { output: &mut output, input: &mut std::io::empty(), nanos: &mut || 0 };
    let status = nyala_interp::run_main(world, &nyala_interp::Options::default(), io)?;
    Ok((status, output))
}

/// The parameters of the programs.
pub(super) fn parameters(program: &str, size: u32) -> String {
    let mut text = format!("static size: i32 = {size};\nstatic rounds: i32 = 1;\n");
    if program == "bytecode" {
        let code: Vec<String> =
            bytecode(size).into_iter().map(|op| format!("'{}'", char::from(op))).collect();
        writeln!(text, "static code: [u8 * {size}] = [{}];", code.join(", ")).expect("strings take all text");
    }
    text
}

/// A random program for the interpreter. An operation that may be skipped is not a skip, and neither is the last one.
fn bytecode(size: u32) -> Vec<u8> {
    let mut random = Random::new(1, u64::from(size));
    let mut code: Vec<u8> = vec![];
    for at in 1..=size {
        let may_skip = at < size && code.last() != Some(&b'?');
        code.push(*random.pick(if may_skip { b"amxsir?" } else { b"amxsir" }));
    }
    code
}

/// The same program as straight-line code.
fn written_by_hand(code: &[u8]) -> String {
    let mut text = "fn main(argc: i32) -> () {\n    let (mut a, mut b) = (argc as u32, 3u);\n    \
                    for i in range(0, argc * rounds) {\n"
        .to_owned();
    let mut is_skipped = false;
    for &op in code {
        let (before, after) = if is_skipped { ("if a & 1u == 0u { ", " }") } else { ("", "") };
        let statement = match op {
            b'a' => "a = a + b;",
            b'm' => "a = a * b;",
            b'x' => "a = a ^ b;",
            b's' => "let t = a; a = b; b = t;",
            b'i' => "b = b + 1u;",
            b'r' => "a = a >> 1u;",
            _ => "",
        };
        is_skipped = op == b'?';
        writeln!(text, "        {{ {before}{statement}{after} }}").expect("strings take all text");
    }
    text + "        a = a + i as u32;\n    }\n    print_u32(a ^ b)\n}\n"
}

/// The specialized interpreter against the program written by hand.
fn futamura(size: u32) -> anyhow::Result<Row> {
    let folder = files::repository().join("target/bench/pe");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let nyala = build_nyala()?;
    let [shared, by_hand] = ["parameters.impala", "by_hand.impala"].map(|name| folder.join(name));
    let text = parameters("bytecode", size).replace("rounds: i32 = 1", &format!("rounds: i32 = {ROUNDS}"));
    std::fs::write(&shared, text)?;
    std::fs::write(&by_hand, written_by_hand(&bytecode(size)))?;
    let interpreter = files::repository().join("bench/pe/bytecode.impala");
    let mut best = [f64::INFINITY; 2];
    let executables = ["specialized", "by_hand"].map(|name| folder.join(name));
    for (program, executable) in [&interpreter, &by_hand].into_iter().zip(&executables) {
        let build = ["build", "-O2", "--message-format", "json", "-o"];
        succeed(Command::new(&nyala).args(build).arg(executable).args([&shared, program]))?;
    }
    for _ in 0..TRIES {
        let mut outputs = vec![];
        for (executable, best) in executables.iter().zip(&mut best) {
            let Run { seconds, output } = run_measured(&mut Command::new(executable), None)?;
            *best = seconds.min(*best);
            outputs.push(output);
        }
        ensure!(outputs[0] == outputs[1], "the two programs print different results");
    }
    let [ours, value] = best.map(|seconds| seconds * 1e3);
    let peer = Some(Peer { name: "the program written by hand".into(), value });
    Ok(Row { case: format!("bytecode of {size} instructions, run"), unit: "ms", ours, peer, checked: true })
}
