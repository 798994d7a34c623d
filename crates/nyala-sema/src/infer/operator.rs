//! Operators, casts, and their rules, some of which are checked when all types are known.

use nyala_span::Span;
use nyala_syntax::ast::{self, BinaryOp, Dialect, Operator, PtrKind, UnaryOp};

use crate::checker::Checker;
use crate::errors::{Because, Error, Operand, Write};
use crate::tree::{ChainLink, Expr, ExprKind, OperatorFn};
use crate::types::{Prim, Ty, TyKind};

use super::coerce::is_tight;
use super::overload::operand_of;
use super::unify::VarKind;

/// The operand types of an operator; it applies to vectors lane by lane.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// Numbers.
    Numbers,
    /// Numbers of known types: `++` needs a one.
    Steps,
    /// Integers.
    Integers,
    /// Integers and `bool`.
    Bits,
    /// Numbers, `bool` and pointers.
    Comparable,
}

/// A rule that is checked when all types are known.
pub(super) enum Obligation {
    Operator { op: &'static str, operands: Operands, ty: Ty, span: Span, op_span: Span },
    Cast { from: Ty, to: Ty, span: Span },
    Index { ty: Ty, span: Span },
    Asm { ty: Ty, span: Span },
}

impl<'a> Checker<'a> {
    /// `a + b - c`
    pub(super) fn chain(
        &mut self,
        first: &'a ast::Expr,
        rest: &'a [ast::ChainLink],
        hint: Option<Ty>,
    ) -> Expr {
        if matches!(rest[0].op, BinaryOp::AndAnd | BinaryOp::OrOr) {
            return self.logical_chain(first, rest);
        }
        let hint = if is_comparison(rest[0].op) { None } else { hint };
        let mut head = self.infer_expr(first, hint);
        let mut so_far = (head.ty, head.span);
        let mut links = Vec::with_capacity(rest.len());
        for link in rest {
            let (rhs, ty, by) = self.link(&mut head, &mut links, so_far, link);
            let span = so_far.1.to(rhs.span);
            so_far = (ty, span);
            links.push(ChainLink { op: link.op, rhs, ty, span, by });
        }
        let (ty, span) = so_far;
        Expr { kind: ExprKind::Chain { first: Box::new(head), rest: links }, ty, span }
    }

    /// `a && b`, `a || b`: of vectors, if one operand is a vector.
    fn logical_chain(&mut self, first: &'a ast::Expr, rest: &'a [ast::ChainLink]) -> Expr {
        let mut mask = None;
        let mut operands = vec![];
        for operand in std::iter::once(first).chain(rest.iter().map(|link| &link.rhs)) {
            let operand = self.condition(operand, Because::Nothing);
            mask = mask.or(self.mask_type(operand.ty));
            operands.push(operand);
        }
        let ty = mask.unwrap_or(self.program.types.bool());
        let mut operands = operands.into_iter().map(|operand| self.coerce(operand, ty, Because::Nothing));
        let first = operands.next().expect("a chain has operands");
        let operands: Vec<Expr> = operands.collect();
        let (start, ops) = (first.span, rest.iter().map(|link| link.op));
        let link = |(op, rhs): (BinaryOp, Expr)| {
            let span = start.to(rhs.span);
            ChainLink { op, rhs, ty, span, by: None }
        };
        let rest: Vec<ChainLink> = ops.zip(operands).map(link).collect();
        let span = rest.last().map_or(start, |last| last.span);
        Expr { kind: ExprKind::Chain { first: Box::new(first), rest }, ty, span }
    }

    /// A `bool`, or a vector of them.
    pub(super) fn condition(&mut self, expr: &'a ast::Expr, because: Because) -> Expr {
        let bool = self.program.types.bool();
        let cond = self.infer_expr(expr, Some(bool));
        if self.mask_type(cond.ty).is_some() {
            self.has_vector_control = true;
            return cond;
        }
        self.coerce(cond, bool, because)
    }

