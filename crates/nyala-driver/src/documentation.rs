//! Documentation of programs and of the prelude, as `nyala doc` writes it.
//!
//! `nyala-doc` makes the pages. Here the examples in comments run in the interpreter, together with the files that they
//! document: a page shows their output. An example that fails is a warning.

use nyala_doc::{Document, Outcome, Outcomes, SourceText};
use nyala_interp::Io;
use nyala_sema::package::Role;
use nyala_span::{Diagnostic, FileId, SourceFile, Span};
use nyala_syntax::ast;
use nyala_syntax::docs::Example;

use crate::errors::failed_example;
use crate::examples::{self, Documented};
use crate::modules::{ModuleFile, module_paths};
use crate::pipeline;
use crate::session::Session;

/// How long an example runs at most.
const MAX_STEPS: u64 = 20_000_000;

/// The most memory of an example, in bytes.
const MAX_MEMORY: u64 = 256 << 20;

/// What is documented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The files of the program.
    Program,
    /// The prelude of the program's edition.
    Prelude,
}

/// A page about the subject. Reports examples that fail; returns nothing if the files have syntax errors.
pub fn page(session: &mut Session, subject: Subject, title: &str) -> Option<String> {
    let unread = session.clone();
    let trees = pipeline::parse(session)?;
    let modules = modules(session, subject, &trees);
    let document = document(session, subject, title, &trees, &modules);
    let documented = Documented::new(&unread, session, &trees);
    let (mut outcomes, mut failures) = (Outcomes::new(), vec![]);
    for (source, example) in document.examples().filter(|(_, example)| examples::is_impala(example)) {
        let outcome = run(&documented, source, &example);
        if let Outcome::Failure(message) = &outcome {
            failures.push(failed_example(example.open.span, message));
        }
        outcomes.insert(example.open.span.lo, outcome);
    }
    let page = document.html(&outcomes);
    session.diagnostics.extend(failures);
    Some(page)
}

/// A chapter of a book about the subject, in Markdown. Examples do not run.
pub fn chapter(session: &mut Session, subject: Subject, title: &str) -> Option<String> {
    let trees = pipeline::parse(session)?;
    let modules = modules(session, subject, &trees);
    Some(document(session, subject, title, &trees, &modules).chapter())
}

fn document<'a>(
    session: &'a Session,
    subject: Subject,
    title: &str,
    trees: &'a [(FileId, ast::File)],
    modules: &'a [(FileId, String)],
) -> Document<'a> {
    let files: Vec<_> = modules
        .iter()
        .filter_map(|(id, module)| {
            let (_, ast) = trees.iter().find(|(tree, _)| tree == id)?;
            Some(SourceText { ast, source: session.sources.file(*id), module })
        })
        .collect();
    let document = nyala_doc::document(title, &files);
    match session.about_package() {
        Some(about) if subject == Subject::Program => document.about(about),
        _ => document,
    }
}

/// The files of the subject that are not private, with the paths of their modules.
fn modules(session: &Session, subject: Subject, trees: &[(FileId, ast::File)]) -> Vec<(FileId, String)> {
    let mut found = vec![];
    for package in &session.packages {
        let is_shown = match subject {
            Subject::Program => package.role != Role::Foreign,
            Subject::Prelude => package.is_prelude(),
        };
        if !is_shown {
            continue;
        }
        let tree = |file: &ModuleFile| {
            let (_, tree) = trees.iter().find(|(id, _)| *id == file.id)?;
            Some((file.id, tree, file.module))
        };
        let files: Vec<_> = package.files.iter().filter_map(tree).collect();
        let paths = module_paths(files.iter().map(|&(_, tree, module)| (tree, module)));
        let shown = files.into_iter().zip(paths).filter(|(_, path)| !path.is_private);
        let mut of_package: Vec<(FileId, String)> = shown
            .map(|((id, ..), path)| {
                let names: Vec<&str> = path.names.iter().map(|name| name.as_str()).collect();
                (id, names.join("::"))
            })
            .collect();
        // The file with the name of the package is about all of it.
        let is_main = |id: FileId| {
            let name = session.sources.file(id).name.rsplit(['/', '\\']).next().unwrap_or_default();
            let stem = name.split('.').next().unwrap_or_default();
            package.name.is_some_and(|package| package.as_str() == stem)
        };
        of_package.sort_by_key(|(id, module)| (!module.is_empty(), !is_main(*id)));
        found.extend(of_package);
    }
    found
}

