//! What can be wrong with a program that checking cannot see.

use nyala_span::{Code, Diagnostic, Name, Span};

use crate::computed::Resource;

/// A mistake found while lowering.
#[derive(Clone, Debug)]
pub(crate) enum LowerError {
    /// A generic function or type needs ever more instances.
    EndlessInstances { name: Name, at: Span, limit: usize },
    /// A generic function or type is instantiated with a type beyond all measure.
    HugeInstance { name: Name, at: Span },
    /// A nested function is used before a variable that it captures exists.
    UsedTooEarly { function: Name, variable: Name, at: Span, bound_at: Span },
    /// The value of a static is not known at compile time.
    StaticNotConstant { name: Name, at: Span, init: Span, why: String },
    /// Computing the value of a static takes more than is left of what all statics share.
    StaticTooExpensive { name: Name, init: Span, resource: Resource, limit: u64 },
    /// Computing the value of a static fails.
    StaticFails { name: Name, init: Span, error: Box<Diagnostic> },
    /// The values of statics depend on each other.
    StaticCycle { name: Name, at: Span },
    /// An array in a constant has too many elements to be written out.
    HugeConstant { at: Span, limit: u64 },
    /// A filter does something that needs control flow or memory. It never holds.
    ImpureFilter { at: Span, inside: Option<Span>, why: &'static str },
    /// No intrinsic has this name.
    UnknownIntrinsic { name: Name, at: Span },
    /// An intrinsic is declared with a type it never had.
    IntrinsicShape { name: Name, at: Span, found: String, accepted: &'static [&'static str] },
    /// The size of a type is larger than the type of `sizeof` can say.
    SizeTooLarge { of: String, result: String, at: Span },
    /// An intrinsic for many types is used with types it does not work on.
    OperandTypes { name: &'static str, at: Span, reason: String },
}

impl LowerError {
    /// Whether there is no graph because of it.
    pub(crate) fn is_error(&self) -> bool {
        !matches!(self, LowerError::ImpureFilter { .. })
    }

    /// As a report for the user.
    pub(crate) fn diagnostic(self) -> Diagnostic {
        match self {
            LowerError::EndlessInstances { name, at, limit } => {
                let message = format!("`{name}` needs more than {limit} instances");
                Diagnostic::error(Code("E0480"), at, message)
                    .with_label("the instance that is one too many")
                    .with_note("each instance asks for another one with new type arguments")
            }
            LowerError::HugeInstance { name, at } => {
                Diagnostic::error(Code("E0481"), at, format!("an instance of `{name}` has too large a type"))
                    .with_label("instantiated with a type that grows without end")
                    .with_note("each instance asks for another one with larger type arguments")
            }
            LowerError::UsedTooEarly { function, variable, at, bound_at } => {
                let message = format!("`{function}` is used before `{variable}` has a value");
                Diagnostic::error(Code("E0482"), at, message)
                    .with_label(format!("`{function}` captures `{variable}`"))
                    .with_secondary(bound_at, format!("`{variable}` gets its value here"))
            }
            LowerError::StaticNotConstant { name, at, init, why } => {
                Diagnostic::error(Code("E0483"), init, format!("the value of `{name}` is not constant"))
                    .with_label("not known at compile time")
                    .with_secondary(at, "in this static")
                    .with_note(why)
            }
            LowerError::StaticTooExpensive { name, init, resource, limit } => {
                let (what, limit, flag) = match resource {
                    Resource::Steps => ("takes too long", format!("{limit} steps"), "--static-steps"),
                    Resource::Memory => ("needs too much memory", format!("{limit} MiB"), "--static-memory"),
                };
                let message = format!("computing the value of `{name}` {what}");
                Diagnostic::error(Code("E0486"), init, message)
                    .with_label(format!("the budget of {limit} ended here"))
                    .with_note(format!("all statics of the program share this budget; `{flag}` sets it"))
            }
            LowerError::StaticFails { name, init, error } => {
                let message = format!("computing the value of `{name}` fails: {}", error.message);
                let mut report = Diagnostic::error(Code("E0487"), error.primary.span, message)
                    .with_label(error.primary.message)
                    .with_secondary(init, format!("when `{name}` is computed"));
                report.secondary.extend(error.secondary);
                report.notes.push(format!("`{}` tells more about what went wrong", error.code));
                report.notes.extend(error.notes);
                report
            }
            LowerError::StaticCycle { name, at } => {
                Diagnostic::error(Code("E0484"), at, format!("the value of `{name}` depends on itself"))
            }
            LowerError::HugeConstant { at, limit } => {
                let message = format!("a constant array has more than {limit} elements");
                Diagnostic::error(Code("E0485"), at, message)
                    .with_note("leave out the initialiser for zeros, or fill the array when the program runs")
            }
            LowerError::ImpureFilter { at, inside, why } => {
                let message = "this filter is never known to hold";
                let report = Diagnostic::warning(Code("W0750"), at, message).with_note(
                    "what can be decided at compile time: parameters, constants and `?` of them, and calls of functions that compute with them",
                );
                match inside {
                    Some(inside) => {
                        report.with_label("leads to what cannot be decided").with_secondary(inside, why)
                    }
                    None => report.with_label(why),
                }
            }
            LowerError::UnknownIntrinsic { name, at } => {
                Diagnostic::error(Code("E0901"), at, format!("the compiler knows no function `{name}`"))
                    .with_label("declared as an intrinsic")
            }
            LowerError::IntrinsicShape { name, at, found, accepted } => {
                let message = format!("the intrinsic `{name}` does not have this type");
                let report = Diagnostic::error(Code("E0902"), at, message)
                    .with_label(format!("declared as `{found}`"));
                accepted.iter().fold(report, |report, shape| report.with_note(format!("accepted: `{shape}`")))
            }
            LowerError::SizeTooLarge { of, result, at } => {
                let message = format!("the size of `{of}` does not fit into `{result}`");
                Diagnostic::error(Code("E0488"), at, message).with_label("the type is too large")
            }
            LowerError::OperandTypes { name, at, reason } => {
                Diagnostic::error(Code("E0903"), at, format!("`{name}` does not work on these types"))
                    .with_label(reason)
            }
        }
    }
}
