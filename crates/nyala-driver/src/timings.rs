//! The times of the phases of a compilation.
//!
//! A phase lasts until the next one starts, so the phases add up to the total
//! time.

use std::fmt;
use std::time::{Duration, Instant};

/// The start times of the phases of a compilation.
#[derive(Clone, Debug)]
pub struct Timings {
    began: Vec<(&'static str, Instant)>,
}

impl Timings {
    /// Starts with this phase.
    pub fn new(first: &'static str) -> Timings {
        Timings { began: vec![(first, Instant::now())] }
    }

    /// Ends the current phase and starts another.
    pub fn enter(&mut self, phase: &'static str) {
        self.began.push((phase, Instant::now()));
    }

    /// The phases so far, in the order of their first start.
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

/// Times by phase; displays as a table.
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
