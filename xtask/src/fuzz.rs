//! `cargo xtask fuzz NAME`: random programs, looking for panics, crashes, hangs and results that differ.
//!
//! [`FUZZERS`] lists what can be fuzzed; `all` runs one after the other. Case number `k` of seed `s` is the same
//! on every machine: `--seed s --first k --cases 1` runs it again.
//!
//! The cases are run by one process for each core ([`worker`]), which are watched and replaced when they crash
//! or hang ([`supervise`]). A finding is printed, and its program is stored under `target/fuzz`.

mod calls;
mod filters;
mod mutants;
mod simd;
mod supervise;
mod whole;
mod worker;

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use clap::builder::PossibleValue;

use supervise::{Plan, Totals};
use worker::Action;

/// One way to look for faults.
struct Fuzzer {
    name: &'static str,
    about: &'static str,
    /// Makes what is done with each case.
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
        name: "calls",
        about: "Generated functions with many parameters of all types: native code against the interpreter",
        load: || Ok(Box::new(calls::run)),
    },
    Fuzzer {
        name: "filters",
        about: "Programs under random filters: evaluation does not change what they compute",
        load: filters::load,
    },
];

/// The fuzzer that stands for all.
const ALL: &str = "all";

/// Run random programs through the compiler
#[derive(Args)]
pub struct FuzzArgs {
    /// What to fuzz
    #[arg(value_parser = names())]
    name: String,
    /// Which programs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For how many seconds
    #[arg(long, default_value_t = 60)]
    time: u64,
    /// For how many minutes
    #[arg(long, conflicts_with = "time")]
    minutes: Option<u64>,
    /// At most how many programs for each fuzzer
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    cases: u64,
    /// The number of the first program
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// How many processes; one for each core if not given
    #[arg(long)]
    jobs: Option<u64>,
    /// Run every STEPth case in this process; for our own use
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

/// What was done, with a row for each fuzzer.
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
    fn every_program_is_counted_once() {
        let totals = Totals { programs: 10, executions: 42, accepted: 7, findings: 1, seconds: 1.5 };
        let table = table(3, &[("whole", totals)]);
        let columns: Vec<&str> =
            table.lines().nth(1).map(|row| row.split_whitespace().collect()).unwrap_or_default();
        assert_eq!(columns, ["whole", "3", "10", "42", "7", "2", "1", "1.5"]);
    }
}
