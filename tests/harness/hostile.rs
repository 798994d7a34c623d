//! Hostile input: every shape, at sizes from a hundred to a
//! million, leads to a result or an error, in little time and memory, and on the
//! default stack of a program (`hostile/child.rs`).
//!
//! Long programs with many small parts (`hostile/long.rs`) must be accepted.

#[path = "hostile/child.rs"]
mod child;
#[path = "hostile/long.rs"]
mod long;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use child::Stage;

/// The number of repetitions of the repeated part of a shape.
const SIZES: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];

/// The size at which a shape passes through all stages.
const SAMPLE: usize = 10_000;

/// A text with a repeated part: `before`, `open` n times, `middle`, `close` n times, `after`.
struct Shape {
    name: &'static str,
    before: &'static str,
    open: &'static str,
    middle: &'static str,
    close: &'static str,
    after: &'static str,
}

/// A nested shape inside the body of a function.
const fn body(name: &'static str, open: &'static str, middle: &'static str, close: &'static str) -> Shape {
    Shape { name, before: "fn f(x: i32) -> i32 { ", open, middle, close, after: " }\n" }
}

/// A nested shape as the type of a parameter.
const fn ty(name: &'static str, open: &'static str, middle: &'static str, close: &'static str) -> Shape {
    Shape { name, before: "fn f(x: ", open, middle, close, after: ") -> () {}\n" }
}

/// A nested shape as a pattern.
const fn pattern(name: &'static str, open: &'static str, middle: &'static str, close: &'static str) -> Shape {
    Shape { name, before: "fn f(x: i32) -> () { let ", open, middle, close, after: " = x; }\n" }
}

/// A nested shape at module level.
const fn items(name: &'static str, open: &'static str, middle: &'static str, close: &'static str) -> Shape {
    Shape { name, before: "", open, middle, close, after: "\n" }
}

