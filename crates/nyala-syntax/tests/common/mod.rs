//! Support for tests over the corpus.

use std::fs;
use std::path::Path;

use nyala_span::{SourceFile, SourceMap};
use nyala_syntax::{Parse, dump, format, parse};

/// The files of the corpus with their names, in order.
pub fn corpus() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = fs::read_dir(folder).expect("the corpus is part of the repository");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    let read = |path: &Path| {
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("corpus files are text"))
    };
    paths.iter().map(|path| read(path)).collect()
}

/// Parses `text` and looks at the result.
pub fn with_parse<T>(text: &str, look: impl FnOnce(&SourceFile, Parse) -> T) -> T {
    let mut map = SourceMap::default();
    let id = map.add("test", text).expect("test texts are small");
    let file = map.file(id);
    look(file, parse(file))
}

/// Checks that formatting `text` keeps its tree and its comments, and that formatting
/// again changes nothing. Text with errors is not formatted; whether this one was.
pub fn check_format(name: &str, text: &str) -> Result<bool, String> {
    let Some((tree, comments, formatted)) = formatted(text) else { return Ok(false) };
    let Some((new_tree, new_comments, again)) = formatted_or_errors(&formatted)? else {
        return Err(format!("{name}: formatted text does not parse:\n{formatted}"));
    };
    if tree != new_tree {
        let (old, new) = tree.lines().zip(new_tree.lines()).find(|(old, new)| old != new).unwrap_or_default();
        return Err(format!("the tree changed from\n{old}\nto\n{new}\nin:\n{formatted}"));
    }
    if comments != new_comments {
        return Err(format!("comments changed:\n{comments:?}\n{new_comments:?}\n{formatted}"));
    }
    if formatted != again {
        let (old, new) =
            formatted.lines().zip(again.lines()).find(|(old, new)| old != new).unwrap_or_default();
        return Err(format!("not stable: `{old}` became `{new}` in:\n{formatted}"));
    }
    Ok(true)
}

type Formatted = (String, Vec<String>, String);

fn formatted(text: &str) -> Option<Formatted> {
    with_parse(text, |file, parse| {
        let comment =
            |comment: &nyala_syntax::ast::Comment| file.text[file.local(comment.span)].trim_end().to_string();
        let comments = parse.file.comments.iter().map(comment).collect();
        parse.errors.is_empty().then(|| (dump(&parse.file), comments, format(&parse.file, file)))
    })
}

fn formatted_or_errors(text: &str) -> Result<Option<Formatted>, String> {
    let errors = with_parse(text, |file, parse| {
        let line = |error: &nyala_span::Diagnostic| {
            let at = file.line_col(error.primary.span.lo);
            format!("{}:{}: {}: {}", at.line, at.col, error.code, error.message)
        };
        parse.errors.iter().map(line).collect::<Vec<_>>()
    });
    if errors.is_empty() { Ok(formatted(text)) } else { Err(format!("{}\n{text}", errors.join("\n"))) }
}
