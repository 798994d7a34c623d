//! Diagnostics as text and as JSON.
//!
//! * [`Report`] sorts the diagnostics, drops duplicates, and limits their
//!   number;
//! * `human` renders them in the style of rustc, `json` writes one object per line;
//! * `excerpt` extracts the necessary lines, so that huge files and huge lines are
//!   fast.

mod excerpt;
mod human;
pub(crate) mod json;

use nyala_span::{Diagnostic, Severity, SourceMap};

/// The maximum number of shown errors; the rest is counted.
pub const MAX_ERRORS: usize = 100;

/// The maximum number of shown warnings; the rest is counted.
pub const MAX_WARNINGS: usize = 100;

/// The maximum number of shown notes; the rest is counted.
pub const MAX_NOTES: usize = 1000;

/// The diagnostics of a compilation, sorted and limited.
///
/// Errors come first, since warnings may be their consequences. Both are in source order. Those with one code,
/// place and message are told once. At most [`MAX_ERRORS`] errors, [`MAX_WARNINGS`] warnings and [`MAX_NOTES`]
/// notes are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    diagnostics: Vec<Diagnostic>,
    n_errors: usize,
    n_warnings: usize,
    n_notes: usize,
}

impl Report {
    /// Sorts and counts diagnostics.
    pub fn new(mut diagnostics: Vec<Diagnostic>) -> Report {
        diagnostics.sort_by(|a, b| {
            let key = |d: &Diagnostic| (!d.is_error(), d.primary.span, d.severity, d.code);
            key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
        });
        // Instances of one function differ in other places and notes only.
        let what =
            |it: &Diagnostic| (it.primary.span, it.code, it.message.clone(), it.primary.message.clone());
        diagnostics.dedup_by(|a, b| what(a) == what(b));
        let (mut n_errors, mut n_warnings, mut n_notes) = (0, 0, 0);
        diagnostics.retain(|diagnostic| match diagnostic.severity {
            Severity::Error => within(&mut n_errors, MAX_ERRORS),
            Severity::Warning => within(&mut n_warnings, MAX_WARNINGS),
            Severity::Note => within(&mut n_notes, MAX_NOTES),
        });
        Report { diagnostics, n_errors, n_warnings, n_notes }
    }

