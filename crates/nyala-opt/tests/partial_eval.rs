//! Partial evaluation of small programs: the residual program is the expectation.

use std::process::ExitCode;

use nyala_opt::partial_eval::{Budget, Options, partial_eval};
use nyala_test_support::ir_files::{self, Failed, TestFile, verified_text};

fn main() -> ExitCode {
    ir_files::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/partial_eval"), render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    file.require_summary()?;
    let budget = Budget { specializations: 20_000, ..Budget::default() };
    let evaluated = partial_eval(&file.verified_world()?, Options { budget, ..Options::default() });
    let messages = evaluated.diagnostics.iter().map(|diagnostic| format!("; {}\n", diagnostic.message));
    Ok(file.expecting(&(messages.collect::<String>() + &verified_text(&evaluated.world)?)))
}
