//! Diagnostics as data.
//!
//! Each stage has its own error type with a variant for each error, and
//! turns it into a [`Diagnostic`] in one place. The driver renders diagnostics
//! as text or as JSON; nothing else prints.
//!
//! # Invariants
//!
//! * Every [`Code`] is stable: it never changes its meaning, and it has an entry
//!   in the book under `docs/src/diagnostics/`.
//! * Messages are lower case, without a full stop, with names in backquotes.

use std::fmt;

use crate::Span;

/// A stable name for a kind of diagnostic: `E0203`, `W0001`.
///
/// | range | about |
/// |---|---|
/// | `E00xx` | lexing, files |
/// | `E01xx` | parsing |
/// | `E02xx` | types of expressions |
/// | `E03xx` | names |
/// | `E04xx` | items |
/// | `E05xx` | patterns |
/// | `E06xx` | mutability |
/// | `E07xx` | filters |
/// | `E08xx` | implicits |
/// | `E09xx` | found after evaluation |
/// | `E12xx` | image filters |
/// | `W0xxx` | warnings |
/// | `N0xxx` | notes |
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Code(pub &'static str);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The program is rejected.
    Error,
    /// The program is accepted, but probably not meant so.
    Warning,
    /// Information that the program requested.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// A place with something to say about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// The text; may be empty on a primary label.
    pub message: String,
}

/// A change to the source that would help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suggestion {
    /// What the change does, as an instruction: "add a type here".
    pub message: String,
    /// The text to replace; empty to insert.
    pub span: Span,
    /// The text to put there.
    pub replacement: String,
}

/// One diagnostic: message, position, and suggestions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Which kind of diagnostic this is.
    pub code: Code,
    /// The headline.
    pub message: String,
    /// The position of the error.
    pub primary: Label,
    /// Other places that explain it.
    pub secondary: Vec<Label>,
    /// Facts that have no place.
    pub notes: Vec<String>,
    /// Changes that would help.
    pub suggestions: Vec<Suggestion>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, span, message.into())
    }

    /// A warning at `span`.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, span, message.into())
    }

    /// A note at `span`.
    pub fn note(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, code, span, message.into())
    }

    fn new(severity: Severity, code: Code, span: Span, message: String) -> Diagnostic {
        let primary = Label { span, message: String::new() };
        Diagnostic { severity, code, message, primary, secondary: vec![], notes: vec![], suggestions: vec![] }
    }

    /// Says something at the primary place.
    pub fn with_label(mut self, message: impl Into<String>) -> Diagnostic {
        self.primary.message = message.into();
        self
    }

    /// Points at another place.
    pub fn with_secondary(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label { span, message: message.into() });
        self
    }

    /// Adds a fact without a place.
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Proposes to replace `span` by `replacement`.
    pub fn with_suggestion(
        mut self,
        span: Span,
        replacement: impl Into<String>,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.suggestions.push(Suggestion { message: message.into(), span, replacement: replacement.into() });
        self
    }

    /// Whether the program is rejected because of this.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// A number of things, for a message.
///
/// ```
/// # use nyala_span::diagnostic::plural;
/// assert_eq!(plural(1, "byte") + ", " + &plural(2, "byte"), "1 byte, 2 bytes");
/// ```
pub fn plural(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}
