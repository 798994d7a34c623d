//! What can be wrong with the text, and how it is said.
//!
//! The lexer and the parser make [`SyntaxError`]s; this is the one place that turns
//! them into [`Diagnostic`]s. Codes never change their meaning, and each has a
//! page in the book.

use nyala_span::{Code, Diagnostic, Span};

use crate::ast::{MAX_DEPTH, MAX_ELSE_IFS};
use crate::lexer::MAX_WORD;

/// How many errors are reported in one file. Text with more is no program, and the
/// reports must not need much more memory than the text.
pub(crate) const MAX_ERRORS: usize = 1000;

/// A mistake in the text. `at` is the place to blame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SyntaxError {
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
    Expected { at: Span, what: String, found: String },
    ExpectedExpr { at: Span, found: String },
    ExpectedType { at: Span, found: String },
    ExpectedPattern { at: Span, found: String },
    ExpectedItem { at: Span, found: String },
    MissingSemi { at: Span, after: &'static str },
    Unclosed { opener: Span, text: &'static str, stopped_at: Option<Span>, by_indent: Option<Span> },
    StrayCloser { at: Span, text: &'static str, opener: Option<(Span, &'static str)> },
    TooDeep { at: Span },
    TooManyElseIfs { at: Span },
    ItemAsExpr { at: Span, keyword: &'static str },
    ModuleLet { at: Span },
    ChainedAssign { at: Span, first: Span },
    FilterHere { at: Span, place: &'static str },
    MissingArrow { at: Span },
    AttrWithoutItem { at: Span },
    DuplicateAttr { at: Span, first: Span, name: String },
    ImportWithBody { body: Span, import: Span },
    MissingBody { at: Span, name: String },
    MixedFieldInit { at: Span, first: Span, first_with_eq: bool },
    BadExtern { at: Span, found: String },
    MarkWithoutCall { at: Span, text: &'static str },
    StructInCondition { at: Span },
    AssignInCondition { at: Span },
    Traits { at: Span, keyword: String },
    LoopWithoutCall { at: Span, keyword: &'static str },
    ExpectedName { at: Span, found: String },
    WrongOperator { at: Span, found: &'static str, meant: &'static str },
    BadTupleIndex { at: Span },
    AngleBrackets { at: Span, what: &'static str, inside: String },
    JumpWithoutCall { jump: Span, value: Span, name: &'static str, text: String },
    Ternary { at: Span },
    SquareIndex { at: Span, inside: String },
}

impl SyntaxError {
    /// The report for the user.
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            // ---- Lexing: E00xx ----
            SyntaxError::UnknownChar { at, text } => {
                let diagnostic = error("E0001", at, format!("unknown character `{text}`"));
                if text.is_ascii() {
                    diagnostic
                } else {
                    diagnostic.with_note("outside of comments and strings, programs are written in ASCII")
                }
            }
            SyntaxError::UnterminatedString { at } => error("E0002", at, "this string does not end on its line")
                .with_note("adjacent strings are joined: end it here with `\"` and go on with another one"),
            SyntaxError::UnterminatedChar { at } => {
                error("E0003", at, "this character does not end").with_label("add a `'` behind it")
            }
            SyntaxError::UnterminatedComment { at } => {
                error("E0004", at, "this comment does not end").with_note("it ends at the first `*/`")
            }
            SyntaxError::BadEscape { at } => error("E0005", at, "unknown escape sequence").with_note(
                "escapes are `\\0 \\n \\t \\r \\a \\b \\v \\f \\' \\\" \\\\`, octal `\\NNN` up to `\\377`, and hexadecimal `\\xHH`",
            ),
            SyntaxError::EmptyChar { at } => error("E0006", at, "empty character"),
            SyntaxError::LongChar { at } => error("E0007", at, "more than one byte between `'`")
                .with_note("a character is one byte, a `u8`; text is written in `\"`"),
            SyntaxError::DigitOutsideBase { at, digit, base } => {
                error("E0008", at, format!("`{digit}` is not a digit in base {base}"))
            }
            SyntaxError::NoDigits { at } => error("E0009", at, "this number has no digits"),
            SyntaxError::IntTooLarge { at } => error("E0010", at, "this integer does not fit in 64 bits"),
            SyntaxError::UnknownSuffix { at, suffix } => {
                error("E0011", at, format!("a number cannot end in `{suffix}`")).with_note(
                    "suffixes are `i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64` and `i` `u` `h` `f`; \
                     prefixed numbers such as `0x1` take only those of integers",
                )
            }
            SyntaxError::WordTooLong { at } => error("E0012", at, "this name or number is too long")
                .with_note(format!("at most {MAX_WORD} bytes are allowed")),
            SyntaxError::ControlChar { at, code_point } => {
                error("E0013", at, format!("invisible character U+{code_point:04X}"))
                    .with_note("it can make the text look different from what it means, so it is allowed nowhere")
                    .with_suggestion(at, "", "remove it")
            }
            SyntaxError::UnknownDialect { at } => error("E0014", at, "unknown dialect")
                .with_label("expected `impala` or `artic`"),

            // ---- Parsing, something is missing: E01xx ----
            SyntaxError::Expected { at, what, found } => expected("E0100", at, &what, &found),
            SyntaxError::ExpectedExpr { at, found } => expected("E0101", at, "an expression", &found),
            SyntaxError::ExpectedType { at, found } => expected("E0102", at, "a type", &found),
            SyntaxError::ExpectedPattern { at, found } => expected("E0103", at, "a pattern", &found),
            SyntaxError::ExpectedItem { at, found } => expected("E0104", at, "an item", &found)
                .with_note("a file holds `fn`, `struct`, `enum`, `type`, `static`, `mod`, `use`, `implicit` and `extern`"),
            SyntaxError::MissingSemi { at, after } => error("E0105", at, format!("expected `;` after this {after}"))
                .with_suggestion(at, ";", "add `;` here"),
            SyntaxError::Unclosed { opener, text, stopped_at, by_indent } => {
                unclosed(opener, text, stopped_at, by_indent)
            }
            SyntaxError::StrayCloser { at, text, opener } => match opener {
                Some((span, open_text)) => error("E0107", at, format!("`{text}` does not close `{open_text}`"))
                    .with_secondary(span, "this is what it would close"),
                None => error("E0107", at, format!("`{text}` closes nothing")),
            },
            SyntaxError::MissingArrow { at } => error("E0112", at, "expected `->` in front of the result type")
                .with_suggestion(at.start(), "-> ", "add the arrow"),
            SyntaxError::ExpectedName { at, found } => expected("E0124", at, "a name", &found),
            SyntaxError::WrongOperator { at, found, meant } => {
                error("E0125", at, format!("expected `{meant}`, found `{found}`")).with_suggestion(
                    at,
                    meant,
                    format!("write `{meant}`"),
                )
            }

            // ---- Parsing, something is in the wrong place: E01xx ----
            SyntaxError::TooDeep { at } => error("E0108", at, "this is nested too deeply")
                .with_note(format!("at most {MAX_DEPTH} constructs may lie inside each other")),
            SyntaxError::TooManyElseIfs { at } => error("E0132", at, "too many `else if` follow each other")
                .with_note(format!("at most {MAX_ELSE_IFS} may; a `match` or a table says this better")),
            SyntaxError::ItemAsExpr { at, keyword } => {
                error("E0109", at, format!("expected an expression, found a `{keyword}` item"))
                    .with_note("define it as a statement of its own and use its name here")
            }
            SyntaxError::ModuleLet { at } => error("E0110", at, "`let` outside of a function")
                .with_suggestion(at, "static", "define a static instead"),
            SyntaxError::ChainedAssign { at, first } => error("E0111", at, "assignments cannot be chained")
                .with_secondary(first, "this assignment has the value `()`"),
            SyntaxError::FilterHere { at, place } => {
                error("E0113", at, format!("a filter cannot stand {place}"))
                    .with_note("filters stand in front of a function's name, a parameter, a lambda, and the body of `for`")
                    .with_note("`@?` stands in front of a parameter only")
            }
            SyntaxError::AttrWithoutItem { at } => error("E0114", at, "this attribute belongs to no item"),
            SyntaxError::DuplicateAttr { at, first, name } => {
                error("E0115", at, format!("`{name}` is given twice")).with_secondary(first, "first given here")
            }
            SyntaxError::ImportWithBody { body, import } => {
                error("E0116", body, "an imported function cannot have a body").with_secondary(import, "imported here")
            }
            SyntaxError::MissingBody { at, name } => error("E0117", at, format!("function `{name}` has no body"))
                .with_note("only imported functions are declared without one: `extern \"C\" { .. }` or `#[import(..)]`"),
            SyntaxError::MixedFieldInit { at, first, first_with_eq } => {
                let meant = if first_with_eq { "=" } else { ":" };
                error("E0118", at, "`:` and `=` are mixed in one struct literal")
                    .with_secondary(first, format!("the first field uses `{meant}`"))
                    .with_suggestion(at, meant, format!("write `{meant}`"))
            }
            SyntaxError::BadExtern { at, found } => {
                error("E0119", at, format!("expected `fn` or a calling convention after `extern`, found {found}"))
            }
            SyntaxError::MarkWithoutCall { at, text } => {
                error("E0120", at, format!("`{text}` must be followed by a call"))
            }
            SyntaxError::StructInCondition { at } => error("E0121", at, "a struct literal here needs parentheses")
                .with_note("in front of a block, `{` opens the block"),
            SyntaxError::AssignInCondition { at } => error("E0122", at, "`=` assigns, and an assignment is no condition")
                .with_suggestion(at, "==", "compare instead"),
            SyntaxError::Traits { at, keyword } => error("E0123", at, format!("`{keyword}` is not supported"))
                .with_note("group functions in a struct instead, or use type parameters"),
            SyntaxError::LoopWithoutCall { at, keyword } => {
                error("E0126", at, format!("`{keyword}` needs the call of a generator here"))
                    .with_label("this is not a call")
            }
            SyntaxError::BadTupleIndex { at } => {
                error("E0127", at, "an element is selected by a small decimal number without suffix")
            }
            SyntaxError::AngleBrackets { at, what, inside } => {
                error("E0128", at, format!("type {what} are written in `[..]`"))
                    .with_suggestion(at, format!("[{inside}]"), "write brackets")
            }
            SyntaxError::JumpWithoutCall { jump, value, name, text } => {
                error("E0129", value, format!("`{name}` takes its value in parentheses"))
                    .with_note("it is a continuation, and leaving is calling it")
                    .with_suggestion(jump.end().to(value), format!("({text})"), "call it")
            }
            SyntaxError::Ternary { at } => error("E0130", at, "there is no operator `? :`")
                .with_note("`if` has a value: `if c { a } else { b }`"),
            SyntaxError::SquareIndex { at, inside } => error("E0131", at, "elements are selected with parentheses")
                .with_suggestion(at, format!("({inside})"), "write parentheses"),
        }
    }
}

fn error(code: &'static str, at: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code(code), at, message)
}

fn expected(code: &'static str, at: Span, what: &str, found: &str) -> Diagnostic {
    error(code, at, format!("expected {what}, found {found}"))
}

fn unclosed(
    opener: Span,
    text: &'static str,
    stopped_at: Option<Span>,
    by_indent: Option<Span>,
) -> Diagnostic {
    let mut diagnostic = error("E0106", opener, format!("this `{text}` is never closed"));
    if let Some(at) = stopped_at {
        diagnostic = diagnostic.with_secondary(at, "it must be closed before this");
    }
    if let Some(at) = by_indent {
        diagnostic =
            diagnostic.with_secondary(at, "this closes it, but is indented like the end of something else");
    }
    diagnostic
}
