//! Enums, structs, large values, and what has no code.

use expect_test::expect;

use super::check;

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
