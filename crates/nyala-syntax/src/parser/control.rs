//! Blocks, statements, and expressions that are statements without `;`.

use super::Parser;
use crate::ast::{Block, Cond, Expr, ExprKind, ForExpr, IfArm, MAX_ELSE_IFS, MatchArm, Pat, Stmt, UnaryOp};
use crate::errors::SyntaxError;
use crate::token::TokenKind;

impl Parser<'_> {
    /// `{ .. }`; reports a missing `{`.
    pub(super) fn block(&mut self) -> Block {
        if matches!(self.kind(), TokenKind::At | TokenKind::AtQuestion) {
            self.filter_here("before this block");
        }
        let lo = self.span();
        if !self.at(TokenKind::LBrace) {
            self.expect(TokenKind::LBrace);
            self.skip_bare_body();
            return Block { stmts: vec![], value: None, span: self.prev.end() };
        }
        let opener = self.pos;
        let outer = self.reset_flags();
        self.bump();
        let mut stmts = Vec::new();
        let mut value = None;
        while !self.at_end_of(opener) {
            if self.eat(TokenKind::Semi) {
                continue;
            }
            let start = self.pos;
            value = self.statement(opener, &mut stmts);
            if self.pos == start {
                // No statement starts with this token: skip it.
                self.skip_statement();
                if self.pos == start {
                    self.bump();
                }
            }
        }
        self.restore_flags(outer);
        self.close(opener);
        // A program has many blocks of one or two statements.
        stmts.shrink_to_fit();
        Block { stmts, value, span: self.span_from(lo) }
    }

    /// Skips a body without braces: `1` of `if c 1 else 2`.
    fn skip_bare_body(&mut self) {
        let is_end = |kind: TokenKind| {
            kind.is_closer() || matches!(kind, TokenKind::Else | TokenKind::Semi | TokenKind::Eof)
        };
        while !self.at_new_line() && !is_end(self.kind()) {
            self.skip_token_or_group();
        }
        self.blamed = self.pos;
    }

    /// Reads a statement of the block that opened at `opener`; returns it if it is the
    /// block's value.
    fn statement(&mut self, opener: usize, stmts: &mut Vec<Stmt>) -> Option<Box<Expr>> {
        // `implicit` is an ordinary name in one dialect.
        self.dialect_mattered |= self.at_word(self.words.implicit);
        if self.at(TokenKind::Let) {
            stmts.push(self.let_stmt());
            return None;
        }
        if self.at_item(true) {
            stmts.push(Stmt::Item(Box::new(self.item(true))));
            return None;
        }
        let is_statement_like = self.at_statement_like();
        let mut expr = if is_statement_like { self.primary() } else { self.expr() };
        if let Some(name) = self.jump_without_call(&expr) {
            expr = self.jump_value(name, expr);
        }
        if self.eat(TokenKind::Semi) {
            stmts.push(Stmt::Expr { expr, semi: true });
            return None;
        }
        if self.at_end_of(opener) {
            return Some(Box::new(expr));
        }
        let semi = !is_statement_like;
        if semi {
            self.expect_semi("statement");
        }
        stmts.push(Stmt::Expr { expr, semi });
        None
    }

    /// The name of the continuation, if this is `return x` without parentheses.
    fn jump_without_call(&self, expr: &Expr) -> Option<&'static str> {
        let ExprKind::Path(path) = &expr.kind else { return None };
        let [name] = &*path.segments else { return None };
        let starts_value = matches!(
            self.kind(),
            TokenKind::Lit(_) | TokenKind::Str(_) | TokenKind::Ident(_) | TokenKind::True | TokenKind::False
        );
        let jump = ["return", "break", "continue"].into_iter().find(|&jump| name.name.as_str() == jump);
        jump.filter(|_| starts_value && !self.at_new_line())
    }

    fn jump_value(&mut self, name: &'static str, jump: Expr) -> Expr {
        let start = self.pos;
        let value = self.expr();
        let text = self.file.text[self.file.local(value.span)].to_owned();
        if self.blamed != start {
            self.push_error(SyntaxError::JumpWithoutCall { jump: jump.span, value: value.span, name, text });
        }
        Expr { kind: ExprKind::Error, span: jump.span.to(value.span) }
    }

    /// `let p: T = e;`
    pub(super) fn let_stmt(&mut self) -> Stmt {
        let lo = self.bump().span;
        let pat = self.typed_pat();
        let has_init = matches!(self.kind(), TokenKind::Assign | TokenKind::EqEq) && self.expect_assign();
        let init = has_init.then(|| self.expr());
        self.expect_semi("`let`");
        Stmt::Let { pat, init, span: self.span_from(lo) }
    }

    /// Whether an expression starts here that is a statement without `;`.
    pub(super) fn at_statement_like(&self) -> bool {
        match self.kind() {
            TokenKind::If | TokenKind::Match | TokenKind::While | TokenKind::For | TokenKind::LBrace => true,
            _ => self.at_with(),
        }
    }

    /// Whether `with` starts a construct here rather than being a name: a name is
    /// followed by neither a name nor a pattern list.
    pub(super) fn at_with(&self) -> bool {
        self.at_word(self.words.with)
            && match self.nth(1) {
                TokenKind::Ident(_) | TokenKind::Mut | TokenKind::At | TokenKind::AtAt => true,
                TokenKind::LParen => self.kind_behind_group(self.pos + 1) == TokenKind::In,
                _ => false,
            }
    }

    /// One of `if match while for with` or a block.
    pub(super) fn statement_like_kind(&mut self) -> Expr {
        let lo = self.span();
        let kind = match self.kind() {
            TokenKind::LBrace => ExprKind::Block(self.block()),
            TokenKind::If => self.if_expr(),
            TokenKind::Match => self.match_expr(),
            TokenKind::While => {
                self.bump();
                ExprKind::While { cond: self.cond(), body: self.block() }
            }
            TokenKind::For => ExprKind::For(Box::new(self.for_expr("for"))),
            _ => {
                self.evidence.impala += 1;
                ExprKind::With(Box::new(self.for_expr("with")))
            }
        };
        Expr { kind, span: self.span_from(lo) }
    }

    fn if_expr(&mut self) -> ExprKind {
        self.bump();
        let mut arms = vec![IfArm { cond: self.cond(), block: self.block() }];
        while self.eat(TokenKind::Else) {
            if !self.eat(TokenKind::If) {
                return ExprKind::If { arms, else_block: Some(self.block()) };
            }
            if arms.len() > MAX_ELSE_IFS {
                self.too_many_else_ifs();
                break;
            }
            arms.push(IfArm { cond: self.cond(), block: self.block() });
        }
        ExprKind::If { arms, else_block: None }
    }

    /// `e` or `let p = e`, before a block.
    fn cond(&mut self) -> Cond {
        if self.at(TokenKind::LBrace) && !self.goes_on_behind_block() {
            self.expected("a condition".into());
            return Cond::Expr(Box::new(Expr { kind: ExprKind::Error, span: self.span().start() }));
        }
        let outer = self.reset_flags();
        self.no_struct = true;
        let cond = if self.eat(TokenKind::Let) {
            let pat = self.typed_pat();
            self.expect_assign();
            Cond::Let(Box::new(pat), Box::new(self.expr()))
        } else {
            let expr = self.expr();
            if let ExprKind::Assign { op: None, op_span, .. } = expr.kind {
                self.push_error(SyntaxError::AssignInCondition { at: op_span });
            }
            Cond::Expr(Box::new(expr))
        };
        self.restore_flags(outer);
        cond
    }

    /// Whether the block that starts here is a condition: another one follows, or the
    /// expression goes on.
    fn goes_on_behind_block(&self) -> bool {
        let behind = self.kind_behind_group(self.pos);
        !(behind.is_closer() || matches!(behind, TokenKind::Else | TokenKind::Semi | TokenKind::Eof))
    }

    fn before_block(&mut self) -> Expr {
        let outer = self.reset_flags();
        self.no_struct = true;
        let expr = self.expr();
        self.restore_flags(outer);
        expr
    }

    fn match_expr(&mut self) -> ExprKind {
        self.bump();
        let scrutinee = Box::new(self.before_block());
        let opener = self.pos;
        if !self.expect(TokenKind::LBrace) {
            return ExprKind::Match { scrutinee, arms: vec![] };
        }
        let outer = self.reset_flags();
        let mut arms = Vec::new();
        while !self.at_end_of(opener) {
            let (arm, is_ended) = self.match_arm(opener);
            arms.push(arm);
            let goes_on = self.eat(TokenKind::Comma) || is_ended || self.at_end_of(opener);
            if !goes_on && !self.next_element(opener) {
                break;
            }
        }
        self.restore_flags(outer);
        self.close(opener);
        ExprKind::Match { scrutinee, arms }
    }

    /// `p => e`, and whether it needs no comma.
    fn match_arm(&mut self, opener: usize) -> (MatchArm, bool) {
        let pat = self.typed_pat();
        if matches!(self.kind(), TokenKind::Arrow | TokenKind::Assign) {
            self.wrong_operator("=>");
        } else if !self.eat(TokenKind::FatArrow) {
            self.expected("`=>`".into());
            let value = Expr { kind: ExprKind::Error, span: self.prev.end() };
            return (MatchArm { pat, value }, false);
        }
        if !self.at_statement_like() {
            return (MatchArm { pat, value: self.expr() }, false);
        }
        let (value, height) = self.measured(Self::primary);
        let is_ended = self.at(TokenKind::Comma) || self.at_end_of(opener) || self.at_match_arm();
        let value = if is_ended { value } else { self.expr_from(value, height) };
        (MatchArm { pat, value }, is_ended)
    }

    /// Whether the next arm of a `match` starts here, after an arm without comma.
    fn at_match_arm(&self) -> bool {
        match self.kind() {
            // These could also continue the expression.
            TokenKind::LParen | TokenKind::LBracket | TokenKind::Minus => {
                let behind = self.behind_pat(self.pos).map(|behind| self.kind_at(behind));
                matches!(behind, Some(TokenKind::FatArrow | TokenKind::Colon))
            }
            _ => self.behind_pat(self.pos).is_some() || matches!(self.kind(), TokenKind::Str(_)),
        }
    }

    /// `for` and `with`: patterns, the call of a generator, a body.
    fn for_expr(&mut self, keyword: &'static str) -> ForExpr {
        self.bump();
        let pats = if self.at_loop_pats() { self.loop_pats() } else { vec![] };
        let mut call = self.before_block();
        if self.at(TokenKind::DotDot) {
            call = self.range_operator(keyword, call);
        } else if !is_call(&call) && self.blamed != self.pos {
            self.push_error(SyntaxError::LoopWithoutCall { at: call.span, keyword });
        }
        let filter = match self.kind() {
            TokenKind::At if keyword == "for" => Some(self.filter()),
            TokenKind::At | TokenKind::AtQuestion => {
                self.filter_here("before this body");
                None
            }
            _ => None,
        };
        ForExpr { pats, call, filter, body: self.block() }
    }

    /// Reports `first..last` and `first..=last` in place of a generator.
    fn range_operator(&mut self, keyword: &'static str, first: Expr) -> Expr {
        self.bump();
        let is_inclusive = self.eat(TokenKind::Assign);
        let last = self.before_block();
        let text = |expr: &Expr| &self.file.text[self.file.local(expr.span)];
        let one_more = if is_inclusive { " + 1" } else { "" };
        let call = format!("range({}, {}{one_more})", text(&first), text(&last));
        let span = first.span.to(last.span);
        self.push_error(SyntaxError::RangeOperator { at: span, keyword, call });
        Expr { kind: ExprKind::Error, span }
    }

    /// Whether a loop has patterns: one is followed by `:`, `,` or `in`.
    fn at_loop_pats(&self) -> bool {
        if matches!(self.kind(), TokenKind::Mut | TokenKind::AtQuestion) {
            return true;
        }
        let Some(behind) = self.behind_pat(self.pos) else { return false };
        // `for x range(..)` lacks its `in`.
        let lacks_in = behind == self.pos + 1 && matches!(self.kind_at(behind), TokenKind::Ident(_));
        lacks_in
            || matches!(
                self.kind_at(behind),
                TokenKind::Colon | TokenKind::Comma | TokenKind::In | TokenKind::As
            )
    }

    fn loop_pats(&mut self) -> Vec<Pat> {
        let mut pats = vec![self.typed_pat()];
        while self.eat(TokenKind::Comma) && !self.at(TokenKind::In) {
            pats.push(self.typed_pat());
        }
        self.expect(TokenKind::In);
        pats
    }
}

/// Whether `expr` is a call of a generator, with or without `$`.
fn is_call(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call { .. } | ExprKind::Error => true,
        ExprKind::Unary { op: UnaryOp::Hide, operand, .. } => is_call(operand),
        _ => false,
    }
}
