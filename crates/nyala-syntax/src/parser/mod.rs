//! Tokens to syntax tree, by recursive descent.
//!
//! Functions are named after the construct they parse; each leaves the parser after it.
//! One grammar serves both dialects. `items`, `types`, `patterns`, `exprs`
//! (operators and postfix forms), `primary` and `control` (blocks,
//! statements, loops) have the grammar; this file has the infrastructure. `dialect`
//! detects the dialect of a file.
//!
//! # Invariants
//!
//! * **Linear.** The parser does not backtrack. Look-ahead skips a bracketed group in one
//!   step, because brackets are paired beforehand (see [`delims`]).
//! * **Bounded depth.** Recursive functions call [`Parser::enter`]; functions that wrap
//!   a finished node (calls, operators) call [`Parser::fits`]. The first construct
//!   that is too deep is reported, and the rest of its group is skipped.
//! * **No cascades.** At most one error is reported at a token. Recovery from an error in a
//!   list continues at its closing bracket, in a statement at its `;`.
//! * A function that fails reports the error and returns an `Error` node. It may consume no
//!   token; loops ensure progress.

mod control;
mod dialect;
mod exprs;
mod items;
mod operators;
mod patterns;
mod primary;
mod types;

use std::ops::Range;

use nyala_span::{Diagnostic, Name, SourceFile, Span};
use rustc_hash::FxHashSet;

use crate::ast::{Comment, Dialect, File, Ident, LitKind, MAX_DEPTH, StrLit};
use crate::delims::{self, Pairs};
use crate::errors::{LexError, MAX_ERRORS, SyntaxError};
use crate::lexer::{Lexed, lex_pieces};
use crate::token::{Token, TokenKind, Words};
use dialect::Evidence;

/// A parsed file with its errors.
#[derive(Clone, Debug)]
pub struct Parse {
    /// The tree; malformed text is an `Error` node.
    pub file: File,
    /// The errors, in source order.
    pub errors: Vec<Diagnostic>,
    /// All names in the text, and all strings that may be link names.
    pub names: FxHashSet<Name>,
}

/// Options of the parser.
#[derive(Clone, Copy, Default, Debug)]
pub struct ParseOptions {
    /// The dialect; if absent, it is detected.
    pub dialect: Option<Dialect>,
    /// Whether `@f(x)` runs the partial evaluator and `$f(x)` halts it, as in the edition
    /// 2015. If absent, the first line of the file decides.
    pub edition_2015: Option<bool>,
}

/// Parses `file`, and detects its dialect.
pub fn parse(file: &SourceFile) -> Parse {
    parse_with(file, ParseOptions::default())
}

/// Parses `file` with `options`.
///
/// The dialect changes the meaning of few constructs (see [`Dialect`]), but is known only
/// at the end of the file. So the text is first parsed as Impala. If it is Artic and
/// contains such a construct, it is parsed again.
pub fn parse_with(file: &SourceFile, options: ParseOptions) -> Parse {
    parse_pieces(file, &[file.local(file.span())], options)
}

/// Parses some pieces of `file`, in order, as if the file had no other text. Each piece consists of whole tokens.
pub fn parse_pieces(file: &SourceFile, pieces: &[Range<usize>], options: ParseOptions) -> Parse {
    let (parse, reading) = parse_as(file, pieces, options.dialect.unwrap_or(Dialect::Impala), options);
    if reading.is_settled() { parse } else { parse_as(file, pieces, Dialect::Artic, options).0 }
}

/// The result of the first pass.
struct Reading {
    assumed: Dialect,
    found: Dialect,
    mattered: bool,
}

impl Reading {
    fn is_settled(&self) -> bool {
        self.assumed == self.found || !self.mattered
    }
}

/// The name after `// edition:` in the first line of a file, and the span of that line.
pub fn declared_edition(file: &SourceFile) -> Option<(&str, Span)> {
    let line = file.line_text(1);
    let name = line.strip_prefix("//")?.trim_start().strip_prefix("edition:")?.trim();
    Some((name, file.line_span(1)))
}

