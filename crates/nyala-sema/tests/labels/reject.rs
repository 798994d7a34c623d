//! Programs that are wrong, with what is reported.

use crate::check_labels;

#[test]
fn type_mismatches_are_reported_at_the_expression() {
    check_labels(
        "
fn f(x: i32) -> i32 { x }
fn g() -> i32 { f(1.5f) }
//                ^^^^ error: expected `i32`, found `f32`
fn h() -> i32 { let a: f32 = 1u8; true }
//                           ^^^ error: expected `f32`, found `u8`
//                                ^^^^ error: expected `i32`, found `bool`
fn k(c: bool) -> () { let x = if c { 1u8 } else { 2f }; }
//                                                ^^ error: expected `u8`, found `f32`
fn l() -> [i32 * 2] { [1, 2.5] }
//                        ^^^ error: expected `i32`, found `f64`
fn m(x: i32) -> i32 { if x { 1 } else { 2 } }
//                       ^ error: expected `bool`, found `i32`
fn n(c: bool) -> () { if c { 1 } }
//                           ^ error: expected `()`, found `i32`
fn o(p: &i32) -> () { let q: &mut i32 = p; }
//                                      ^ error: expected `&mut i32`, found `&i32`
fn p(p: &[1]i32) -> () { let q: &i32 = p; }
//                                     ^ error: expected `&i32`, found `&[1]i32`
",
    );
}

#[test]
fn numbers_cannot_be_called_and_have_no_fields() {
    check_labels(
        "
fn f() -> i32 { let x = 3; x(0) }
//                         ^ error: `i32` can be neither called nor indexed
fn g() -> i32 { let x = 2.5; x.value }
//                           ^ error: `f64` has no fields
",
    );
}

#[test]
fn a_lambda_without_body_returns_unit() {
    check_labels(
        "
struct S { run: fn(i32) -> i32 }
fn f() -> S { S { run: |y| } }
//                     ^^^ error: expected `i32`, found `()`
",
    );
}

#[test]
fn the_result_of_a_jump_cannot_be_called() {
    check_labels(
        "
fn f() -> i32 { return(1)(2) }
//              ^^^^^^^^^^^^ error: this code is never reached
",
    );
}

#[test]
fn nested_functions_cannot_be_exported() {
    check_labels(
        "
fn f() -> () {
    extern fn g() -> () {}
//            ^ error: nested function `g` cannot be exported
    g()
}
",
    );
}

#[test]
fn one_mistake_is_reported_once() {
    check_labels(
        "
fn f() -> i32 { let x = unknown(1); x.y + x(2) + x }
//                      ^^^^^^^ error: undefined value `unknown`
fn g(s: Missing) -> i32 { s.field + 1 }
//      ^^^^^^^ error: undefined type `Missing`
fn h() -> i32 {
    for i in nothing(1) { if i == 2 { break() } let t: i32 = i; }
//           ^^^^^^^ error: undefined value `nothing`
    0
}
",
    );
}

#[test]
fn undefined_and_duplicate_names_are_rejected() {
    check_labels(
        "
fn length(x: i32) -> i32 { x }
fn f() -> i32 { lenght(1) }
//              ^^^^^^ error: undefined value `lenght`
fn length() -> () {}
// ^^^^^^ error: `length` is defined twice
struct S { x: i32, x: f32 }
//                 ^ error: `x` is defined twice
enum E { A, A }
//          ^ error: `A` is defined twice
fn g(a: i32, a: f32) -> () {}
//           ^ error: `a` is defined twice
fn h() -> () { let x = 1; let x = 2; }
//                            ^ error: `x` is defined twice
fn i() -> i32 { _ }
//              ^ error: `_` is anonymous
fn j() -> () { break() }
//             ^^^^^ error: `break` outside of a loop
fn k() -> i32 { S }
//              ^ error: struct `S` is not a value
fn l(x: length) -> () {}
//      ^^^^^^ error: function `length` is not a type
fn m() -> E { E::C }
//               ^ error: enum `E` has no `C`
fn n() -> i32 { length::x }
//              ^^^^^^ error: `length` is neither a module nor an enum
fn o() -> i32 { super::x() }
//              ^^^^^ error: this module has no parent module
mod inner { fn p() -> i32 { length(1) } }
//                          ^^^^^^ error: undefined value `length`
use nothing::at::all;
//  ^^^^^^^ error: undefined module or enum `nothing`
",
    );
}

