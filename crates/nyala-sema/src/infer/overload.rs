//! Uses of declared operators: which function an expression means.
//!
//! # The rule
//!
//! Operands are checked from left to right, then the operator is selected: among all that are declared, the one
//! whose operand types are equal to those that are known by then. A number without a type fits every numeric type,
//! an unknown type fits every type. Nothing is converted. If several fit, or none, it is an error; what comes later
//! in the text never changes the selection. Operators of numbers, vectors and pointers cannot be declared, so their
//! rules stay as they are.
//!
//! If a single operator is declared for the left operand, the right one is expected to have the type that it declares:
//! `undef()` and lambdas take their types from there.

use nyala_span::Span;
use nyala_syntax::ast::{self, BinaryOp, MarkKind, Operator};

use crate::checker::Checker;
use crate::convert::substitution;
use crate::errors::{Because, Error, NoDeclaredOperator, Operand};
use crate::tree::{Call, Expr, ExprKind, FnId, OperatorFn};
use crate::types::{Ty, TyKind};

use super::call::Callee;
use super::coerce::is_tight;

/// The function of an operator, and the type of its result.
pub(super) type Selected = (Box<OperatorFn>, Ty);

impl<'a> Checker<'a> {
    /// Whether `ty` is known to be a struct, an enum or a vector of them, for which operators can be declared.
    pub(super) fn is_nominal(&mut self, ty: Ty) -> bool {
        let mut ty = self.resolve(ty);
        if let TyKind::Simd(elem, _) = *self.program.types.kind(ty) {
            ty = self.resolve(elem);
        }
        matches!(self.program.types.kind(ty), TyKind::Struct(..) | TyKind::Enum(..))
    }

    /// The types of an operator's operands, with inference variables for its type parameters. `span` is the use.
    pub fn operand_types(&mut self, id: FnId, span: Span) -> Vec<Ty> {
        let tparams = self.program.fns[id].tparams.clone();
        let args = self.instantiate(&tparams, &[], &"", span);
        let with = substitution(&tparams, &args);
        let params = self.fns[id].params.clone();
        params.into_iter().map(|ty| self.program.types.substitute(ty, &with)).collect()
    }

    /// The operators with `n` operands that fit the first ones.
    fn fitting(&mut self, operator: Operator, n: usize, first: &[Ty]) -> Vec<FnId> {
        let declared = self.program.operators.get(&(operator, n)).cloned().unwrap_or_default();
        declared.into_iter().filter(|&id| self.fits(id, first)).collect()
    }

    /// Whether a declared operator fits both operands.
    pub(super) fn has_fitting(&mut self, op: BinaryOp, operands: &[Ty]) -> bool {
        !self.fitting(Operator::Binary(op), 2, operands).is_empty()
    }

    fn fits(&mut self, id: FnId, first: &[Ty]) -> bool {
        self.probe(|this| {
            let params = this.operand_types(id, Span::NONE);
            first.iter().zip(params).all(|(&operand, param)| this.unify(operand, param))
        })
    }

    /// Infers the right operand of `op`; the left one has the type `lhs`.
    pub(super) fn right_operand(&mut self, op: BinaryOp, op_span: Span, lhs: Ty, rhs: &'a ast::Expr) -> Expr {
        if !self.is_nominal(lhs) {
            return self.infer_expr(rhs, Some(lhs));
        }
        match *self.fitting(Operator::Binary(op), 2, &[lhs]) {
            [] => self.infer_expr(rhs, Some(lhs)),
            [only] => {
                let params = self.operand_types(only, op_span);
                self.unify(lhs, params[0]);
                let rhs = self.infer_expr(rhs, Some(params[1]));
                // Type parameters that only the right operand has are known by now. If the types do not fit, no
                // operator is selected, which is reported.
                self.try_unify(rhs.ty, params[1]);
                rhs
            }
            _ => self.infer_expr(rhs, None),
        }
    }

    /// The function of an operator on these operands; reports an error if there is not exactly one.
    pub(super) fn select_operator(
        &mut self,
        operator: Operator,
        operands: &[Operand],
        op_span: Span,
    ) -> Option<Selected> {
        let tys: Vec<Ty> = operands.iter().map(|operand| operand.ty).collect();
        let mut fitting = self.fitting(operator, tys.len(), &tys);
        let is_negated = fitting.is_empty() && operator == Operator::Binary(BinaryOp::Ne);
        if is_negated {
            fitting = self.fitting(Operator::Binary(BinaryOp::Eq), tys.len(), &tys);
        }
        let &[id] = &fitting[..] else {
            self.report_selection(operator, operands, op_span, fitting);
            return None;
        };
        let callee = self.fn_expr(id, &[], op_span);
        let (params, ret) = self.as_fn(callee.ty)?;
        for (&operand, param) in tys.iter().zip(params) {
            self.unify(operand, param);
        }
        if is_negated {
            self.require_bits("!", ret, op_span);
        }
        Some((Box::new(OperatorFn { callee, is_negated }), ret))
    }

