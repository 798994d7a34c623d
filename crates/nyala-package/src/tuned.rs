//! Tuned values: what `nyala tune` found for the parameters of a program, on each processor.
//!
//! The file is TOML with a table for each processor. A value is the text of a candidate in the source, so a person can
//! read and change it:
//!
//! ```toml
//! [znver3]
//! "pictures::blur::tile" = "64"
//! ```
//!
//! A file that cannot be read is a warning and never an error: a build without it has the values in the source.
//! Updating keeps all other lines, comments too.

use std::ops::Range;

use nyala_span::{Code, Diagnostic, SourceFile, Span, without_controls};
use toml_edit::{Document, DocumentMut, Item, Table, Value};

use crate::span_in;

/// The values of one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tuned {
    values: Vec<TunedValue>,
}

/// A value of a parameter on one processor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TunedValue {
    /// The processor, as LLVM names it.
    pub cpu: String,
    /// The parameter: its path, from the name of its package on.
    pub name: String,
    /// The text of the candidate.
    pub value: String,
    /// Its place in the file.
    pub span: Span,
}

const HEAD: &str =
    "# The fastest values of parameters for each processor, found by `nyala tune`. Builds use them.
# Without a line for a parameter, a build uses the value in the source.

";

impl Tuned {
    /// Reads a file; warns about what is wrong with it.
    pub fn parse(file: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> Option<Tuned> {
        values(file)
            .map(|values| Tuned { values })
            .map_err(|(range, reason)| {
                let span = range.map_or(file.span().start(), |range| span_in(file, range));
                diagnostics.push(unusable(span, &reason));
            })
            .ok()
    }

    /// The values for a processor.
    pub fn of(&self, cpu: &str) -> impl Iterator<Item = &TunedValue> {
        self.values.iter().filter(move |value| value.cpu == cpu)
    }

    /// Whether there is no value at all.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// The text of a file with new values for a processor: `None` removes a parameter. The error is one of TOML.
pub fn updated(text: Option<&str>, cpu: &str, values: &[(String, Option<String>)]) -> Result<String, String> {
    let mut document: DocumentMut =
        text.unwrap_or_default().parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let item = document.entry(cpu).or_insert_with(|| Item::Table(Table::new()));
    let table = item.as_table_mut().ok_or_else(|| format!("`{cpu}` is not a table"))?;
    for (name, value) in values {
        match (value, table.get_mut(name).and_then(Item::as_value_mut)) {
            (Some(new), Some(old)) => {
                // With the comment behind it.
                let decor = old.decor().clone();
                *old = Value::from(new.as_str());
                *old.decor_mut() = decor;
            }
            (Some(new), None) => {
                table.insert(name, Item::Value(Value::from(new.as_str())));
            }
            (None, _) => {
                table.remove(name);
            }
        }
    }
    if table.is_empty() {
        document.remove(cpu);
    }
    let head = if text.is_some() { "" } else { HEAD };
    Ok(format!("{head}{document}"))
}

/// The values of a file; the error is where and what is wrong.
fn values(file: &SourceFile) -> Result<Vec<TunedValue>, (Option<Range<usize>>, String)> {
    let document = Document::parse(file.text.as_str())
        .map_err(|error| (error.span(), error.message().trim_end().to_owned()))?;
    let mut values = vec![];
    for (cpu, item) in document.as_table().iter() {
        let no_table = || (item.span(), format!("`{cpu}` is not a table for a processor"));
        for (name, item) in item.as_table().ok_or_else(no_table)?.iter() {
            let no_text = || (item.span(), format!("the value of `{name}` is not in quotes"));
            let value = item.as_str().ok_or_else(no_text)?;
            let span = span_in(file, item.span().unwrap_or_default());
            values.push(TunedValue { cpu: cpu.into(), name: name.into(), value: value.into(), span });
        }
    }
    Ok(values)
}

fn unusable(span: Span, reason: &str) -> Diagnostic {
    let reason = reason.replace('\n', ", ");
    let message = format!("the tuned values cannot be read: {}", without_controls(&reason));
    Diagnostic::warning(Code("W0031"), span, message)
        .with_note("the values in the source are used; mend or delete the file")
}

#[cfg(test)]
mod tests {
    use nyala_span::SourceMap;

    use super::*;

    fn parse(text: &str) -> (Option<Tuned>, Vec<Diagnostic>) {
        let mut sources = SourceMap::default();
        let id = sources.add("nyala.tune", text).expect("a small text");
        let mut diagnostics = vec![];
        (Tuned::parse(sources.file(id), &mut diagnostics), diagnostics)
    }

    fn values(text: &str, cpu: &str) -> Vec<(String, String)> {
        let tuned = parse(text).0.expect("it is well-formed");
        tuned.of(cpu).map(|value| (value.name.clone(), value.value.clone())).collect()
    }

    fn some(name: &str, value: &str) -> (String, Option<String>) {
        (name.into(), Some(value.into()))
    }

    #[test]
    fn values_are_read_as_they_are_written() {
        let text = updated(None, "znver3", &[some("a::tile", "64"), some("a::at", "(4, \"x\")")]);
        let text = text.expect("it is new");
        assert!(text.starts_with(HEAD), "{text}");
        let expected = [("a::tile", "64"), ("a::at", "(4, \"x\")")].map(|(a, b)| (a.into(), b.into()));
        assert_eq!(values(&text, "znver3"), expected);
        assert_eq!(values(&text, "znver4"), []);
    }

    #[test]
    fn updating_keeps_other_processors_and_comments() {
        let old = "# mine\n[x]\n\"a\" = \"1\" # why\n\"b\" = \"2\"\n\n[y]\n\"a\" = \"3\" # old\n";
        let new = updated(Some(old), "y", &[some("a", "4"), ("b".into(), None)]).expect("it is TOML");
        assert_eq!(new, old.replace('3', "4"));
        let new = updated(Some(old), "y", &[("a".into(), None)]).expect("it is TOML");
        assert!(!new.contains("[y]") && new.contains("# why"), "{new}");
    }

    #[test]
    fn broken_files_are_warnings() {
        for text in ["[znver3", "a = 1", "[x]\na = 64"] {
            let (tuned, warnings) = parse(text);
            assert!(tuned.is_none() && warnings[0].code.0 == "W0031" && !warnings[0].is_error(), "{text}");
        }
        assert!(parse("").0.is_some_and(|tuned| tuned.is_empty()));
    }
}
