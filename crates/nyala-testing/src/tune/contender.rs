//! A combination of values, compiled and ready to be measured, in a process of its own.
//!
//! The process compiles the benchmarks, calls each of them once and sends the results. Then it waits: each order to
//! measure a benchmark for some time is answered with samples. So contenders take turns, and are measured under the
//! same conditions.

use std::cell::RefCell;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nyala_driver::native::EntryFn;
use nyala_driver::tuning::Tuning;
use nyala_runtime::tools::set_observer;
use serde_json::{Value, json};

use super::TuneOptions;
use super::space::Group;
use crate::bench::Sampler;
use crate::discover::{Case, Unit};
use crate::execute::{Compiled, Mode, compile};
use crate::process::{Ended, Process, Scratch, spawn};

/// A sample takes at least so long.
const MIN_SAMPLE: Duration = Duration::from_micros(200);

/// A process with a compiled combination.
pub struct Contender {
    process: Process,
    answers: BufReader<UnixStream>,
    log: Scratch,
    started: Instant,
    /// The results of the first call of each benchmark.
    pub results: Vec<Outcome>,
}

/// The result of a benchmark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// How it is shown: a template of `nyala_message`.
    pub template: String,
    /// The values for it.
    pub values: Vec<u64>,
}

impl Contender {
    /// Starts to compile a combination.
    pub fn start(
        unit: &Unit,
        group: &Group,
        combination: &[usize],
        options: &TuneOptions,
    ) -> io::Result<Contender> {
        let (ours, theirs) = UnixStream::pair()?;
        let log = Scratch::new()?;
        let mut session = unit.session.clone();
        session.options.tuning = Tuning::Values(group.values(combination));
        let unit = Unit { session, cases: vec![] };
        let process = spawn(&log, || work(&unit, &group.cases, options, &theirs).unwrap_or(1))?;
        Ok(Contender {
            process,
            answers: BufReader::new(ours),
            log,
            started: Instant::now(),
            results: vec![],
        })
    }

    /// Waits until it is ready, at most until `limit` after its start. The error is why it never is.
    pub fn wait(&mut self, limit: Duration) -> io::Result<Result<(), String>> {
        let left = limit.saturating_sub(self.started.elapsed());
        Ok(match self.answer(left)?.and_then(|answer| results(&answer).ok_or(String::new())) {
            Ok(results) => {
                self.results = results;
                Ok(())
            }
            Err(reason) => Err(reason),
        })
    }

    /// Measures a benchmark for some time: nanoseconds for one call, one number for each sample.
    pub fn measure(
        &mut self,
        case: usize,
        time: Duration,
        limit: Duration,
    ) -> io::Result<Result<Vec<f64>, String>> {
        let order = json!([case, time.as_nanos() as u64]);
        // If it has ended, reading says so.
        let _ = writeln!(self.answers.get_mut(), "{order}");
        let samples =
            |answer: Value| answer.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
        Ok(self.answer(limit)?.and_then(|answer| samples(answer).ok_or(String::new())))
    }

    /// The next line from the process; the error is why there is none.
    fn answer(&mut self, limit: Duration) -> io::Result<Result<Value, String>> {
        self.answers.get_ref().set_read_timeout(Some(limit.max(Duration::from_millis(1))))?;
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(n) if n > 0 => Ok(serde_json::from_str(&line).map_err(|error| error.to_string())),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Ok(Err(format!("it took more than {:.1} s", limit.as_secs_f64())))
            }
            _ => self.why_it_ended().map(Err),
        }
    }

    fn why_it_ended(&mut self) -> io::Result<String> {
        let ended = self.process.wait(Duration::from_secs(1))?;
        let log = String::from_utf8_lossy(&self.log.read()?).into_owned();
        let first_error = log.lines().find(|line| line.contains("error"));
        Ok(match (ended, first_error) {
            (_, Some(line)) => line.to_owned(),
            (Ended::Signal(signal), None) => format!("it was ended by signal {signal}"),
            _ => "it ended".into(),
        })
    }
}

fn results(answer: &Value) -> Option<Vec<Outcome>> {
    let outcome = |outcome: &Value| {
        let values = outcome[1].as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
        Some(Outcome { template: outcome[0].as_str()?.into(), values })
    };
    answer.as_array()?.iter().map(outcome).collect()
}

