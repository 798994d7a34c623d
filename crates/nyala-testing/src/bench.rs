//! Measures benchmarks: one after the other, each compiled and called in a process of its own.
//!
//! A benchmark is called until it is warm, and then in samples. A sample is as many calls as are needed to
//! measure it well. The compiler's own time is measured on the way.

use std::io;
use std::time::{Duration, Instant};

use nyala_sema::tree::Throughput;
use serde_json::{Value, json};

use crate::discover::{Case, Unit};
use crate::execute::{ExecuteOptions, Mode, compile};
use crate::process::{Ended, Scratch, spawn};

/// How benchmarks are measured.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// How much they are optimized.
    pub opt_level: u8,
    /// How long each is measured, after warming up.
    pub time: Duration,
    /// How long compiling and measuring a benchmark may take.
    pub timeout: Duration,
    /// How programs are compiled.
    pub execute: ExecuteOptions,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Nanoseconds for one call, one number for each sample.
    pub samples: Vec<f64>,
    /// How many calls a sample is.
    pub calls: u64,
    /// The phases of the compiler, with their time in milliseconds.
    pub phases: Vec<(String, f64)>,
}

/// The number of samples that is aimed at.
const SAMPLES: u32 = 60;

/// A benchmark that takes long has at least so many samples.
const MIN_SAMPLES: usize = 5;

/// A sample takes at least so long: the clock is far more exact than that.
const MIN_SAMPLE: Duration = Duration::from_micros(50);

/// Warming up takes this part of the time for measuring.
const WARM_UP: f64 = 0.3;

/// Compiles and measures a benchmark; the error is what went wrong, as text.
pub fn measure(unit: &Unit, case: &Case, options: &BenchOptions) -> io::Result<Result<Measurement, String>> {
    let (results, log) = (Scratch::new()?, Scratch::new()?);
    let ended = spawn(&log, || work(unit, case, options, &results))?.wait(options.timeout)?;
    let log = String::from_utf8_lossy(&log.read()?).into_owned();
    let value = serde_json::from_slice::<Value>(&results.read()?).ok();
    Ok(match (ended, value.as_ref().and_then(Measurement::from_json)) {
        (Ended::Status(0), Some(measurement)) => Ok(measurement),
        (Ended::TimedOut, _) => Err(format!("{log}it took more than {} s\n", options.timeout.as_secs_f64())),
        (Ended::Signal(signal), _) => Err(format!("{log}it was ended by signal {signal}\n")),
        (Ended::Status(_), _) => Err(log),
    })
}

/// What the process of a benchmark does.
fn work(unit: &Unit, case: &Case, options: &BenchOptions, results: &Scratch) -> i32 {
    let compiled = match compile(unit, &[case], Mode::Native(options.opt_level), &options.execute) {
        Ok(compiled) => compiled,
        Err(report) => {
            eprint!("{report}");
            return 1;
        }
    };
    let phases = compiled.timings().rows;
    let phases = phases.iter().map(|(name, time)| ((*name).to_owned(), time.as_secs_f64() * 1e3)).collect();
    let Some(entry) = compiled.native_entry(0) else { return 1 };
    let (samples, calls) = sample(|| entry(), options.time);
    let measurement = Measurement { samples, calls, phases };
    i32::from(results.append(measurement.to_json().to_string().as_bytes()).is_err())
}

/// The time of one call in nanoseconds, for each sample, and how many calls a sample is.
fn sample(call: impl FnMut(), time: Duration) -> (Vec<f64>, u64) {
    let mut sampler = Sampler::warm(call, time.mul_f64(WARM_UP), (time / SAMPLES).max(MIN_SAMPLE));
    (sampler.samples(time, MIN_SAMPLES), sampler.calls)
}

/// Calls a function in samples of many calls.
pub(crate) struct Sampler<F> {
    call: F,
    /// How many calls a sample is.
    calls: u64,
}

