//! Lines and columns: decides where a document breaks.
//!
//! A [`Doc`] is a flat list of texts, possible line breaks, and groups. A group is
//! written on one line if it fits, else all of its own breaks become line breaks.
//! Widths come from prefix sums over the list, so each group is decided in
//! constant time and the whole rendering is linear.

/// The maximum width of a line with more than one text.
const MAX_WIDTH: usize = 100;
/// Columns per level of indentation.
const INDENT: usize = 4;

/// A possible line break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line {
    /// Nothing, if the group is on one line.
    Soft,
    /// A space, if the group is on one line.
    Space,
    /// A space, or a break if the text up to the next break does not fit.
    Fill,
    /// Always a break.
    Hard,
    /// A break and an empty line.
    Blank,
}

impl Line {
    fn is_hard(self) -> bool {
        matches!(self, Line::Hard | Line::Blank)
    }
}

#[derive(Clone, Copy, Debug)]
enum Op<'a> {
    Text(&'a str),
    /// A text only where the group is broken.
    IfBroken(&'a str),
    Line(Line),
    Open(Group),
    Close,
    Indent,
    Dedent,
}

/// The properties of a group.
#[derive(Clone, Copy, Default, Debug)]
struct Group {
    /// It must break.
    is_forced: bool,
    /// Start and end of its last element, if that element may break while the
    /// group itself stays on one line: `f(x, |y| {` .. `})`.
    hug: Option<(usize, usize)>,
    /// The index of its `Close`.
    end: usize,
}

/// Where a group was opened.
#[derive(Clone, Copy)]
pub(super) struct GroupId(usize);

/// A document under construction.
#[derive(Default)]
pub(super) struct Doc<'a> {
    ops: Vec<Op<'a>>,
    open: Vec<usize>,
    /// Whether a comment that ends its line was written, and an empty line follows.
    pending: Option<Line>,
    at_line_start: bool,
    last_text: &'a str,
    has_space: bool,
}

impl<'a> Doc<'a> {
    pub fn new() -> Doc<'a> {
        Doc { at_line_start: true, ..Doc::default() }
    }

    /// A text without line breaks, or a comment.
    pub fn text(&mut self, text: &'a str) {
        self.flush_pending();
        if !self.at_line_start && !self.has_space && would_fuse(self.last_text, text) {
            self.space();
        }
        self.text_glued(text);
    }

    /// A text directly after the previous one, without a separating space.
    pub fn text_glued(&mut self, text: &'a str) {
        self.flush_pending();
        self.ops.push(Op::Text(text));
        self.last_text = text;
        self.at_line_start = false;
        self.has_space = false;
    }

    pub fn if_broken(&mut self, text: &'a str) {
        self.ops.push(Op::IfBroken(text));
    }

    /// A space, unless a space or line break precedes.
    pub fn space(&mut self) {
        if !self.at_line_start && !self.has_space && self.pending.is_none() {
            self.ops.push(Op::Text(" "));
            self.has_space = true;
        }
    }

    pub fn line(&mut self, line: Line) {
        let line = match (self.pending.take(), line) {
            (Some(Line::Blank), _) | (_, Line::Blank) => Line::Blank,
            (Some(_), _) => Line::Hard,
            (None, line) => line,
        };
        self.ops.push(Op::Line(line));
        self.at_line_start = true;
        self.has_space = false;
    }

    /// The next text starts a new line.
    pub fn break_next(&mut self, line: Line) {
        self.pending = Some(line);
    }

    fn flush_pending(&mut self) {
        if let Some(line) = self.pending.take() {
            self.line(line);
        }
    }

    /// Whether the next text is the first one after a possible line break.
    pub fn at_line_start(&self) -> bool {
        self.at_line_start || self.pending.is_some()
    }

    /// Whether the last operation was a possible line break.
    pub fn is_at_line(&self) -> bool {
        self.at_line_start && self.pending.is_none()
    }

    /// Whether a comment here needs no space before it.
    pub fn is_behind_opener(&self) -> bool {
        matches!(self.last_text, "(" | "[" | "|" | "@" | "@@" | "$" | "~" | "!")
    }

    /// Opens a group, after a pending break.
    pub fn open(&mut self) -> GroupId {
        self.flush_pending();
        self.open.push(self.ops.len());
        self.ops.push(Op::Open(Group::default()));
        GroupId(self.ops.len() - 1)
    }

    pub fn close(&mut self) {
        let end = self.ops.len();
        if let Some(Op::Open(group)) = self.open.pop().and_then(|at| self.ops.get_mut(at)) {
            group.end = end;
        }
        self.ops.push(Op::Close);
    }

    /// Makes `group` break.
    pub fn force(&mut self, GroupId(at): GroupId) {
        if let Op::Open(group) = &mut self.ops[at] {
            group.is_forced = true;
        }
    }

    /// The current end of the document, for [`Doc::hug`].
    pub fn mark(&self) -> usize {
        self.ops.len()
    }

    /// Lets the part from `start` to `end` break while `group` stays on one line.
    pub fn hug(&mut self, GroupId(at): GroupId, start: usize, end: usize) {
        if let Op::Open(group) = &mut self.ops[at] {
            group.hug = Some((start, end));
        }
    }

    pub fn indent(&mut self) {
        self.ops.push(Op::Indent);
    }

    pub fn dedent(&mut self) {
        self.ops.push(Op::Dedent);
    }

    /// The finished text; it ends in a line break unless it is empty.
    pub fn render(mut self) -> String {
        self.pending = None;
        let widths = Widths::of(&self.ops);
        let mut out = Output::default();
        let mut modes = Vec::new();
        for (at, &op) in self.ops.iter().enumerate() {
            let mode = modes.last().copied().unwrap_or(Mode::Broken);
            match op {
                Op::Text(text) => out.text(text),
                Op::IfBroken(text) if mode == Mode::Broken => out.text(text),
                Op::IfBroken(_) => {}
                Op::Line(line) => out.line(line, mode != Mode::Broken, widths.to_line[at + 1]),
                Op::Open(_) if mode == Mode::Flat => modes.push(Mode::Flat),
                Op::Open(group) => modes.push(widths.mode(at, group, out.column)),
                Op::Close => {
                    modes.pop();
                }
                // The hugged element is not indented.
                Op::Indent | Op::Dedent if mode == Mode::Hug => {}
                Op::Indent => out.indent += INDENT,
                Op::Dedent => out.indent = out.indent.saturating_sub(INDENT),
            }
        }
        out.finish()
    }
}

