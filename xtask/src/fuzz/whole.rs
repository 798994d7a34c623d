//! Generated programs, in six executions each.

use nyala_tests::differential::{self, Step};
use nyala_tests::generate;

use super::worker::{Action, Case};

pub fn load() -> anyhow::Result<Action> {
    Ok(Box::new(run))
}

fn run(case: &mut Case) -> Result<bool, String> {
    let mut random = case.random();
    let text = generate::program(&mut random);
    differential::compare(&text, &mut random, &mut |step| match step {
        Step::Program(text) => case.begin(text),
        Step::Execution(how) => case.execute(how),
    })
}
