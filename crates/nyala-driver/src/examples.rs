//! Examples in documentation comments, as programs: what `nyala test` and `nyala doc` compile.

use nyala_span::SourceFile;
use nyala_syntax::ast::{self, ItemKind};
use nyala_syntax::docs::Example;

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
pub fn program(source: &SourceFile, example: &Example<'_, '_>, body: &str) -> String {
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
pub fn without_main(source: &SourceFile, tree: &ast::File) -> String {
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