fn parse_as(
    file: &SourceFile,
    pieces: &[Range<usize>],
    assumed: Dialect,
    options: ParseOptions,
) -> (Parse, Reading) {
    let declared = options.dialect.or_else(|| declared_dialect(file));
    let Lexed { mut tokens, lits, comments, mut errors, cut_short } = lex_pieces(file, pieces, declared);
    let (pairs, pair_errors) = delims::pair(&mut tokens, file, cut_short);
    let end_is_blamed = cut_short || !pair_errors.is_empty();
    errors.extend(pair_errors);
    let mut parser = Parser::new(file, tokens, lits, pairs, assumed);
    parser.errors = errors;
    let declares_2015 = || declared_edition(file).is_some_and(|(name, _)| name == "2015");
    parser.edition_2015 = options.edition_2015.unwrap_or_else(declares_2015);
    parser.end_is_blamed = end_is_blamed;

    let items = parser.file_items();
    let named = parser.named_dialect(&comments, items.first().map(|item| item.span));
    let found = options.dialect.or(named).or(declared).unwrap_or_else(|| parser.evidence.dialect());
    let reading = Reading { assumed, found, mattered: parser.dialect_mattered };
    let parse = Parse {
        file: File { items, dialect: found, edition_2015: parser.edition_2015, comments, span: file.span() },
        errors: diagnostics(parser.errors),
        names: names(&parser.tokens, &parser.lits),
    };
    (parse, reading)
}

/// The longest string that is taken for a link name, in bytes.
const MAX_LINK_NAME: usize = 64;

fn names(tokens: &[Token], lits: &[LitKind]) -> FxHashSet<Name> {
    let names = tokens.iter().filter_map(|token| match token.kind {
        TokenKind::Ident(name) => Some(name),
        TokenKind::Str(index) => match &lits[index as usize] {
            LitKind::Str(text) if text.bytes.len() <= MAX_LINK_NAME && !text.bytes.contains(&b' ') => {
                str::from_utf8(&text.bytes).ok().map(Name::new)
            }
            _ => None,
        },
        _ => None,
    });
    names.collect()
}

/// The dialect that the name or the first line of a file says. The ending `.art` is Artic; others say nothing.
fn declared_dialect(file: &SourceFile) -> Option<Dialect> {
    let words = file.line_text(1).strip_prefix("//").map(str::trim);
    match words.and_then(|words| words.strip_prefix("dialect:")).map(str::trim) {
        Some("artic") => Some(Dialect::Artic),
        Some("impala") => Some(Dialect::Impala),
        _ => file.name.ends_with(".art").then_some(Dialect::Artic),
    }
}

fn diagnostics(errors: Vec<SyntaxError>) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<_> = errors.into_iter().map(SyntaxError::into_diagnostic).collect();
    diagnostics.sort_by_key(|diagnostic| (diagnostic.primary.span, diagnostic.code));
    diagnostics.truncate(MAX_ERRORS);
    diagnostics
}

struct Parser<'a> {
    file: &'a SourceFile,
    tokens: Vec<Token>,
    lits: Vec<LitKind>,
    pairs: Pairs,
    words: Words,
    /// The next token.
    pos: usize,
    /// The span of the last token.
    prev: Span,
    /// The current nesting depth.
    depth: usize,
    /// The greatest depth of any node since this was last reset; see `exprs`.
    deepest: usize,
    /// Whether `{` opens a block: a struct literal is not allowed here.
    no_struct: bool,
    /// Whether `:` is not an ascription here.
    no_ascription: bool,
    /// The dialect of this pass.
    dialect: Dialect,
    /// Whether `@f(x)` and `$f(x)` are the marks of 2015.
    edition_2015: bool,
    /// Whether a construct was parsed that the other dialect parses differently.
    dialect_mattered: bool,
    evidence: Evidence,
    errors: Vec<SyntaxError>,
    /// The token of the last error.
    blamed: usize,
    /// Whether missing tokens at the end of the file are already reported.
    end_is_blamed: bool,
    reported_depth: bool,
}

