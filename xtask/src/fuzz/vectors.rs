//! Generated functions on vectors, against the same functions on scalars.

use nyala_tests::differential::{self, Step};
use nyala_tests::vectorial;

use super::worker::Case;

/// In the interpreter, each lane computes what the scalar function computes; then all executions agree.
pub fn run(case: &mut Case) -> Result<bool, String> {
    let mut random = case.random();
    let text = vectorial::program(&mut random);
    case.begin(&text);
    case.execute("interpreter, each lane by itself");
    vectorial::check(&text)?;
    differential::compare(&text, &mut random, &mut |step| match step {
        Step::Program(text) => case.begin(text),
        Step::Execution(how) => case.execute(how),
    })
}
