//! What LLVM is told of parameters and decisions, and what it is not.

use expect_test::{Expect, expect};
use nyala_codegen::llvm_asm::{self, Abi};

/// The lines of a program's LLVM assembly that `shown` chooses.
fn check(program: &str, abi: Abi, shown: impl Fn(&str) -> bool, expected: Expect) {
    let unindented: String = program
        .lines()
        .map(|line| line.strip_prefix("         ").unwrap_or(line).to_owned() + "\n")
        .collect();
    let world = nyala_ir::text::parse(&unindented).expect("the program is well formed");
    nyala_ir::verify(&world).expect("the program keeps the rules");
    let options = llvm_asm::Options { abi, ..llvm_asm::Options::default() };
    let module = llvm_asm::write(&world, &options).expect("the program has native code");
    let lines: String =
        module.text.lines().filter(|line| shown(line)).map(|line| format!("{line}\n")).collect();
    expected.assert_eq(&lines);
}

fn heads(program: &str, expected: Expect) {
    check(program, Abi::SysV, |line| line.starts_with("define internal"), expected);
}

#[test]
fn address_of_a_local_is_dereferenceable_and_noalias() {
    heads(
        "export main(mem: mem, ret: cn(mem, i32)):
             d0 = slot[[i32 * 4]](mem)
             read(extract(d0, 0), extract(d0, 1), ret)
         read(mem: mem, p: &[i32 * 4], ret: cn(mem, i32)):
             more(mem, lea(p, 1), ret)
         more(mem: mem, q: &i32, ret: cn(mem, i32)):
             d0 = load(mem, q)
             ret(extract(d0, 0), extract(d0, 1))",
        expect![[r#"
            define internal tailcc i32 @main.1() #0 {
            define internal tailcc i32 @read(ptr noalias noundef nonnull dereferenceable(16) align 4 %p) #0 {
            define internal tailcc i32 @more(ptr noalias noundef nonnull dereferenceable(12) align 4 %q) #0 {
        "#]],
    );
}

#[test]
fn address_that_is_passed_twice_or_escapes_may_alias() {
    heads(
        "global g: &i32
         export main(mem: mem, ret: cn(mem, i32)):
             d0 = slot[i32](mem)
             both(extract(d0, 0), extract(d0, 1), extract(d0, 1), next)
         next(mem: mem, x: i32):
             d0 = slot[i32](mem)
             keep(extract(d0, 0), extract(d0, 1), main.ret)
         both(mem: mem, p: &i32, q: &i32, ret: cn(mem, i32)):
             d0 = load(mem, p)
             ret(store(extract(d0, 0), q, 1), extract(d0, 1))
         keep(mem: mem, p: &i32, ret: cn(mem, i32)):
             ret(store(mem, g, p), 2)",
        expect![[r#"
            define internal tailcc i32 @main.1() #0 {
            define internal tailcc i32 @both(ptr noundef nonnull dereferenceable(4) align 4 %p, ptr noundef nonnull dereferenceable(4) align 4 %q) #0 {
            define internal tailcc i32 @keep(ptr noundef nonnull dereferenceable(4) align 4 %p) #0 {
        "#]],
    );
}

#[test]
fn exported_functions_know_nothing_of_their_arguments() {
    heads(
        "export f(mem: mem, p: &i32, ret: cn(mem, i32)):
             g(mem, p, ret)
         g(mem: mem, p: &i32, ret: cn(mem, i32)):
             d0 = load(mem, p)
             ret(extract(d0, 0), extract(d0, 1))",
        expect![[r#"
            define internal tailcc i32 @f.1(ptr %p) #0 {
            define internal tailcc i32 @g(ptr %p) #0 {
        "#]],
    );
}

#[test]
fn negative_offset_is_not_dereferenceable() {
    heads(
        "export main(mem: mem, ret: cn(mem, i32)):
             d0 = slot[[i32 * 4]](mem)
             read(extract(d0, 0), lea(extract(d0, 1), -1i8), ret)
         read(mem: mem, p: &i32, ret: cn(mem, i32)):
             d0 = load(mem, p)
             ret(extract(d0, 0), extract(d0, 1))",
        expect![[r#"
            define internal tailcc i32 @main.1() #0 {
            define internal tailcc i32 @read(ptr noalias %p) #0 {
        "#]],
    );
}

#[test]
fn exhaustive_switch_has_an_unreachable_default() {
    check(
        "enum E { A: i32, B: f32, C }
         export f(mem: mem, e: E, ret: cn(mem, i32)):
             switch(mem, tag(e), c, 0, a, 1, b)
         a(mem: mem):
             f.ret(mem, 1)
         b(mem: mem):
             f.ret(mem, 2)
         c(mem: mem):
             f.ret(mem, 3)",
        Abi::SysV,
        |line| line.contains("tag") || line.contains("leave") || line.contains("unreachable"),
        expect![[r#"
              %tag = extractvalue %E %e, 1
              %tag.1 = zext nneg i8 %tag to i32
              switch i32 %tag.1, label %leave [ i32 0, label %a i32 1, label %b i32 2, label %c ]
            leave:
              unreachable
        "#]],
    );
}

#[test]
fn riscv_aggregate_parameters_are_copied_before_a_store() {
    check(
        "struct P { x: i32, y: i32 }
         export f(mem: mem, p: P, ret: cn(mem, i32)):
             ret(mem, extract(p, 0))",
        Abi::Lp64d,
        |line| !line.is_empty(),
        expect![[r#"
            %P = type { i32, i32 }
            define internal fastcc i32 @f.1(%P %p) #0 {
            entry:
              %whole = select i1 true, %P %p, %P poison
              %part = extractvalue %P %whole, 0
              ret i32 %part
            }
            define signext i32 @f(i64 %0) #0 {
            start:
              %crossing = alloca [8 x i8], align 8
              store i64 %0, ptr %crossing, align 8
              %arrived = load %P, ptr %crossing, align 4
              %result = call fastcc i32 @f.1(%P %arrived)
              ret i32 %result
            }
            attributes #0 = { nounwind uwtable "probe-stack"="inline-asm" }
        "#]],
    );
}

#[test]
fn vector_alignment_follows_from_the_start_of_the_group() {
    check(
        "export main(mem: mem, ret: cn(mem)):
             d0 = alloc[f32](mem, 256i64)
             group(extract(d0, 0), 0i64, extract(d0, 1))
         group(mem: mem, at: i64, p: &[f32]):
             branch(mem, lt(at, 256i64), whole, done)
         whole(mem: mem):
             lanes(mem, cast[i32](group.at), group.p, again)
         again(mem: mem):
             group(mem, add(group.at, 8i64), group.p)
         done(mem: mem):
             main.ret(mem)
         lanes(mem: mem, i: i32, p: &[f32], ret: cn(mem)):
             d0 = load_lanes(mem, lea(p, i), splat[8](true))
             d1 = load_lanes(extract(d0, 0), lea(p, add(i, 2)), splat[8](true))
             ret(store_lanes(extract(d1, 0), lea(p, add(i, 1)), splat[8](true), add(extract(d0, 1), extract(d1, 1))))
         export others(mem: mem, i: i32, p: &[f32], ret: cn(mem)):
             d0 = load_lanes(mem, lea(p, i), splat[8](true))
             ret(store_lanes(extract(d0, 0), lea(p, mul(i, 8)), splat[8](true), extract(d0, 1)))",
        Abi::SysV,
        |line| line.contains(", align") || line.starts_with("define internal tailcc void"),
        expect![[r#"
            define internal tailcc void @main.1() #0 {
            define internal tailcc void @others.1(i32 %i, ptr %p) #0 {
              %load = load <8 x float>, ptr %at, align 4
              store <8 x float> %load, ptr %at.1, align 4
            define internal tailcc void @lanes(i32 %i, ptr %p) #0 {
              %load = load <8 x float>, ptr %at, align 32
              %load.1 = load <8 x float>, ptr %at.1, align 8
              store <8 x float> %add.2, ptr %at.2, align 4
        "#]],
    );
}
