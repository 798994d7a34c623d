//! Sines and cosines of one angle.

use nyala_codegen::llvm_asm;

use super::written;

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

#[test]
fn operations_come_before_sines_that_they_do_not_need() {
    let program = "export f(mem: mem, x: simd[f32 * 4], y: simd[f32 * 4], ret: cn(mem, simd[f32 * 4])):
             ret(mem, mul(add(sin(x), x), sqrt(y)))";
    let module = written(program, llvm_asm::Abi::default());
    let at = |operation: &str| module.find(operation).expect("it is written");
    assert!(at("%sqrt = ") < at("%sin = ") && at("%sin = ") < at("%add = "), "{module}");
}