    fn report_selection(
        &mut self,
        operator: Operator,
        operands: &[Operand],
        op_span: Span,
        fitting: Vec<FnId>,
    ) {
        let symbol = operator.symbol();
        if !fitting.is_empty() {
            self.report(Error::AmbiguousOperator { operator: symbol, op_span, fitting });
            return;
        }
        let operands: Vec<Operand> =
            operands.iter().map(|&operand| Operand { ty: self.shown(operand.ty), ..operand }).collect();
        let of_program = |operand: &Operand| {
            self.package_of(operand.ty) == Some(self.modules[self.body.home.module].package)
        };
        let can_declare = operands.iter().any(of_program);
        let declared = self.program.operators.get(&(operator, operands.len())).cloned().unwrap_or_default();
        let is_close = |&id: &FnId| {
            let head = |ty: Ty| match *self.program.types.kind(ty) {
                TyKind::Struct(id, _) => Some((Some(id), None)),
                TyKind::Enum(id, _) => Some((None, Some(id))),
                _ => None,
            };
            let params = self.fns[id].params.iter().filter_map(|&ty| head(ty));
            params.into_iter().any(|param| operands.iter().any(|operand| head(operand.ty) == Some(param)))
        };
        let close = declared.into_iter().filter(is_close).collect();
        self.report(Error::NoDeclaredOperator(NoDeclaredOperator {
            operator: symbol,
            op_span,
            operands,
            close,
            can_declare,
        }));
    }

    /// `-e`, `!e` of a struct or enum.
    pub(super) fn declared_unary(
        &mut self,
        operator: Operator,
        op_span: Span,
        value: Expr,
        span: Span,
    ) -> Expr {
        let operand = operand_of(&value);
        let Some((by, ty)) = self.select_operator(operator, &[operand], op_span) else {
            return self.error_expr(span);
        };
        let call = Call {
            callee: by.callee,
            args: vec![value],
            is_jump: false,
            mark: None,
            break_local: None,
            args_first: false,
        };
        Expr { kind: ExprKind::Call(Box::new(call)), ty, span }
    }

    /// `v(i)` of a struct or enum.
    pub(super) fn declared_call(
        &mut self,
        base: Expr,
        args: &'a [ast::Expr],
        mark: Option<MarkKind>,
        span: Span,
    ) -> Expr {
        let n = 1 + args.len();
        let id = match *self.fitting(Operator::Call, n, &[base.ty]) {
            [only] => only,
            [] => return self.not_callable(&base, args, span),
            _ => {
                let mut all = vec![base];
                for arg in args {
                    all.push(self.infer_expr(arg, None));
                }
                return self.overloaded_call(all, mark, span);
            }
        };
        let expr = self.fn_expr(id, &[], base.span);
        let Some((params, ret)) = self.as_fn(expr.ty) else { return self.error_expr(span) };
        self.unify(base.ty, params[0]);
        let mut all = vec![base];
        for (i, arg) in args.iter().enumerate() {
            all.push(self.check_expr(arg, params[i + 1], Because::Param(id, i + 1)));
        }
        self.build_call(Callee { expr, params, ret }, all, mark, span)
    }

    /// Whether an operator `()` is declared for `base` with so many arguments.
    pub(super) fn has_call_operator(&mut self, base: &Expr, n_args: usize) -> bool {
        !self.fitting(Operator::Call, 1 + n_args, &[base.ty]).is_empty()
    }

    /// `v(i)` where the operands, the value and the arguments, select the operator.
    pub(super) fn overloaded_call(&mut self, all: Vec<Expr>, mark: Option<MarkKind>, span: Span) -> Expr {
        if all.iter().any(|arg| arg.ty == self.program.types.error()) {
            return self.error_expr(span);
        }
        let operands: Vec<Operand> = all.iter().map(operand_of).collect();
        let Some((by, ret)) = self.select_operator(Operator::Call, &operands, span) else {
            return self.error_expr(span);
        };
        let params = all.iter().map(|arg| arg.ty).collect();
        self.build_call(Callee { expr: by.callee, params, ret }, all, mark, span)
    }
}

/// An expression as an operand.
pub(super) fn operand_of(expr: &Expr) -> Operand {
    Operand { ty: expr.ty, span: expr.span, is_tight: is_tight(expr) }
}
