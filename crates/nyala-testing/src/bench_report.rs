//! Measurements as text for people and as JSON, and saved runs to compare with.

use std::path::PathBuf;
use std::{fs, io};

use nyala_sema::tree::Throughput;
use serde_json::{Map, Value, json};

use crate::bench::{Measurement, per_second};
use crate::discover::Case;
use crate::statistics::{Change, Summary, Verdict, compare};

/// Measurements by the names of their benchmarks.
#[derive(Default)]
pub struct SavedRun {
    measurements: Map<String, Value>,
}

/// Where runs are saved, from the folder that `nyala bench` is called in.
const FOLDER: &str = "target/nyala-bench";

impl SavedRun {
    /// The file of a saved run.
    pub fn path(name: &str) -> PathBuf {
        PathBuf::from(FOLDER).join(format!("{name}.json"))
    }

    /// Reads a run that was saved.
    pub fn load(name: &str) -> io::Result<SavedRun> {
        match serde_json::from_slice(&fs::read(SavedRun::path(name))?) {
            Ok(Value::Object(measurements)) => Ok(SavedRun { measurements }),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the file is no saved run")),
        }
    }

    /// Saves the run.
    pub fn save(self, name: &str) -> io::Result<()> {
        fs::create_dir_all(FOLDER)?;
        fs::write(SavedRun::path(name), format!("{}\n", Value::Object(self.measurements)))
    }

    /// Adds a measurement.
    pub fn add(&mut self, case: &Case, measurement: &Measurement) {
        self.measurements.insert(case.name.clone(), measurement.to_json());
    }

    /// How a measurement differs from the one that was saved, if there is one.
    pub fn change(&self, case: &Case, measurement: &Measurement) -> Option<Change> {
        let old = Measurement::from_json(self.measurements.get(&case.name)?)?;
        Some(compare(&old.samples, &measurement.samples))
    }
}

/// A line for people.
pub fn human(case: &Case, measurement: &Measurement, change: Option<Change>, width: usize) -> String {
    let summary = Summary::of(&measurement.samples);
    let compiling = measurement.compiling();
    let mut line = format!(
        "{:width$} {:>10} {:>9} {:>14} {:>10} {:>10}",
        case.name,
        time(summary.median),
        format!("± {:.1} %", summary.spread() * 50.0),
        case.throughput.map_or(String::new(), |amount| rate(amount, per_second(amount, summary.median))),
        time(compiling.evaluation * 1e6),
        time(compiling.code_generation * 1e6),
    );
    if let Some(Change { ratio, verdict, .. }) = change {
        let percent = format!("{:+.1} %", (ratio - 1.0) * 100.0);
        line += &match verdict {
            Verdict::Faster => format!("   {percent} faster"),
            Verdict::Slower => format!("   {percent} SLOWER"),
            Verdict::Same => "   same".to_owned(),
        };
    }
    line + "\n"
}

/// The headline above [`human`].
pub fn headline(width: usize) -> String {
    format!(
        "{:width$} {:>10} {:>9} {:>14} {:>10} {:>10}\n",
        "benchmark", "median", "spread", "throughput", "evaluate", "generate"
    )
}

/// A JSON object.
pub fn json(case: &Case, measurement: &Measurement, change: Option<Change>) -> String {
    let summary = Summary::of(&measurement.samples);
    let phases: Map<String, Value> =
        measurement.phases.iter().map(|(name, time)| (name.clone(), json!(time))).collect();
    let mut value = json!({
        "event": "bench", "name": case.name, "place": case.place, "calls": measurement.calls,
        "samples": measurement.samples.len(), "median_ns": summary.median, "min_ns": summary.min,
        "lower_quartile_ns": summary.lower_quartile, "upper_quartile_ns": summary.upper_quartile,
        "compile_ms": phases,
    });
    if let Some(throughput) = case.throughput {
        let unit = match throughput {
            Throughput::Bytes(_) => "bytes_per_second",
            Throughput::Items(_) => "items_per_second",
        };
        value[unit] = json!(per_second(throughput, summary.median));
    }
    if let Some(Change { ratio, p, verdict }) = change {
        let verdict = match verdict {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
        };
        value["change"] = json!({ "ratio": ratio, "p": p, "verdict": verdict });
    }
    format!("{value}\n")
}

/// Nanoseconds, in a unit that leaves few digits.
pub(crate) fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

fn rate(throughput: Throughput, per_second: f64) -> String {
    let (value, prefix) = match per_second {
        n if n < 1e3 => (n, ""),
        n if n < 1e6 => (n / 1e3, "k"),
        n if n < 1e9 => (n / 1e6, "M"),
        n => (n / 1e9, "G"),
    };
    match throughput {
        Throughput::Bytes(_) => format!("{} {prefix}B/s", digits(value)),
        Throughput::Items(_) => format!("{} {prefix}/s", digits(value)),
    }
}

/// Four digits, for numbers from 1 to 1000.
fn digits(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.3}"),
        v if v < 100.0 => format!("{v:.2}"),
        v => format!("{v:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_have_units() {
        assert_eq!([1.5, 1234.5, 2e6, 3e9].map(time), ["1.500 ns", "1.234 µs", "2.000 ms", "3.000 s"]);
        assert_eq!(rate(Throughput::Bytes(1), 12.5e9), "12.50 GB/s");
        assert_eq!(rate(Throughput::Items(1), 512e3), "512.0 k/s");
    }
}
