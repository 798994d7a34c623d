//! Calls, jumps, and indexing, which share one syntax.
//!
//! A call is direct if it passes one argument for each parameter. With one more
//! argument, the return continuation, the call is a jump.

use nyala_span::Span;
use nyala_syntax::ast::{self, Dialect, Ident, LitKind, MarkKind};

use crate::checker::Checker;
use crate::errors::{Because, Error};
use crate::tree::{self, Call, Constructor, Expr, ExprKind, FnId, Pat, PatKind, Stmt};
use crate::types::{Ty, TyKind};

use super::unify::{Origin, VarKind};

/// The callee with the parts of its type.
pub(super) struct Callee {
    pub expr: Expr,
    pub params: Vec<Ty>,
    pub ret: Ty,
}

/// An argument list as a tuple.
enum Tupled {
    /// The converted arguments.
    Arguments(Vec<Expr>),
    /// The argument is a tuple of the wrong shape.
    Mismatch,
    /// Not applicable; no argument has been checked.
    No,
}

impl<'a> Checker<'a> {
    /// `f(a, b)` or `a(i)`
    pub(super) fn call(
        &mut self,
        callee: &'a ast::Expr,
        args: &'a [ast::Expr],
        mark: Option<MarkKind>,
        span: Span,
        hint: Option<Ty>,
    ) -> Expr {
        let is_summon = matches!(&callee.kind, ast::ExprKind::Path(path) if self.is_summon(path));
        let callee = self.infer_expr(callee, None);
        if self.is_unknown(callee.ty) {
            return self.defer_call(callee, args, mark, span);
        }
        let ty = self.resolve(callee.ty);
        match self.program.types.kind(ty).clone() {
            TyKind::Fn { params, ret } => {
                let callee = Callee { expr: callee, params: params.into_vec(), ret };
                self.call_fn(callee, args, mark, span, hint)
            }
            TyKind::Simd(elem, lanes) if let Some((params, ret)) = self.as_fn(elem) => {
                self.call_vector(callee, (params, ret), lanes, args, span)
            }
            kind @ (TyKind::Error | TyKind::Never) => {
                if kind == TyKind::Never {
                    self.report(Error::Unreachable { span, jump: callee.span });
                }
                // The argument of `summon` is a type, not a value.
                for arg in args.iter().filter(|_| !is_summon) {
                    self.infer_expr(arg, None);
                }
                self.error_expr(span)
            }
            _ => self.index_expr(callee, args, mark, span),
        }
    }

    /// A call of a vector of functions: each lane calls its own.
    fn call_vector(
        &mut self,
        expr: Expr,
        (params, ret): (Vec<Ty>, Ty),
        lanes: Ty,
        args: &'a [ast::Expr],
        span: Span,
    ) -> Expr {
        self.has_vector_control = true;
        let params = params.into_iter().map(|param| self.program.types.vector(param, lanes)).collect();
        let callee = Callee { expr, params, ret: self.program.types.vector(ret, lanes) };
        if args.len() != callee.params.len() {
            self.report_argument_count(&callee, args.len(), span);
            return self.error_expr(span);
        }
        let args = self.check_args(&callee, args);
        self.build_call(callee, args, None, span)
    }

    /// The function that an expression names, for messages.
    fn named_fn(expr: &Expr) -> Option<FnId> {
        match expr.kind {
            ExprKind::Fn(id, _) => Some(id),
            _ => None,
        }
    }

    fn call_fn(
        &mut self,
        mut callee: Callee,
        args: &'a [ast::Expr],
        mark: Option<MarkKind>,
        span: Span,
        hint: Option<Ty>,
    ) -> Expr {
        if let ExprKind::Local(id) = callee.expr.kind
            && let Some(&ret) = self.body.returns.get(&id)
        {
            if self.as_var(ret).is_some() {
                callee.params = self.settle_return(ret, args.len(), span);
            } else if self.is_error(ret) {
                // Its parameters are unknown because of an error; it still never returns.
                callee.params = vec![ret; args.len()];
            }
        }
        if args.len() == callee.params.len() {
            self.prefer(callee.ret, hint);
        }
        if matches!(callee.expr.kind, ExprKind::Constructor(_)) && args.len() == callee.params.len() {
            return self.construct(callee, args, mark, span, hint);
        }
        let never = self.program.types.never();
        let Some(args) = self.arguments(&callee, args, span) else {
            // Assume the result type: the argument count is the likely mistake.
            let ty = if callee.ret == never { self.program.types.error() } else { callee.ret };
            self.body.has_errors = true;
            return Expr { kind: ExprKind::Error, ty, span };
        };
        self.build_call(callee, args, mark, span)
    }

