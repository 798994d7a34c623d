//! Small bodies of `vectorize`, and the SIMD code that becomes of them. What is the same for
//! all lanes, and which ways lanes go, shows in the types and in the branches that are left.

use std::process::ExitCode;

use nyala_opt::vectorize;
use nyala_span::Diagnostic;
use nyala_test_support::ir_files::{self, Failed, TestFile, verified_text};

fn main() -> ExitCode {
    ir_files::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectorize"), render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    let mut world = file.verified_world()?;
    world.set_folding(true);
    let warnings = vectorize(&mut world);
    let printed = verified_text(&world)?;
    let warnings: String = warnings.iter().map(describe).collect();
    Ok(file.expecting(&(warnings + &printed)))
}

fn describe(warning: &Diagnostic) -> String {
    let labels = std::iter::once(&warning.primary).chain(&warning.secondary);
    let reasons: Vec<&str> =
        labels.map(|label| label.message.as_str()).filter(|text| !text.is_empty()).collect();
    format!("; {} {}\n", warning.message, reasons.join(", "))
}
