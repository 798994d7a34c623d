//! Source text in, graph out.

mod support;

use expect_test::expect;
use nyala_lower::Lowered;
use nyala_span::SourceMap;
use support::{check_graph, lowered, lowered_with_warnings};

/// Lowers `open` nested in itself around `core` as deep as the parser lets it.
fn check_depth(open: &str, core: &str, close: &str) {
    let parses = |depth: &usize| {
        let text = nested(open, core, close, *depth);
        let mut sources = SourceMap::default();
        let file = sources.add("test", text).expect("tests are small");
        nyala_syntax::parse(sources.file(file)).errors.is_empty()
    };
    let depth = (1..=256).rev().find(parses).expect("one level is not too deep");
    let world = lowered(&nested(open, core, close, depth)).expect("lowering reports nothing");
    nyala_ir::verify::verify(&world).unwrap_or_else(|errors| panic!("{errors}"));
}

fn nested(open: &str, core: &str, close: &str, depth: usize) -> String {
    let (open, close) = (open.repeat(depth), close.repeat(depth));
    format!(
        "fn g(x: i32) -> i32 {{ x }} fn range(a: i32, b: i32, body: fn(i32) -> ()) -> () {{ body(a) }} extern fn f(a: i32, b: bool) -> i32 {{ let mut v = 0; let u = {open}{core}{close}; a }}"
    )
}

/// The diagnostics of lowering `text`.
fn check_error(text: &str, code: &str) {
    let errors = lowered(text).err().expect("lowering reports an error");
    assert_eq!(errors.iter().map(|error| error.code.0).collect::<Vec<_>>(), [code]);
}

