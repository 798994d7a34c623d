//! Texts that break parsers. Each, at sizes up to a million, must be parsed quickly, on a
//! small stack, to a tree or to a few errors. Texts without errors are also formatted.

use std::fs;
use std::time::{Duration, Instant};

use nyala_span::SourceMap;
use nyala_syntax::ast::MAX_ELSE_IFS;

/// A text of a given size.
struct Shape {
    name: &'static str,
    text: fn(usize) -> String,
    /// Whether the text is a valid program at any size.
    is_flat: bool,
}

const fn deep(name: &'static str, text: fn(usize) -> String) -> Shape {
    Shape { name, text, is_flat: false }
}

const fn flat(name: &'static str, text: fn(usize) -> String) -> Shape {
    Shape { name, text, is_flat: true }
}

/// `inner` inside a function, behind and in front of repeated text.
fn around(open: &str, inner: &str, close: &str, n: usize) -> String {
    format!("fn f() -> () {{ {}{inner}{} }}", open.repeat(n), close.repeat(n))
}

const SHAPES: &[Shape] = &[
    deep("parentheses", |n| around("(", "x", ")", n)),
    deep("unclosed parentheses", |n| around("(", "x", "", n)),
    deep("closing parentheses", |n| around("", "x", ")", n)),
    deep("blocks", |n| around("{", "x", "}", n)),
    deep("unclosed blocks", |n| around("{", "x", "", n)),
    deep("mixed brackets", |n| around("([{", "x", "}])", n)),
    deep("crossed brackets", |n| around("([", "x", ")]", n)),
    deep("minus signs", |n| around("- ", "x", "", n)),
    deep("address-of", |n| around("&", "x", "", n)),
    deep("hide", |n| around("$", "x", "", n)),
    deep("hide in sums", |n| around("1 + $", "x", "", n)),
    deep("boxes", |n| around("~", "x", "", n)),
    deep("boxed arrays", |n| around("~[", "x", "]", n)),
    deep("arrays", |n| around("[", "x", "]", n)),
    deep("call arguments", |n| around("f(", "x", ")", n)),
    deep("curried calls", |n| around("", "f", "(x)", n)),
    deep("calls inside and after calls", |n| around("f(", "x", ")()()", n)),
    deep("fields", |n| around("", "x", ".y", n)),
    deep("elements", |n| around("", "x", ".0", n)),
    deep("casts", |n| around("", "x", " as T", n)),
    deep("ascriptions", |n| around("", "x", " : T", n)),
    deep("postfix increments", |n| around("", "x", "++", n)),
    deep("updates", |n| around("x.{ y = ", "x", "}", n)),
    deep("struct literals", |n| around("S { x: ", "x", "}", n)),
    deep("type arguments", |n| around("f[", "T", "]", n)),
    deep("lambdas", |n| around("|x| ", "x", "", n)),
    deep("lambdas without spaces", |n| around("|x|", "x", "", n)),
    deep("filtered lambdas", |n| around("@(x)|x| ", "x", "", n)),
    deep("filters in filters", |n| around("@(", "x", ")|x| x", n)),
    deep("forced calls", |n| around("@", "f(x)", "", n)),
    deep("conditions", |n| around("if ", "x", " {}", n)),
    deep("nested ifs", |n| around("if x { ", "x", " }", n)),
    deep("else blocks", |n| around("if x {} else { ", "x", " }", n)),
    deep("scrutinees", |n| around("match ", "x", " {}", n)),
    deep("match arms", |n| around("match x { y => ", "x", " }", n)),
    deep("loops", |n| around("for i in g() { ", "x", " }", n)),
    deep("loops of loops", |n| around("for ", "x", "", n)),
    deep("loop patterns", |n| around("for ((((", "x", "", n)),
    deep("while", |n| around("while x { ", "x", " }", n)),
    deep("with", |n| around("with x in g() { ", "x", " }", n)),
    deep("operators of rising level", |n| around("a || b && c == d | e ^ f & g << h + i * (", "x", ")", n)),
    deep("nested functions", |n| around("fn f() -> () { ", "x", " }", n)),
    deep("modules", |n| format!("{}{}", "mod m { ".repeat(n), "}".repeat(n))),
    deep("attributes", |n| format!("#[a{}{}] fn f() {{}}", "(a".repeat(n), ")".repeat(n))),
    deep("tuple types", |n| format!("type T = {}i32{};", "(".repeat(n), ")".repeat(n))),
    deep("pointer types", |n| format!("type T = {}i32;", "&".repeat(n))),
    deep("array types", |n| format!("type T = {}i32{};", "[".repeat(n), "]".repeat(n))),
    deep("function types", |n| format!("type T = {}i32{};", "fn(".repeat(n), ")".repeat(n))),
    deep("result types", |n| format!("type T = {}i32;", "fn() -> ".repeat(n))),
    deep("typeof and casts", |n| format!("type T = {}x{};", "typeof(x as ".repeat(n), ")".repeat(n))),
    deep("tuple patterns", |n| around("let ", &format!("{}x{}", "(".repeat(n), ")".repeat(n)), " = y;", 1)),
    deep("as patterns", |n| around("let ", &"x as ".repeat(n), "x = y;", 1)),
    deep("typed patterns", |n| {
        around("let ", &format!("{}x{}", "(".repeat(n), ": T)".repeat(n)), " = y;", 1)
    }),
    deep("record patterns", |n| {
        around("let ", &format!("{}x{}", "S { x = ".repeat(n), "}".repeat(n)), " = y;", 1)
    }),
    deep("only openers", |n| "({[".repeat(n)),
    deep("only closers", |n| ")}]".repeat(n)),
    deep("only at signs", |n| "@ ".repeat(n)),
    deep("only bars", |n| around("|", "", "", n)),
    deep("only lets", |n| around("let ", "", "", n)),
    deep("only fors", |n| around("for ", "", "", n)),
    deep("only fns", |n| "fn ".repeat(n)),
    deep("only quotes", |n| "'".repeat(n)),
    deep("only control characters", |n| "\u{202e}\0".repeat(n)),
    deep("unknown characters", |n| "` ".repeat(n)),
    deep("chained assignments", |n| around("x = ", "y", "", n)),
    deep("long identifier", |n| around("x", "", "", n)),
    deep("long integer", |n| around("9", "", "", n)),
    deep("long float", |n| around("9", ".5", "", n)),
    deep("long binary", |n| format!("static x = 0b{};", "1".repeat(n))),
    deep("unterminated comment", |n| format!("fn f() {{ /* {}", "/*".repeat(n))),
    flat("long string", |n| format!("static x = \"{}\";", "x".repeat(n))),
    flat("joined strings", |n| format!("static x = {};", "\"x\" ".repeat(n))),
    flat("sum", |n| around("x + ", "x", "", n)),
    flat("sum of products", |n| around("x * x + ", "x", "", n)),
    flat("comparisons", |n| around("x < ", "x", "", n)),
    flat("else if", |n| around("if x { y } else ", "{}", "", n.min(MAX_ELSE_IFS))),
    flat("statements", |n| around("f(x);", "", "", n)),
    flat("stray semicolons", |n| around(";", "", "", n)),
    flat("array elements", |n| format!("static x = [{}];", "1, ".repeat(n))),
    flat("arguments", |n| format!("static x = f({});", "1, ".repeat(n))),
    flat("parameters", |n| format!("fn f({}) -> () {{}}", "x: i32, ".repeat(n))),
    flat("arms", |n| format!("fn f() -> () {{ match x {{ {} }} }}", "1 => {} ".repeat(n))),
    flat("struct fields", |n| format!("struct S {{ {} }}", "x: i32, ".repeat(n))),
    flat("enum options", |n| format!("enum E {{ {} }}", "A(i32), ".repeat(n))),
    flat("path segments", |n| format!("static x = {}y;", "x::".repeat(n))),
    flat("items", |n| "fn f() -> () {}\n".repeat(n)),
    flat("comments", |n| "// x\n/* y */".repeat(n)),
];