    /// `S(a, b)`, `E::C(a)`: a vector of structs or enums, if one is expected, or if a field that is no vector gets
    /// one.
    fn construct(
        &mut self,
        mut callee: Callee,
        args: &'a [ast::Expr],
        mark: Option<MarkKind>,
        span: Span,
        hint: Option<Ty>,
    ) -> Expr {
        let mut lanes = match hint.map(|hint| self.resolve(hint)) {
            Some(hint) => match *self.program.types.kind(hint) {
                TyKind::Simd(elem, lanes) => self.try_unify(elem, callee.ret).then_some(lanes),
                _ => None,
            },
            None => None,
        };
        let args: Vec<Expr> =
            args.iter().zip(&callee.params).map(|(arg, &param)| self.infer_expr(arg, Some(param))).collect();
        for (arg, &param) in args.iter().zip(&callee.params) {
            let param = self.resolve(param);
            let is_known = !matches!(self.program.types.kind(param), TyKind::Infer(_));
            if lanes.is_none() && is_known && self.lanes_in(param).is_none() {
                lanes = self.lanes_in(arg.ty);
            }
        }
        if let Some(lanes) = lanes {
            for param in &mut callee.params {
                *param = self.program.types.vector(*param, lanes);
            }
            callee.ret = self.program.types.vector(callee.ret, lanes);
        }
        let args = self.coerce_all(args, &callee.params);
        self.build_call(callee, args, mark, span)
    }

    /// The parameters of a `return` of unknown result type that is called with `n` arguments.
    fn settle_return(&mut self, ret: Ty, n: usize, span: Span) -> Vec<Ty> {
        if n == 1 {
            return vec![ret];
        }
        let params: Vec<Ty> = (0..n).map(|_| self.fresh_general(span)).collect();
        let tuple = self.program.types.tuple(&params);
        self.unify(ret, tuple);
        params
    }

    pub(super) fn fresh_general(&mut self, span: Span) -> Ty {
        self.fresh(VarKind::General, Origin::Expr(span))
    }

    /// The arguments of a call, converted to the types of the parameters; `None` if their number is wrong.
    fn arguments(&mut self, callee: &Callee, args: &'a [ast::Expr], span: Span) -> Option<Vec<Expr>> {
        let (n, never) = (callee.params.len(), self.program.types.never());
        let ret = self.resolve(callee.ret);
        if args.len() == n {
            return Some(self.check_args(callee, args));
        }
        if args.len() == n + 1 && ret != never && !self.packs_arguments(callee, args.len()) {
            let (last, rest) = args.split_last().expect("there is one argument at least");
            let mut typed = self.check_args(callee, rest);
            let cont = self.program.types.continuation(ret);
            let last = self.infer_expr(last, Some(cont));
            if !self.can_be_continuation(last.ty) {
                self.report_argument_count(callee, args.len(), span);
                return None;
            }
            typed.push(self.coerce(last, cont, Because::Nothing));
            return Some(typed);
        }
        if let Some(args) = self.implicit_arguments(callee, args, span) {
            return Some(args);
        }
        match self.tuple_arguments(callee, args, span) {
            Tupled::Arguments(args) => return Some(args),
            Tupled::Mismatch => {}
            Tupled::No => {
                for arg in args {
                    self.infer_expr(arg, None);
                }
            }
        }
        self.report_argument_count(callee, args.len(), span);
        None
    }

    pub(super) fn report_argument_count(&mut self, callee: &Callee, found: usize, span: Span) {
        let ty = self.shown(callee.expr.ty);
        let cps = !self.is_never(callee.ret);
        let (expected, callee) = (callee.params.len(), Self::named_fn(&callee.expr));
        self.report(Error::ArgumentCount { expected, cps, found, span, callee, ty });
    }

    /// Whether an extra argument may be the return continuation.
    pub(super) fn can_be_continuation(&mut self, ty: Ty) -> bool {
        let ty = self.resolve(ty);
        let kind = self.program.types.kind(ty);
        matches!(kind, TyKind::Fn { .. } | TyKind::Error | TyKind::Never)
            || self.as_var(ty).is_some_and(|var| var.kind == VarKind::General)
    }

