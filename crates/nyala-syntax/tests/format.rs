//! Formatting over a corpus that uses every production of the grammar.

use expect_test::expect;
use nyala_span::SourceMap;
use nyala_syntax::parse;

mod common;

#[test]
fn the_corpus_parses() {
    for (name, text) in common::corpus() {
        let mut map = SourceMap::default();
        let id = map.add(name, text).expect("corpus files are small");
        let errors: Vec<_> = parse(map.file(id))
            .errors
            .iter()
            .map(|error| format!("{}: {}: {}", map.describe(error.primary.span), error.code, error.message))
            .collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }
}

#[test]
fn formatting_keeps_the_tree_and_all_comments_and_is_stable() {
    for (name, text) in common::corpus() {
        assert_eq!(common::check_format(&name, &text), Ok(true), "{name}");
    }
}

/// Compares formatted text with what it should be; `UPDATE_EXPECT=1` writes it.
fn check(text: &str, expected: expect_test::Expect) {
    common::with_parse(text, |file, parse| {
        assert!(parse.errors.is_empty(), "{:?}", parse.errors);
        expected.assert_eq(&nyala_syntax::format(&parse.file, file));
    });
    assert_eq!(common::check_format("test", text), Ok(true));
}

#[test]
fn items_are_on_separate_lines() {
    check(
        "struct  V{x:f32,y:f32}enum E{A,B(i32)} type T=&[ f32 ];static   k=3 ;\n\n\n\nfn @ f( x:i32 )->i32{x+k}",
        expect![[r#"
            struct V { x: f32, y: f32 }
            enum E { A, B(i32) }
            type T = &[f32];
            static k = 3;

            fn @f(x: i32) -> i32 { x + k }
        "#]],
    );
}

#[test]
fn operators_are_written_like_names() {
    check(
        "fn@operator  +(a:V,b:V)->V{a}fn @ (?s) operator*[T](s:T,v:V[T])->V[T]=v;fn operator ( ) (v:V,i:i32)->i32{i}fn operator(x:i32)->i32{x}",
        expect![[r#"
            fn @operator +(a: V, b: V) -> V { a }
            fn @(?s) operator *[T](s: T, v: V[T]) -> V[T] = v;
            fn operator()(v: V, i: i32) -> i32 { i }
            fn operator(x: i32) -> i32 { x }
        "#]],
    );
}

#[test]
fn statements_keep_one_empty_line() {
    check(
        "fn f()->i32{let x=1;\n\n\nlet y=2;\nif x==y{g();}\nelse{h();}\n\nx*(y+1)}",
        expect![[r#"
        fn f() -> i32 {
            let x = 1;

            let y = 2;
            if x == y { g(); } else { h(); }

            x * (y + 1)
        }
    "#]],
    );
}

#[test]
fn long_lists_have_an_element_per_line() {
    check(
        "fn f() -> () { some_function(the_first_argument, the_second_argument, the_third_argument, the_fourth_argument_of_them) }",
        expect![[r#"
            fn f() -> () {
                some_function(
                    the_first_argument,
                    the_second_argument,
                    the_third_argument,
                    the_fourth_argument_of_them,
                )
            }
        "#]],
    );
}

#[test]
fn lists_keep_one_empty_line() {
    check(
        "struct S { a: i32, b: i32,\n\n\n  c: i32 }\nfn f() -> () { match x { 1 => 2,\n\n // three\n 3 => 4, _ => 5 } }\nfn g() -> () { h(1,\n\n 2, 3) }",
        expect![[r#"
            struct S {
                a: i32,
                b: i32,

                c: i32,
            }
            fn f() -> () {
                match x {
                    1 => 2,

                    // three
                    3 => 4,
                    _ => 5,
                }
            }
            fn g() -> () {
                h(
                    1,

                    2,
                    3,
                )
            }
        "#]],
    );
}

#[test]
fn comments_stay_where_they_are() {
    check(
        "// first\nfn f(/* none */) -> i32 { // behind\n  // alone\n  1 + /* two */ 2 // end\n}\n// last",
        expect![[r#"
            // first
            fn f(
                /* none */
            ) -> i32 { // behind
                // alone
                1 + /* two */ 2 // end
            }
            // last
        "#]],
    );
}

#[test]
fn loops_and_lambdas_keep_their_bodies_close() {
    check(
        "fn f() -> () { for i in range(0,10) @{ print_i32(i) } with x in g() { } let h=|a,b:i32|->i32{a+b}; while let E::A(x)=e{} apply(|x| { first(x); second(x) }) }",
        expect![[r#"
            fn f() -> () {
                for i in range(0, 10) @{ print_i32(i) }
                with x in g() {}
                let h = |a, b: i32| -> i32 { a + b };
                while let E::A(x) = e {}
                apply(|x| {
                    first(x);
                    second(x)
                })
            }
        "#]],
    );
}

#[test]
fn last_argument_of_a_last_argument_breaks_alone() {
    check(
        "fn f() -> S { on_converted(numbers, stencil(@|f: Field| @|x, y| { let here = f(x, y); here + f(x + 1, y) })) }",
        expect![[r#"
            fn f() -> S {
                on_converted(numbers, stencil(@|f: Field| @|x, y| {
                    let here = f(x, y);
                    here + f(x + 1, y)
                }))
            }
        "#]],
    );
}

#[test]
fn each_dialect_keeps_its_spellings() {
    check(
        "#[export]fn f(s:S)->i32{let a=[0;4];let t=S{x=1,y=2};let u=s.{x=3};@g(1:i64)(2)}",
        expect![[r#"
            #[export]
            fn f(s: S) -> i32 {
                let a = [0; 4];
                let t = S { x = 1, y = 2 };
                let u = s.{ x = 3 };
                @g(1 : i64)(2)
            }
        "#]],
    );
    check(
        "extern fn f()->i32{let a=[0,..4];let t=S{x:1,y:2};let p=~[n:f32];@@g(1i64)(2)}",
        expect![[r#"
        extern fn f() -> i32 {
            let a = [0, .. 4];
            let t = S { x: 1, y: 2 };
            let p = ~[n: f32];
            @@g(1i64)(2)
        }
    "#]],
    );
}

#[test]
fn dollars_get_parentheses_where_dialects_differ() {
    check(
        "fn f(a: i32, b: i32) -> i32 { $a + b }",
        expect![[r#"
        fn f(a: i32, b: i32) -> i32 { $(a + b) }
    "#]],
    );
}
