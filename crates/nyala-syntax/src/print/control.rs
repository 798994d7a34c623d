//! Blocks, statements, and expressions of control flow.

use super::Printer;
use super::exprs::is_statement_like;
use super::layout::Line;
use crate::ast::{Block, Cond, Expr, ExprKind, ForExpr, IfArm, MatchArm, Stmt};

impl Printer<'_> {
    /// A block as a group.
    pub(super) fn block_group(&mut self, block: &Block) {
        let group = self.open();
        if !self.block(block) {
            self.doc.force(group);
        }
        self.doc.close();
    }

    /// `{ .. }` inside a group. Returns whether it may be on one line: it has at most one
    /// element, and that contains no block.
    pub(super) fn block(&mut self, block: &Block) -> bool {
        self.tok("{");
        self.skip_strays();
        let n_parts = block.stmts.len() + usize::from(block.value.is_some());
        let has_comment = self.comment_before_token();
        if n_parts == 0 && !has_comment {
            self.tok("}");
            return true;
        }
        let n_blocks = self.n_blocks;
        let is_item = matches!(block.stmts.first(), Some(Stmt::Item(_)));
        self.doc.indent();
        if n_parts == 1 && !has_comment && !is_item {
            self.line(Line::Space);
            block.stmts.iter().for_each(|stmt| self.stmt(stmt));
            block.value.iter().for_each(|value| self.expr(value));
            self.skip_strays();
            self.comments_before_close(false);
            self.doc.dedent();
            self.line(Line::Space);
            self.tok("}");
        } else {
            self.statements(block);
        }
        let is_simple = n_parts == 1 && !has_comment && !is_item && self.n_blocks == n_blocks;
        self.n_blocks += 1;
        is_simple
    }

    /// The contents of a block of several lines, with its closing brace.
    fn statements(&mut self, block: &Block) {
        let mut is_first = true;
        for stmt in &block.stmts {
            if is_first {
                self.line(Line::Hard)
            } else {
                self.line_between()
            }
            is_first = false;
            self.stmt(stmt);
            self.skip_strays();
        }
        if let Some(value) = &block.value {
            if is_first {
                self.line(Line::Hard)
            } else {
                self.line_between()
            }
            is_first = false;
            self.expr(value);
            self.skip_strays();
        }
        self.close_block(is_first);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let { pat, init, .. } => {
                self.keyword("let");
                self.pat(pat);
                if let Some(init) = init {
                    self.initializer(init);
                }
                self.sep(";");
            }
            Stmt::Item(item) => self.item(item),
            Stmt::Expr { expr, semi } => {
                self.expr(expr);
                if *semi {
                    self.sep(";");
                }
            }
        }
    }

    pub(super) fn if_expr(&mut self, arms: &[IfArm], else_block: Option<&Block>) {
        let group = self.open();
        let mut is_simple = true;
        for (i, arm) in arms.iter().enumerate() {
            if i > 0 {
                self.space();
                self.keyword("else");
            }
            self.keyword("if");
            self.cond(&arm.cond);
            is_simple &= self.block(&arm.block);
        }
        if let Some(block) = else_block {
            self.space();
            self.keyword("else");
            is_simple &= self.block(block);
        }
        if !is_simple {
            self.doc.force(group);
        }
        self.doc.close();
    }

    /// A condition, up to the next brace. The brace is on its own line if the
    /// condition needs several lines.
    pub(super) fn cond(&mut self, cond: &Cond) {
        match cond {
            Cond::Expr(expr) if matches!(expr.kind, ExprKind::Chain { .. }) => {
                self.open();
                self.expr(expr);
                self.line(Line::Space);
                self.doc.close();
            }
            Cond::Expr(expr) => self.expr(expr),
            Cond::Let(pat, expr) => {
                self.keyword("let");
                self.pat(pat);
                self.initializer(expr);
            }
        }
        self.space();
    }

    pub(super) fn match_expr(&mut self, scrutinee: &Expr, arms: &[MatchArm]) {
        self.keyword("match");
        self.expr(scrutinee);
        self.space();
        self.tok("{");
        self.n_blocks += 1;
        if arms.is_empty() && !self.comment_before_token() {
            return self.tok("}");
        }
        self.doc.indent();
        for (i, arm) in arms.iter().enumerate() {
            if i == 0 {
                self.line(Line::Hard)
            } else {
                self.line_between()
            }
            self.pat(&arm.pat);
            self.space();
            self.keyword("=>");
            self.expr(&arm.value);
            self.arm_comma(&arm.value);
        }
        self.close_block(arms.is_empty());
    }

    /// The comma after an arm: none after a closing brace.
    fn arm_comma(&mut self, value: &Expr) {
        match (is_statement_like(value), self.at(",")) {
            (true, true) => self.skip(","),
            (true, false) => {}
            (false, true) => self.sep(","),
            (false, false) => self.word(","),
        }
    }

    pub(super) fn for_expr(&mut self, keyword: &'static str, for_expr: &ForExpr) {
        self.keyword(keyword);
        for (i, pat) in for_expr.pats.iter().enumerate() {
            if i > 0 {
                self.sep(",");
                self.space();
            }
            self.pat(pat);
        }
        if !for_expr.pats.is_empty() {
            if self.at(",") {
                self.skip(",");
            }
            self.space();
            self.keyword("in");
        }
        self.expr(&for_expr.call);
        self.space();
        if let Some(filter) = &for_expr.filter {
            self.filter(filter);
            self.space_behind_condition(filter);
        }
        self.block_group(&for_expr.body);
    }
}
