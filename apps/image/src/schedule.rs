//! How pictures are computed: a name, or an expression in Impala, since schedules are ordinary functions.

use std::fmt;

/// A schedule in Impala: what computes the operator `op`, and what computes `first` and then `second`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    pub one_pass: String,
    pub two_passes: String,
}

const NAMES: &[(&str, &str)] = &[
    ("seq", "seq(op)"),
    ("vec", "vec(16, op)"),
    ("rows", "rows(4, 16, op)"),
    ("tile", "tile(256, 32, rows(4, 16, op))"),
    ("par", "par(threads, 64, rows(4, 16, op))"),
];

/// What is used if nothing is asked for: bands on all threads, in them tiles that keep what lies between two passes.
pub fn default() -> Schedule {
    Schedule {
        one_pass: "par(threads, 64, rows(4, 16, op))".to_owned(),
        two_passes: "in_two_passes(threads, 512, 64, 16, first, second)".to_owned(),
    }
}

/// The schedule that is meant by a name or an expression.
pub fn parse(text: &str) -> Result<Schedule, UnknownSchedule> {
    let text = text.trim();
    let named = NAMES.iter().find(|(name, _)| *name == text).map(|(_, code)| *code);
    let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let one_pass = match named {
        Some(code) => code,
        None if is_name => return Err(UnknownSchedule(text.to_owned())),
        None => text,
    };
    let two_passes = "fuse(temp[f32](), schedule(first), second, @|op| schedule(op))".to_owned();
    Ok(Schedule { one_pass: one_pass.to_owned(), two_passes })
}

/// A word that is the name of no schedule.
#[derive(PartialEq, Eq, Debug)]
pub struct UnknownSchedule(String);

impl fmt::Display for UnknownSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = NAMES.iter().map(|(name, _)| format!("`{name}`")).collect();
        write!(
            f,
            "there is no schedule `{}`; there are {}, and expressions with `op`, as `{}`",
            self.0,
            names.join(", "),
            NAMES[3].1
        )
    }
}

impl std::error::Error for UnknownSchedule {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_expressions_are_schedules() {
        assert_eq!(parse("vec").unwrap().one_pass, "vec(16, op)");
        assert_eq!(parse(" tile(9, 9, seq(op)) ").unwrap().one_pass, "tile(9, 9, seq(op))");
        assert!(parse("fast").is_err());
    }
}
