//! What products lose by rounding, by fused operations.
//!
//! LLVM assembly of a program is the same for all processors. Kernels that compute with twice the digits call
//! `nyala.product_rest`, which the program defines without fused operations, by a dozen others. For a machine that
//! has fused operations, [`replaced`] gives it another body: `fma(x, y, -product)`.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The prefix of the functions; the suffix of their type follows.
pub(crate) const PRODUCT_REST: &str = "nyala.product_rest.";

/// Whether a program defines such functions.
pub(super) fn are_in(text: &str) -> bool {
    text.contains(PRODUCT_REST)
}

/// LLVM assembly in which they are one fused operation each.
pub(super) fn replaced(text: Cow<'_, str>) -> Cow<'_, str> {
    let mut program = String::with_capacity(text.len());
    let mut declarations = String::new();
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        program += line;
        let Some((ty, suffix)) = defined(line) else { continue };
        let fma = format!("llvm.fma.{suffix}");
        let _ = writeln!(
            program,
            "entry:\n  %rest = fneg {ty} %z\n  %result = call {ty} @{fma}({ty} %x, {ty} %y, {ty} %rest)\n  ret {ty} %result\n}}"
        );
        if !text.contains(&format!("@{fma}(")) {
            let _ = writeln!(declarations, "declare {ty} @{fma}({ty}, {ty}, {ty})");
        }
        // The rest of the definition.
        lines.by_ref().find(|line| line.starts_with('}'));
    }
    Cow::Owned(program + &declarations)
}

/// The type of the function whose definition begins with a line, and its suffix.
fn defined(line: &str) -> Option<(&str, &str)> {
    let (ty, function) = line.strip_prefix("define internal ")?.split_once(" @")?;
    let (suffix, _) = function.strip_prefix(PRODUCT_REST)?.split_once('(')?;
    Some((ty, suffix))
}

#[cfg(test)]
mod tests {
    use crate::llvm::Output;
    use crate::llvm::testing::{X86, compiled};

    /// The instructions for a processor of a function that gives its third argument negated, unless there are fused
    /// operations.
    fn code(target: &str, cpu: &str) -> String {
        let text = "define internal <4 x double> @nyala.product_rest.v4f64(<4 x double> %x, <4 x double> %y, <4 x double> %z) \
                      alwaysinline nounwind {\n\
                      entry:\n  %r = fneg <4 x double> %z\n  ret <4 x double> %r\n}\n\
                    define <4 x double> @f(<4 x double> %x, <4 x double> %y, <4 x double> %z) {\n\
                      %r = call <4 x double> @nyala.product_rest.v4f64(<4 x double> %x, <4 x double> %y, <4 x double> %z)\n\
                      ret <4 x double> %r\n}\n";
        compiled(text, target, cpu, Output::Assembly)
    }

    #[test]
    fn rests_of_products_are_fused_where_the_machine_can() {
        for cpu in ["x86-64-v3", "znver4"] {
            let code = code(X86, cpu);
            assert!(code.contains("vfmsub"), "{cpu}: {code}");
        }
        for cpu in ["x86-64", "sandybridge"] {
            let code = code(X86, cpu);
            assert!(!code.contains("fma") && code.contains("xorp"), "{cpu}: {code}");
        }
        let code = code("aarch64-unknown-linux-gnu", "generic");
        assert!(code.contains("fmla") || code.contains("fmls"), "{code}");
    }
}
