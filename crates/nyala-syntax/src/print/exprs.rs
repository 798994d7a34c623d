//! Expressions: operators, postfix forms, brackets.

use super::layout::Line;
use super::{BRACES, BRACKETS, ListStyle, PARENS, Printer};
use crate::ast::{
    Asm, BinaryOp, CallMark, ChainLink, Dialect, Expr, ExprKind, FieldInit, FieldName, Lambda, LitKind,
    StrLit, UnaryOp,
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
}

/// Whether an argument may break while its call stays on one line. So may calls and lambdas that end with such an argument or body.
fn is_huggable(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Lambda(lambda) => lambda.body.as_ref().is_some_and(is_huggable),
        ExprKind::Call { args, .. } => args.last().is_some_and(is_huggable),
        _ => is_enclosed(expr),
    }
}

fn is_enclosed(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Block(_) | ExprKind::Struct { .. } | ExprKind::Match { .. } | ExprKind::Array { .. }
    )
}

pub(super) fn is_statement_like(expr: &Expr) -> bool {
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
