//! The steps of an evaluation as text: `nyala stage --trace`.

use std::fmt::Write as _;

use nyala_span::SourceMap;

use crate::machine::{Rule, StepEvent};

/// A step as one line: its number, the rule, the place, what it applies, and what it makes active. `rebuild` is the
/// number of bodies that the rebuilding rules pass on the way to the evaluated one.
pub fn line(event: &StepEvent, sources: &SourceMap) -> String {
    let StepEvent { number, rule, callee, rebuilt, activated, span, .. } = event;
    let mut text = format!("{number:>6}  {:<14}", rule.name());
    if let Rule::Primitive(_) = rule {
    } else if !callee.is_empty() {
        let _ = write!(text, " {callee}");
    }
    text.truncate(text.trim_end().len());
    if *rebuilt > 0 {
        let _ = write!(text, ", rebuild {rebuilt}");
    }
    match activated.len() {
        0 => {}
        1 => text += ", 1 body becomes active",
        count => {
            let _ = write!(text, ", {count} bodies become active, the deepest is next");
        }
    }
    if !span.is_none() && *rule != Rule::Run {
        let _ = write!(text, "  ({})", sources.describe(*span));
    }
    text
}
