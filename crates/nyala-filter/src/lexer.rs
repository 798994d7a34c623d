//! Text to tokens.
//!
//! White space separates tokens, and `#` starts a comment that ends with its line. The lexer never fails: a character
//! that starts no token is a token of its own, which the parser reports.

use nyala_span::{SourceFile, Span};

/// A token with its place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: &'a str,
    /// Its place.
    pub span: Span,
}

/// The kinds of tokens. Operators and keywords are told apart by their text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A letter, then letters, digits and underscores: a variable or a keyword.
    Word,
    /// Digits.
    Int,
    /// Digits with a decimal point or an exponent.
    Float,
    /// An operator or a bracket.
    Sign,
    /// A character that starts no token.
    Unknown,
    /// The end of the text.
    End,
}

/// The signs of two characters. All others are of one.
const LONG_SIGNS: [&str; 6] = ["**", "<>", "<=", ">=", "&&", "||"];
const SHORT_SIGNS: &str = "+-*/%<>=()[],;:|";

/// All tokens of a file; the last one is [`Kind::End`].
pub fn lex(file: &SourceFile) -> Vec<Token<'_>> {
    let mut lexer = Lexer { text: &file.text, at: 0 };
    let mut tokens = vec![];
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let kind = lexer.token();
        let (lo, hi) = (file.base + start as u32, file.base + lexer.at as u32);
        tokens.push(Token { kind, text: &file.text[start..lexer.at], span: Span::new(lo, hi) });
        if kind == Kind::End {
            return tokens;
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_while(&mut self, is_part: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    }

    fn skip_blanks(&mut self) {
        self.skip_while(char::is_whitespace);
        while self.peek() == Some('#') {
            self.skip_while(|letter| letter != '\n');
            self.skip_while(char::is_whitespace);
        }
    }

    fn token(&mut self) -> Kind {
        let Some(first) = self.peek() else { return Kind::End };
        if first.is_ascii_alphabetic() {
            self.skip_while(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            return Kind::Word;
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        let is_long = LONG_SIGNS.iter().any(|sign| self.rest().starts_with(sign));
        self.at += if is_long { 2 } else { first.len_utf8() };
        if is_long || SHORT_SIGNS.contains(first) { Kind::Sign } else { Kind::Unknown }
    }

    fn number(&mut self) -> Kind {
        self.skip_while(|letter| letter.is_ascii_digit());
        let mut kind = Kind::Int;
        if self.peek() == Some('.') {
            self.at += 1;
            self.skip_while(|letter| letter.is_ascii_digit());
            kind = Kind::Float;
        }
        if self.has_exponent() {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some('+' | '-')));
            self.skip_while(|letter| letter.is_ascii_digit());
            kind = Kind::Float;
        }
        kind
    }

    /// Whether `e`, perhaps a sign, and a digit follow.
    fn has_exponent(&self) -> bool {
        let Some(rest) = self.rest().strip_prefix(['e', 'E']) else { return false };
        rest.strip_prefix(['+', '-']).unwrap_or(rest).starts_with(|letter: char| letter.is_ascii_digit())
    }
}
