//! Text to tokens.

use std::borrow::Cow;

use super::names::{is_ident_continue, is_ident_start, prim_from_name};
use super::parse::ParseError;
use crate::types::Prim;

/// The kinds of tokens.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum TokenKind<'a> {
    /// A name; `true` if it stood in backquotes.
    Ident(&'a str, bool),
    /// An integer: whether it is negative, its magnitude, its suffix.
    Int(bool, u64, Option<Prim>),
    /// A float: its text without suffix, its suffix.
    Float(Cow<'a, str>, Option<Prim>),
    /// A string.
    Str(Vec<u8>),
    /// A bracket or sign.
    Punct(u8),
    /// The end of the text; the last token, and only that.
    End,
}

/// A token and the byte where it starts.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub kind: TokenKind<'a>,
    pub at: usize,
}

/// The tokens of `text`.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens: Vec<Token> = vec![];
    loop {
        lexer.skip_blanks();
        let at = lexer.at;
        let after_dot = tokens.last().is_some_and(|token| token.kind == TokenKind::Punct(b'.'));
        let kind = lexer.token(after_dot).map_err(|message| ParseError::new(text, at, message))?;
        let end = kind == TokenKind::End;
        tokens.push(Token { kind, at });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn peek(&self) -> u8 {
        self.byte(0)
    }

    /// The byte `ahead` of the current one; 0 past the end.
    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b';' => self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at),
                _ => return,
            }
        }
    }

    /// The next token. After a dot a number is a part's number, never a float.
    fn token(&mut self, after_dot: bool) -> Result<TokenKind<'a>, String> {
        match self.peek() {
            _ if self.at == self.text.len() => Ok(TokenKind::End),
            byte if is_ident_start(byte) => Ok(TokenKind::Ident(self.take_while(is_ident_continue), false)),
            b'0'..=b'9' if after_dot => {
                let digits = self.take_while(|byte| byte.is_ascii_digit());
                let number = digits.parse().map_err(|_| format!("`{digits}` is too large"))?;
                Ok(TokenKind::Int(false, number, None))
            }
            b'0'..=b'9' => self.number(),
            b'-' if self.byte(1).is_ascii_digit() => self.number(),
            b'`' => self.quoted(),
            b'"' => self.string(),
            byte @ (b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b':' | b'=' | b'@' | b'&' | b'*'
            | b'.') => {
                self.at += 1;
                Ok(TokenKind::Punct(byte))
            }
            _ => {
                let c = self.text[self.at..].chars().next().expect("not at the end");
                Err(format!("unexpected character `{}`", c.escape_default()))
            }
        }
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while accept(self.peek()) && self.at < self.text.len() {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn quoted(&mut self) -> Result<TokenKind<'a>, String> {
        let rest = &self.text[self.at + 1..];
        match rest.find(['`', '\n']) {
            Some(len) if rest.as_bytes()[len] == b'`' => {
                self.at += len + 2;
                Ok(TokenKind::Ident(&rest[..len], true))
            }
            _ => Err("a name in backquotes that does not end on its line".into()),
        }
    }

    fn number(&mut self) -> Result<TokenKind<'a>, String> {
        let negative = self.peek() == b'-';
        self.at += usize::from(negative);
        if self.peek() == b'0' && self.byte(1) == b'x' {
            self.at += 2;
            let digits = self.take_while(|byte| byte.is_ascii_hexdigit());
            let number = u64::from_str_radix(digits, 16).map_err(|_| "a bad hexadecimal number")?;
            return Ok(TokenKind::Int(negative, number, None));
        }
        let start = self.at;
        self.take_while(|byte| byte.is_ascii_digit());
        let mut float = false;
        if self.peek() == b'.' && self.byte(1).is_ascii_digit() {
            float = true;
            self.at += 1;
            self.take_while(|byte| byte.is_ascii_digit());
        }
        let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
        if self.peek() == b'e' && self.byte(1 + sign).is_ascii_digit() {
            float = true;
            self.at += 1 + sign;
            self.take_while(|byte| byte.is_ascii_digit());
        }
        let digits = &self.text[start..self.at];
        let suffix = match self.take_while(is_ident_continue) {
            "" => None,
            name => Some(prim_from_name(name).ok_or_else(|| format!("unknown suffix `{name}`"))?),
        };
        if float || suffix.is_some_and(Prim::is_float) {
            let digits = if negative { format!("-{digits}").into() } else { Cow::Borrowed(digits) };
            return Ok(TokenKind::Float(digits, suffix));
        }
        let number = digits.parse().map_err(|_| format!("`{digits}` is too large"))?;
        Ok(TokenKind::Int(negative, number, suffix))
    }

    fn string(&mut self) -> Result<TokenKind<'a>, String> {
        self.at += 1;
        let mut bytes = vec![];
        loop {
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok(TokenKind::Str(bytes));
                }
                b'\\' => bytes.push(self.escape()?),
                b'\n' => return Err("a string that does not end on its line".into()),
                _ if self.at == self.text.len() => return Err("a string that does not end".into()),
                byte => {
                    bytes.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    fn escape(&mut self) -> Result<u8, String> {
        let byte = match self.byte(1) {
            b'n' => b'\n',
            b'0' => 0,
            byte @ (b'"' | b'\\') => byte,
            b'x' => {
                let digits = self.text.get(self.at + 2..self.at + 4).unwrap_or_default();
                self.at += 2;
                u8::from_str_radix(digits, 16).map_err(|_| "`\\x` needs two hexadecimal digits")?
            }
            _ => return Err("unknown escape in a string".into()),
        };
        self.at += 2;
        Ok(byte)
    }
}
