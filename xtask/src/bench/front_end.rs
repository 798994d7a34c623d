//! The front end on programs of ten thousand to a million lines: lines per
//! second, memory, and whether both grow linearly.
//!
//! Times are processor times. Each size is measured in a separate process,
//! because the peak of memory is a property of the process.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use nyala_driver::{Options, Session, pipeline};
use nyala_span::SourceMap;
use nyala_tests::clock::Clock;

use super::{Row, programs};

/// The figures of one process.
struct Measurement {
    parse_seconds: f64,
    check_seconds: f64,
    peak_mib: f64,
}

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let sizes: &[usize] = if quick { &[10_000, 100_000] } else { &[10_000, 100_000, 1_000_000] };
    let mut rows = Vec::new();
    let mut per_line: Vec<f64> = Vec::new();
    for &size in sizes {
        let best = best_of(if quick { 3 } else { 5 }, size)?;
        let lines = size as f64;
        let mut row = |what: &str, unit, ours| {
            rows.push(Row { case: format!("{what}, {size} lines"), unit, ours, peer: None, checked: true });
        };
        row("parse", "lines/s", lines / best.parse_seconds);
        row("check", "lines/s", lines / best.check_seconds);
        row("peak memory", "MiB", best.peak_mib);
        per_line.push(best.check_seconds / lines);
    }
    let growth = per_line[per_line.len() - 1] / per_line[0];
    rows.push(Row {
        case: "check, time per line at largest / smallest".into(),
        unit: "x",
        ours: growth,
        peer: None,
        checked: true,
    });
    Ok(rows)
}

fn best_of(repetitions: usize, size: usize) -> anyhow::Result<Measurement> {
    let mut best = measure_in_child(size)?;
    for _ in 1..repetitions {
        let next = measure_in_child(size)?;
        best.parse_seconds = best.parse_seconds.min(next.parse_seconds);
        best.check_seconds = best.check_seconds.min(next.check_seconds);
        best.peak_mib = best.peak_mib.min(next.peak_mib);
    }
    Ok(best)
}

fn measure_in_child(size: usize) -> anyhow::Result<Measurement> {
    let output = Command::new(std::env::current_exe()?)
        .args(["bench", "front-end", "--case", &size.to_string()])
        .output()
        .context("cannot start a process to measure in")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "measuring {size} lines failed:\n{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [parse_seconds, check_seconds, peak_mib] = figures[..] else {
        anyhow::bail!("cannot read the figures `{text}`");
    };
    Ok(Measurement { parse_seconds, check_seconds, peak_mib })
}

/// Measures in this process and prints the figures for [`measure_in_child`].
pub fn measure_case(size: usize) -> anyhow::Result<()> {
    let text = programs::generate(size);
    let parse_time = time_parse(&text)?;
    let clock = Clock::start();
    let mut session = Session::new(Options::default());
    session.add_text("generated.impala", text);
    pipeline::check(&mut session);
    let check_time = clock.elapsed();
    if let Some(first) = session.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        anyhow::bail!(
            "the generated program has errors: {}: {}",
            session.sources.describe(first.primary.span),
            first.message
        );
    }
    println!("{} {} {}", parse_time.as_secs_f64(), check_time.as_secs_f64(), peak_mib()?);
    Ok(())
}

fn time_parse(text: &str) -> anyhow::Result<Duration> {
    let mut sources = SourceMap::default();
    let id = sources.add("generated.impala", text)?;
    let clock = Clock::start();
    let parse = nyala_syntax::parse(sources.file(id));
    let time = clock.elapsed();
    ensure!(parse.errors.is_empty(), "the generated program does not parse");
    Ok(time)
}

/// The peak memory of this process, from the kernel.
pub(super) fn peak_mib() -> anyhow::Result<f64> {
    resident_mib("VmHWM:")
}

/// The current memory of this process; resets [`peak_mib`].
pub(super) fn reset_peak_mib() -> anyhow::Result<f64> {
    std::fs::write("/proc/self/clear_refs", "5").context("the peak of memory cannot be reset")?;
    resident_mib("VmRSS:")
}

/// A field of the system's status of this process.
fn resident_mib(field: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("memory is measured on Linux only")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .with_context(|| format!("no {field} in /proc/self/status"))?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}
