//! Primary expressions: literals, names, brackets, lambdas, assembly.

use nyala_span::Span;

use super::Parser;
use super::items::is_item_keyword;
use crate::ast::{Asm, Expr, ExprKind, FieldInit, Lambda, Param, StrLit};
use crate::errors::SyntaxError;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Expr {
        let lo = self.span();
        let kind = match self.kind() {
            TokenKind::Lit(_) | TokenKind::Str(_) | TokenKind::True | TokenKind::False => {
                ExprKind::Lit(self.literal())
            }
            TokenKind::Ident(_) if !self.at_with() => ExprKind::Path(self.path()),
            kind if is_item_keyword(kind) => self.item_as_expr(),
            _ => return self.compound(lo),
        };
        Expr { kind, span: self.span_from(lo) }
    }

    /// Expressions that contain others.
    fn compound(&mut self, lo: Span) -> Expr {
        if !self.starts_compound() {
            self.error(SyntaxError::ExpectedExpr { at: lo, found: self.found() });
            return Expr { kind: ExprKind::Error, span: lo.start() };
        }
        if !self.enter() {
            return Expr { kind: ExprKind::Error, span: self.span_from(lo) };
        }
        let expr = match self.kind() {
            TokenKind::LParen => self.paren_or_tuple(),
            TokenKind::LBracket => self.array(false),
            TokenKind::Simd => self.simd_array(),
            TokenKind::Asm => self.asm(),
            TokenKind::Or | TokenKind::OrOr | TokenKind::At => self.lambda(),
            _ => self.statement_like_kind(),
        };
        self.leave();
        expr
    }

    fn starts_compound(&self) -> bool {
        match self.kind() {
            TokenKind::LParen
            | TokenKind::LBracket
            | TokenKind::Simd
            | TokenKind::Asm
            | TokenKind::Or
            | TokenKind::OrOr => true,
            TokenKind::At => self.at_lambda(),
            _ => self.at_statement_like(),
        }
    }

    /// Reports an item in place of an expression, and parses it.
    fn item_as_expr(&mut self) -> ExprKind {
        let keyword = self.kind().text().unwrap_or_default();
        self.error(SyntaxError::ItemAsExpr { at: self.span(), keyword });
        self.item(true);
        ExprKind::Error
    }

    /// `(e)`, from the bracket.
    pub(super) fn parenthesized(&mut self) -> Expr {
        let opener = self.pos;
        let outer = self.reset_flags();
        self.bump();
        let expr = if self.enter() {
            let expr = self.expr();
            self.leave();
            expr
        } else {
            Expr { kind: ExprKind::Error, span: self.prev.end() }
        };
        self.restore_flags(outer);
        self.close(opener);
        expr
    }

    fn paren_or_tuple(&mut self) -> Expr {
        let lo = self.span();
        let mut exprs = self.list(Self::expr);
        let kind = match exprs.pop() {
            Some(only) if exprs.is_empty() => ExprKind::Paren(Box::new(only)),
            last => {
                exprs.extend(last);
                ExprKind::Tuple(exprs)
            }
        };
        Expr { kind, span: self.span_from(lo) }
    }

    // ---- Arrays -------------------------------------------------------------------

    fn simd_array(&mut self) -> Expr {
        let lo = self.bump().span;
        if !self.at(TokenKind::LBracket) {
            self.expect(TokenKind::LBracket);
            return Expr { kind: ExprKind::Error, span: lo };
        }
        let mut array = self.array(false);
        if let ExprKind::Array { is_simd, .. } | ExprKind::Repeat { is_simd, .. } = &mut array.kind {
            *is_simd = true;
        }
        Expr { span: self.span_from(lo), ..array }
    }

    /// `[a, b]`, `[v, .. n]`, `[v; n]`; after `~` also `[n: T]`.
    pub(super) fn array(&mut self, is_boxed: bool) -> Expr {
        let lo = self.span();
        let opener = self.pos;
        self.bump();
        let kind = if self.at_end_of(opener) {
            self.close(opener);
            ExprKind::Array { is_simd: false, elems: vec![] }
        } else {
            self.array_from_first(opener, is_boxed)
        };
        Expr { kind, span: self.span_from(lo) }
    }

    fn array_from_first(&mut self, opener: usize, is_boxed: bool) -> ExprKind {
        let outer = self.reset_flags();
        self.no_ascription = is_boxed;
        let first = self.expr();
        self.restore_flags(outer);
        match self.kind() {
            TokenKind::Colon if is_boxed => {
                self.bump();
                let elem = self.ty();
                self.close(opener);
                ExprKind::HeapArray { len: Box::new(first), elem }
            }
            TokenKind::Semi => {
                self.bump();
                self.repeat(opener, first)
            }
            TokenKind::Comma if self.nth(1) == TokenKind::DotDot => {
                self.evidence.impala += 1;
                self.bump();
                self.bump();
                self.repeat(opener, first)
            }
            _ => {
                let goes_on =
                    self.eat(TokenKind::Comma) || (!self.at_end_of(opener) && self.next_element(opener));
                if !goes_on {
                    self.close(opener);
                    return ExprKind::Array { is_simd: false, elems: vec![first] };
                }
                let elems = self.list_rest(opener, vec![first], Self::expr);
                ExprKind::Array { is_simd: false, elems }
            }
        }
    }

    fn repeat(&mut self, opener: usize, value: Expr) -> ExprKind {
        let len = if self.at_end_of(opener) { self.no_length() } else { Box::new(self.expr()) };
        self.close(opener);
        ExprKind::Repeat { is_simd: false, value: Box::new(value), len }
    }

    // ---- Fields of struct literals --------------------------------------------------

    /// `{ x: a, y: b }` or `{ x = a, y = b }`
    pub(super) fn field_inits(&mut self) -> Vec<FieldInit> {
        let mut first: Option<(bool, Span)> = None;
        self.list(|parser| {
            let name = parser.ident();
            let op = parser.span();
            let with_eq = parser.at(TokenKind::Assign);
            if !with_eq && !parser.at(TokenKind::Colon) {
                parser.expected("`:` or `=` and a value".into());
                let value = Expr { kind: ExprKind::Error, span: parser.prev.end() };
                return FieldInit { name, with_eq, value };
            }
            parser.bump();
            if with_eq {
                parser.evidence.artic += 1;
            } else {
                parser.evidence.impala += 1;
            }
            let &mut (first_with_eq, first_op) = first.get_or_insert((with_eq, op));
            if first_with_eq != with_eq {
                parser.push_error(SyntaxError::MixedFieldInit { at: op, first: first_op, first_with_eq });
            }
            FieldInit { name, with_eq, value: parser.expr() }
        })
    }

    // ---- Lambdas ----------------------------------------------------------------------

    /// Whether a lambda starts here, with or without filter.
    pub(super) fn at_lambda(&self) -> bool {
        let is_bar = |kind| matches!(kind, TokenKind::Or | TokenKind::OrOr);
        match (self.kind(), self.nth(1)) {
            (TokenKind::At, TokenKind::LParen) => is_bar(self.kind_behind_group(self.pos + 1)),
            (TokenKind::At, next) => is_bar(next),
            (kind, _) => is_bar(kind),
        }
    }

    fn lambda(&mut self) -> Expr {
        let lo = self.span();
        let filter = self.at(TokenKind::At).then(|| self.filter());
        let params = if self.eat(TokenKind::OrOr) { vec![] } else { self.lambda_params() };
        let ret = self.opt_ret();
        let has_body = !self.kind().is_closer() && !matches!(self.kind(), TokenKind::Comma | TokenKind::Semi);
        let body = has_body.then(|| self.expr());
        let kind = ExprKind::Lambda(Box::new(Lambda { filter, params, ret, body }));
        Expr { kind, span: self.span_from(lo) }
    }

    /// `|x, y: T|`. The closing bar may be half of `||`, as in `|x||y| e`.
    fn lambda_params(&mut self) -> Vec<Param> {
        self.bump();
        let outer = self.reset_flags();
        let mut params = Vec::new();
        while !matches!(self.kind(), TokenKind::Or | TokenKind::OrOr) {
            params.push(self.lambda_param());
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.restore_flags(outer);
        if !self.eat_half(TokenKind::Or, TokenKind::OrOr, TokenKind::Or) {
            self.expected("`,` or `|`".into());
        }
        params
    }

    // ---- Assembly -------------------------------------------------------------------

    /// `asm("template" : outputs : inputs : clobbers : options)`
    fn asm(&mut self) -> Expr {
        let lo = self.bump().span;
        let opener = self.pos;
        if !self.expect(TokenKind::LParen) {
            return Expr { kind: ExprKind::Error, span: lo };
        }
        let outer = self.reset_flags();
        let template = self.string();
        let outputs = self.asm_section(Self::asm_operand);
        let inputs = self.asm_section(Self::asm_operand);
        let clobbers = self.asm_section(Self::string);
        let options = self.asm_section(Self::string);
        self.restore_flags(outer);
        self.close(opener);
        let kind = ExprKind::Asm(Box::new(Asm { template, outputs, inputs, clobbers, options }));
        Expr { kind, span: self.span_from(lo) }
    }

    /// `: a, b`; nothing if the colon is missing. `::` counts as two colons.
    fn asm_section<T>(&mut self, mut operand: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut operands = Vec::new();
        if !self.eat_half(TokenKind::Colon, TokenKind::ColonColon, TokenKind::Colon) {
            return operands;
        }
        while matches!(self.kind(), TokenKind::Str(_)) {
            operands.push(operand(self));
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        operands
    }

    fn asm_operand(&mut self) -> (StrLit, Expr) {
        let constraint = self.string();
        if !self.at(TokenKind::LParen) {
            self.expect(TokenKind::LParen);
            return (constraint, Expr { kind: ExprKind::Error, span: self.prev.end() });
        }
        (constraint, self.parenthesized())
    }
}
