//! Which variables are values, and where they are parameters: minimal, pruned SSA form.

mod support;

use expect_test::expect;
use support::check_graph;

#[test]
fn a_dead_variable_is_not_a_block_parameter() {
    check_graph(
        "extern fn f(c: bool, n: i32) -> i32 {
             let mut x = n;
             let y = if c { x = n * 2; x } else { x = n * 3; x + 1 };
             x = 7;
             y + x
         }",
        expect![[r#"
            export f(mem: mem, c: bool, n: i32, ret: cn(mem, i32)):
                branch(mem, c, if_then, if_else)
            if_then(mem: mem):
                join(mem, mul(f.n, 2))
            join(mem: mem, y: i32):
                f.ret(mem, add(y, 7))
            if_else(mem: mem):
                join(mem, add(mul(f.n, 3), 1))
        "#]],
    );
}

#[test]
fn a_loop_carries_only_variables_that_a_later_iteration_reads() {
    check_graph(
        "extern fn f(n: i32) -> i32 {
             let mut i = 0;
             let mut t = 0;
             let mut last = -1;
             let limit = n * n;
             while i < limit {
                 t = i * 3;
                 i = t + 1;
                 if i == n { last = t; break() }
             }
             last
         }",
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                while_head(mem, 0)
            while_head(mem: mem, i: i32):
                branch(mem, lt(i, mul(f.n, f.n)), if_then, if_else)
            if_then(mem: mem):
                d0 = mul(while_head.i, 3)
                d1 = add(d0, 1)
                branch(mem, eq(f.n, d1), if_then_1, if_else_1)
            if_then_1(mem: mem):
                join(mem, if_then.d0)
            join(mem: mem, last: i32):
                f.ret(mem, last)
            if_else_1(mem: mem):
                while_head(mem, if_then.d1)
            if_else(mem: mem):
                join(mem, -1)
        "#]],
    );
}

#[test]
fn nested_loops_that_only_read_have_no_parameters() {
    check_graph(
        "fn g(x: i32) -> bool { x > 0 }
         extern fn f(n: i32) -> i32 {
             let mut x = n;
             x += 1;
             while g(x) { while g(x + 1) {} }
             x
         }",
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                while_head(mem)
            while_head(mem: mem):
                d0 = add(f.n, 1)
                g(mem, d0, next)
            g(mem: mem, x: i32, ret: cn(mem, bool)):
                ret(mem, gt(x, 0))
            next(mem: mem, p1: bool):
                branch(mem, p1, if_then, if_else)
            if_then(mem: mem):
                while_head_1(mem)
            while_head_1(mem: mem):
                g(mem, add(f.n, 2), next_1)
            next_1(mem: mem, p1: bool):
                branch(mem, p1, if_then_1, if_else_1)
            if_then_1(mem: mem):
                while_head_1(mem)
            if_else_1(mem: mem):
                while_head(mem)
            if_else(mem: mem):
                f.ret(mem, while_head.d0)
        "#]],
    );
}

#[test]
fn assignments_in_a_condition_join_at_its_targets() {
    check_graph(
        "extern fn f(a: bool, b: bool) -> i32 {
             let mut x = 1;
             if a || { x = 2; b } { x } else { x + 10 }
         }",
        expect![[r#"
            export f(mem: mem, a: bool, b: bool, ret: cn(mem, i32)):
                branch(mem, a, if_then, if_else)
            if_then(mem: mem):
                join(mem, 1)
            join(mem: mem, x: i32):
                f.ret(mem, x)
            if_else(mem: mem):
                branch(mem, f.b, if_then_1, if_else_1)
            if_then_1(mem: mem):
                join(mem, 2)
            if_else_1(mem: mem):
                f.ret(mem, 12)
        "#]],
    );
}

#[test]
fn the_exit_of_a_loop_has_parameters_for_variables_that_differ() {
    check_graph(
        "extern fn f(n: i32) -> i32 {
             let mut i = 0;
             let mut found = false;
             while i < n {
                 if i * i == n { found = true; break() }
                 ++i;
             }
             if found { i } else { 0 }
         }",
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                while_head(mem, 0)
            while_head(mem: mem, i: i32):
                branch(mem, lt(i, f.n), if_then, if_else)
            if_then(mem: mem):
                branch(mem, eq(f.n, mul(while_head.i, while_head.i)), if_then_1, if_else_1)
            if_then_1(mem: mem):
                join(mem, true)
            join(mem: mem, found: bool):
                branch(mem, found, if_then_2, if_else_2)
            if_then_2(mem: mem):
                f.ret(mem, while_head.i)
            if_else_2(mem: mem):
                f.ret(mem, 0)
            if_else_1(mem: mem):
                while_head(mem, add(while_head.i, 1))
            if_else(mem: mem):
                join(mem, false)
        "#]],
    );
}

