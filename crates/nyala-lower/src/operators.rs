//! Operators that programs declare, and operators and casts of type parameters.
//!
//! Checking has selected the function of a declared operator, unless the operands have a type parameter as their
//! type. What that type is, only an instance tells; here the operator is the built-in one or one that is declared
//! for operands of this type. An instance whose type has none is reported.

use nyala_ir::{Def, Prim};
use nyala_sema::tree::{Expr, ExprKind, FnId, OperatorFn};
use nyala_sema::types as sema;
use nyala_span::Span;
use nyala_syntax::ast::{BinaryOp, Operator};

use crate::errors::LowerError;
use crate::filter::NoNode;
use crate::lowerer::Lowerer;

/// What an operator means in an instance.
pub(crate) enum Meaning {
    /// An operator of the language.
    BuiltIn,
    /// A function of the program with its type arguments, and the type of its result.
    Function { id: FnId, args: Vec<sema::Ty>, ret: sema::Ty, is_negated: bool },
    /// Nothing, which was reported; the result would have this type.
    Nothing(sema::Ty),
}

/// An operator with its operands.
#[derive(Clone, Copy)]
pub(crate) struct Operation<'p> {
    pub(crate) operator: Operator,
    /// The function that checking has selected.
    pub(crate) by: Option<&'p OperatorFn>,
    /// The type of the left operand in the source.
    pub(crate) ty: sema::Ty,
    pub(crate) n_operands: usize,
    pub(crate) at: Span,
}

impl<'p> Lowerer<'p> {
    /// The value of `operation`.
    pub(crate) fn operate(&mut self, operation: Operation<'p>, operands: &[Def]) -> Def {
        match self.meaning(operation) {
            Meaning::BuiltIn => {
                let result = self.built_in(operation.operator, operands);
                // A negation never fails.
                if operands.len() == 1 { result } else { self.demanded(result) }
            }
            Meaning::Function { id, args, ret, is_negated } => {
                let value = self.call_operator(id, &args, operands, ret, operation.at);
                self.at(operation.at);
                if is_negated { self.unary_op(false, value) } else { value }
            }
            Meaning::Nothing(ty) => self.undefined(ty),
        }
    }

    /// The value of `operation` without control flow and memory.
    pub(crate) fn operate_purely(
        &mut self,
        operation: Operation<'p>,
        operands: &[Def],
    ) -> Result<Def, NoNode> {
        match self.meaning(operation) {
            Meaning::BuiltIn => Ok(self.built_in(operation.operator, operands)),
            Meaning::Function { id, args, is_negated, .. } => {
                let value = self.pure_call_of(id, &args, operands, operation.at)?;
                Ok(if is_negated { self.unary_op(false, value) } else { value })
            }
            Meaning::Nothing(ty) => Ok(self.undefined(ty)),
        }
    }

    fn undefined(&mut self, ty: sema::Ty) -> Def {
        let ty = self.closed_ty(ty);
        self.world.undef(ty)
    }

    fn built_in(&mut self, operator: Operator, operands: &[Def]) -> Def {
        match (operator, operands) {
            (Operator::Binary(op), &[lhs, rhs]) => self.binary_op(op, lhs, rhs),
            (_, &[value]) => self.unary_op(operator != Operator::Not, value),
            _ => unreachable!("operators of the language have one or two operands"),
        }
    }

    fn meaning(&mut self, operation: Operation<'p>) -> Meaning {
        if let Some(OperatorFn { callee, is_negated }) = operation.by {
            let ExprKind::Fn(id, args) = &callee.kind else { unreachable!("an operator is a function") };
            let (_, ret) = self.types.as_fn(callee.ty).expect("a function has a result");
            let ret = self.close_ty(ret);
            return Meaning::Function { id: *id, args: args.clone(), ret, is_negated: *is_negated };
        }
        if !self.types.info(operation.ty).has_param {
            return Meaning::BuiltIn;
        }
        self.meaning_in_instance(operation)
    }

    fn meaning_in_instance(&mut self, operation: Operation<'p>) -> Meaning {
        let ty = self.close_ty(operation.ty);
        let is_comparison = is_comparison(operation.operator);
        let is_vector = matches!(self.types.kind(ty), sema::TyKind::Simd(..));
        // Checking took the result of a comparison for a `bool`, unless it saw a vector.
        let was_vector = matches!(self.types.kind(operation.ty), sema::TyKind::Simd(..));
        if self.is_built_in(operation.operator, ty) && (!is_comparison || is_vector == was_vector) {
            return Meaning::BuiltIn;
        }
        let ret = if is_comparison { self.types.bool() } else { ty };
        if let Some((id, args)) = self.declared_operator(operation.operator, operation.n_operands, ty, ret) {
            return Meaning::Function { id, args, ret, is_negated: false };
        }
        let equal = Operator::Binary(BinaryOp::Eq);
        if operation.operator == Operator::Binary(BinaryOp::Ne)
            && let Some((id, args)) = self.declared_operator(equal, 2, ty, ret)
        {
            return Meaning::Function { id, args, ret, is_negated: true };
        }
        self.report_operator(operation, ty);
        Meaning::Nothing(ret)
    }