    /// `ty`, if it is a vector of `bool`.
    pub(super) fn mask_type(&mut self, ty: Ty) -> Option<Ty> {
        let ty = self.resolve(ty);
        let TyKind::Simd(lane, _) = *self.program.types.kind(ty) else { return None };
        (self.resolve(lane) == self.program.types.bool()).then_some(ty)
    }

    /// The right operand and the type of one operator, and its function if it is declared.
    fn link(
        &mut self,
        head: &mut Expr,
        links: &mut Vec<ChainLink>,
        (lhs, lhs_span): (Ty, Span),
        link: &'a ast::ChainLink,
    ) -> (Expr, Ty, Option<Box<OperatorFn>>) {
        let is_first = links.is_empty();
        let mut rhs = self.right_operand(link.op, link.op_span, lhs, &link.rhs);
        let is_nominal = self.is_nominal(lhs) || self.is_nominal(rhs.ty);
        if is_nominal && self.has_fitting(link.op, &[lhs, rhs.ty]) {
            let lhs = Operand { ty: lhs, span: lhs_span, is_tight: is_first && is_tight(head) };
            return self.declared_link(lhs, rhs, link);
        }
        if self.broadcasts(lhs, rhs.ty) {
            rhs = self.coerce(rhs, lhs, Because::Nothing);
        } else if self.broadcasts(rhs.ty, lhs) {
            let mut first = std::mem::replace(head, nothing(&rhs));
            if !is_first {
                let kind = ExprKind::Chain { first: Box::new(first), rest: std::mem::take(links) };
                first = Expr { kind, ty: lhs, span: lhs_span };
            }
            *head = self.coerce(first, rhs.ty, Because::Nothing);
            return self.link_of(head, true, (head.ty, lhs_span), rhs, link);
        }
        self.link_of(head, is_first, (lhs, lhs_span), rhs, link)
    }

    /// As [`Checker::link`], with both operands; a scalar was broadcast.
    fn link_of(
        &mut self,
        head: &mut Expr,
        is_first: bool,
        (lhs, lhs_span): (Ty, Span),
        mut rhs: Expr,
        link: &'a ast::ChainLink,
    ) -> (Expr, Ty, Option<Box<OperatorFn>>) {
        if self.is_nominal(lhs) || self.is_nominal(rhs.ty) {
            let lhs = Operand { ty: lhs, span: lhs_span, is_tight: is_first && is_tight(head) };
            return self.declared_link(lhs, rhs, link);
        }
        let operand = self.operand_type(head, is_first, (lhs, lhs_span), &mut rhs, link);
        let Some(operand) = operand else { return (rhs, self.program.types.error(), None) };
        let operands = operands_of(link.op);
        self.require_operator(link.op.symbol(), operands, operand, lhs_span, link.op_span);
        let ty = if is_comparison(link.op) { self.comparison_type(operand) } else { operand };
        (rhs, ty, None)
    }

    /// As [`Checker::link`], if an operand is a struct or enum.
    fn declared_link(
        &mut self,
        lhs: Operand,
        mut rhs: Expr,
        link: &ast::ChainLink,
    ) -> (Expr, Ty, Option<Box<OperatorFn>>) {
        let error = self.program.types.error();
        if self.is_error(lhs.ty) || self.is_error(rhs.ty) {
            return (rhs, error, None);
        }
        if self.is_never(rhs.ty) {
            rhs = self.coerce(rhs, lhs.ty, Because::Nothing);
        }
        let operands = [lhs, operand_of(&rhs)];
        match self.select_operator(Operator::Binary(link.op), &operands, link.op_span) {
            Some((by, ty)) => (rhs, ty, Some(by)),
            None => (rhs, error, None),
        }
    }

