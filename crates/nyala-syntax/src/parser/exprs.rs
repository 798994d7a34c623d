//! Operators and postfix forms: calls, fields, type arguments.
//!
//! Binary operators are read by precedence climbing with an explicit stack of
//! open chains, one per level, so a sum of a hundred thousand terms is one flat
//! node, without recursion.
//!
//! # How depth is measured here
//!
//! Calls and operators wrap what was read before them, so a node's depth is not
//! known when it is read. [`Parser::measured`] therefore measures the height of
//! what it reads by resetting [`Parser::deepest`]; code that wraps a node adds one
//! to its height and checks that it still fits.

use nyala_span::{Name, Span};

use super::Parser;
use crate::ast::{
    BinaryOp, CallMark, ChainLink, Dialect, Expr, ExprKind, FieldName, LitKind, MarkKind, UnaryOp,
};
use crate::errors::SyntaxError;
use crate::token::TokenKind;

/// A chain that may continue.
struct OpenChain {
    level: u8,
    first: Expr,
    rest: Vec<ChainLink>,
    /// The operator before the next operand.
    op: (BinaryOp, Span),
    height: usize,
}

impl OpenChain {
    fn push(&mut self, rhs: Expr, height: usize) {
        let (op, op_span) = self.op;
        self.rest.push(ChainLink { op, op_span, rhs });
        self.height = self.height.max(height);
    }

    /// The finished chain with its height.
    fn finish(mut self) -> (Expr, usize) {
        self.rest.shrink_to_fit();
        let last = self.rest.last().map_or(self.first.span, |link| link.rhs.span);
        let span = self.first.span.to(last);
        let kind = ExprKind::Chain { first: Box::new(self.first), rest: self.rest };
        (Expr { kind, span }, self.height + 1)
    }
}

