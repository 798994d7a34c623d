//! Programs with many small parts: a hundred thousand functions, statements, fields or
//! arms give a result or one error, in linear time.

use std::fmt::Display;

use libtest_mimic::Failed;

use crate::child::{self, Stage};

/// The number of small parts.
const SIZES: [usize; 3] = [100, 10_000, 100_000];

/// A program of any size.
pub struct Program {
    pub name: &'static str,
    /// The first expected error; none for valid programs.
    error: Option<&'static str>,
    pub text: fn(usize) -> String,
}

/// A valid program.
const fn good(name: &'static str, text: fn(usize) -> String) -> Program {
    Program { name, error: None, text }
}

/// A program with this error.
const fn bad(name: &'static str, error: &'static str, text: fn(usize) -> String) -> Program {
    Program { name, error: Some(error), text }
}

/// Checks a program at all sizes, and lowers it if it is valid.
pub fn try_sizes(program: &Program) -> Result<(), Failed> {
    for size in SIZES {
        let stage = if program.error.is_some() { Stage::Check } else { Stage::Emit };
        let found = child::start(program.name, size, stage)?;
        if found.as_deref() != program.error {
            return Err(format!("size {size}: expected {:?}, found {found:?}", program.error).into());
        }
    }
    Ok(())
}

/// The concatenation of `part(0)` to `part(n - 1)`.
fn each<T: Display>(n: usize, part: impl Fn(usize) -> T) -> String {
    (0..n).map(|i| part(i).to_string()).collect()
}

/// A function with this body.
fn body(text: impl Display) -> String {
    format!("extern fn f(x: i32) -> i32 {{ {text} }}\n")
}

