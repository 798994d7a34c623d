//! The formatter: a tree back to text, in one canonical layout.
//!
//! Four spaces, a hundred columns, a comma after the last element of a list with line
//! breaks. The printer traverses the tree and the source text in parallel: for every token
//! it writes, it skips one in the source, and it writes the comments on the way. So every
//! comment stays between its two tokens, and literals keep their spelling.
//!
//! # What is normalized
//!
//! * white space and line breaks; one empty line between statements, and between the
//!   elements of a list, is kept;
//! * the comma after the last element of a list, and after arms of `match` that
//!   end in a brace;
//! * stray semicolons, empty attribute lists, and empty trailing sections of `asm` are removed;
//! * parentheses that make `$` mean the same in both dialects are added.
//!
//! Everything else is kept, in particular each form of one dialect
//! (`x: e` or `x = e`, `[v, .. n]` or `[v; n]`, `@@` or `@`), so formatting never
//! changes the detected dialect of a file.
//!
//! # Invariants
//!
//! * Formatting is idempotent and keeps the tree ([`dump`](crate::dump()) defines equality).
//! * Comments at the end of a line, comments on their own line, and empty lines after
//!   them are the same in source and output.
//!
//! # Where to look next
//!
//! `items`, `types`, `exprs` and `control` print the constructs, `layout` decides where lines break, and `comments` finds
//! comments and empty lines between tokens.

mod comments;
mod control;
mod exprs;
mod items;
mod layout;
mod types;

use nyala_span::{SourceFile, Span};

use crate::ast::{Comment, Dialect, File, Ident, Path, StrLit, TypeExpr};
use layout::{Doc, GroupId, Line};

/// Writes `file`, which was parsed from `source` without errors, in canonical form.
pub fn format(file: &File, source: &SourceFile) -> String {
    let mut printer = Printer {
        source,
        dialect: file.dialect,
        comments: &file.comments,
        n_written: 0,
        n_passed: 0,
        pos: 0,
        doc: Doc::new(),
        wants_space: false,
        n_blocks: 0,
        in_operand: false,
    };
    printer.file(file);
    printer.doc.render()
}

struct Printer<'a> {
    source: &'a SourceFile,
    dialect: Dialect,
    comments: &'a [Comment],
    /// The number of written comments.
    n_written: usize,
    /// The number of comments before `pos`; larger than `n_written` after skipped
    /// tokens.
    n_passed: usize,
    /// The end of the last source token that was written or skipped.
    pos: usize,
    doc: Doc<'a>,
    /// Whether a comment was written inside a line; a space must follow.
    wants_space: bool,
    /// The number of written blocks that are not empty.
    n_blocks: usize,
    /// Whether the next expression is an operand of a binary operator or a cast.
    in_operand: bool,
}

impl<'a> Printer<'a> {
    // ---- Tokens -----------------------------------------------------------------

    /// Where the next source token starts.
    fn next_token(&self) -> usize {
        let text = &self.source.text;
        let mut pos = self.pos;
        let mut comments =
            self.comments[self.n_passed..].iter().map(|comment| self.source.local(comment.span));
        loop {
            pos += text[pos..].len() - text[pos..].trim_start_matches(is_space).len();
            match comments.next().filter(|comment| comment.start == pos) {
                Some(comment) => pos = comment.end,
                None => return pos,
            }
        }
    }

    /// Whether the next source token starts with `text`.
    fn at(&self, text: &str) -> bool {
        self.source.text[self.next_token()..].starts_with(text)
    }

    /// Writes the token `text`, after the comments before it.
    fn tok(&mut self, text: &'static str) {
        let at = self.next_token();
        self.comments_until(at);
        self.word(text);
        self.step_over(at, text);
    }

    /// Skips the token `text` without writing it. Comments before it are written
    /// later.
    fn skip(&mut self, text: &'static str) {
        self.step_over(self.next_token(), text);
    }

    fn step_over(&mut self, at: usize, text: &'static str) {
        let is_there = self.source.text[at..].starts_with(text);
        debug_assert!(
            is_there,
            "expected `{text}` at {}",
            &self.source.text[at..].chars().take(20).collect::<String>()
        );
        if is_there {
            self.move_to(at + text.len());
        }
    }

    fn move_to(&mut self, pos: usize) {
        self.pos = self.pos.max(pos);
        let is_passed = |comment: &&Comment| self.source.local(comment.span).start < self.pos;
        self.n_passed += self.comments[self.n_passed..].iter().take_while(is_passed).count();
    }

    /// Writes a text that may not be in the source.
    fn word(&mut self, text: &'a str) {
        let is_closing = matches!(text, ")" | "]" | "," | ";" | ".");
        if std::mem::take(&mut self.wants_space) && !is_closing {
            self.doc.space();
        }
        self.doc.text(text);
    }