impl Parser<'_> {
    /// An expression, assignments included.
    pub(super) fn expr(&mut self) -> Expr {
        let (place, height) = self.binary(None);
        match assign_op(self.kind()) {
            Some(op) => self.assignment(op, place, height),
            None => place,
        }
    }

    /// The rest of an expression that starts with `operand`.
    pub(super) fn expr_from(&mut self, operand: Expr, height: usize) -> Expr {
        let (operand, height) = self.postfix_from(operand, height, None);
        let (operand, height) = self.casts(operand, height);
        let (place, height) = self.binary(Some((operand, height)));
        match assign_op(self.kind()) {
            Some(op) => self.assignment(op, place, height),
            None => place,
        }
    }

    /// Parses with `read` and measures the height of the result.
    pub(super) fn measured<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> (T, usize) {
        let outer = std::mem::replace(&mut self.deepest, self.depth);
        let result = read(self);
        let height = self.deepest - self.depth;
        self.deepest = self.deepest.max(outer);
        (result, height)
    }

    /// Whether the parent of a node of `height` is within the limit; records its height if so.
    fn wrap(&mut self, height: usize) -> bool {
        let fits = self.fits(height + 1);
        if fits {
            self.deepest = self.deepest.max(self.depth + height + 1);
        }
        fits
    }

    fn error_expr(&self, lo: Span) -> Expr {
        Expr { kind: ExprKind::Error, span: self.span_from(lo) }
    }

    // ---- Assignment -----------------------------------------------------------------

    fn assignment(&mut self, op: Option<BinaryOp>, place: Expr, height: usize) -> Expr {
        let lo = place.span;
        let op_span = self.bump().span;
        if !self.wrap(height) || !self.enter() {
            return self.error_expr(lo);
        }
        let (value, _) = self.binary(None);
        self.leave();
        if assign_op(self.kind()).is_some() {
            self.error(SyntaxError::ChainedAssign { at: self.span(), first: lo.to(value.span) });
        }
        while assign_op(self.kind()).is_some() {
            self.bump();
            self.binary(None);
        }
        let kind = ExprKind::Assign { op, op_span, place: Box::new(place), value: Box::new(value) };
        Expr { kind, span: self.span_from(lo) }
    }

    // ---- Binary operators -------------------------------------------------------------

    /// Operands joined by binary operators, with its height. The first operand may
    /// have been read already.
    fn binary(&mut self, first: Option<(Expr, usize)>) -> (Expr, usize) {
        let lo = first.as_ref().map_or(self.span(), |(expr, _)| expr.span);
        let (mut operand, mut height) = first.unwrap_or_else(|| self.operand());
        let mut open: Vec<OpenChain> = Vec::new();
        loop {
            let next = binary_op(self.kind());
            let level = next.map_or(0, |(_, level)| level);
            // Chains that bind tighter than the next operator end here.
            while let Some(mut chain) = open.pop_if(|chain| chain.level > level) {
                chain.push(operand, height);
                (operand, height) = chain.finish();
            }
            if !self.fits(height + open.len()) {
                return (self.error_expr(lo), 0);
            }
            let Some((op, level)) = next else { break };
            let op = (op, self.bump().span);
            match open.last_mut().filter(|chain| chain.level == level) {
                Some(chain) => {
                    chain.push(operand, height);
                    chain.op = op;
                }
                None => open.push(OpenChain { level, first: operand, rest: vec![], op, height }),
            }
            (operand, height) = self.operand();
        }
        self.deepest = self.deepest.max(self.depth + height);
        (operand, height)
    }

    /// A prefix expression with its casts: an operand of binary operators.
    fn operand(&mut self) -> (Expr, usize) {
        let (expr, height) = self.measured(Self::prefix);
        self.casts(expr, height)
    }

    /// `e as T as U`. A call, an index or a field behind the type belongs to the cast: `p as &[T](i)`.
    fn casts(&mut self, mut expr: Expr, mut height: usize) -> (Expr, usize) {
        let lo = expr.span;
        while self.eat(TokenKind::As) {
            let (ty, type_height) = self.measured(Self::ty);
            if !self.wrap(height.max(type_height)) {
                return (self.error_expr(lo), 0);
            }
            height = height.max(type_height) + 1;
            expr = Expr { kind: ExprKind::Cast { expr: Box::new(expr), ty }, span: self.span_from(lo) };
            if matches!(self.kind(), TokenKind::LParen | TokenKind::Dot) {
                (expr, height) = self.postfix_from(expr, height, None);
            }
        }
        (expr, height)
    }

    // ---- Prefix operators -----------------------------------------------------------

    fn prefix(&mut self) -> Expr {
        match self.kind() {
            TokenKind::Plus => self.unary(UnaryOp::Plus),
            TokenKind::Minus => self.unary(UnaryOp::Minus),
            TokenKind::Not => self.unary(UnaryOp::Not),
            TokenKind::Star => self.unary(UnaryOp::Deref),
            TokenKind::PlusPlus => self.unary(UnaryOp::PreInc),
            TokenKind::MinusMinus => self.unary(UnaryOp::PreDec),
            TokenKind::Question => self.unary(UnaryOp::Known),
            TokenKind::And | TokenKind::AndAnd => self.address_of(),
            TokenKind::Tilde if self.nth(1) == TokenKind::LBracket => self.heap_array_or_box(),
            TokenKind::Tilde => {
                self.evidence.impala += 1;
                self.unary(UnaryOp::Box)
            }
            TokenKind::Dollar => self.hide(),
            TokenKind::AtAt => {
                self.reject_double_mark();
                self.marked_call(MarkKind::Force, "@@")
            }
            TokenKind::At if self.at_marking_word(self.words.run) => self.marked_call(MarkKind::Run, "@run"),
            TokenKind::At if self.at_marking_word(self.words.halt) => {
                self.marked_call(MarkKind::Halt, "@halt")
            }
            TokenKind::At if !self.at_lambda() => {
                let kind = if self.edition_2015 { MarkKind::Run } else { MarkKind::Force };
                self.marked_call(kind, "@")
            }
            _ => self.postfix(None),
        }
    }

    fn unary(&mut self, op: UnaryOp) -> Expr {
        let op_span = self.bump().span;
        self.unary_rest(op, op_span)
    }

    /// The operand of a prefix operator.
    fn unary_rest(&mut self, op: UnaryOp, op_span: Span) -> Expr {
        if !self.enter() {
            return self.error_expr(op_span);
        }
        let operand = Box::new(self.prefix());
        self.leave();
        Expr { kind: ExprKind::Unary { op, op_span, operand }, span: self.span_from(op_span) }
    }

    fn address_of(&mut self) -> Expr {
        self.eat_half(TokenKind::And, TokenKind::AndAnd, TokenKind::And);
        let op_span = self.prev;
        if self.eat(TokenKind::Mut) {
            return self.unary_rest(UnaryOp::AddrOfMut, self.span_from(op_span));
        }
        self.unary_rest(UnaryOp::AddrOf, op_span)
    }

    /// `$e`: in Impala all of the operators that follow belong to `e`, in Artic none.
    fn hide(&mut self) -> Expr {
        if self.edition_2015 {
            return self.halt_or_hide();
        }
        self.dialect_mattered = true;
        if self.dialect == Dialect::Artic {
            return self.unary(UnaryOp::Hide);
        }
        let op_span = self.bump().span;
        if !self.enter() {
            return self.error_expr(op_span);
        }
        let operand = Box::new(self.binary(None).0);
        self.leave();
        let kind = ExprKind::Unary { op: UnaryOp::Hide, op_span, operand };
        Expr { kind, span: self.span_from(op_span) }
    }

    /// `$f(x)` of edition 2015. Before other operands, `$` hides only the operand.
    fn halt_or_hide(&mut self) -> Expr {
        let mut expr = self.unary(UnaryOp::Hide);
        if let ExprKind::Unary { op_span, operand, .. } = &mut expr.kind
            && last_call_is_free(operand)
        {
            mark_last_call(operand, CallMark { kind: MarkKind::Halt, text: "$", span: *op_span });
            return std::mem::replace(operand, Expr { kind: ExprKind::Error, span: expr.span });
        }
        expr
    }

    /// `~[n: T]`, or `~` in front of an array.
    fn heap_array_or_box(&mut self) -> Expr {
        self.evidence.impala += 1;
        let op_span = self.bump().span;
        if !self.enter() {
            return self.error_expr(op_span);
        }
        let (array, height) = self.measured(|parser| parser.array(true));
        let is_heap_array = matches!(array.kind, ExprKind::HeapArray { .. });
        let (operand, _) = self.postfix_from(array, height, None);
        self.leave();
        let span = self.span_from(op_span);
        if is_heap_array {
            return Expr { span, ..operand };
        }
        Expr { kind: ExprKind::Unary { op: UnaryOp::Box, op_span, operand: Box::new(operand) }, span }
    }

    /// Whether `@` and `word` precede a name: then they are a mark. (`@run(x)` is a
    /// call of `run`.)
    fn at_marking_word(&self, word: Name) -> bool {
        self.nth(1) == TokenKind::Ident(word) && matches!(self.nth(2), TokenKind::Ident(_))
    }

    /// Reports `@@` in Artic, where it is a mark of a mark.
    fn reject_double_mark(&mut self) {
        self.dialect_mattered = true;
        if self.dialect == Dialect::Artic {
            self.push_error(SyntaxError::DoubleMark { at: self.span() });
        }
    }

    /// `@@f(x)(y)` marks `f(x)`, all other marks the call of its result.
    fn marked_call(&mut self, kind: MarkKind, text: &'static str) -> Expr {
        let doubled = text == "@@";
        if doubled {
            self.evidence.impala += 1;
        }
        let is_filter = text == "@"
            && (self.nth(1) == TokenKind::LBrace
                || self.kind_behind_group(self.pos + 1) == TokenKind::LBrace);
        if is_filter && !self.no_struct {
            self.filter_here("before this block");
            return self.postfix(None);
        }
        let mut span = self.bump().span;
        if matches!(text, "@run" | "@halt") {
            span = span.to(self.bump().span);
        }
        let mark = CallMark { kind, text, span };
        let mut expr = self.postfix(doubled.then_some(mark));
        let is_marked = if doubled { first_call_is_marked(&expr) } else { mark_last_call(&mut expr, mark) };
        if !is_marked && self.blamed != self.pos {
            self.push_error(SyntaxError::MarkWithoutCall { at: mark.span, text });
        }
        expr.span = mark.span.to(expr.span);
        expr
    }

    // ---- Postfix forms ------------------------------------------------------------------

    /// A primary with its calls, fields and so on. The first call gets the mark.
    fn postfix(&mut self, mark: Option<CallMark>) -> Expr {
        let (expr, height) = self.measured(Self::primary);
        self.postfix_from(expr, height, mark).0
    }

    fn postfix_from(&mut self, mut expr: Expr, mut height: usize, mark: Option<CallMark>) -> (Expr, usize) {
        let lo = mark.map_or(expr.span, |mark| mark.span);
        let mut mark = mark;
        while self.at_postfix(&expr) {
            let (wrapped, part_height) = self.measured(|parser| parser.postfix_op(expr, &mut mark));
            height = height.max(part_height);
            if !self.wrap(height) {
                return (self.error_expr(lo), 0);
            }
            height += 1;
            expr = Expr { kind: wrapped, span: self.span_from(lo) };
        }
        (expr, height)
    }

    fn at_postfix(&mut self, expr: &Expr) -> bool {
        match self.kind() {
            // The body of a lambda extends as far as possible; the next token belongs to neither.
            _ if matches!(expr.kind, ExprKind::Lambda(_)) => false,
            TokenKind::LParen
            | TokenKind::LBracket
            | TokenKind::Dot
            | TokenKind::PlusPlus
            | TokenKind::MinusMinus => true,
            TokenKind::Colon => !self.no_ascription,
            TokenKind::Not => self.at_macro(expr),
            TokenKind::LBrace => names_struct(expr) && self.at_struct_literal(),
            _ => false,
        }
    }

    fn postfix_op(&mut self, expr: Expr, mark: &mut Option<CallMark>) -> ExprKind {
        match self.kind() {
            TokenKind::LParen => self.call(expr, mark.take()),
            TokenKind::LBracket if self.at_square_index() => self.square_index(),
            TokenKind::LBracket => self.type_args(expr),
            TokenKind::Not => self.macro_call(&expr),
            TokenKind::LBrace => self.struct_literal(expr),
            TokenKind::Dot => self.field(expr),
            TokenKind::Colon => {
                self.evidence.artic += 1;
                self.bump();
                ExprKind::Ascribe { expr: Box::new(expr), ty: self.ty() }
            }
            kind => {
                let op = if kind == TokenKind::PlusPlus { UnaryOp::PostInc } else { UnaryOp::PostDec };
                let op_span = self.bump().span;
                ExprKind::Unary { op, op_span, operand: Box::new(expr) }
            }
        }
    }

    /// `f[T]`, and `E[T]::A`, which is another way to write `E::A[T]`.
    fn type_args(&mut self, mut expr: Expr) -> ExprKind {
        let args = self.list(Self::generic_arg);
        if let ExprKind::Path(path) = &mut expr.kind
            && !args.is_empty()
        {
            while self.eat(TokenKind::ColonColon) {
                path.segments.push(self.ident());
                path.span = self.span_from(path.span);
                expr.span = path.span;
            }
        }
        ExprKind::TypeArgs { expr: Box::new(expr), args }
    }

    /// Whether a bracket group cannot be a type, `[0]` or `[i + 1]`, and nothing follows that
    /// takes the arguments of a generic item: `f[4](x)`.
    fn at_square_index(&self) -> bool {
        use TokenKind::{ColonColon, Dot, LBrace, LParen, Lit, Minus, Percent, Plus, Slash, Star};
        let is_value = match self.nth(1) {
            Lit(_) => true,
            TokenKind::Ident(_) => {
                matches!(self.nth(2), Plus | Minus | Star | Slash | Percent | Dot | LParen)
            }
            _ => false,
        };
        let is_applied = matches!(self.kind_behind_group(self.pos), LParen | LBrace | ColonColon);
        is_value && !is_applied && self.pairs.closer(self.pos).is_some()
    }

    /// Reports and skips an index in brackets.
    fn square_index(&mut self) -> ExprKind {
        let lo = self.span();
        self.skip_token_or_group();
        let at = self.span_from(lo);
        let inside = Span::new(at.lo + 1, at.hi - 1);
        let inside = self.file.text[self.file.local(inside)].to_owned();
        self.push_error(SyntaxError::SquareIndex { at, inside });
        ExprKind::Error
    }

    /// Whether this is a macro of another language: `name!(..)` or `name![..]`.
    fn at_macro(&self, expr: &Expr) -> bool {
        let is_name = matches!(&expr.kind, ExprKind::Path(path) if path.segments.len() == 1);
        is_name
            && expr.span.hi == self.span().lo
            && matches!(self.nth(1), TokenKind::LParen | TokenKind::LBracket)
    }

    /// Reports and skips a macro.
    fn macro_call(&mut self, name: &Expr) -> ExprKind {
        let at = name.span.to(self.bump().span);
        self.skip_token_or_group();
        let name = self.file.text[self.file.local(name.span)].to_owned();
        self.push_error(SyntaxError::Macro { at, name });
        ExprKind::Error
    }

    fn call(&mut self, callee: Expr, mark: Option<CallMark>) -> ExprKind {
        if !self.enter() {
            return ExprKind::Error;
        }
        let args = self.list(Self::expr);
        self.leave();
        ExprKind::Call { callee: Box::new(callee), args, mark }
    }

    /// `.f`, `.0`, `.{ x = e }`
    fn field(&mut self, base: Expr) -> ExprKind {
        self.bump();
        let base = Box::new(base);
        let field = match self.kind() {
            TokenKind::LBrace => {
                if !self.enter() {
                    return ExprKind::Error;
                }
                let fields = self.field_inits();
                self.leave();
                return ExprKind::Update { base, fields };
            }
            TokenKind::Lit(lit) => {
                let span = self.bump().span;
                match self.lits[lit as usize] {
                    LitKind::Int { value: Some(index), suffix: None } if index <= u32::MAX.into() => {
                        FieldName::Index { index: index as u32, span }
                    }
                    LitKind::Error => return ExprKind::Error,
                    _ => {
                        self.push_error(SyntaxError::BadTupleIndex { at: span });
                        return ExprKind::Error;
                    }
                }
            }
            _ => FieldName::Named(self.ident()),
        };
        ExprKind::Field { base, field }
    }

    /// Whether the `{` here opens a struct literal. If it must open a block, but only a
    /// literal can follow, reports that and returns true.
    fn at_struct_literal(&mut self) -> bool {
        let is_field = matches!(self.nth(1), TokenKind::Ident(_));
        if !self.no_struct {
            let after = self.nth(2);
            let ends_field =
                matches!(after, TokenKind::Colon | TokenKind::Assign | TokenKind::Comma | TokenKind::RBrace);
            return self.nth(1) == TokenKind::RBrace || (is_field && ends_field);
        }
        let is_meant = is_field
            && self.nth(2) == TokenKind::Colon
            && self.kind_behind_group(self.pos) == TokenKind::LBrace;
        if is_meant {
            self.error(SyntaxError::StructInCondition { at: self.span() });
        }
        is_meant
    }

    fn struct_literal(&mut self, head: Expr) -> ExprKind {
        let (path, args) = match head.kind {
            ExprKind::Path(path) => (path, vec![]),
            ExprKind::TypeArgs { expr, args } => match expr.kind {
                ExprKind::Path(path) => (path, args),
                _ => return ExprKind::Error,
            },
            _ => return ExprKind::Error,
        };
        if !self.enter() {
            return ExprKind::Error;
        }
        let fields = self.field_inits();
        self.leave();
        ExprKind::Struct { path, args, fields }
    }
}

