//! How long the phases of a compilation take.
//!
//! A phase lasts until the next one begins, so the phases add up to the whole: no time
//! is lost between them, and none is counted twice.

use std::fmt;
use std::time::{Duration, Instant};

/// When the phases of a compilation began.
#[derive(Clone, Debug)]
pub struct Timings {
    began: Vec<(&'static str, Instant)>,
}

impl Timings {
    /// Begins with this phase.
    pub fn new(first: &'static str) -> Timings {
        Timings { began: vec![(first, Instant::now())] }
    }

    /// Ends the phase of before and begins another.
    pub fn enter(&mut self, phase: &'static str) {
        self.began.push((phase, Instant::now()));
    }

    /// The phases up to now, in the order of their first beginning.
    pub fn table(&self) -> TimingTable {
        let ends = self.began.iter().skip(1).map(|&(_, at)| at).chain([Instant::now()]);
        let mut rows: Vec<(&'static str, Duration)> = vec![];
        for (&(phase, begin), end) in self.began.iter().zip(ends) {
            let time = end - begin;
            match rows.iter_mut().find(|(other, _)| *other == phase) {
                Some((_, sum)) => *sum += time,
                None => rows.push((phase, time)),
            }
        }
        TimingTable { rows }
    }
}

/// Times by phase; displays as a table for people.
#[derive(Clone, Debug)]
pub struct TimingTable {
    /// Each phase once, with all of its time.
    pub rows: Vec<(&'static str, Duration)>,
}

impl TimingTable {
    /// All phases together.
    pub fn total(&self) -> Duration {
        self.rows.iter().map(|&(_, time)| time).sum()
    }
}

impl fmt::Display for TimingTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total().as_secs_f64().max(f64::MIN_POSITIVE);
        for (phase, time) in self.rows.iter().copied().chain([("total", self.total())]) {
            let seconds = time.as_secs_f64();
            writeln!(f, "{phase:20} {:10.3} ms {:5.1} %", seconds * 1e3, seconds / total * 100.0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_add_up_and_appear_once() {
        let mut timings = Timings::new("read");
        for phase in ["parse", "check", "parse"] {
            timings.enter(phase);
        }
        let table = timings.table();
        let names: Vec<_> = table.rows.iter().map(|&(name, _)| name).collect();
        assert_eq!(names, ["read", "parse", "check"]);
        assert!(table.total() <= timings.began[0].1.elapsed());
        assert_eq!(table.to_string().lines().count(), 4);
    }
}
