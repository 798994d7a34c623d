//! The lexer: splits the text into tokens.
//!
//! One pass over the bytes, driven by a table of byte classes. No error is
//! fatal: a malformed literal is reported and still becomes a token, so that the
//! parser can continue. Comments are stored separately for the formatter.
//!
//! # Invariants
//!
//! * Tokens and comments are in order and do not overlap; the last token is `Eof`.
//! * Every `Lit` and `Str` token has its value in [`Lexed::lits`].
//!
//! `literal` reads numbers, characters and strings.

mod literal;

use std::ops::Range;

use nyala_span::{Name, SourceFile, Span};

use crate::ast::{Comment, Dialect, LitKind};
use crate::errors::{LexError, MAX_ERRORS, SyntaxError};
use crate::token::{Token, TokenKind};

/// The longest name or number, in bytes. Longer ones are reported and cut, so
/// that hostile text does not fill the table of names.
pub(crate) const MAX_WORD: usize = 64 * 1024;

/// The result of lexing a file.
pub(crate) struct Lexed {
    /// The tokens; the last one is `Eof`.
    pub tokens: Vec<Token>,
    /// The values of literals.
    pub lits: Vec<LitKind>,
    /// All comments.
    pub comments: Vec<Comment>,
    /// The errors.
    pub errors: Vec<SyntaxError>,
    /// Whether an unterminated comment hides the rest of the file. Then missing tokens at
    /// the end are not reported.
    pub cut_short: bool,
}

/// Splits `file` into tokens. `declared` is the dialect that is known before the file is read.
pub(crate) fn lex(file: &SourceFile, declared: Option<Dialect>) -> Lexed {
    lex_pieces(file, &[file.local(file.span())], declared)
}

/// Splits some pieces of `file` into tokens. No token crosses the end of a piece.
pub(crate) fn lex_pieces(file: &SourceFile, pieces: &[Range<usize>], declared: Option<Dialect>) -> Lexed {
    // Typical code has a token every four bytes.
    let n_bytes: usize = pieces.iter().map(Range::len).sum();
    let tokens = Vec::with_capacity(n_bytes / 4 + 1);
    let out = Lexed { tokens, lits: vec![], comments: vec![], errors: vec![], cut_short: false };
    let mut lexer = Lexer { text: "", bytes: &[], base: file.base, pos: 0, declared, out };
    for piece in pieces {
        lexer.text = &file.text[..piece.end];
        lexer.bytes = lexer.text.as_bytes();
        lexer.pos = piece.start;
        lexer.run();
        lexer.report_control_chars(piece.start);
    }
    let end = lexer.span(lexer.pos, lexer.pos);
    lexer.out.tokens.push(Token { kind: TokenKind::Eof, span: end });
    lexer.out
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    base: u32,
    pos: usize,
    declared: Option<Dialect>,
    out: Lexed,
}

/// The class of a byte: the tokens that it can start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Word,
    Digit,
    Quote,
    Punct,
    Other,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => Class::Space,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Class::Word,
            b'0'..=b'9' => Class::Digit,
            b'\'' | b'"' => Class::Quote,
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b';' | b':' | b'.' | b'-' | b'=' | b'#'
            | b'@' | b'$' | b'?' | b'~' | b'!' | b'+' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'<'
            | b'>' => Class::Punct,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

