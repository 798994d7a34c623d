//! Errors of filters, before they run ([`FilterError`]) and while they run ([`Fault`]).

use nyala_span::diagnostic::plural;
use nyala_span::{Code, Diagnostic, Span};

use crate::parser::{MAX_CHANNELS, MAX_HEIGHT};
use crate::tree::{BinaryOp, Ty};

/// An error in the text of a filter.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum FilterError {
    Character { at: Span, text: String },
    Expected { at: Span, what: String, found: Option<String> },
    NumberTooLarge { at: Span, ty: &'static str },
    TooDeep { at: Span },
    MatrixRow { at: Span, expected: usize, found: usize },
    ChannelCount { at: Span, count: u64 },
    UnknownName { at: Span, name: String, near: Option<String> },
    Type { at: Span, expected: String, found: Ty },
    Operands { at: Span, op: BinaryOp, types: [Ty; 2] },
    Branches { then: (Span, Ty), other: (Span, Ty) },
}

impl FilterError {
    /// The error for people.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let error = |code, at: &Span, message: String| Diagnostic::error(Code(code), *at, message);
        match self {
            FilterError::Character { at, text } => {
                let shown: String = text.chars().flat_map(visible).collect();
                let error = error("E1200", at, format!("the character `{shown}` starts no token"));
                match text.as_str() {
                    "." => error.with_note("a number begins with a digit, as in `0.5`"),
                    "!" => error.with_note("`not` negates, and `<>` compares for inequality"),
                    _ => error,
                }
            }
            FilterError::Expected { at, what, found } => {
                let found = found.as_deref();
                let error = match found {
                    Some(found) => error("E1201", at, format!("expected {what}, found `{found}`")),
                    None => error("E1201", at, format!("expected {what}, but the filter ends here")),
                };
                match expectation(what, found) {
                    Some(note) => error.with_note(note),
                    None => error,
                }
            }
            FilterError::NumberTooLarge { at, ty } => {
                error("E1202", at, format!("this number is too large for the type `{ty}`"))
            }
            FilterError::TooDeep { at } => error("E1203", at, "this expression is nested too deeply".into())
                .with_note(format!("the limit is {MAX_HEIGHT} levels; a `let` shortens an expression")),
            FilterError::MatrixRow { at, expected, found } => error(
                "E1204",
                at,
                format!("this row has {}, not {expected}", plural(*found as u64, "column")),
            ),
            FilterError::ChannelCount { at, count } => {
                error("E1205", at, format!("a picture has 1 to {MAX_CHANNELS} channels, not {count}"))
            }
            FilterError::UnknownName { at, name, near } => {
                let error = error("E1206", at, format!("there is no variable `{name}`"));
                match near {
                    Some(near) => {
                        error.with_suggestion(*at, near.clone(), "a variable with a similar name exists")
                    }
                    None if name == "current" => {
                        error.with_note("only `[ n channels: .. ]` defines `current`")
                    }
                    None => error,
                }
            }
            FilterError::Type { at, expected, found } => {
                let found = found.name();
                let shown = if expected.contains(' ') { expected.clone() } else { format!("`{expected}`") };
                let error = error("E1207", at, format!("expected {shown}, found `{found}`"));
                match (expected.as_str(), found) {
                    ("Int", "Float") => error.with_note("`floor` turns a `Float` into an `Int`"),
                    _ => error,
                }
            }
            FilterError::Operands { at, op, types: [lhs, rhs] } => {
                let (op, lhs, rhs) = (op.name(), lhs.name(), rhs.name());
                error("E1207", at, format!("`{op}` takes no operands of the types `{lhs}` and `{rhs}`"))
            }
            FilterError::Branches { then, other } => {
                let message = format!("expected `{}`, found `{}`", then.1.name(), other.1.name());
                error("E1207", &other.0, message)
                    .with_secondary(then.0, format!("`{}` because of this", then.1.name()))
            }
        }
    }
}

/// A note on syntax that other languages write differently.
fn expectation(what: &str, found: Option<&str>) -> Option<&'static str> {
    match (what, found) {
        ("`[`", Some("/")) => Some("`#` starts a comment"),
        ("`[`", _) => {
            Some("a filter ends with its channels, as in `[ 3 channels: image(row, col, current) ]`")
        }
        ("`]`", Some(",")) => Some("`;` separates channels"),
        ("`]`", Some(";")) => Some("`[ n channels: .. ]` has one expression for all channels"),
        ("an expression", Some("=")) => Some("`=` compares, there is no `==`"),
        ("`else`", _) => Some("an `if` has a value, so it needs both branches"),
        _ => None,
    }
}

/// A character as it is shown in a message.
fn visible(letter: char) -> impl Iterator<Item = char> {
    let (escaped, plain) =
        if letter.is_control() { (Some(letter.escape_debug()), None) } else { (None, Some(letter)) };
    escaped.into_iter().flatten().chain(plain)
}

/// An operation that failed when the filter ran.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    /// The operation.
    pub at: Span,
    /// What went wrong.
    pub kind: FaultKind,
    /// The row and the column of the output pixel.
    pub pixel: (i32, i32),
}

/// The kinds of faults.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum FaultKind {
    OutsidePicture { row: i32, col: i32, width: i32, height: i32 },
    NoChannel { channel: i32, n_channels: i32 },
    OutsideMatrix { row: i32, col: i32, rows: usize, cols: usize },
    DivisionByZero,
    NegativeExponent { exponent: i32 },
    TooManyTerms { terms: i64, limit: i64 },
}

impl Fault {
    /// The fault for people.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let error = |code, message: String| Diagnostic::error(Code(code), self.at, message);
        let diagnostic = match self.kind {
            FaultKind::OutsidePicture { row, col, width, height } => {
                error("E1208", format!("there is no pixel at row {row}, column {col}")).with_note(format!(
                    "the picture has {height} rows and {width} columns; `--boundary clamp` takes the nearest pixel"
                ))
            }
            FaultKind::NoChannel { channel, n_channels: 1 } => {
                error("E1209", format!("there is no channel {channel}: the picture has one channel"))
            }
            FaultKind::NoChannel { channel, n_channels } => {
                error("E1209", format!("there is no channel {channel}: the picture has {n_channels} channels"))
            }
            FaultKind::OutsideMatrix { row, col, rows, cols } => {
                error("E1210", format!("the matrix has no entry at row {row}, column {col}"))
                    .with_note(format!("it has {rows} rows and {cols} columns, counted from 0"))
            }
            FaultKind::DivisionByZero => error("E1211", "division by zero".into()),
            FaultKind::NegativeExponent { exponent } => {
                error("E1212", format!("the exponent of an `Int` is negative: {exponent}"))
            }
            FaultKind::TooManyTerms { terms, limit } => {
                error("E1213", format!("this sum has {terms} terms for one pixel")).with_note(format!(
                    "the limit is {limit}, with the terms of the sums around it; `--max-terms` changes it"
                ))
            }
        };
        let (row, col) = self.pixel;
        diagnostic.with_note(format!("this happens first for the output pixel at row {row}, column {col}"))
    }
}
