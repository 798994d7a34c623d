//! The book's entries for diagnostics are tested: the first example of an entry is
//! reported with its code, and the others are not.

use std::collections::BTreeSet;
use std::path::Path;

use nyala_driver::native::{self, NativeOptions};
use nyala_driver::{Options, Session, explain, explained_codes, pipeline};
use nyala_interp::Io;

/// The blocks marked `impala`.
fn examples(entry: &str) -> Vec<&str> {
    let fenced = entry.split("```impala\n").skip(1);
    fenced.filter_map(|rest| rest.split_once("```").map(|(example, _)| example)).collect()
}

/// The diagnostics of a program: codes and messages.
fn reported(text: &str) -> Vec<(&'static str, String)> {
    let mut session = Session::new(Options::default());
    session.add_text("example.impala", text);
    if let Some(world) = pipeline::emit(&mut session) {
        let evaluated = pipeline::evaluate(&mut session, &world);
        let in_form = pipeline::control_flow_form(&mut session, evaluated);
        pipeline::vectorize(&mut session, in_form);
    }
    session.diagnostics.into_iter().map(|found| (found.code.0, found.message)).collect()
}

fn check_entry(code: &str, complaints: &mut Vec<String>) {
    let examples = examples(explain(code).expect("it is listed"));
    let Some((bad, good)) = examples.split_first() else { return };
    let found = reported(bad);
    if !found.iter().any(|(found, _)| *found == code) {
        complaints.push(format!("{code}: the first example gives {found:?}"));
    }
    for (idx, example) in good.iter().enumerate() {
        let found = reported(example);
        if found.iter().any(|(found, _)| *found == code || found.starts_with('E')) {
            complaints.push(format!("{code}: example {} gives {found:?}", idx + 2));
        }
    }
}

/// Whether compiling a program can report this code. The type of `main` (E0415) matters only for programs that
/// are run, a static that depends on itself (E0484) is found by an earlier stage, and E0911 needs an option.
fn is_from_compiling(code: &str) -> bool {
    !["E0415", "E0484", "E0911", "W092", "E092", "E093", "E094", "E095", "E096", "E097", "E098"]
        .iter()
        .any(|other| code.starts_with(other))
}

/// Whether running a program from source text can report this code. E0973 and E0978 are
/// internal errors, E0977 is an error of the system, and E0979 is one of `nyala build`.
fn is_from_running(code: &str) -> bool {
    let is_run_time = ["E095", "E096", "E097", "E098"].iter().any(|run_time| code.starts_with(run_time));
    is_run_time && !["E0973", "E0977", "E0978", "E0979"].contains(&code)
}

/// The diagnostics of the interpreter for a program.
fn reported_by_running(text: &str) -> Vec<(&'static str, String)> {
    let mut session = Session::new(Options::default());
    session.add_text("example.impala", text);
    if let Some(world) = pipeline::emit(&mut session) {
        let options = nyala_interp::Options { steps: Some(1_000_000), leaks: true, ..Default::default() };
        let io = Io { output: &mut std::io::sink(), input: &mut std::io::empty(), nanos: &mut || 0 };
        pipeline::interp(&mut session, &world, &options, io);
    }
    session.diagnostics.into_iter().map(|found| (found.code.0, found.message)).collect()
}

