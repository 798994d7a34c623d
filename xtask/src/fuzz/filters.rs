//! Programs compute the same under all filters.
//!
//! Random programs and those under `tests/run` get random annotations; the interpreter
//! before evaluation, the interpreter after it, and native code must agree.

use nyala_driver::native::{self, LlvmOptions, NativeOptions};
use nyala_driver::{Prelude, pipeline};
use nyala_tests::equivalence::{Agreed, Outcome, Subject};
use nyala_tests::generate;

use super::worker::{Action, Case};
use crate::files;

/// Assignments of annotations for each program.
const N_ASSIGNMENTS: u64 = 8;
/// One of this number of programs comes from the repository.
const FROM_REPOSITORY_EVERY: u64 = 8;

pub fn load() -> anyhow::Result<Action> {
    let programs = files::with_extension("tests/run", "impala")?;
    anyhow::ensure!(!programs.is_empty(), "there is no program under tests/run");
    Ok(Box::new(move |case| {
        let mut random = case.random();
        let (text, prelude) = match case.number.is_multiple_of(FROM_REPOSITORY_EVERY) {
            true => (random.pick(&programs).text.clone(), Prelude::AsWritten),
            false => (generate::program(&mut random), Prelude::Absent),
        };
        case.begin(&text);
        case.execute("interpreter, without annotations");
        let Some(subject) = Subject::new(&text, prelude) else { return Ok(false) };
        for _ in 0..N_ASSIGNMENTS {
            let text = subject.assign(&mut random);
            case.begin(&text);
            compare(case, &subject, &text, prelude != Prelude::Absent)?;
        }
        Ok(true)
    }))
}

/// Compares all executions of one program. A program with output is
/// compared in the interpreter only, because native code would print here.
fn compare(case: &mut Case, subject: &Subject, text: &str, has_output: bool) -> Result<(), String> {
    case.execute("interpreter, before and after evaluation");
    let Some(Agreed { world, mut session }) = subject.check(text)? else { return Ok(()) };
    if has_output {
        return Ok(());
    }
    let Some(program) = pipeline::outline(&mut session, world) else {
        return Ok(());
    };
    for opt_level in [0, 2] {
        let how = format!("native code, -O{opt_level}");
        case.execute(&how);
        let llvm = LlvmOptions { opt_level, ..LlvmOptions::default() };
        let options = NativeOptions { llvm, ..NativeOptions::default() };
        // Some programs have no native code.
        if let Some(status) = native::run(&mut session, &program, &options, &["program".to_owned()]) {
            subject.compare(&Outcome { status, output: String::new() }, &how)?;
        }
    }
    Ok(())
}