    /// Checks one argument for each parameter. Lambdas are checked last: the other arguments may
    /// determine the types of their parameters.
    fn check_args(&mut self, callee: &Callee, args: &'a [ast::Expr]) -> Vec<Expr> {
        let named = Self::named_fn(&callee.expr);
        let because = |i| named.map_or(Because::Nothing, |id| Because::Param(id, i));
        let mut typed: Vec<Option<Expr>> = vec![];
        for (i, arg) in args.iter().enumerate() {
            typed.push(match self.signature_of_param(&callee.expr, i) {
                Some(signature) => Some(self.generic_argument(arg, &signature, callee.params[i])),
                None => (!is_lambda(arg)).then(|| self.check_expr(arg, callee.params[i], because(i))),
            });
        }
        let mut done = Vec::with_capacity(args.len());
        for (i, (slot, arg)) in typed.into_iter().zip(args).enumerate() {
            done.push(match slot {
                Some(value) => value,
                None => self.check_expr(arg, callee.params[i], because(i)),
            });
        }
        done
    }

    /// The arguments and the implicit ones, if only those are missing.
    fn implicit_arguments(
        &mut self,
        callee: &Callee,
        args: &'a [ast::Expr],
        span: Span,
    ) -> Option<Vec<Expr>> {
        let id = Self::named_fn(&callee.expr)?;
        let n = callee.params.len();
        if args.len() >= n || args.len() + self.fns[id].n_implicit < n {
            return None;
        }
        let mut typed = self.check_args(callee, args);
        for &ty in &callee.params[args.len()..] {
            let value = self.summon(ty, span);
            typed.push(value);
        }
        Some(typed)
    }

    /// Whether the only parameter is a tuple of `n` elements.
    pub(super) fn packs_arguments(&mut self, callee: &Callee, n: usize) -> bool {
        let [param] = *callee.params else { return false };
        let param = self.resolve(param);
        let is_tuple = matches!(self.program.types.kind(param), TyKind::Tuple(parts) if parts.len() == n);
        is_tuple && self.body.home.dialect == Dialect::Artic
    }

    /// In Artic an argument list is a tuple: one tuple may stand for several arguments,
    /// and several arguments for one tuple.
    fn tuple_arguments(&mut self, callee: &Callee, args: &'a [ast::Expr], span: Span) -> Tupled {
        if self.body.home.dialect != Dialect::Artic {
            return Tupled::No;
        }
        if let [param] = *callee.params {
            let param = self.resolve(param);
            return match self.program.types.kind(param).clone() {
                TyKind::Tuple(parts) if parts.len() == args.len() => {
                    let typed = args.iter().zip(&*parts);
                    let typed = typed.map(|(arg, &ty)| self.check_expr(arg, ty, Because::Nothing)).collect();
                    Tupled::Arguments(vec![Expr { kind: ExprKind::Tuple(typed), ty: param, span }])
                }
                _ => Tupled::No,
            };
        }
        let [arg] = args else { return Tupled::No };
        let tuple_ty = self.program.types.tuple(&callee.params);
        let value = self.infer_expr(arg, Some(tuple_ty));
        let ty = self.resolve(value.ty);
        match (self.program.types.kind(ty).clone(), value.kind) {
            (TyKind::Tuple(parts), _) if parts.len() != callee.params.len() => Tupled::Mismatch,
            (TyKind::Tuple(_), ExprKind::Tuple(values)) => {
                Tupled::Arguments(self.coerce_all(values, &callee.params))
            }
            (TyKind::Tuple(parts), kind) => {
                let value = Expr { kind, ..value };
                Tupled::Arguments(self.split_tuple(value, &parts, &callee.params))
            }
            _ => Tupled::Mismatch,
        }
    }

    pub(super) fn coerce_all(&mut self, values: Vec<Expr>, tys: &[Ty]) -> Vec<Expr> {
        let values = values.into_iter().zip(tys);
        values.map(|(value, &ty)| self.coerce(value, ty, Because::Nothing)).collect()
    }

    /// The elements of a tuple value. It is evaluated once: the first argument is a block
    /// that binds it.
    fn split_tuple(&mut self, value: Expr, parts: &[Ty], params: &[Ty]) -> Vec<Expr> {
        let span = value.span;
        let tuple_ty = value.ty;
        let local = self.new_local(Ident { name: "arguments".into(), span }, tuple_ty, false);
        let tuple = || Expr { kind: ExprKind::Local(local), ty: tuple_ty, span };
        let part = |(index, &ty): (usize, &Ty)| Expr {
            kind: ExprKind::Field { base: Box::new(tuple()), index: index as u32 },
            ty,
            span,
        };
        let mut values: Vec<Expr> = parts.iter().enumerate().map(part).collect();
        let pat = Pat { kind: PatKind::Bind(local, None), ty: tuple_ty, span };
        if let Some(first) = values.first_mut() {
            let ty = first.ty;
            let inner = std::mem::replace(first, Expr { kind: ExprKind::Error, ty, span });
            let stmts = vec![Stmt::Let { pat, init: Some(value) }];
            first.kind = ExprKind::Block { stmts, value: Some(Box::new(inner)) };
        }
        self.coerce_all(values, params)
    }

