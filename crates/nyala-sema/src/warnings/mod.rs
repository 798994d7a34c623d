//! Warnings: code that is allowed but probably a mistake.
//!
//! Each check is linear in the size of the program and has no false positives:
//! where it cannot decide, it is silent.
//!
//! * `usage`: unused items and variables, and unnecessary `mut`;
//! * `flow`: reads before any write, and compound assignments whose value writes the target;
//! * `recursion`: filters that cannot stop the recursion they specialize;
//! * `lanes`: updates that lanes of `vectorize` lose;
//! * `no_effect`: casts and statements without effect;
//! * `artic`: what is an error in Artic, and a warning elsewhere.

mod artic;
mod flow;
mod lanes;
mod no_effect;
mod recursion;
mod usage;

#[cfg(test)]
mod tests;

use nyala_span::{Code, Diagnostic, Name, Span};

use crate::shadowing::Interface;
use crate::tree::Program;

/// Looks for probable mistakes in a program without errors. Packages that others wrote are not reported, nor unused
/// functions of files that other programs share.
pub(crate) fn check(
    program: &Program,
    interface: &Interface,
    is_foreign: &dyn Fn(Span) -> bool,
    is_artic: &dyn Fn(Span) -> bool,
    is_shared: &dyn Fn(Span) -> bool,
) -> Vec<Diagnostic> {
    let uses = usage::Uses::of(program);
    let errors = artic::check(program, &uses, &|span| is_artic(span) && !is_foreign(span));
    if !errors.is_empty() {
        return errors;
    }
    let mut warnings = usage::check(program, &uses, interface, is_foreign);
    // Another program may use the function.
    let is_of_others = |it: &Warning| matches!(it, Warning::UnusedFunction { at, .. } if is_shared(*at));
    warnings.retain(|warning| !is_of_others(warning));
    warnings.extend(flow::check(program, &uses));
    warnings.extend(recursion::check(program, &uses));
    warnings.extend(lanes::check(program));
    warnings.extend(no_effect::check(program));
    warnings.retain(|warning| !warning.place().is_none() && !is_foreign(warning.place()));
    warnings.sort_by_key(Warning::place);
    warnings.truncate(MAX_WARNINGS);
    let mut diagnostics: Vec<Diagnostic> = warnings.into_iter().map(Warning::into_diagnostic).collect();
    diagnostics.sort_by_key(|warning| (warning.primary.span, warning.code));
    // The filter of a function is part of that of each parameter.
    diagnostics.dedup_by_key(|warning| (warning.primary.span, warning.code));
    diagnostics
}

/// The maximum number of warnings.
const MAX_WARNINGS: usize = 1000;

/// The kinds of warnings.
enum Warning {
    UnusedVariable { name: Name, at: Span },
    NeverRead { name: Name, at: Span },
    UnusedParameter { name: Name, at: Span },
    UnusedFunction { name: Name, at: Span },
    UnusedMut { name: Name, at: Span },
    SameTypeCast { ty: String, at: Span },
    NoEffect { at: Span, lacks_call: bool },
    Uninitialized { name: Name, declared: Span, at: Span },
    EndlessFilter { function: Name, parameter: Name, declared: Span, call: Span, remedy: Option<String> },
    WritesOwnPlace { place: Span, write: Span, load_first: bool },
    LostUpdate { name: Name, generator: Name, at: Span },
}

impl Warning {
    /// Its position.
    fn place(&self) -> Span {
        match *self {
            Warning::UnusedVariable { at, .. }
            | Warning::NeverRead { at, .. }
            | Warning::UnusedParameter { at, .. }
            | Warning::UnusedFunction { at, .. }
            | Warning::UnusedMut { at, .. }
            | Warning::SameTypeCast { at, .. }
            | Warning::NoEffect { at, .. }
            | Warning::LostUpdate { at, .. }
            | Warning::Uninitialized { at, .. } => at,
            Warning::EndlessFilter { declared, .. } => declared,
            Warning::WritesOwnPlace { write, .. } => write,
        }
    }

    fn into_diagnostic(self) -> Diagnostic {
        match self {
            Warning::UnusedVariable { name, at } => {
                let warning = Diagnostic::warning(Code("W0001"), at, format!("unused variable `{name}`"));
                with_underscore(warning, name)
            }
            Warning::NeverRead { name, at } => {
                let message = format!("variable `{name}` is assigned, but never read");
                Diagnostic::warning(Code("W0001"), at, message)
            }
            Warning::UnusedParameter { name, at } => {
                let warning = Diagnostic::warning(Code("W0002"), at, format!("unused parameter `{name}`"));
                with_underscore(warning, name)
            }
            Warning::UnusedFunction { name, at } => {
                Diagnostic::warning(Code("W0003"), at, format!("function `{name}` is never used"))
            }
            Warning::UnusedMut { name, at } => {
                Diagnostic::warning(Code("W0004"), at, format!("variable `{name}` need not be `mut`"))
                    .with_label("never changed")
            }
            Warning::SameTypeCast { ty, at } => {
                Diagnostic::warning(Code("W0005"), at, format!("cast of `{ty}` to itself"))
            }
            Warning::NoEffect { at, lacks_call } => {
                let warning = Diagnostic::warning(Code("W0006"), at, "statement has no effect")
                    .with_label("this value is not used");
                if lacks_call { warning.with_suggestion(at.end(), "()", "call it") } else { warning }
            }
            Warning::Uninitialized { name, declared, at } => {
                let message = format!("variable `{name}` is read before it has a value");
                Diagnostic::warning(Code("W0007"), at, message)
                    .with_secondary(declared, "declared without a value here")
            }
            Warning::EndlessFilter { function, parameter, declared, call, remedy } => {
                let message = format!(
                    "the filter of `{function}` does not depend on `{parameter}`, which its recursion changes"
                );
                let advice = match remedy {
                    Some(remedy) => format!("`{remedy}` specializes on what stays the same"),
                    None => format!("`@(?{parameter})` specializes only if it is known"),
                };
                let note = format!("if `{parameter}` is unknown, specialization may not terminate; {advice}");
                Diagnostic::warning(Code("W0008"), declared, message)
                    .with_label("specialized even if it is unknown")
                    .with_secondary(call, "changed here")
                    .with_note(note)
            }
            Warning::LostUpdate { name, generator, at } => {
                let message = format!("lanes of `{generator}` overwrite each other's update of `{name}`");
                Diagnostic::warning(Code("W0014"), at, message)
                    .with_label("of the new values, that of one lane stays")
                    .with_note(
                        "`vectorize_reduce` combines the values of all lanes; so does `lanes_sum`, whose result \
                         `with scalar() { .. }` adds once",
                    )
            }
            Warning::WritesOwnPlace { place, write, load_first } => {
                let when = if load_first { "before" } else { "after" };
                Diagnostic::warning(
                    Code("W0009"),
                    write,
                    "the value of a compound assignment writes its target",
                )
                .with_label("written here")
                .with_secondary(place, format!("the old value is read {when} this write"))
                .with_note("the dialects differ in this order; compute the value in a separate statement")
            }
        }
    }
}

/// Proposes to rename `name` to `_name`.
fn with_underscore(warning: Diagnostic, name: Name) -> Diagnostic {
    let span = warning.primary.span;
    let is_the_name = (span.hi - span.lo) as usize == name.as_str().len();
    if !is_the_name {
        return warning;
    }
    warning.with_suggestion(
        span,
        format!("_{name}"),
        "if this is intended, start the name with an underscore",
    )
}
