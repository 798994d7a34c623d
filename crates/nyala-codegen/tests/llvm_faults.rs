//! Whether the LLVM that is found has the faults that `llvm::faults` says its version has.
//!
//! Each fault has a module in `tests/llvm_faults`, which is compiled without work-arounds. These tests are a process of
//! their own, because some work-arounds are options of the whole process.

use std::process::Command;

use nyala_codegen::llvm::faults::{Fault, SUPPORTED};
use nyala_codegen::llvm::{Llvm, Options, Output, compile};

/// The code of a module for a target, without work-arounds.
fn code(text: &str, target: &str, cpu: Option<&str>, opt_level: u8, output: Output) -> String {
    let options =
        Options { target: Some(target.into()), cpu: cpu.map(str::to_owned), opt_level, ..Options::default() };
    let llvm = Llvm::with_faults().expect("a Rust toolchain has LLVM");
    let code = compile(llvm, text, &options, output, |_| {}).expect("the module is well formed");
    String::from_utf8(code).expect("assembly is text")
}

fn assembly(text: &str, target: &str, cpu: Option<&str>, opt_level: u8) -> String {
    code(text, target, cpu, opt_level, Output::Assembly)
}

const X86: &str = "x86_64-unknown-linux-gnu";
const AARCH64: &str = "aarch64-unknown-linux-gnu";

/// Whether LLVM makes wrong code of the module for a fault, and the code.
fn shows(fault: Fault) -> (bool, String) {
    match fault {
        Fault::StackVectors => {
            let code = assembly(include_str!("llvm_faults/tailcc_stack_vector.ll"), X86, None, 2);
            (!is_balanced(&code), code)
        }
        Fault::SingleLaneStores => {
            let code = assembly(include_str!("llvm_faults/single_lane_store.ll"), X86, Some("znver4"), 2);
            let stores = code.lines().filter(|line| line.contains("(%rdi)")).map(str::trim);
            // A store of all lanes under a mask is right too.
            let is_masked = |store: &str| store.starts_with("vpmovqb") && store.ends_with("{%k1}");
            let is_byte = |store: &str| store.starts_with("movb") || store.starts_with("vpextrb");
            (!stores.clone().all(|store| is_byte(store) || is_masked(store)), code)
        }
        Fault::NarrowIndices => {
            let text = include_str!("llvm_faults/narrow_indices.ll");
            let code = code(text, X86, Some("x86-64-v3"), 2, Output::Llvm);
            (code.contains("store <"), code)
        }
        Fault::StackBytes => (crashes("compiles_a_comparison_on_the_stack"), String::new()),
        Fault::SumWithXor => {
            let code = code(include_str!("llvm_faults/sum_with_xor.ll"), X86, None, 1, Output::Llvm);
            (!code.contains("ret i32 7"), code)
        }
        Fault::ShrinkWrapping => returns_with_arguments(2),
        Fault::UnoptimizedTailcc => returns_with_arguments(0),
    }
}

/// Whether what `caller` takes from the stack is given back by it and by `callee`.
fn is_balanced(code: &str) -> bool {
    let (callee, caller) = code.split_once("\ncaller:").expect("the caller comes second");
    let number = |line: &str| -> i64 {
        let digits = line.split('$').nth(1).unwrap_or("0").split(',').next().unwrap_or("0").trim();
        digits.parse().expect("an immediate operand is a number")
    };
    let sum = |code: &str, start: &str| -> i64 {
        code.lines().map(str::trim).filter(|line| line.starts_with(start)).map(number).sum()
    };
    let count = |start: &str| caller.lines().filter(|line| line.trim().starts_with(start)).count() as i64;
    let taken = sum(caller, "subq\t$") + 8 * count("pushq");
    let given = sum(callee, "retq\t$") + sum(caller, "addq\t$") + 8 * count("popq");
    taken == given
}

/// Whether `f` returns somewhere without removing its 16 bytes of arguments, the last thing before `ret`.
fn returns_with_arguments(opt_level: u8) -> (bool, String) {
    let code = assembly(include_str!("llvm_faults/tailcc_aarch64.ll"), AARCH64, None, opt_level);
    let lines: Vec<&str> = code.lines().map(str::trim).filter(|line| !line.starts_with(".cfi")).collect();
    let mut returns = lines.windows(2).filter(|pair| pair[1] == "ret").map(|pair| pair[0]);
    let is_missing = returns.any(|before| before != "add\tsp, sp, #16");
    (is_missing, code)
}

/// Whether a test of this file that is not run by itself ends its process by a signal.
fn crashes(test: &str) -> bool {
    let this = std::env::current_exe().expect("a test is a program");
    let output =
        Command::new(this).args(["--exact", test, "--ignored"]).output().expect("it can be run again");
    output.status.code().is_none()
}

#[test]
#[ignore = "LLVM crashes; run by `crashes`"]
fn compiles_a_comparison_on_the_stack() {
    let code = assembly(include_str!("llvm_faults/tailcc_stack_byte.ll"), X86, None, 2);
    assert!(code.contains("fmod"), "{code}");
}

#[test]
fn the_table_of_faults_is_right_about_this_version() {
    let llvm = Llvm::with_faults().expect("a Rust toolchain has LLVM");
    let mut wrong = vec![];
    for fault in Fault::ALL {
        let (is_there, code) = shows(fault);
        if is_there != fault.versions().contains(&llvm.version.major) {
            let what = if is_there { "has" } else { "does not have" };
            wrong.push(format!("LLVM {} {what} {fault:?}:\n{code}", llvm.version));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn only_faults_of_supported_versions_are_worked_around() {
    for fault in Fault::ALL {
        let versions = fault.versions();
        assert!(SUPPORTED.contains(versions.start()) && SUPPORTED.contains(versions.end()), "{fault:?}");
    }
}
