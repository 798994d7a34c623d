//! All errors of staging, and their diagnostics.

use nyala_span::{Code, Diagnostic, Span, without_controls};

/// The kinds of errors, with their codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// Text that is no token.
    Lexical,
    /// A token that the grammar does not allow.
    Syntax,
    /// A name that is not defined.
    UnknownName,
    /// A staging expression over something that is no stage.
    Staging,
    /// Staged-C: a type that does not fit.
    Type,
    /// The program has not ended, and no body is active.
    Stuck,
    /// An active body needs a value that is not bound.
    Unbound,
    /// A budget is spent.
    Runaway,
    /// An operation on values that it is not defined for.
    Operand,
    /// An operation that fails, such as a division by zero.
    Failed,
    /// A residual program that cannot be compiled.
    Compile,
}

impl ErrorKind {
    fn code(self) -> Code {
        Code(match self {
            ErrorKind::Lexical => "E1001",
            ErrorKind::Syntax => "E1002",
            ErrorKind::UnknownName => "E1003",
            ErrorKind::Staging => "E1004",
            ErrorKind::Type => "E1005",
            ErrorKind::Stuck => "E1010",
            ErrorKind::Unbound => "E1011",
            ErrorKind::Runaway => "E1012",
            ErrorKind::Operand => "E1013",
            ErrorKind::Failed => "E1014",
            ErrorKind::Compile => "E1020",
        })
    }
}

/// An error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Its kind.
    pub kind: ErrorKind,
    /// Where it is.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// Text at the position.
    pub label: String,
    /// Other places.
    pub others: Vec<(Span, String)>,
    /// Facts that have no place.
    pub notes: Vec<String>,
}

impl Error {
    /// An error at `span`.
    pub fn new(kind: ErrorKind, span: Span, message: impl Into<String>) -> Error {
        Error { kind, span, message: message.into(), label: String::new(), others: vec![], notes: vec![] }
    }

    /// With text at the position.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Error {
        self.label = label.into();
        self
    }

    /// With text at another position.
    #[must_use]
    pub fn other(mut self, span: Span, text: impl Into<String>) -> Error {
        self.others.push((span, text.into()));
        self
    }

    /// With a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Error {
        self.notes.push(note.into());
        self
    }

    /// The diagnostic.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let mut report = Diagnostic::error(self.kind.code(), self.span, without_controls(&self.message));
        if !self.label.is_empty() {
            report = report.with_label(without_controls(&self.label));
        }
        for (span, text) in self.others.iter().filter(|(span, _)| !span.is_none()) {
            report = report.with_secondary(*span, without_controls(text));
        }
        self.notes.iter().fold(report, |report, note| report.with_note(note.as_str()))
    }
}
