//! Pairs brackets before parsing.
//!
//! The parser knows the partner of every opening bracket, so it can skip a group in
//! one step: it distinguishes `@(e)|x|` from `@(f)(x)` without backtracking, and resumes
//! after a malformed group. Only this module reports missing and surplus brackets.
//!
//! # Invariants
//!
//! * Surplus closing brackets are removed from the tokens, so each closing
//!   bracket that is left is the partner of an opening one.
//! * Braces are the stronger structure: `}` ends open parentheses, but `)` never
//!   ends an open brace.
//! * After an error nothing is reported until all brackets are closed again: it
//!   would be a consequence.

use nyala_span::SourceFile;

use crate::errors::{MAX_ERRORS, SyntaxError};
use crate::token::{Token, TokenKind};

/// The partners of brackets, by token index.
pub(crate) struct Pairs {
    partner: Vec<u32>,
    /// Ranges of tokens whose nesting is uncertain, in order.
    doubts: Vec<(usize, usize)>,
}

const NONE: u32 = u32::MAX;

impl Pairs {
    /// The closing bracket of the opening one at `index`; `None` if it is missing.
    pub fn closer(&self, index: usize) -> Option<usize> {
        self.partner.get(index).filter(|&&at| at != NONE).map(|&at| at as usize)
    }

    /// Whether the token at `index` follows a wrong bracket. An error there is probably
    /// a consequence.
    pub fn is_doubtful(&self, index: usize) -> bool {
        let after = self.doubts.partition_point(|&(start, _)| start <= index);
        after > 0 && index <= self.doubts[after - 1].1
    }
}

/// An opening bracket without partner so far.
struct Open {
    index: usize,
    kind: TokenKind,
    /// For a brace: the number of open parentheses and brackets around it.
    around: Counts,
}

/// Open parentheses and brackets since the last open brace.
#[derive(Clone, Copy, Default)]
struct Counts {
    parens: u32,
    brackets: u32,
}

impl Counts {
    fn of(&mut self, opener: TokenKind) -> Option<&mut u32> {
        match opener {
            TokenKind::LParen => Some(&mut self.parens),
            TokenKind::LBracket => Some(&mut self.brackets),
            _ => None,
        }
    }
}

struct Pairing<'a> {
    tokens: &'a mut Vec<Token>,
    partner: Vec<u32>,
    open: Vec<Open>,
    counts: Counts,
    n_braces: u32,
    errors: Vec<SyntaxError>,
    /// The start of the uncertain range, if an error was reported and not all brackets
    /// have been closed since.
    in_doubt: Option<usize>,
    doubts: Vec<(usize, usize)>,
}

/// Pairs the brackets of `tokens` and drops unmatched closing brackets.
/// With `cut_short`, brackets that are open at the end are not reported.
pub(crate) fn pair(tokens: &mut Vec<Token>, file: &SourceFile, cut_short: bool) -> (Pairs, Vec<SyntaxError>) {
    let partner = vec![NONE; tokens.len()];
    let mut pairing = Pairing {
        tokens,
        partner,
        open: vec![],
        counts: Counts::default(),
        n_braces: 0,
        errors: vec![],
        in_doubt: None,
        doubts: vec![],
    };
    pairing.run();
    if !cut_short && pairing.in_doubt.is_none() {
        pairing.report_open_at_end(file);
    }
    pairing.end_doubt(pairing.tokens.len());
    (Pairs { partner: pairing.partner, doubts: pairing.doubts }, pairing.errors)
}