    /// Whether the language has the operator for operands of this type.
    fn is_built_in(&self, operator: Operator, ty: sema::Ty) -> bool {
        use BinaryOp::{Add, And, Div, Eq, Ge, Gt, Le, Lt, Mul, Ne, Or, Rem, Shl, Shr, Sub, Xor};
        let lane = match *self.types.kind(ty) {
            sema::TyKind::Simd(lane, _) => lane,
            _ => ty,
        };
        match (operator, self.types.kind(lane)) {
            (
                Operator::Binary(Eq | Ne | Lt | Le | Gt | Ge),
                sema::TyKind::Prim(_) | sema::TyKind::Ptr { .. },
            ) => true,
            (Operator::Binary(Add | Sub | Mul | Div | Rem), sema::TyKind::Prim(prim)) => *prim != Prim::Bool,
            (Operator::Binary(And | Or | Xor) | Operator::Not, sema::TyKind::Prim(prim)) => !prim.is_float(),
            (Operator::Binary(Shl | Shr), sema::TyKind::Prim(prim)) => prim.is_int(),
            _ => false,
        }
    }

    /// The operator that is declared for operands of this type and has this result.
    fn declared_operator(
        &mut self,
        operator: Operator,
        n_operands: usize,
        ty: sema::Ty,
        ret: sema::Ty,
    ) -> Option<(FnId, Vec<sema::Ty>)> {
        let program = self.program;
        let operands = vec![ty; n_operands];
        for &id in program.operators.get(&(operator, n_operands))? {
            let function = &program.fns[id];
            let params: Vec<sema::Ty> = function.params.iter().map(|param| param.ty).collect();
            if let Some(found) = self.types.match_all(&params, &operands)
                && self.types.substitute(function.ret, &found) == ret
            {
                let args = function.tparams.iter().filter_map(|param| found.get(param).copied()).collect();
                return Some((id, args));
            }
        }
        None
    }

    /// `value as T`, where `expr` is the whole expression and `inner` the one of `value`.
    pub(crate) fn cast(&mut self, expr: &Expr, inner: &Expr, value: Def) -> Def {
        let (from, to) = (self.close_ty(inner.ty), self.close_ty(expr.ty));
        if self.types.can_cast(from, to) {
            let ty = self.closed_ty(to);
            return self.world.cast(ty, value);
        }
        self.report_cast(from, to, expr.span);
        self.undefined(to)
    }

    fn report_cast(&mut self, from: sema::Ty, to: sema::Ty, at: Span) {
        let (from, to) = (self.types.display(from).to_string(), self.types.display(to).to_string());
        let is_known = |error: &LowerError| matches!(error, LowerError::NoCast { at: other, from: of, to: into, .. } if *other == at && *of == from && *into == to);
        if !self.errors.iter().any(is_known) {
            let calls = self.generic_calls();
            self.errors.push(LowerError::NoCast { from, to, at, calls });
        }
    }

    fn report_operator(&mut self, operation: Operation<'p>, ty: sema::Ty) {
        let (param, shown) = (self.types.display(operation.ty), self.types.display(ty));
        let (param, ty) = (param.to_string(), shown.to_string());
        let symbol = operation.operator.symbol();
        let is_known = |error: &LowerError| matches!(error, LowerError::NoOperator { at, ty: other, .. } if *at == operation.at && *other == ty);
        if !self.errors.iter().any(is_known) {
            let calls = self.generic_calls();
            self.errors.push(LowerError::NoOperator { symbol, ty, param, at: operation.at, calls });
        }
    }

    fn call_operator(
        &mut self,
        id: FnId,
        args: &[sema::Ty],
        operands: &[Def],
        ret: sema::Ty,
        at: Span,
    ) -> Def {
        if self.frame.expands_calls
            && let Some(value) = self.expanded(id, args, operands)
        {
            return value;
        }
        let callee = self.fn_value(id, args, at);
        let ret_ty = self.ret_ty(ret).expect("an operator has a result");
        self.at(at);
        self.call_with(callee, operands, ret_ty)
    }
}

fn is_comparison(operator: Operator) -> bool {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(operator, Operator::Binary(Eq | Ne | Lt | Le | Gt | Ge))
}
