//! The examples and outputs in the README and the book are correct.

use std::path::PathBuf;

use nyala_driver::evaluation::{Answers, Question};
use nyala_driver::vectorization::Vectorization;
use nyala_driver::{Options, Report, Session, pipeline};
use nyala_interp::Io;
use nyala_ir::text;
use nyala_tests::{files, snapshot};

/// `BLESS=1` updates the graph in the README.
#[test]
fn readme_shows_an_example_and_its_residual_program() {
    let path = |name| files::repository().join(name);
    let read = |name| std::fs::read_to_string(path(name)).expect("it is in the repository");
    let (readme, example) = (read("README.md"), read("examples/power.impala"));
    assert!(readme.contains(&example), "the README shows another program than examples/power.impala");
    let mut session = Session::new(Options::default());
    session.add_text("power.impala", example);
    let world = pipeline::emit(&mut session).expect("the example has no errors");
    let graph = text::print(&pipeline::evaluate(&mut session, &world));
    let (before, rest) = readme.split_once("```text\n").expect("the README shows a graph");
    let (_, after) = rest.split_once("```").expect("the graph ends");
    let wanted = format!("{before}```text\n{graph}```{after}");
    snapshot::compare(&path("README.md"), &wanted).unwrap_or_else(|difference| panic!("{difference}"));
}

#[test]
fn programs_in_the_book_have_no_errors() {
    for path in chapters() {
        let chapter = std::fs::read_to_string(&path).expect("it was just found");
        for program in fenced(&chapter, "```impala\n") {
            let mut session = Session::new(Options::default());
            session.add_text(files::display_name(&path), program);
            pipeline::emit(&mut session);
            let report = Report::new(session.diagnostics.clone()).human(&session.sources, false);
            assert!(!session.has_errors(), "{}:\n{report}", path.display());
        }
    }
}

/// No other tool checks the links of the book.
#[test]
fn links_are_valid() {
    let root = files::repository();
    let mut texts = files::with_extension(&root.join("docs"), "md");
    texts.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root.join(name)),
    );
    let mut in_book = std::collections::HashSet::new();
    for path in &texts {
        let text = std::fs::read_to_string(path).expect("it is in the repository");
        for target in links(&text) {
            let target = path.with_file_name(target);
            assert!(target.exists(), "{} links to {}", path.display(), target.display());
            if path.ends_with("SUMMARY.md") {
                in_book.insert(target);
            }
        }
    }
    let chapters = texts.iter().filter(|path| path.starts_with(root.join("docs/src")));
    for chapter in chapters.filter(|path| !path.ends_with("SUMMARY.md")) {
        assert!(in_book.contains(chapter), "{} is not in the table of contents", chapter.display());
    }
}

/// The files that a text links to: `[..](file#part)`, outside of code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split('`').step_by(2);
    let targets = prose.flat_map(|piece| piece.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
    let files =
        targets.filter(|target| !target.contains("://")).filter_map(|target| target.split('#').next());
    files.filter(|file| !file.is_empty())
}

/// A block that begins with `$ nyala COMMAND FILE` shows the output of the command for the program before it, which is
/// in the language `impala`, or `impala,wrong` if it has errors.
/// `BLESS=1` updates the output.
#[test]
fn commands_in_the_book_print_the_shown_output() {
    const COMMAND: &str = "```text\n$ nyala ";
    let mut shown = 0;
    for path in chapters() {
        let chapter = std::fs::read_to_string(&path).expect("it was just found");
        let mut parts = chapter.split(COMMAND);
        let mut wanted = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (command, rest) = part.split_once('\n').expect("the command ends");
            let (_, after) = rest.split_once("```").expect("the block ends");
            let program = fenced(&wanted, "```impala").last().expect("a program stands before it");
            let (_, program) = program.split_once('\n').expect("it begins on a line of its own");
            let said = output_of(command, program);
            wanted += &format!("{COMMAND}{command}\n{said}```{after}");
            shown += 1;
        }
        snapshot::compare(&path, &wanted).unwrap_or_else(|difference| panic!("{difference}"));
    }
    assert!(shown > 0, "no chapter shows a command");
}

/// The output of a command on both streams, without warnings of checking.
fn output_of(command: &str, program: &str) -> String {
    let (command, name) = command.rsplit_once(' ').expect("a command has a file");
    let mut session = Session::new(Options::default());
    session.add_text(name, program);
    let world = pipeline::emit(&mut session);
    if command == "check" {
        let report = Report::new(session.diagnostics.clone());
        return format!(
            "{}{}\n",
            report.human(&session.sources, false),
            report.summary().unwrap_or_default()
        );
    }
    let world = world.expect("the program has no errors");
    session.diagnostics.clear();
    match command {
        "ir" => text::print(&world),
        "ir --stage evaluated" => text::print(&pipeline::evaluate(&mut session, &world)),
        "interp" => {
            let io = Io { output: &mut vec![], input: &mut std::io::empty(), nanos: &mut || 0 };
            pipeline::interp(&mut session, &world, &nyala_interp::Options::default(), io);
            let report = Report::new(session.diagnostics.clone());
            let summary = report.summary().map(|line| line + "\n").unwrap_or_default();
            report.human(&session.sources, false) + &summary
        }
        "explain" => {
            let (residual, explanation) = pipeline::explain(&mut session, &world);
            let report = Report::new(session.diagnostics.clone()).human(&session.sources, false);
            report + &Answers::new(&session, &residual, &explanation, &Question::default()).text()
        }
        "explain --vectorize" => {
            let world = pipeline::evaluate(&mut session, &world);
            let world = pipeline::control_flow_form(&mut session, world);
            session.options.cpu = Some("x86-64-v3".into());
            let facts = pipeline::explain_vectorize(&mut session, world);
            Vectorization::new(&session, &facts, false).text()
        }
        _ => panic!("this test does not know `nyala {command}`"),
    }
}

/// The chapters of the book. The entries of diagnostics show invalid programs; the driver tests them.
fn chapters() -> Vec<PathBuf> {
    let folder = files::repository().join("docs/src");
    let mut chapters = files::with_extension(&folder, "md");
    chapters.retain(|path| !path.starts_with(folder.join("diagnostics")));
    chapters
}

/// The texts between a fence and ```` ``` ````.
fn fenced<'t>(chapter: &'t str, fence: &str) -> impl Iterator<Item = &'t str> {
    chapter.split(fence).skip(1).filter_map(|rest| rest.split("```").next())
}