impl Pairing<'_> {
    fn run(&mut self) {
        let mut kept = 0;
        for index in 0..self.tokens.len() {
            let token = self.tokens[index];
            // Tokens move down over the dropped ones; `kept` is the new index.
            self.tokens[kept] = token;
            let next = self.tokens.get(index + 1).map_or(TokenKind::Eof, |next| next.kind);
            let keep = match token.kind {
                kind if kind.closer().is_some() => {
                    self.push(kept, kind);
                    true
                }
                kind if kind.is_closer() => self.close(kept, token, next),
                _ => true,
            };
            if self.open.is_empty() {
                self.end_doubt(kept);
            }
            kept += usize::from(keep);
        }
        self.tokens.truncate(kept);
    }

    fn push(&mut self, index: usize, kind: TokenKind) {
        let around = self.counts;
        match self.counts.of(kind) {
            Some(count) => *count += 1,
            None => {
                self.counts = Counts::default();
                self.n_braces += 1;
            }
        }
        self.open.push(Open { index, kind, around });
    }

    fn pop(&mut self) -> Option<Open> {
        let open = self.open.pop()?;
        match self.counts.of(open.kind) {
            Some(count) => *count -= 1,
            None => {
                self.counts = open.around;
                self.n_braces -= 1;
            }
        }
        Some(open)
    }

    /// Finds the partner of the closing bracket `token` at `index`. Returns whether
    /// the token is kept.
    fn close(&mut self, index: usize, token: Token, next: TokenKind) -> bool {
        let is_partner = |open: &Open| open.kind.closer() == Some(token.kind);
        if !self.is_awaited(token.kind) {
            return self.close_unawaited(index, token, next);
        }
        if let Some(top) = self.open.last().filter(|&top| !is_partner(top)) {
            let opener = self.tokens[top.index];
            let text = opener.kind.text().unwrap_or_default();
            let stopped_at = Some(token.span);
            let error = SyntaxError::Unclosed { opener: opener.span, text, stopped_at, by_indent: None };
            self.report(error, top.index);
        }
        while let Some(open) = self.pop() {
            if is_partner(&open) {
                self.partner[open.index] = index as u32;
                break;
            }
        }
        true
    }

    /// Whether an opening bracket for `closer` is open, as far as it may look.
    fn is_awaited(&self, closer: TokenKind) -> bool {
        match closer {
            TokenKind::RParen => self.counts.parens > 0,
            TokenKind::RBracket => self.counts.brackets > 0,
            _ => self.n_braces > 0,
        }
    }

    /// A closing bracket of the wrong kind replaces the right one, unless the
    /// right one follows. An unmatched bracket is dropped.
    fn close_unawaited(&mut self, index: usize, token: Token, next: TokenKind) -> bool {
        let text = token.kind.text().unwrap_or_default();
        let top = self.open.last().map(|top| (top.index, top.kind));
        let opener = top.map(|(at, kind)| (self.tokens[at].span, kind.text().unwrap_or_default()));
        self.report(SyntaxError::StrayCloser { at: token.span, text, opener }, index);
        match top {
            Some((at, kind)) if kind != TokenKind::LBrace && kind.closer() != Some(next) => {
                self.pop();
                self.partner[at] = index as u32;
                true
            }
            _ => false,
        }
    }

    /// Reports an error; the nesting after the token at `index` is uncertain.
    fn report(&mut self, error: SyntaxError, index: usize) {
        if self.in_doubt.is_none() && self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
            self.in_doubt = Some(index);
        }
    }

    fn end_doubt(&mut self, index: usize) {
        if let Some(start) = self.in_doubt.take() {
            self.doubts.push((start, index));
        }
    }

    /// Reports one bracket that is open at the end of the file: the one that the
    /// indentation indicates, if it does.
    fn report_open_at_end(&mut self, file: &SourceFile) {
        let Some(open) = self.open.last() else { return };
        let (blamed, closer) = match self.blame_by_indent(open.index, file) {
            Some((blamed, closer)) => (blamed, Some(self.tokens[closer].span)),
            None => (open.index, None),
        };
        let Token { kind, span } = self.tokens[blamed];
        let text = kind.text().unwrap_or_default();
        self.doubts.push((blamed, self.end_by_indent(blamed, file)));
        self.errors.push(SyntaxError::Unclosed { opener: span, text, stopped_at: None, by_indent: closer });
    }

    /// The first token after `open` that starts a line and is not indented more than the line
    /// of `open`: the group should end there.
    fn end_by_indent(&self, open: usize, file: &SourceFile) -> usize {
        let lines = Indents::of(file);
        let indent = lines.indent(self.tokens[open].span.lo);
        let starts_afresh =
            |token: &Token| lines.is_first_on_line(token.span.lo) && lines.indent(token.span.lo) <= indent;
        let behind = self.tokens[open + 1..].iter().position(starts_afresh);
        behind.map_or(self.tokens.len(), |n| open + 1 + n)
    }

    /// The first brace after `open` whose partner is indented less: the partner
    /// probably belongs to an outer brace.
    fn blame_by_indent(&self, open: usize, file: &SourceFile) -> Option<(usize, usize)> {
        let lines = Indents::of(file);
        let braces = (open + 1..self.tokens.len()).filter(|&at| self.tokens[at].kind == TokenKind::LBrace);
        braces.filter(|&at| self.partner[at] != NONE).map(|at| (at, self.partner[at] as usize)).find(
            |&(at, closer)| {
                let (opener, closer) = (self.tokens[at].span.lo, self.tokens[closer].span.lo);
                lines.is_first_on_line(closer) && lines.indent(closer) < lines.indent(opener)
            },
        )
    }
}

/// Start and indentation of all lines.
struct Indents {
    base: u32,
    /// Start and indentation of each line.
    lines: Vec<(u32, u32)>,
}

impl Indents {
    fn of(file: &SourceFile) -> Indents {
        let mut start = 0;
        let mut lines = Vec::new();
        for line in file.text.split_inclusive('\n') {
            let indent = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            lines.push((start, indent as u32));
            start += line.len() as u32;
        }
        Indents { base: file.base, lines }
    }

    fn line(&self, pos: u32) -> (u32, u32) {
        let offset = pos - self.base;
        let after = self.lines.partition_point(|&(start, _)| start <= offset);
        after.checked_sub(1).map_or((0, 0), |line| self.lines[line])
    }

    fn indent(&self, pos: u32) -> u32 {
        self.line(pos).1
    }

    fn is_first_on_line(&self, pos: u32) -> bool {
        let (start, indent) = self.line(pos);
        pos - self.base == start + indent
    }
}
