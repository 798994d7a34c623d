//! Schedules: a name, or an expression in Impala, since schedules are functions.

use std::fmt;

use crate::cli::Device;

/// A schedule in Impala: the expression for an operator `op`, and the one for two passes, `first` and `second`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    pub one_pass: String,
    pub two_passes: String,
}

/// Names of schedules for the CPU; the number of threads is `threads`.
const HOST: &[(&str, &str)] = &[
    ("seq", "seq(op)"),
    ("vec", "vec(16, op)"),
    ("rows", "rows(4, 16, op)"),
    ("tile", "tile_at_most(256, 32, rows(4, 16, op))"),
    ("par", "par(threads, 64, rows(4, 16, op))"),
];

/// The schedule of the library.
const CHOSEN: &str = "if threads == 0 { op } else { par(threads, 64, op) }";

/// Names of schedules for the accelerator `acc`.
const DEVICE: &[(&str, &str)] = &[
    ("pixel", "tile_gpu(acc, 32, 4, at_once(1, 1, op))"),
    ("column", "tile_gpu(acc, 32, 4, at_once(1, 4, op))"),
];

fn names(device: Device) -> &'static [(&'static str, &'static str)] {
    if device == Device::Cpu { HOST } else { DEVICE }
}

/// The default schedule: the one that the library chooses, on all threads or on this number of them.
pub fn default(device: Device) -> Schedule {
    let (one_pass, two_passes) = match device {
        Device::Cpu => (CHOSEN, "schedule(compose(first, second))"),
        Device::Opencl | Device::Cuda => (DEVICE[0].1, "tile_gpu_at(acc, 32, 8, 1, 1, first, second)"),
    };
    Schedule { one_pass: one_pass.to_owned(), two_passes: two_passes.to_owned() }
}

/// The schedule of a name or an expression.
pub fn parse(text: &str, device: Device) -> Result<Schedule, UnknownSchedule> {
    let text = text.trim();
    let names = names(device);
    let named = names.iter().find(|(name, _)| *name == text).map(|(_, code)| *code);
    let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let one_pass = match named {
        Some(code) => code,
        None if is_name => return Err(UnknownSchedule { name: text.to_owned(), names }),
        None => text,
    };
    let two_passes = match device {
        // Both passes have this schedule.
        Device::Cpu => "fuse(temp[f32](), schedule(first), schedule(second))",
        Device::Opencl | Device::Cuda => "schedule(inlined(first, second))",
    };
    Ok(Schedule { one_pass: one_pass.to_owned(), two_passes: two_passes.to_owned() })
}

/// An unknown name.
#[derive(PartialEq, Eq, Debug)]
pub struct UnknownSchedule {
    name: String,
    names: &'static [(&'static str, &'static str)],
}

impl fmt::Display for UnknownSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.names.iter().map(|(name, _)| format!("`{name}`")).collect();
        let (name, names, example) = (&self.name, names.join(", "), self.names[self.names.len() - 1].1);
        write!(
            f,
            "there is no schedule `{name}`; there are {names}, and expressions with `op`, as `{example}`"
        )
    }
}

impl std::error::Error for UnknownSchedule {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_expressions_are_schedules() {
        assert_eq!(parse("vec", Device::Cpu).unwrap().one_pass, "vec(16, op)");
        assert_eq!(parse(" tile(9, 9, seq(op)) ", Device::Cpu).unwrap().one_pass, "tile(9, 9, seq(op))");
        assert!(parse("fast", Device::Cpu).is_err());
        assert!(parse("pixel", Device::Opencl).is_ok() && parse("vec", Device::Opencl).is_err());
    }
}
