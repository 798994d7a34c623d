//! `cargo xtask bench NAME`: benchmarks.
//!
//! Each benchmark is a file of this module; [`BENCHES`] lists them. A benchmark
//! returns [`Row`]s; they are printed as a table, or with `--json` as one object per
//! line.

mod align;
mod classic;
mod filter;
mod front_end;
mod image;
mod interp;
mod ir;
mod multigrid;
mod pe;
mod peer;
mod process;
mod programs;
mod ray;
mod simd;
mod staging;
mod threads;
mod tune;

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use crate::python;

/// Run benchmarks
#[derive(Args)]
pub struct BenchArgs {
    /// The benchmarks; all by default
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(BENCHES.iter().map(|bench| bench.name)))]
    names: Vec<String>,
    /// Small inputs and few repetitions: takes less than a minute
    #[arg(long)]
    quick: bool,
    /// One JSON object per row
    #[arg(long)]
    json: bool,
    /// Write the benchmark `threads` to a folder, with a script that runs it, for another machine
    #[arg(long, value_name = "FOLDER")]
    bundle: Option<PathBuf>,
    /// Measure one case in this process and print its figures; for internal use
    #[arg(long, value_name = "SIZE", hide = true)]
    case: Option<usize>,
}

/// A benchmark.
struct Bench {
    name: &'static str,
    run: fn(quick: bool) -> anyhow::Result<Vec<Row>>,
    /// Measures one case in a separate process, for benchmarks that need that.
    case: Option<fn(size: usize) -> anyhow::Result<()>>,
}

const BENCHES: &[Bench] = &[
    Bench { name: "front-end", run: front_end::run, case: Some(front_end::measure_case) },
    Bench { name: "ir", run: ir::run, case: Some(ir::measure_case) },
    Bench { name: "pe", run: pe::run, case: Some(pe::measure_case) },
    Bench { name: "interp", run: interp::run, case: None },
    Bench { name: "classic", run: classic::run, case: None },
    Bench { name: "image", run: image::run, case: None },
    Bench { name: "filter", run: filter::run, case: None },
    Bench { name: "align", run: align::run, case: None },
    Bench { name: "multigrid", run: multigrid::run, case: None },
    Bench { name: "ray", run: ray::run, case: None },
    Bench { name: "simd", run: simd::run, case: None },
    Bench { name: "simd-first-try", run: simd::run_first_try, case: None },
    Bench { name: "staging", run: staging::run, case: None },
    Bench { name: "threads", run: threads::run, case: None },
    Bench { name: "tune", run: tune::run, case: None },
];

/// One figure.
pub struct Row {
    /// The name of the measurement.
    pub case: String,
    /// The unit; more is better for units per second, less for the others.
    pub unit: &'static str,
    /// Our figure.
    pub ours: f64,
    /// The peer, if there is one.
    pub peer: Option<Peer>,
    /// Whether the result was compared with the expected one.
    pub checked: bool,
}

/// The figure of a peer.
pub struct Peer {
    /// Its name and settings.
    pub name: String,
    /// In the same unit.
    pub value: f64,
}

impl Row {
    /// Our figure relative to the peer's; more than 1 is better.
    fn ratio(&self) -> Option<f64> {
        let value = self.peer.as_ref()?.value;
        Some(if self.unit.ends_with("/s") { self.ours / value } else { value / self.ours })
    }
}

pub fn run(args: &BenchArgs) -> anyhow::Result<()> {
    if let Some(folder) = &args.bundle {
        threads::write_bundle(folder)?;
        println!("{0}/run.sh measures; copy the folder {0} to the other machine", folder.display());
        return Ok(());
    }
    for bench in BENCHES {
        if !args.names.is_empty() && !args.names.iter().any(|name| name == bench.name) {
            continue;
        }
        match (args.case, bench.case) {
            (Some(size), Some(case)) => case(size)?,
            _ => print(bench.name, &(bench.run)(args.quick)?, args.json),
        }
    }
    Ok(())
}

