//! Small bodies of `vectorize`, and the SIMD code that becomes of them. What is the same for
//! all lanes, and which ways lanes go, shows in the types and in the branches that are left.

#[path = "../../nyala-ir/tests/support/files.rs"]
mod files;

use std::process::ExitCode;

use files::TestFile;
use libtest_mimic::Failed;
use nyala_ir::text;
use nyala_ir::verify::verify;
use nyala_opt::vectorize;
use nyala_span::Diagnostic;

fn main() -> ExitCode {
    files::run("tests/vectorize", render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    let mut world = file.world()?;
    world.set_folding(true);
    verify(&world)?;
    let warnings = vectorize(&mut world);
    let printed = text::print(&world);
    verify(&world).map_err(|errors| Failed::from(format!("{errors}\n\n{printed}")))?;
    let warnings: String = warnings.iter().map(describe).collect();
    Ok(file.expecting(&(warnings + &printed)))
}

fn describe(warning: &Diagnostic) -> String {
    let labels = std::iter::once(&warning.primary).chain(&warning.secondary);
    let reasons: Vec<&str> =
        labels.map(|label| label.message.as_str()).filter(|text| !text.is_empty()).collect();
    format!("; {} {}\n", warning.message, reasons.join(", "))
}
