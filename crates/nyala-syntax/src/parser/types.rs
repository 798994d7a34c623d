//! Types and paths.

use nyala_span::Span;

use super::Parser;
use crate::ast::{AddrSpace, Expr, ExprKind, Lit, LitKind, Path, PtrKind, Ret, TypeExpr, TypeKind};
use crate::errors::SyntaxError;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn ty(&mut self) -> TypeExpr {
        let lo = self.span();
        let mut kind = TypeKind::Error;
        if self.enter() {
            kind = self.type_kind();
            self.leave();
        }
        let span = if matches!(kind, TypeKind::Error) { lo.start() } else { self.span_from(lo) };
        TypeExpr { kind, span }
    }

    fn type_kind(&mut self) -> TypeKind {
        match self.kind() {
            TokenKind::Ident(name) if name == self.words.typeof_ && self.nth(1) == TokenKind::LParen => {
                self.typeof_type()
            }
            TokenKind::Ident(name) if name == self.words.cn && self.nth(1) == TokenKind::LParen => {
                self.bump();
                TypeKind::Cn(self.list(Self::ty))
            }
            TokenKind::Ident(_) => self.named_type(),
            TokenKind::LParen => self.tuple_type(),
            TokenKind::LBracket => self.array_type(),
            TokenKind::Simd => self.simd_type(),
            TokenKind::And | TokenKind::AndAnd | TokenKind::Tilde => self.pointer_type(),
            TokenKind::Fn => self.fn_type(),
            _ => {
                self.error(SyntaxError::ExpectedType { at: self.span(), found: self.found() });
                TypeKind::Error
            }
        }
    }

    fn typeof_type(&mut self) -> TypeKind {
        self.bump();
        TypeKind::Typeof(Box::new(self.parenthesized()))
    }

    fn named_type(&mut self) -> TypeKind {
        let path = self.path();
        if self.at(TokenKind::Lt)
            && let Some(end) = self.end_of_angles()
            && ends_type(self.kind_at(end + 1))
        {
            self.skip_angles("arguments", end);
            return TypeKind::Error;
        }
        let args = if self.at(TokenKind::LBracket) { self.list(Self::generic_arg) } else { vec![] };
        TypeKind::Path { path, args }
    }

    /// A type, or a number for an integer parameter.
    pub(super) fn generic_arg(&mut self) -> TypeExpr {
        if !self.at_number() {
            return self.ty();
        }
        let expr = self.expr();
        TypeExpr { span: expr.span, kind: TypeKind::Number(Box::new(expr)) }
    }

    /// Whether the argument of a generic item that starts here is a computed number: it starts
    /// with a literal or a sign, or has an operator, outside of brackets or in parentheses.
    fn at_number(&self) -> bool {
        let mut index = self.pos;
        while self.kind_at(index) == TokenKind::LParen && self.pairs.closer(index).is_some() {
            if is_arithmetic(self.kind_behind_group(index)) {
                return true;
            }
            index += 1;
        }
        if matches!(self.kind_at(index), TokenKind::Lit(_) | TokenKind::Minus) {
            return true;
        }
        while let TokenKind::Ident(_) | TokenKind::ColonColon | TokenKind::LParen | TokenKind::LBracket =
            self.kind_at(index)
        {
            index = self.pairs.closer(index).unwrap_or(index) + 1;
        }
        is_arithmetic(self.kind_at(index))
    }

    /// The index of the last token of `<T, U>`, if the tokens after the `<` look like
    /// types and are few.
    pub(super) fn end_of_angles(&self) -> Option<usize> {
        const MAX_TOKENS: usize = 64;
        let (mut index, mut depth) = (self.pos, 0);
        while index < self.pos + MAX_TOKENS {
            match self.kind_at(index) {
                TokenKind::Lt => depth += 1,
                TokenKind::Gt => depth -= 1,
                TokenKind::Shr => depth -= 2,
                TokenKind::LBracket | TokenKind::LParen => index = self.pairs.closer(index)?,
                TokenKind::Comma | TokenKind::ColonColon | TokenKind::Mut => {}
                kind if starts_type(kind) => {}
                _ => return None,
            }
            if depth <= 0 {
                return Some(index);
            }
            index += 1;
        }
        None
    }

    /// Reports and skips `<T, U>`, which ends with the token at `end`.
    pub(super) fn skip_angles(&mut self, what: &'static str, end: usize) {
        let (open, close) = (self.span(), self.tokens[end].span);
        let inside = &self.file.text[self.file.local(Span::new(open.hi, close.hi - 1))];
        let inside = inside.replace('<', "[").replace('>', "]");
        self.error(SyntaxError::AngleBrackets { at: open.to(close), what, inside });
        self.pos = end;
        self.bump();
    }

    fn tuple_type(&mut self) -> TypeKind {
        let mut types = self.list(Self::ty);
        match types.pop() {
            Some(only) if types.is_empty() => TypeKind::Paren(Box::new(only)),
            Some(last) => {
                types.push(last);
                TypeKind::Tuple(types)
            }
            None => TypeKind::Tuple(types),
        }
    }

    fn array_type(&mut self) -> TypeKind {
        let opener = self.pos;
        self.bump();
        let elem = Box::new(self.ty());
        if self.at(TokenKind::Semi) {
            self.wrong_operator("*");
            let len = self.length();
            self.close(opener);
            return TypeKind::Array { elem, len };
        }
        let kind = if self.eat(TokenKind::Star) {
            TypeKind::Array { elem, len: self.length() }
        } else {
            TypeKind::Slice(elem)
        };
        self.close(opener);
        kind
    }

    fn simd_type(&mut self) -> TypeKind {
        self.bump();
        let opener = self.pos;
        if !self.expect(TokenKind::LBracket) {
            return TypeKind::Error;
        }
        let elem = Box::new(self.ty());
        self.expect(TokenKind::Star);
        let len = self.length();
        self.close(opener);
        TypeKind::Simd { elem, len }
    }

    fn pointer_type(&mut self) -> TypeKind {
        let kind = if self.eat(TokenKind::Tilde) {
            self.evidence.impala += 1;
            PtrKind::Owned
        } else {
            self.eat_half(TokenKind::And, TokenKind::AndAnd, TokenKind::And);
            if self.eat(TokenKind::Mut) { PtrKind::Mut } else { PtrKind::Shared }
        };
        let space = self.opt_space();
        TypeKind::Ptr { kind, space, pointee: Box::new(self.ty()) }
    }

    /// `[1]`, `addrspace(1)`, `global`
    fn opt_space(&mut self) -> Option<AddrSpace> {
        let lo = self.span();
        let number = match self.kind() {
            // Only an integer between the brackets; otherwise an array type follows.
            TokenKind::LBracket if self.nth(2) == TokenKind::RBracket => {
                let TokenKind::Lit(index) = self.nth(1) else { return None };
                self.bump();
                self.bump();
                self.bump();
                self.space_number(index)
            }
            TokenKind::Ident(name) if name == self.words.addrspace && self.nth(1) == TokenKind::LParen => {
                self.evidence.artic += 1;
                self.bump();
                let opener = self.pos;
                self.bump();
                let number = match self.kind() {
                    TokenKind::Lit(index) => {
                        self.bump();
                        self.space_number(index)
                    }
                    _ => {
                        self.expected("the number of an address space".into());
                        None
                    }
                };
                self.close(opener);
                number
            }
            TokenKind::Ident(_) => {
                let number = self.named_space()?;
                self.bump();
                Some(number)
            }
            _ => return None,
        };
        Some(AddrSpace { number, span: self.span_from(lo) })
    }

    fn space_number(&self, lit: u32) -> Option<u32> {
        match self.lits[lit as usize] {
            LitKind::Int { value: Some(value), .. } => u32::try_from(value).ok(),
            _ => None,
        }
    }

    /// The named address spaces, if a type follows.
    fn named_space(&self) -> Option<u32> {
        let TokenKind::Ident(name) = self.kind() else { return None };
        let words = &self.words;
        let spaces = [(words.global, 1), (words.texture, 2), (words.shared, 3), (words.constant, 4)];
        let (_, number) = spaces.into_iter().find(|&(word, _)| word == name)?;
        starts_type(self.nth(1)).then_some(number)
    }

    fn fn_type(&mut self) -> TypeKind {
        self.bump();
        let tparams = self.opt_tparams();
        if !self.at(TokenKind::LParen) {
            self.expect(TokenKind::LParen);
            return TypeKind::Error;
        }
        let params = self.list(Self::ty);
        // Without arrow this is a continuation. The arrow is missing only if the next token
        // cannot follow a type.
        let is_arrow_missing =
            matches!(self.kind(), TokenKind::Ident(_) | TokenKind::Fn | TokenKind::Simd | TokenKind::Not)
                && !self.at_new_line();
        let ret = if is_arrow_missing {
            self.error(SyntaxError::MissingArrow { at: self.span() });
            Some(Box::new(self.ret()))
        } else {
            self.opt_ret().map(Box::new)
        };
        TypeKind::Fn { tparams, params, ret }
    }

    /// `-> T`, `-> !`
    pub(super) fn opt_ret(&mut self) -> Option<Ret> {
        self.eat(TokenKind::Arrow).then(|| self.ret())
    }

    pub(super) fn ret(&mut self) -> Ret {
        if self.eat_half(TokenKind::Not, TokenKind::Ne, TokenKind::Assign) {
            return Ret::Never(self.prev);
        }
        Ret::Type(self.ty())
    }

    /// The length of an array type: a literal, a name, or an expression in parentheses.
    fn length(&mut self) -> Box<Expr> {
        let lo = self.span();
        let kind = match self.kind() {
            TokenKind::Lit(index) => {
                let kind = self.lits[index as usize].clone();
                self.count_suffix(&kind);
                ExprKind::Lit(Lit { kind, span: self.bump().span })
            }
            TokenKind::Ident(_) => ExprKind::Path(self.path()),
            TokenKind::LParen => ExprKind::Paren(Box::new(self.parenthesized())),
            _ => return self.no_length(),
        };
        Box::new(Expr { kind, span: self.span_from(lo) })
    }

    /// Reports that a length is missing.
    pub(super) fn no_length(&mut self) -> Box<Expr> {
        self.expected("a length".into());
        Box::new(Expr { kind: ExprKind::Error, span: self.span().start() })
    }

    /// `a::b::c`
    pub(super) fn path(&mut self) -> Path {
        let lo = self.span();
        let mut segments = vec![self.ident()];
        while self.eat(TokenKind::ColonColon) {
            segments.push(self.ident());
        }
        segments.shrink_to_fit();
        Path { segments, span: self.span_from(lo) }
    }
}

fn is_arithmetic(kind: TokenKind) -> bool {
    use TokenKind::{Minus, Percent, Plus, Slash, Star};
    matches!(kind, Plus | Minus | Star | Slash | Percent)
}

/// Whether this token can follow a type, but not an expression on the right of `>`.
fn ends_type(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Comma
            | TokenKind::RParen
            | TokenKind::RBracket
            | TokenKind::RBrace
            | TokenKind::LBrace
            | TokenKind::Assign
            | TokenKind::Semi
            | TokenKind::Eof
    )
}

/// Whether a type can start with this token.
pub(super) fn starts_type(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Ident(_)
            | TokenKind::LParen
            | TokenKind::LBracket
            | TokenKind::Simd
            | TokenKind::And
            | TokenKind::AndAnd
            | TokenKind::Tilde
            | TokenKind::Fn
    )
}
