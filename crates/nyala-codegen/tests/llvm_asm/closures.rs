//! Functions as values, and bodies of loops on threads.

use expect_test::expect;

use super::check;

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
