//! Comments: each stays between the same two tokens.
//!
//! A comment at the end of a line stays after its token. A comment on its own line stays
//! there if the layout has a line break. A comment inside a line becomes part of the line.
//! The white space around the comment decides, and is the same in the output.

use super::layout::Line;
use super::{Printer, is_space};
use crate::ast::Comment;

impl<'a> Printer<'a> {
    /// Whether a comment comes before the next token.
    pub(super) fn comment_before_token(&self) -> bool {
        self.next_comment(self.next_token()).is_some()
    }

    /// The next unwritten comment, if it is before `end`.
    fn next_comment(&self, end: usize) -> Option<Comment> {
        self.comments
            .get(self.n_written)
            .copied()
            .filter(|comment| self.source.local(comment.span).start < end)
    }

    /// Writes the comments before `end`, where a token follows.
    pub(super) fn comments_until(&mut self, end: usize) {
        let mut is_alone = false;
        while let Some(comment) = self.next_comment(end) {
            is_alone |= self.doc.at_line_start();
            let newlines = self.newlines_after(comment);
            self.write(comment);
            if is_alone && newlines > 0 {
                self.doc.break_next(if newlines > 1 { Line::Blank } else { Line::Hard });
            }
        }
    }

    /// Writes comments before `end` up to the first that runs to the end of its line.
    pub(super) fn block_comments_until(&mut self, end: usize) {
        while let Some(comment) = self.next_comment(end).filter(|comment| comment.is_block) {
            self.write(comment);
        }
    }

    /// Writes the comments before `end` after the separator.
    pub(super) fn overdue_comments(&mut self, end: usize) {
        while let Some(comment) = self.next_comment(end) {
            self.write(comment);
        }
    }

    /// A possible line break. Comments at the end of the previous line are written
    /// first.
    pub(super) fn line(&mut self, line: Line) {
        self.trailing_comments();
        self.wants_space = false;
        // A comment that ends its line starts one, too.
        let comment = self.next_comment(self.next_token());
        let is_alone = comment.is_some_and(|comment| self.newlines_after(comment) > 0);
        self.doc.line(if is_alone && line != Line::Blank { Line::Hard } else { line });
    }

    /// A line break between statements, with an empty line if the source has one.
    pub(super) fn line_between(&mut self) {
        self.trailing_comments();
        self.wants_space = false;
        self.doc.line(if self.empty_line_follows() { Line::Blank } else { Line::Hard });
    }

    /// A possible line break between the elements of a list; an empty line is kept.
    pub(super) fn line_in_list(&mut self, line: Line) {
        self.trailing_comments();
        self.line(if self.empty_line_follows() { Line::Blank } else { line });
    }

    /// Whether the source has an empty line before the next token.
    fn empty_line_follows(&self) -> bool {
        let next = self.next_token();
        let next = self.next_comment(next).map_or(next, |comment| self.source.local(comment.span).start);
        self.newlines_before(next) > 1
    }

    /// Writes the comments on the line of the last token, if the line ends after them.
    fn trailing_comments(&mut self) {
        let end = self.next_token();
        let is_here = |comment: &&Comment| self.source.local(comment.span).start < end;
        let mut n_trailing = 0;
        for comment in self.comments[self.n_written..].iter().take_while(is_here) {
            if self.newlines_before(self.source.local(comment.span).start) > 0 {
                break;
            }
            n_trailing += 1;
            if self.newlines_after(*comment) > 0 {
                break;
            }
        }
        let trailing = &self.comments[self.n_written..][..n_trailing];
        if trailing.last().is_some_and(|&comment| self.newlines_after(comment) > 0) {
            trailing.iter().for_each(|&comment| self.write(comment));
            self.doc.break_next(Line::Hard);
        }
    }

    /// Writes the comments before a closing bracket, while still indented. If only
    /// comments are between the brackets, the list or block `is_empty`.
    pub(super) fn comments_before_close(&mut self, is_empty: bool) {
        self.trailing_comments();
        let end = self.next_token();
        if is_empty && self.next_comment(end).is_some() {
            self.doc.line(Line::Hard);
        }
        while let Some(comment) = self.next_comment(end) {
            let newlines = self.newlines_before(self.source.local(comment.span).start);
            if newlines > 0 && !self.doc.is_at_line() {
                self.doc.line(if newlines > 1 { Line::Blank } else { Line::Hard });
            }
            self.write(comment);
            if self.newlines_after(comment) > 0 {
                self.doc.break_next(Line::Hard);
            }
        }
    }

    /// Writes the next comment, `comment`.
    fn write(&mut self, comment: Comment) {
        self.n_written += 1;
        let range = self.source.local(comment.span);
        self.move_to(range.end);
        if !(comment.is_block && self.doc.is_behind_opener()) {
            self.doc.space();
        }
        self.doc.text(self.source.text[range].trim_end());
        self.wants_space = comment.is_block;
        if !comment.is_block {
            self.doc.break_next(Line::Hard);
        }
    }

    fn newlines_before(&self, at: usize) -> usize {
        let spaces = self.source.text[..at].chars().rev().take_while(|&ch| is_space(ch));
        spaces.filter(|&ch| ch == '\n').take(2).count()
    }

    /// Line breaks after a comment; the end of the file counts as one.
    fn newlines_after(&self, comment: Comment) -> usize {
        let rest = &self.source.text[self.source.local(comment.span).end..];
        let newlines = rest.chars().take_while(|&ch| is_space(ch)).filter(|&ch| ch == '\n').take(2).count();
        if newlines == 0 && rest.trim_start_matches(is_space).is_empty() { 1 } else { newlines }
    }
}
