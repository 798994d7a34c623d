//! Tests of the parser: trees, dialects, and what it says about broken text.

use expect_test::{Expect, expect};
use nyala_span::SourceMap;

use super::{ParseOptions, parse, parse_with};
use crate::ast::Dialect;
use crate::dump;

fn check(text: &str, tree: Expect) {
    let mut map = SourceMap::default();
    let id = map.add("test", text).expect("test texts are small");
    let parse = parse(map.file(id));
    assert_eq!(parse.errors, []);
    tree.assert_eq(&dump(&parse.file));
}

/// `text` as the value of a static.
fn check_expr(text: &str, tree: Expect) {
    let mut map = SourceMap::default();
    let id = map.add("test", format!("static x = {text};")).expect("test texts are small");
    let parse = parse(map.file(id));
    assert_eq!(parse.errors, []);
    let dumped = dump(&parse.file);
    let value = dumped.split_once("(init ").and_then(|(_, rest)| rest.strip_suffix(")))\n"));
    tree.assert_eq(value.unwrap_or(&dumped));
}

/// One line per error: place, code, message.
fn check_errors(text: &str, errors: Expect) {
    let mut map = SourceMap::default();
    let id = map.add("test", text).expect("test texts are small");
    let file = map.file(id);
    let line = |error: &nyala_span::Diagnostic| {
        let at = file.line_col(error.primary.span.lo);
        format!("{}:{} {}: {}\n", at.line, at.col, error.code, error.message)
    };
    errors.assert_eq(&parse(file).errors.iter().map(line).collect::<String>());
}

fn dialect(text: &str) -> Dialect {
    let mut map = SourceMap::default();
    let id = map.add("test", text).expect("test texts are small");
    parse(map.file(id)).file.dialect
}

// ---- Expressions --------------------------------------------------------------------

#[test]
fn operators_of_one_level_are_one_chain() {
    check_expr("a + b - c * d", expect!["(chain a Add b Sub (chain c Mul d))"]);
    check_expr(
        "a || b && c == d | e ^ f & g << h + i * j",
        expect![
            "(chain a OrOr (chain b AndAnd (chain c Eq (chain d Or (chain e Xor (chain f And (chain g Shl (chain h Add (chain i Mul j)))))))))"
        ],
    );
    check_expr("a * b + c << d", expect!["(chain (chain (chain a Mul b) Add c) Shl d)"]);
    check_expr("a < b < c", expect!["(chain a Lt b Lt c)"]);
}

#[test]
fn casts_bind_tighter_than_products_and_looser_than_signs() {
    check_expr(
        "-x as f32 / 3 as i32 as f32",
        expect!["(chain (cast (Minus x) f32) Div (cast (cast 3 i32) f32))"],
    );
    check_expr("&a(i)", expect!["(AddrOf (call a i))"]);
    check_expr("*f(x)", expect!["(Deref (call f x))"]);
}

