//! Printing and parsing, by example.

use super::*;
use crate::{ArithFlags, ArithOp, Prim, World};

/// Checks that parsing and printing `text` gives `text`.
#[track_caller]
fn check_stable(text: &str) {
    let text = unindent(text);
    let world = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(print(&world), text);
}

#[track_caller]
fn check_print(text: &str, expected: &str) {
    let world = parse(&unindent(text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(print(&world), unindent(expected));
    check_stable(expected);
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let error = parse(text).err().expect("an error");
    assert_eq!(error.to_string(), expected);
}

/// `text` without the first line break and the indentation of its first line.
fn unindent(text: &str) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let indent = text.len() - text.trim_start_matches(' ').len();
    let lines = text.trim_end().lines().map(|line| format!("{}\n", line.get(indent..).unwrap_or("")));
    lines.collect()
}

#[test]
fn a_program_is_printed_as_it_was_written() {
    check_stable(
        r#"
        import puti(mem: mem, x: i32, ret: cn(mem)) = "print_i32"
        import puts(mem: mem, s: &[u8], ret: cn(mem, i32))
        intrinsic vectorize_8(mem: mem, n: i32, body: cn(mem, i32, cn(mem)), ret: cn(mem)) = vectorize
        export main(mem: mem, x: i32, ret: cn(mem, i32)):
            pow(mem, x, 2, after)
        pow(mem: mem, x: i32, n: i32, ret: cn(mem, i32)) @ [false, false, known(n), false]:
            branch(mem, eq(n, 0), done, more)
        done(mem: mem):
            pow.ret(mem, 1)
        more(mem: mem):
            pow(mem, pow.x, sub(pow.n, 1), next)
        next(mem: mem, r: i32):
            pow.ret(mem, mul(r, pow.x))
        after(mem: mem, y: i32):
            puti(mem, y, again)
        again(mem: mem):
            puts(mem, null[&[u8]], last)
        last(mem: mem, z: i32):
            vectorize_8(mem, 8, body, end)
        body(mem: mem, i: i32, ret: cn(mem)):
            ret(mem)
        end(mem: mem):
            main.ret(mem, last.z)
        "#,
    );
}

#[test]
fn types_and_globals_are_items() {
    check_stable(
        r#"
        struct Vec2 { x: f32, y: f32 }
        struct List { head: i64, tail: &List }
        struct `Pair[i32]` { a: i32, b: i32 }
        struct `i32` {}
        enum Shape { Point, Circle: f32, Box: (f32, f32) }
        const text: [u8 * 6] = "Hi\n\"\\\xff"
        global counter: i64 = 5
        global origin: Vec2 = Vec2 { 0.0, -1.5 }
        const pairs: [`Pair[i32]` * 2]:
            d0 = `Pair[i32]` { 1, 2 }
            [d0, d0]
        const shape: Shape = variant[Shape.Box]((1.0, 2.0))
        const none: Shape = variant[Shape.Point](())
        import global zero: [u16 * 3] as "other"
        debugger global shown: i32
        const f: cn(mem, (simd[f32 * 4], &[1]u8, List, `i32`)) = use_all
        export use_all(mem: mem, p1: (simd[f32 * 4], &[1]u8, List, `i32`)):
            d0 = load(mem, text)
            d1 = store(d0.0, shown, 7)
            unreachable(d1)
        export all(mem: mem, ret: cn(mem, (&i64, &Vec2, &[`Pair[i32]` * 2], &Shape, &Shape, &[u16 * 3]))):
            ret(mem, (counter, origin, pairs, shape, none, zero))
        export other(mem: mem):
            f_1(mem, f)
        f_1(mem: mem, p: &cn(mem, (simd[f32 * 4], &[1]u8, List, `i32`))):
            unreachable(mem)
        "#,
    );
}

#[test]
fn every_operator_round_trips() {
    check_stable(
        r#"
        enum Shape { Point, Circle: f32 }
        export ops(mem: mem, x: i32, f: f32, s: Shape, a: [i32 * 4], k: cn(mem, i32), v: simd[f32 * 4]):
            d0 = slot[i32](mem)
            d1 = alloc[f32](d0.0, 10)
            d2 = store(d1.0, lea(d1.1, 3i64), 2.5)
            d3 = load(d2, d0.1)
            d4 = asm["add $0, $1", (i32), ("=r"), ("r"), ("memory"), ("volatile")](d3.0, x)
            d5 = asm["nop", (), (), (), (), ()](d4.0)
            d6 = add[wrap, fast](cast[i64](x), 5)
            d7 = insert(a, x, 7)
            next(d5, d4.1, mul[fast](f, -0.0), shl[wrap](1u64, 3), hide(select(lt(x, 0), d6, d6)), extract(a, x), (d7, d7))
        export more(mem: mem, s: Shape, p: &i32, h: f16):
            d0 = payload[Circle](s)
            last(mem, tag(s), d0, d0, size_of[i64](Shape), align_of[i32]([u8]), bitcast[&u8](p), undef[f64])
        next(mem: mem, i: i32, f: f32, u: u64, w: i64, e: i32, d: ([i32 * 4], [i32 * 4])):
            run(ops.k)(mem, cast[i32](fma(f, 1e20, f32(0x7fc00000))))
        last(mem: mem, p1: u32, p2: f32, p3: f32, p4: i64, p5: i32, p6: &u8, p7: f64):
            switch(mem, p1, a, 1, b, 2, a)
        a(mem: mem):
            last_1(mem, address[&i32](0x10), known(last.p1), simd[1.0, 2.0], aggregate[[i32 * 0]](), [1, cast[u8](last.p5)])
        last_1(mem: mem, p: &i32, q: bool, r: simd[f16 * 2], s: [i32 * 0], t: [u8 * 2]):
            switch(mem, 3u8, a, 4, b)
        b(mem: mem):
            unreachable(mem)
        "#,
    );
}

#[test]
fn names_are_made_unique_and_hidden_items_are_marked() {
    let mut world = World::new();
    let (mem, i32) = (world.types.mem(), world.types.prim(Prim::I32));
    let (f, g, h) =
        (world.new_cont("x", &[mem]), world.new_cont("x", &[mem, i32]), world.new_cont("true", &[mem]));
    world.set_linkage(f, crate::Linkage::Exported("x".into()));
    let x = world.param(g, 1);
    world.set_name(x, "x_1");
    let callees = [world.cont_def(g), world.cont_def(h), world.cont_def(g)];
    let seven = world.lit_i32(7);
    let sum = world.arith(ArithOp::Add, ArithFlags::STRICT, x, seven);
    world.set_body(f, callees[0], [world.param(f, 0), seven]);
    world.set_body(g, callees[1], [world.param(g, 0)]);
    world.set_body(h, callees[2], [world.param(h, 0), sum]);
    let always = world.lit_bool(true);
    world.set_filter(g, vec![always; 2]);
    let text = print(&world);
    let expected = "
        export x(mem: mem):
            x_1(mem, 7)
        x_1(mem: mem, x_1: i32) @ true:
            `true`(mem)
        `true`(mem: mem):
            x_1(mem, add(x_1.x_1, 7))
        ";
    assert_eq!(text, unindent(expected));
    check_stable(&text);
}

#[test]
fn an_item_hidden_by_a_local_is_written_with_a_dot() {
    check_stable(
        "
        export f(mem: mem, f: i32):
            branch(mem, eq(f, 1), f_1, g)
        f_1(mem: mem):
            unreachable(mem)
        g(mem: mem):
            f(mem, f.f)
        ",
    );
    check_stable(
        "
        export f(mem: mem, g: cn(mem)):
            .g(mem, g)
        g(mem: mem, k: cn(mem)):
            k(mem)
        ",
    );
}

#[test]
fn unique_names_of_parameters_need_no_owner() {
    check_print(
        "
        export f(m: mem, n: i32, ret: cn(mem, i32)):
            g(m)
        g(mem: mem):
            ret(mem, n)
        ",
        "
        export f(m: mem, n: i32, ret: cn(mem, i32)):
            g(m)
        g(mem: mem):
            f.ret(mem, f.n)
        ",
    );
    check_error(
        "f(mem: mem, x: i32): g(mem)\ng(mem: mem, x: i32): h(mem)\nh(mem: mem): f(mem, x)",
        "3:21: several continuations have a parameter `x`",
    );
}

#[test]
fn only_reachable_nodes_are_printed() {
    let text = "
        export f(mem: mem):
            unreachable(mem)
        dead(mem: mem):
            f(mem)
        ";
    let world = parse(&unindent(text)).unwrap();
    assert!(!print(&world).contains("dead"));
    let all = print_with(&world, PrintOptions { all: true, ..PrintOptions::default() });
    assert_eq!(all, unindent(text));
}

#[test]
fn parsing_does_not_fold() {
    check_stable(
        "
        export f(mem: mem, x: i32, ret: cn(mem, i32)):
            ret(mem, cast[i32](add(0, mul(x, (1, 2).0))))
        ",
    );
}

#[test]
fn errors_have_a_place() {
    check_error("f(mem: mem):\n    g(mem)", "2:5: unknown name `g`");
    check_error("f(mem: mem):\n    f(mem, ä)", "2:12: unexpected character `\\u{e4}`");
    check_error("f(x: i32): f(256u8)", "1:14: the literal does not fit into `u8`");
    check_error("f(x: Foo)", "1:6: unknown type `Foo`");
    check_error("f(x: i32)\nf(x: i32)", "2:1: `f` is there twice");
    check_error("f(x: i32): f(x.0)", "1:15: `i32` has no such part");
    check_error("f(x: i32): f(load(x, x))", "1:22: expected a pointer");
    check_error("f(x: i32): f(frob(x))", "1:14: unknown operator `frob`");
    check_error("f(x: i32): f(add(x))", "1:17: expected 2 operands, found 1");
    check_error("f(x: i32): f(x", "1:15: expected `,` or `)`");
    check_error("  f(x: i32)", "1:3: expected an item, in the first column");
    check_error(&format!("f(x: {}", "[".repeat(10_000)), "1:206: nested too deeply");
}

#[test]
fn truncated_text_never_panics() {
    let text = "struct S { a: i32 }\nconst g: [u8 * 2] = \"a\\x00\"\nexport f(mem: mem, x: simd[f32 * 4]) = \"f\" @ [true, known(x)]:\n    d0 = load(mem, g)\n    switch(d0.0, extract(d0.1, 1), f, -1e5f16, `f`)\n";
    assert!(parse(text).is_ok());
    for end in 0..text.len() {
        let _ = parse(&text[..end]);
    }
}

#[test]
fn a_deep_expression_is_printed_as_lines() {
    let mut world = World::new();
    let i32 = world.types.prim(Prim::I32);
    let f = world.new_cont("f", &[i32]);
    let x = world.param(f, 0);
    let mut sum = x;
    for _ in 0..100_000 {
        sum = world.arith(ArithOp::Xor, ArithFlags::STRICT, x, sum);
        sum = world.arith(ArithOp::Add, ArithFlags::STRICT, sum, x);
    }
    world.set_body(f, world.cont_def(f), [sum]);
    let text = print(&world);
    let again = parse(&text).unwrap();
    assert_eq!(print(&again), text);
    assert!(text.lines().all(|line| line.len() < 120));
}
