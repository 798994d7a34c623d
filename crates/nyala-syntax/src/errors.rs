//! Syntax errors and their diagnostics.
//!
//! The lexer and the parser make [`SyntaxError`]s; this is the one place that turns
//! them into [`Diagnostic`]s, those of the lexer in `lex`. Codes never change their meaning, and each has a
//! page in the book.

mod lex;

use nyala_span::{Code, Diagnostic, Span};

use crate::ast::{MAX_DEPTH, MAX_ELSE_IFS};

pub(crate) use lex::LexError;

/// The maximum number of reported errors in one file. It bounds the memory of the reports.
pub(crate) const MAX_ERRORS: usize = 1000;

/// A syntax error. `at` is its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SyntaxError {
    Lex(LexError),
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
    DoubleMark { at: Span },
    StructInCondition { at: Span },
    AssignInCondition { at: Span },
    Traits { at: Span, keyword: String },
    LoopWithoutCall { at: Span, keyword: &'static str },
    RangeOperator { at: Span, keyword: &'static str, call: String },
    ExpectedName { at: Span, found: String },
    WrongOperator { at: Span, found: &'static str, meant: &'static str },
    BadTupleIndex { at: Span },
    AngleBrackets { at: Span, what: &'static str, inside: String },
    JumpWithoutCall { jump: Span, value: Span, name: &'static str, text: String },
    Ternary { at: Span },
    SquareIndex { at: Span, inside: String },
    Macro { at: Span, name: String },
    BadOperator { at: Span, text: &'static str, of: Option<&'static str> },
}

impl From<LexError> for SyntaxError {
    fn from(error: LexError) -> SyntaxError {
        SyntaxError::Lex(error)
    }
}

impl SyntaxError {
    /// The diagnostic.
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            SyntaxError::Lex(error) => error.into_diagnostic(),

            // ---- Parsing, missing tokens: E01xx ----
            SyntaxError::Expected { at, what, found } => expected("E0100", at, &what, &found),
            SyntaxError::ExpectedExpr { at, found } => expected("E0101", at, "an expression", &found),
            SyntaxError::ExpectedType { at, found } => expected("E0102", at, "a type", &found),
            SyntaxError::ExpectedPattern { at, found } => expected("E0103", at, "a pattern", &found),
            SyntaxError::ExpectedItem { at, found } => expected("E0104", at, "an item", &found)
                .with_note("items are `fn`, `struct`, `enum`, `type`, `static`, `mod`, `use`, `implicit` and `extern`"),
            SyntaxError::MissingSemi { at, after } => error("E0105", at, format!("expected `;` after this {after}"))
                .with_suggestion(at, ";", "add `;` here"),
            SyntaxError::Unclosed { opener, text, stopped_at, by_indent } => {
                unclosed(opener, text, stopped_at, by_indent)
            }
            SyntaxError::StrayCloser { at, text, opener } => match opener {
                Some((span, open_text)) => error("E0107", at, format!("`{text}` does not close `{open_text}`"))
                    .with_secondary(span, "the open bracket"),
                None => error("E0107", at, format!("unmatched `{text}`")),
            },
            SyntaxError::MissingArrow { at } => error("E0112", at, "expected `->` before the result type")
                .with_suggestion(at.start(), "-> ", "add the arrow"),
            SyntaxError::ExpectedName { at, found } => expected("E0124", at, "a name", &found),
            SyntaxError::WrongOperator { at, found, meant } => {
                error("E0125", at, format!("expected `{meant}`, found `{found}`")).with_suggestion(
                    at,
                    meant,
                    format!("write `{meant}`"),
                )
            }

            // ---- Parsing, misplaced constructs: E01xx ----
            SyntaxError::TooDeep { at } => error("E0108", at, "this is nested too deeply")
                .with_note(format!("the maximum nesting depth is {MAX_DEPTH}")),
            SyntaxError::TooManyElseIfs { at } => error("E0132", at, "too many `else if` in one chain")
                .with_note(format!("at most {MAX_ELSE_IFS} are allowed; use a `match` or a table")),
            SyntaxError::ItemAsExpr { at, keyword } => {
                error("E0109", at, format!("expected an expression, found a `{keyword}` item"))
                    .with_note("define it in a separate statement and use its name here")
            }
            SyntaxError::ModuleLet { at } => error("E0110", at, "`let` outside of a function")
                .with_suggestion(at, "static", "define a static instead"),
            SyntaxError::ChainedAssign { at, first } => error("E0111", at, "assignments cannot be chained")
                .with_secondary(first, "this assignment has the value `()`"),
            SyntaxError::FilterHere { at, place } => {
                error("E0113", at, format!("a filter is not allowed {place}"))
                    .with_note("a filter stands before the name of a function, a parameter, a lambda, or the body of a `for`")
                    .with_note("`@?` is allowed only before a parameter")
            }
            SyntaxError::AttrWithoutItem { at } => error("E0114", at, "expected an item after this attribute"),
            SyntaxError::DuplicateAttr { at, first, name } => {
                error("E0115", at, format!("`{name}` is given twice")).with_secondary(first, "first given here")
            }
            SyntaxError::ImportWithBody { body, import } => {
                error("E0116", body, "an imported function cannot have a body").with_secondary(import, "imported here")
            }
            SyntaxError::MissingBody { at, name } => error("E0117", at, format!("function `{name}` has no body"))
                .with_note("only imported functions have no body: `extern \"C\" { .. }` or `#[import(..)]`"),
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
            SyntaxError::DoubleMark { at } => {
                error("E0120", at, "in Artic, `@@` marks a marked call, which is no call")
                    .with_suggestion(at, "@", "one `@` forces a call")
            }
            SyntaxError::StructInCondition { at } => error("E0121", at, "a struct literal here needs parentheses")
                .with_note("before a block, `{` opens the block"),
            SyntaxError::AssignInCondition { at } => error("E0122", at, "an assignment cannot be a condition")
                .with_suggestion(at, "==", "use `==` to compare"),
            SyntaxError::Traits { at, keyword } => error("E0123", at, format!("`{keyword}` is not supported"))
                .with_note("group functions in a struct instead, or use type parameters"),
            SyntaxError::LoopWithoutCall { at, keyword } => {
                error("E0126", at, format!("`{keyword}` needs a call of a generator"))
                    .with_label("this is not a call")
            }
            SyntaxError::RangeOperator { at, keyword, call } => {
                error("E0126", at, format!("`{keyword}` needs a call of a generator"))
                    .with_label("there is no operator `..`")
                    .with_suggestion(at, call, "call `range`")
            }
            SyntaxError::BadTupleIndex { at } => {
                error("E0127", at, "an element index must be a small decimal number without suffix")
            }
            SyntaxError::AngleBrackets { at, what, inside } => {
                error("E0128", at, format!("type {what} are written in `[..]`"))
                    .with_suggestion(at, format!("[{inside}]"), "write brackets")
            }
            SyntaxError::JumpWithoutCall { jump, value, name, text } => {
                error("E0129", value, format!("`{name}` must be called with parentheses"))
                    .with_note("it is a continuation, so it is called like a function")
                    .with_suggestion(jump.end().to(value), format!("({text})"), "call it")
            }
            SyntaxError::Ternary { at } => error("E0130", at, "there is no operator `? :`")
                .with_note("use `if c { a } else { b }`, which has a value"),
            SyntaxError::SquareIndex { at, inside } => error("E0131", at, "an index is written in parentheses")
                .with_suggestion(at, format!("({inside})"), "write parentheses"),
            SyntaxError::Macro { at, name } => {
                let report = error("E0134", at, "there are no macros");
                match name.as_str() {
                    "print" | "println" | "eprintln" | "format" => report
                        .with_note("a function prints one value: `print_string`, `print_char`, `print_i32`, `print_f32`, .."),
                    "assert" => report.with_suggestion(at, "assert", "call the function"),
                    "assert_eq" => report.with_suggestion(at, "assert_equal", "call the function"),
                    "vec" => report.with_note("`[1, 2, 3]` is an array; `alloc_cpu` allocates memory"),
                    _ => report,
                }
            }
            SyntaxError::BadOperator { at, text, of } => {
                let report = error("E0133", at, format!("`{text}` cannot be declared"))
                    .with_note("operators that can be: `+ - * / % & | ^ << >> == != < <= > >= !` and `()`");
                match of {
                    Some(of) => report.with_label(format!("declare `{of}`: `a {text} b` is `a = a {of} b`")),
                    None => report,
                }
            }
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
        diagnostic = diagnostic.with_secondary(at, "expected the closing bracket before this");
    }
    if let Some(at) = by_indent {
        diagnostic =
            diagnostic.with_secondary(at, "closed here, but the indentation belongs to another bracket");
    }
    diagnostic
}