/// Whether two adjacent texts would be lexed as another token.
fn would_fuse(before: &str, after: &str) -> bool {
    let (Some(last), Some(first)) = (before.bytes().last(), after.bytes().next()) else { return false };
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let pair = [last, first];
    (is_word(last) && is_word(first))
        || matches!(
            &pair,
            b"++"
                | b"--"
                | b"->"
                | b"=>"
                | b"::"
                | b".."
                | b"@@"
                | b"@?"
                | b"||"
                | b"//"
                | b"/*"
                | b"<<"
                | b">>"
        )
        || (first == b'=' && b"!=+-*/%&|^<>".contains(&last))
}

/// The layout of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// On one line, with all groups in it.
    Flat,
    /// On one line, but its last element may break.
    Hug,
    /// With its own breaks.
    Broken,
}

/// Prefix sums over the operations.
struct Widths {
    /// Width of everything before an index, written on one line.
    before: Vec<usize>,
    /// Forced breaks before an index.
    hard_before: Vec<usize>,
    /// Width from an index to the next possible break.
    to_line: Vec<usize>,
}

impl Widths {
    fn of(ops: &[Op<'_>]) -> Widths {
        let mut before = Vec::with_capacity(ops.len() + 1);
        let mut hard_before = Vec::with_capacity(ops.len() + 1);
        let (mut width, mut hard) = (0, 0);
        for op in ops {
            before.push(width);
            hard_before.push(hard);
            width += flat_width(op);
            hard += usize::from(is_hard(op));
        }
        before.push(width);
        hard_before.push(hard);
        let mut to_line = vec![0; ops.len() + 1];
        for at in (0..ops.len()).rev() {
            let is_line = matches!(ops[at], Op::Line(_)) || is_hard(&ops[at]);
            to_line[at] = if is_line { 0 } else { flat_width(&ops[at]) + to_line[at + 1] };
        }
        Widths { before, hard_before, to_line }
    }

    /// How the group that opens at `at` is written.
    fn mode(&self, at: usize, group: Group, column: usize) -> Mode {
        let hard = |from: usize, to: usize| self.hard_before[to] - self.hard_before[from];
        let width = |from: usize, to: usize| self.before[to] - self.before[from];
        if hard(at, group.end) == 0 && column + width(at, group.end) + self.to_line[group.end] <= MAX_WIDTH {
            return Mode::Flat;
        }
        let hugs = group.hug.is_some_and(|(start, end)| {
            hard(at, start) == 0
                && hard(end, group.end) == 0
                && column + width(at, start) + self.to_line[start] <= MAX_WIDTH
        });
        if hugs { Mode::Hug } else { Mode::Broken }
    }
}

fn flat_width(op: &Op<'_>) -> usize {
    match op {
        Op::Text(text) => text.chars().count(),
        Op::Line(Line::Space | Line::Fill) => 1,
        _ => 0,
    }
}

/// Whether the enclosing groups cannot be on one line.
fn is_hard(op: &Op<'_>) -> bool {
    match op {
        Op::Line(line) => line.is_hard(),
        Op::Text(text) => text.contains('\n'),
        Op::Open(group) => group.is_forced,
        _ => false,
    }
}

#[derive(Default)]
struct Output {
    text: String,
    column: usize,
    indent: usize,
}

impl Output {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
        match text.rfind('\n') {
            Some(at) => self.column = text[at + 1..].chars().count(),
            None => self.column += text.chars().count(),
        }
    }

    fn line(&mut self, line: Line, is_flat: bool, next_width: usize) {
        let is_fill = line == Line::Fill && self.column + 1 + next_width <= MAX_WIDTH;
        match line {
            Line::Soft if is_flat => {}
            Line::Space if is_flat => self.text(" "),
            Line::Fill if is_flat || is_fill => self.text(" "),
            _ => self.new_line(line == Line::Blank),
        }
    }

    fn new_line(&mut self, is_blank: bool) {
        self.trim();
        if !self.text.is_empty() {
            self.text.push_str(if is_blank { "\n\n" } else { "\n" });
        }
        self.text.extend(std::iter::repeat_n(' ', self.indent));
        self.column = self.indent;
    }

    fn trim(&mut self) {
        let len = self.text.trim_end_matches(' ').len();
        self.text.truncate(len);
    }

    fn finish(mut self) -> String {
        let len = self.text.trim_end().len();
        self.text.truncate(len);
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text
    }
}