#[test]
fn an_escaping_break_makes_changed_variables_slots() {
    // `i` is changed by the loop and read where `break` leads; `j` is changed and not read there;
    // `k` is read there and not changed.
    check_graph(
        "extern fn f(n: i32) -> i32 {
             let mut i = n;
             let mut j = 0;
             let mut k = n;
             k *= 2;
             while j < 100 {
                 let out = break;
                 ++i;
                 j += i;
                 if j > 10 { out() }
             }
             i + k
         }",
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                d0 = slot[i32](mem)
                d1 = store(d0.0, d0.1, n)
                while_head(d1, 0)
            while_head(mem: mem, j: i32):
                branch(mem, lt(j, 100), if_then, if_else)
            if_then(mem: mem):
                d0 = load(mem, f.d0.1)
                d1 = add(d0.1, 1)
                d2 = store(d0.0, f.d0.1, d1)
                d3 = add(while_head.j, d1)
                branch(d2, gt(d3, 10), if_then_1, if_else_1)
            if_then_1(mem: mem):
                while_exit(mem)
            while_exit(mem: mem):
                d0 = load(mem, f.d0.1)
                f.ret(d0.0, add(mul(f.n, 2), d0.1))
            if_else_1(mem: mem):
                while_head(mem, if_then.d3)
            if_else(mem: mem):
                while_exit(mem)
        "#]],
    );
}

#[test]
fn an_escaping_continue_makes_variables_read_at_the_header_slots() {
    check_graph(
        "fn keep(f: fn() -> !) -> () {}
         extern fn f(n: i32) -> i32 {
             let mut i = n;
             let mut last = 0;
             while i < 100 {
                 keep(continue);
                 i += 1;
                 last = i;
                 last += 2;
                 if last > 50 { return(last) }
             }
             i
         }",
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                d0 = slot[i32](mem)
                d1 = store(d0.0, d0.1, n)
                while_head(d1)
            while_head(mem: mem):
                d0 = load(mem, f.d0.1)
                branch(d0.0, lt(d0.1, 100), if_then, if_else)
            if_then(mem: mem):
                keep(mem, while_head, next)
            keep(mem: mem, f: cn(mem), ret: cn(mem)):
                ret(mem)
            next(mem: mem):
                d0 = load(mem, f.d0.1)
                d1 = store(d0.0, f.d0.1, add(d0.1, 1))
                d2 = add(d0.1, 3)
                branch(d1, gt(d2, 50), if_then_1, if_else_1)
            if_then_1(mem: mem):
                f.ret(mem, next.d2)
            if_else_1(mem: mem):
                while_head(mem)
            if_else(mem: mem):
                d0 = load(mem, f.d0.1)
                f.ret(d0.0, d0.1)
        "#]],
    );
}

#[test]
fn an_escaping_jump_may_be_called_after_the_loop() {
    check_graph(
        "fn keep(f: fn() -> !) -> () {}
         fn again() -> bool { true }
         extern fn f(n: i32) -> i32 {
             let mut sum = 0;
             while again() { keep(break); }
             sum += n;
             if again() { return(sum) }
             sum + 1
         }",
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                d0 = slot[i32](mem)
                d1 = store(d0.0, d0.1, 0)
                while_head(d1)
            while_head(mem: mem):
                again(mem, next)
            again(mem: mem, ret: cn(mem, bool)):
                ret(mem, true)
            next(mem: mem, p1: bool):
                branch(mem, p1, if_then, if_else)
            if_then(mem: mem):
                keep(mem, while_exit, next_1)
            keep(mem: mem, f: cn(mem), ret: cn(mem)):
                ret(mem)
            while_exit(mem: mem):
                d0 = load(mem, f.d0.1)
                d1 = store(d0.0, f.d0.1, add(f.n, d0.1))
                again(d1, next_2)
            next_2(mem: mem, p1: bool):
                branch(mem, p1, if_then_1, if_else_1)
            if_then_1(mem: mem):
                d0 = load(mem, f.d0.1)
                f.ret(d0.0, d0.1)
            if_else_1(mem: mem):
                d0 = load(mem, f.d0.1)
                f.ret(d0.0, add(d0.1, 1))
            next_1(mem: mem):
                while_head(mem)
            if_else(mem: mem):
                while_exit(mem)
        "#]],
    );
}