    /// A call with its arguments in place.
    pub(super) fn build_call(
        &mut self,
        callee: Callee,
        args: Vec<Expr>,
        mark: Option<MarkKind>,
        span: Span,
    ) -> Expr {
        let never = self.program.types.never();
        let ret = self.resolve(callee.ret);
        let is_jump = ret == never || args.len() > callee.params.len();
        if let ExprKind::Constructor(constructor) = callee.expr.kind
            && !is_jump
        {
            let fields = args.into_iter().enumerate().map(|(i, arg)| (i as u32, arg)).collect();
            let kind = match constructor {
                Constructor::Option { option, .. } => ExprKind::Variant { option, fields },
                Constructor::Struct(_) => ExprKind::Struct { base: None, fields },
            };
            return Expr { kind, ty: ret, span };
        }
        let call = Call { callee: callee.expr, args, is_jump, mark, break_local: None, args_first: false };
        let ty = if is_jump { never } else { callee.ret };
        Expr { kind: ExprKind::Call(Box::new(call)), ty, span }
    }

    /// `a(i)`, `t(0)`
    fn index_expr(&mut self, base: Expr, args: &'a [ast::Expr], mark: Option<MarkKind>, span: Span) -> Expr {
        let base = self.auto_deref(base);
        let ty = self.resolve(base.ty);
        match self.program.types.kind(ty).clone() {
            TyKind::Array(elem, _) | TyKind::Slice(elem) | TyKind::Simd(elem, _) => {
                let [index] = args else {
                    for arg in args {
                        self.infer_expr(arg, None);
                    }
                    self.report(Error::IndexCount { found: args.len(), span });
                    return self.error_expr(span);
                };
                let index = self.infer_expr(index, None);
                self.indexed(base, elem, index, span)
            }
            TyKind::Tuple(parts) if !parts.is_empty() => match args {
                [arg] => match literal_index(arg) {
                    Some(index) => self.tuple_part(base, &parts, index, span, arg.span),
                    None => {
                        let ty = self.shown(ty);
                        self.report(Error::TupleIndex { ty, span: arg.span });
                        self.error_expr(span)
                    }
                },
                _ => {
                    let ty = self.shown(ty);
                    self.report(Error::TupleIndex { ty, span });
                    self.error_expr(span)
                }
            },
            TyKind::Error => self.error_expr(span),
            TyKind::Struct(..) | TyKind::Enum(..) => self.declared_call(base, args, mark, span),
            _ => self.not_callable(&base, args, span),
        }
    }

    /// Reports a value that is called, but has no operator `()`.
    pub(super) fn not_callable(&mut self, base: &Expr, args: &'a [ast::Expr], span: Span) -> Expr {
        for arg in args {
            self.infer_expr(arg, None);
        }
        // A pointer is dereferenced only to find what can be indexed.
        let ty = match &base.kind {
            ExprKind::Deref(pointer) => pointer.ty,
            _ => base.ty,
        };
        let ty = self.shown(ty);
        self.report(Error::NotCallable { ty, span: base.span });
        self.error_expr(span)
    }
}

fn is_lambda(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Lambda(_) => true,
        ast::ExprKind::Paren(inner) => is_lambda(inner),
        _ => false,
    }
}

pub(super) fn literal_index(expr: &ast::Expr) -> Option<u64> {
    match &expr.kind {
        ast::ExprKind::Lit(ast::Lit { kind: LitKind::Int { value, .. }, .. }) => *value,
        ast::ExprKind::Paren(inner) => literal_index(inner),
        _ => None,
    }
}

/// The parameters and the result of a function type.
pub(super) fn fn_parts(kind: &TyKind) -> Option<(Vec<Ty>, Ty)> {
    match kind {
        TyKind::Fn { params, ret } => Some((params.to_vec(), *ret)),
        _ => None,
    }
}

impl<'a> Checker<'a> {
    /// Parameters and result of `ty`, if it is resolved to a function.
    pub(super) fn as_fn(&mut self, ty: Ty) -> Option<(Vec<Ty>, Ty)> {
        let ty = self.resolve(ty);
        fn_parts(self.program.types.kind(ty))
    }

    /// `()`
    pub(super) fn unit_expr(&mut self, span: Span) -> Expr {
        let ty = self.program.types.unit();
        tree::Expr { kind: ExprKind::Tuple(vec![]), ty, span }
    }
}