fn print(bench: &str, rows: &[Row], as_json: bool) {
    let mut peers: Vec<&str> = rows.iter().filter_map(|row| Some(row.peer.as_ref()?.name.as_str())).collect();
    let mut seen = HashSet::new();
    peers.retain(|&peer| seen.insert(peer));
    if !peers.is_empty() && !as_json {
        println!("{bench}: compared with {}", peers.join("; "));
    }
    for row in rows {
        let Row { case, unit, ours, peer, checked } = row;
        if as_json {
            println!(
                "{}",
                json!({"bench": bench, "case": case, "unit": unit, "ours": ours,
                       "peer": peer.as_ref().map(|peer| &peer.name),
                       "peer_value": peer.as_ref().map(|peer| peer.value),
                       "ratio": row.ratio(), "checked": checked})
            );
        } else {
            let mark = if *checked { "" } else { "   (result not checked)" };
            let compared = match (peer, row.ratio()) {
                (Some(peer), Some(ratio)) => format!("   peer {:>10.3}   {ratio:.3}x", peer.value),
                _ => String::new(),
            };
            println!("{bench:<10} {case:<36} {ours:>14.3} {unit}{compared}{mark}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nyala_driver::{Options, Report, Session, TargetChoice, pipeline};

    use super::{pe, simd};
    use crate::files::{self, TextFile};

    /// Benchmarks compile these programs; other tests do not.
    #[test]
    fn programs_of_benchmarks_have_no_errors() {
        let files = files::with_extension("bench", "impala").expect("the folder is there");
        // Packages are checked as a whole, or with the program that uses them.
        let is_of_a_package = |file: &TextFile| {
            file.path.ancestors().any(|folder| files::repository().join(folder).join("nyala.toml").exists())
        };
        let is_support = |file: &TextFile| {
            ["support.impala", "measure.impala"].iter().any(|name| file.path.ends_with(name))
        };
        let is_program = |file: &&TextFile| !is_support(file) && !is_of_a_package(file);
        let mut n_programs = 0;
        for program in files.iter().filter(is_program) {
            let folder = program.path.parent().expect("it is in a folder");
            // `vectors.impala` has the kernels of the other files with vectors as types.
            let is_alone = |path: &Path| path.ends_with("simd/vectors.impala");
            let is_part = |file: &&TextFile| {
                let is_beside = match folder.starts_with("bench/simd") {
                    true => file.path.parent() == Some(folder) && !is_alone(&file.path),
                    false => file.path == folder.join("support.impala"),
                };
                file.path == program.path || is_beside && !is_alone(&program.path)
            };
            let mut session = Session::new(Options::default());
            for file in files.iter().filter(is_part) {
                // By its path, so that it finds its packages.
                session.load(&files::repository().join(&file.path));
            }
            let name = program.path.file_stem().expect("it ends in `.impala`").to_string_lossy();
            match (folder.file_name().and_then(|folder| folder.to_str()), &*name) {
                (Some("pe"), _) => session.add_text("size.impala", pe::parameters(&name, 10)),
                (Some("simd"), _) => session.add_text("lanes.impala", simd::numbers_of_lanes(|_| 8)),
                (Some("gpu"), "filters") | (Some("multigrid"), "device") => ["support", "cuda"]
                    .map(|part| Path::new("tests/gpu/on").join(part).with_extension("impala"))
                    .iter()
                    .for_each(|part| session.load(&files::repository().join(part))),
                (Some("gpu"), "kernels" | "plain") => {
                    session.load(&files::repository().join("bench/gpu/measure.impala"));
                }
                _ => {}
            }
            let has_errors = pipeline::emit(&mut session).is_none();
            let report = Report::new(session.diagnostics.clone()).human(&session.sources, false);
            assert!(!has_errors, "{}:\n{report}", program.path.display());
            n_programs += 1;
        }
        assert!(n_programs > 0, "nothing is measured");
        let mut session = Session::new(Options::default());
        session.load_package(&files::repository().join("bench/tune"), &TargetChoice::Library);
        pipeline::check_all(&mut session);
        let report = Report::new(session.diagnostics.clone());
        assert!(report.is_empty(), "{}", report.human(&session.sources, false));
    }
}