#[test]
fn hide_takes_a_whole_sum_in_impala_only() {
    check(
        "extern fn f() -> i32 { $a + b }",
        expect![[r#"
        impala
        (item (fn extern f (params) (ret i32) (block (value (Hide (chain a Add b))))))
    "#]],
    );
    check(
        "#[export] fn f() -> i32 { $a + b }",
        expect![[r#"
        artic
        (item (attr export) (fn f (params) (ret i32) (block (value (chain (Hide a) Add b)))))
    "#]],
    );
}

#[test]
fn candidates_to_tune_are_expressions() {
    check(
        "#[tune(8, wide(2), Order::Rows)] static s = 1;",
        expect![[r#"
        impala
        (item (attr tune (exprs 8 (call wide 2) Order::Rows)) (static s (init 1)))
    "#]],
    );
}

#[test]
fn marks_apply_to_the_first_or_the_last_call() {
    check_expr("@@f(x)(y)", expect!["(call (call (mark @@) f x) y)"]);
    check_expr("@f(x)(y)", expect!["(call (mark @) (call f x) y)"]);
    check_expr("@@s.run(x).y", expect!["(field (call (mark @@) (field s run) x) y)"]);
    check_expr("@(c)|x| x", expect!["(lambda (@ c) (params (param x)) (body x))"]);
    check_expr("@(f)(x)", expect!["(call (mark @) (paren f) x)"]);
    check_expr("@run f(x)(y)", expect!["(call (mark @run) (call f x) y)"]);
    check_expr("@halt s.run(x).y", expect!["(field (call (mark @halt) (field s run) x) y)"]);
    check_expr("@run(x)", expect!["(call (mark @) run x)"]);
    check_expr("@halt(x)(y)", expect!["(call (mark @) (call halt x) y)"]);
}

#[test]
fn marks_of_2015_are_single_signs() {
    check(
        "// edition: 2015\nfn f() -> int { @g(1)(2) + $g(3) + $x + $(g(4)) + $$g(5) + @@g(6) + $s.a(7).b }",
        expect![[r#"
            impala
            (item (fn f (params) (ret int) (block (value (chain (call (mark @) (call g 1) 2) Add (call (mark $) g 3) Add (Hide x) Add (Hide (call g 4)) Add (Hide (call (mark $) g 5)) Add (call (mark @@) g 6) Add (field (call (mark $) (field s a) 7) b))))))
        "#]],
    );
    let mut map = SourceMap::default();
    let id = map.add("test", "// edition: 2015\nfn f() -> int { @g(1) }").expect("test texts are small");
    let options = ParseOptions { edition_2015: Some(false), ..ParseOptions::default() };
    assert!(!parse_with(map.file(id), options).file.edition_2015);
}

#[test]
fn lambda_bodies_extend_as_far_as_possible() {
    check_expr("|v| x = v", expect!["(lambda (params (param v)) (body (assign x v)))"]);
    check_expr(
        "|x||y|x + y",
        expect!["(lambda (params (param x)) (body (lambda (params (param y)) (body (chain x Add y)))))"],
    );
    check_expr("f(||)", expect!["(call f (lambda (params)))"]);
}

#[test]
fn arrays_are_written_in_five_ways() {
    check_expr(
        "([1, 2], [0, .. 4], [0; N], simd[1, 2], ~[n: T])",
        expect!["(tuple (array 1 2) (repeat 0 4) (repeat 0 N) (simd 1 2) (heap n T))"],
    );
}

#[test]
fn statement_like_expressions_end_a_statement() {
    check(
        "fn f() -> i32 { if c {1} else {2} (x) }",
        expect![[r#"
        impala
        (item (fn f (params) (ret i32) (block (stmt (if c (block (value 1)) (else (block (value 2))))) (value (paren x)))))
    "#]],
    );
    check(
        "fn f() -> i32 { match x { A => {1} (b) => {2} -1 => {3} + 4, } }",
        expect![[r#"
        impala
        (item (fn f (params) (ret i32) (block (value (match x (=> A (block (value 1))) (=> (paren b) (block (value 2))) (=> (lit - 1) (chain (block (value 3)) Add 4)))))))
    "#]],
    );
}

#[test]
fn braces_after_a_condition_open_a_block() {
    check(
        "fn f() -> () { if flag {} while x == y { g() } S {} }",
        expect![[r#"
        impala
        (item (fn f (params) (ret (tuple)) (block (stmt (if flag (block))) (stmt (while (chain x Eq y) (block (value (call g))))) (value (struct S (args))))))
    "#]],
    );
}

#[test]
fn loops_may_have_no_pattern() {
    check(
        "fn f() -> () { for with_timer() {} for x, (a, b): T in g(1) @{} for @g() {} }",
        expect![[r#"
        impala
        (item (fn f (params) (ret (tuple)) (block (stmt (for (pats) (call with_timer) (block))) (stmt (for (pats x (typed (tuple a b) T)) (call g 1) @ (block))) (value (for (pats) (call (mark @) g) (block))))))
    "#]],
    );
}

#[test]
fn words_of_the_other_dialect_are_names() {
    check(
        "fn f(use: i32) -> i32 { with(implicit) + use + super + typeof }",
        expect![[r#"
        impala
        (item (fn f (params (param use (type i32))) (ret i32) (block (value (chain (call with implicit) Add use Add super Add typeof)))))
    "#]],
    );
}

// ---- Types and items ------------------------------------------------------------------

#[test]
fn a_number_alone_in_brackets_is_an_address_space() {
    check(
        "type T = (&[1]f32, &[f32], &[1][f32], &mut[3][T * 4], &&addrspace(1)T, &global [T], &global);",
        expect![[r#"
        artic
        (item (type T (tuple (Shared (space Some(1)) f32) (Shared (slice f32)) (Shared (space Some(1)) (slice f32)) (Mut (space Some(3)) (array T 4)) (Shared (Shared (space Some(1)) T)) (Shared (space Some(1)) (slice T)) (Shared global))))
    "#]],
    );
}

#[test]
fn a_single_name_in_a_prototype_is_a_type() {
    check(
        "extern \"C\" { fn f(i32, x: i32, &[u8], (A, B), _: T) -> !; }",
        expect![[r#"
        impala
        (item (extern "C" (fn f (params (param (type i32)) (param x (type i32)) (param (type (Shared (slice u8)))) (param (type (tuple A B))) (param _ (type T))) (ret !))))
    "#]],
    );
}

// ---- Dialects -------------------------------------------------------------------------

#[test]
fn the_dialect_is_detected_or_named() {
    assert_eq!(dialect("fn f() -> () {}"), Dialect::Impala);
    assert_eq!(dialect("fn f() = 1;"), Dialect::Artic);
    assert_eq!(dialect("fn f() = 1u;"), Dialect::Impala);
    assert_eq!(dialect("// dialect: artic\nextern fn f() -> () {}"), Dialect::Artic);
    assert_eq!(dialect("// dialect: impala\nfn f() = 1;"), Dialect::Impala);
    assert_eq!(dialect("fn f() -> () {} // dialect: artic"), Dialect::Impala);
}

#[test]
fn an_option_overrides_the_dialect() {
    let mut map = SourceMap::default();
    let id = map.add("test", "// dialect: impala\nfn f() = $a + b;").expect("test texts are small");
    let options = ParseOptions { dialect: Some(Dialect::Artic), ..ParseOptions::default() };
    let parse = parse_with(map.file(id), options);
    assert_eq!(parse.file.dialect, Dialect::Artic);
    expect![[r#"
        artic
        (item (fn f (params) (= (chain (Hide a) Add b))))
    "#]]
    .assert_eq(&dump(&parse.file));
}

// ---- Broken text ----------------------------------------------------------------------

#[test]
fn all_independent_errors_are_reported() {
    check_errors(
        "fn f() -> i32 {
    let x = ;
    g(1, , 2);
    let y = 3
    h(y);
    a b c;
    if x = 1 { y }
    x = y = z;
}
struct S { x i32, y: f32 }
fn g(a: ) -> () {}
let z = 1;
fn h() i32 { 1 }
static t: [i32 * ] = 1;
fn ok() -> () {}
",
        expect![[r#"
            2:13 E0101: expected an expression, found `;`
            3:10 E0101: expected an expression, found `,`
            4:14 E0105: expected `;` after this `let`
            6:6 E0105: expected `;` after this statement
            7:10 E0122: an assignment cannot be a condition
            8:11 E0111: assignments cannot be chained
            10:14 E0100: expected `:`, found `i32`
            11:9 E0102: expected a type, found `)`
            12:1 E0110: `let` outside of a function
            13:8 E0112: expected `->` before the result type
            14:18 E0100: expected a length, found `]`
        "#]],
    );
}

#[test]
fn missing_brackets_are_reported_at_the_opening_one() {
    check_errors(
        "fn f() -> () { g(1, 2; h(3) }\nfn g() -> () {}",
        expect![[r#"
        1:17 E0106: this `(` is never closed
    "#]],
    );
    check_errors(
        "fn f() -> () {\n    if x {\n        g();\n}\n\nfn g() -> () {\n    h();\n}\n",
        expect![[r#"
        2:10 E0106: this `{` is never closed
    "#]],
    );
    check_errors(
        "fn f() -> () { g(1]; h() }",
        expect![[r#"
        1:19 E0107: `]` does not close `(`
    "#]],
    );
    check_errors(
        "fn f() -> () { g(1)); h() }",
        expect![[r#"
        1:20 E0107: `)` does not close `{`
    "#]],
    );
    check_errors(
        "fn f() -> () { g({ a; b ); h() }\nfn g() -> () {}",
        expect![[r#"
        1:25 E0107: `)` does not close `{`
    "#]],
    );
    check_errors(
        "fn f() -> () {} }\nfn g() -> () {}",
        expect![[r#"
            1:17 E0107: unmatched `}`
        "#]],
    );
}

#[test]
fn malformed_lists_end_at_their_bracket() {
    check_errors(
        "fn f() -> () { g(1 2 3, 4); match x { 1 2, 3 => 4, => 5 } S { x 1, y: 2 }; }",
        expect![[r#"
        1:20 E0100: expected `,` or `)`, found a literal
        1:41 E0100: expected `=>`, found a literal
        1:52 E0103: expected a pattern, found `=>`
        1:60 E0105: expected `;` after this statement
    "#]],
    );
    check_errors(
        "enum E { A(, B }",
        expect![[r#"
        1:11 E0106: this `(` is never closed
    "#]],
    );
    check_errors(
        "extern \"C\" { let x; fn f() -> (); 3 }",
        expect![[r#"
        1:14 E0100: expected a function, found keyword `let`
        1:35 E0100: expected a function, found a literal
    "#]],
    );
}

#[test]
fn the_parser_does_not_repeat_errors_of_the_lexer() {
    check_errors(
        "fn f() -> i32 { 1 ` 2 }\nfn g() -> () { x = 0b2 + '' + \"a\n; gr\u{f6}\u{df}e(1) }",
        expect![[r#"
            1:19 E0001: unknown character ```
            2:22 E0008: `2` is not a digit in base 2
            2:26 E0006: empty character
            2:31 E0002: unterminated string
            3:5 E0001: unknown character `öße`
        "#]],
    );
    check_errors(
        "fn f() -> () { g( /* no end",
        expect![[r#"
            1:19 E0004: unterminated comment
        "#]],
    );
}

/// Editors show what a text means while it is being written.
#[test]
fn malformed_text_has_a_tree() {
    let text = "
struct S { a: i32, b: }
fn first(x: i32) -> i32 { let y = ; x + (1 * }
fn second(s: S) -> i32 { s. }
fn third() -> i32 { if x { 1 } else }
fn last() -> i32 { 2 }
";
    let mut map = SourceMap::default();
    let id = map.add("test", text).expect("test texts are small");
    let parse = parse(map.file(id));
    assert!(!parse.errors.is_empty());
    expect![[r#"
        impala
        (item (struct S (record (field a i32) (field b error))))
        (item (fn first (params (param x (type i32))) (ret i32) (block (let y (init error)) (value (chain x Add (paren (chain 1 Mul error)))))))
        (item (fn second (params (param s (type S))) (ret i32) (block (value (field s _)))))
        (item (fn third (params) (ret i32) (block (value (if x (block (value 1)) (else (block)))))))
        (item (fn last (params) (ret i32) (block (value 2))))
    "#]].assert_eq(&dump(&parse.file));
}
