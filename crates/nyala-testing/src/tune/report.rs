//! The outcome of tuning as a table for people and as JSON.

use std::time::Duration;

use nyala_driver::tuning::Parameter;
use serde_json::{Map, Value, json};

use super::race::{Excluded, Record, Times};
use super::search::{Plan, number_of};
use super::space::{Combination, Group};
use super::{Found, Progress};
use crate::bench_report::time;

/// So many combinations are shown, besides that of the source and the chosen one.
const SHOWN: usize = 6;

/// A list of the parameters and of the benchmarks that measure them.
pub fn list(groups: &[Group], unmeasured: &[Parameter]) -> String {
    let mut text = String::new();
    for group in groups {
        let cases: Vec<&str> = group.cases.iter().map(|case| case.name.as_str()).collect();
        for parameter in &group.parameters {
            text += &format!("{}, measured by {}\n", described(parameter), cases.join(", "));
        }
    }
    for parameter in unmeasured {
        text += &format!("{}, measured by no benchmark\n", described(parameter));
    }
    text
}

/// `tile = 32, one of 16, 32, 64`
fn described(parameter: &Parameter) -> String {
    let Parameter { name, values, chosen, .. } = parameter;
    let origin = if *chosen == 0 { "" } else { " (tuned)" };
    format!("{name} = {}{origin}, one of {}", values[*chosen], values.join(", "))
}

/// A line about a running search.
pub fn progress(group: &Group, progress: Progress) -> String {
    let Progress { done, all, best, time } = progress;
    let faster = (1.0 / best - 1.0) * 100.0;
    format!("{}: {done} of {all} combinations in {}, up to {faster:.0} % faster", names(group), seconds(time))
}

fn names(group: &Group) -> String {
    group.parameters.iter().map(|parameter| short(&parameter.name)).collect::<Vec<_>>().join(", ")
}

/// A name without its package and modules.
fn short(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// A table of the fastest combinations.
pub fn human(found: &Found) -> String {
    let all = number_of(&found.group.sizes());
    let measured = found.records.iter().filter(|record| record.outcome.is_ok()).count();
    let out_of_time = if found.is_out_of_time { ", when the budget ended" } else { "" };
    let mut text = format!(
        "{}: {measured} of {all} combinations measured in {}{out_of_time}\n",
        names(&found.group),
        seconds(found.time)
    );
    let mut rows = vec![headline(&found.group)];
    rows.extend(shown(found).into_iter().map(|record| row(found, record)));
    text += &aligned(&rows);
    for record in found.records.iter() {
        if let Err(excluded) = &record.outcome {
            let values = value_texts(&found.group, &record.combination).join(", ");
            text += &match excluded {
                Excluded::Wrong(reason) => format!("  wrong: {values}: {reason}\n"),
                Excluded::Fails(reason) => format!("  fails: {values}: {reason}\n"),
            };
        }
    }
    text
}

fn headline(group: &Group) -> Vec<String> {
    let parameters = group.parameters.iter().map(|parameter| short(&parameter.name).to_owned());
    let cases = group.cases.iter().map(|case| case.name.clone());
    parameters.chain(cases).chain(["time".into(), String::new()]).collect()
}

fn row(found: &Found, record: &Record) -> Vec<String> {
    let mut row = value_texts(&found.group, &record.combination);
    if let Ok(times) = &record.outcome {
        row.extend(times.0.iter().map(|&nanoseconds| time(nanoseconds)));
        row.push(format!("{:.1} %", found.part_of_source(times) * 100.0));
    }
    let marks = [
        (record.combination == found.chosen, "chosen"),
        (record.combination == found.group.source(), "in the source"),
    ];
    row.push(marks.iter().filter(|(holds, _)| *holds).map(|(_, mark)| *mark).collect::<Vec<_>>().join(", "));
    row
}

fn value_texts(group: &Group, combination: &Combination) -> Vec<String> {
    group.values(combination).into_iter().map(|(_, value)| value).collect()
}

/// The fastest records, the chosen one and that of the source.
fn shown(found: &Found) -> Vec<&Record> {
    let mean = |record: &Record| record.outcome.as_ref().map_or(f64::INFINITY, Times::mean);
    let mut records: Vec<&Record> = found.records.iter().filter(|record| record.outcome.is_ok()).collect();
    records.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    let is_special =
        |record: &Record| record.combination == found.chosen || record.combination == found.group.source();
    let n_others = records.iter().filter(|record| !is_special(record)).count();
    let mut left = SHOWN.min(n_others);
    records.retain(|record| {
        let is_other = !is_special(record);
        let is_shown = !is_other || left > 0;
        left -= usize::from(is_other && is_shown);
        is_shown
    });
    records
}

/// Rows with columns of one width, on the right side except for the last column.
fn aligned(rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..n_columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(column, (cell, &width))| {
                    if column + 1 == n_columns { cell.clone() } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        text += &format!("  {}\n", cells.join("  ")).replace("  \n", "\n");
    }
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A JSON object.
pub fn json(found: &Found) -> String {
    let values = |combination: &Combination| -> Map<String, Value> {
        found.group.values(combination).into_iter().map(|(name, value)| (name, json!(value))).collect()
    };
    let record = |record: &Record| match &record.outcome {
        Ok(times) => {
            let cases = found.group.cases.iter().zip(&times.0);
            let cases: Map<String, Value> =
                cases.map(|(case, time)| (case.name.clone(), json!(time))).collect();
            json!({ "values": values(&record.combination), "ratio": found.part_of_source(times), "ns": cases })
        }
        Err(Excluded::Wrong(reason)) => json!({ "values": values(&record.combination), "wrong": reason }),
        Err(Excluded::Fails(reason)) => json!({ "values": values(&record.combination), "fails": reason }),
    };
    let plan = match found.plan {
        Plan::All => "all",
        Plan::Descent => "descent",
    };
    let value = json!({
        "event": "tuned", "chosen": values(&found.chosen), "source": values(&found.group.source()),
        "combinations": number_of(&found.group.sizes()), "search": plan, "seconds": found.time.as_secs_f64(),
        "out_of_time": found.is_out_of_time, "measured": found.records.iter().map(record).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows =
            [["tile", "time", ""], ["8", "1.000 ms", "chosen"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows), "  tile      time\n     8  1.000 ms  chosen\n");
    }
}
