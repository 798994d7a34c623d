//! Errors that are found during lowering.

use nyala_sema::types::CASTS;
use nyala_span::{Code, Diagnostic, Name, Span};

use crate::computed::Resource;

/// An error of lowering.
#[derive(Clone, Debug)]
pub(crate) enum LowerError {
    /// A generic function or type needs too many instances.
    EndlessInstances { name: Name, at: Span, limit: usize },
    /// A generic function or type is instantiated with a too large type.
    HugeInstance { name: Name, at: Span },
    /// An instance has a length or another number that is out of range.
    BadNumber { what: String, why: String, at: Span, calls: Vec<(String, Span)> },
    /// An instance uses an operator that its type does not have.
    NoOperator { symbol: &'static str, ty: String, param: String, at: Span, calls: Vec<(String, Span)> },
    /// An instance casts between types that cannot be converted.
    NoCast { from: String, to: String, at: Span, calls: Vec<(String, Span)> },
    /// A nested function is used before a captured variable has a value.
    UsedTooEarly { function: Name, variable: Name, at: Span, bound_at: Span },
    /// The initializer of a static is not constant.
    StaticNotConstant { name: Name, at: Span, init: Span, why: String },
    /// Evaluating the initializer of a static exceeds the shared budget.
    StaticTooExpensive { name: Name, init: Span, resource: Resource, limit: u64 },
    /// Evaluating the initializer of a static fails.
    StaticFails { name: Name, init: Span, error: Box<Diagnostic> },
    /// The initializer of a static depends on itself.
    StaticCycle { name: Name, at: Span },
    /// An array in a constant has too many elements to be written out.
    HugeConstant { at: Span, limit: u64 },
    /// A filter needs control flow or memory. It never holds.
    ImpureFilter { at: Span, inside: Option<Span>, why: &'static str },
    /// No intrinsic has this name.
    UnknownIntrinsic { name: Name, at: Span },
    /// An intrinsic is declared with an unknown type.
    IntrinsicShape { name: Name, at: Span, found: String, accepted: &'static [&'static str] },
    /// The size of a type does not fit into the result of `sizeof`.
    SizeTooLarge { of: String, result: String, at: Span },
    /// An intrinsic is used with type arguments that it does not support.
    OperandTypes { name: &'static str, at: Span, reason: String },
}

impl LowerError {
    /// Whether it prevents lowering.
    pub(crate) fn is_error(&self) -> bool {
        !matches!(self, LowerError::ImpureFilter { .. })
    }

    /// The diagnostic.
    pub(crate) fn diagnostic(self) -> Diagnostic {
        match self {
            LowerError::EndlessInstances { name, at, limit } => {
                let message = format!("`{name}` needs more than {limit} instances");
                Diagnostic::error(Code("E0480"), at, message)
                    .with_label("this instance exceeds the limit")
                    .with_note("each instance needs another one with new type arguments")
            }
            LowerError::HugeInstance { name, at } => {
                Diagnostic::error(Code("E0481"), at, format!("an instance of `{name}` has too large a type"))
                    .with_label("instantiated with a type that grows without bound")
                    .with_note("each instance needs another one with larger type arguments")
            }
            LowerError::BadNumber { what, why, at, calls } => {
                let message = format!("invalid {what}");
                with_calls(Diagnostic::error(Code("E0489"), at, message).with_label(why), calls)
            }
            LowerError::NoOperator { symbol, ty, param, at, calls } => {
                let message = format!("`{symbol}` is not defined for `{ty}`");
                let report = Diagnostic::error(Code("E0490"), at, message)
                    .with_label(format!("`{param}` is `{ty}` here"));
                with_calls(report, calls)
            }
            LowerError::NoCast { from, to, at, calls } => {
                let message = format!("`{from}` cannot be cast to `{to}`");
                with_calls(Diagnostic::error(Code("E0213"), at, message).with_note(CASTS), calls)
            }
            LowerError::UsedTooEarly { function, variable, at, bound_at } => {
                let message = format!("`{function}` is used before `{variable}` has a value");
                Diagnostic::error(Code("E0482"), at, message)
                    .with_label(format!("`{function}` captures `{variable}`"))
                    .with_secondary(bound_at, format!("`{variable}` gets its value here"))
            }
            LowerError::StaticNotConstant { name, at, init, why } => {
                Diagnostic::error(Code("E0483"), init, format!("the initializer of `{name}` is not constant"))
                    .with_label("not known at compile time")
                    .with_secondary(at, "in this static")
                    .with_note(why)
            }
            LowerError::StaticTooExpensive { name, init, resource, limit } => {
                let (what, limit, flag) = match resource {
                    Resource::Steps => ("takes too long", format!("{limit} steps"), "--static-steps"),
                    Resource::Memory => ("needs too much memory", format!("{limit} MiB"), "--static-memory"),
                };
                let message = format!("evaluating the initializer of `{name}` {what}");
                Diagnostic::error(Code("E0486"), init, message)
                    .with_label(format!("the budget of {limit} is spent here"))
                    .with_note(format!("all statics of the program share this budget; `{flag}` sets it"))
            }
            LowerError::StaticFails { name, init, error } => {
                let message = format!("evaluating the initializer of `{name}` fails: {}", error.message);
                let mut report = Diagnostic::error(Code("E0487"), error.primary.span, message)
                    .with_label(error.primary.message)
                    .with_secondary(init, format!("in the initializer of `{name}`"));
                report.secondary.extend(error.secondary);
                report.notes.push(format!("see `{}` for details", error.code));
                report.notes.extend(error.notes);
                report
            }
            LowerError::StaticCycle { name, at } => {
                Diagnostic::error(Code("E0484"), at, format!("the initializer of `{name}` depends on itself"))
            }
            LowerError::HugeConstant { at, limit } => {
                let message = format!("a constant array has more than {limit} elements");
                Diagnostic::error(Code("E0485"), at, message)
                    .with_note("omit the initializer for zeros, or fill the array at run time")
            }
            LowerError::ImpureFilter { at, inside, why } => {
                let message = "this filter is never known to hold";
                let report = Diagnostic::warning(Code("W0750"), at, message).with_note(
                    "a filter may use parameters, constants, `?`, operators, `if`, `match`, and functions that do the same",
                );
                match inside {
                    Some(inside) => report
                        .with_label("this call cannot be evaluated at compile time")
                        .with_secondary(inside, why),
                    None => report.with_label(why),
                }
            }
            LowerError::UnknownIntrinsic { name, at } => {
                Diagnostic::error(Code("E0901"), at, format!("unknown intrinsic `{name}`"))
                    .with_label("declared as an intrinsic")
            }
            LowerError::IntrinsicShape { name, at, found, accepted } => {
                let message = format!("wrong type for the intrinsic `{name}`");
                let report = Diagnostic::error(Code("E0902"), at, message)
                    .with_label(format!("declared as `{found}`"));
                accepted.iter().fold(report, |report, shape| report.with_note(format!("accepted: `{shape}`")))
            }
            LowerError::SizeTooLarge { of, result, at } => {
                let message = format!("the size of `{of}` does not fit into `{result}`");
                Diagnostic::error(Code("E0488"), at, message).with_label("the type is too large")
            }
            LowerError::OperandTypes { name, at, reason } => {
                Diagnostic::error(Code("E0903"), at, format!("`{name}` does not support these types"))
                    .with_label(reason)
            }
        }
    }
}

/// Adds the uses of generic items that led to an instance.
fn with_calls(report: Diagnostic, calls: Vec<(String, Span)>) -> Diagnostic {
    calls.into_iter().fold(report, |report, (name, at)| {
        report.with_secondary(at, format!("in the instance `{name}`, first used here"))
    })
}
