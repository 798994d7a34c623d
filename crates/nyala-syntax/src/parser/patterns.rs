//! Patterns.

use super::Parser;
use crate::ast::{FieldPat, Lit, LitKind, Pat, PatKind, Path, TypeExpr, TypeKind};
use crate::errors::SyntaxError;
use crate::token::TokenKind;

impl Parser<'_> {
    /// A pattern, with its type if one is written.
    pub(super) fn typed_pat(&mut self) -> Pat {
        let lo = self.span();
        let (pat, height) = self.measured(Self::pat);
        if !self.eat(TokenKind::Colon) {
            return pat;
        }
        if !self.fits(height + 1) {
            return Pat { kind: PatKind::Error, span: self.span_from(lo) };
        }
        self.deepest = self.deepest.max(self.depth + height + 1);
        let ty = self.ty();
        Pat { kind: PatKind::Typed { pat: Box::new(pat), ty }, span: self.span_from(lo) }
    }

    /// The index of the bracket of `E[T]::A`, `S[T] { .. }` or `S[T](..)`, if such a pattern starts at `index`.
    fn bracket_of_generic(&self, mut index: usize) -> Option<usize> {
        if !matches!(self.kind_at(index), TokenKind::Ident(_)) {
            return None;
        }
        index += 1;
        while self.kind_at(index) == TokenKind::ColonColon {
            index += 2;
        }
        let is_generic = self.kind_at(index) == TokenKind::LBracket
            && self.kind_at(index + 1) != TokenKind::RBracket
            && matches!(
                self.kind_behind_group(index),
                TokenKind::ColonColon | TokenKind::LBrace | TokenKind::LParen
            );
        is_generic.then_some(index)
    }

    /// `E[T]::A(p)` and `S[T] { x = p }`, which are other ways to write `E::A(p): E[T]` and
    /// `S { x = p }: S[T]`.
    fn generic_pat(&mut self) -> PatKind {
        let lo = self.span();
        if !self.enter() {
            return PatKind::Error;
        }
        let mut path = self.path();
        let kind = TypeKind::Path { path: path.clone(), args: self.list(Self::generic_arg) };
        let ty = TypeExpr { kind, span: self.span_from(lo) };
        while self.eat(TokenKind::ColonColon) {
            path.segments.push(self.ident());
            path.span = self.span_from(lo);
        }
        let kind = self.path_pat(path);
        self.leave();
        let pat = Box::new(Pat { kind, span: self.span_from(lo) });
        PatKind::Typed { pat, ty }
    }

    /// A pattern without a type.
    pub(super) fn pat(&mut self) -> Pat {
        let lo = self.span();
        let mut kind = PatKind::Error;
        if self.enter() {
            kind = self.pat_kind();
            self.leave();
        }
        let span = if matches!(kind, PatKind::Error) { lo.start() } else { self.span_from(lo) };
        Pat { kind, span }
    }

    fn pat_kind(&mut self) -> PatKind {
        match self.kind() {
            TokenKind::Mut => self.bind_pat(),
            TokenKind::Ident(_) if self.bracket_of_generic(self.pos).is_some() => self.generic_pat(),
            TokenKind::Ident(_) => self.named_pat(),
            TokenKind::LParen => self.tuple_pat(),
            TokenKind::LBracket => PatKind::Array(self.list(Self::typed_pat)),
            TokenKind::Simd if self.nth(1) == TokenKind::LBracket => {
                self.bump();
                PatKind::Simd(self.list(Self::typed_pat))
            }
            TokenKind::Minus => {
                self.bump();
                self.literal_pat(true)
            }
            TokenKind::Lit(_) | TokenKind::Str(_) | TokenKind::True | TokenKind::False => {
                self.literal_pat(false)
            }
            TokenKind::At | TokenKind::AtQuestion => {
                self.filter_here("before this pattern");
                self.pat().kind
            }
            _ => self.no_pat(),
        }
    }

    fn no_pat(&mut self) -> PatKind {
        self.error(SyntaxError::ExpectedPattern { at: self.span(), found: self.found() });
        PatKind::Error
    }

    fn bind_pat(&mut self) -> PatKind {
        let is_mut = self.eat(TokenKind::Mut);
        let name = self.ident();
        let sub = self.eat(TokenKind::As).then(|| Box::new(self.pat()));
        PatKind::Bind { is_mut, name, sub }
    }

    /// A name, an option, a struct.
    fn named_pat(&mut self) -> PatKind {
        let is_lone = !matches!(self.nth(1), TokenKind::ColonColon | TokenKind::LParen | TokenKind::LBrace);
        if is_lone {
            return self.bind_pat();
        }
        let path = self.path();
        self.path_pat(path)
    }

    /// The rest of a pattern after the path of an option or struct.
    fn path_pat(&mut self, path: Path) -> PatKind {
        match self.kind() {
            TokenKind::LParen => PatKind::Option { path, args: Some(self.list(Self::typed_pat)) },
            TokenKind::LBrace => {
                let (fields, rest) = self.field_pats();
                PatKind::Record { path, fields, rest }
            }
            _ => PatKind::Option { path, args: None },
        }
    }

    /// `{ x = p, y = q, ... }`
    fn field_pats(&mut self) -> (Vec<FieldPat>, bool) {
        let mut rest = false;
        let fields = self.list(|parser| {
            if parser.at(TokenKind::DotDot) {
                let at = parser.span();
                parser.error(SyntaxError::WrongOperator { at, found: "..", meant: "..." });
                parser.bump();
                rest = true;
                return None;
            }
            if rest {
                // Fields after `...` must not be ignored silently.
                parser.expected("`}`".into());
            }
            if parser.eat(TokenKind::DotDotDot) {
                rest = true;
                return None;
            }
            Some(parser.field_pat())
        });
        (fields.into_iter().flatten().collect(), rest)
    }

    fn field_pat(&mut self) -> FieldPat {
        let name = self.ident();
        if self.at(TokenKind::Colon) {
            self.error(SyntaxError::WrongOperator { at: self.span(), found: ":", meant: "=" });
            self.bump();
        } else if !self.expect(TokenKind::Assign) {
            return FieldPat { name, pat: Pat { kind: PatKind::Error, span: self.prev.end() } };
        }
        FieldPat { name, pat: self.typed_pat() }
    }

    fn tuple_pat(&mut self) -> PatKind {
        let mut pats = self.list(Self::typed_pat);
        match pats.pop() {
            Some(only) if pats.is_empty() => PatKind::Paren(Box::new(only)),
            Some(last) => {
                pats.push(last);
                PatKind::Tuple(pats)
            }
            None => PatKind::Tuple(pats),
        }
    }

    fn literal_pat(&mut self, neg: bool) -> PatKind {
        let is_number = matches!(self.kind(), TokenKind::Lit(_));
        if neg && !is_number {
            return self.no_pat();
        }
        PatKind::Lit { neg, lit: self.literal() }
    }

    /// A literal; the next token must be one.
    pub(super) fn literal(&mut self) -> Lit {
        let span = self.span();
        let kind = match self.kind() {
            TokenKind::True => LitKind::Bool(true),
            TokenKind::False => LitKind::Bool(false),
            TokenKind::Str(_) => {
                let string = self.string();
                return Lit { span: string.span, kind: LitKind::Str(string) };
            }
            TokenKind::Lit(index) => self.lits[index as usize].clone(),
            _ => LitKind::Error,
        };
        self.count_suffix(&kind);
        self.bump();
        Lit { kind, span }
    }

    /// A suffix is evidence for Impala.
    pub(super) fn count_suffix(&mut self, lit: &LitKind) {
        if matches!(lit, LitKind::Int { suffix: Some(_), .. } | LitKind::Float { suffix: Some(_), .. }) {
            self.evidence.impala += 1;
        }
    }

    /// The index of the token after the pattern that may start at `index`; `None` if
    /// no pattern starts there. `x as p` ends at its `as`, and the contents of brackets
    /// are skipped.
    pub(super) fn behind_pat(&self, mut index: usize) -> Option<usize> {
        match self.kind_at(index) {
            TokenKind::Ident(_) => {
                index = match self.bracket_of_generic(index) {
                    Some(bracket) => self.pairs.closer(bracket)? + 1,
                    None => index + 1,
                };
                while self.kind_at(index) == TokenKind::ColonColon
                    && matches!(self.kind_at(index + 1), TokenKind::Ident(_))
                {
                    index += 2;
                }
                match self.kind_at(index) {
                    TokenKind::LParen | TokenKind::LBrace => {
                        self.pairs.closer(index).map(|closer| closer + 1)
                    }
                    _ => Some(index),
                }
            }
            TokenKind::LParen | TokenKind::LBracket => self.pairs.closer(index).map(|closer| closer + 1),
            TokenKind::Simd => self.pairs.closer(index + 1).map(|closer| closer + 1),
            TokenKind::Minus => Some(index + 2),
            TokenKind::Lit(_) | TokenKind::True | TokenKind::False => Some(index + 1),
            TokenKind::Mut => Some(index + 2),
            _ => None,
        }
    }
}