const SHAPES: &[Shape] = &[
    // Nesting of expressions.
    body("parentheses", "(", "x", ")"),
    body("blocks", "{", "x", "}"),
    body("unary_minus", "-", "x", ""),
    body("unary_not", "!", "x", ""),
    body("address_of", "&", "x", ""),
    body("dereferences", "*", "x", ""),
    body("increments", "++", "x", ""),
    body("known", "?", "x", ""),
    body("hidden", "$", "x", ""),
    body("tuples", "(x, ", "x", ")"),
    body("arrays", "[", "x", "]"),
    body("calls_inside", "f(", "x", ")"),
    body("calls_behind", "f", "", "(x)"),
    body("fields", "x", "", ".y"),
    body("type_arguments", "f[", "i32", "](x)"),
    body("lambdas", "|y: i32| ", "x", ""),
    body("empty_lambdas", "|| ", "x", ""),
    body("filtered_lambdas", "@(true)|y: i32| ", "x", ""),
    body("ifs", "if x == 0 { ", "x", " } else { x }"),
    body("if_conditions", "if ", "true", " { true } else { false }"),
    body("else_ifs", "if x == 0 { 1 } else ", "{ x }", ""),
    body("whiles", "while true { ", "", " }"),
    body("fors", "for i in range(0, x) { ", "", " }"),
    body("matches", "match x { _ => ", "x", " }"),
    body("casts", "x", "", " as i32"),
    body("forced_calls", "@@", "f", "(x)"),
    body("struct_literals", "S { a: ", "x", " }"),
    body("nested_functions", "fn g() -> i32 { ", "x", " }"),
    body("heap_values", "~", "x", ""),
    body("simd_values", "simd[", "x", "]"),
    body("assignments", "x = ", "x", ""),
    // Nesting of types, patterns and items.
    ty("pointer_types", "&", "i32", ""),
    ty("mutable_pointer_types", "&mut ", "i32", ""),
    ty("tuple_types", "(i32, ", "i32", ")"),
    ty("array_types", "[", "i32", " * 2]"),
    ty("function_types", "fn(", "i32", ") -> ()"),
    ty("result_types", "fn() -> ", "i32", ""),
    ty("generic_types", "S[", "i32", "]"),
    pattern("tuple_patterns", "(a, ", "b", ")"),
    pattern("option_patterns", "E::A(", "b", ")"),
    items("modules", "mod m { ", "", " }"),
    items("attributes", "#[a(", "", ")] fn f() -> () {}"),
    // Long rather than deep.
    body("sum", "x + ", "x", ""),
    body("comparisons", "x < ", "x", ""),
    body("logical_or", "true || ", "true", ""),
    body("mixed_precedence", "x * 2 + ", "x", ""),
    body("statements", "x; ", "x", ""),
    body("lets", "{ let y = x; } ", "x", ""),
    body("semicolons", ";", "x", ""),
    body("array_elements", "", "[x", ", x"),
    body("arguments", "", "f(x", ", x"),
    body("match_arms", "", "match x { ", "0 => 1, "),
    body("string_parts", "\"abc\" ", "", ""),
    body("path", "a::", "b", ""),
    items("functions", "fn f() -> () {} ", "", ""),
    items("fields_of_a_struct", "", "struct S { ", "a: i32, "),
    items("options_of_an_enum", "", "enum E { ", "A, "),
    items("parameters", "", "fn f(", "a: i32, "),
    items("type_parameters", "", "fn f[", "T, "),
    items("comments", "/* */", "", ""),
    items("line_comments", "//\n", "", ""),
    // Unbalanced brackets and unrelated tokens.
    items("open_parentheses", "(", "", ""),
    items("open_braces", "{", "", ""),
    items("open_brackets", "fn f() -> () { [", "", ""),
    items("closed_parentheses", ")", "", ""),
    items("closed_braces", "}", "", ""),
    items("mixed_brackets", "([{", "", ""),
    items("crossed_brackets", "(]", "", ""),
    items("at_signs", "@", "", ""),
    items("hashes", "#", "", ""),
    items("bars", "|", "", ""),
    items("quotes", "'", "", ""),
    items("double_quotes", "\"", "", ""),
    items("open_comments", "/*", "", ""),
    items("nul_characters", "\0", "", ""),
    items("bidi_overrides", "\u{202e}", "", ""),
    items("byte_order_marks", "\u{feff}", "", ""),
    items("emoji", "\u{1f98c}", "", ""),
    items("keywords", "fn let if ", "", ""),
    // Very long words.
    body("long_identifier", "a", "", ""),
    body("long_number", "9", "", ""),
    body("long_hexadecimal", "", "0x", "f"),
    body("long_float", "", "1.", "0"),
    body("long_exponent", "", "1e", "9"),
    body("long_string", "", "\"", "abc"),
    body("long_escapes", "", "\"", "\\n"),
];

fn main() -> ExitCode {
    if let Some(status) = child::run_if_child() {
        return status;
    }
    let shapes = SHAPES.iter().map(|shape| Trial::test(shape.name, || try_sizes(shape)));
    let long = long::PROGRAMS.iter().map(|program| Trial::test(program.name, || long::try_sizes(program)));
    libtest_mimic::run(&Arguments::from_args(), shapes.chain(long).collect()).exit_code()
}

fn try_sizes(shape: &Shape) -> Result<(), Failed> {
    for size in SIZES {
        child::start(shape.name, size, Stage::Check)?;
    }
    for stage in [Stage::Format, Stage::Emit, Stage::Interpret] {
        child::start(shape.name, SAMPLE, stage)?;
    }
    Ok(())
}

impl Shape {
    fn text(&self, size: usize) -> String {
        let Shape { before, open, middle, close, after, .. } = self;
        [before, open.repeat(size).as_str(), middle, close.repeat(size).as_str(), after].concat()
    }
}

/// The text of the shape or program of this name.
fn text(name: &str, size: usize) -> Option<String> {
    let shape = SHAPES.iter().find(|shape| shape.name == name).map(|shape| shape.text(size));
    shape.or_else(|| long::PROGRAMS.iter().find(|it| it.name == name).map(|it| (it.text)(size)))
}
