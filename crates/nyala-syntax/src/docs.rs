//! Documentation comments: `///` before an item, field or declaration, `//!` at the start of a file.
//!
//! The tree has all comments in order (see [`File::comments`]). Which of them document an item, a field or a
//! declaration is decided here, by position: those directly before it, with only white space
//! between. The text is Markdown; [`Docs::examples`] finds the code in it.
//!
//! Older files have plain comments only. For them there are [`plain_docs_before`] and [`plain_file_docs`], which
//! tools that show documentation use if [`has_docs`] finds none.

use nyala_span::{SourceFile, Span};

use crate::ast::{Comment, File};

/// The documentation of an item, field or file.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Docs<'a> {
    /// Its lines, in order.
    pub lines: Vec<DocLine<'a>>,
}

/// A line of documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DocLine<'a> {
    /// The text behind `///` or `//!` and one space.
    pub text: &'a str,
    /// The whole comment.
    pub span: Span,
}

/// Code between two fences, ```` ``` ````.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example<'d, 'a> {
    /// The words behind the opening fence, which commas or spaces separate: `impala`, `no_run`.
    pub tags: Vec<&'a str>,
    /// The line of the opening fence.
    pub open: DocLine<'a>,
    /// The lines between the fences.
    pub lines: &'d [DocLine<'a>],
    /// The line of the closing fence; none if it is missing.
    pub close: Option<DocLine<'a>>,
}

/// The documentation in front of what begins at `span`: an item with its attributes, a field, a declaration.
pub fn docs_before<'a>(file: &File, source: &'a SourceFile, span: Span) -> Docs<'a> {
    let end = file.comments.partition_point(|comment| comment.span.lo < span.lo);
    let mut next = span.lo;
    let mut lines = vec![];
    for comment in file.comments[..end].iter().rev() {
        let gap = &source.text[source.local(Span::new(comment.span.hi.min(next), next))];
        let Some(line) = doc_line(source, comment, "///").filter(|_| gap.trim().is_empty()) else { break };
        next = comment.span.lo;
        lines.push(line);
    }
    lines.reverse();
    Docs { lines }
}

/// The documentation of the whole file: the lines `//!` in front of its first item.
pub fn file_docs<'a>(file: &File, source: &'a SourceFile) -> Docs<'a> {
    let end = file.items.first().map_or(file.span.hi, |item| item.span.lo);
    let comments = file.comments.iter().take_while(|comment| comment.span.lo < end);
    Docs { lines: comments.filter_map(|comment| doc_line(source, comment, "//!")).collect() }
}

/// Whether a file has comments that are marked as documentation.
pub fn has_docs(file: &File, source: &SourceFile) -> bool {
    let is_doc = |comment| ["///", "//!"].iter().any(|mark| doc_line(source, comment, mark).is_some());
    file.comments.iter().any(is_doc)
}

/// The plain comments in the lines directly above what begins at `span`.
pub fn plain_docs_before<'a>(file: &File, source: &'a SourceFile, span: Span) -> Docs<'a> {
    let end = file.comments.partition_point(|comment| comment.span.lo < span.lo);
    let mut next = span.lo;
    let mut lines = vec![];
    for comment in file.comments[..end].iter().rev() {
        let gap = &source.text[source.local(Span::new(comment.span.hi.min(next), next))];
        let is_above = gap.trim().is_empty() && gap.matches('\n').count() == 1;
        let Some(line) = plain_line(source, comment).filter(|_| is_above) else { break };
        next = comment.span.lo;
        lines.push(line);
    }
    lines.reverse();
    Docs { lines }
}

/// The plain comments at the start of a file, up to the first empty line. Comments directly above the first item
/// document that item.
pub fn plain_file_docs<'a>(file: &File, source: &'a SourceFile) -> Docs<'a> {
    let mut lines: Vec<DocLine<'a>> = vec![];
    let mut next = source.base;
    for comment in &file.comments {
        let gap = &source.text[source.local(Span::new(next, comment.span.lo.max(next)))];
        let is_below = gap.trim().is_empty() && gap.matches('\n').count() <= 1;
        let Some(line) = plain_line(source, comment).filter(|_| is_below) else { break };
        next = comment.span.hi;
        lines.push(line);
    }
    let first = file.items.first().map(|item| plain_docs_before(file, source, item.span));
    if first.is_some_and(|docs| !docs.is_empty() && docs.lines.first() == lines.first()) {
        lines.clear();
    }
    lines.retain(|line| !is_directive(line.text));
    Docs { lines }
}

/// The text of a plain comment that is alone in its line and is not a line of dashes.
fn plain_line<'a>(source: &'a SourceFile, comment: &Comment) -> Option<DocLine<'a>> {
    let range = source.local(comment.span);
    let before = source.text[..range.start].rsplit('\n').next().unwrap_or("");
    let line = doc_line(source, comment, "//")?;
    (before.trim().is_empty() && !line.text.trim_start().starts_with("--")).then_some(line)
}

/// Whether a comment at the start of a file is for the compiler: `edition: 2018`.
fn is_directive(text: &str) -> bool {
    let word = text.trim_start().split_once(':').map(|(word, _)| word);
    matches!(word, Some("dialect" | "edition" | "uses"))
}

/// The text of a comment that begins with `mark`. A line of slashes is no documentation.
fn doc_line<'a>(source: &'a SourceFile, comment: &Comment, mark: &str) -> Option<DocLine<'a>> {
    let text = source.text[source.local(comment.span)].strip_prefix(mark)?;
    if comment.is_block || text.starts_with('/') {
        return None;
    }
    Some(DocLine { text: text.strip_prefix(' ').unwrap_or(text), span: comment.span })
}

