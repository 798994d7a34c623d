//! Errors in single tokens and comments: E00xx.

use nyala_span::{Diagnostic, Span};

use super::error;
use crate::lexer::MAX_WORD;

/// An error of the lexer. `at` is its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LexError {
    UnknownChar { at: Span, text: String },
    UnterminatedString { at: Span },
    UnterminatedChar { at: Span },
    UnterminatedComment { at: Span },
    BadEscape { at: Span },
    EmptyChar { at: Span },
    LongChar { at: Span },
    DigitOutsideBase { at: Span, digit: char, base: u32 },
    NoDigits { at: Span },
    IntTooLarge { at: Span },
    UnknownSuffix { at: Span, suffix: String },
    WordTooLong { at: Span },
    ControlChar { at: Span, code_point: u32 },
    UnknownDialect { at: Span },
}

impl LexError {
    /// The diagnostic.
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            LexError::UnknownChar { at, text } => {
                let diagnostic = error("E0001", at, format!("unknown character `{text}`"));
                if text.is_ascii() {
                    diagnostic
                } else {
                    diagnostic.with_note("outside of comments and strings, programs are written in ASCII")
                }
            }
            LexError::UnterminatedString { at } => error("E0002", at, "unterminated string")
                .with_note("a string ends on the line where it starts; adjacent strings are joined"),
            LexError::UnterminatedChar { at } => {
                error("E0003", at, "unterminated character").with_label("add a `'` at the end")
            }
            LexError::UnterminatedComment { at } => {
                error("E0004", at, "unterminated comment").with_note("a comment ends at the first `*/`")
            }
            LexError::BadEscape { at } => error("E0005", at, "unknown escape sequence").with_note(
                "escapes are `\\0 \\n \\t \\r \\a \\b \\v \\f \\' \\\" \\\\`, octal `\\NNN` up to `\\377`, and hexadecimal `\\xHH`",
            ),
            LexError::EmptyChar { at } => error("E0006", at, "empty character"),
            LexError::LongChar { at } => error("E0007", at, "more than one byte in a character")
                .with_note("a character is one byte, a `u8`; text is written in `\"`"),
            LexError::DigitOutsideBase { at, digit, base } => {
                error("E0008", at, format!("`{digit}` is not a digit in base {base}"))
            }
            LexError::NoDigits { at } => error("E0009", at, "this number has no digits"),
            LexError::IntTooLarge { at } => error("E0010", at, "this integer does not fit in 64 bits"),
            LexError::UnknownSuffix { at, suffix } => {
                error("E0011", at, format!("a number cannot end in `{suffix}`")).with_note(
                    "suffixes are `i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64` and `i` `u` `h` `f`; \
                     prefixed numbers such as `0x1` take only those of integers",
                )
            }
            LexError::WordTooLong { at } => error("E0012", at, "this name or number is too long")
                .with_note(format!("at most {MAX_WORD} bytes are allowed")),
            LexError::ControlChar { at, code_point } => {
                error("E0013", at, format!("invisible character U+{code_point:04X}"))
                    .with_note("it can make the text look different from its meaning, so it is not allowed")
                    .with_suggestion(at, "", "remove it")
            }
            LexError::UnknownDialect { at } => error("E0014", at, "unknown dialect")
                .with_label("expected `impala` or `artic`"),
        }
    }
}