/// Whether `expr` can precede the braces of a struct literal.
fn names_struct(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Path(_) => true,
        ExprKind::TypeArgs { expr, .. } => matches!(expr.kind, ExprKind::Path(_)),
        _ => false,
    }
}

/// Whether a call in the postfix chain `expr` has a mark.
fn first_call_is_marked(expr: &Expr) -> bool {
    expr.chain().any(|expr| expr.mark().is_some())
}

/// Whether the postfix chain `expr` has a call, and the last one has no mark.
fn last_call_is_free(expr: &Expr) -> bool {
    let mut calls = expr.chain().filter(|expr| matches!(expr.kind, ExprKind::Call { .. }));
    calls.next().is_some_and(|call| call.mark().is_none())
}

/// Marks the last call of the postfix chain `expr`; whether there is one.
fn mark_last_call(expr: &mut Expr, new_mark: CallMark) -> bool {
    let mut expr = expr;
    loop {
        expr.span = new_mark.span.to(expr.span);
        expr = match &mut expr.kind {
            ExprKind::Call { mark, .. } => {
                *mark = Some(new_mark);
                return true;
            }
            ExprKind::Field { base, .. }
            | ExprKind::Update { base, .. }
            | ExprKind::TypeArgs { expr: base, .. }
            | ExprKind::Ascribe { expr: base, .. }
            | ExprKind::Unary { op: UnaryOp::PostInc | UnaryOp::PostDec, operand: base, .. } => base,
            _ => return false,
        };
    }
}