/// Whether `byte` can be part of a name.
fn is_word(byte: u8) -> bool {
    matches!(CLASSES[byte as usize], Class::Word | Class::Digit)
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.bytes.get(self.pos) {
            match CLASSES[byte as usize] {
                Class::Space => self.pos += 1,
                Class::Word => self.word(),
                Class::Digit => self.number(),
                Class::Quote if byte == b'"' => self.string(),
                Class::Quote => self.character(),
                Class::Punct => self.punctuation(byte),
                Class::Other => self.unknown(),
            }
        }
    }

    /// The byte `ahead` of the current one, 0 after the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn span(&self, from: usize, to: usize) -> Span {
        Span::new(self.base + from as u32, self.base + to as u32)
    }

    /// Ends the token that started at `from`.
    fn push(&mut self, kind: TokenKind, from: usize) {
        let span = self.span(from, self.pos);
        self.out.tokens.push(Token { kind, span });
    }

    fn push_lit(&mut self, value: LitKind, from: usize) {
        let index = self.out.lits.len() as u32;
        let kind =
            if matches!(value, LitKind::Str(_)) { TokenKind::Str(index) } else { TokenKind::Lit(index) };
        self.out.lits.push(value);
        self.push(kind, from);
    }

    fn last_kind(&self) -> TokenKind {
        self.out.tokens.last().map_or(TokenKind::Eof, |token| token.kind)
    }

    fn error(&mut self, error: impl Into<SyntaxError>) {
        if self.out.errors.len() < MAX_ERRORS {
            self.out.errors.push(error.into());
        }
    }

    fn skip_while(&mut self, accept: impl Fn(u8) -> bool) {
        while self.bytes.get(self.pos).is_some_and(|&byte| accept(byte)) {
            self.pos += 1;
        }
    }

    fn word(&mut self) {
        let from = self.pos;
        self.skip_while(is_word);
        if self.bytes.get(self.pos).is_some_and(|byte| !byte.is_ascii()) {
            self.foreign_letters();
        }
        let text = &self.text[from..self.pos];
        let kind = TokenKind::keyword(text).unwrap_or_else(|| TokenKind::Ident(self.name(from)));
        self.push(kind, from);
    }

    /// The name from `from` to here, cut if it is too long.
    fn name(&mut self, from: usize) -> Name {
        let text = &self.text[from..self.pos];
        if text.len() > MAX_WORD {
            self.error(LexError::WordTooLong { at: self.span(from, self.pos) });
        }
        Name::new(&text[..text.floor_char_boundary(MAX_WORD)])
    }

    /// The rest of a name from its first letter that is not ASCII: one report.
    fn foreign_letters(&mut self) {
        let from = self.pos;
        let rest = &self.text[from..];
        let len = rest.find(|ch: char| !ch.is_alphanumeric() && ch != '_').unwrap_or(rest.len());
        if len > 0 {
            self.pos += len;
            self.unknown_text(from);
        }
    }

    /// Unknown characters. Letters become a name; a run of others is reported
    /// once.
    fn unknown(&mut self) {
        let from = self.pos;
        let rest = &self.text[from..];
        let first = rest.chars().next().unwrap_or('\0');
        if first.is_alphabetic() {
            self.foreign_letters();
            let name = self.name(from);
            return self.push(TokenKind::Ident(name), from);
        }
        let is_foreign = |ch: char| !ch.is_ascii() && !is_invisible(ch) && !ch.is_alphabetic();
        let n_foreign = rest.find(|ch| !is_foreign(ch)).unwrap_or(rest.len());
        self.pos += n_foreign.max(first.len_utf8());
        // A separate pass reports invisible characters.
        if !is_invisible(first) {
            self.unknown_text(from);
            self.push(TokenKind::Unknown, from);
        }
    }

    fn unknown_text(&mut self, from: usize) {
        let mut text = String::new();
        for ch in self.text[from..self.pos].chars().take(8) {
            if ch.is_ascii_graphic() { text.push(ch) } else { text.extend(ch.escape_debug()) }
        }
        self.error(LexError::UnknownChar { at: self.span(from, self.pos), text });
    }

    fn punctuation(&mut self, byte: u8) {
        let (next, third) = (self.peek(1), self.peek(2));
        match (byte, next) {
            (b'/', b'/') => return self.line_comment(),
            (b'/', b'*') => return self.block_comment(),
            (b'.', b'0'..=b'9') if !self.last_kind().ends_operand() => return self.number(),
            _ => {}
        }
        let from = self.pos;
        let (kind, len) = punctuation(byte, next, third);
        self.pos += len;
        self.push(kind, from);
    }

    fn line_comment(&mut self) {
        let from = self.pos;
        let rest = &self.bytes[from..];
        self.pos += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        if self.pos > from && self.bytes[self.pos - 1] == b'\r' {
            self.pos -= 1;
        }
        let span = self.span(from, self.pos);
        self.out.comments.push(Comment { span, is_block: false });
    }

    fn block_comment(&mut self) {
        let from = self.pos;
        match self.text[from + 2..].find("*/") {
            Some(len) => self.pos = from + 2 + len + 2,
            None => {
                self.pos = self.bytes.len();
                self.out.cut_short = true;
                self.error(LexError::UnterminatedComment { at: self.span(from, from + 2) });
            }
        }
        let span = self.span(from, self.pos);
        self.out.comments.push(Comment { span, is_block: true });
    }

    /// Reports characters of the text from `start` on that hide its meaning, also in comments and
    /// strings, where they can make code look like a comment.
    fn report_control_chars(&mut self, start: usize) {
        let text = &self.text[start..];
        if text.is_ascii() && !text.as_bytes().contains(&0) {
            return;
        }
        for (at, ch) in text.char_indices().filter(|&(_, ch)| is_invisible(ch)).take(MAX_ERRORS) {
            let at = self.span(start + at, start + at + ch.len_utf8());
            self.out.errors.push(LexError::ControlChar { at, code_point: ch as u32 }.into());
        }
    }
}