#[test]
fn examples_of_run_time_errors_report_their_code() {
    let mut complaints = vec![];
    for code in explained_codes().filter(|code| is_from_running(code)) {
        let examples = examples(explain(code).expect("it is listed"));
        let found = examples.first().map(|example| reported_by_running(example)).unwrap_or_default();
        if !found.iter().any(|(found, _)| *found == code) {
            complaints.push(format!("{code}: the example gives {found:?}"));
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// The diagnostics of native code generation for a program.
fn reported_by_native(text: &str) -> Vec<&'static str> {
    let mut session = Session::new(Options::default());
    session.add_text("example.impala", text);
    if let Some(program) = pipeline::prepare(&mut session) {
        native::run(&mut session, &program, &NativeOptions::default(), &["example".into()]);
    }
    session.diagnostics.into_iter().map(|found| found.code.0).collect()
}

#[test]
fn closures_are_reported_with_the_option() {
    let examples = examples(explain("W0920").expect("it has an entry"));
    let warnings = |text: &str, warn_closures: bool| {
        let mut session = Session::new(Options { warn_closures, ..Options::default() });
        session.add_text("example.impala", text);
        pipeline::prepare(&mut session).expect("the examples are accepted");
        session.diagnostics.iter().filter(|found| found.code.0 == "W0920").count()
    };
    assert_eq!(warnings(examples[0], true), 2, "both functions are in the array");
    assert_eq!(warnings(examples[0], false), 0);
    assert_eq!(warnings(examples[1], true), 0);
}

#[test]
fn examples_of_large_variables_report_their_code() {
    let reported = |text: &str| {
        let mut session = Session::new(Options::default());
        session.add_text("example.impala", text);
        let is_accepted = pipeline::prepare(&mut session).is_some();
        (is_accepted, session.diagnostics.into_iter().map(|found| found.code.0).collect::<Vec<_>>())
    };
    let large = examples(explain("W0921").expect("it has an entry"));
    assert_eq!(
        large.iter().map(|text| reported(text)).collect::<Vec<_>>(),
        [(true, vec!["W0921"]), (true, vec![])]
    );
    let huge = examples(explain("E0938").expect("it has an entry"));
    assert_eq!(reported(huge[0]), (false, vec!["E0938"]));
}

#[test]
fn examples_without_native_code_report_their_code() {
    for code in ["E0415", "E0920", "E0921", "E0922", "E0923", "E0927", "E0928", "E0929"] {
        let examples = examples(explain(code).expect("it has an entry"));
        assert_eq!(reported_by_native(examples[0]), [code]);
        assert!(reported(examples[1]).is_empty(), "{code}");
    }
}

/// The diagnostics of compiling a program, without running it.
fn reported_by_compiling(text: &str) -> Vec<&'static str> {
    let mut session = Session::new(Options::default());
    session.add_text("example.impala", text);
    if let Some(program) = pipeline::prepare(&mut session) {
        native::compile(&mut session, &program, &native::LlvmOptions::default(), native::Output::Llvm);
    }
    session.diagnostics.into_iter().filter(|found| found.is_error()).map(|found| found.code.0).collect()
}

#[test]
fn examples_of_kernels_report_their_code() {
    for code in ["E0940", "E0941", "E0942", "E0943", "E0944", "E0945", "E0946", "E0947", "E0948"] {
        let examples = examples(explain(code).expect("it has an entry"));
        assert_eq!(reported_by_compiling(examples[0]), [code]);
        assert!(reported_by_compiling(examples[1]).is_empty(), "{code}");
    }
}

#[test]
fn examples_report_their_code() {
    let mut complaints = vec![];
    explained_codes()
        .filter(|code| is_from_compiling(code))
        .for_each(|code| check_entry(code, &mut complaints));
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// The codes that the sources of the compiler mention, in quotes.
fn mentioned_codes(folder: &Path, into: &mut BTreeSet<String>) {
    for path in folder.read_dir().expect("the folder is there").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            mentioned_codes(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("sources are text");
            let is_code = |word: &&str| {
                word.len() == 5
                    && word.starts_with(['E', 'W', 'N'])
                    && word[1..].bytes().all(|byte| byte.is_ascii_digit())
            };
            into.extend(text.split('"').filter(is_code).map(str::to_owned));
        }
    }
}

#[test]
fn every_code_has_its_entry() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is one of several");
    let mut codes = BTreeSet::new();
    for package in crates.read_dir().expect("the folder is there").flatten() {
        mentioned_codes(&package.path().join("src"), &mut codes);
    }
    assert!(codes.len() > 100, "only {} codes were found", codes.len());
    let without: Vec<_> = codes.iter().filter(|code| explain(code).is_none()).collect();
    assert!(without.is_empty(), "without an entry: {without:?}");
}
