//! `cargo xtask fuzz NAME`: runs random programs, and finds panics, crashes, hangs and different results.
//!
//! [`FUZZERS`] lists the fuzzers; `all` runs them one after the other. Case number `k` of seed `s` is the same
//! on every machine: `--seed s --first k --cases 1` runs it again.
//!
//! One process per core runs the cases ([`worker`]). [`supervise`] replaces a process that crashes
//! or hangs. A finding is printed, and its program is stored under `target/fuzz`.

mod align;
mod calls;
mod executions;
mod filters;
mod mutants;
mod numbers;
mod simd;
mod stage;
mod supervise;
mod vectors;
mod whole;
mod worker;

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use clap::builder::PossibleValue;

use supervise::{Plan, Totals};
use worker::Action;

/// A fuzzer.
struct Fuzzer {
    name: &'static str,
    about: &'static str,
    /// Creates the action for each case.
    load: fn() -> anyhow::Result<Action>,
}

/// All fuzzers, in the order in which `all` runs them.
static FUZZERS: &[Fuzzer] = &[
    Fuzzer {
        name: "front-end",
        about: "Mutated programs: lexer, parser and checker",
        load: mutants::front_end,
    },
    Fuzzer {
        name: "mutants",
        about: "The same, and those without errors are lowered, verified, printed, read and interpreted",
        load: mutants::all_stages,
    },
    Fuzzer {
        name: "whole",
        about: "Generated programs: interpreted before and after evaluation, and as native code",
        load: || Ok(Box::new(whole::run)),
    },
    Fuzzer {
        name: "kernels",
        about: "Generated programs with a kernel: the same on the first OpenCL device",
        load: whole::kernels,
    },
    Fuzzer {
        name: "simd",
        about: "Generated bodies for `vectorize`: SIMD code against the interpreter",
        load: || Ok(Box::new(simd::run)),
    },
    Fuzzer {
        name: "numbers",
        about: "Generated bodies for `vectorize` on numbers of all types, for several processors",
        load: || Ok(Box::new(numbers::run)),
    },
    Fuzzer {
        name: "vectors",
        about: "Generated functions on vectors: each lane computes what the same function on scalars computes",
        load: || Ok(Box::new(vectors::run)),
    },
    Fuzzer {
        name: "calls",
        about: "Generated functions with many parameters of all types: native code against the interpreter",
        load: || Ok(Box::new(calls::run)),
    },
    Fuzzer {
        name: "filters",
        about: "Programs under random filters: evaluation does not change what they compute",
        load: filters::load,
    },
    Fuzzer {
        name: "stage-texts",
        about: "Mutated programs of DeepCPS and Staged-C: parsers, translation and the machine",
        load: stage::texts,
    },
    Fuzzer {
        name: "stage",
        about: "Generated staged programs: against the same without annotations, and as native code",
        load: || Ok(Box::new(stage::programs)),
    },
    Fuzzer {
        name: "align",
        about: "The library `align` on random pairs: scores and paths against the recurrence of textbooks",
        load: align::load,
    },
];

/// The name for all fuzzers.
const ALL: &str = "all";

/// Run random programs through the compiler
#[derive(Args)]
pub struct FuzzArgs {
    /// The fuzzer
    #[arg(value_parser = names())]
    name: String,
    /// The seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The duration in seconds
    #[arg(long, default_value_t = 60)]
    time: u64,
    /// The duration in minutes
    #[arg(long, conflicts_with = "time")]
    minutes: Option<u64>,
    /// The maximum number of programs per fuzzer
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    cases: u64,
    /// The number of the first program
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// The number of processes; one per core by default
    #[arg(long)]
    jobs: Option<u64>,
    /// Run every STEPth case in this process; for internal use
    #[arg(long, hide = true, value_name = "STEP")]
    worker: Option<u64>,
}

fn names() -> Vec<PossibleValue> {
    let all = PossibleValue::new(ALL).help("Every fuzzer, one after the other");
    let each = FUZZERS.iter().map(|fuzzer| PossibleValue::new(fuzzer.name).help(fuzzer.about));
    each.chain([all]).collect()
}

pub fn run(args: &FuzzArgs) -> anyhow::Result<()> {
    let mut chosen: Vec<&Fuzzer> =
        FUZZERS.iter().filter(|fuzzer| args.name == ALL || args.name == fuzzer.name).collect();
    let end = args.first.saturating_add(args.cases);
    if let (Some(step), [fuzzer]) = (args.worker, &chosen[..]) {
        return worker::work(fuzzer, args.seed, (args.first..end).step_by(usize::try_from(step)?));
    }
    let limit =
        args.minutes.map_or(Duration::from_secs(args.time), |minutes| Duration::from_secs(60 * minutes));
    let n_workers =
        args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u64));
    let mut rows = vec![];
    if args.name == ALL && !whole::has_opencl() {
        println!("kernels: left out, as there is no OpenCL device (try `cargo xtask setup`)");
        chosen.retain(|fuzzer| fuzzer.name != "kernels");
    }
    for fuzzer in &chosen {
        let limit = limit / u32::try_from(chosen.len())?;
        let plan = Plan { fuzzer, seed: args.seed, cases: args.first..end, limit, n_workers };
        rows.push((fuzzer.name, supervise::run(&plan)?));
    }
    print!("{}", table(args.seed, &rows));
    let findings: u64 = rows.iter().map(|(_, totals)| totals.findings).sum();
    ensure!(findings == 0, "{findings} findings");
    Ok(())
}

/// A table with a row per fuzzer.
fn table(seed: u64, rows: &[(&str, Totals)]) -> String {
    let mut text = format!(
        "{:<10} {:>6} {:>10} {:>12} {:>10} {:>10} {:>9} {:>9}\n",
        "fuzzer", "seed", "programs", "executions", "accepted", "rejected", "findings", "seconds"
    );
    for (name, totals) in rows {
        let Totals { programs, executions, accepted, findings, seconds } = totals;
        let rejected = programs - accepted - findings;
        text += &format!(
            "{name:<10} {seed:>6} {programs:>10} {executions:>12} {accepted:>10} {rejected:>10} {findings:>9} {seconds:>9.1}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_count_every_program_once() {
        let totals = Totals { programs: 10, executions: 42, accepted: 7, findings: 1, seconds: 1.5 };
        let table = table(3, &[("whole", totals)]);
        let columns: Vec<&str> =
            table.lines().nth(1).map(|row| row.split_whitespace().collect()).unwrap_or_default();
        assert_eq!(columns, ["whole", "3", "10", "42", "7", "2", "1", "1.5"]);
    }
}
