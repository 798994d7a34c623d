//! Blocks, jumps, calls and loops.

use expect_test::expect;

use super::check;

#[test]
fn block_parameters_are_phis() {
    check(
        "export max(mem: mem, a: i32, b: i32, ret: cn(mem, i32)):
             branch(mem, lt(a, b), less, more)
         less(mem: mem):
             join(mem, max.b)
         more(mem: mem):
             join(mem, max.a)
         join(mem: mem, x: i32):
             max.ret(mem, add(x, 1))",
        expect![[r#"
            define internal tailcc i32 @max.1(i32 %a, i32 %b) #0 {
            entry:
              %lt = icmp slt i32 %a, %b
              br i1 %lt, label %less, label %more

            less:
              br label %join

            more:
              br label %join

            join:
              %x = phi i32 [ %b, %less ], [ %a, %more ]
              %add = add nsw i32 %x, 1
              ret i32 %add
            }

            define i32 @max(i32 %0, i32 %1) #0 {
            start:
              %result = call tailcc i32 @max.1(i32 %0, i32 %1)
              ret i32 %result
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn self_tail_call_is_a_loop() {
    check(
        "export sum(mem: mem, n: u64, acc: u64, ret: cn(mem, u64)):
             branch(mem, eq(n, 0), done, more)
         done(mem: mem):
             sum.ret(mem, sum.acc)
         more(mem: mem):
             sum(mem, sub(sum.n, 1), add(sum.acc, sum.n), sum.ret)",
        expect![[r#"
            define internal tailcc i64 @sum.1(i64 %n, i64 %acc) #0 {
            entry:
              br label %start

            start:
              %n.1 = phi i64 [ %n, %entry ], [ %sub, %more ]
              %acc.1 = phi i64 [ %acc, %entry ], [ %add, %more ]
              %eq = icmp eq i64 %n.1, 0
              br i1 %eq, label %done, label %more

            done:
              ret i64 %acc.1

            more:
              %sub = sub i64 %n.1, 1
              %add = add i64 %acc.1, %n.1
              br label %start
            }

            define i64 @sum(i64 %0, i64 %1) #0 {
            start:
              %result = call tailcc i64 @sum.1(i64 %0, i64 %1)
              ret i64 %result
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn tail_calls_need_no_stack() {
    check(
        "export even(mem: mem, n: u32, ret: cn(mem, bool)):
             branch(mem, eq(n, 0), yes, no)
         yes(mem: mem):
             even.ret(mem, true)
         no(mem: mem):
             odd(mem, sub(even.n, 1), even.ret)
         odd(mem: mem, n: u32, ret: cn(mem, bool)):
             branch(mem, eq(n, 0), stop, go)
         stop(mem: mem):
             odd.ret(mem, false)
         go(mem: mem):
             even(mem, sub(odd.n, 1), odd.ret)",
        expect![[r#"
            define internal tailcc i1 @even.1(i32 %n) #0 {
            entry:
              %eq = icmp eq i32 %n, 0
              br i1 %eq, label %yes, label %no

            yes:
              ret i1 true

            no:
              %sub = sub i32 %n, 1
              %result = tail call tailcc i1 @odd(i32 %sub)
              ret i1 %result
            }

            define zeroext i1 @even(i32 %0) #0 {
            start:
              %result = call tailcc i1 @even.1(i32 %0)
              ret i1 %result
            }

            define internal tailcc i1 @odd(i32 %n) #0 {
            entry:
              %eq = icmp eq i32 %n, 0
              br i1 %eq, label %stop, label %go

            stop:
              ret i1 false

            go:
              %sub = sub i32 %n, 1
              %result = tail call tailcc i1 @even.1(i32 %sub)
              ret i1 %result
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn escaping_local_prevents_tail_calls() {
    check(
        "import use(mem: mem, p: &i32, ret: cn(mem)) = \"use\"
         export f(mem: mem, ret: cn(mem)):
             d0 = slot[i32](mem)
             d1 = store(d0.0, d0.1, 1)
             g(d1, d0.1, ret)
         g(mem: mem, p: &i32, ret: cn(mem)):
             use(mem, p, ret)",
        expect![[r#"
            declare void @use(ptr) nounwind

            define internal tailcc void @f.1() #0 {
            entry:
              %slot = alloca i32, align 4
              store i32 1, ptr %slot, align 4
              call tailcc void @g(ptr %slot)
              ret void
            }

            define void @f() #0 {
            start:
              call tailcc void @f.1()
              ret void
            }

            define internal tailcc void @g(ptr noundef nonnull dereferenceable(4) align 4 %p) #0 {
            entry:
              call void @use(ptr %p)
              ret void
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn loop_is_a_header_and_a_back_edge() {
    check(
        "export f(mem: mem, x: i32, ret: cn(mem, i32)):
             count(mem, 0)
         count(mem: mem, i: i32):
             branch(mem, lt(i, f.x), more, done)
         more(mem: mem):
             count(mem, add(count.i, 1))
         done(mem: mem):
             f.ret(mem, count.i)",
        expect![[r#"
            define internal tailcc i32 @f.1(i32 %x) #0 {
            entry:
              br label %count

            count:
              %i = phi i32 [ 0, %entry ], [ %add, %more ]
              %lt = icmp slt i32 %i, %x
              br i1 %lt, label %more, label %done

            more:
              %add = add nsw i32 %i, 1
              br label %count

            done:
              ret i32 %i
            }

            define i32 @f(i32 %0) #0 {
            start:
              %result = call tailcc i32 @f.1(i32 %0)
              ret i32 %result
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}
