//! Generated functions on vectors, against the same functions on scalars.

use nyala_tests::differential::{self, Step};
use nyala_tests::vectorial;

use super::worker::Case;

/// One in so many programs is executed in all ways, which takes ten times as long.
const IN_ALL_WAYS: u64 = 16;

/// In the interpreter and as native code, each lane computes what the scalar function computes.
pub fn run(case: &mut Case) -> Result<bool, String> {
    let mut random = case.random();
    let text = vectorial::program(&mut random);
    case.begin(&text);
    case.execute("interpreter, each lane by itself");
    let agreed = vectorial::check(&text)?;
    case.execute("native code");
    vectorial::check_native(agreed)?;
    if !case.number.is_multiple_of(IN_ALL_WAYS) {
        return Ok(true);
    }
    differential::compare(&text, &mut random, &mut |step| match step {
        Step::Program(text) => case.begin(text),
        Step::Execution(how) => case.execute(how),
    })
}