impl<'a> Parser<'a> {
    fn new(
        file: &'a SourceFile,
        tokens: Vec<Token>,
        lits: Vec<LitKind>,
        pairs: Pairs,
        dialect: Dialect,
    ) -> Parser<'a> {
        Parser {
            file,
            tokens,
            lits,
            pairs,
            words: Words::new(),
            pos: 0,
            prev: file.span().start(),
            depth: 0,
            deepest: 0,
            no_struct: false,
            no_ascription: false,
            dialect,
            edition_2015: false,
            dialect_mattered: false,
            evidence: Evidence::default(),
            errors: vec![],
            blamed: usize::MAX,
            end_is_blamed: false,
            reported_depth: false,
        }
    }

    // ---- Looking --------------------------------------------------------------

    /// The token `ahead` of the next one; `Eof` after the end.
    fn token(&self, ahead: usize) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[(self.pos + ahead).min(last)]
    }

    fn kind(&self) -> TokenKind {
        self.token(0).kind
    }

    fn nth(&self, ahead: usize) -> TokenKind {
        self.token(ahead).kind
    }

    /// The token at an index of look-ahead.
    fn kind_at(&self, index: usize) -> TokenKind {
        self.tokens.get(index).map_or(TokenKind::Eof, |token| token.kind)
    }

    /// The token after the group that opens at `index`; `Eof` if it has no end.
    fn kind_behind_group(&self, index: usize) -> TokenKind {
        self.pairs.closer(index).map_or(TokenKind::Eof, |closer| self.kind_at(closer + 1))
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn at_word(&self, word: Name) -> bool {
        self.kind() == TokenKind::Ident(word)
    }

    fn span(&self) -> Span {
        self.token(0).span
    }

    /// From `lo` to the end of the last token.
    fn span_from(&self, lo: Span) -> Span {
        Span::new(lo.lo.min(self.prev.hi), self.prev.hi)
    }

    /// Whether a line ends between the last token and the next.
    fn at_new_line(&self) -> bool {
        let gap = Span::new(self.prev.hi.min(self.span().lo), self.span().lo);
        self.file.text[self.file.local(gap)].contains('\n')
    }

    // ---- Taking ---------------------------------------------------------------

    fn bump(&mut self) -> Token {
        let token = self.token(0);
        self.prev = token.span;
        self.pos = (self.pos + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: Name) -> bool {
        self.eat(TokenKind::Ident(word))
    }

    /// Takes `first`, also as the first half of the token `both`: `&` of `&&`.
    fn eat_half(&mut self, first: TokenKind, both: TokenKind, second: TokenKind) -> bool {
        if self.at(both) {
            let Span { lo, hi } = self.span();
            self.tokens[self.pos] = Token { kind: second, span: Span::new(lo + 1, hi) };
            self.prev = Span::new(lo, lo + 1);
            return true;
        }
        self.eat(first)
    }

    /// Takes `kind` or reports that it is missing.
    fn expect(&mut self, kind: TokenKind) -> bool {
        let found = self.eat(kind);
        if !found {
            self.expected(format!("`{}`", kind.text().unwrap_or_default()));
        }
        found
    }

    /// Takes `=`, or a wrong `==`.
    fn expect_assign(&mut self) -> bool {
        if self.at(TokenKind::EqEq) {
            self.wrong_operator("=");
            return true;
        }
        self.expect(TokenKind::Assign)
    }

    /// Takes a wrong operator in place of `meant`.
    fn wrong_operator(&mut self, meant: &'static str) {
        let found = self.kind().text().unwrap_or_default();
        self.error(SyntaxError::WrongOperator { at: self.span(), found, meant });
        self.bump();
    }

    /// Takes the `;` after a `what`.
    fn expect_semi(&mut self, what: &'static str) {
        if !self.eat(TokenKind::Semi) {
            if self.at(TokenKind::Question) {
                self.error(SyntaxError::Ternary { at: self.span() });
            } else if !self.is_behind_open_string() {
                self.error(SyntaxError::MissingSemi { at: self.prev.end(), after: what });
            }
            if !self.at_new_line() {
                self.skip_statement();
            }
        }
    }

    /// Whether the last token is an unterminated string, which includes the tokens that
    /// should follow it.
    fn is_behind_open_string(&self) -> bool {
        let is_open = |error: &SyntaxError| matches!(error, SyntaxError::Lex(LexError::UnterminatedString { at }) if at.hi == self.prev.hi);
        self.file.text[self.file.local(self.prev)].starts_with('"') && self.errors.iter().any(is_open)
    }

    fn ident(&mut self) -> Ident {
        if matches!(self.kind(), TokenKind::At | TokenKind::AtQuestion) {
            self.filter_here("before this name");
        }
        match self.kind() {
            TokenKind::Ident(name) => Ident { name, span: self.bump().span },
            _ => {
                self.error(SyntaxError::ExpectedName { at: self.span(), found: self.found() });
                Ident { name: self.words.underscore, span: self.prev.end() }
            }
        }
    }

    /// One or more strings in a row, joined.
    fn string(&mut self) -> StrLit {
        let lo = self.span();
        let mut bytes = Vec::new();
        let mut any = false;
        while let TokenKind::Str(index) = self.kind() {
            if let LitKind::Str(piece) = &self.lits[index as usize] {
                bytes.extend_from_slice(&piece.bytes);
            }
            self.bump();
            any = true;
        }
        if !any {
            self.expected("a string".into());
            return StrLit { bytes, span: self.prev.end() };
        }
        StrLit { bytes, span: self.span_from(lo) }
    }

    // ---- Groups and lists -------------------------------------------------------

    /// Whether the list or block that opened at `opener` ends here.
    fn at_end_of(&self, opener: usize) -> bool {
        self.pairs.closer(opener) == Some(self.pos) || self.kind().is_closer() || self.at(TokenKind::Eof)
    }

    /// Takes the closing bracket of `opener`. If the next token is another
    /// one, reports it and skips to the closing bracket; a missing bracket is already reported.
    fn close(&mut self, opener: usize) {
        let Some(closer) = self.pairs.closer(opener) else { return };
        if closer != self.pos {
            let text = self.kind_at(opener).closer().and_then(TokenKind::text).unwrap_or_default();
            self.expected(format!("`{text}`"));
            self.pos = self.pos.max(closer);
        }
        if closer == self.pos {
            self.bump();
        }
    }

    /// `opener element, element, closer`; a comma may follow the last element.
    fn list<T>(&mut self, element: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let opener = self.pos;
        self.bump();
        self.list_rest(opener, vec![], element)
    }

    /// The rest of a list that opened at `opener`, from the start of an element on.
    fn list_rest<T>(
        &mut self,
        opener: usize,
        mut elements: Vec<T>,
        mut element: impl FnMut(&mut Self) -> T,
    ) -> Vec<T> {
        let outer = self.reset_flags();
        while !self.at_end_of(opener) {
            elements.push(element(self));
            if !self.eat(TokenKind::Comma) && !self.at_end_of(opener) && !self.next_element(opener) {
                break;
            }
        }
        self.restore_flags(outer);
        self.close(opener);
        elements.shrink_to_fit();
        elements
    }

    /// After a malformed element: skips to the next one, if there is one.
    fn next_element(&mut self, opener: usize) -> bool {
        let Some(closer) = self.pairs.closer(opener) else { return false };
        let text = self.kind_at(closer).text().unwrap_or_default();
        self.expected(format!("`,` or `{text}`"));
        while self.pos < closer && !self.at(TokenKind::Comma) {
            self.skip_token_or_group();
        }
        self.eat(TokenKind::Comma)
    }

    /// Inside brackets, struct literals and ascriptions are allowed again.
    fn reset_flags(&mut self) -> (bool, bool) {
        let outer = (self.no_struct, self.no_ascription);
        (self.no_struct, self.no_ascription) = (false, false);
        outer
    }

    fn restore_flags(&mut self, outer: (bool, bool)) {
        (self.no_struct, self.no_ascription) = outer;
    }

    // ---- Depth ------------------------------------------------------------------

    /// Enters a nested construct; pairs with [`Parser::leave`]. If that is too deep,
    /// reports it, skips the rest of the group, and returns false.
    fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.too_deep();
            return false;
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        true
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Whether a node with `height` levels below it is within the depth limit. If not,
    /// reports it and skips the rest of the group.
    fn fits(&mut self, height: usize) -> bool {
        let fits = self.depth + height <= MAX_DEPTH;
        if !fits {
            self.too_deep();
        }
        fits
    }

    fn too_deep(&mut self) {
        if !self.reported_depth {
            self.reported_depth = true;
            self.push_error(SyntaxError::TooDeep { at: self.span() });
        }
        self.skip_group();
    }

    fn too_many_else_ifs(&mut self) {
        self.push_error(SyntaxError::TooManyElseIfs { at: self.span() });
        self.skip_group();
    }

    /// Skips the rest of the statement or bracket group.
    fn skip_group(&mut self) {
        while !self.kind().is_closer() && !matches!(self.kind(), TokenKind::Eof | TokenKind::Semi) {
            self.skip_token_or_group();
        }
        self.blamed = self.pos;
    }

    // ---- Errors and recovery ------------------------------------------------------

    /// The found token, for messages.
    fn found(&self) -> String {
        self.kind().describe()
    }

    fn expected(&mut self, what: String) {
        self.error(SyntaxError::Expected { at: self.span(), what, found: self.found() });
    }

    /// Reports an error at the next token, unless it already has one.
    fn error(&mut self, error: SyntaxError) {
        let is_reported = match self.kind() {
            TokenKind::Unknown => true,
            TokenKind::Eof => self.end_is_blamed,
            _ => self.blamed == self.pos || self.pairs.is_doubtful(self.pos),
        };
        if !is_reported {
            self.push_error(error);
        }
        self.blamed = self.pos;
    }

    /// Reports an error about parsed text.
    fn push_error(&mut self, error: SyntaxError) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }

    fn skip_token_or_group(&mut self) {
        if let Some(closer) = self.pairs.closer(self.pos) {
            self.pos = closer;
        }
        self.bump();
    }

    /// Skips to the end of the next `;` or block, or to the start of a statement or item.
    fn skip_statement(&mut self) {
        let start = self.pos;
        loop {
            match self.kind() {
                TokenKind::Semi => {
                    self.bump();
                    break;
                }
                TokenKind::LBrace => {
                    self.skip_token_or_group();
                    break;
                }
                TokenKind::Eof | TokenKind::RBrace => break,
                TokenKind::Let => break,
                _ if self.pos > start && self.at_item(true) => break,
                _ => self.skip_token_or_group(),
            }
        }
        self.blamed = self.pos;
    }

    /// The dialect that the file names in a first comment `// dialect: artic`.
    fn named_dialect(&mut self, comments: &[Comment], first_item: Option<Span>) -> Option<Dialect> {
        let comment = comments.first().filter(|comment| !comment.is_block)?;
        if first_item.is_some_and(|item| item.lo < comment.span.lo) {
            return None;
        }
        let text = self.file.text[self.file.local(comment.span)].strip_prefix("//")?;
        match text.trim().strip_prefix("dialect:")?.trim() {
            "impala" => Some(Dialect::Impala),
            "artic" => Some(Dialect::Artic),
            _ => {
                self.push_error(LexError::UnknownDialect { at: comment.span }.into());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
