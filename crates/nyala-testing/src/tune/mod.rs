//! Searches for the fastest values of parameters on this machine: `nyala tune` as a library.
//!
//! Read in this order:
//!
//! * [`space`]: which benchmarks measure which parameters, and combinations of values;
//! * [`search`](mod@search): which combinations are measured;
//! * [`contender`]: a process with the benchmarks, compiled for one combination;
//! * [`race`]: measures contenders side by side;
//! * [`report`]: the outcome as text and JSON.
//!
//! # What always holds
//!
//! * A combination that does not compile, crashes, or has another result than the values in the source is never
//!   chosen.
//! * The values in the source win unless another combination is measurably faster.
//! * The order of measurements depends on the seed only; what is measured, on the budget.

pub mod contender;
pub mod race;
pub mod report;
pub mod search;
pub mod space;

use std::io;
use std::time::{Duration, Instant};

use crate::discover::Unit;
use crate::execute::ExecuteOptions;
use race::{Racer, Record, Times};
use search::{Plan, search};
use space::{Combination, Group};

/// How parameters are tuned.
#[derive(Clone, Debug)]
pub struct TuneOptions {
    /// How much benchmarks are optimized.
    pub opt_level: u8,
    /// The time for all measurements.
    pub budget: Duration,
    /// The first number of the random choices.
    pub seed: u32,
    /// How many combinations are compiled at once.
    pub jobs: usize,
    /// How programs are compiled.
    pub execute: ExecuteOptions,
}

/// What was found for parameters that are measured together.
#[derive(Clone, Debug)]
pub struct Found {
    /// The parameters and benchmarks.
    pub group: Group,
    /// How combinations were selected.
    pub plan: Plan,
    /// All combinations that were looked at, in order. The first one is that of the source.
    pub records: Vec<Record>,
    /// The fastest one.
    pub chosen: Combination,
    /// How long it took.
    pub time: Duration,
    /// Whether the budget ended before the search did.
    pub is_out_of_time: bool,
}

/// Where a search stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// How many combinations are measured or excluded.
    pub done: usize,
    /// How many there are.
    pub all: u64,
    /// The time of the fastest one so far, as a part of that of the source.
    pub best: f64,
    /// The time since the start.
    pub time: Duration,
}

/// Finds the fastest values for a group. The error is why the values in the source could not be measured.
pub fn tune(
    unit: &Unit,
    group: &Group,
    options: &TuneOptions,
    progress: &mut dyn FnMut(Progress),
) -> io::Result<Result<Found, String>> {
    let start = Instant::now();
    let mut racer = match Racer::new(unit, group, options, progress)? {
        Ok(racer) => racer,
        Err(reason) => return Ok(Err(reason)),
    };
    let plan = Plan::of(&group.sizes());
    let chosen = search(&group.sizes(), plan, options.seed, &mut racer)?;
    let (records, is_out_of_time) = racer.finish();
    Ok(Ok(Found { group: group.clone(), plan, records, chosen, time: start.elapsed(), is_out_of_time }))
}

impl Found {
    /// What was measured for a combination.
    pub fn record(&self, combination: &Combination) -> Option<&Record> {
        self.records.iter().find(|record| record.combination == *combination)
    }

    /// Times as a part of those of the source.
    pub fn part_of_source(&self, times: &Times) -> f64 {
        let source = self.records.first().and_then(|record| record.outcome.as_ref().ok());
        times.mean() / source.map_or(f64::NAN, Times::mean)
    }

    /// The combinations whose results differ from that of the source.
    pub fn wrong(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.is_wrong())
    }
}
