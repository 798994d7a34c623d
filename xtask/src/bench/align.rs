//! Alignment of sequences: the library `align` on one thread and on two, and peers.
//!
//! Each peer is a shared library with the interface of `bench/align/peer.h`. All sides get the same pairs; their
//! sums of scores are compared, and the best processor time of each side counts. A peer is compared with its best
//! variant whose sum is right. Peers: Parasail (a Python package), SeqAn 2, SeqAn 3, Edlib and WFA2 (packages of
//! Debian). A peer that cannot be compiled is named on standard error.

mod data;
mod peers;

use std::time::Instant;

use anyhow::{Context as _, ensure};
use nyala_driver::embed::{Compiler, Function, vector_bits};

use super::process::process_seconds;
use super::{Peer, Row};
use data::{Pairs, Setting};
use peers::Side;

const MODES: [(&str, &str); 3] =
    [("global", "global()"), ("semiglobal", "semi_global()"), ("local", "local()")];
const GAPS: [(&str, &str, i32, i32); 2] = [("linear", "linear(1)", 1, 1), ("affine", "affine(2, 1)", 3, 1)];

/// The goals of the library: our figure relative to the best peer's.
fn goal(set: &str, has_path: bool) -> f64 {
    match (set, has_path) {
        (_, true) => 4.0,
        ("reads", false) => 1.2,
        _ => 1.5,
    }
}

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let sides = peers::find()?;
    let mut rows = vec![];
    for (name, pairs) in data::sets(quick) {
        for has_path in [false, true] {
            for (mode_index, mode) in MODES.iter().enumerate() {
                for (gap, gaps, first, next) in GAPS {
                    let has_path_c = i32::from(has_path);
                    let setting = Setting { mode: mode_index as i32, first, next, has_path: has_path_c };
                    let scoring = format!("matching(2, -1, {gaps})");
                    let case = format!("{} {} {gap} {name}", if has_path { "path" } else { "score" }, mode.0);
                    rows.extend(measure(&case, name, &setting, mode.1, &scoring, &pairs, &sides, quick)?);
                }
            }
            let setting = Setting { mode: 0, first: 0, next: 1, has_path: i32::from(has_path) };
            let case = format!("{} edit distance {name}", if has_path { "path" } else { "score" });
            rows.extend(measure(
                &case,
                name,
                &setting,
                "global()",
                "matching(0, -1, linear(1))",
                &pairs,
                &sides,
                quick,
            )?);
        }
    }
    Ok(rows)
}

/// Our function: the sum of the scores of all pairs, on a number of threads.
type Sum = unsafe extern "C" fn(i32, *const u8, *const i32, *const u8, *const i32, *mut i32, *mut i32) -> i64;

/// One case on all sides.
#[expect(clippy::too_many_arguments, reason = "the parts of a case")]
fn measure(
    case: &str,
    set: &str,
    setting: &Setting,
    mode: &str,
    scoring: &str,
    pairs: &Pairs,
    sides: &[Side],
    quick: bool,
) -> anyhow::Result<Vec<Row>> {
    let has_path = setting.has_path == 1;
    let start = process_seconds();
    let ours = compile(mode, scoring, has_path, pairs.len() > 1, 1)?;
    let compile_time = process_seconds() - start;
    let (seconds, _, sum) = best_time(quick, || Ok(sum_of(&ours, pairs)))?;
    let gcups = |seconds: f64| pairs.n_cells() / seconds / 1e9;
    let mut rows = vec![];
    let mut n_agree = 0;
    for side in sides {
        let Some((name, value)) = side.best(setting, pairs, sum, quick)? else { continue };
        n_agree += 1;
        rows.push(Row {
            case: format!("{case} / {}, goal {}x", side.name, goal(set, has_path)),
            unit: "Gcells/s",
            ours: gcups(seconds),
            peer: Some(Peer { name: format!("{} ({name})", side.name), value: gcups(value) }),
            checked: true,
        });
    }
    let expected = pairs.expected(setting);
    ensure!(expected.is_none_or(|expected| expected == sum), "{case}: the sum is {sum}, not {expected:?}");
    let checked = expected.is_some() || n_agree > 0;
    if n_agree == 0 {
        rows.push(Row { case: case.to_owned(), unit: "Gcells/s", ours: gcups(seconds), peer: None, checked });
    }
    let row = |what: &str, unit, ours| Row { case: format!("{case}{what}"), unit, ours, peer: None, checked };
    rows.push(row(", compile time", "s", compile_time));
    if setting.mode == 0 && setting.first > 0 && pairs.n_cells() > 1e7 {
        let two = compile(mode, scoring, has_path, pairs.len() > 1, 2)?;
        let (_, one, _) = best_time(quick, || Ok(sum_of(&ours, pairs)))?;
        let (_, both, other) = best_time(quick, || Ok(sum_of(&two, pairs)))?;
        ensure!(other == sum, "{case}: the sum on two threads is {other}, not {sum}");
        rows.push(row(", speedup of two threads, goal 1.9x", "x", one / both));
    }
    Ok(rows)
}

