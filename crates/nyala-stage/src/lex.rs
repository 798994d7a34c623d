//! The lexer of both languages: names, numbers, signs and comments.
//!
//! No error is fatal: what is no token is reported and skipped.

use nyala_span::{Name, SourceFile, Span};

use crate::errors::{Error, ErrorKind};

/// The longest name or number, in bytes.
const MAX_WORD: usize = 4096;

/// A token.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
}

/// The kinds of tokens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TokenKind {
    /// A name or keyword.
    Name(Name),
    /// An integer.
    Int(i64),
    /// A number with a decimal point or an exponent.
    Float(f64),
    /// A sign or operator.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// All signs, the longer ones first.
const SIGNS: [&str; 41] = [
    "<<", ">>", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "(", ")", "[",
    "]", "{", "}", "<", ">", "+", "-", "*", "/", "%", "^", "&", "|", "!", "@", ":", ";", ",", "=", "?", ".",
    "~", "#",
];

/// Splits a file into tokens; the last one is [`TokenKind::End`].
pub fn lex(file: &SourceFile) -> (Vec<Token>, Vec<Error>) {
    let mut lexer = Lexer { text: &file.text, base: file.base, at: 0, tokens: vec![], errors: vec![] };
    while lexer.skip_space() {
        lexer.token();
    }
    let end = lexer.span(lexer.at);
    lexer.tokens.push(Token { kind: TokenKind::End, span: end });
    (lexer.tokens, lexer.errors)
}

struct Lexer<'a> {
    text: &'a str,
    base: u32,
    at: usize,
    tokens: Vec<Token>,
    errors: Vec<Error>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// From `start` to the current position.
    fn span(&self, start: usize) -> Span {
        Span::new(self.base + start as u32, self.base + self.at as u32)
    }

    fn error(&mut self, start: usize, message: impl Into<String>) {
        let span = self.span(start);
        self.errors.push(Error::new(ErrorKind::Lexical, span, message));
    }

    /// Skips spaces and comments; whether text is left.
    fn skip_space(&mut self) -> bool {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if self.rest().starts_with("//") {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if self.rest().starts_with("/*") {
                let (start, end) = (self.at, self.rest().find("*/"));
                self.at = end.map_or(self.text.len(), |end| self.at + end + 2);
                if end.is_none() {
                    self.error(start, "this comment has no end");
                }
            } else {
                return self.at < self.text.len();
            }
        }
    }

    fn token(&mut self) {
        let start = self.at;
        let first = self.rest().chars().next().expect("text is left");
        let kind = if first.is_alphabetic() || first == '_' {
            self.take_while(|c| c.is_alphanumeric() || c == '_');
            TokenKind::Name(Name::new(self.word(start)))
        } else if first.is_ascii_digit() {
            self.number(start)
        } else if let Some(sign) = SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) {
            self.at += sign.len();
            TokenKind::Sign(sign)
        } else {
            self.at += first.len_utf8();
            let shown: String = first.escape_debug().collect();
            return self.error(start, format!("unexpected character `{shown}`"));
        };
        let span = self.span(start);
        self.tokens.push(Token { kind, span });
    }

    fn take_while(&mut self, accepts: impl Fn(char) -> bool) {
        let rest = self.rest();
        let len = rest.find(|c| !accepts(c)).unwrap_or(rest.len());
        self.at += len;
    }

    /// The text since `start`, cut if it is too long.
    fn word(&mut self, start: usize) -> &str {
        if self.at - start > MAX_WORD {
            self.error(start, format!("a word has at most {MAX_WORD} bytes"));
        }
        let end = (start..=self.at.min(start + MAX_WORD)).rfind(|end| self.text.is_char_boundary(*end));
        &self.text[start..end.unwrap_or(start)]
    }

    fn number(&mut self, start: usize) -> TokenKind {
        self.take_while(|c| c.is_ascii_digit());
        let mut is_float = false;
        let digit_after = |rest: &str, skip: usize| rest[skip..].starts_with(|c: char| c.is_ascii_digit());
        if self.rest().starts_with('.') && digit_after(self.rest(), 1) {
            is_float = true;
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        if self.rest().starts_with(['e', 'E']) {
            let signed = usize::from(self.rest()[1..].starts_with(['+', '-']));
            if digit_after(self.rest(), 1 + signed) {
                is_float = true;
                self.at += 1 + signed;
                self.take_while(|c| c.is_ascii_digit());
            }
        }
        let word = self.word(start).to_owned();
        if self.rest().starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            self.take_while(|c| c.is_alphanumeric() || c == '_');
            self.error(start, "malformed number");
        }
        if is_float {
            return TokenKind::Float(word.parse().unwrap_or(f64::INFINITY));
        }
        TokenKind::Int(word.parse().unwrap_or_else(|_| {
            self.error(start, "this integer has more than 64 bits");
            0
        }))
    }
}
