//! Random programs, and those under `run/`, compute the same under random filters: in the
//! interpreter before and after evaluation, and as native code. A bounded part of
//! `cargo xtask fuzz filters`.

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_driver::native::{self, LlvmOptions, NativeOptions};
use nyala_driver::{Prelude, pipeline};
use nyala_tests::equivalence::{Agreed, Outcome, Subject};
use nyala_tests::random::Random;
use nyala_tests::{files, generate};

/// The number of groups of random programs.
const N_GROUPS: u64 = 8;
/// The number of programs per group.
const N_PROGRAMS: u64 = 4;
/// The number of assignments of filters per program.
const N_ASSIGNMENTS: u64 = 3;

const SEED: u64 = 2018;

fn main() -> ExitCode {
    let mut trials = vec![];
    for group in 0..N_GROUPS {
        trials
            .push(Trial::test(format!("group {group}"), move || random_programs(group)).with_kind("random"));
    }
    let programs = files::with_extension(&files::repository().join("tests/run"), "impala");
    for (number, path) in (0..).zip(programs) {
        let name = files::display_name(&path);
        trials.push(Trial::test(name, move || repository_program(&path, number)).with_kind("filters"));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn random_programs(group: u64) -> Result<(), Failed> {
    for case in group * N_PROGRAMS..(group + 1) * N_PROGRAMS {
        let mut random = Random::new(SEED, case);
        let text = generate::program(&mut random);
        let Some(subject) = Subject::new(&text, Prelude::Absent) else { continue };
        for _ in 0..N_ASSIGNMENTS {
            if let Some((text, agreed)) = assign(&subject, &mut random)? {
                run_native(&subject, agreed).map_err(|what| format!("{what}\n{text}"))?;
            }
        }
    }
    Ok(())
}

/// A program under one assignment of filters. It is not run as native code,
/// because its output would be printed here.
fn repository_program(path: &Path, number: u64) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let Some(subject) = Subject::new(&text, Prelude::AsWritten) else { return Ok(()) };
    assign(&subject, &mut Random::new(SEED, number)).map(drop)
}

/// Compares under one assignment of filters.
fn assign(subject: &Subject, random: &mut Random) -> Result<Option<(String, Agreed)>, Failed> {
    let text = subject.assign(random);
    let agreed = subject.check(&text).map_err(|what| format!("{what}\n{text}"))?;
    Ok(agreed.map(|agreed| (text, agreed)))
}

/// Native code computes the same, if there is any.
fn run_native(subject: &Subject, Agreed { world, mut session }: Agreed) -> Result<(), String> {
    let Some(program) = pipeline::outline(&mut session, world) else { return Ok(()) };
    for opt_level in [0, 2] {
        let llvm = LlvmOptions { opt_level, ..LlvmOptions::default() };
        let options = NativeOptions { llvm, ..NativeOptions::default() };
        if let Some(status) = native::run(&mut session, &program, &options, &["program".to_owned()]) {
            let outcome = Outcome { status, output: String::new() };
            subject.compare(&outcome, &format!("as native code, -O{opt_level},"))?;
        }
    }
    Ok(())
}
