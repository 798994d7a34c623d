//! Programs in text form, and the LLVM assembly they become.

use expect_test::{Expect, expect};
use nyala_codegen::llvm_asm;

/// `text` with the first nine columns of indented lines removed: items start in the
/// first column.
fn unindent(text: &str) -> String {
    text.lines().map(|line| line.strip_prefix("         ").unwrap_or(line).to_owned() + "\n").collect()
}

/// Compares the LLVM assembly of a program, or what is reported.
fn check(program: &str, expected: Expect) {
    expected.assert_eq(&written(program, llvm_asm::Abi::default()));
}

/// The LLVM assembly of a program for a machine, or what is reported.
fn written(program: &str, abi: llvm_asm::Abi) -> String {
    let world = nyala_ir::text::parse(&unindent(program)).expect("the program is well formed");
    nyala_ir::verify(&world).expect("the program keeps the rules");
    let options = llvm_asm::Options { abi, ..llvm_asm::Options::default() };
    llvm_asm::write(&world, &options).map(|module| module.text).unwrap_or_else(|errors| {
        let reports = errors.iter().map(|error| error.to_diagnostic());
        reports.map(|report| format!("{}: {}\n", report.code, report.message)).collect()
    })
}

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

#[test]
fn enums_are_storage_and_a_tag() {
    check(
        "enum E { None, Some: f64 }
         export f(mem: mem, x: f64, ret: cn(mem, f64)):
             g(mem, variant[E.Some](x), ret)
         g(mem: mem, e: E, ret: cn(mem, f64)):
             branch(mem, eq(tag(e), 1), some, none)
         some(mem: mem):
             g.ret(mem, payload[Some](g.e))
         none(mem: mem):
             g.ret(mem, 0.0)",
        expect![[r#"
            %E = type { [1 x i64], i8 }

            define internal tailcc double @f.1(double %x) #0 {
            entry:
              %tmp = alloca %E, align 8
              store double %x, ptr %tmp, align 8
              %at = getelementptr inbounds %E, ptr %tmp, i32 0, i32 1
              store i8 1, ptr %at
              %load = load %E, ptr %tmp, align 8
              %result = tail call tailcc double @g(%E %load)
              ret double %result
            }

            define double @f(double %0) #0 {
            start:
              %result = call tailcc double @f.1(double %0)
              ret double %result
            }

            define internal tailcc double @g(%E %e) #0 {
            entry:
              %tmp = alloca %E, align 8
              %tag = extractvalue %E %e, 1
              %tag.1 = zext nneg i8 %tag to i32
              %eq = icmp eq i32 %tag.1, 1
              br i1 %eq, label %some, label %none

            some:
              store %E %e, ptr %tmp, align 8
              %load = load double, ptr %tmp, align 8
              ret double %load

            none:
              ret double 0x0000000000000000
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn enum_constants_have_explicit_padding() {
    check(
        "enum E { None, Some: u16 }
         const table: [E * 2] = [variant[E.Some](7), variant[E.None](())]
         export f(mem: mem, i: i32, ret: cn(mem, u32)):
             d0 = load(mem, lea(table, i))
             ret(d0.0, tag(d0.1))",
        expect![[r#"
            %E = type { [1 x i16], i8 }

            @table = internal constant <{ <{ i16, i8, [1 x i8] }>, <{ {}, [2 x i8], i8, [1 x i8] }> }> <{ <{ i16, i8, [1 x i8] }> <{ i16 7, i8 1, [1 x i8] zeroinitializer }>, <{ {}, [2 x i8], i8, [1 x i8] }> <{ {} {}, [2 x i8] zeroinitializer, i8 0, [1 x i8] zeroinitializer }> }>, align 2

            define internal tailcc i32 @f.1(i32 %i) #0 {
            entry:
              %index = sext i32 %i to i64
              %at = getelementptr inbounds %E, ptr @table, i64 %index
              %load = load %E, ptr %at, align 2
              %tag = extractvalue %E %load, 1
              %tag.1 = zext nneg i8 %tag to i32
              ret i32 %tag.1
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

#[test]
fn large_values_stay_in_memory() {
    check(
        "export f(mem: mem, p: &[i64 * 100], q: &[i64 * 100], i: i32, ret: cn(mem, i64)):
             d0 = load(mem, p)
             d1 = store(d0.0, q, insert(d0.1, i, 3))
             ret(d1, extract(d0.1, i))",
        expect![[r#"
            declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)

            define internal tailcc i64 @f.1(ptr %p, ptr %q, i32 %i) #0 {
            entry:
              %tmp = alloca [100 x i64], align 8
              %tmp.1 = alloca [100 x i64], align 8
              call void @llvm.memcpy.p0.p0.i64(ptr align 8 %tmp, ptr align 8 %p, i64 800, i1 false)
              call void @llvm.memcpy.p0.p0.i64(ptr align 8 %tmp.1, ptr align 8 %tmp, i64 800, i1 false)
              %index = sext i32 %i to i64
              %at = getelementptr inbounds i64, ptr %tmp.1, i64 %index
              store i64 3, ptr %at, align 8
              call void @llvm.memcpy.p0.p0.i64(ptr align 8 %q, ptr align 8 %tmp.1, i64 800, i1 false)
              %index.1 = sext i32 %i to i64
              %at.1 = getelementptr inbounds i64, ptr %tmp, i64 %index.1
              %load = load i64, ptr %at.1, align 8
              ret i64 %load
            }

            define i64 @f(ptr %0, ptr %1, i32 %2) #0 {
            start:
              %result = call tailcc i64 @f.1(ptr %0, ptr %1, i32 %2)
              ret i64 %result
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn structs_are_first_class_values_and_byte_arrays_are_strings() {
    check(
        "struct P { x: i32, y: bool }
         const text: [u8 * 3] = \"a\\n\\0\"
         import puts(mem: mem, text: &[u8], ret: cn(mem, i32)) = \"puts\"
         export f(mem: mem, i: u8, ret: cn(mem, i32)):
             g(mem, P { 3, true }, i, next)
         next(mem: mem, p: P):
             puts(mem, bitcast[&[u8]](text), f.ret)
         g(mem: mem, p: P, i: u8, ret: cn(mem, P)):
             ret(mem, insert(p, 0, cast[i32](i)))",
        expect![[r#"
            %P = type { i32, i1 }

            @text = internal constant [3 x i8] c"a\0A\00", align 1

            declare i32 @puts(ptr) nounwind

            define internal tailcc i32 @f.1(i8 %i) #0 {
            entry:
              %result = call tailcc %P @g(%P { i32 3, i1 true }, i8 %i)
              br label %next

            next:
              %p = phi %P [ %result, %entry ]
              %result.1 = call i32 @puts(ptr @text)
              ret i32 %result.1
            }

            define i32 @f(i8 zeroext %0) #0 {
            start:
              %result = call tailcc i32 @f.1(i8 %0)
              ret i32 %result
            }

            define internal tailcc %P @g(%P %p, i8 %i) #0 {
            entry:
              %cast = zext i8 %i to i32
              %all = insertvalue %P %p, i32 %cast, 0
              ret %P %all
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn unsupported_programs_are_rejected() {
    check(
        "device shuffle(mem: mem, x: i32, ret: cn(mem, i32)) = \"__shfl\"
         export f(mem: mem, ret: cn(mem, i32)):
             shuffle(mem, 1, ret)",
        expect![[r#"
            E0922: native code does not support the device function `__shfl` on the host
        "#]],
    );
    check(
        "intrinsic parallel(mem: mem, n: i32, a: i32, b: i32, body: cn(mem, i32, cn(mem)), ret: cn(mem))
         export f(mem: mem, ret: cn(mem)):
             parallel(mem, 0, 0, 4, body, ret)
         body(mem: mem, i: i32, next: cn(mem)):
             f.ret(mem)",
        expect![[r#"
            E0920: the body of `parallel` jumps out of its loop
        "#]],
    );
}

#[test]
fn function_value_is_code_and_environment() {
    check(
        "export f(mem: mem, c: bool, ret: cn(mem, i32)):
             g(mem, select(c, one, two), ret)
         g(mem: mem, h: cn(mem, cn(mem, i32)), ret: cn(mem, i32)):
             h(mem, ret)
         one(mem: mem, ret: cn(mem, i32)):
             ret(mem, 1)
         two(mem: mem, ret: cn(mem, i32)):
             ret(mem, 2)",
        expect![[r#"
            define internal tailcc i32 @one_value(ptr %env) #0 {
            start:
              %result = tail call tailcc i32 @one()
              ret i32 %result
            }

            define internal tailcc i32 @two_value(ptr %env) #0 {
            start:
              %result = tail call tailcc i32 @two()
              ret i32 %result
            }

            define internal tailcc i32 @f.1(i1 %c) #0 {
            entry:
              %select = select i1 %c, { ptr, ptr } { ptr @one_value, ptr null }, { ptr, ptr } { ptr @two_value, ptr null }
              %result = tail call tailcc i32 @g({ ptr, ptr } %select)
              ret i32 %result
            }

            define i32 @f(i1 zeroext %0) #0 {
            start:
              %result = call tailcc i32 @f.1(i1 %0)
              ret i32 %result
            }

            define internal tailcc i32 @g({ ptr, ptr } %h) #0 {
            entry:
              %code = extractvalue { ptr, ptr } %h, 0
              %env = extractvalue { ptr, ptr } %h, 1
              %result = tail call tailcc i32 %code(ptr %env)
              ret i32 %result
            }

            define internal tailcc i32 @one() #0 {
            entry:
              ret i32 1
            }

            define internal tailcc i32 @two() #0 {
            entry:
              ret i32 2
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn closure_captures_into_its_environment() {
    check(
        "export f(mem: mem, c: bool, x: i64, y: i32, ret: cn(mem, i32)):
             h(mem, select(c, one, two), ret)
         h(mem: mem, g: cn(mem, i32, cn(mem, i32)), ret: cn(mem, i32)):
             g(mem, 3, next)
         next(mem: mem, z: i32):
             h.ret(mem, add(z, 1))
         one(mem: mem, z: i32, ret: cn(mem, i32)):
             ret(mem, add(z, add(f.y, cast[i32](f.x))))
         two(mem: mem, z: i32, ret: cn(mem, i32)):
             ret(mem, z)",
        expect![[r#"
            declare ptr @nyala_environment(i64, i64) nounwind

            define internal tailcc i32 @two_value(ptr %env, i32 %arg0) #0 {
            start:
              %result = tail call tailcc i32 @two(i32 %arg0)
              ret i32 %result
            }

            define internal tailcc i32 @f.1(i1 %c, i64 %x, i32 %y) #0 {
            entry:
              %call = call ptr @nyala_environment(i64 16, i64 8)
              %at = getelementptr inbounds i8, ptr %call, i64 0
              store i32 %y, ptr %at, align 4
              %at.1 = getelementptr inbounds i8, ptr %call, i64 8
              store i64 %x, ptr %at.1, align 8
              %closure = insertvalue { ptr, ptr } { ptr @one, ptr undef }, ptr %call, 1
              %select = select i1 %c, { ptr, ptr } %closure, { ptr, ptr } { ptr @two_value, ptr null }
              %result = tail call tailcc i32 @h({ ptr, ptr } %select)
              ret i32 %result
            }

            define i32 @f(i1 zeroext %0, i64 %1, i32 %2) #0 {
            start:
              %result = call tailcc i32 @f.1(i1 %0, i64 %1, i32 %2)
              ret i32 %result
            }

            define internal tailcc i32 @h({ ptr, ptr } %g) #0 {
            entry:
              %code = extractvalue { ptr, ptr } %g, 0
              %env = extractvalue { ptr, ptr } %g, 1
              %result = call tailcc i32 %code(ptr %env, i32 3)
              br label %next

            next:
              %z = phi i32 [ %result, %entry ]
              %add = add nsw i32 %z, 1
              ret i32 %add
            }

            define internal tailcc i32 @one(ptr noalias readonly noundef nonnull dereferenceable(16) align 8 %env, i32 %z) #0 {
            entry:
              %captured = getelementptr inbounds i8, ptr %env, i64 0
              %load = load i32, ptr %captured, align 4
              %captured.1 = getelementptr inbounds i8, ptr %env, i64 8
              %load.1 = load i64, ptr %captured.1, align 8
              %cast = trunc i64 %load.1 to i32
              %add = add nsw i32 %load, %cast
              %add.1 = add nsw i32 %z, %add
              ret i32 %add.1
            }

            define internal tailcc i32 @two(i32 %z) #0 {
            entry:
              ret i32 %z
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn escaping_return_continuation_is_a_parameter() {
    check(
        "export f(mem: mem, c: bool, x: i32, ret: cn(mem, i32)):
             g(mem, select(c, ret, other), x)
         other(mem: mem, y: i32):
             f.ret(mem, mul(y, 2))
         g(mem: mem, k: cn(mem, i32), x: i32):
             k(mem, x)",
        expect![[r#"
            declare ptr @nyala_environment(i64, i64) nounwind

            define internal tailcc void @f.1(i1 %c, i32 %x, { ptr, ptr } %ret) #0 {
            entry:
              %call = call ptr @nyala_environment(i64 16, i64 8)
              %at = getelementptr inbounds i8, ptr %call, i64 0
              store { ptr, ptr } %ret, ptr %at, align 8
              %closure = insertvalue { ptr, ptr } { ptr @other, ptr undef }, ptr %call, 1
              %select = select i1 %c, { ptr, ptr } %ret, { ptr, ptr } %closure
              br label %g

            g:
              %k = phi { ptr, ptr } [ %select, %entry ]
              %x.1 = phi i32 [ %x, %entry ]
              %code = extractvalue { ptr, ptr } %k, 0
              %env = extractvalue { ptr, ptr } %k, 1
              tail call tailcc void %code(ptr %env, i32 %x.1)
              ret void
            }

            define internal tailcc void @done(ptr %kept, i32 %arg0) #0 {
            start:
              store i32 %arg0, ptr %kept, align 4
              ret void
            }

            define i32 @f(i1 zeroext %0, i32 %1) #0 {
            start:
              %kept = alloca i32, align 4
              %closure = insertvalue { ptr, ptr } { ptr @done, ptr undef }, ptr %kept, 1
              call tailcc void @f.1(i1 %0, i32 %1, { ptr, ptr } %closure)
              %result = load i32, ptr %kept, align 4
              ret i32 %result
            }

            define internal tailcc void @other(ptr noalias readonly noundef nonnull dereferenceable(16) align 8 %env, i32 %y) #0 {
            entry:
              %captured = getelementptr inbounds i8, ptr %env, i64 0
              %load = load { ptr, ptr }, ptr %captured, align 8
              %mul = mul nsw i32 %y, 2
              %code = extractvalue { ptr, ptr } %load, 0
              %env.1 = extractvalue { ptr, ptr } %load, 1
              tail call tailcc void %code(ptr %env.1, i32 %mul)
              ret void
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn parallel_body_is_a_function() {
    check(
        "intrinsic parallel(mem: mem, n: i32, a: i32, b: i32, body: cn(mem, i32, cn(mem)), ret: cn(mem))
         export f(mem: mem, p: &[i32], n: i32, ret: cn(mem)):
             parallel(mem, 0, 0, n, body, ret)
         body(mem: mem, i: i32, next: cn(mem)):
             next(store(mem, lea(f.p, i), i))",
        expect![[r#"
            declare void @anydsl_parallel_for(i32, i32, i32, ptr, ptr) nounwind

            define internal void @body_body(ptr noalias readonly %env, i32 %lower, i32 %upper) #0 {
            start:
              %some = icmp slt i32 %lower, %upper
              br i1 %some, label %again, label %end

            again:
              %i = phi i32 [ %lower, %start ], [ %next, %again ]
              call tailcc void @body(ptr %env, i32 %i)
              %next = add nsw i32 %i, 1
              %more = icmp slt i32 %next, %upper
              br i1 %more, label %again, label %end

            end:
              ret void
            }

            define internal tailcc void @f.1(ptr %p, i32 %n) #0 {
            entry:
              %env = alloca [8 x i8], align 8
              %at = getelementptr inbounds i8, ptr %env, i64 0
              store ptr %p, ptr %at, align 8
              %closure = insertvalue { ptr, ptr } { ptr @body, ptr undef }, ptr %env, 1
              %env.1 = extractvalue { ptr, ptr } %closure, 1
              call void @anydsl_parallel_for(i32 0, i32 0, i32 %n, ptr %env.1, ptr @body_body)
              ret void
            }

            define void @f(ptr %0, i32 %1) #0 {
            start:
              call tailcc void @f.1(ptr %0, i32 %1)
              ret void
            }

            define internal tailcc void @body(ptr noalias readonly noundef nonnull dereferenceable(8) align 8 %env, i32 %i) #0 {
            entry:
              %captured = getelementptr inbounds i8, ptr %env, i64 0
              %load = load ptr, ptr %captured, align 8
              %index = sext i32 %i to i64
              %at = getelementptr inbounds i32, ptr %load, i64 %index
              store i32 %i, ptr %at, align 4
              ret void
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn stores_for_debuggers_need_debug_information() {
    check(
        "debugger global shown: i32
         export f(mem: mem, ret: cn(mem)):
             d0 = store(mem, shown, 7)
             ret(d0)",
        expect![[r#"
            define internal tailcc void @f.1() #0 {
            entry:
              ret void
            }

            define void @f() #0 {
            start:
              call tailcc void @f.1()
              ret void
            }

            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn vectors_on_the_stack_use_fastcc_without_tail_calls() {
    let params: Vec<String> = ('a'..='e').map(|name| format!("{name}: simd[f64 * 4]")).collect();
    let program = format!(
        "export f(mem: mem, {}, ret: cn(mem, simd[f64 * 4])):
             g(mem, f.e, f.d, f.c, f.b, f.a, next)
         next(mem: mem, x: simd[f64 * 4]):
             f.ret(mem, add(x, x))
         g(mem: mem, {}, ret: cn(mem, simd[f64 * 4])):
             g.ret(mem, add(g.a, g.e))",
        params.join(", "),
        params.join(", "),
    );
    let text = written(&program, llvm_asm::Abi::SysV);
    assert!(text.contains("define internal fastcc <4 x double> @g(<4 x double> %a"), "{text}");
    assert!(text.contains("call fastcc <4 x double> @g("), "{text}");
}

/// LLVM makes a tail call of a call before a jump to a block that returns.
#[test]
fn bytes_on_the_stack_use_fastcc_without_tail_calls() {
    let params = "a: i64, b: i64, c: i64, d: i64, e: bool, ret: cn(mem, i64)";
    let program = format!(
        "export f(mem: mem, {params}):
             branch(mem, f.e, then, other)
         then(mem: mem):
             g(mem, f.d, f.c, f.b, f.a, f.e, join)
         other(mem: mem):
             join(mem, 1)
         join(mem: mem, x: i64):
             f.ret(mem, x)
         g(mem: mem, {params}):
             g.ret(mem, 1)"
    );
    let text = written(&program, llvm_asm::Abi::SysV);
    assert!(text.contains("define internal fastcc i64 @g(i64 %a, i64 %b, i64 %c, i64 %d, i1 %e)"), "{text}");
    assert!(text.contains("call fastcc i64 @g("), "{text}");
}

#[test]
fn vectors_on_the_stack_are_scalars_in_tail_calls() {
    let vectors: Vec<String> = ('a'..='d').map(|name| format!("{name}: simd[f64 * 4]")).collect();
    let params = format!("{}, e: simd[i8 * 4], f: simd[bool * 3], ret: cn(mem, i64)", vectors.join(", "));
    let program = format!(
        "export f(mem: mem, {params}):
             g(mem, f.d, f.c, f.b, f.a, f.e, f.f, f.ret)
         g(mem: mem, {params}):
             g.ret(mem, 1)"
    );
    let text = written(&program, llvm_asm::Abi::SysV);
    assert!(text.contains("<4 x double> %d, double %e.part0.piece0, i64 %f.part0.piece0)"), "{text}");
    assert!(text.contains("= tail call tailcc i64 @g(<4 x double> %d, "), "{text}");
}

#[test]
fn bytes_on_the_stack_are_wider_in_tail_calls() {
    let params = "a: i64, b: i64, c: i64, d: bool, e: u8, f: (bool, i64), ret: cn(mem, i64)";
    let program = format!(
        "export f(mem: mem, {params}):
             g(mem, f.a, f.b, f.c, f.d, f.e, f.f, f.ret)
         g(mem: mem, {params}):
             g.ret(mem, 1)"
    );
    let text = written(&program, llvm_asm::Abi::SysV);
    let params = "i64 %c, i1 %d, i32 %e.part0, i32 %f.part0, i64 %f.part1)";
    assert!(text.contains(params), "{text}");
    assert!(text.contains("= trunc nuw i32 %e.part0 to i8"), "{text}");
}

#[test]
fn vectors_beside_bytes_on_the_stack_stay_whole_in_registers() {
    let params =
        "a: i64, b: i64, c: i64, d: i64, e: (simd[i32 * 16], bool), f: simd[u8 * 8], ret: cn(mem, i64)";
    let program = format!(
        "export f(mem: mem, {params}):
             g(mem, f.a, f.b, f.c, f.d, f.e, f.f, f.ret)
         g(mem: mem, {params}):
             g.ret(mem, 1)"
    );
    let text = written(&program, llvm_asm::Abi::SysV);
    assert!(text.contains("i64 %d, <16 x i32> %e.part0, i32 %e.part1, <8 x i8> %f)"), "{text}");
}

/// Calls of the kernels of sines and cosines, in order.
fn sine_kernels(program: &str) -> Vec<String> {
    let text = written(program, llvm_asm::Abi::default());
    let callee = |line: &str| {
        let (_, call) = line.split_once("call <4 x float> @nyala.")?;
        Some(call.split_once('(')?.0.to_owned())
    };
    text.lines().filter_map(callee).filter(|name| !name.contains("slow")).collect()
}

#[test]
fn sine_and_cosine_of_an_angle_share_its_reduction() {
    let program = "export f(mem: mem, x: simd[f32 * 4], y: simd[f32 * 4], ret: cn(mem, simd[f32 * 4])):
             next(mem, sin(x))
         next(mem: mem, s: simd[f32 * 4]):
             f.ret(mem, add(cos(f.x), add(s, sin(f.y))))";
    let kernels = sine_kernels(program);
    assert_eq!(kernels, ["sin.v4f32.shared", "cos.v4f32.shared", "sin.v4f32"]);
}

#[test]
fn sine_and_cosine_of_different_branches_share_nothing() {
    let program = "export f(mem: mem, c: bool, x: simd[f32 * 4], ret: cn(mem, simd[f32 * 4])):
             branch(mem, c, sine, cosine)
         sine(mem: mem):
             f.ret(mem, sin(f.x))
         cosine(mem: mem):
             f.ret(mem, cos(f.x))";
    let mut kernels = sine_kernels(program);
    kernels.sort();
    assert_eq!(kernels, ["cos.v4f32", "sin.v4f32"]);
}
