//! The verifier on small programs: `; error: ..` is on the line of the error.

use std::collections::BTreeMap;
use std::process::ExitCode;

use nyala_ir::World;
use nyala_ir::verify::{Place, verify};
use nyala_test_support::ir_files::{self, Failed, TestFile};

/// The start of an expected error.
const ERROR: &str = " ; error: ";

fn main() -> ExitCode {
    ir_files::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verify"), render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    let world = file.world()?;
    let mut errors: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for violation in verify(&world).err().map_or(vec![], |errors| errors.violations) {
        let line = line_of(&world, &file.input, violation.place);
        errors.entry(line).or_default().push(format!("{}: {}", violation.rule, violation.message));
    }
    let mut lines = vec![];
    for (number, line) in file.input.lines().enumerate() {
        let code = line.split(ERROR).next().unwrap_or(line);
        let found = errors.remove(&number).unwrap_or_default();
        lines.push(found.iter().fold(code.to_owned(), |line, error| format!("{line}{ERROR}{error}")) + "\n");
    }
    Ok(file.with_input(&lines.concat()))
}

/// The number of the line in the input that `place` was read from.
fn line_of(world: &World, input: &str, place: Place) -> usize {
    let span = match place {
        Place::Node(def) => world.span_of(def),
        Place::Head(cont) => world.cont(cont).span,
        Place::Body(cont) => world.cont(cont).body.as_ref().map_or(world.cont(cont).span, |body| body.span),
    };
    // The parsed text has one more line at the top.
    let at = (span.lo as usize).saturating_sub(1).min(input.len());
    input.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count()
}
