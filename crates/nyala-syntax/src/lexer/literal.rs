//! Numbers, characters and strings.

use std::ops::RangeInclusive;

use nyala_span::{Name, Prim};

use super::{Lexer, MAX_WORD, is_word};
use crate::ast::{Dialect, LitKind, StrLit};
use crate::errors::{LexError, SyntaxError};
use crate::token::TokenKind;

impl Lexer<'_> {
    /// A number, from its first digit or its leading point on.
    pub(super) fn number(&mut self) {
        let from = self.pos;
        let value = if self.last_kind() == TokenKind::Dot {
            self.element_index()
        } else {
            match (self.peek(0), self.peek(1)) {
                (b'0', b'b') => self.prefixed(2),
                (b'0', b'o') => self.prefixed(8),
                (b'0', b'x') => self.prefixed(16),
                _ => self.decimal(),
            }
        };
        self.push_lit(value, from);
    }

    /// The `0` of `t.0.1`: digits and nothing more.
    fn element_index(&mut self) -> LitKind {
        let from = self.pos;
        self.skip_while(is_word);
        let text = &self.text[from..self.pos];
        match text.parse::<u32>() {
            Ok(value) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                LitKind::Int { value: Some(value.into()), suffix: None }
            }
            _ => {
                self.error(SyntaxError::BadTupleIndex { at: self.span(from, self.pos) });
                LitKind::Error
            }
        }
    }

    /// `0b..`, `0o..`, `0x..`
    fn prefixed(&mut self, base: u32) -> LitKind {
        self.pos += 2;
        let from = self.pos;
        self.skip_while(is_word);
        let word = &self.text[from..self.pos];
        let n_digits = word.find(|ch: char| !ch.is_digit(base) && ch != '_').unwrap_or(word.len());
        let (digits, suffix) = word.split_at(n_digits);
        if let Some(digit) = suffix.chars().next().filter(char::is_ascii_digit) {
            let at = self.span(from + n_digits, from + n_digits + 1);
            self.error(LexError::DigitOutsideBase { at, digit, base });
            return LitKind::Error;
        }
        if digits.bytes().all(|byte| byte == b'_') {
            self.error(LexError::NoDigits { at: self.span(from - 2, self.pos) });
            return LitKind::Error;
        }
        let Some(suffix) = self.suffix(from + n_digits, |suffix| !suffix.is_float()) else {
            return LitKind::Error;
        };
        let value = parse_int(digits, base);
        if value.is_none() {
            self.error(LexError::IntTooLarge { at: self.span(from - 2, self.pos) });
        }
        LitKind::Int { value, suffix }
    }

    /// A decimal integer or a float.
    fn decimal(&mut self) -> LitKind {
        let from = self.pos;
        let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'_';
        self.skip_while(is_digit);
        let mut is_float = false;
        // `1..` is a number and a range; `1.` alone is a float.
        if self.peek(0) == b'.' && self.peek(1) != b'.' {
            is_float = true;
            self.pos += 1;
            if self.peek(0).is_ascii_digit() {
                self.skip_while(is_digit);
            }
        }
        if let Some(len) = self.exponent() {
            is_float = true;
            self.pos += len;
            self.skip_while(is_digit);
        }
        let digits_end = self.pos;
        self.skip_while(is_word);
        if self.pos - from > MAX_WORD {
            self.error(LexError::WordTooLong { at: self.span(from, self.pos) });
            return LitKind::Error;
        }
        let is_allowed = |suffix: Prim| !is_float || suffix.is_float();
        let Some(suffix) = self.suffix(digits_end, is_allowed) else { return LitKind::Error };
        let digits = self.text[from..digits_end].replace('_', "");
        let is_float_suffix = suffix.is_some_and(Prim::is_float);
        match parse_int(&digits, 10).filter(|_| !is_float) {
            Some(value) => LitKind::Int { value: Some(value), suffix },
            None if is_float || is_float_suffix => LitKind::Float { digits: Name::new(&digits), suffix },
            None => {
                self.error(LexError::IntTooLarge { at: self.span(from, self.pos) });
                LitKind::Int { value: None, suffix }
            }
        }
    }

    /// The length of `e`, `e+`, `e-` if an exponent starts here.
    fn exponent(&self) -> Option<usize> {
        match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'e' | b'E', b'0'..=b'9', _) => Some(1),
            (b'e' | b'E', b'+' | b'-', b'0'..=b'9') => Some(2),
            _ => None,
        }
    }

    /// The suffix from `from` to here. `None` if it is invalid.
    fn suffix(&mut self, from: usize, is_allowed: impl Fn(Prim) -> bool) -> Option<Option<Prim>> {
        let text = &self.text[from..self.pos];
        if text.is_empty() {
            return Some(None);
        }
        let suffix = num_suffix(text).filter(|&suffix| is_allowed(suffix));
        if suffix.is_none() {
            let shown = text.chars().take(16).collect();
            self.error(LexError::UnknownSuffix { at: self.span(from, self.pos), suffix: shown });
        }
        suffix.map(Some)
    }

    /// `'x'`
    pub(super) fn character(&mut self) {
        let from = self.pos;
        let value = self.character_value();
        self.push_lit(value, from);
    }

    fn character_value(&mut self) -> LitKind {
        let from = self.pos;
        self.pos += 1;
        let first = match self.text[self.pos..].chars().next() {
            None | Some('\n') => {
                self.error(LexError::UnterminatedChar { at: self.span(from, self.pos) });
                return LitKind::Error;
            }
            Some('\'') => {
                self.pos += 1;
                self.error(LexError::EmptyChar { at: self.span(from, self.pos) });
                return LitKind::Error;
            }
            Some('\\') => self.escape(),
            Some(ch) => {
                self.pos += ch.len_utf8();
                u8::try_from(ch).ok().filter(u8::is_ascii).ok_or(Malformed::TooLong)
            }
        };
        if self.peek(0) == b'\'' {
            self.pos += 1;
        } else if !self.skip_to_quote() {
            self.error(LexError::UnterminatedChar { at: self.span(from, self.pos) });
            return LitKind::Error;
        } else {
            self.error(LexError::LongChar { at: self.span(from, self.pos) });
            return LitKind::Error;
        }
        match first {
            Ok(byte) => LitKind::Char(byte),
            Err(Malformed::Reported) => LitKind::Error,
            Err(Malformed::TooLong) => {
                self.error(LexError::LongChar { at: self.span(from, self.pos) });
                LitKind::Error
            }
        }
    }

    /// Skips to the closing quote of a too long character, if it follows letters and
    /// digits.
    fn skip_to_quote(&mut self) -> bool {
        let rest = &self.bytes[self.pos..];
        let is_inside = |byte: u8| is_word(byte) || !byte.is_ascii() || byte == b'\\' || byte == b' ';
        let len = rest.iter().position(|&byte| !is_inside(byte)).unwrap_or(rest.len());
        if rest.get(len) == Some(&b'\'') {
            self.pos += len + 1;
            return true;
        }
        // If the quote is missing, skip a whole UTF-8 character.
        false
    }

    /// `"..."`. In a file that is declared to be Artic, it may have line breaks: a dialect that is detected would
    /// depend on where strings end.
    pub(super) fn string(&mut self) {
        let from = self.pos;
        self.pos += 1;
        let mut bytes = Vec::new();
        loop {
            let rest = &self.bytes[self.pos..];
            let plain =
                rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n')).unwrap_or(rest.len());
            bytes.extend_from_slice(&rest[..plain]);
            self.pos += plain;
            match self.bytes.get(self.pos) {
                Some(b'"') => {
                    self.pos += 1;
                    break;
                }
                Some(b'\\') => bytes.extend(self.escape().ok()),
                Some(_) if self.goes_on_after_line() => {
                    bytes.push(b'\n');
                    self.pos += 1;
                }
                _ => {
                    self.error(LexError::UnterminatedString { at: self.span(from, self.pos) });
                    break;
                }
            }
        }
        let span = self.span(from, self.pos);
        self.push_lit(LitKind::Str(StrLit { bytes, span }), from);
    }

    /// Whether the string goes on after the line break here: its end must follow.
    fn goes_on_after_line(&self) -> bool {
        self.declared == Some(Dialect::Artic) && self.bytes[self.pos..].contains(&b'"')
    }

    /// An escape sequence, from its backslash on.
    fn escape(&mut self) -> Result<u8, Malformed> {
        let from = self.pos;
        self.pos += 1;
        let value = match self.peek(0) {
            b'0'..=b'7' => return self.numeric_escape(from, 8, 1..=3),
            b'x' => {
                self.pos += 1;
                return self.numeric_escape(from, 16, 2..=2);
            }
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 0x07,
            b'b' => 0x08,
            b'v' => 0x0b,
            b'f' => 0x0c,
            quoted @ (b'\'' | b'"' | b'\\') => quoted,
            _ => {
                // The span of the report includes the escaped character, but no line break.
                let ch = self.text[self.pos..].chars().next().filter(|&ch| ch != '\n');
                self.pos += ch.map_or(0, char::len_utf8);
                return self.bad_escape(from);
            }
        };
        self.pos += 1;
        Ok(value)
    }

    fn numeric_escape(
        &mut self,
        from: usize,
        base: u32,
        lens: RangeInclusive<usize>,
    ) -> Result<u8, Malformed> {
        let rest = &self.bytes[self.pos..];
        let len = rest.iter().take(*lens.end()).take_while(|&&byte| (byte as char).is_digit(base)).count();
        let value = u8::from_str_radix(&self.text[self.pos..self.pos + len], base);
        self.pos += len;
        match value {
            Ok(value) if lens.contains(&len) => Ok(value),
            _ => self.bad_escape(from),
        }
    }

    fn bad_escape(&mut self, from: usize) -> Result<u8, Malformed> {
        self.error(LexError::BadEscape { at: self.span(from, self.pos) });
        Err(Malformed::Reported)
    }
}

/// Why a character has no value.
enum Malformed {
    /// The error is already reported.
    Reported,
    /// It is not one byte.
    TooLong,
}

/// The value of `digits` without underscores, if it fits.
fn parse_int(digits: &str, base: u32) -> Option<u64> {
    let mut value: u64 = 0;
    for digit in digits.chars().filter_map(|ch| ch.to_digit(base)) {
        value = value.checked_mul(base.into())?.checked_add(digit.into())?;
    }
    Some(value)
}

fn num_suffix(text: &str) -> Option<Prim> {
    match text {
        "i" => Some(Prim::I32),
        "u" => Some(Prim::U32),
        "h" => Some(Prim::F16),
        "f" => Some(Prim::F32),
        _ => Prim::ALL.into_iter().find(|prim| *prim != Prim::Bool && prim.name() == text),
    }
}