    /// The common type of both operands; reports an error if they differ.
    fn operand_type(
        &mut self,
        head: &mut Expr,
        is_first: bool,
        (lhs, lhs_span): (Ty, Span),
        rhs: &mut Expr,
        link: &ast::ChainLink,
    ) -> Option<Ty> {
        if self.is_error(lhs) || self.is_error(rhs.ty) {
            return None;
        }
        if self.is_never(rhs.ty) || self.try_unify(lhs, rhs.ty) {
            if self.is_never(rhs.ty) {
                *rhs = self.coerce(std::mem::replace(rhs, nothing(rhs)), lhs, Because::Nothing);
            }
            return Some(lhs);
        }
        if is_first && self.is_never(lhs) {
            *head = self.coerce(std::mem::replace(head, nothing(head)), rhs.ty, Because::Nothing);
            return Some(rhs.ty);
        }
        // Pointers of different mutability can be compared.
        if let Some(ty) = self.common_pointer(head, is_first, rhs, link.op) {
            return Some(ty);
        }
        let lhs = Operand { ty: self.shown(lhs), span: lhs_span, is_tight: is_first && is_tight(head) };
        let rhs = Operand { ty: self.shown(rhs.ty), span: rhs.span, is_tight: is_tight(rhs) };
        self.report(Error::OperandTypes { op: link.op.symbol(), op_span: link.op_span, lhs, rhs });
        None
    }

    fn common_pointer(
        &mut self,
        head: &mut Expr,
        is_first: bool,
        rhs: &mut Expr,
        op: BinaryOp,
    ) -> Option<Ty> {
        let is_pointer = |this: &mut Self, ty: Ty| {
            let ty = this.resolve(ty);
            matches!(this.program.types.kind(ty), TyKind::Ptr { .. })
        };
        if !is_first || !is_comparison(op) || !is_pointer(self, head.ty) || !is_pointer(self, rhs.ty) {
            return None;
        }
        let (lhs_ty, rhs_ty) = (head.ty, rhs.ty);
        match self.try_coerce(std::mem::replace(rhs, nothing(rhs)), lhs_ty) {
            Ok(coerced) => {
                *rhs = coerced;
                return Some(lhs_ty);
            }
            Err(same) => *rhs = same,
        }
        match self.try_coerce(std::mem::replace(head, nothing(head)), rhs_ty) {
            Ok(coerced) => {
                *head = coerced;
                Some(rhs_ty)
            }
            Err(same) => {
                *head = same;
                None
            }
        }
    }

    fn comparison_type(&mut self, operand: Ty) -> Ty {
        let operand = self.resolve(operand);
        let bool = self.program.types.bool();
        match *self.program.types.kind(operand) {
            TyKind::Simd(_, lanes) => self.program.types.intern(TyKind::Simd(bool, lanes)),
            _ => bool,
        }
    }

    /// Reports an error if `ty` has no such operator; deferred if `ty` is unknown.
    fn require_operator(&mut self, op: &'static str, operands: Operands, ty: Ty, span: Span, op_span: Span) {
        match self.has_operator(operands, ty) {
            Some(true) => {}
            Some(false) => {
                let ty = self.shown(ty);
                self.report(Error::NoOperator { op, ty, span, op_span, is_late: false });
            }
            None => {
                self.body.obligations.push(Obligation::Operator { op, operands, ty, span, op_span });
            }
        }
    }

    /// Reports an error if `ty` has no operator that works on bits.
    pub(super) fn require_bits(&mut self, op: &'static str, ty: Ty, span: Span) {
        self.require_operator(op, Operands::Bits, ty, span, span);
    }