#[test]
fn an_escaping_break_of_a_generator_makes_later_changes_slots() {
    check_graph(
        "fn gen(body: fn(i32) -> ()) -> () { body(1) }
         fn keep(f: fn() -> !) -> () {}
         extern fn f(n: i32) -> i32 {
             let mut before = n;
             before += 1;
             let mut after = 0;
             for i in gen() { keep(break) }
             after += before;
             after
         }",
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                d0 = slot[i32](mem)
                d1 = store(d0.0, d0.1, 0)
                gen(d1, lambda, next)
            gen(mem: mem, body: cn(mem, i32, cn(mem)), ret: cn(mem)):
                body(mem, 1, ret)
            lambda(mem: mem, i: i32, ret: cn(mem)):
                keep(mem, next, ret)
            keep(mem: mem, f: cn(mem), ret: cn(mem)):
                ret(mem)
            next(mem: mem):
                d0 = load(mem, f.d0.1)
                d1 = add(add(f.n, 1), d0.1)
                d2 = store(d0.0, f.d0.1, d1)
                f.ret(d2, d1)
        "#]],
    );
}

#[test]
fn an_escaping_return_keeps_variables_values() {
    check_graph(
        "fn keep(f: fn(i32) -> !) -> () {}
         extern fn f(n: i32) -> i32 {
             let mut i = n;
             keep(return);
             while i < 10 { i += 3 }
             i
         }",
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                keep(mem, ret, next)
            keep(mem: mem, f: cn(mem, i32), ret: cn(mem)):
                ret(mem)
            next(mem: mem):
                while_head(mem, f.n)
            while_head(mem: mem, i: i32):
                branch(mem, lt(i, 10), if_then, if_else)
            if_then(mem: mem):
                while_head(mem, add(while_head.i, 3))
            if_else(mem: mem):
                f.ret(mem, while_head.i)
        "#]],
    );
}

#[test]
fn large_arrays_are_slots_if_indexed_or_joined() {
    check_graph(
        "static N = 2;
         extern fn f(n: i32) -> i32 {
             let mut known: [i32 * 1000];
             let at = 3;
             known(at) = n;
             known(N * 2) = n + 1;
             let mut searched: [i32 * 1000];
             searched(n) = 5;
             let mut carried: [i32 * 1000];
             if n > 5 { carried(1) = 6 }
             known(3) + known(4) + searched(0) + carried(1)
         }",
        expect![[r#"
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                d0 = slot[[i32 * 1000]](mem)
                d1 = store(d0.0, lea(d0.1, n), 5)
                d2 = slot[[i32 * 1000]](d1)
                branch(d2.0, gt(n, 5), if_then, if_else)
            if_then(mem: mem):
                d0 = lea(f.d2.1, 1i32)
                d1 = store(mem, d0, 6)
                join(d1)
            join(mem: mem):
                d0 = load(mem, lea(f.d0.1, 0i32))
                d1 = load(d0.0, if_then.d0)
                f.ret(d1.0, add(add(add(f.n, add(f.n, 1)), d0.1), d1.1))
            if_else(mem: mem):
                join(mem)
        "#]],
    );
}

#[test]
fn aggregates_are_one_block_parameter() {
    check_graph(
        "struct P { x: i32, y: (i32, i32) }
         extern fn f(n: i32) -> i32 {
             let mut p = P { x: 0, y: (0, 1) };
             while p.x < n { p.x = p.x + 1; p.y = (p.y(1), p.y(0) + p.y(1)) }
             p.y(0)
         }",
        expect![[r#"
            struct P { x: i32, y: (i32, i32) }
            export f(mem: mem, n: i32, ret: cn(mem, i32)):
                while_head(mem, P { 0, (0, 1) })
            while_head(mem: mem, p: P):
                branch(mem, lt(p.0, f.n), if_then, if_else)
            if_then(mem: mem):
                while_head(mem, P { add(while_head.p.0, 1), (while_head.p.1.1, add(while_head.p.1.1, while_head.p.1.0)) })
            if_else(mem: mem):
                f.ret(mem, while_head.p.1.0)
        "#]],
    );
}