    /// Writes one token as in the source.
    fn span(&mut self, span: Span) {
        let range = self.source.local(span);
        self.comments_until(range.start);
        self.move_to(range.end);
        self.word(&self.source.text[range]);
    }

    fn space(&mut self) {
        self.doc.space();
    }

    fn ident(&mut self, ident: &Ident) {
        self.span(ident.span);
    }

    fn path(&mut self, path: &Path) {
        self.path_names(path, &[]);
    }

    /// A path with type arguments, which may precede its last names: `E[T]::A`.
    fn generic_path(&mut self, path: &Path, args: &[TypeExpr]) {
        if !self.path_names(path, args) {
            self.opt_types(args);
        }
    }

    /// The names of a path with the arguments between them; returns whether there are arguments.
    fn path_names(&mut self, path: &Path, args: &[TypeExpr]) -> bool {
        let mut is_written = false;
        for (i, segment) in path.segments.iter().enumerate() {
            if !is_written && args.first().is_some_and(|arg| arg.span.lo < segment.span.lo) {
                self.opt_types(args);
                is_written = true;
            }
            if i > 0 {
                self.tok("::");
            }
            self.ident(segment);
        }
        is_written
    }

    /// Joined strings, one per line if they do not fit on one.
    fn string(&mut self, string: &StrLit) {
        let end = self.source.local(string.span).end;
        self.open();
        self.doc.indent();
        let mut is_first = true;
        while self.pos < end {
            if !is_first {
                self.line(Line::Space);
            }
            is_first = false;
            let start = self.next_token();
            let len = string_len(&self.source.text[start..]);
            self.comments_until(start);
            self.move_to(start + len);
            self.word(&self.source.text[start..start + len]);
        }
        self.doc.dedent();
        self.doc.close();
    }

    /// Opens a group. Comments before it stay outside, so that they do not break it.
    fn open(&mut self) -> GroupId {
        self.comments_until(self.next_token());
        self.doc.open()
    }

    // ---- Lists --------------------------------------------------------------------

    /// A separator. Comments that end the line before it are written after it.
    fn sep(&mut self, text: &'static str) {
        self.separator(text, |printer| printer.word(text));
    }

    /// The comma after the last element, with or without one in the source.
    fn last_comma(&mut self) {
        if self.at(",") {
            self.separator(",", |printer| printer.doc.if_broken(","));
        } else {
            self.doc.if_broken(",");
        }
    }

    fn separator(&mut self, text: &'static str, write: impl FnOnce(&mut Self)) {
        let at = self.next_token();
        self.block_comments_until(at);
        write(self);
        self.step_over(at, text);
        self.overdue_comments(at);
    }

    /// `open a, b close`. If the last element may be hugged, it may break while the rest
    /// of the list stays on one line.
    fn list<T>(
        &mut self,
        style: ListStyle,
        elements: &[T],
        hug: impl Fn(&T) -> bool,
        print: impl FnMut(&mut Self, &T),
    ) {
        let ListStyle { open, close, .. } = style;
        self.tok(open);
        if elements.is_empty() && !self.comment_before_token() {
            return self.tok(close);
        }
        let group = self.doc.open();
        self.doc.indent();
        if !elements.is_empty() {
            self.line(style.edge);
        }
        self.elements(style, elements, print, group, hug);
        self.comments_before_close(elements.is_empty());
        self.doc.dedent();
        self.line(style.edge);
        self.tok(close);
        self.doc.close();
    }

    fn elements<T>(
        &mut self,
        style: ListStyle,
        elements: &[T],
        mut print: impl FnMut(&mut Self, &T),
        group: GroupId,
        hug: impl Fn(&T) -> bool,
    ) {
        for (i, element) in elements.iter().enumerate() {
            let is_last = i + 1 == elements.len();
            let start = self.doc.mark();
            print(self, element);
            if is_last {
                if hug(element) {
                    self.doc.hug(group, start, self.doc.mark());
                }
                self.last_comma();
            } else {
                self.sep(",");
                self.line_in_list(style.between);
            }
        }
    }
}

/// The layout of a list.
#[derive(Clone, Copy)]
struct ListStyle {
    open: &'static str,
    close: &'static str,
    /// Inside the brackets.
    edge: Line,
    /// After commas.
    between: Line,
}

const PARENS: ListStyle = ListStyle { open: "(", close: ")", edge: Line::Soft, between: Line::Space };
const BRACKETS: ListStyle = ListStyle { open: "[", close: "]", edge: Line::Soft, between: Line::Space };
const BRACES: ListStyle = ListStyle { open: "{", close: "}", edge: Line::Space, between: Line::Space };

/// The length of the string literal at the start of `text`.
fn string_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// White space, as the lexer sees it.
fn is_space(ch: char) -> bool {
    matches!(ch, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}