/// NUL, byte-order marks, and the marks that switch the direction of writing.
fn is_invisible(ch: char) -> bool {
    matches!(ch, '\0' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The longest punctuation that starts with these bytes, and its length.
fn punctuation(byte: u8, next: u8, third: u8) -> (TokenKind, usize) {
    use TokenKind::*;
    match (byte, next, third) {
        (b'.', b'.', b'.') => (DotDotDot, 3),
        (b'<', b'<', b'=') => (ShlAssign, 3),
        (b'>', b'>', b'=') => (ShrAssign, 3),
        (b':', b':', _) => (ColonColon, 2),
        (b'.', b'.', _) => (DotDot, 2),
        (b'-', b'>', _) => (Arrow, 2),
        (b'=', b'>', _) => (FatArrow, 2),
        (b'@', b'@', _) => (AtAt, 2),
        (b'@', b'?', _) => (AtQuestion, 2),
        (b'!', b'=', _) => (Ne, 2),
        (b'=', b'=', _) => (EqEq, 2),
        (b'+', b'+', _) => (PlusPlus, 2),
        (b'+', b'=', _) => (PlusAssign, 2),
        (b'-', b'-', _) => (MinusMinus, 2),
        (b'-', b'=', _) => (MinusAssign, 2),
        (b'*', b'=', _) => (StarAssign, 2),
        (b'/', b'=', _) => (SlashAssign, 2),
        (b'%', b'=', _) => (PercentAssign, 2),
        (b'&', b'&', _) => (AndAnd, 2),
        (b'&', b'=', _) => (AndAssign, 2),
        (b'|', b'|', _) => (OrOr, 2),
        (b'|', b'=', _) => (OrAssign, 2),
        (b'^', b'=', _) => (CaretAssign, 2),
        (b'<', b'=', _) => (Le, 2),
        (b'<', b'<', _) => (Shl, 2),
        (b'>', b'=', _) => (Ge, 2),
        (b'>', b'>', _) => (Shr, 2),
        _ => (single(byte), 1),
    }
}

/// Punctuation of one byte.
fn single(byte: u8) -> TokenKind {
    use TokenKind::*;
    match byte {
        b'(' => LParen,
        b')' => RParen,
        b'[' => LBracket,
        b']' => RBracket,
        b'{' => LBrace,
        b'}' => RBrace,
        b',' => Comma,
        b';' => Semi,
        b':' => Colon,
        b'.' => Dot,
        b'=' => Assign,
        b'#' => Hash,
        b'@' => At,
        b'$' => Dollar,
        b'?' => Question,
        b'~' => Tilde,
        b'!' => Not,
        b'+' => Plus,
        b'-' => Minus,
        b'*' => Star,
        b'/' => Slash,
        b'%' => Percent,
        b'&' => And,
        b'|' => Or,
        b'^' => Caret,
        b'<' => Lt,
        b'>' => Gt,
        _ => unreachable!("the table has no other byte in this class"),
    }
}

#[cfg(test)]
mod tests;
