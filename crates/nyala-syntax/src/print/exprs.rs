//! Expressions, statements, blocks.

use super::layout::Line;
use super::{BRACES, BRACKETS, ListStyle, PARENS, Printer};
use crate::ast::{
    Asm, BinaryOp, Block, CallMark, ChainLink, Cond, Dialect, Expr, ExprKind, FieldInit, FieldName, ForExpr,
    IfArm, Lambda, LitKind, MatchArm, Stmt, StrLit, UnaryOp,
};

impl Printer<'_> {
    pub(super) fn expr(&mut self, expr: &Expr) {
        let in_operand = std::mem::take(&mut self.in_operand);
        match &expr.kind {
            ExprKind::Lit(lit) => self.lit(lit),
            ExprKind::Path(path) => self.path(path),
            ExprKind::Unary { op, operand, .. } if !is_postfix(*op) => self.prefix(*op, operand, in_operand),
            ExprKind::Chain { first, rest } => self.chain(first, rest),
            ExprKind::Cast { expr, ty } => {
                self.operand(expr);
                self.space();
                self.keyword("as");
                self.ty(ty);
            }
            ExprKind::Assign { op, place, value, .. } => {
                self.expr(place);
                self.space();
                self.keyword(op.map_or("=", assign_text));
                self.expr(value);
            }
            ExprKind::Call { .. }
            | ExprKind::TypeArgs { .. }
            | ExprKind::Field { .. }
            | ExprKind::Update { .. }
            | ExprKind::Ascribe { .. }
            | ExprKind::Unary { .. } => self.postfix(expr),
            ExprKind::Error => {}
            _ => self.compound(expr),
        }
    }

    /// Expressions that brackets or keywords enclose.
    fn compound(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Paren(inner) => self.paren(inner),
            ExprKind::Tuple(exprs) => self.list(filled(PARENS, exprs), exprs, |_| false, Self::expr),
            ExprKind::Array { is_simd, elems } => self.array(*is_simd, elems),
            ExprKind::Repeat { is_simd, value, len } => self.repeat(*is_simd, value, len),
            ExprKind::HeapArray { len, elem } => {
                self.tok("~");
                self.tok("[");
                self.expr(len);
                self.type_annotation(elem);
                self.tok("]");
            }
            ExprKind::Struct { path, args, fields } => {
                self.generic_path(path, args);
                self.space();
                self.field_inits(fields);
            }
            ExprKind::Block(block) => self.block_group(block),
            ExprKind::If { arms, else_block } => self.if_expr(arms, else_block.as_ref()),
            ExprKind::Match { scrutinee, arms } => self.match_expr(scrutinee, arms),
            ExprKind::While { cond, body } => {
                self.keyword("while");
                self.cond(cond);
                self.block_group(body);
            }
            ExprKind::For(loop_expr) => self.for_expr("for", loop_expr),
            ExprKind::With(loop_expr) => self.for_expr("with", loop_expr),
            ExprKind::Lambda(lambda) => self.lambda(lambda),
            ExprKind::Asm(asm) => self.asm(asm),
            _ => unreachable!("`expr` handles the other kinds"),
        }
    }

    // ---- Operators ------------------------------------------------------------------

    fn chain(&mut self, first: &Expr, rest: &[ChainLink]) {
        self.open();
        self.operand(first);
        self.doc.indent();
        for link in rest {
            self.line(Line::Space);
            self.keyword(link.op.symbol());
            self.operand(&link.rhs);
        }
        self.doc.dedent();
        self.doc.close();
    }

    fn operand(&mut self, expr: &Expr) {
        self.in_operand = true;
        self.expr(expr);
    }

    /// A prefix operator. `$` gets parentheses if the dialects disagree about its
    /// operand.
    fn prefix(&mut self, op: UnaryOp, operand: &Expr, in_operand: bool) {
        match op {
            UnaryOp::Hide if in_operand && self.dialect == Dialect::Artic => {
                self.new_parens(|printer| {
                    printer.tok("$");
                    printer.expr(operand);
                });
            }
            UnaryOp::Hide if matches!(operand.kind, ExprKind::Chain { .. } | ExprKind::Cast { .. }) => {
                self.tok("$");
                self.new_parens(|printer| printer.expr(operand));
            }
            UnaryOp::AddrOfMut => {
                self.tok("&");
                self.keyword("mut");
                self.in_operand = in_operand;
                self.expr(operand);
            }
            _ => {
                self.tok(unary_text(op));
                self.in_operand = in_operand;
                self.expr(operand);
            }
        }
    }

    /// Adds parentheses.
    fn new_parens(&mut self, print: impl FnOnce(&mut Self)) {
        self.comments_until(self.next_token());
        self.word("(");
        self.doc.open();
        self.doc.indent();
        self.doc.line(Line::Soft);
        print(self);
        self.doc.dedent();
        self.doc.line(Line::Soft);
        self.word(")");
        self.doc.close();
    }

    /// Calls and other postfix forms.
    fn postfix(&mut self, expr: &Expr) {
        self.opt_mark(expr);
        match &expr.kind {
            ExprKind::Call { callee, args, .. } => {
                self.expr(callee);
                self.list(PARENS, args, is_huggable, Self::expr);
            }
            ExprKind::TypeArgs { expr, args } => match &expr.kind {
                ExprKind::Path(path) => self.generic_path(path, args),
                _ => {
                    self.expr(expr);
                    self.list(BRACKETS, args, |_| false, Self::ty);
                }
            },
            ExprKind::Field { base, field } => {
                self.expr(base);
                self.dot(base);
                match field {
                    FieldName::Named(name) => self.ident(name),
                    FieldName::Index { span, .. } => self.span(*span),
                }
            }
            ExprKind::Update { base, fields } => {
                self.expr(base);
                self.dot(base);
                self.field_inits(fields);
            }
            ExprKind::Ascribe { expr, ty } => {
                self.expr(expr);
                self.space();
                self.type_annotation(ty);
            }
            ExprKind::Unary { op, operand, .. } => {
                self.expr(operand);
                self.tok(unary_text(*op));
            }
            _ => unreachable!("`expr` sends only these here"),
        }
    }

    /// The mark of a call, if the chain that ends in `expr` starts with it and it is not
    /// written yet.
    fn opt_mark(&mut self, expr: &Expr) {
        let start = self.source.local(expr.span).start;
        if start != self.next_token() || !(self.at("@") || self.at("$")) {
            return;
        }
        match expr.chain().find_map(Expr::mark) {
            Some(CallMark { text: "@run", .. }) => self.marking_word("run"),
            Some(CallMark { text: "@halt", .. }) => self.marking_word("halt"),
            Some(mark) => self.tok(mark.text),
            None => {}
        }
    }

    fn marking_word(&mut self, word: &'static str) {
        self.tok("@");
        self.keyword(word);
    }

    /// A dot that the lexer does not read as part of a preceding number.
    fn dot(&mut self, base: &Expr) {
        let is_number = |kind: &LitKind| matches!(kind, LitKind::Int { .. } | LitKind::Float { .. });
        if matches!(&base.kind, ExprKind::Lit(lit) if is_number(&lit.kind)) {
            self.space();
        }
        self.tok(".");
    }

    // ---- Brackets -------------------------------------------------------------------

    fn paren(&mut self, inner: &Expr) {
        self.tok("(");
        let group = self.doc.open();
        self.doc.indent();
        self.line(Line::Soft);
        let start = self.doc.mark();
        self.expr(inner);
        if is_huggable(inner) {
            self.doc.hug(group, start, self.doc.mark());
        }
        if self.at(",") {
            self.skip(",");
        }
        self.comments_before_close(false);
        self.doc.dedent();
        self.line(Line::Soft);
        self.tok(")");
        self.doc.close();
    }

    fn array(&mut self, is_simd: bool, elems: &[Expr]) {
        if is_simd {
            self.tok("simd");
        }
        self.list(filled(BRACKETS, elems), elems, |_| false, Self::expr);
    }

    fn repeat(&mut self, is_simd: bool, value: &Expr, len: &Expr) {
        if is_simd {
            self.tok("simd");
        }
        self.tok("[");
        self.expr(value);
        if self.at(";") {
            self.sep(";");
        } else {
            self.sep(",");
            self.space();
            self.tok("..");
        }
        self.space();
        self.expr(len);
        self.tok("]");
    }

    fn field_inits(&mut self, fields: &[FieldInit]) {
        self.list(
            BRACES,
            fields,
            |_| false,
            |printer, field| {
                printer.ident(&field.name);
                if field.with_eq {
                    printer.equals();
                } else {
                    printer.keyword(":");
                }
                printer.expr(&field.value);
            },
        );
    }

    fn lambda(&mut self, lambda: &Lambda) {
        if let Some(filter) = &lambda.filter {
            self.filter(filter);
        }
        self.tok("|");
        for (i, param) in lambda.params.iter().enumerate() {
            if i > 0 {
                self.sep(",");
                self.space();
            }
            self.param(param);
        }
        if self.at(",") {
            self.skip(",");
        }
        self.closing_bar();
        self.opt_ret(lambda.ret.as_ref());
        if let Some(body) = &lambda.body {
            self.space();
            self.expr(body);
        }
    }

    /// The second bar of a lambda's parameters, which may touch the first.
    fn closing_bar(&mut self) {
        let at = self.next_token();
        self.comments_until(at);
        self.wants_space = false;
        self.doc.text_glued("|");
        self.step_over(at, "|");
    }

    fn asm(&mut self, asm: &Asm) {
        self.tok("asm");
        self.tok("(");
        self.string(&asm.template);
        let lens = [asm.outputs.len(), asm.inputs.len(), asm.clobbers.len(), asm.options.len()];
        let n_sections = lens.iter().rposition(|&len| len > 0).map_or(0, |last| last + 1);
        for section in 0..n_sections {
            self.space();
            self.tok(":");
            match section {
                0 => self.asm_section(&asm.outputs, Self::asm_operand),
                1 => self.asm_section(&asm.inputs, Self::asm_operand),
                2 => self.asm_section(&asm.clobbers, Self::string),
                _ => self.asm_section(&asm.options, Self::string),
            }
        }
        while self.at(":") {
            self.skip(":");
        }
        self.tok(")");
    }

    fn asm_section<T>(&mut self, operands: &[T], print: fn(&mut Self, &T)) {
        for (i, operand) in operands.iter().enumerate() {
            if i > 0 {
                self.sep(",");
            }
            self.space();
            print(self, operand);
        }
        if self.at(",") {
            self.skip(",");
        }
    }

    fn asm_operand(&mut self, (constraint, expr): &(StrLit, Expr)) {
        self.string(constraint);
        self.tok("(");
        self.expr(expr);
        self.tok(")");
    }

    // ---- Control flow ---------------------------------------------------------------

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
    fn block(&mut self, block: &Block) -> bool {
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

    fn if_expr(&mut self, arms: &[IfArm], else_block: Option<&Block>) {
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
    fn cond(&mut self, cond: &Cond) {
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

    fn match_expr(&mut self, scrutinee: &Expr, arms: &[MatchArm]) {
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

    fn for_expr(&mut self, keyword: &'static str, for_expr: &ForExpr) {
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

/// Whether an argument may break while its call stays on one line.
fn is_huggable(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Lambda(lambda) => lambda.body.as_ref().is_some_and(is_enclosed),
        _ => is_enclosed(expr),
    }
}

fn is_enclosed(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Block(_) | ExprKind::Struct { .. } | ExprKind::Match { .. } | ExprKind::Array { .. }
    )
}

fn is_statement_like(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Block(_)
            | ExprKind::If { .. }
            | ExprKind::Match { .. }
            | ExprKind::While { .. }
            | ExprKind::For(_)
            | ExprKind::With(_)
    )
}

/// The layout of a list of expressions: numbers fill lines.
fn filled(style: ListStyle, elems: &[Expr]) -> ListStyle {
    let between = if elems.iter().all(is_number) { Line::Fill } else { style.between };
    ListStyle { between, ..style }
}

/// A number, with or without sign.
fn is_number(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Lit(lit) => !matches!(lit.kind, LitKind::Str(_)),
        ExprKind::Unary { op: UnaryOp::Minus, operand, .. } => matches!(operand.kind, ExprKind::Lit(_)),
        _ => false,
    }
}

fn is_postfix(op: UnaryOp) -> bool {
    matches!(op, UnaryOp::PostInc | UnaryOp::PostDec)
}

fn unary_text(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Plus => "+",
        UnaryOp::Minus => "-",
        UnaryOp::Not => "!",
        UnaryOp::Deref => "*",
        UnaryOp::AddrOf | UnaryOp::AddrOfMut => "&",
        UnaryOp::Box => "~",
        UnaryOp::PreInc | UnaryOp::PostInc => "++",
        UnaryOp::PreDec | UnaryOp::PostDec => "--",
        UnaryOp::Known => "?",
        UnaryOp::Hide => "$",
    }
}

/// The text of a compound assignment; only operators that have one occur.
fn assign_text(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+=",
        BinaryOp::Sub => "-=",
        BinaryOp::Mul => "*=",
        BinaryOp::Div => "/=",
        BinaryOp::Rem => "%=",
        BinaryOp::And => "&=",
        BinaryOp::Or => "|=",
        BinaryOp::Xor => "^=",
        BinaryOp::Shl => "<<=",
        BinaryOp::Shr => ">>=",
        _ => "=",
    }
}
