//! Source text that is a part of a file in another language, such as an expression in a configuration.
//!
//! A program wraps it in text of its own, and compiles both as one file. `Excerpts::trace_back` lets diagnostics
//! point to the place that the user wrote. What the text around the part has to say is a consequence of the part, so it
//! points to the whole part, or is dropped if it only explains.

use std::ops::Range;

use nyala_span::{Diagnostic, FileId, Label, SourceMap, Span};

/// A part of a file.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// The name of the file, for diagnostics.
    pub file: String,
    /// All text of the file.
    pub text: String,
    /// Where the part is in it, in bytes.
    pub range: Range<usize>,
    /// The source text that the part means: itself, or without escapes.
    pub code: String,
}

/// The excerpts of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Excerpts(Vec<Placed>);

/// An excerpt as a part of a source file.
#[derive(Clone, Debug)]
struct Placed {
    excerpt: Excerpt,
    file: FileId,
    /// Where its code begins in the file.
    start: usize,
}

impl Excerpts {
    pub(crate) fn add(&mut self, excerpt: Excerpt, file: FileId, start: usize) {
        self.0.push(Placed { excerpt, file, start });
    }

    /// Moves diagnostics to the files of the excerpts, which become sources.
    pub(crate) fn trace_back(&self, diagnostics: &mut [Diagnostic], sources: &mut SourceMap) {
        for placed in &self.0 {
            let base = sources.file(placed.file).base;
            let file = sources.file(placed.file).span();
            // Without room for one more file, diagnostics stay where they are.
            let Ok(id) = sources.add(placed.excerpt.file.as_str(), placed.excerpt.text.as_str()) else {
                return;
            };
            let excerpt = Located { placed, file, base, origin: sources.file(id).base };
            for diagnostic in diagnostics.iter_mut() {
                excerpt.trace_back(diagnostic);
            }
        }
    }
}

/// An excerpt with the positions of both files.
struct Located<'a> {
    placed: &'a Placed,
    file: Span,
    base: u32,
    /// The base of the file that the excerpt is from.
    origin: u32,
}

impl Located<'_> {
    fn trace_back(&self, diagnostic: &mut Diagnostic) {
        let is_consequence =
            self.has(diagnostic.primary.span) && self.exact(diagnostic.primary.span).is_none();
        if self.has(diagnostic.primary.span) {
            diagnostic.primary.span = self.exact(diagnostic.primary.span).unwrap_or(self.whole());
        }
        let explains = |label: &mut Label| match self.has(label.span) {
            true => self.exact(label.span).map(|span| label.span = span).is_some(),
            false => true,
        };
        diagnostic.secondary.retain_mut(explains);
        diagnostic.suggestions.retain_mut(|suggestion| match self.has(suggestion.span) {
            true => {
                !is_consequence && self.exact(suggestion.span).map(|span| suggestion.span = span).is_some()
            }
            false => true,
        });
    }

    /// Whether a place is in the file with the excerpt's code.
    fn has(&self, span: Span) -> bool {
        !span.is_none() && self.file.lo <= span.lo && span.lo <= self.file.hi
    }

    /// All of the part.
    fn whole(&self) -> Span {
        let Range { start, end } = self.placed.excerpt.range;
        Span::new(self.origin + start as u32, self.origin + end as u32)
    }

    /// The place in the part, if it is known.
    fn exact(&self, span: Span) -> Option<Span> {
        let Excerpt { text, range, code, .. } = &self.placed.excerpt;
        let start = self.base + self.placed.start as u32;
        let is_within = start <= span.lo && span.hi <= start + code.len() as u32;
        let at = |position: u32| self.origin + range.start as u32 + (position - start);
        match is_within {
            true if text.get(range.clone()) == Some(code) => Some(Span::new(at(span.lo), at(span.hi))),
            true => Some(self.whole()),
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Excerpt;
    use crate::embed::Compiler;

    /// The errors of the expression `f` of a configuration that writes it as `written`.
    fn errors(written: &str, code: &str) -> String {
        let text = format!("n = 3\nf = {written}\n");
        let start = text.find(written).expect("it is a part") + 1;
        let range = start..start + written.len() - 2;
        let excerpt = Excerpt { file: "sums.toml".into(), text, range, code: code.into() };
        let compiler = Compiler::new().excerpt(excerpt, "extern fn f(x: f64) -> f64 {\n    ", "\n}\n");
        compiler.compile().err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_correct_excerpt_has_no_errors() {
        assert_eq!(errors("\"x + 1.0\"", "x + 1.0"), "");
    }

    #[test]
    fn errors_point_to_the_file_of_the_excerpt() {
        let text = errors("\"x + yy\"", "x + yy");
        assert!(text.contains("sums.toml:2:10") && text.contains("f = \"x + yy\""), "{text}");
        // The missing operand is expected at the end.
        let text = errors("\"x +\"", "x +");
        assert!(text.contains("sums.toml:2:6") && !text.contains("extern fn"), "{text}");
    }

    #[test]
    fn with_escapes_they_point_to_all_of_it() {
        let text = errors("\"x\\u002byy\"", "x+yy");
        assert!(text.contains("sums.toml:2:6"), "{text}");
    }

    #[test]
    fn unbalanced_braces_stay_in_their_excerpt() {
        for code in ["{ x", "x }", "(x"] {
            let text = errors(&format!("\"{code}\""), code);
            assert!(text.contains("sums.toml:2:") && !text.contains("extern fn"), "{code}: {text}");
        }
    }
}
