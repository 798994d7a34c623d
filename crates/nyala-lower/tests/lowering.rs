//! Source text in, graph out.

use expect_test::{Expect, expect};
use nyala_lower::{LowerOptions, lower};
use nyala_sema::{CheckFile, check};
use nyala_span::{Diagnostic, SourceMap};

fn lowered(text: &str) -> Result<nyala_ir::World, Vec<Diagnostic>> {
    let mut sources = SourceMap::default();
    let file = sources.add("test", text).expect("tests are small");
    let parse = nyala_syntax::parse(sources.file(file));
    assert_eq!(parse.errors, [], "the test's text has errors");
    let checked = check(&[CheckFile { ast: &parse.file, is_prelude: false }]);
    let errors: Vec<_> = checked.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    assert_eq!(errors, [], "the test's program has errors");
    lower(&checked.program, &LowerOptions::default())
}

/// The graph of `text`, as text.
fn check_graph(text: &str, expected: Expect) {
    let world = lowered(text).expect("lowering reports nothing");
    nyala_ir::verify::verify(&world).unwrap_or_else(|errors| panic!("{errors}"));
    expected.assert_eq(&nyala_ir::text::print(&world));
}

/// What lowering `text` reports.
fn check_error(text: &str, code: &str) {
    let errors = lowered(text).err().expect("lowering reports an error");
    assert_eq!(errors.iter().map(|error| error.code.0).collect::<Vec<_>>(), [code]);
}

#[test]
fn a_tail_call_hands_on_its_return_continuation() {
    check_graph(
        "extern fn main() -> i32 { range(0, 9, |i| {}); 0 }
         fn range(a: i32, b: i32, body: fn(i32) -> ()) -> () {
             if a < b { body(a); range(a + 1, b, body) }
         }",
        expect![[""]],
    );
}

#[test]
fn a_call_before_the_closing_brace_is_in_tail_position() {
    check_graph("extern fn f(n: i32) -> () { if n > 0 { f(n - 1); } else { f(n + 1); } }", expect![[""]]);
}

#[test]
fn mutable_variables_become_parameters_of_loops_and_joins() {
    check_graph(
        "extern fn sum(n: i32) -> i32 {
             let mut i = 0;
             let mut sum = 0;
             while i < n {
                 if i % 2 == 0 { sum += i } 
                 ++i
             }
             sum
         }",
        expect![[""]],
    );
}

#[test]
fn break_and_continue_called_by_name_are_jumps() {
    check_graph(
        "extern fn find(n: i32) -> i32 {
             let mut i = 0;
             while true {
                 ++i;
                 if i < n { continue() }
                 break()
             }
             i
         }",
        expect![[""]],
    );
}

#[test]
fn break_as_a_value_makes_variables_slots() {
    check_graph(
        "extern fn find(n: i32) -> i32 {
             let mut i = n;
             while true {
                 let out = break;
                 ++i;
                 if i > 10 { out() }
             }
             i
         }",
        expect![[""]],
    );
}

#[test]
fn aggregates_are_values_and_captured_variables_are_slots() {
    check_graph(
        "struct P { x: i32, y: [i32 * 2] }
         fn call(f: fn() -> ()) -> () { f() }
         extern fn f(n: i32) -> i32 {
             let mut p = P { x: n, y: [1, 2] };
             p.y(1) += n;
             let mut count = 0;
             call(|| { count += 1; });
             p.x + p.y(1) + count
         }",
        expect![[""]],
    );
}

#[test]
fn filters_are_nodes_over_the_parameters() {
    check_graph(
        "fn @(?n && n < 8) power(x: i32, n: i32) -> i32 {
             if n == 0 { 1 } else { x * power(x, n - 1) }
         }
         fn scale(@factor: i32, @?flag: bool, x: i32) -> i32 { if flag { factor * x } else { x } }
         extern fn f(x: i32) -> i32 { @@power(x, 3) + scale(2, true, $x) }",
        expect![[""]],
    );
}

