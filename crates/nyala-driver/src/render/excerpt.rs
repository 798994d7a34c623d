//! The part of a file that a rendered diagnostic needs.
//!
//! The renderer processes all of its input, so an excerpt is small: only
//! the lines from the first to the last span, and of a very long line only a
//! window around its spans. Distant spans get separate excerpts.

use std::ops::Range;

use nyala_span::{Label, SourceFile, Span};

/// The maximum distance in lines of spans in one excerpt.
const MAX_GAP: u32 = 50;

/// A span with more lines is reduced to its first.
const MAX_LINES: u32 = 50;

/// A longer line is cut to a window. The renderer fits it to the terminal.
const MAX_LINE_BYTES: usize = 500;

/// The length of a cut line before its first span.
const BYTES_BEFORE: usize = 150;

/// A label of a diagnostic with its range in the file.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    /// Bytes of the file's text, on character boundaries.
    pub(super) range: Range<usize>,
    pub(super) message: &'a str,
    pub(super) is_primary: bool,
    lines: Range<u32>,
}

impl<'a> Place<'a> {
    pub(super) fn new(file: &SourceFile, label: &'a Label, is_primary: bool) -> Place<'a> {
        Place { message: &label.message, is_primary, ..Place::unlabelled(file, label.span) }
    }

    pub(super) fn unlabelled(file: &SourceFile, span: Span) -> Place<'a> {
        let local = file.local(span);
        let mut range = file.text.floor_char_boundary(local.start)..file.text.ceil_char_boundary(local.end);
        let line_of = |offset: usize| file.line_col(file.base + offset as u32).line;
        let (first, mut last) = (line_of(range.start), line_of(range.end));
        if last - first > MAX_LINES {
            last = first;
            range.end = file.line_range(first).end.max(range.start);
        }
        Place { range, message: "", is_primary: true, lines: first..last + 1 }
    }
}

/// Splits the spans of one file into groups for one excerpt each, in source
/// order.
pub(super) fn group(mut places: Vec<Place<'_>>) -> Vec<Vec<Place<'_>>> {
    places.sort_by_key(|place| (place.range.start, place.range.end));
    let mut groups: Vec<Vec<Place<'_>>> = Vec::new();
    let mut last_line = 0;
    for place in places {
        match groups.last_mut() {
            Some(group) if place.lines.start <= last_line + MAX_GAP => group.push(place.clone()),
            _ => groups.push(vec![place.clone()]),
        }
        last_line = last_line.max(place.lines.end);
    }
    groups
}

/// Some lines of a file, long ones cut.
#[derive(Debug)]
pub(super) struct Excerpt {
    pub(super) text: String,
    pub(super) first_line: usize,
    /// For each line: the bytes of the file that were kept, and where they are in the text.
    windows: Vec<(Range<usize>, usize)>,
}

impl Excerpt {
    /// The lines of `places`, which are close together and not empty.
    pub(super) fn new(file: &SourceFile, places: &[Place<'_>]) -> Excerpt {
        let first = places.iter().map(|place| place.lines.start).min().unwrap_or(1);
        let end = places.iter().map(|place| place.lines.end).max().unwrap_or(2);
        let mut excerpt = Excerpt { text: String::new(), first_line: first as usize, windows: vec![] };
        for line in first..end {
            let kept = window(file, file.line_range(line), places);
            excerpt.windows.push((kept.clone(), excerpt.text.len()));
            excerpt.text.push_str(&file.text[kept]);
            excerpt.text.push('\n');
        }
        excerpt
    }

    /// The range of the excerpt for a range of the file, clipped.
    pub(super) fn locate(&self, range: &Range<usize>) -> Range<usize> {
        self.locate_offset(range.start)..self.locate_offset(range.end)
    }

    /// The column (from 1) of an offset of the file in the excerpt.
    pub(super) fn column(&self, offset: usize) -> usize {
        let before = &self.text[..self.locate_offset(offset)];
        before.rsplit('\n').next().unwrap_or(before).chars().count() + 1
    }

    fn locate_offset(&self, offset: usize) -> usize {
        let after = self.windows.partition_point(|(kept, _)| kept.start <= offset);
        let (kept, at) = &self.windows[after.saturating_sub(1)];
        at + offset.clamp(kept.start, kept.end) - kept.start
    }
}

/// The kept part of a line: all of it, or a window around its first span.
fn window(file: &SourceFile, line: Range<usize>, places: &[Place<'_>]) -> Range<usize> {
    if line.len() <= MAX_LINE_BYTES {
        return line;
    }
    let starts = places.iter().map(|place| place.range.start);
    let first = starts.filter(|start| (line.start..=line.end).contains(start)).min().unwrap_or(line.start);
    let start = first.saturating_sub(BYTES_BEFORE).max(line.start);
    let end = line.end.min(start + MAX_LINE_BYTES);
    file.text.floor_char_boundary(start)..file.text.floor_char_boundary(end)
}
