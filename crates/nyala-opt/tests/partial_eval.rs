//! Partial evaluation of small programs: the residual program is the expectation.

#[path = "../../nyala-ir/tests/support/files.rs"]
mod files;

use std::process::ExitCode;

use files::TestFile;
use libtest_mimic::Failed;
use nyala_ir::text;
use nyala_ir::verify::verify;
use nyala_opt::partial_eval::{Budget, Options, partial_eval};

fn main() -> ExitCode {
    files::run("tests/partial_eval", render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    let budget = Budget { specialisations: 20_000, ..Budget::default() };
    let evaluated = partial_eval(&file.world()?, Options { budget, ..Options::default() });
    let residual = text::print(&evaluated.world);
    verify(&evaluated.world).map_err(|errors| Failed::from(format!("{errors}\n\n{residual}")))?;
    let messages = evaluated.diagnostics.iter().map(|diagnostic| format!("; {}\n", diagnostic.message));
    Ok(file.expecting(&(messages.collect::<String>() + &residual)))
}