    /// The diagnostics that are shown.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// `2 errors, 1 warning (3 not shown)`, if there are any.
    pub fn summary(&self) -> Option<String> {
        let counts = [(self.n_errors, "error"), (self.n_warnings, "warning"), (self.n_notes, "note")];
        let mut parts = Vec::new();
        for (count, what) in counts.into_iter().filter(|&(count, _)| count > 0) {
            parts.push(format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
        }
        if parts.is_empty() {
            return None;
        }
        let n_hidden = self.n_errors + self.n_warnings + self.n_notes - self.diagnostics.len();
        let hidden = if n_hidden > 0 { format!(" ({n_hidden} not shown)") } else { String::new() };
        Some(parts.join(", ") + &hidden)
    }

    /// As text, with an empty line after each diagnostic.
    pub fn human(&self, sources: &SourceMap, with_color: bool) -> String {
        self.diagnostics
            .iter()
            .map(|diagnostic| human::draw(diagnostic, sources, with_color) + "\n\n")
            .collect()
    }

    /// As JSON, one object per line.
    pub fn json(&self, sources: &SourceMap) -> String {
        self.diagnostics
            .iter()
            .map(|diagnostic| json::object(diagnostic, sources).to_string() + "\n")
            .collect()
    }
}

/// Counts one more; returns whether it is within the limit.
fn within(count: &mut usize, limit: usize) -> bool {
    *count += 1;
    *count <= limit
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use nyala_span::{Code, Span};

    use super::*;

    fn at(sources: &SourceMap, text: &str) -> Span {
        let (_, file) = sources.files().next().expect("the tests have a file");
        let offset = file.text.find(text).expect("the text is in the file") as u32;
        Span::new(file.base + offset, file.base + offset + text.len() as u32)
    }

    fn check(source: &str, diagnose: impl Fn(&SourceMap) -> Vec<Diagnostic>, expect: Expect) {
        let mut sources = SourceMap::default();
        sources.add("call.impala", source).expect("a small text");
        expect.assert_eq(&Report::new(diagnose(&sources)).human(&sources, false));
    }

    const CALL: &str = "fn f(x: i32) -> i32 { x }\nfn g() -> i32 { f(1.5f) }\n";

    fn mismatch(sources: &SourceMap) -> Diagnostic {
        Diagnostic::error(Code("E0203"), at(sources, "1.5f"), "expected `i32`, found `f32`")
            .with_label("this is `f32`")
            .with_secondary(at(sources, "x: i32"), "`i32` because of this")
    }

    #[test]
    fn labels_are_under_the_code() {
        check(
            CALL,
            |sources| vec![mismatch(sources)],
            expect![[r#"
                error[E0203]: expected `i32`, found `f32`
                 --> call.impala:2:19
                  |
                1 | fn f(x: i32) -> i32 { x }
                  |      ------ `i32` because of this
                2 | fn g() -> i32 { f(1.5f) }
                  |                   ^^^^ this is `f32`

            "#]],
        );
    }

    #[test]
    fn notes_and_suggestions_follow() {
        check(
            CALL,
            |sources| {
                let span = at(sources, "1.5f");
                vec![mismatch(sources).with_note("no conversion is implicit").with_suggestion(
                    span.end(),
                    " as i32",
                    "convert it",
                )]
            },
            expect![[r#"
                error[E0203]: expected `i32`, found `f32`
                 --> call.impala:2:19
                  |
                1 | fn f(x: i32) -> i32 { x }
                  |      ------ `i32` because of this
                2 | fn g() -> i32 { f(1.5f) }
                  |                   ^^^^ this is `f32`
                  |
                  = note: no conversion is implicit
                help: convert it
                  |
                2 | fn g() -> i32 { f(1.5f as i32) }
                  |                        ++++++

            "#]],
        );
    }

    #[test]
    fn duplicates_are_dropped_and_errors_sorted() {
        check(
            "a b",
            |sources| {
                let error =
                    |text| Diagnostic::error(Code("E0302"), at(sources, text), format!("unknown `{text}`"));
                vec![error("b"), error("a"), error("b")]
            },
            expect![[r#"
                error[E0302]: unknown `a`
                 --> call.impala:1:1
                  |
                1 | a b
                  | ^

                error[E0302]: unknown `b`
                 --> call.impala:1:3
                  |
                1 | a b
                  |   ^

            "#]],
        );
    }

    #[test]
    fn a_diagnostic_without_span_is_a_headline() {
        check(
            "",
            |_| vec![Diagnostic::error(Code("E0020"), Span::NONE, "cannot read `x`").with_note("really")],
            expect![[r#"
                error[E0020]: cannot read `x`
                 |
                 = note: really

            "#]],
        );
    }

    #[test]
    fn a_span_at_the_end_of_the_file_is_shown() {
        check(
            "fn f() {\n",
            |sources| {
                let end = at(sources, "fn f() {\n").end();
                vec![Diagnostic::error(Code("E0106"), end, "this file ends too early").with_label("here")]
            },
            expect![[r#"
                error[E0106]: this file ends too early
                 --> call.impala:2:1
                  |
                2 |
                  | ^ here

            "#]],
        );
    }

    #[test]
    fn a_huge_line_is_cut_and_its_column_kept() {
        let source = format!("{}x{}", "a+".repeat(500_000), "+b".repeat(500_000));
        check(
            &source,
            |sources| {
                vec![Diagnostic::error(Code("E0302"), at(sources, "x"), "unknown `x`").with_label("this")]
            },
            expect![[r#"
                error[E0302]: unknown `x`
                 --> call.impala:1:1000001
                  |
                1 | ...a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+x+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+...
                  |                                                                  ^ this

            "#]],
        );
    }

    #[test]
    fn distant_spans_have_separate_snippets() {
        let source = format!("first\n{}last\n", "\n".repeat(300_000));
        check(
            &source,
            |sources| {
                vec![
                    Diagnostic::error(Code("E0301"), at(sources, "last"), "twice")
                        .with_secondary(at(sources, "first"), "here too"),
                ]
            },
            expect![[r#"
                error[E0301]: twice
                      --> call.impala:300002:1
                       |
                300002 | last
                       | ^^^^
                       |
                      ::: call.impala:1:1
                       |
                     1 | first
                       | ----- here too

            "#]],
        );
    }

    #[test]
    fn errors_come_before_warnings_and_notes() {
        let span = |pos| Span::new(pos, pos + 1);
        let report = Report::new(vec![
            Diagnostic::note(Code("N0900"), span(1), "known"),
            Diagnostic::warning(Code("W0900"), span(3), "stopped"),
            Diagnostic::warning(Code("W0008"), span(2), "may not terminate"),
            Diagnostic::error(Code("E0913"), span(5), "false"),
            Diagnostic::error(Code("E0910"), span(4), "not specialized"),
        ]);
        let codes: Vec<&str> = report.diagnostics().iter().map(|diagnostic| diagnostic.code.0).collect();
        assert_eq!(codes, ["E0910", "E0913", "N0900", "W0008", "W0900"]);
    }

    #[test]
    fn errors_beyond_the_limit_are_counted() {
        let span = |pos| Span::new(pos, pos + 1);
        let errors = (1..=250).map(|pos| Diagnostic::error(Code("E0302"), span(pos), "unknown")).collect();
        let report = Report::new(errors);
        assert_eq!(report.diagnostics().len(), MAX_ERRORS);
        assert_eq!(report.summary().as_deref(), Some("250 errors (150 not shown)"));
    }

    #[test]
    fn json_has_one_object_per_line() {
        let mut sources = SourceMap::default();
        sources.add("call.impala", CALL).expect("a small text");
        let diagnostic = mismatch(&sources).with_note("n").with_suggestion(at(&sources, "1.5f"), "1", "m");
        expect![[r#"
            {"code":"E0203","message":"expected `i32`, found `f32`","notes":["n"],"severity":"error","spans":[{"byte_end":48,"byte_start":44,"column_end":23,"column_start":19,"file_name":"call.impala","is_primary":true,"label":"this is `f32`","line_end":2,"line_start":2},{"byte_end":11,"byte_start":5,"column_end":12,"column_start":6,"file_name":"call.impala","is_primary":false,"label":"`i32` because of this","line_end":1,"line_start":1}],"suggestions":[{"byte_end":48,"byte_start":44,"column_end":23,"column_start":19,"file_name":"call.impala","line_end":2,"line_start":2,"message":"m","replacement":"1"}]}
        "#]].assert_eq(&Report::new(vec![diagnostic]).json(&sources));
    }
}
