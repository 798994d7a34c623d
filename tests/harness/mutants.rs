//! Mutants of the small programs in the repository. Lexer, parser and checker
//! accept any text without a panic, and the diagnostics can be rendered.
//!
//! `cargo xtask fuzz` runs more of them, and executes those without errors.

use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_driver::{Options, Prelude, Report, Session, pipeline};
use nyala_tests::files;
use nyala_tests::mutate::Corpus;
use nyala_tests::random::Random;

/// The number of parts, which run in parallel.
const PARTS: u64 = 20;

/// The number of mutants per part: 200,000 together.
const CASES: u64 = 10_000;

/// Only small programs, so that cases are fast.
const MAX_BYTES: usize = 600;

/// The seed is fixed, so that failures are reproducible.
const SEED: u64 = 1;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let paths: Vec<PathBuf> = files::with_extension(&files::repository(), "impala");
    let texts = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let programs: Arc<Vec<String>> = Arc::new(texts.filter(|text| text.len() <= MAX_BYTES).collect());
    let trials = (0..PARTS).map(|part| {
        let programs = Arc::clone(&programs);
        Trial::test(format!("part_{part}"), move || try_part(&programs, part))
    });
    let trials = trials.collect();
    libtest_mimic::run(&args, trials).exit_code()
}

fn try_part(programs: &[String], part: u64) -> Result<(), Failed> {
    let corpus = Corpus::new(programs.iter().map(String::as_str));
    for case in part * CASES..(part + 1) * CASES {
        let text = corpus.input(&mut Random::new(SEED, case));
        if panic::catch_unwind(AssertUnwindSafe(|| check(&text))).is_err() {
            return Err(format!("case {case} panicked:\n{text}").into());
        }
    }
    Ok(())
}

fn check(text: &str) {
    let mut session = Session::new(Options { prelude: Prelude::Absent, ..Options::default() });
    session.add_text("mutant.impala", text);
    pipeline::check(&mut session);
    let report = Report::new(std::mem::take(&mut session.diagnostics));
    // Rendering must not panic.
    let _ = report.human(&session.sources, false);
}