/// The operator of a compound assignment, `None` inside for `=`.
pub(super) fn assign_op(kind: TokenKind) -> Option<Option<BinaryOp>> {
    Some(match kind {
        TokenKind::Assign => None,
        TokenKind::PlusAssign => Some(BinaryOp::Add),
        TokenKind::MinusAssign => Some(BinaryOp::Sub),
        TokenKind::StarAssign => Some(BinaryOp::Mul),
        TokenKind::SlashAssign => Some(BinaryOp::Div),
        TokenKind::PercentAssign => Some(BinaryOp::Rem),
        TokenKind::AndAssign => Some(BinaryOp::And),
        TokenKind::OrAssign => Some(BinaryOp::Or),
        TokenKind::CaretAssign => Some(BinaryOp::Xor),
        TokenKind::ShlAssign => Some(BinaryOp::Shl),
        TokenKind::ShrAssign => Some(BinaryOp::Shr),
        _ => return None,
    })
}

/// A binary operator with its level: the larger, the tighter.
pub(super) fn binary_op(kind: TokenKind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        TokenKind::OrOr => (BinaryOp::OrOr, 3),
        TokenKind::AndAnd => (BinaryOp::AndAnd, 4),
        TokenKind::EqEq => (BinaryOp::Eq, 5),
        TokenKind::Ne => (BinaryOp::Ne, 5),
        TokenKind::Lt => (BinaryOp::Lt, 5),
        TokenKind::Le => (BinaryOp::Le, 5),
        TokenKind::Gt => (BinaryOp::Gt, 5),
        TokenKind::Ge => (BinaryOp::Ge, 5),
        TokenKind::Or => (BinaryOp::Or, 6),
        TokenKind::Caret => (BinaryOp::Xor, 7),
        TokenKind::And => (BinaryOp::And, 8),
        TokenKind::Shl => (BinaryOp::Shl, 9),
        TokenKind::Shr => (BinaryOp::Shr, 9),
        TokenKind::Plus => (BinaryOp::Add, 10),
        TokenKind::Minus => (BinaryOp::Sub, 10),
        TokenKind::Star => (BinaryOp::Mul, 11),
        TokenKind::Slash => (BinaryOp::Div, 11),
        TokenKind::Percent => (BinaryOp::Rem, 11),
        _ => return None,
    })
}