pub const PROGRAMS: &[Program] = &[
    // Statements and expressions.
    good("long_else_if", |n| body(each(n, |i| format!("if x == {i} {{ {i} }} else ")) + "{ x }")),
    good("long_else_if_untyped", |n| {
        let arms = each(n, |i| format!("if x == {i} {{ {i} }} else "));
        body(format!("let y = {arms}{{ 3 }}; y"))
    }),
    good("many_ifs", |n| {
        let ifs = each(n, |i| format!("if x == {i} {{ y = {i}; }} "));
        body(format!("let mut y = x; {ifs} y"))
    }),
    good("many_returns", |n| body(each(n, |i| format!("if x == {i} {{ return({i}) }} ")) + "x")),
    good("many_whiles", |n| {
        let whiles = each(n, |i| format!("while y < {i} {{ y++ }} "));
        body(format!("let mut y = x; {whiles} y"))
    }),
    good("long_match", |n| {
        let arms = each(n, |i| format!("{i} => {i}, "));
        body(format!("match x {{ {arms} _ => 0 }}"))
    }),
    good("long_match_on_tuples", |n| {
        let arms = each(n, |i| format!("({i}, _) => 1, (_, {i}) => 2, "));
        body(format!("match (x, x + 1) {{ {arms} _ => 0 }}"))
    }),
    bad("long_match_with_a_gap", "E0502", |n| {
        let arms = each(n, |i| format!("{i} => {i}, "));
        body(format!("match x {{ {arms} }}"))
    }),
    good("long_match_on_an_enum", |n| {
        let (options, arms) =
            (each(n, |i| format!("A{i}(i32), ")), each(n, |i| format!("E::A{i}(k) => k, ")));
        format!("enum E {{ {options} }} fn g(e: E) -> i32 {{ match e {{ {arms} }} }}") + &body("g(E::A0(x))")
    }),
    good("chain_of_lets", |n| {
        body(format!("let a0 = x; {} a{n}", each(n, |i| format!("let a{} = a{i} + 1; ", i + 1))))
    }),
    good("chain_of_untyped_lets", |n| {
        body(format!("let a0 = 1; {} a{n}", each(n, |i| format!("let a{} = a{i}; ", i + 1))))
    }),
    good("chain_of_lambdas", |n| {
        let lambdas = each(n, |i| format!("let g{} = |y| g{i}(y); ", i + 1));
        body(format!("let g0 = |y| y; {lambdas} g{n}(x)"))
    }),
    good("many_lambdas", |n| body(each(n, |i| format!("let g{i} = |a, b| a + b + x; g{i}(1, 2); ")) + "x")),
    good("many_assignments", |n| body(format!("let mut y = x; {} y", "y += 1; y = y * 3; ".repeat(n)))),
    good("many_pointers", |n| {
        let pointers = each(n, |i| format!("let p{i} = &mut y; *p{i} += 1; "));
        body(format!("let mut y = x; {pointers} y"))
    }),
    good("many_nested_functions", |n| {
        body(each(n, |i| format!("fn g{i}(y: i32) -> i32 {{ y + x }} ")) + "g0(x)")
    }),
    good("nested_functions_without_results", |n| {
        let functions = each(n, |i| format!("fn g{i}(y: i32) {{ g{}(y) }} ", i + 1));
        body(format!("{functions} fn g{n}(y: i32) {{ y }} g0(x)"))
    }),
    good("long_sum_of_calls", |n| body(format!("x {}", "+ f(x) ".repeat(n)))),
    good("long_sum_of_products", |n| body(format!("x {}", each(n, |i| format!("+ x * {i} "))))),
    good("long_conjunction", |n| {
        body(format!("if x == 0 {} {{ 1 }} else {{ 2 }}", "&& (x < 1 || x > 2) ".repeat(n)))
    }),
    good("many_strings", |n| body(each(n, |i| format!("let s{i} = \"text {i}\"; ")) + "x")),
    good("many_instances", |n| {
        let calls = each(n, |i| format!("id(({}x)); ", "x, ".repeat(i % 50)));
        format!("fn id[T](x: T) -> T {{ x }} {}", body(calls + "x"))
    }),
    // Wide programs.
    good("large_array", |n| format!("static a = [{}]; {}", each(n, |i| format!("{i}, ")), body("a(x)"))),
    good("large_local_array", |n| body(format!("let a = [{}]; a(0)", "x, ".repeat(n)))),
    good("large_array_of_arrays", |n| format!("static a = [{}]; {}", "[1, 2], ".repeat(n), body("a(x)(0)"))),
    good("large_tuple", |n| {
        let names = each(n, |i| format!("x{i}, "));
        body(format!("let ({names}) = ({}); x0", "1, ".repeat(n)))
    }),
    good("many_parameters", |n| {
        let params = each(n, |i| format!("x{i}: i32, "));
        format!("fn g({params}) -> i32 {{ x0 }} {}", body(format!("g({})", "1, ".repeat(n))))
    }),
    good("many_type_parameters", |n| {
        let (names, params) = (each(n, |i| format!("T{i}, ")), each(n, |i| format!("x{i}: T{i}, ")));
        let call = body(format!("g({})", "1, ".repeat(n)));
        format!("fn g[{names}]({params}) -> i32 {{ 0 }} {call}")
    }),
    good("many_fields", |n| {
        let (fields, inits) = (each(n, |i| format!("x{i}: i32, ")), each(n, |i| format!("x{i}: {i}, ")));
        format!("struct S {{ {fields} }} fn g() -> S {{ S {{ {inits} }} }} {}", body("g().x0"))
    }),
    good("many_defaults", |n| {
        let fields = each(n, |i| format!("x{i}: i32 = {i}, "));
        format!("struct S {{ {fields} }} fn g() -> S {{ S {{ x0: 1 }} }} {}", body("g().x0"))
    }),
    // Items.
    good("many_functions", |n| each(n, |i| format!("extern fn f{i}(x: i32) -> i32 {{ x + {i} }}\n"))),
    good("chain_of_functions", |n| {
        let functions = each(n, |i| format!("fn g{i}(x: i32) -> i32 {{ g{}(x) }}\n", i + 1));
        format!("{functions} fn g{n}(x: i32) -> i32 {{ x }} {}", body("g0(x)"))
    }),
    good("chain_of_functions_without_results", |n| {
        let functions = each(n, |i| format!("fn g{i}() {{ g{}() }}\n", i + 1));
        format!("{functions} fn g{n}() {{ 1 }} {}", body("g0()"))
    }),
    bad("cycle_of_functions_without_results", "E0412", |n| {
        each(n, |i| format!("fn g{i}() {{ g{}() }}\n", (i + 1) % n))
    }),
    good("chain_of_statics", |n| {
        let statics = each(n, |i| format!("static s{} = s{i} + 1;\n", i + 1));
        format!("static s0 = 1; {statics} {}", body(format!("s{n}")))
    }),
    good("chain_of_statics_from_its_end", |n| {
        let statics = each(n, |i| format!("static s{i} = s{} + 1;\n", i + 1));
        format!("{statics} static s{n} = 1; {}", body("s0"))
    }),
    bad("cycle_of_statics", "E0413", |n| each(n, |i| format!("static s{i} = s{} + 1;\n", (i + 1) % n))),
    good("many_structs", |n| each(n, |i| format!("struct S{i} {{ x: i32 }}\n"))),
    good("many_enums", |n| each(n, |i| format!("enum E{i} {{ A, B(i32) }}\n"))),
    bad("cycle_of_structs", "E0401", |n| each(n, |i| format!("struct S{i} {{ x: S{} }}\n", (i + 1) % n))),
    good("cycle_of_structs_through_pointers", |n| {
        each(n, |i| format!("struct S{i} {{ x: &S{} }}\n", (i + 1) % n)) + "extern fn f(x: S0) -> i32 { 0 }"
    }),
    bad("structs_that_double", "E0422", |n| {
        let structs = each(n, |i| format!("struct S{} {{ x: S{i}, y: S{i} }}\n", i + 1));
        format!("struct S0 {{ x: i32 }} {structs} fn f(x: S{n}) -> i32 {{ 0 }}")
    }),
    good("chain_of_aliases", |n| {
        let aliases = each(n, |i| format!("type A{} = A{i};\n", i + 1));
        format!("type A0 = i32; {aliases} extern fn f(x: A{n}) -> i32 {{ x }}")
    }),
    bad("cycle_of_aliases", "E0402", |n| each(n, |i| format!("type A{i} = A{};\n", (i + 1) % n))),
    bad("aliases_that_double", "E0422", |n| {
        let aliases = each(n, |i| format!("type A{} = (A{i}, A{i});\n", i + 1));
        format!("type A0 = i32; {aliases} fn f(x: A{n}) -> i32 {{ 0 }}")
    }),
    bad("generic_aliases_that_double", "E0422", |n| {
        let aliases = each(n, |i| format!("type A{}[T] = A{i}[A{i}[T]];\n", i + 1));
        format!("type A0[T] = (T, T); {aliases} fn f(x: A{n}[i32]) -> i32 {{ 0 }}")
    }),
    bad("tuples_that_double", "E0422", |n| {
        let lets = each(n, |i| format!("let a{} = (a{i}, a{i}); ", i + 1));
        body(format!("let a0 = (x, x); {lets} x"))
    }),
    good("many_modules", |n| {
        let modules = each(n, |i| format!("mod m{i} {{ fn g() -> i32 {{ {i} }} }}\n"));
        modules + &body(each(n, |i| format!("m{i}::g() + ")) + "x")
    }),
    good("chain_of_uses", |n| {
        let uses = each(n, |i| format!("use a{i} as a{};\n", i + 1));
        format!("fn a0() -> i32 {{ 1 }} {uses} {}", body(format!("a{n}()")))
    }),
    bad("cycle_of_uses", "E0309", |n| each(n, |i| format!("use a{} as a{i};\n", (i + 1) % n))),
    good("many_implicits", |n| {
        each(n, |i| format!("struct S{i} {{ x: i32 }} implicit = S{i} {{ x: 1 }};\n"))
    }),
    bad("same_name", "E0302", |n| "fn g() -> i32 { 1 }\n".repeat(n)),
    bad("many_mistakes", "E0301", |n| body(each(n, |i| format!("y{i} + 1; ")) + "x")),
];
