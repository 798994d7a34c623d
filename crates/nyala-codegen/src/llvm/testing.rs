//! For the tests of passes over LLVM's modules: a program in, the text that LLVM makes of it out.

use super::{Llvm, Options, Output, compile};

pub const X86: &str = "x86_64-unknown-linux-gnu";

/// The assembly for a processor of x86-64.
pub fn x86_assembly(text: &str, cpu: &str) -> String {
    compiled(text, X86, cpu, Output::Assembly)
}

/// Well-formed LLVM assembly, compiled for a processor to a text.
pub fn compiled(text: &str, target: &str, cpu: &str, output: Output) -> String {
    let options = Options { target: Some(target.into()), cpu: Some(cpu.into()), ..Options::default() };
    let llvm = Llvm::get().expect("a Rust toolchain has LLVM");
    let code = compile(llvm, text, &options, output, |_| {}).expect("it is well formed");
    String::from_utf8(code).expect("assembly is text")
}
