//! Times of kernels: a table at the end of the program, if the environment variable `NYALA_PROFILE` (or its
//! old name `ANYDSL_PROFILE`) is set.
//!
//! Each launch then waits for its kernel.

use std::collections::BTreeMap;
use std::env;
use std::sync::{Mutex, OnceLock, PoisonError};

/// One execution of a kernel.
pub(super) struct Timed<'a> {
    pub name: &'a str,
    pub place: &'a str,
    pub milliseconds: f32,
}

/// All executions of a kernel.
#[derive(Clone, Copy, Default, Debug)]
struct Total {
    launches: u64,
    milliseconds: f64,
    longest: f32,
}

static TOTALS: Mutex<BTreeMap<(String, String), Total>> = Mutex::new(BTreeMap::new());

/// Whether kernels are profiled.
pub(super) fn is_on() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| {
        ["NYALA_PROFILE", "ANYDSL_PROFILE"]
            .iter()
            .any(|name| env::var_os(name).is_some_and(|v| !v.is_empty()))
    })
}

unsafe extern "C" {
    fn atexit(run: extern "C" fn()) -> std::ffi::c_int;
}

extern "C" fn show() {
    eprint!("{}", table());
}

/// Counts an execution.
pub(super) fn add(timed: Timed<'_>) {
    static AT_END: OnceLock<()> = OnceLock::new();
    AT_END.get_or_init(|| {
        // SAFETY: the function has no parameters, and exists until the process ends. If it cannot be registered,
        // there is no table.
        let _ = unsafe { atexit(show) };
    });
    let mut totals = TOTALS.lock().unwrap_or_else(PoisonError::into_inner);
    let total = totals.entry((timed.name.to_owned(), timed.place.to_owned())).or_default();
    total.launches += 1;
    total.milliseconds += f64::from(timed.milliseconds);
    total.longest = total.longest.max(timed.milliseconds);
}

/// Microseconds spent in all kernels so far.
pub(crate) fn microseconds() -> u64 {
    let totals = TOTALS.lock().unwrap_or_else(PoisonError::into_inner);
    (totals.values().map(|total| total.milliseconds).sum::<f64>() * 1000.0) as u64
}

fn table() -> String {
    let totals = TOTALS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut rows: Vec<_> = totals.iter().collect();
    rows.sort_by(|a, b| b.1.milliseconds.total_cmp(&a.1.milliseconds));
    let mut text = String::from(" launches   total ms    mean ms     max ms  kernel\n");
    for ((name, place), Total { launches, milliseconds, longest }) in rows {
        let mean = milliseconds / *launches as f64;
        text += &format!("{launches:9} {milliseconds:10.3} {mean:10.4} {longest:10.4}  {name} ({place})\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_added_up() {
        for milliseconds in [1.0, 3.0] {
            add(Timed { name: "f", place: "a:1:1", milliseconds });
        }
        assert_eq!(microseconds(), 4000);
        assert!(table().contains("        2      4.000     2.0000     3.0000  f (a:1:1)"));
    }
}
