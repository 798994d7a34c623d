//! Programs in text form, and the LLVM assembly they become: `control` (blocks, jumps, calls), `values`, `closures`,
//! `stack_arguments`, and `sines`.

mod closures;
mod control;
mod sines;
mod stack_arguments;
mod values;

use expect_test::Expect;
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