#[test]
fn invalid_items_are_rejected() {
    check_labels(
        "
struct S { x: i32, s: (i32, [S * 2]) }
//     ^ error: `S` contains itself
struct A { b: B }
enum B { X(A), Y }
//   ^ error: `B` contains itself
struct P[T] { x: T }
struct R { p: P[R] }
//     ^ error: `R` contains itself
struct Fine { p: &Fine, q: fn(Fine) -> () }
type T = (U, i32);
type U = &T;
//   ^ error: type alias `U` refers to itself
struct Un { x: [i32] }
//             ^^^^^ error: `[i32]` has no size
fn f(x: [i32]) -> () {}
//      ^^^^^ error: `[i32]` has no size
fn g(x: simd[() * 4]) -> () {}
//           ^^ error: `()` cannot be the element type of a vector
fn h(x: P) -> () {}
//      ^ error: `P` takes 1 type argument, found 0
fn i(x: [i32 * 9999999999]) -> () {}
//             ^^^^^^^^^^ error: this array is too long
extern \"pascal\" { fn j() -> (); }
//     ^^^^^^^^ error: unknown calling convention
extern fn k(f: fn(i32) -> ()) -> () {}
//        ^ error: exported function `k` has a function in its type
extern fn l[T](x: T) -> () {}
//        ^ error: exported function `l` has type parameters
fn a1() { a2() }
//        ^^ error: cannot infer the result of the recursive function `a2`
fn a2() { a1() }
static s1: i32 = s2;
static s2: i32 = s1;
//               ^^ error: static `s2` depends on itself
static s3;
//     ^^ error: static `s3` has neither type nor value
",
    );
}

#[test]
fn large_types_are_rejected() {
    let aliases = |n: usize| {
        let one = |i: usize| format!("type A{} = (A{i}, A{i});\n", i + 1);
        format!("type A0 = i32;\n{}", (0..n).map(one).collect::<String>())
    };
    check_labels(&aliases(18));
    check_labels(
        &(aliases(18) + "type B = (A18, A18);\n//       ^^^^^^^^^^ error: this type is too large\n"),
    );
}

#[test]
fn invalid_calls_are_rejected() {
    check_labels(
        "
fn f(x: i32) -> i32 { x }
fn a() -> i32 { f() }
//              ^^^ error: expected 1 argument, or 2 with the continuation, found 0
fn a2() -> i32 { f(1, 2) }
//               ^^^^^^^ error: expected 1 argument, or 2 with the continuation, found 2
fn b(x: i32) -> i32 { x(1) }
//                    ^ error: `i32` can be neither called nor indexed
fn c(x: &[i32]) -> i32 { x(1.5) }
//                         ^^^ error: an index must be an integer, found `f64`
fn d(t: (i32, f32), i: i32) -> i32 { t(i) + t(2) }
//                                     ^ error: invalid index into `(i32, f32)`
//                                            ^ error: invalid index into `(i32, f32)`
fn e(g: i32) -> () { for i in f(1) {} }
//                            ^ error: `fn(i32) -> i32` is not a generator
fn g(r: fn(i32, fn(i32) -> ()) -> ()) -> () { for a, b in r(1) {} }
//                                                ^^^^ error: expected 1 parameter, found 2
fn h(r: fn(fn(i32) -> ()) -> ()) -> () { r(|a, b, c| ()) }
//                                         ^^^^^^^^^^^^ error: expected 1 parameter, found 3
",
    );
}

#[test]
fn invalid_fields_are_rejected() {
    check_labels(
        "
struct S { x: i32, y: i32 }
fn a() -> S { S { x: 1 } }
//            ^ error: missing field `y` of `S`
fn b() -> S { S { x: 1, y: 2, z: 3 } }
//                            ^ error: `S` has no field `z`
fn c() -> S { S { x: 1, x: 2, y: 3 } }
//                      ^ error: field `x` is given twice
fn d(s: S) -> i32 { s.z }
//                    ^ error: `S` has no field `z`
fn e(x: i32) -> i32 { x.y }
//                    ^ error: `i32` has no fields
",
    );
}

#[test]
fn invalid_operands_are_rejected() {
    check_labels(
        "
struct S { x: i32 }
fn a(x: i32, y: i64) -> i32 { x + y }
//                              ^ error: `+` needs operands of one type, found `i32` and `i64`
fn b(x: S) -> bool { x == x }
//                     ^^ error: `==` is not defined for `S`
fn c(x: f32) -> f32 { x & x }
//                      ^ error: `&` is not defined for `f32`
fn d(x: i32, y: u8) -> i32 { x << y }
//                             ^^ error: `<<` needs operands of one type
fn e(x: S) -> i32 { x as i32 }
//                  ^^^^^^^^ error: `S` cannot be cast to `i32`
fn f(x: i32) -> i32 { *x }
//                     ^ error: `i32` is not a pointer
fn g(x: bool) -> bool { -x }
//                      ^ error: `-` is not defined for `bool`
fn h[T](x: &[T]) -> &[T] { x + x }
//                           ^ error: `+` is not defined for `&[T]`
fn i() -> u8 { 256 }
//             ^^^ error: literal `256` is out of range for `u8`
fn j() -> i32 { 2147483648 }
//              ^^^^^^^^^^ error: literal `2147483648` is out of range for `i32`
",
    );
}

