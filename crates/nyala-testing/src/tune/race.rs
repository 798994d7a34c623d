//! Measures combinations side by side.
//!
//! All contenders of a race take turns, and the source takes part in each race. So whatever else the machine does hits
//! all of them. After each stage the slower half leaves, and the others are measured for longer. Of the samples of a
//! contender the [`undisturbed`] ones count.
//!
//! Contenders of different races are compared by their times. If parts of the source's time in the same race were
//! compared, one race in which the source was disturbed would make all its contenders fast. In the finals, which
//! decide, the parts count: the machine may have become faster or slower since the first race.

use std::io;
use std::time::{Duration, Instant};

use super::contender::Contender;
use super::search::{Track, number_of};
use super::space::{Combination, Group};
use super::{Progress, TuneOptions};
use crate::discover::Unit;
use crate::statistics::undisturbed;

/// What is known about a combination.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Which.
    pub combination: Combination,
    /// Its times, or why it is excluded.
    pub outcome: Result<Times, Excluded>,
}

/// Nanoseconds for a call of each benchmark.
#[derive(Clone, PartialEq, Debug)]
pub struct Times(pub Vec<f64>);

impl Times {
    /// One number for all benchmarks: their geometric mean.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.0.iter().map(|time| time.ln()).sum();
        (sum / self.0.len() as f64).exp()
    }

    /// The smaller times of two measurements.
    fn min(&self, other: &Times) -> Times {
        Times(self.0.iter().zip(&other.0).map(|(a, b)| a.min(*b)).collect())
    }
}

/// Why a combination is excluded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Excluded {
    /// A benchmark has another result than with the values in the source.
    Wrong(String),
    /// It does not compile, or fails.
    Fails(String),
}

impl Record {
    /// Whether its result differs from that of the source.
    pub fn is_wrong(&self) -> bool {
        matches!(self.outcome, Err(Excluded::Wrong(_)))
    }
}

/// The rounds of a race: how many, and how long each contender is measured for each benchmark in one of them.
const STAGES: [(usize, Duration); 3] =
    [(3, Duration::from_millis(15)), (3, Duration::from_millis(30)), (4, Duration::from_millis(60))];

/// The rounds of the finals.
const FINALS: (usize, Duration) = (10, Duration::from_millis(80));

/// How long the values in the source may take to compile, and a call of a benchmark.
const PATIENCE: Duration = Duration::from_secs(300);

/// What other combinations are granted beyond the budget.
const GRACE: Duration = Duration::from_secs(2);

/// Measures the combinations of a group.
pub struct Racer<'a> {
    unit: &'a Unit,
    group: &'a Group,
    options: &'a TuneOptions,
    start: Instant,
    source: Contender,
    /// What was measured; the source first.
    records: Vec<Record>,
    /// How long the last race took.
    last_race: Duration,
    is_out_of_time: bool,
    progress: &'a mut dyn FnMut(Progress),
}