/// The time limit for each text.
const LIMIT: Duration = Duration::from_secs(5);

/// The stack that a test thread has by default.
const STACK: usize = 2 << 20;

/// Runs `work` and measures the processor time of this thread, since other tests share
/// the machine. Falls back to wall-clock time.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let on_cpu = || -> Option<Duration> {
        let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        stat.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    };
    let (start, clock) = (on_cpu(), Instant::now());
    let result = work();
    let time = on_cpu().zip(start).map_or_else(|| clock.elapsed(), |(end, start)| end - start);
    (result, time)
}

fn check(shape: &Shape, n: usize) {
    let mut map = SourceMap::default();
    let id = map.add(shape.name, (shape.text)(n)).expect("test texts are far below the limit");
    let (parse, time) = timed(|| nyala_syntax::parse(map.file(id)));
    assert!(time < LIMIT, "parsing {} of size {n} took {time:?}", shape.name);
    if parse.errors.is_empty() {
        let (_, time) = timed(|| nyala_syntax::format(&parse.file, map.file(id)));
        assert!(time < LIMIT, "formatting {} of size {n} took {time:?}", shape.name);
    }
    if shape.is_flat {
        assert_eq!(parse.errors, [], "{} of size {n}", shape.name);
    }
}

fn check_all(n: usize) {
    let run = move || SHAPES.iter().for_each(|shape| check(shape, n));
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(run)
        .expect("a thread starts")
        .join()
        .expect("no shape panics");
}

#[test]
fn too_many_else_ifs_are_reported_once() {
    let mut map = SourceMap::default();
    let text = around("if x { y } else ", "{}", "", MAX_ELSE_IFS + 10);
    let id = map.add("else if", text).expect("test texts are far below the limit");
    let codes: Vec<&str> =
        nyala_syntax::parse(map.file(id)).errors.iter().map(|error| error.code.0).collect();
    assert_eq!(codes, ["E0132"]);
}

#[test]
fn shapes_of_a_hundred() {
    check_all(100);
}

#[test]
fn shapes_of_a_thousand() {
    check_all(1_000);
}

#[test]
fn shapes_of_ten_thousand() {
    check_all(10_000);
}

#[test]
fn shapes_of_a_hundred_thousand() {
    check_all(100_000);
}

#[test]
fn shapes_of_a_million() {
    check_all(1_000_000);
}

/// Too deep nesting is reported once.
#[test]
fn deep_shapes_are_reported_once() {
    for shape in SHAPES.iter().filter(|shape| !shape.is_flat) {
        let mut map = SourceMap::default();
        let id = map.add(shape.name, (shape.text)(10_000)).expect("test texts are small");
        let parse = nyala_syntax::parse(map.file(id));
        let depth_errors = parse.errors.iter().filter(|error| error.code.0 == "E0108").count();
        assert!(depth_errors <= 1, "{}", shape.name);
        if depth_errors == 1 {
            assert!(parse.errors.len() <= 2, "{}: {:#?}", shape.name, parse.errors);
        }
    }
}