    fn has_operator(&mut self, operands: Operands, ty: Ty) -> Option<bool> {
        let ty = self.resolve(ty);
        match *self.program.types.kind(ty) {
            TyKind::Error | TyKind::Never => Some(true),
            TyKind::Prim(prim) => Some(match operands {
                Operands::Numbers | Operands::Steps => prim != Prim::Bool,
                Operands::Integers => prim.is_int(),
                Operands::Bits => prim.is_int() || prim == Prim::Bool,
                Operands::Comparable => true,
            }),
            TyKind::Ptr { .. } => Some(operands == Operands::Comparable),
            TyKind::Simd(lane, _) => self.has_operator(operands, lane),
            // Each instance is checked when it is made.
            TyKind::Param(_) => Some(operands != Operands::Steps),
            TyKind::Infer(_) => match self.as_var(ty).map(|var| var.kind) {
                Some(VarKind::Num | VarKind::Float)
                    if matches!(operands, Operands::Numbers | Operands::Steps | Operands::Comparable) =>
                {
                    Some(true)
                }
                _ => None,
            },
            _ => Some(false),
        }
    }

    /// Checks the deferred rules.
    pub(super) fn check_obligations(&mut self) {
        for obligation in std::mem::take(&mut self.body.obligations) {
            match obligation {
                Obligation::Operator { op, operands, ty, span, op_span } => {
                    if self.has_operator(operands, ty) == Some(false) {
                        let ty = self.shown(ty);
                        self.report(Error::NoOperator { op, ty, span, op_span, is_late: true });
                    }
                }
                Obligation::Cast { from, to, span } => self.check_cast(from, to, span),
                Obligation::Index { ty, span } => {
                    let ty = self.shown(ty);
                    let is_int = matches!(self.program.types.kind(ty), TyKind::Prim(prim) if prim.is_int());
                    if !is_int && !self.program.types.info(ty).has_infer && !self.is_error(ty) {
                        self.report(Error::IndexType { ty, span });
                    }
                }
                Obligation::Asm { ty, span } => {
                    let ty = self.shown(ty);
                    let fits = matches!(
                        self.program.types.kind(ty),
                        TyKind::Prim(_)
                            | TyKind::Ptr { .. }
                            | TyKind::Simd(..)
                            | TyKind::Error
                            | TyKind::Infer(_)
                    );
                    if !fits {
                        self.report(Error::AsmOperand { ty, span });
                    }
                }
            }
        }
    }

    /// `e as T`
    pub(super) fn cast(&mut self, expr: &'a ast::Expr, ty: &'a ast::TypeExpr, span: Span) -> Expr {
        let value = self.infer_expr(expr, None);
        let to = self.convert_sized(ty);
        if self.is_error(value.ty) {
            return Expr { kind: ExprKind::Error, ty: to, span };
        }
        let value = if self.is_never(value.ty) { self.coerce(value, to, Because::Nothing) } else { value };
        self.body.obligations.push(Obligation::Cast { from: value.ty, to, span });
        Expr { kind: ExprKind::Cast(Box::new(value)), ty: to, span }
    }

    fn check_cast(&mut self, from: Ty, to: Ty, span: Span) {
        let (from, to) = (self.shown(from), self.shown(to));
        if !self.program.types.can_cast(from, to) {
            self.report(Error::BadCast { from, to, span });
        }
    }