// ---- In the process -----------------------------------------------------------------------

/// What the process does; its exit status.
fn work(unit: &Unit, cases: &[Case], options: &TuneOptions, stream: &UnixStream) -> io::Result<i32> {
    let cases: Vec<&Case> = cases.iter().collect();
    let compiled = match compile(unit, &cases, Mode::Native(options.opt_level), &options.execute) {
        Ok(compiled) => compiled,
        Err(report) => {
            eprint!("{report}");
            return Ok(1);
        }
    };
    let mut entries = vec![];
    for case in 0..cases.len() {
        let Some(entry) = compiled.native_entry(case) else { return Ok(1) };
        entries.push(entry);
    }
    let results: Vec<Value> =
        (0..cases.len()).map(|case| first_result(&compiled, case, entries[case])).collect();
    let mut stream = stream;
    writeln!(stream, "{}", Value::from(results))?;
    let mut samplers: Vec<Option<Sampler<_>>> = entries.iter().map(|_| None).collect();
    for order in BufReader::new(stream).lines() {
        let order: Value = serde_json::from_str(&order?)?;
        let (Some(case), Some(time)) = (order[0].as_u64(), order[1].as_u64()) else { return Ok(1) };
        let (case, time) = (case as usize, Duration::from_nanos(time));
        let entry = &entries[case];
        let sampler = samplers[case]
            .get_or_insert_with(|| Sampler::warm(move || entry(), time / 3, (time / 10).max(MIN_SAMPLE)));
        // The first one also brings data back to the caches.
        let samples = sampler.samples(time, 2);
        writeln!(stream, "{}", json!(samples[1..]))?;
    }
    Ok(0)
}

/// The result of a benchmark's first call, as [`results`] reads it.
fn first_result(compiled: &Compiled, case: usize, entry: EntryFn) -> Value {
    set_observer(Some(observe));
    entry();
    set_observer(None);
    json!([compiled.entries[case].result, RESULT.take()])
}

thread_local! {
    static RESULT: RefCell<Vec<u64>> = const { RefCell::new(vec![]) };
}

fn observe(values: &[u64]) {
    RESULT.set(values.to_vec());
}

// ---- Results ------------------------------------------------------------------------------

impl Outcome {
    /// Whether two results are the same. Addresses differ between processes, and floats by `tolerance` at most.
    pub fn agrees_with(&self, other: &Outcome, tolerance: f64) -> bool {
        let kinds = nyala_message::kinds(&self.template);
        let is_same = |(kind, (&a, &b)): (&&str, (&u64, &u64))| match *kind {
            "ptr" => true,
            "f32" => near(f32::from_bits(a as u32).into(), f32::from_bits(b as u32).into(), tolerance),
            "f64" => near(f64::from_bits(a), f64::from_bits(b), tolerance),
            _ => a == b,
        };
        self.template == other.template
            && kinds.iter().zip(self.values.iter().zip(&other.values)).all(is_same)
    }

    /// As text.
    pub fn shown(&self) -> String {
        nyala_message::fill(&self.template, &self.values)
    }
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(template: &str, values: &[u64]) -> Outcome {
        Outcome { template: template.into(), values: values.to_vec() }
    }

    #[test]
    fn results_agree_if_all_their_values_do() {
        let [one, two] = [1.0f32, 1.5].map(|x| outcome("(%i32, %f32)", &[7, x.to_bits().into()]));
        assert!(one.agrees_with(&one, 0.0) && one.agrees_with(&two, 0.5));
        assert!(!one.agrees_with(&two, 0.25) && !one.agrees_with(&outcome("(%i32, %f32)", &[8, 0]), 10.0));
        let nan = outcome("%f64", &[f64::NAN.to_bits()]);
        assert!(nan.agrees_with(&nan, 0.0) && !nan.agrees_with(&outcome("%f64", &[0]), 1.0));
    }

    #[test]
    fn addresses_are_not_compared() {
        assert!(outcome("(%ptr, %u8)", &[64, 3]).agrees_with(&outcome("(%ptr, %u8)", &[128, 3]), 0.0));
    }
}
