//! The source files of one compilation.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use crate::Span;

/// One file of a [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileId(pub u32);

/// A named text with its place in the common numbering.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Its name in diagnostics: a path, `<stdin>`, `<prelude>/loops.impala`.
    pub name: String,
    /// The text, without a byte-order mark.
    pub text: String,
    /// The position of the text's first byte.
    pub base: u32,
    line_starts: OnceLock<Vec<u32>>,
}

/// A line and a column, both counted from 1; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineCol {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub col: u32,
}

/// The files of a compilation, in the order they were added.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

/// All sources together passed the 4 GiB that positions can number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceTooLarge;

impl fmt::Display for SourceTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the source files are larger than 4 GiB together")
    }
}

impl std::error::Error for SourceTooLarge {}

impl SourceMap {
    /// Adds a text under a name for diagnostics. A leading byte-order mark is dropped.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<FileId, SourceTooLarge> {
        let mut text = text.into();
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        // One position lies between files, so that the end of one is not the
        // start of the next, and position 0 stays free for `Span::NONE`.
        let base = self.files.last().map_or(1, |last| last.end() + 1);
        let end = u64::from(base) + text.len() as u64;
        if end >= u64::from(u32::MAX) {
            return Err(SourceTooLarge);
        }
        let id = FileId(self.files.len() as u32);
        self.files.push(SourceFile { name: name.into(), text, base, line_starts: OnceLock::new() });
        Ok(id)
    }

    /// The file with this id.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// All files with their ids, in order.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, file)| (FileId(i as u32), file))
    }

    /// The file of `span`; `None` for [`Span::NONE`].
    pub fn file_of(&self, span: Span) -> Option<FileId> {
        if span.is_none() {
            return None;
        }
        let after = self.files.partition_point(|file| file.base <= span.lo);
        after.checked_sub(1).map(|i| FileId(i as u32))
    }

    /// The text that `span` covers; empty for [`Span::NONE`].
    pub fn text(&self, span: Span) -> &str {
        match self.file_of(span) {
            Some(id) => {
                let file = self.file(id);
                file.text.get(file.local(span)).unwrap_or("")
            }
            None => "",
        }
    }

    /// `name:line:col` of the span's start, as in the head of a diagnostic.
    pub fn describe(&self, span: Span) -> String {
        match self.file_of(span) {
            Some(id) => {
                let file = self.file(id);
                let LineCol { line, col } = file.line_col(span.lo);
                format!("{}:{line}:{col}", file.shown_name())
            }
            None => "<no source>".into(),
        }
    }
}

/// Text with control characters written as escapes, so that it stays on its line and does nothing to a terminal.
pub fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_control() {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

impl SourceFile {
    /// The name of the file, for messages.
    pub fn shown_name(&self) -> Cow<'_, str> {
        without_controls(&self.name)
    }

    /// The position one past the text's last byte.
    pub fn end(&self) -> u32 {
        self.base + self.text.len() as u32
    }

    /// The whole text as a span.
    pub fn span(&self) -> Span {
        Span::new(self.base, self.end())
    }

    /// `span` as a range of bytes in this file's text, clipped to it.
    pub fn local(&self, span: Span) -> Range<usize> {
        let clip = |pos: u32| pos.clamp(self.base, self.end()) - self.base;
        clip(span.lo) as usize..clip(span.hi) as usize
    }

    /// Line and column of a position in this file.
    pub fn line_col(&self, pos: u32) -> LineCol {
        let offset = (pos.clamp(self.base, self.end()) - self.base) as usize;
        let starts = self.line_starts();
        let line = starts.partition_point(|&start| start as usize <= offset);
        let start = starts[line - 1] as usize;
        let before = &self.text.as_bytes()[start..offset];
        // Bytes that do not continue a character start one.
        let col = before.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        LineCol { line: line as u32, col: col as u32 + 1 }
    }

    /// The text of line `line` (from 1) without its line break.
    pub fn line_text(&self, line: u32) -> &str {
        &self.text[self.line_range(line)]
    }

    /// Line `line` (from 1) without its line break, as bytes of the text; empty
    /// at the end for a line that does not exist.
    pub fn line_range(&self, line: u32) -> Range<usize> {
        let starts = self.line_starts();
        let start_of = |idx: usize| starts.get(idx).map_or(self.text.len(), |&start| start as usize);
        let start = start_of(line as usize - 1);
        let text = &self.text[start..start_of(line as usize)];
        start..start + text.trim_end_matches(['\n', '\r']).len()
    }

    /// The place of line `line` (from 1) without its line break.
    pub fn line_span(&self, line: u32) -> Span {
        let Range { start, end } = self.line_range(line);
        Span::new(self.base + start as u32, self.base + end as u32)
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
            std::iter::once(0).chain(breaks.map(|(at, _)| at as u32 + 1)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_name_their_file() {
        let mut map = SourceMap::default();
        let a = map.add("a", "one\ntwo\n").unwrap();
        let b = map.add("b", "\u{feff}drei").unwrap();
        let span_b = map.file(b).span();
        assert_eq!(map.text(span_b), "drei");
        assert_eq!(map.file_of(span_b), Some(b));
        let two = Span::new(map.file(a).base + 4, map.file(a).base + 7);
        assert_eq!(map.text(two), "two");
        assert_eq!(map.describe(two), "a:2:1");
        assert_eq!(map.describe(Span::NONE), "<no source>");
    }

    #[test]
    fn columns_count_characters() {
        let mut map = SourceMap::default();
        let id = map.add("a", "äöx").unwrap();
        let file = map.file(id);
        assert_eq!(file.line_col(file.base + 4), LineCol { line: 1, col: 3 });
        assert_eq!(file.line_text(1), "äöx");
    }
}
