//! Runs every package under `packages/`: each folder in `accept`, `reject` and `run` has the manifest of one.
//!
//! What checking reports is compared with `expected.stderr` in the folder; a package to be accepted without that
//! file is free of warnings. A package to be run says at the top of `src/main.impala` what it does.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_driver::{Options, Report, Session, TargetChoice, pipeline};
use nyala_interp::Io;
use nyala_ir::World;
use nyala_tests::expectations::Expectations;
use nyala_tests::snapshot;

/// A test program that takes more steps does not end.
const MAX_STEPS: u64 = 1_000_000;

type Test = fn(&Path) -> Result<(), Failed>;

fn main() -> ExitCode {
    let mut trials = Vec::new();
    let tests: [(&str, Test); 3] = [("accept", accept), ("reject", reject), ("run", run)];
    for (kind, test) in tests {
        for folder in folders(&Path::new("packages").join(kind)) {
            let name = folder.display().to_string();
            trials.push(Trial::test(name, move || test(&folder)).with_kind(kind));
        }
    }
    assert!(!trials.is_empty(), "the tests are run in their folder");
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn folders(parent: &Path) -> Vec<PathBuf> {
    let entries = parent.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// A session with a target of the package; libraries on the library path are in its folder `libraries`.
fn session_for(folder: &Path, target: &TargetChoice) -> Session {
    let libraries = vec![folder.join("libraries")];
    let mut session = Session::new(Options { libraries, ..Options::default() });
    session.load_package(folder, target);
    session
}

/// The library and all programs of the package, checked.
fn checked(folder: &Path) -> Vec<Session> {
    let targets = session_for(folder, &TargetChoice::Default).package_targets(folder).unwrap_or_default();
    let library = (!targets.library.is_empty()).then_some(TargetChoice::Library);
    let programs = targets.programs.into_iter().map(|program| TargetChoice::Program(program.path));
    let mut choices: Vec<TargetChoice> = library.into_iter().chain(programs).collect();
    if choices.is_empty() {
        choices.push(TargetChoice::Default);
    }
    let check = |target| {
        let mut session = session_for(folder, target);
        if !session.has_errors() {
            pipeline::check_all(&mut session);
        }
        session
    };
    choices.iter().map(check).collect()
}

fn accept(folder: &Path) -> Result<(), Failed> {
    let sessions = checked(folder);
    let reports = drawn(&sessions);
    if sessions.iter().any(Session::has_errors) {
        return Err(reports.into());
    }
    let expected = folder.join("expected.stderr");
    if expected.exists() || !reports.is_empty() {
        return Ok(snapshot::compare(&expected, &reports)?);
    }
    Ok(())
}

fn reject(folder: &Path) -> Result<(), Failed> {
    let sessions = checked(folder);
    if !sessions.iter().any(Session::has_errors) {
        return Err("no error was reported".into());
    }
    Ok(snapshot::compare(&folder.join("expected.stderr"), &drawn(&sessions))?)
}

/// The reports of all targets, each once.
fn drawn(sessions: &[Session]) -> String {
    let mut reports: Vec<String> = vec![];
    for session in sessions {
        for diagnostic in &session.diagnostics {
            let report = Report::new(vec![diagnostic.clone()]).human(&session.sources, false);
            if !reports.contains(&report) {
                reports.push(report);
            }
        }
    }
    reports.concat()
}

/// The program does what it says, before and after partial evaluation.
fn run(folder: &Path) -> Result<(), Failed> {
    accept(folder)?;
    let expected = Expectations::parse(&std::fs::read_to_string(folder.join("src/main.impala"))?)?;
    let mut session = session_for(folder, &TargetChoice::Default);
    let world =
        pipeline::emit_for_interp(&mut session).ok_or_else(|| drawn(std::slice::from_ref(&session)))?;
    does_as_expected(&mut session, &world, &expected)?;
    let evaluated = pipeline::evaluate(&mut session, &world);
    does_as_expected(&mut session, &evaluated, &expected)
}

fn does_as_expected(session: &mut Session, world: &World, expected: &Expectations) -> Result<(), Failed> {
    let mut output = Vec::new();
    let options = nyala_interp::Options { steps: Some(MAX_STEPS), ..Default::default() };
    let io = Io { output: &mut output, input: &mut expected.stdin.as_bytes(), nanos: &mut || 0 };
    let status = pipeline::interp(session, world, &options, io);
    let output = String::from_utf8_lossy(&output);
    if !output.lines().eq(&expected.out) {
        return Err(snapshot::difference(&expected.out.join("\n"), &output).into());
    }
    match status {
        Some(status) if status == expected.status => Ok(()),
        status => Err(format!(
            "{status:?} instead of {}\n{}",
            expected.status,
            drawn(std::slice::from_ref(session))
        )
        .into()),
    }
}