#[test]
fn a_tail_call_passes_the_return_continuation() {
    check_graph(
        "extern fn main() -> i32 { range(0, 9, |i| {}); 0 }
         fn range(a: i32, b: i32, body: fn(i32) -> ()) -> () {
             if a < b { body(a); range(a + 1, b, body) }
         }",
        expect![[r#"
            export main(mem: mem, ret: cn(mem, i32)):
                range(mem, 0, 9, lambda, next)
            range(mem: mem, a: i32, b: i32, body: cn(mem, i32, cn(mem)), ret: cn(mem)):
                branch(mem, lt(a, b), if_then, if_else)
            if_then(mem: mem):
                range.body(mem, range.a, next_1)
            next_1(mem: mem):
                range(mem, add(range.a, 1), range.b, range.body, range.ret)
            if_else(mem: mem):
                range.ret(mem)
            lambda(mem: mem, i: i32, ret: cn(mem)):
                ret(mem)
            next(mem: mem):
                main.ret(mem, 0)
        "#]],
    );
}

#[test]
fn a_call_before_the_closing_brace_is_in_tail_position() {
    check_graph(
        "extern fn f(n: i32) -> () { if n > 0 { f(n - 1); } else { f(n + 1); } }",
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem)):
                branch(mem, gt(n, 0), if_then, if_else)
            if_then(mem: mem):
                f(mem, sub(f.n, 1), f.ret)
            if_else(mem: mem):
                f(mem, add(f.n, 1), f.ret)
        "#]],
    );
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
        expect![[r#"
            export sum(mem: mem, n: i32, ret: cn(mem, i32)):
                while_head(mem, 0, 0)
            while_head(mem: mem, i: i32, sum: i32):
                branch(mem, lt(i, sum.n), if_then, if_else)
            if_then(mem: mem):
                branch(mem, eq(rem(while_head.i, 2), 0), if_then_1, if_else_1)
            if_then_1(mem: mem):
                join(mem, add(while_head.i, while_head.sum))
            join(mem: mem, sum: i32):
                while_head(mem, add(while_head.i, 1), sum)
            if_else_1(mem: mem):
                join(mem, while_head.sum)
            if_else(mem: mem):
                sum.ret(mem, while_head.sum)
        "#]],
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
        expect![[r#"
            export find(mem: mem, n: i32, ret: cn(mem, i32)):
                while_head(mem, 0)
            while_head(mem: mem, i: i32):
                d0 = add(i, 1)
                branch(mem, lt(d0, find.n), if_then, if_else)
            if_then(mem: mem):
                while_head(mem, while_head.d0)
            if_else(mem: mem):
                find.ret(mem, while_head.d0)
        "#]],
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
        expect![[r#"
            export find(mem: mem, n: i32, ret: cn(mem, i32)):
                d0 = slot[i32](mem)
                d1 = store(d0.0, d0.1, n)
                while_head(d1)
            while_head(mem: mem):
                d0 = load(mem, find.d0.1)
                d1 = add(d0.1, 1)
                d2 = store(d0.0, find.d0.1, d1)
                branch(d2, gt(d1, 10), if_then, if_else)
            if_then(mem: mem):
                while_exit(mem)
            while_exit(mem: mem):
                d0 = load(mem, find.d0.1)
                find.ret(d0.0, d0.1)
            if_else(mem: mem):
                while_head(mem)
        "#]],
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
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                d0 = slot[i32](mem)
                d1 = store(d0.0, d0.1, 0)
                call(d1, lambda, next)
            call(mem: mem, f: cn(mem, cn(mem)), ret: cn(mem)):
                f(mem, ret)
            lambda(mem: mem, ret: cn(mem)):
                d0 = load(mem, f.d0.1)
                d1 = store(d0.0, f.d0.1, add(d0.1, 1))
                ret(d1)
            next(mem: mem):
                d0 = load(mem, f.d0.1)
                f.ret(d0.0, add(add(f.n, add(f.n, 2)), d0.1))
        "#]],
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
        expect![[r#"
            export f(mem: mem, x: i32, ret: cn(mem, i32)):
                force(power)(mem, x, 3, next)
            power(mem: mem, x: i32, n: i32, ret: cn(mem, i32)) @ [false, d0, d0, d0]:
                d0 = and(known(n), lt(n, 8))
                branch(mem, eq(n, 0), if_then, if_else)
            if_then(mem: mem):
                power.ret(mem, 1)
            if_else(mem: mem):
                power(mem, power.x, sub(power.n, 1), next_1)
            next_1(mem: mem, p1: i32):
                power.ret(mem, mul(power.x, p1))
            next(mem: mem, p1: i32):
                scale(mem, 2, true, hide(f.x), next_2)
            scale(mem: mem, factor: i32, flag: bool, x: i32, ret: cn(mem, i32)) @ [false, true, known(flag), false, false]:
                branch(mem, flag, if_then_1, if_else_1)
            if_then_1(mem: mem):
                scale.ret(mem, mul(scale.factor, scale.x))
            if_else_1(mem: mem):
                scale.ret(mem, scale.x)
            next_2(mem: mem, p1: i32):
                f.ret(mem, add(next.p1, p1))
        "#]],
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
        expect![[r#"
            enum Shape { Point, Circle: i32, Box: (i32, i32) }
            export area(mem: mem, shape: Shape, unit: bool, ret: cn(mem, i32)):
                switch(mem, tag(shape), match_arm, 0, match_arm_1, 1, match_arm_2)
            match_arm(mem: mem):
                branch(mem, area.unit, match_arm_3, match_next)
            match_arm_3(mem: mem):
                d0 = payload[Box](area.shape)
                area.ret(mem, mul(d0.0, d0.1))
            match_next(mem: mem):
                area.ret(mem, -1)
            match_arm_1(mem: mem):
                area.ret(mem, 0)
            match_arm_2(mem: mem):
                branch(mem, area.unit, match_next, match_arm_4)
            match_arm_4(mem: mem):
                d0 = payload[Circle](area.shape)
                area.ret(mem, mul(d0, mul(d0, 3)))
        "#]],
    );
}

#[test]
fn the_body_of_a_generator_loop_may_break_continue_and_return() {
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
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                range(mem, 0, n, lambda, next)
            range(mem: mem, a: i32, b: i32, body: cn(mem, i32, cn(mem)), ret: cn(mem)):
                branch(mem, lt(a, b), if_then, if_else)
            if_then(mem: mem):
                range.body(mem, range.a, next_1)
            next_1(mem: mem):
                range(mem, add(range.a, 1), range.b, range.body, range.ret)
            if_else(mem: mem):
                range.ret(mem)
            lambda(mem: mem, i: i32, ret: cn(mem)):
                branch(mem, eq(i, 3), if_then_1, if_else_1)
            if_then_1(mem: mem):
                lambda.ret(mem)
            if_else_1(mem: mem):
                branch(mem, eq(lambda.i, 5), if_then_2, if_else_2)
            if_then_2(mem: mem):
                next(mem)
            next(mem: mem):
                f.ret(mem, 0)
            if_else_2(mem: mem):
                branch(mem, eq(lambda.i, 7), if_then_3, if_else_3)
            if_then_3(mem: mem):
                f.ret(mem, lambda.i)
            if_else_3(mem: mem):
                lambda.ret(mem)
        "#]],
    );
}

#[test]
fn strings_are_constants_and_statics_fold() {
    check_graph(
        r#"extern "C" { fn puts(&[u8]) -> i32; }
         static table = [1, 2, 3];
         static mut counter = 0;
         extern fn f(i: i32) -> i32 { counter += table(1); puts("hi"); table(i) + counter }"#,
        expect![[r#"
            global counter: i32 = 0
            const const: [u8 * 3] = "hi\0"
            const table: [i32 * 3] = [1, 2, 3]
            import puts(mem: mem, p1: &[u8], ret: cn(mem, i32))
            export f(mem: mem, i: i32, ret: cn(mem, i32)):
                d0 = load(mem, counter)
                d1 = store(d0.0, counter, add(d0.1, 2))
                puts(d1, bitcast[&[u8]](const), next)
            next(mem: mem, p1: i32):
                d0 = load(mem, lea(table, f.i))
                d1 = load(d0.0, counter)
                f.ret(d1.0, add(d0.1, d1.1))
        "#]],
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
        expect![[r#"
            export f(mem: mem, x: i32, ret: cn(mem, i32)):
                id(mem, (x, 1), next)
            id(mem: mem, x: (i32, i32), ret: cn(mem, i32, i32)):
                ret(mem, x.0, x.1)
            next(mem: mem, p1: i32, p2: i32):
                id_1(mem, p1, next_1)
            id_1(mem: mem, x: i32, ret: cn(mem, i32)):
                ret(mem, x)
            next_1(mem: mem, p1: i32):
                id_1(mem, 2, next_2)
            next_2(mem: mem, p1: i32):
                f.ret(mem, add(next_1.p1, p1))
        "#]],
    );
}

#[test]
fn lazy_operators_branch_unless_the_right_side_is_trivial() {
    check_graph(
        "extern fn f(a: i32, b: i32) -> bool { a < b && b < 9 || a / b == 1 }",
        expect![[r#"
            export f(mem: mem, a: i32, b: i32, ret: cn(mem, bool)):
                branch(mem, and(lt(a, b), lt(b, 9)), if_then, if_else)
            if_then(mem: mem):
                join(mem, true)
            join(mem: mem, p1: bool):
                f.ret(mem, p1)
            if_else(mem: mem):
                join(mem, eq(div(f.a, f.b), 1))
        "#]],
    );
}

#[test]
fn intrinsics_that_compute_are_nodes() {
    check_graph(
        r#"extern "thorin" { fn bitcast[D, S](S) -> D; fn select[T, U](T, U, U) -> U; fn sizeof[T]() -> i64; }
         extern "device" { fn "llvm.sqrt.f32" sqrtf(f32) -> f32; }
         extern fn f(x: f32) -> i32 { select(x < 0f, bitcast[i32, f32](sqrtf(x)), sizeof[(i8, i32)]() as i32) }"#,
        expect![[r#"
            export f(mem: mem, x: f32, ret: cn(mem, i32)):
                ret(mem, select(lt(x, 0.0), bitcast[i32](sqrt(x)), 8))
        "#]],
    );
}

#[test]
fn calls_in_initializers_are_expanded() {
    check_graph(
        "fn fac(n: i32) -> i32 { if n == 0 { return(1) } n * fac(n - 1) }
         struct Ops { apply: fn(i32) -> i32, n: i32 }
         fn ops(n: i32) -> Ops { Ops { apply: |x| x + n, n: fac(n) } }
         static five = ops(5);
         extern fn f() -> i32 { five.apply(five.n) }",
        expect![[r#"
            export f(mem: mem, ret: cn(mem, i32)):
                lambda(mem, 120, ret)
            lambda(mem: mem, x: i32, ret: cn(mem, i32)):
                ret(mem, add(x, 5))
        "#]],
    );
}

#[test]
fn initializers_with_loops_are_executed() {
    check_graph(
        r#"fn count(n: i32) -> (i32, i32) { let mut i = 0; while i < n { ++i } (i, i) }
         static table = count(10);
         fn main() -> i32 { table(0) }"#,
        expect![[r#"
            export main(mem: mem, ret: cn(mem, i32)):
                ret(mem, 7)
        "#]],
    );
}

#[test]
fn initializers_that_use_mutable_statics_are_rejected() {
    check_error(
        "static mut n = 1;
         fn count() -> i32 { let mut i = 0; while i < n { ++i } i }
         static x = count();
         fn main() -> i32 { x }",
        "E0483",
    );
}

#[test]
fn statics_that_depend_on_themselves_through_functions_are_rejected() {
    let text = "fn next() -> i32 { first + 1 } static first: i32 = next(); fn main() -> i32 { first }";
    let errors = lowered(text).err().expect("lowering reports an error");
    assert!(errors.iter().any(|error| error.code.0 == "E0484"), "{errors:?}");
}

#[test]
fn nested_functions_used_before_their_captures_are_rejected() {
    check_error(
        "fn one() -> i32 { 1 }
         fn main() -> i32 { let a = get(); let x = one(); fn get() -> i32 { x } a }",
        "E0482",
    );
}

#[test]
fn trees_of_maximal_depth_fit_in_the_stack_of_a_thread() {
    check_depth("if b { v += 1; ", "v", " } else { a }");
    check_depth("{ ", "v", " }");
    check_depth("g(", "a", ")");
    check_depth("g(-1 + ", "a", ")");
    check_depth("(|| ", "a", ")()");
    check_depth("match a { 0 => ", "a", ", _ => 1 }");
    check_depth("while b && g(a) > 1 { ", "v = a", " }");
    check_depth("if b || { let w = ", "b", "; w } { true } else { false }");
    check_depth("for i in range(0, a) { ", "v += i", " }");
}

#[test]
fn long_programs_do_not_recurse() {
    let n = 3_000;
    let many = |text: &dyn Fn(usize) -> String| (0..n).map(text).collect::<String>();
    let statements = many(&|i| format!("if x == {i} {{ x += 1 }}\n"));
    let functions = many(&|i| format!("fn f{i}(x: i32) -> i32 {{ f{}(x) }}\n", i + 1));
    let sum = many(&|_| " + x".into());
    let text = format!(
        "extern fn main() -> i32 {{
             let mut x = 0;
             {statements}
             fn g() -> i32 {{ x }}
             x{sum}
         }}
         extern fn start() -> i32 {{ f0(0) }}
         {functions}
         fn f{n}(x: i32) -> i32 {{ x }}",
    );
    lowered(&text).expect("lowering reports nothing");
}

#[test]
fn unbounded_instances_are_reported() {
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
fn intrinsics_with_wrong_name_or_type_are_rejected() {
    check_error(r#"extern "thorin" { fn nothing(i32) -> (); } fn main() -> () { nothing(1) }"#, "E0901");
    check_error(r#"extern "thorin" { fn sync(i32, i32) -> (); } fn main() -> () { sync(1, 2) }"#, "E0902");
}

#[test]
fn intrinsics_with_unsupported_types_are_rejected() {
    let check = |body: &str| {
        let declared = r#"extern "thorin" {
            fn bitcast[D, S](S) -> D;
            fn select[T, U](T, U, U) -> U;
            fn insert[T, U](T, i32, U) -> T;
            fn sqrt[T](T) -> T;
        }"#;
        check_error(&format!("{declared} fn main() -> i32 {{ {body}; 0 }}"), "E0903");
    };
    check("let text = bitcast[&mut [u8]](\"text\")");
    check("let narrow = bitcast[i16](1)");
    check("let either = select(1, 2, 3)");
    check("let whole = insert((1, true), 0, true)");
    check("let root = sqrt(true)");
    check("let cast: fn(i32) -> i64 = bitcast; cast(1)");
}

#[test]
fn intern_sets_the_name_of_a_continuation() {
    let text = "#[intern(name = \"chosen\")] fn f(x: i32) -> i32 { x } extern fn start() -> i32 { f(1) }";
    let world = lowered(text).expect("nothing is wrong with it");
    assert!(world.conts().any(|(_, cont)| cont.name.as_str() == "chosen"));
}

/// A filter that needs more than folding is accepted, and never holds.
#[test]
fn filters_that_never_hold_are_reported() {
    for text in [
        "fn @(*p == 1) f(p: &i32) -> i32 { *p } fn main() -> i32 { f(&0) }",
        "fn @(when(n)) f(n: i32, when: fn(i32) -> bool) -> i32 { n } fn main() -> i32 { f(0, |n| n == 0) }",
        "fn even(n: i32) -> bool { n == 0 || !even(n - 1) } fn @(even(n)) f(n: i32) -> i32 { n } fn main() -> i32 { f(0) }",
    ] {
        let Lowered { world, warnings, .. } = lowered_with_warnings(text).expect("it is no error");
        let codes: Vec<_> = warnings.iter().map(|warning| warning.code.0).collect();
        assert_eq!(codes, ["W0750"], "{text}");
        assert!(nyala_ir::text::print(&world).contains(") @ false:"), "{text}");
    }
}
