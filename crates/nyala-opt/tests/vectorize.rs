//! The vectorizer, one behaviour per file: a program with a call of `vectorize`, and the SIMD code.
//!
//! Each program is also interpreted before and after vectorization, with the same inputs. Files that
//! cannot be, because they call external or unknown functions, start with `test vectorize no-run`.

mod execution;

use std::process::ExitCode;

use nyala_opt::vectorize::{Machine, Options, vectorize};
use nyala_span::Diagnostic;
use nyala_test_support::ir_files::{self, Failed, TestFile, verified_text};

fn main() -> ExitCode {
    ir_files::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectorize"), render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    file.require_summary()?;
    let mut world = file.verified_world()?;
    world.set_folding(true);
    let diagnostics =
        vectorize(&mut world, &Options { machine: Machine::AVX2, adapts_lanes: false, own_files: vec![] });
    let printed = verified_text(&world)?;
    match &file.args[..] {
        [] => execution::check_same_outcome(&file.world()?, &world)?,
        [word] if word == "no-run" => {}
        words => return Err(format!("unexpected `{}` in the first line", words.join(" ")).into()),
    }
    let diagnostics: String = diagnostics.iter().map(describe).collect();
    Ok(file.expecting(&(diagnostics + &printed)))
}

fn describe(diagnostic: &Diagnostic) -> String {
    let labels = std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary);
    let reasons: Vec<&str> =
        labels.map(|label| label.message.as_str()).filter(|text| !text.is_empty()).collect();
    format!("; {}: {} {}\n", diagnostic.code, diagnostic.message, reasons.join(", "))
}