impl<F: FnMut()> Sampler<F> {
    /// Calls the function for some time, and finds how many calls take as long as a sample should.
    pub(crate) fn warm(call: F, time: Duration, sample: Duration) -> Sampler<F> {
        let mut sampler = Sampler { call, calls: 1 };
        let start = Instant::now();
        let per_call = loop {
            let taken = sampler.batch();
            if start.elapsed() >= time {
                break taken.as_secs_f64() / sampler.calls as f64;
            }
            sampler.calls = sampler.calls.saturating_mul(2);
        };
        sampler.calls = (sample.as_secs_f64() / per_call.max(1e-12)).ceil().max(1.0) as u64;
        sampler
    }

    /// The time of one call in nanoseconds, for each sample in a time, and for `at_least` so many.
    pub(crate) fn samples(&mut self, time: Duration, at_least: usize) -> Vec<f64> {
        let (start, mut samples) = (Instant::now(), vec![]);
        while samples.len() < at_least || start.elapsed() < time {
            samples.push(self.batch().as_secs_f64() * 1e9 / self.calls as f64);
        }
        samples
    }

    fn batch(&mut self) -> Duration {
        let start = Instant::now();
        (0..self.calls).for_each(|_| (self.call)());
        start.elapsed()
    }
}

impl Measurement {
    /// As JSON, for saved runs.
    pub fn to_json(&self) -> Value {
        let phases: Vec<Value> = self.phases.iter().map(|(name, time)| json!([name, time])).collect();
        json!({ "samples": self.samples, "calls": self.calls, "phases": phases })
    }

    /// What [`Measurement::to_json`] has written.
    pub fn from_json(value: &Value) -> Option<Measurement> {
        let samples = value["samples"].as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>()?;
        let phase = |phase: &Value| Some((phase[0].as_str()?.to_owned(), phase[1].as_f64()?));
        let phases = value["phases"].as_array()?.iter().map(phase).collect::<Option<Vec<_>>>()?;
        let is_complete = !samples.is_empty();
        is_complete.then_some(Measurement { samples, calls: value["calls"].as_u64()?, phases })
    }

    /// What the compiler's phases cost together, in milliseconds: evaluation, code generation, and all others.
    pub fn compiling(&self) -> Compiling {
        let mut compiling = Compiling::default();
        for (name, time) in &self.phases {
            let sum = match name.as_str() {
                "evaluate" => &mut compiling.evaluation,
                "write LLVM assembly" | "link" => &mut compiling.code_generation,
                name if name.starts_with("LLVM") => &mut compiling.code_generation,
                _ => &mut compiling.rest,
            };
            *sum += time;
        }
        compiling
    }
}

/// What compiling costs, in milliseconds.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Compiling {
    /// Partial evaluation.
    pub evaluation: f64,
    /// From the graph to machine code.
    pub code_generation: f64,
    /// All other phases.
    pub rest: f64,
}

/// How much is processed in a second, if a call takes so many nanoseconds.
pub fn per_second(throughput: Throughput, nanoseconds: f64) -> f64 {
    let amount = match throughput {
        Throughput::Bytes(amount) | Throughput::Items(amount) => amount,
    };
    amount as f64 / nanoseconds * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_as_many_calls_as_are_needed() {
        let (samples, calls) = sample(|| std::hint::black_box(()), Duration::from_millis(20));
        assert!(samples.len() >= MIN_SAMPLES && calls > 100, "{calls}");
        let (samples, calls) =
            sample(|| std::thread::sleep(Duration::from_millis(5)), Duration::from_millis(10));
        assert_eq!((samples.len(), calls), (MIN_SAMPLES, 1));
        assert!(samples.iter().all(|&nanoseconds| nanoseconds >= 5e6), "{samples:?}");
    }

    #[test]
    fn measurements_are_saved_and_read() {
        let phases = vec![("evaluate".to_owned(), 1.5), ("LLVM: optimize".to_owned(), 2.0)];
        let measurement = Measurement { samples: vec![1.0, 2.5], calls: 7, phases };
        let read = Measurement::from_json(&measurement.to_json()).expect("it was just written");
        assert_eq!((read.samples, read.calls), (vec![1.0, 2.5], 7));
        assert_eq!(measurement.compiling(), Compiling { evaluation: 1.5, code_generation: 2.0, rest: 0.0 });
        assert!(Measurement::from_json(&json!({ "samples": [] })).is_none());
    }
}
