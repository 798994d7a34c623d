//! A diagnostic as a JSON object.
//!
//! Field names are those of rustc's JSON, so that tools for one need few changes for
//! the other.

use nyala_span::{Diagnostic, Label, SourceMap, Span};
use serde_json::{Map, Value, json};

/// `{"code", "severity", "message", "spans", "notes", "suggestions"}`
pub(super) fn object(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    let spans = std::iter::once((&diagnostic.primary, true))
        .chain(diagnostic.secondary.iter().map(|label| (label, false)))
        .filter_map(|(label, is_primary)| labelled(label, is_primary, sources));
    let suggestions = diagnostic.suggestions.iter().filter_map(|suggestion| {
        let mut object = place(suggestion.span, sources)?;
        object.insert("message".into(), json!(suggestion.message));
        object.insert("replacement".into(), json!(suggestion.replacement));
        Some(Value::Object(object))
    });
    json!({
        "code": diagnostic.code.0,
        "severity": diagnostic.severity.to_string(),
        "message": diagnostic.message,
        "spans": spans.collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "suggestions": suggestions.collect::<Vec<_>>(),
    })
}

fn labelled(label: &Label, is_primary: bool, sources: &SourceMap) -> Option<Value> {
    let mut object = place(label.span, sources)?;
    object.insert("is_primary".into(), json!(is_primary));
    object.insert("label".into(), json!(label.message));
    Some(Value::Object(object))
}

/// A range in bytes from 0, and in lines and columns from 1; ends are exclusive.
pub(crate) fn place(span: Span, sources: &SourceMap) -> Option<Map<String, Value>> {
    let file = sources.file(sources.file_of(span)?);
    let bytes = file.local(span);
    let (start, end) = (file.line_col(span.lo), file.line_col(span.hi));
    let object = json!({
        "file_name": file.name,
        "byte_start": bytes.start,
        "byte_end": bytes.end,
        "line_start": start.line,
        "column_start": start.col,
        "line_end": end.line,
        "column_end": end.col,
    });
    match object {
        Value::Object(map) => Some(map),
        _ => None,
    }
}
