//! Programs that are right, with the types that inference finds.

use crate::check_labels;

#[test]
fn literals_take_the_type_of_the_context() {
    check_labels(
        "
fn f(x: i64) -> i64 { 1 + x }
//                    ^ i64
fn g() -> f32 { 1.5 }
//              ^^^ f32
fn h() -> i32 { let a = 1; let b = 2.5; a }
//                  ^ i32
//                             ^ f64
fn k(x: f32) -> f32 { x * 2 }
//                        ^ f32
fn least() -> i32 { -2147483648 }
fn later(x: u64) -> u64 { let mut sum = 0; sum += x; sum }
//                                ^^^ u64
",
    );
}

#[test]
fn parameter_types_of_lambdas_are_inferred() {
    check_labels(
        "
struct Ops { get: fn(i32) -> f32, set: fn(i32, f32) -> () }
fn twice(f: fn(i64) -> i64, x: i64) -> i64 { f(f(x)) }
fn a() -> i64 { twice(|v| v + 1, 3) }
//                     ^ i64
fn b(data: &mut [f32]) -> Ops {
    Ops { get: |i| data(i), set: |i, v| data(i) = v }
//              ^ i32
//                                   ^ f32
}
fn c() -> fn(i32) -> fn(i32) -> i32 { |x| |y| x + y }
//                                         ^ i32
fn apply[A, R](f: fn(A) -> R, x: A) -> R { f(x) }
fn d() -> i64 { apply(|x| x * 2, 5: i64) }
//                     ^ i64
",
    );
}

#[test]
fn type_arguments_come_from_arguments_and_results() {
    check_labels(
        "
extern \"thorin\" {
    fn bitcast[D, S](S) -> D;
    fn undef[T]() -> T;
}
fn a(q: &[u8]) -> &[f32] { bitcast(q) }
//                         ^^^^^^^ fn(&[u8]) -> &[f32]
fn b(q: &[u8]) -> () { let p = bitcast[&[i32]](q); }
//                         ^ &[i32]
fn c(k: i32) -> f64 { match k { 0 => 1.5, _ => undef() } }
//                                             ^^^^^^^ f64
fn id[T](x: T) -> T { x }
fn d() -> i64 { id(1) }
//                 ^ i64
",
    );
}

#[test]
fn missing_result_types_are_inferred() {
    check_labels(
        "
fn late() { early(1) }
fn early(x: i32) = (x, 2.5);
static pair = late();
//            ^^^^^^ (i32, f64)
fn nested() -> i32 {
    let x = 3;
    fn add(y: i32) { x + y }
    add(4)
//  ^^^^^^ i32
}
",
    );
}

#[test]
fn types_of_variables_are_inferred_from_later_uses() {
    check_labels(
        "
fn f(c: bool) -> f32 {
    let mut r;
//          ^ f32
    if c { r = 1.5f } else { r = 2f }
    r
}
",
    );
}

#[test]
fn a_call_with_a_continuation_argument_is_a_jump() {
    check_labels(
        "
fn half_or(x: i32, odd: fn() -> !) -> i32 {
    if x % 2 != 0 { odd() }
    x / 2
}
fn main() -> i32 {
    let a = half_or(8, || -> ! { return(1) });
    half_or(a, || -> ! { return(2) }, |r| -> ! { return(r - 2) })
//                                     ^ i32
}
fn pair() -> (i32, f32) { return(1, 2f) }
fn cps(x: i32, k: fn(i32) -> !) -> ! { x + 1 }
fn unknown() = |c: bool| { if c { return(1, 2.5) } (3, 4.5) };
fn use_it() -> i32 { unknown()(true)(0) }
//                   ^^^^^^^^^ fn(bool) -> (i32, f64)
",
    );
}

#[test]
fn loops_accept_plain_and_curried_generators() {
    check_labels(
        "
fn range(a: i32, b: i32, body: fn(i32) -> ()) -> () { if a < b { body(a); range(a + 1, b, body) } }
fn curried(body: fn(i64) -> ()) -> fn(i64, i64) -> () { |a: i64, b: i64| { body(a); body(b) } }
fn steps(n: i32, body: fn(i32) -> i32) -> i32 { body(n) }
fn f() -> i32 {
    for i in range(0, 10) { if i == 3 { break() } if i == 2 { continue() } }
//      ^ i32
    for j in curried(1, 2) { let k = j; }
//      ^ i64
    for i in steps(5) { if i == 4 { break(-1) } i + 1 }
}
fn id[T](n: T, body: fn(T) -> ()) -> () { body(n) }
fn g() -> () { with x in id(2.5) { break() } }
//                  ^ f64
",
    );
}

