//! The version of each kernel for the machine.
//!
//! LLVM assembly of a program is the same for all processors. It defines a kernel of `vector_math` several times, once
//! for each [`Level`] of instructions, with the level behind the symbol; the program calls the symbol without one.
//! [`chosen`] keeps the version of the highest level that the machine has.

use std::borrow::Cow;

use super::lane_moves::Instructions;
use crate::vector_math::Level;

/// What stands between the symbol of a kernel and its level.
const MARK: &str = "$level.";

/// The symbol of the version of a kernel.
pub(crate) fn versioned(symbol: &str, level: Level) -> String {
    format!("{symbol}{MARK}{level:?}")
}

impl Instructions {
    fn level(self) -> Level {
        match (self.fma, self.avx512_exponents) {
            (true, true) => Level::Exponents,
            (true, false) => Level::Fused,
            (false, _) => Level::Base,
        }
    }
}

/// Whether a program defines versions.
pub(super) fn are_in(text: &str) -> bool {
    text.contains(MARK)
}

/// LLVM assembly with one version of each kernel, which has the kernel's symbol.
pub(super) fn chosen(text: Cow<'_, str>, instructions: Instructions) -> Cow<'_, str> {
    let mark = format!("{MARK}{:?}(", instructions.level());
    let mut program = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        if !line.starts_with("define ") || !line.contains(MARK) {
            program += line;
        } else if line.contains(&mark) {
            program += &line.replacen(&mark, "(", 1);
        } else {
            // The rest of the definition.
            lines.by_ref().find(|line| line.starts_with('}'));
        }
    }
    Cow::Owned(program)
}

#[cfg(test)]
mod tests {
    use super::versioned;
    use crate::llvm::Output;
    use crate::llvm::testing::{X86, compiled};
    use crate::vector_math::Level;

    /// The instructions for a processor of a function that calls a kernel, whose versions add, multiply and divide.
    fn code(target: &str, cpu: &str) -> String {
        let ty = "<4 x double>";
        let versions = Level::ALL.into_iter().zip(["fadd", "fmul", "fdiv"]).map(|(level, instruction)| {
            let symbol = versioned("@kernel", level);
            format!(
                "define internal {ty} {symbol}({ty} %x) alwaysinline {{\n  %r = {instruction} {ty} %x, %x\n  ret {ty} %r\n}}\n"
            )
        });
        let text: String = versions.collect();
        let text = format!(
            "{text}define {ty} @f({ty} %x) {{\n  %r = call {ty} @kernel({ty} %x)\n  ret {ty} %r\n}}\n"
        );
        compiled(&text, target, cpu, Output::Assembly)
    }

    #[test]
    fn machines_get_the_version_of_their_level() {
        const ARM: &str = "aarch64-unknown-linux-gnu";
        for (target, cpu, wanted) in [
            (X86, "x86-64", "addpd"),
            (X86, "sandybridge", "vaddpd"),
            (X86, "x86-64-v3", "vmulpd"),
            (X86, "znver4", "vdivpd"),
            (ARM, "generic", "fmul"),
        ] {
            let code = code(target, cpu);
            assert!(code.contains(wanted), "{cpu}: {code}");
        }
    }
}