#[test]
fn a_match_is_decided_by_switches() {
    check_graph(
        "enum Shape { Point, Circle(i32), Box(i32, i32) }
         extern fn area(shape: Shape, unit: bool) -> i32 {
             match (shape, unit) {
                 (Shape::Point, _) => 0,
                 (Shape::Circle(r), false) => 3 * r * r,
                 (Shape::Box(w, h), true) => w * h,
                 (_, _) => -1
             }
         }",
        expect![[""]],
    );
}

#[test]
fn a_loop_over_a_generator_knows_break_continue_and_return() {
    check_graph(
        "fn range(a: i32, b: i32, body: fn(i32) -> ()) -> () {
             if a < b { body(a); range(a + 1, b, body) }
         }
         extern fn f(n: i32) -> i32 {
             for i in range(0, n) {
                 if i == 3 { continue() }
                 if i == 5 { break() }
                 if i == 7 { return(i) }
             }
             0
         }",
        expect![[""]],
    );
}

#[test]
fn strings_are_constants_and_statics_fold() {
    check_graph(
        r#"extern "C" { fn puts(&[u8]) -> i32; }
         static table = [1, 2, 3];
         static mut counter = 0;
         extern fn f(i: i32) -> i32 { counter += table(1); puts("hi"); table(i) + counter }"#,
        expect![[""]],
    );
}

#[test]
fn generic_functions_have_one_instance_for_each_type() {
    check_graph(
        "fn id[T](x: T) -> T { x }
         extern fn f(x: i32) -> i32 {
             let p = id[(i32, i32)]((x, 1));
             id[i32](p(0)) + id[i32](2)
         }",
        expect![[""]],
    );
}

#[test]
fn lazy_operators_branch_unless_the_right_side_is_trivial() {
    check_graph("extern fn f(a: i32, b: i32) -> bool { a < b && b < 9 || a / b == 1 }", expect![[""]]);
}

#[test]
fn intrinsics_that_compute_are_nodes() {
    check_graph(
        r#"extern "thorin" { fn bitcast[D, S](S) -> D; fn select[T, U](T, U, U) -> U; fn sizeof[T]() -> i64; }
         extern "device" { fn "llvm.sqrt.f32" sqrtf(f32) -> f32; }
         extern fn f(x: f32) -> i32 { select(x < 0f, bitcast[i32, f32](sqrtf(x)), sizeof[(i8, i32)]() as i32) }"#,
        expect![[""]],
    );
}

#[test]
fn functions_in_initialisers_are_expanded() {
    check_graph(
        "fn fac(n: i32) -> i32 { if n == 0 { return(1) } n * fac(n - 1) }
         static f5 = fac(5);
         extern fn f() -> i32 { f5 }",
        expect![[""]],
    );
}

#[test]
fn endless_instances_are_reported() {
    check_error(
        "fn grow[T](n: i32, x: T) -> i32 { if n == 0 { 0 } else { grow[&T](n - 1, &x) } }
         fn main() -> i32 { grow[i32](3, 1) }",
        "E0481",
    );
    check_error(
        "fn spread[T](n: i32, x: T) -> i32 {
             if n == 0 { 0 } else { spread[(T, i8)](n - 1, (x, 1i8)) + spread[(i8, T)](n - 1, (1i8, x)) }
         }
         fn main() -> i32 { spread[i32](3, 1) }",
        "E0480",
    );
    check_error(
        "fn double[T](n: i32, x: T) -> i32 { if n == 0 { 0 } else { double[(T, T)](n - 1, (x, x)) } }
         fn main() -> i32 { double[i32](3, 1) }",
        "E0481",
    );
}

#[test]
fn intrinsics_are_known_by_name_and_type() {
    check_error(r#"extern "thorin" { fn nothing(i32) -> (); } fn main() -> () { nothing(1) }"#, "E0901");
    check_error(r#"extern "thorin" { fn sync(i32, i32) -> (); } fn main() -> () { sync(1, 2) }"#, "E0902");
}

#[test]
fn filters_do_not_call() {
    check_error(
        "fn small(n: i32) -> bool { n < 8 }
         fn @(small(n)) f(n: i32) -> i32 { n }
         fn main() -> i32 { f(0) }",
        "E0750",
    );
}
