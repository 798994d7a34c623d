//! What the README and the book show is true.

use nyala_driver::evaluation::{Answers, Question};
use nyala_driver::{Options, Report, Session, pipeline};
use nyala_ir::text;
use nyala_tests::{files, snapshot};

/// `BLESS=1` puts the graph of today into the README.
#[test]
fn the_readme_shows_an_example_and_what_is_left_of_it() {
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
    let folder = files::repository().join("docs/src");
    let chapters = files::with_extension(&folder, "md");
    // The entries of diagnostics show what is wrong on purpose; the driver tests them.
    for path in chapters.iter().filter(|path| !path.starts_with(folder.join("diagnostics"))) {
        let chapter = std::fs::read_to_string(path).expect("it was just found");
        for program in fenced(&chapter) {
            let mut session = Session::new(Options::default());
            session.add_text(files::display_name(path), program);
            pipeline::emit(&mut session);
            let report = Report::new(session.diagnostics.clone()).human(&session.sources, false);
            assert!(!session.has_errors(), "{}:\n{report}", path.display());
        }
    }
}

/// The book has no tool of its own in the tests, so links are followed here.
#[test]
fn links_lead_somewhere() {
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

/// A block that begins with `$ nyala explain FILE` shows what that says of the program before it.
/// `BLESS=1` puts in what it says today.
#[test]
fn explanations_in_the_book_are_what_the_command_says() {
    let path = files::repository().join("docs/src/evaluation.md");
    let chapter = std::fs::read_to_string(&path).expect("it is in the repository");
    let mut shown = chapter.split("```text\n$ nyala explain ");
    let mut wanted = shown.next().unwrap_or_default().to_owned();
    for part in shown {
        let (name, rest) = part.split_once('\n').expect("the command ends");
        let (_, after) = rest.split_once("```").expect("the block ends");
        let program = fenced(&wanted).last().expect("a program stands before what is said of it").to_owned();
        wanted += &format!("```text\n$ nyala explain {name}\n{}```{after}", explained(name, &program));
    }
    snapshot::compare(&path, &wanted).unwrap_or_else(|difference| panic!("{difference}"));
}

/// A block that begins with `$ nyala ir --stage evaluated FILE` shows what is left of the program before it.
/// `BLESS=1` puts in what is left today.
#[test]
fn residual_programs_in_the_book_are_what_is_left() {
    const COMMAND: &str = "```text\n$ nyala ir --stage evaluated ";
    let path = files::repository().join("docs/src/images.md");
    let chapter = std::fs::read_to_string(&path).expect("it is in the repository");
    let mut shown = chapter.split(COMMAND);
    let mut wanted = shown.next().unwrap_or_default().to_owned();
    for part in shown {
        let (name, rest) = part.split_once('\n').expect("the command ends");
        let (_, after) = rest.split_once("```").expect("the block ends");
        let mut session = Session::new(Options::default());
        session.add_text(name, fenced(&wanted).last().expect("a program stands before what is left of it"));
        let world = pipeline::emit(&mut session).expect("the program has no errors");
        let graph = text::print(&pipeline::evaluate(&mut session, &world));
        wanted += &format!("{COMMAND}{name}\n{graph}```{after}");
    }
    assert_ne!(wanted, chapter.split(COMMAND).next().unwrap_or_default(), "nothing is shown");
    snapshot::compare(&path, &wanted).unwrap_or_else(|difference| panic!("{difference}"));
}

/// What `nyala explain` writes to both streams, without warnings of checking.
fn explained(name: &str, program: &str) -> String {
    let mut session = Session::new(Options::default());
    session.add_text(name, program);
    let world = pipeline::emit(&mut session).expect("the program has no errors");
    session.diagnostics.clear();
    let (residual, explanation) = pipeline::explain(&mut session, &world);
    let report = Report::new(session.diagnostics.clone()).human(&session.sources, false);
    report + &Answers::new(&session, &residual, &explanation, &Question::default()).text()
}

/// The texts between ```` ```impala ```` and ```` ``` ````.
fn fenced(chapter: &str) -> impl Iterator<Item = &str> {
    chapter.split("```impala\n").skip(1).filter_map(|rest| rest.split("```").next())
}
