//! Arguments on the stack of x86-64: see the Notes in `llvm_asm/arguments.rs`.

use nyala_codegen::llvm_asm;

use super::written;

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