impl<'a> Docs<'a> {
    /// Whether there are no documentation comments.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// All lines as one Markdown text.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| line.text.to_owned() + "\n").collect()
    }

    /// The code between fences, in order.
    pub fn examples(&self) -> Vec<Example<'_, 'a>> {
        let mut examples = vec![];
        let mut rest = &self.lines[..];
        while let Some(start) = rest.iter().position(|line| fence(line).is_some()) {
            let open = rest[start];
            let (ticks, info) = fence(&open).unwrap_or_default();
            let inside = &rest[start + 1..];
            let closes =
                |line: &DocLine<'_>| fence(line).is_some_and(|(n, info)| n >= ticks && info.is_empty());
            let len = inside.iter().position(closes).unwrap_or(inside.len());
            let tags = info.split([',', ' ', '\t']).filter(|tag| !tag.is_empty()).collect();
            examples.push(Example { tags, open, lines: &inside[..len], close: inside.get(len).copied() });
            rest = inside.get(len + 1..).unwrap_or_default();
        }
        examples
    }
}

/// The number of backticks of a fence, and what follows them.
fn fence<'a>(line: &DocLine<'a>) -> Option<(usize, &'a str)> {
    let text = line.text.trim_start();
    let info = text.trim_start_matches('`');
    let ticks = text.len() - info.len();
    (ticks >= 3 && !info.contains('`')).then_some((ticks, info.trim()))
}

#[cfg(test)]
mod tests {
    use nyala_span::{FileId, SourceMap};

    use super::*;
    use crate::ast::{Fields, ItemKind};

    fn parsed(text: &str) -> (SourceMap, FileId, File) {
        let mut sources = SourceMap::default();
        let id = sources.add("docs.impala", text).expect("test texts are small");
        let file = crate::parse(sources.file(id)).file;
        (sources, id, file)
    }

    fn of_items(text: &str) -> Vec<String> {
        let (sources, id, file) = parsed(text);
        file.items.iter().map(|item| docs_before(&file, sources.file(id), item.span).text()).collect()
    }

    #[test]
    fn comments_with_three_slashes_belong_to_the_next_item() {
        let text = "/// One.\n///\n/// More.\nfn f() -> () {}\n// plain\nfn g() -> () {}\n/// With attribute.\n#[test]\nfn h() -> () {}\n";
        assert_eq!(of_items(text), ["One.\n\nMore.\n", "", "With attribute.\n"]);
    }

    #[test]
    fn other_comments_and_lines_of_slashes_end_the_documentation() {
        assert_eq!(of_items("/// Far.\n// plain\n/// Near.\nstruct S;"), ["Near.\n"]);
        assert_eq!(of_items("//// line\nstruct S;"), [""]);
        assert_eq!(of_items("struct A; /// behind\nstruct S;"), ["", "behind\n"]);
    }

    #[test]
    fn fields_have_documentation_too() {
        let (sources, id, file) = parsed("struct S {\n    /// The first.\n    a: i32,\n    b: i32\n}");
        let ItemKind::Struct(item) = &file.items[0].kind else { panic!("it is a struct") };
        let Fields::Record(fields) = &item.fields else { panic!("it has named fields") };
        let texts = fields.iter().map(|field| docs_before(&file, sources.file(id), field.name.span).text());
        assert_eq!(texts.collect::<Vec<_>>(), ["The first.\n", ""]);
    }

    #[test]
    fn files_are_documented_at_their_beginning() {
        let (sources, id, file) =
            parsed("// Licence.\n//! A library.\n//! It computes.\n\nfn f() -> () {}\n");
        assert_eq!(file_docs(&file, sources.file(id)).text(), "A library.\nIt computes.\n");
    }

    #[test]
    fn plain_comments_directly_above_an_item_can_document_it() {
        let text = "// edition: 2018\n// The file.\n\n// ---- Part\n// One,\n// two.\nfn f() -> () {} // not g\nfn g() -> () {}\n// Far.\n\nfn h() -> () {}\n";
        let (sources, id, file) = parsed(text);
        let source = sources.file(id);
        let of_item = |item: &crate::ast::Item| plain_docs_before(&file, source, item.span).text();
        assert!(!has_docs(&file, source));
        assert_eq!(plain_file_docs(&file, source).text(), "The file.\n");
        assert_eq!(file.items.iter().map(of_item).collect::<Vec<_>>(), ["One,\ntwo.\n", "", ""]);
    }

    #[test]
    fn a_first_comment_without_an_empty_line_documents_the_first_item() {
        let (sources, id, file) = parsed("// One.\nfn f() -> () {}\n");
        assert!(plain_file_docs(&file, sources.file(id)).is_empty());
    }

    #[test]
    fn examples_are_between_fences() {
        let text = "/// Before.\n/// ```impala,no_run\n/// f();\n///   g();\n/// ```\n/// ```\n/// h();\nfn f() -> () {}";
        let (sources, id, file) = parsed(text);
        let docs = docs_before(&file, sources.file(id), file.items[0].span);
        let examples = docs.examples();
        let lines = |at: usize| examples[at].lines.iter().map(|line| line.text).collect::<Vec<_>>();
        assert_eq!(examples.len(), 2);
        assert_eq!((lines(0), &examples[0].tags[..]), (vec!["f();", "  g();"], &["impala", "no_run"][..]));
        assert_eq!((lines(1), examples[1].close), (vec!["h();"], None));
    }
}