#[test]
fn values_are_converted_to_expected_types() {
    check_labels(
        "
fn text(s: &[u8]) -> () {}
fn read(p: &i32) -> i32 { *p }
fn fill(p: &mut [i32]) -> () {}
fn f() -> i32 {
    let mut a = [1, 2, 3];
    text(\"hello\");
    fill(&mut a);
    let h = ~[4: f32];
    let s: &[f32] = h;
    let m: &mut [f32] = h;
    let g: fn(&mut i32) -> i32 = read;
    read(5) + read(a(1))
}
",
    );
}

#[test]
fn pointer_types_determine_mutability() {
    check_labels(
        "
struct S { x: i32, inner: &mut [i32] }
fn f(p: &mut S, q: &S, own: ~i32) -> () {
    p.x = 1;
    q.inner(3) = 4;
    *own = 5;
    let v: &mut [f32] = ~[4: f32];
    v(0) = 1f;
    let mut t = (1, (2, 3));
    t(1)(0) = 5;
    let mut lanes = simd[1f, 2f];
    lanes(1) = 3f;
    let e = &v(2);
//      ^ &f32
}
fn spaces(p: &[1][f32]) -> &[1]f32 { &p(3) }
",
    );
}

#[test]
fn artic_argument_lists_are_tuples() {
    check_labels(
        "// dialect: artic
fn add(a: i32, b: i32) = a + b;
fn sum((a, b): (i32, i32), mut c: i32) -> i32 { c = a + b; c }
fn f() -> i32 { let t = (1, 2); add(t) + add((3, 4)) + sum((1, 2), 3) }
fn pair() -> (i32, i32) { return((1, 2)) }
fn swap[A, B]((a, b): (A, B)) -> (B, A) { (b, a) }
fn swapped() -> i32 { let (x, y) = swap(true, 2); x }
//                         ^ i32
struct P { x: i32, y: i32 = 7 }
struct Pair(i32, f32);
fn g() -> i32 {
    let p = P { x = 1 };
    let q = p.{ y = 2 };
    let Pair(a, b) = Pair(3, 4.5);
//           ^ i32
    match q { P { x = 1, ... } => a, P { x = n, y = _ } => n }
}
",
    );
}

#[test]
fn generic_items_are_instantiated() {
    check_labels(
        "
struct Buf[T] { data: &mut [T], size: i32 }
enum Opt[T] { None, Some(T) }
type Floats = Buf[f32];
fn at(b: Floats, i: i32) -> Opt[f32] { if i < b.size { Opt::Some(b.data(i)) } else { Opt::None } }
//                                                                                   ^^^^^^^^^ Opt[f32]
fn get[T](o: Opt[T], or: T) -> T { match o { Opt::Some(x) => x, Opt::None => or } }
//                                                     ^ T
fn f(b: Floats) -> f32 { get(at(b, 3), 0) }
//                                     ^ f32
fn some() -> fn(i32) -> Opt[i32] { Opt::Some }
fn recurse[T](n: i32, x: T) -> T { if n == 0 { x } else { recurse(n - 1, x) } }
",
    );
}

#[test]
fn modules_have_their_own_names() {
    check_labels(
        "
mod m {
    mod n { fn g() -> i32 { super::f() } }
    fn f() -> i32 { super::top() }
    struct S { x: i32 }
    enum E { A, B(i32) }
    static k = 4;
}
use m::n as other;
use m::E::B;
fn top() -> i32 { 1 }
fn main() -> i32 {
    let s = m::S { x: m::k };
    use m::f as local;
    match m::E::B(local()) { B(x) => x + other::g() + s.x, m::E::A => 0 }
}
",
    );
}

#[test]
fn implicits_are_found_by_type() {
    check_labels(
        "// dialect: artic
struct Ctx { scale: i32 }
implicit = Ctx { scale = 2 };
implicit i64 = 5;
fn scaled(x: i32, implicit c: Ctx) -> i32 { x * c.scale + inner() }
fn inner(implicit c: Ctx) -> i32 { c.scale }
fn f() -> i32 { scaled(3) + scaled(4, Ctx { scale = 1 }) }
fn g() -> i64 { implicit i64 = 6; summon[i64] }
",
    );
}

#[test]
fn blocks_may_hold_any_item() {
    check_labels(
        "
fn f(n: i32) -> i32 {
    struct S { x: T }
    type T = i64;
    static table: [i32 * 2] = [1, 2];
    enum E { A, B }
    fn even(n: i32) -> bool { if n == 0 { true } else { odd(n - 1) } }
    fn odd(n: i32) -> bool { if n == 0 { false } else { even(n - 1) } }
    let s = S { x: 3 };
    let y = s.x;
//      ^ i64
    match E::A { E::A => table(0), E::B => if even(n) { 1 } else { 2 } }
}
",
    );
}

#[test]
fn filters_may_use_parameters() {
    check_labels(
        "
static limit = 10;
fn @(?n & n < limit) f(n: i32, @x: i32, @?y: i32, @(?n | ?x) z: i32) -> i32 { n + x + y + z }
fn g(k: i32) -> fn(i32) -> i32 { @(?x)|x| x + k }
fn h(b: fn(i32) -> ()) -> () { for i in f2(b) @{ b(i) } }
fn f2(a: fn(i32) -> (), b: fn(i32) -> ()) -> () { @@b(1) }
"
        .replace("?n & n < limit", "?n & (n < limit)")
        .as_str(),
    );
}

#[test]
fn operators_apply_lane_by_lane() {
    check_labels(
        "
fn f(a: simd[f32 * 4], b: simd[f32 * 4]) -> bool {
    let c = a * b + a;
//      ^ simd[f32 * 4]
    let d = a < b;
//      ^ simd[bool * 4]
    let e = a as simd[i32 * 4];
    d(0) & (e(1) == 2)
}
fn g(p: &mut i32, q: &i32) -> bool { p == q }
fn h(x: u8) -> u8 { !x | (x << 2) & 'a' }
",
    );
}

#[test]
fn return_break_and_continue_are_ordinary_names() {
    check_labels(
        "
fn f(n: i32) -> i32 {
    let out = return;
    let mut i = 0;
    while i < n {
        let outer = break;
        while true { if i == 3 { outer() } if i == 5 { out(9) } continue() }
        i++;
    }
    i
}
fn g(break: i32) -> i32 { let continue = break; continue }
",
    );
}

#[test]
fn trees_of_maximal_depth_fit_on_a_small_stack() {
    let nest = |open: &str, core: &str, close: &str, n: usize| {
        format!("{}{core}{}", open.repeat(n), close.repeat(n))
    };
    let blocks = nest("{ ", "x", " }", 240);
    let ifs = nest("if c { ", "x", " } else { 2 }", 120);
    let calls = nest("g(", "x", ")", 120);
    let lambdas = nest("|y: i32| ", "x", "", 120);
    let refs = nest("&", "x", "", 240);
    let loops = nest("for i in r(1) { ", "", " }", 80);
    let matches = nest("match x { 1 => ", "x", ", _ => 2 }", 120);
    check_labels(&format!(
        "fn g(x: i32) -> i32 {{ x }}
fn r(n: i32, b: fn(i32) -> ()) -> () {{ b(n) }}
fn f(x: i32, c: bool) -> i32 {{
    let a = {blocks}; let b = {ifs}; let d = {calls}; let e = {lambdas};
    let h = {refs}; {loops} {matches}
}}
"
    ));
}

#[test]
fn long_chains_of_items_do_not_recurse() {
    let n = 5_000;
    let mut source = String::new();
    for i in 0..n {
        let next = i + 1;
        source += &format!("fn f{i}() = f{next}();\nstatic s{i} = s{next};\ntype A{i} = A{next};\n");
        source += &format!("use u{next} as u{i};\n");
    }
    source += &format!("fn f{n}() = 1; static s{n} = 2; type A{n} = i32; fn u{n}() -> A0 {{ u0() }}\n");
    check_labels(&source);
}

/// The codes for a program of two loose files.
fn codes_of_files(texts: [&str; 2]) -> Vec<String> {
    let mut sources = nyala_span::SourceMap::default();
    let ids = texts.map(|text| sources.add("test", text).expect("tests are small"));
    let trees = ids.map(|id| nyala_syntax::parse(sources.file(id)).file);
    let checked = nyala_sema::check(&[nyala_sema::package::Package::program(&trees)]);
    checked.diagnostics.iter().map(|it| it.code.to_string()).collect()
}

#[test]
fn unused_functions_of_files_that_other_programs_share_are_not_reported() {
    let shared = "fn half(x: i32) -> i32 { x / 2 } fn third(x: i32) -> i32 { x / 3 }";
    assert_eq!(codes_of_files(["fn main() -> i32 { half(3) }", shared]), [""; 0]);
    assert_eq!(codes_of_files(["fn main() -> i32 { half(3) } fn unused() -> () {}", shared]), ["W0003"]);
}