/// The program for a case.
fn compile(
    mode: &str,
    scoring: &str,
    has_path: bool,
    is_batch: bool,
    threads: u32,
) -> anyhow::Result<Function<Sum>> {
    let body = match (has_path, is_batch) {
        (false, true) => {
            "scores_of_batch(target, mode, scoring, batch, memory);
            for i in range(0, n) { sum += memory(i) as i64 }"
        }
        (false, false) => {
            "sum = score(target, mode, scoring, query_of(batch, 0), subject_of(batch, 0)) as i64"
        }
        (true, true) => {
            "let alignments = bitcast[&mut [Alignment]](found);
            align_batch(target, mode, scoring, batch, alignments, memory);
            for i in range(0, n) { sum += alignments(i).score as i64 }"
        }
        (true, false) => {
            "sum = align(target, mode, scoring, query_of(batch, 0), subject_of(batch, 0), memory).score as i64"
        }
    };
    let text = format!(
        "// uses: align
use align::*;
extern fn sum(n: i32, queries: &[u8], query_starts: &[i32], subjects: &[u8], subject_starts: &[i32], memory: &mut [i32],
              found: &mut [i32]) -> i64 {{
    let batch = Batch {{ n_pairs: n, queries: queries, query_starts: query_starts, subjects: subjects, subject_starts: subject_starts }};
    let (target, mode, scoring) = (on_threads({threads}, vectors_of({})), {mode}, {scoring});
    let mut sum = 0i64;
    {body};
    sum
}}
",
        vector_bits()
    );
    let module = Compiler::new().text("bench.impala", text).compile()?;
    // SAFETY: `sum_of` passes valid arguments.
    unsafe { module.function("sum") }.context("the program has this function")
}

fn sum_of(ours: &Function<Sum>, pairs: &Pairs) -> i64 {
    let mut memory = vec![0; pairs.queries.len() + pairs.subjects.len() + 1];
    let mut alignments = vec![0; 6 * pairs.len()];
    // SAFETY: there is a start for each pair and one more, memory for a score per pair and for paths, and six
    // numbers per alignment.
    unsafe {
        ours(
            pairs.len() as i32,
            pairs.queries.as_ptr(),
            pairs.query_starts.as_ptr(),
            pairs.subjects.as_ptr(),
            pairs.subject_starts.as_ptr(),
            memory.as_mut_ptr(),
            alignments.as_mut_ptr(),
        )
    }
}

/// The least processor time of all threads, the least time, and the result.
fn best_time(quick: bool, mut run: impl FnMut() -> anyhow::Result<i64>) -> anyhow::Result<(f64, f64, i64)> {
    let (mut processor, mut wall, mut result) = (f64::INFINITY, f64::INFINITY, 0);
    let start = Instant::now();
    let (rounds, limit) = if quick { (2, 0.5) } else { (5, 2.0) };
    for round in 0..rounds {
        if round > 0 && start.elapsed().as_secs_f64() > limit {
            break;
        }
        let (before, now) = (process_seconds(), Instant::now());
        result = run()?;
        processor = processor.min(process_seconds() - before);
        wall = wall.min(now.elapsed().as_secs_f64());
    }
    Ok((processor, wall, result))
}
