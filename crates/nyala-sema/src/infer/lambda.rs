//! Anonymous functions.

use nyala_span::Span;
use nyala_syntax::ast::{self, Ret};

use crate::checker::Checker;
use crate::errors::{Because, Error};
use crate::tree::{Expr, ExprKind, Lambda, Param};
use crate::types::Ty;

use super::filter::Filters;
use super::unify::{Origin, VarKind};

/// The expected type of a lambda.
struct Expected {
    params: Vec<Ty>,
    ret: Option<Ty>,
    /// A wrong number of parameters was reported.
    is_wrong: bool,
}

impl<'a> Checker<'a> {
    /// `|x, y: T| -> R e`
    pub(super) fn lambda(&mut self, lambda: &'a ast::Lambda, span: Span, hint: Option<Ty>) -> Expr {
        let expected = self.expected_of_lambda(lambda.params.len(), hint, span);
        self.body.level += 1;
        self.body.scopes.enter();
        let (params, filter) = self.lambda_params(lambda, &expected.params);
        let ret = match (&lambda.ret, expected.ret) {
            (Some(ret), _) => self.convert_ret(ret),
            (None, Some(ret)) => ret,
            (None, None) => self.fresh_result(span),
        };
        let is_cont = self.is_never(ret);
        let return_local = (!is_cont).then(|| self.new_return("return", ret, span));
        let because = match &lambda.ret {
            Some(Ret::Type(ty)) => Because::Result(ty.span),
            _ => Because::Nothing,
        };
        self.body.scopes.enter();
        let body = match &lambda.body {
            Some(body) => self.fn_body_value(body, &params, ret, because),
            None => {
                let unit = self.unit_expr(span);
                self.finish_body_value(unit, &params, ret, because)
            }
        };
        self.body.scopes.exit();
        self.body.scopes.exit();
        self.body.level -= 1;
        let tys: Vec<Ty> = params.iter().map(|param| param.ty).collect();
        let ty = match expected.is_wrong {
            true => self.program.types.error(),
            false => self.program.types.func(&tys, ret),
        };
        let lambda = Lambda { params, filter, ret, return_local, body };
        Expr { kind: ExprKind::Lambda(Box::new(lambda)), ty, span }
    }

    /// The expected type for a lambda with `n` parameters. With one more than the type has,
    /// the last parameter is the return continuation.
    fn expected_of_lambda(&mut self, n: usize, hint: Option<Ty>, span: Span) -> Expected {
        let nothing = Expected { params: vec![], ret: None, is_wrong: false };
        let Some(hint) = hint else { return nothing };
        let Some((mut params, ret)) = self.as_fn(hint) else { return nothing };
        let never = self.program.types.never();
        if params.len() == n {
            return Expected { params, ret: Some(ret), is_wrong: false };
        }
        if params.len() + 1 == n && !self.is_never(ret) {
            params.push(self.program.types.continuation(ret));
            return Expected { params, ret: Some(never), is_wrong: false };
        }
        let ty = self.shown(hint);
        self.report(Error::BodyParams { expected: params.len(), found: n, span, ty });
        Expected { is_wrong: true, ..nothing }
    }

    fn lambda_params(&mut self, lambda: &'a ast::Lambda, expected: &[Ty]) -> (Vec<Param>, Option<Expr>) {
        let mut params = Vec::with_capacity(lambda.params.len());
        for (i, param) in lambda.params.iter().enumerate() {
            params.push(self.param(param, expected.get(i).copied()));
        }
        let filters = Filters { whole: lambda.filter.as_ref(), params: &lambda.params };
        let whole = self.param_filters(&mut params, filters);
        (params, whole)
    }

    /// The value of a function's body. A function that never returns ends in a jump, or calls
    /// its last parameter with the value.
    pub(super) fn fn_body_value(
        &mut self,
        body: &'a ast::Expr,
        params: &[Param],
        ret: Ty,
        because: Because,
    ) -> Expr {
        let end = self.end_type(params, ret);
        let value = self.infer_expr(body, end);
        self.finish_body_value(value, params, ret, because)
    }

    /// The expected type of a body's value: the result, or the parameter of the last parameter.
    pub(super) fn end_type(&mut self, params: &[Param], ret: Ty) -> Option<Ty> {
        if !self.is_never(ret) {
            return Some(ret);
        }
        let (cont_params, cont_ret) = self.as_fn(params.last()?.ty)?;
        if !self.is_never(cont_ret) {
            return None;
        }
        Some(self.program.types.tuple(&cont_params))
    }

    /// If the last parameter of a function that never returns has an unknown type, the end of its body
    /// shows that it is the return continuation: `|x, _| -> ! { .. }`.
    fn settle_end(&mut self, params: &[Param], ret: Ty, value: Ty) {
        if let Some(last) = params.last().filter(|_| self.is_never(ret))
            && self.as_var(last.ty).is_some_and(|var| var.kind == VarKind::General)
        {
            let cont = self.program.types.continuation(value);
            self.unify(last.ty, cont);
        }
    }

    /// Converts a body's value to the expected type.
    pub(super) fn finish_body_value(
        &mut self,
        value: Expr,
        params: &[Param],
        ret: Ty,
        because: Because,
    ) -> Expr {
        if self.is_never(value.ty) {
            if self.as_var(ret).is_some() {
                self.mark_diverging(ret);
            }
            return value;
        }
        self.settle_end(params, ret, value.ty);
        match self.end_type(params, ret) {
            Some(end) => self.coerce(value, end, because),
            // `constness` checks on the finished tree whether the end is reachable.
            None => value,
        }
    }

    /// A parameter with its pattern, bound in the innermost scope.
    pub(super) fn param(&mut self, param: &'a ast::Param, expected: Option<Ty>) -> Param {
        let written = param.ty.as_ref().map(|ty| self.convert_sized(ty));
        let of_pattern = match &param.pat {
            Some(pat) if written.is_none() => self.written_pat_type(pat),
            _ => None,
        };
        let ty = written.or(of_pattern).or(expected);
        let ty = match ty {
            Some(ty) => ty,
            None => self.unknown_param(param),
        };
        let pat = match &param.pat {
            Some(pat) => self.param_pat(pat, ty),
            None => crate::tree::Pat { kind: crate::tree::PatKind::Wild, ty, span: param.span },
        };
        if param.is_implicit {
            self.offer_implicit(&pat);
        }
        Param { pat, ty, filter: None, span: param.span }
    }

    fn unknown_param(&mut self, param: &ast::Param) -> Ty {
        let origin = match param.pat.as_ref().map(|pat| &pat.kind) {
            Some(ast::PatKind::Bind { name, .. }) => Origin::Local(name.name, name.span),
            _ => Origin::Expr(param.span),
        };
        self.fresh(VarKind::General, origin)
    }
}
