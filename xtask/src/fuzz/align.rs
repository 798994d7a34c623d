//! Scores and paths of the library `align`, against the recurrence of textbooks.
//!
//! Each program has one random scoring, mode and check of `apps/align/tests/library.impala`, and targets of random shapes.
//! `main` returns the number of pairs with a wrong result.

use std::fmt::Write as _;
use std::io;

use nyala_driver::embed::Compiler;
use nyala_driver::{Options, Session, pipeline};
use nyala_interp::Io;
use nyala_tests::random::Random;

use super::whole::has_opencl;
use super::worker::{Action, Case};

const CHECKS: &str = include_str!("../../../apps/align/tests/library.impala");

/// Costs of gaps, and the size of scores: many at the edges of what 8 and 16 bits hold.
const SIZES: [i32; 25] = [
    0, 0, 0, 1, 1, 1, 2, 2, 3, 5, 10, 11, 31, 42, 63, 64, 100, 126, 127, 128, 255, 8000, 16_383, 40_000,
    1_000_000,
];

/// Scores of this many letters must be less than the limit of the recurrence, which has 32 bits.
const LIMIT: i64 = 240_000_000;

pub fn load() -> anyhow::Result<Action> {
    let has_opencl = has_opencl();
    Ok(Box::new(move |case| run(case, has_opencl)))
}

fn run(case: &mut Case, has_opencl: bool) -> Result<bool, String> {
    let mut random = case.random();
    // The interpreter checks all accesses to memory, and takes much longer.
    let is_interpreted = random.below(8) == 0;
    let text = program(&mut random, is_interpreted, has_opencl);
    case.begin(&text);
    let wrong = if is_interpreted {
        case.execute("interpreter");
        interpret(&text)?
    } else {
        case.execute("native code");
        native(&text)?
    };
    if wrong == 0 { Ok(true) } else { Err(format!("{wrong} pairs have a wrong result")) }
}

fn native(text: &str) -> Result<i32, String> {
    let module = Compiler::new().text("align.impala", text).compile().map_err(|error| error.to_string())?;
    // SAFETY: `main` uses no memory but its own.
    let main =
        unsafe { module.function::<extern "C" fn() -> i32>("wrong") }.map_err(|error| error.to_string())?;
    Ok(main())
}

fn interpret(text: &str) -> Result<i32, String> {
    let mut session = Session::new(Options::default());
    session.add_text("align.impala", text);
    let messages = |session: &Session| {
        session.diagnostics.iter().map(|report| report.message.clone()).collect::<Vec<_>>().join("; ")
    };
    let Some(world) = pipeline::emit(&mut session) else { return Err(messages(&session)) };
    let io = Io { output: &mut io::sink(), input: &mut io::empty(), nanos: &mut || 0 };
    pipeline::interp(&mut session, &world, &nyala_interp::Options::default(), io)
        .ok_or_else(|| messages(&session))
}

fn program(random: &mut Random, is_small: bool, has_opencl: bool) -> String {
    let (scoring, alphabet, step, table) = scoring(random);
    let fitting = LIMIT / 2 / i64::from(step + 1) - 2;
    let is_local = random.below(3) == 0;
    // Batches, and the others as often as they take time.
    let check = match random.below(10) {
        0..3 => "check_batches",
        3 if !is_local => "check_bands",
        4 if fitting > 8400 && !is_small => "check_near",
        5 if has_opencl && !is_small => "check_gpu",
        _ => "check",
    };
    let (count, longest) = match check {
        _ if is_small => (3, 24),
        "check_near" => (6, 4200),
        "check_gpu" => (12, 700),
        "check_batches" => (150, 4200),
        _ => (60, 4200),
    };
    let on = if check == "check_gpu" { gpu(random) } else { targets(random) };
    let (free, seed) = (random.below(16), random.below(1 << 30));
    format!(
        "{CHECKS}
{table}
fn @scoring() -> Scoring {{ {scoring} }}

extern fn wrong() -> i32 {{
    let set = Set {{ count: {count}, longest: {}, alphabet: {alphabet}, seed: {seed}u }};
    {check}({on}, mode_of({is_local}, {free}), scoring(), set)
}}

fn main() -> i32 {{ wrong() }}
",
        fitting.min(longest)
    )
}

/// A scoring, the number of letters, the most by which a letter changes a score, and the table that the scoring uses.
fn scoring(random: &mut Random) -> (String, usize, i32, String) {
    let mut size = || *random.pick(&SIZES);
    let (open, extend) = (size(), size());
    let (same, different) = (size(), size());
    let (open, gaps) = if random.below(2) == 0 {
        (0, format!("linear({extend})"))
    } else {
        (open, format!("affine({open}, {extend})"))
    };
    let signed = |random: &mut Random, n: i32| if random.below(4) == 0 { -n } else { n };
    // Few pairs of different letters have a positive score.
    let (same, different) = (signed(random, same), -signed(random, different));
    let most = same.max(different).max(0);
    match random.below(8) {
        0 => (format!("blosum62({gaps})"), 24, 11 + open + extend, String::new()),
        1 => (format!("pam250({gaps})"), 24, 17 + open + extend, String::new()),
        2 => (format!("ambiguous({same}, {different}, {gaps})"), 16, most + open + extend, String::new()),
        3 | 4 => {
            let n = 1 + random.below(5);
            let scores: Vec<i32> = (0..n * n)
                .map(|_| {
                    let size = *random.pick(&SIZES);
                    signed(random, size)
                })
                .collect();
            let (least, most) = scores.iter().fold((0, 0), |(least, most), &s| (s.min(least), s.max(most)));
            let mut table = String::from("static table = [");
            for score in scores {
                let _ = write!(table, "{score}, ");
            }
            table.truncate(table.len() - 2);
            let letters = format!("@|a, b| table(a as i32 * {n} + b as i32)");
            let scoring =
                format!("Scoring {{ letters: {letters}, least: {least}, most: {most}, gaps: {gaps} }}");
            (scoring, n, most + open + extend, table + "];")
        }
        _ => (
            format!("matching({same}, {different}, {gaps})"),
            1 + random.below(6),
            most + open + extend,
            String::new(),
        ),
    }
}

fn targets(random: &mut Random) -> String {
    let mut target = || {
        let lanes = *random.pick(&[1, 2, 4, 8, 16, 32, 64]);
        let rows = 1 + random.below(16.min(512 / lanes));
        let mut target = format!("vectors({lanes}, {rows})");
        if random.below(3) == 0 {
            target = format!("with_lines_in({}, {target})", random.below(100_000));
        }
        if random.below(4) == 0 {
            target = format!("on_threads({}, {target})", 2 + random.below(2));
        }
        target
    };
    format!("Targets {{ paths: {}, scores: {}, ends: {} }}", target(), target(), target())
}

fn gpu(random: &mut Random) -> String {
    let lanes = *random.pick(&[1, 2, 4, 16, 32, 64]);
    let (rows, width) = (1 + random.below(12), 1 + random.below(64));
    let plain = format!("by_shared_memory(opencl_accelerator(0), {lanes}, {rows}, {width})");
    if random.below(2) == 0 { format!("in_pairs({plain})") } else { plain }
}