    /// Prefix and postfix operators.
    pub(super) fn unary(
        &mut self,
        op: UnaryOp,
        op_span: Span,
        operand: &'a ast::Expr,
        span: Span,
        hint: Option<Ty>,
    ) -> Expr {
        match op {
            UnaryOp::Minus => self.minus(op_span, operand, span, hint),
            UnaryOp::Plus => {
                let value = self.infer_expr(operand, hint);
                self.require_operator("+", Operands::Numbers, value.ty, value.span, op_span);
                value
            }
            UnaryOp::Not => {
                let value = self.infer_expr(operand, hint);
                if self.is_nominal(value.ty) {
                    return self.declared_unary(Operator::Not, op_span, value, span);
                }
                self.require_operator("!", Operands::Bits, value.ty, value.span, op_span);
                let ty = value.ty;
                Expr { kind: ExprKind::Not(Box::new(value)), ty, span }
            }
            UnaryOp::Deref => self.deref(operand, span),
            UnaryOp::AddrOf | UnaryOp::AddrOfMut => {
                self.address(operand, op == UnaryOp::AddrOfMut, span, hint)
            }
            UnaryOp::Box => {
                let hint = hint.and_then(|hint| self.pointee_hint(hint));
                let value = self.infer_expr(operand, hint);
                let pointee = self.sized(value.ty, value.span);
                let ty = self.program.types.ptr(PtrKind::Owned, 0, pointee);
                Expr { kind: ExprKind::Box(Box::new(value)), ty, span }
            }
            UnaryOp::PreInc | UnaryOp::PreDec | UnaryOp::PostInc | UnaryOp::PostDec => {
                self.step(op, op_span, operand, span)
            }
            UnaryOp::Known => {
                let value = self.infer_expr(operand, None);
                self.settle_known(&value);
                self.sized(value.ty, value.span);
                let ty = self.program.types.bool();
                Expr { kind: ExprKind::Known(Box::new(value)), ty, span }
            }
            UnaryOp::Hide => {
                let value = self.infer_expr(operand, hint);
                let ty = self.sized(value.ty, value.span);
                Expr { kind: ExprKind::Hide(Box::new(value)), ty, span }
            }
        }
    }

    fn minus(&mut self, op_span: Span, operand: &'a ast::Expr, span: Span, hint: Option<Ty>) -> Expr {
        // The sign belongs to the literal: `-2147483648` is in range.
        if let ast::ExprKind::Lit(lit) = &operand.kind
            && matches!(lit.kind, ast::LitKind::Int { .. } | ast::LitKind::Float { .. })
        {
            return self.literal(lit, true, span, hint);
        }
        let value = self.infer_expr(operand, hint);
        if self.is_nominal(value.ty) {
            return self.declared_unary(Operator::Binary(BinaryOp::Sub), op_span, value, span);
        }
        self.require_operator("-", Operands::Numbers, value.ty, value.span, op_span);
        let ty = value.ty;
        Expr { kind: ExprKind::Neg(Box::new(value)), ty, span }
    }

    fn deref(&mut self, operand: &'a ast::Expr, span: Span) -> Expr {
        let pointer = self.infer_expr(operand, None);
        self.solve_for(pointer.ty);
        let ty = self.resolve(pointer.ty);
        match *self.program.types.kind(ty) {
            TyKind::Ptr { pointee, .. } => {
                Expr { kind: ExprKind::Deref(Box::new(pointer)), ty: pointee, span }
            }
            TyKind::Simd(lane, lanes) => match *self.program.types.kind(lane) {
                TyKind::Ptr { pointee, .. } => {
                    let ty = self.in_lanes(pointee, lanes, span);
                    Expr { kind: ExprKind::Deref(Box::new(pointer)), ty, span }
                }
                _ => {
                    self.report(Error::NotAPointer { ty, span: pointer.span });
                    self.error_expr(span)
                }
            },
            TyKind::Error => self.error_expr(span),
            _ => {
                let ty = self.shown(ty);
                self.report(Error::NotAPointer { ty, span: pointer.span });
                self.error_expr(span)
            }
        }
    }

    fn address(&mut self, operand: &'a ast::Expr, is_mut: bool, span: Span, hint: Option<Ty>) -> Expr {
        let hint = hint.and_then(|hint| self.pointee_hint(hint));
        let value = self.infer_expr(operand, hint);
        if self.is_never(value.ty) {
            return value;
        }
        if is_mut {
            self.check_writable(&value, Write::Borrow);
        }
        self.take_address(&value);
        let space = self.space_of(&value);
        let kind = if is_mut { PtrKind::Mut } else { PtrKind::Shared };
        let ty = match self.own_place(&value) {
            Some((target, lanes)) => {
                let ty = self.program.types.ptr(kind, space, target);
                self.program.types.vector(ty, lanes)
            }
            None => self.program.types.ptr(kind, space, value.ty),
        };
        Expr { kind: ExprKind::AddrOf(Box::new(value)), ty, span }
    }

