//! What became of tests, as text for people, as JSON and as JUnit's XML.

use std::time::Duration;

use serde_json::json;

use crate::discover::{Case, Unit};
use crate::execute::Mode;
use crate::run::{Outcome, RunResult};

/// The ways to write results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Human,
    /// One JSON object per line.
    Json,
    /// XML, as JUnit writes it.
    Junit,
}

/// Collects results and writes them.
pub struct Reporter<'u> {
    format: Format,
    units: &'u [Unit],
    modes: Vec<Mode>,
    results: Vec<RunResult>,
}

/// What became of a case in all modes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    Skipped,
}

/// How many cases became what.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Passed in all modes in which they were run.
    pub passed: usize,
    /// Failed in some mode.
    pub failed: usize,
    /// Were run in no mode.
    pub skipped: usize,
}

impl<'u> Reporter<'u> {
    /// A reporter without results.
    pub fn new(format: Format, units: &'u [Unit], modes: &[Mode]) -> Reporter<'u> {
        Reporter { format, units, modes: modes.to_vec(), results: vec![] }
    }

    /// What comes first.
    pub fn begin(&self) -> String {
        let n_cases: usize = self.units.iter().map(|unit| unit.cases.len()).sum();
        let modes: Vec<String> = self.modes.iter().map(Mode::to_string).collect();
        match self.format {
            Format::Human => format!("{} in {}\n", plural(n_cases, "test"), modes.join(", ")),
            Format::Json | Format::Junit => String::new(),
        }
    }

    /// Takes a result, and writes what is known by now.
    pub fn add(&mut self, result: RunResult) -> String {
        let (unit, case) = (result.unit, result.case);
        let line = match self.format {
            Format::Json => self.json(&result),
            Format::Human | Format::Junit => String::new(),
        };
        self.results.push(result);
        let results = self.of_case(unit, case);
        let is_complete = results.len() == self.modes.len();
        match self.format {
            Format::Human if is_complete => human_line(&self.units[unit].cases[case], &results),
            _ => line,
        }
    }

    /// What comes last, and how many cases became what.
    pub fn finish(&self, time: Duration) -> (String, Counts) {
        let counts = self.counts();
        let text = match self.format {
            Format::Human => self.failures() + &summary(counts, time),
            Format::Json => {
                let Counts { passed, failed, skipped } = counts;
                let seconds = time.as_secs_f64();
                let value = json!({
                    "event": "summary", "passed": passed, "failed": failed, "skipped": skipped, "seconds": seconds,
                });
                format!("{value}\n")
            }
            Format::Junit => self.junit(time),
        };
        (text, counts)
    }

    fn of_case(&self, unit: usize, case: usize) -> Vec<&RunResult> {
        self.results.iter().filter(|result| (result.unit, result.case) == (unit, case)).collect()
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (number, unit) in self.units.iter().enumerate() {
            for case in 0..unit.cases.len() {
                match verdict(&self.of_case(number, case)) {
                    Verdict::Passed => counts.passed += 1,
                    Verdict::Failed => counts.failed += 1,
                    Verdict::Skipped => counts.skipped += 1,
                }
            }
        }
        counts
    }

    fn case(&self, result: &RunResult) -> &Case {
        &self.units[result.unit].cases[result.case]
    }

    /// The output of each failure. Modes that fail alike are told once.
    fn failures(&self) -> String {
        let mut text = String::new();
        let mut told: Vec<&RunResult> = vec![];
        let mut results: Vec<&RunResult> = self.results.iter().collect();
        results.sort_by_key(|result| (result.unit, result.case));
        for &result in &results {
            let Outcome::Failed(reason) = &result.outcome else { continue };
            let is_same = |other: &&RunResult| {
                (other.unit, other.case, &other.outcome, &other.output)
                    == (result.unit, result.case, &result.outcome, &result.output)
            };
            if told.iter().any(is_same) {
                continue;
            }
            told.push(result);
            let modes: Vec<String> =
                results.iter().copied().filter(is_same).map(|result| result.mode.to_string()).collect();
            let case = self.case(result);
            text += &format!("\n---- {} ({}) at {}: {reason}\n", case.name, modes.join(", "), case.place);
            text += result.output.trim_end();
            text += if result.output.trim_end().is_empty() { "" } else { "\n" };
        }
        text + "\n"
    }

    fn json(&self, result: &RunResult) -> String {
        let case = self.case(result);
        let (outcome, reason) = match &result.outcome {
            Outcome::Passed => ("passed", ""),
            Outcome::Failed(reason) => ("failed", &**reason),
            Outcome::Skipped(reason) => ("skipped", &**reason),
        };
        let value = json!({
            "event": "test", "name": case.name, "place": case.place, "mode": result.mode.to_string(),
            "outcome": outcome, "reason": reason, "seconds": result.seconds, "output": result.output,
        });
        format!("{value}\n")
    }

    fn junit(&self, time: Duration) -> String {
        let count =
            |is: fn(&Outcome) -> bool| self.results.iter().filter(|result| is(&result.outcome)).count();
        let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
        let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"nyala\" tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\" time=\"{:.3}\">\n",
            self.results.len(),
            time.as_secs_f64(),
        );
        for result in &self.results {
            let case = self.case(result);
            let file = case.place.split(':').next().unwrap_or_default();
            text += &format!(
                "    <testcase classname=\"{}\" name=\"{} [{}]\" time=\"{:.3}\"",
                xml(file),
                xml(&case.name),
                result.mode,
                result.seconds
            );
            text += &match &result.outcome {
                Outcome::Passed => "/>\n".to_owned(),
                Outcome::Skipped(reason) => {
                    format!(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", xml(reason))
                }
                Outcome::Failed(reason) => format!(
                    ">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                    xml(reason),
                    xml(&result.output)
                ),
            };
        }
        text + "  </testsuite>\n</testsuites>\n"
    }
}

fn verdict(results: &[&RunResult]) -> Verdict {
    let any = |is: fn(&Outcome) -> bool| results.iter().any(|result| is(&result.outcome));
    if any(|outcome| matches!(outcome, Outcome::Failed(_))) {
        Verdict::Failed
    } else if any(|outcome| *outcome == Outcome::Passed) {
        Verdict::Passed
    } else {
        Verdict::Skipped
    }
}

fn human_line(case: &Case, results: &[&RunResult]) -> String {
    let failed: Vec<String> = results
        .iter()
        .filter(|result| matches!(result.outcome, Outcome::Failed(_)))
        .map(|result| result.mode.to_string())
        .collect();
    let mut details: Vec<String> = vec![];
    if !failed.is_empty() {
        details.push(format!("in {}", failed.join(", ")));
    }
    for result in results {
        if let Outcome::Skipped(reason) = &result.outcome {
            details.push(format!("not in {}: {reason}", result.mode));
        }
    }
    let word = match verdict(results) {
        Verdict::Passed => "ok",
        Verdict::Failed => "FAILED",
        Verdict::Skipped => "skipped",
    };
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    format!("{word:7} {}{details}\n", case.name)
}

/// `3 passed, 1 failed in 0.52 s`
fn summary(counts: Counts, time: Duration) -> String {
    let Counts { passed, failed, skipped } = counts;
    let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    format!("{passed} passed, {failed} failed{skipped} in {:.2} s\n", time.as_secs_f64())
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Text as XML has it: what has a meaning there is escaped, and what cannot be there is left out.
fn xml(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\t' => escaped.push(letter),
            letter if letter.is_control() => {}
            letter => escaped.push(letter),
        }
    }
    escaped
}