impl<'a> Racer<'a> {
    /// Compiles the source; the error is why it could not be.
    pub fn new(
        unit: &'a Unit,
        group: &'a Group,
        options: &'a TuneOptions,
        progress: &'a mut dyn FnMut(Progress),
    ) -> io::Result<Result<Racer<'a>, String>> {
        let start = Instant::now();
        let mut source = Contender::start(unit, group, &group.source(), options)?;
        if let Err(reason) = source.wait(PATIENCE)? {
            return Ok(Err(reason));
        }
        let unknown = Times(vec![f64::INFINITY; group.cases.len()]);
        let records = vec![Record { combination: group.source(), outcome: Ok(unknown) }];
        Ok(Ok(Racer {
            unit,
            group,
            options,
            start,
            source,
            records,
            last_race: Duration::ZERO,
            is_out_of_time: false,
            progress,
        }))
    }

    /// All that was measured, and whether there was not enough time.
    pub fn finish(self) -> (Vec<Record>, bool) {
        (self.records, self.is_out_of_time)
    }

    fn time_left(&self) -> Duration {
        self.options.budget.saturating_sub(self.start.elapsed())
    }

    /// Measures combinations in stages, and records their times. Gives those of the last stage, and the source.
    fn run_stages(
        &mut self,
        combinations: &[Combination],
        stages: &[(usize, Duration)],
    ) -> io::Result<(Vec<Runner>, Runner)> {
        let mut runners = self.ready(combinations)?;
        let mut of_source = Runner::new(0, self.group.cases.len());
        for (stage, &(rounds, time)) in stages.iter().enumerate() {
            if stage > 0 {
                runners.truncate(runners.len().div_ceil(2));
                runners.retain(|(_, runner)| runner.failure.is_none());
            }
            for round in 0..rounds {
                self.measure_source(&mut of_source, time)?;
                let n = runners.len().max(1);
                for at in 0..runners.len() {
                    let (contender, runner) = &mut runners[(at + round) % n];
                    runner.measure(contender, time, self.options.budget + GRACE)?;
                }
            }
            runners.sort_by(|(_, a), (_, b)| a.mean().total_cmp(&b.mean()));
            for (_, runner) in &runners {
                self.record(combinations[runner.number].clone(), runner.outcome());
            }
            self.record(self.group.source(), of_source.outcome());
        }
        self.tell();
        Ok((runners.into_iter().map(|(_, runner)| runner).collect(), of_source))
    }

    fn measure_source(&mut self, runner: &mut Runner, time: Duration) -> io::Result<()> {
        runner.measure(&mut self.source, time, PATIENCE)?;
        match runner.failure.take() {
            Some(reason) => {
                Err(io::Error::other(format!("the values in the source cannot be measured: {reason}")))
            }
            None => Ok(()),
        }
    }

    /// Compiles combinations, and compares their results with that of the source.
    fn ready(&mut self, combinations: &[Combination]) -> io::Result<Vec<(Contender, Runner)>> {
        let mut ready = vec![];
        let numbers: Vec<usize> = (0..combinations.len()).collect();
        for some in numbers.chunks(self.options.jobs.max(1)) {
            let start = |&number: &usize| {
                let contender = Contender::start(self.unit, self.group, &combinations[number], self.options)?;
                Ok((number, contender))
            };
            let started: Vec<(usize, Contender)> = some.iter().map(start).collect::<io::Result<_>>()?;
            for (number, mut contender) in started {
                let limit = (self.time_left() + GRACE).max(GRACE * 5);
                let problem = match contender.wait(limit)? {
                    Err(reason) => Some(Excluded::Fails(reason)),
                    Ok(()) => self.difference(&contender).map(Excluded::Wrong),
                };
                match problem {
                    Some(problem) => self.record(combinations[number].clone(), Err(problem)),
                    None => ready.push((contender, Runner::new(number, self.group.cases.len()))),
                }
            }
        }
        Ok(ready)
    }

    /// How the results of a contender differ from those of the source.
    fn difference(&self, contender: &Contender) -> Option<String> {
        let pairs = self.source.results.iter().zip(&contender.results).zip(&self.group.cases);
        pairs
            .filter(|((source, result), case)| !source.agrees_with(result, case.tolerance))
            .map(|((source, result), case)| {
                format!("the result of `{}` is {} instead of {}", case.name, result.shown(), source.shown())
            })
            .next()
    }

    fn record(&mut self, combination: Combination, outcome: Result<Times, Excluded>) {
        match self.records.iter_mut().find(|record| record.combination == combination) {
            Some(record) => {
                record.outcome = match (&record.outcome, outcome) {
                    (Ok(old), Ok(new)) => Ok(new.min(old)),
                    (_, outcome) => outcome,
                }
            }
            None => self.records.push(Record { combination, outcome }),
        }
    }

    fn tell(&mut self) {
        let times = self.records.iter().filter_map(|record| Some(record.outcome.as_ref().ok()?.mean()));
        let best = times.fold(f64::INFINITY, f64::min) / self.source();
        let (done, all) = (self.records.len(), number_of(&self.group.sizes()));
        (self.progress)(Progress { done, all, best, time: self.start.elapsed() });
    }
}

impl Track for Racer<'_> {
    fn race(&mut self, combinations: &[Combination]) -> io::Result<Vec<Option<f64>>> {
        // Another race takes as long as the last one, and the finals about half of that.
        if self.time_left() <= self.last_race.mul_f64(1.5) {
            self.is_out_of_time = true;
            return Ok(vec![None; combinations.len()]);
        }
        let start = Instant::now();
        self.run_stages(combinations, &STAGES)?;
        self.last_race = start.elapsed();
        let time = |combination: &Combination| {
            let record = self.records.iter().find(|record| record.combination == *combination)?;
            record.outcome.as_ref().ok().map(Times::mean)
        };
        Ok(combinations.iter().map(time).collect())
    }

    fn source(&self) -> f64 {
        self.records[0].outcome.as_ref().map_or(f64::INFINITY, Times::mean)
    }

    fn finals(&mut self, combinations: &[Combination]) -> io::Result<Vec<Option<f64>>> {
        let (runners, of_source) = self.run_stages(combinations, &[FINALS])?;
        let mut times = vec![None; combinations.len()];
        for runner in runners.iter().filter(|runner| runner.failure.is_none()) {
            times[runner.number] = Some(runner.mean() / of_source.mean());
        }
        Ok(times)
    }

    fn left(&self) -> f64 {
        self.time_left().as_secs_f64() / self.options.budget.as_secs_f64().max(1e-9)
    }
}

/// A contender's samples in one race.
struct Runner {
    /// Its number among the combinations of the race.
    number: usize,
    /// The samples of each benchmark.
    samples: Vec<Vec<f64>>,
    failure: Option<String>,
}

impl Runner {
    fn new(number: usize, cases: usize) -> Runner {
        Runner { number, samples: vec![vec![]; cases], failure: None }
    }

    fn measure(&mut self, contender: &mut Contender, time: Duration, limit: Duration) -> io::Result<()> {
        for (case, samples) in self.samples.iter_mut().enumerate() {
            if self.failure.is_some() {
                break;
            }
            match contender.measure(case, time, limit)? {
                Ok(new) => samples.extend(new),
                Err(reason) => self.failure = Some(reason),
            }
        }
        Ok(())
    }

    /// The mean of its times; what fails is slower than all others.
    fn mean(&self) -> f64 {
        self.outcome().map_or(f64::INFINITY, |times| times.mean())
    }

    fn outcome(&self) -> Result<Times, Excluded> {
        match &self.failure {
            Some(reason) => Err(Excluded::Fails(reason.clone())),
            None => Ok(Times(self.samples.iter().map(|samples| undisturbed(samples)).collect())),
        }
    }
}