    /// The target type of an expected pointer.
    pub(super) fn pointee_hint(&mut self, hint: Ty) -> Option<Ty> {
        let hint = self.resolve(hint);
        match *self.program.types.kind(hint) {
            TyKind::Ptr { pointee, .. } => Some(pointee),
            _ => None,
        }
    }

    fn step(&mut self, op: UnaryOp, op_span: Span, operand: &'a ast::Expr, span: Span) -> Expr {
        let place = self.infer_expr(operand, None);
        self.check_writable(&place, Write::Step);
        let is_dec = matches!(op, UnaryOp::PreDec | UnaryOp::PostDec);
        let is_post = matches!(op, UnaryOp::PostInc | UnaryOp::PostDec);
        let text = if is_dec { "--" } else { "++" };
        self.require_operator(text, Operands::Steps, place.ty, place.span, op_span);
        let ty = place.ty;
        Expr { kind: ExprKind::Step { place: Box::new(place), is_dec, is_post }, ty, span }
    }

    /// `p = e`, `p += e`
    pub(super) fn assign(
        &mut self,
        op: Option<BinaryOp>,
        op_span: Span,
        place: &'a ast::Expr,
        value: &'a ast::Expr,
        span: Span,
    ) -> Expr {
        let place = self.infer_expr(place, None);
        self.check_writable(&place, Write::Assign);
        let ty = self.sized(place.ty, place.span);
        let value = match op {
            Some(op) => self.right_operand(op, op_span, ty, value),
            None => self.infer_expr(value, Some(ty)),
        };
        let (value, by) = match op {
            Some(op) if self.is_nominal(ty) || self.is_nominal(value.ty) => {
                let by = self.declared_assign(op, op_span, &place, &value, span);
                (value, by)
            }
            _ => {
                if let Some(op) = op {
                    self.require_operator(op.symbol(), operands_of(op), place.ty, place.span, op_span);
                }
                (self.coerce(value, ty, Because::Place(place.span)), None)
            }
        };
        let load_first = self.body.home.dialect == Dialect::Artic;
        let unit = self.program.types.unit();
        let (place, value) = (Box::new(place), Box::new(value));
        Expr { kind: ExprKind::Assign { op, place, value, load_first, by }, ty: unit, span }
    }

    /// The function of a declared operator in `p += e`; its result must have the type of the place.
    fn declared_assign(
        &mut self,
        op: BinaryOp,
        op_span: Span,
        place: &Expr,
        value: &Expr,
        span: Span,
    ) -> Option<Box<OperatorFn>> {
        if self.is_error(place.ty) || self.is_error(value.ty) {
            self.body.has_errors = true;
            return None;
        }
        let operands = [operand_of(place), operand_of(value)];
        let (by, ret) = self.select_operator(Operator::Binary(op), &operands, op_span)?;
        if !self.try_unify(ret, place.ty) {
            let (expected, ty) = (self.shown(place.ty), self.shown(ret));
            let found = Operand { ty, span, is_tight: false };
            let because = Because::Place(place.span);
            self.report(Error::Mismatch { expected, found, because, semicolon: None });
        }
        Some(by)
    }
}

/// A placeholder for an expression that is being replaced.
fn nothing(expr: &Expr) -> Expr {
    Expr { kind: ExprKind::Error, ty: expr.ty, span: expr.span }
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge)
}

fn operands_of(op: BinaryOp) -> Operands {
    use BinaryOp::*;
    match op {
        Eq | Ne | Lt | Le | Gt | Ge => Operands::Comparable,
        Or | Xor | And | OrOr | AndAnd => Operands::Bits,
        Shl | Shr => Operands::Integers,
        Add | Sub | Mul | Div | Rem => Operands::Numbers,
    }
}
