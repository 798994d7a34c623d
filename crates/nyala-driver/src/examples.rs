//! Examples in documentation comments, as programs: what `nyala test` and `nyala doc` compile.
//!
//! An example of loose files is one more file of the program, and sees all its names. An example of a package is a
//! program that uses the package: it sees what others see, and needs no path for the names of the root module.

use nyala_span::{FileId, SourceFile};
use nyala_syntax::ast::{self, ItemKind};
use nyala_syntax::docs::Example;

use crate::edition::Prelude;
use crate::session::Session;

/// The files that examples belong to.
pub struct Documented {
    /// All that an example needs, but the example.
    session: Session,
}

impl Documented {
    /// The files of `parsed`, which was `unread` before; `trees` are all that it has parsed.
    pub fn new(unread: &Session, parsed: &Session, trees: &[(FileId, ast::File)]) -> Documented {
        if unread.chosen.is_some() {
            return Documented { session: unread.clone() };
        }
        let mut session = Session::new(unread.options.clone());
        if let Some(edition) = parsed.edition() {
            session.options.prelude = Prelude::Edition(edition);
        }
        for (id, tree) in trees.iter().filter(|(id, _)| !parsed.is_foreign(*id)) {
            let source = parsed.sources.file(*id);
            session.add_text(source.name.clone(), without_main(source, tree));
        }
        Documented { session }
    }

    /// The program of an example, and its file. Without a `main` the example is the body of a function called `body`.
    pub fn program(
        &self,
        source: &SourceFile,
        example: &Example<'_, '_>,
        body: &str,
    ) -> Option<(Session, FileId)> {
        let mut session = self.session.clone();
        let text = text(source, example, body);
        if session.chosen.is_some() {
            session.example = session.add_source(source.name.clone(), text);
        } else {
            session.add_text(source.name.clone(), text);
        }
        let (file, _) = session.sources.files().last()?;
        Some((session, file))
    }
}

/// Whether an example is a program; code of other languages has a tag of its own.
pub fn is_impala(example: &Example<'_, '_>) -> bool {
    example.tags.iter().all(|tag| ["impala", "artic", "fails", "no_run"].contains(tag))
}

/// Whether an example has a function `main`.
pub fn has_main(example: &Example<'_, '_>) -> bool {
    example.lines.iter().any(|line| {
        let mut words = line.text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.any(|word| word == "fn") && words.find(|word| !word.is_empty()) == Some("main")
    })
}

/// The text of an example, each line and column where it stands in its file. Without a `main` it is the body of a
/// function called `body`.
fn text(source: &SourceFile, example: &Example<'_, '_>, body: &str) -> String {
    let (open, close) = match has_main(example) {
        true => (String::new(), ""),
        false => (format!("fn {body}() -> () {{"), "}"),
    };
    let at = source.line_col(example.open.span.lo);
    let mut text = "\n".repeat(at.line.saturating_sub(1) as usize) + &open + "\n";
    for line in example.lines {
        let column = source.line_col(line.span.lo).col as usize;
        let mark = source.text[source.local(line.span)].len() - line.text.len();
        text += &format!("{}{}\n", " ".repeat(column.saturating_sub(1) + mark), line.text);
    }
    text + close + "\n"
}

/// The text of a file with blanks in place of its `main`: an example may have one of its own.
fn without_main(source: &SourceFile, tree: &ast::File) -> String {
    let mut text = source.text.clone();
    for item in &tree.items {
        let ItemKind::Fn(function) = &item.kind else { continue };
        if function.name.name.as_str() == "main" {
            let range = source.local(item.span);
            let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
            let blanks: String = source.text[range.clone()].bytes().map(blank).collect();
            text.replace_range(range, &blanks);
        }
    }
    text
}