// ---- Examples ------------------------------------------------------------------

/// Runs an example.
fn run(documented: &Documented, source: &SourceFile, example: &Example<'_, '_>) -> Outcome {
    let Some((mut session, _)) = documented.program(source, example, "main") else {
        return Outcome::Failure("there is too much source text".into());
    };
    let mut output = vec![];
    if let Some(world) = pipeline::emit_for_interp(&mut session)
        && !example.tags.contains(&"no_run")
    {
        let options =
            nyala_interp::Options { steps: Some(MAX_STEPS), memory: MAX_MEMORY, ..Default::default() };
        // The same sources give the same page: there is no time.
        let io = Io { output: &mut output, input: &mut std::io::empty(), nanos: &mut || 0 };
        pipeline::interp(&mut session, &world, &options, io);
    }
    let output = String::from_utf8_lossy(&output).into_owned();
    let error = session.diagnostics.iter().find(|found| found.is_error());
    match (error, example.tags.contains(&"fails")) {
        (None, false) => Outcome::Output(output),
        (Some(error), true) => Outcome::Output(format!("{output}error: {}\n", error.message)),
        (Some(error), false) => Outcome::Failure(at_place(&session, error)),
        (None, true) => Outcome::Failure("it is expected to fail, and does not".into()),
    }
}

fn at_place(session: &Session, error: &Diagnostic) -> String {
    match error.primary.span {
        Span::NONE => error.message.clone(),
        span => format!("{} ({})", error.message, session.sources.describe(span)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    fn page_of(text: &str) -> (String, Vec<String>) {
        let mut session = Session::new(Options::default());
        session.add_text("lib.impala", text);
        let page = page(&mut session, Subject::Program, "lib").unwrap_or_default();
        let report = |found: &Diagnostic| format!("{}: {}", found.code, found.message);
        (page, session.diagnostics.iter().map(report).collect())
    }

    #[test]
    fn examples_show_what_they_print() {
        let (page, reports) = page_of(
            "/// Doubles.\n/// ```\n/// print_i32(double(21));\n/// ```\nfn double(x: i32) -> i32 { x + x }\n\
             fn main() -> i32 { 0 }\n",
        );
        assert!(page.contains("<samp>42</samp>"), "{page}");
        assert_eq!(reports, [""; 0]);
    }

    #[test]
    fn failing_examples_are_warnings() {
        let failing = "/// ```\n/// f(1);\n/// ```\nfn f() -> () {}\n";
        let (page, reports) = page_of(failing);
        assert!(page.contains("This example fails") && reports[0].starts_with("W0030"), "{reports:?}");
        let (page, reports) = page_of(&failing.replacen("```", "```fails", 1));
        assert!(page.contains("<samp>error: ") && reports.is_empty(), "{reports:?}");
    }

    #[test]
    fn endless_examples_end() {
        let (_, reports) = page_of("/// ```\n/// f();\n/// ```\nfn f() -> () { while true {} }\n");
        assert!(reports.len() == 1 && reports[0].starts_with("W0030"), "{reports:?}");
    }

    #[test]
    fn the_prelude_has_a_page_and_a_chapter() {
        let mut session = Session::new(Options::default());
        let page = page(&mut session, Subject::Prelude, "The prelude").expect("it has no errors");
        assert!(page.contains("id=\"range\""));
        let mut session = Session::new(Options::default());
        let chapter = chapter(&mut session, Subject::Prelude, "The prelude").expect("it has no errors");
        assert!(chapter.contains("fn @range(lower: i32, upper: i32, body: fn(i32) -> ()) -> ()"));
    }
}