#[test]
fn writes_to_immutable_places_are_rejected() {
    check_labels(
        "
static s = 1;
struct P { x: i32 }
fn f(a: i32, p: &P, q: &[i32]) -> () {
    a = 1;
//  ^ error: cannot assign to `a`, which is not `mut`
    s += 1;
//  ^ error: cannot assign to the static `s`, which is not `mut`
    p.x = 2;
//  ^^^ error: cannot assign to memory behind `&P`
    q(1)++;
//  ^^^^ error: cannot change memory behind `&[i32]`
    let t = (1, 2);
    let r = &mut t;
//               ^ error: cannot take `&mut` of `t`, which is not `mut`
    let u = &mut (a + 1);
//               ^^^^^^^ error: cannot take `&mut` of a value
}
"
        .replace("&mut (a + 1);\n//               ^^^^^^^", "&mut (a + 1);\n//                ^^^^^")
        .as_str(),
    );
}

#[test]
fn invalid_patterns_are_rejected() {
    check_labels(
        "
enum E { A(i32, f32), B }
struct S { x: i32, y: i32 }
fn f(e: E, s: S, x: f32, t: (i32, i32)) -> i32 {
    match e { E::A(a) => a, E::B => 0 };
//            ^^^^^^^ error: `A` has 2 fields, found 1
    match x { 1.5 => 1, _ => 2 };
//            ^^^ error: a pattern cannot be a floating-point number
    let S { x = a } = s;
//      ^^^^^^^^^^^ error: pattern omits `y` of `S`
    let (b, c, d) = t;
//      ^^^^^^^^^ error: a tuple of 3 patterns cannot match `(i32, i32)`
    let (g, g) = t;
//          ^ error: `g` is bound twice
    match t { (true, _) => 1, _ => 2 }
//             ^^^^ error: expected `i32`, found `bool`
}
",
    );
}

#[test]
fn code_after_a_jump_is_rejected() {
    check_labels(
        "
fn f(c: bool) -> i32 {
    if c { return(1); }
    if c { return(2); let x = 1; }
//                    ^^^^^^^^^^ error: this code is never reached
    return(3);
    4
//  ^ error: this code is never reached
}
",
    );
}

#[test]
fn unknown_types_are_reported() {
    check_labels(
        "
extern \"thorin\" { fn undef[T]() -> T; }
fn f() -> () {
    let f = |x| ();
//           ^ error: cannot infer the type of `x`
}
fn g() -> () { undef(); }
//             ^^^^^ error: cannot infer the type argument `T`
fn h() -> () { let x; }
//                 ^ error: cannot infer the type of `x`
fn i() -> () { let f = |x| x(x); }
//                         ^ error: the type of this expression contains itself
",
    );
}

#[test]
fn invalid_filters_are_rejected() {
    check_labels(
        "
fn pure(x: i32) -> bool { true }
fn @(x) f(x: i32) -> i32 { x }
//   ^ error: expected `bool`, found `i32`
fn @(pure(x) & ?&x) g(x: i32) -> i32 { x }
//              ^^ error: this expression is not allowed in a filter
fn h() -> fn(i32) -> i32 {
    let mut m = true;
    m = false;
    @(m)|x| x
//    ^ error: a filter cannot depend on `m`
}
",
    );
}

#[test]
fn missing_and_ambiguous_implicits_are_rejected() {
    check_labels(
        "// dialect: artic
implicit = 1 : i64;
implicit = 2 : i64;
fn f() -> i64 { summon[i64] }
//              ^^^^^^^^^^^ error: several implicit values of type `i64` in scope
fn g() -> i32 { summon[i32] }
//              ^^^^^^^^^^^ error: no implicit value of type `i32` in scope
fn h(implicit x: i32, y: i32) -> i32 { x + y }
//                    ^^^^^^ error: implicit parameters come last
",
    );
}

#[test]
fn nested_items_cannot_use_enclosing_variables() {
    check_labels(
        "
fn f[T](x: T, n: i32) -> i32 {
    struct S { t: T }
//                ^ error: type parameter `T` of the enclosing function
    static s = n + 1;
//             ^ error: a static cannot use the local variable `n`
    n
}
",
    );
}
