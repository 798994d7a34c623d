//! `for` and `with`: calls of a generator with the body as a function.
//!
//! The type of the generator determines the call: `g(args, body)` if its last parameter is
//! the body, `g(body)(args)` if it takes the body alone and returns a function.

use nyala_span::Span;
use nyala_syntax::ast::{self, Dialect, MarkKind, UnaryOp};

use crate::checker::Checker;
use crate::errors::{Because, Error};
use crate::tree::{Call, Expr, ExprKind, Lambda, LocalId, Param};
use crate::types::Ty;

use super::call::Callee;

/// How a generator takes its body.
enum Generator {
    /// `g(args, body)`
    Last { params: Vec<Ty>, body: Ty, ret: Ty },
    /// `g(body)(args)`
    Curried { body: Ty, inner: Ty, params: Vec<Ty>, ret: Ty },
}

/// The kind of loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loop {
    For,
    With,
}

/// The call in the head of a loop.
struct Head<'a> {
    callee: &'a ast::Expr,
    args: &'a [ast::Expr],
    mark: Option<MarkKind>,
    is_hidden: bool,
}

impl<'a> Checker<'a> {
    /// `for p in g(a) { .. }`
    pub(super) fn for_expr(&mut self, ast: &'a ast::ForExpr, span: Span, hint: Option<Ty>) -> Expr {
        self.loop_expr(ast, Loop::For, span, hint)
    }

    /// `with p in g(a) { .. }`
    pub(super) fn with_expr(&mut self, ast: &'a ast::ForExpr, span: Span, hint: Option<Ty>) -> Expr {
        self.loop_expr(ast, Loop::With, span, hint)
    }

    fn loop_expr(&mut self, ast: &'a ast::ForExpr, kind: Loop, span: Span, hint: Option<Ty>) -> Expr {
        // The parser has reported heads that are not calls.
        let Some(head) = head(&ast.call) else { return self.error_expr(span) };
        let mut callee = self.infer_expr(head.callee, None);
        if head.is_hidden {
            let (ty, span) = (callee.ty, callee.span);
            callee = Expr { kind: ExprKind::Hide(Box::new(callee)), ty, span };
        }
        if self.is_error(callee.ty) {
            self.loop_body_alone(ast, &head, kind);
            return self.error_expr(span);
        }
        match self.generator(&callee, head.args.len(), ast.pats.len()) {
            Some(Generator::Last { mut params, body, ret }) => {
                self.prefer(ret, hint);
                let mut args = self.loop_args(&callee, &params, head.args);
                let (break_local, lambda) = self.loop_body(ast, kind, body, ret, span);
                args.push(self.coerce(lambda, body, Because::Nothing));
                params.push(body);
                let call = self.build_call(Callee { expr: callee, params, ret }, args, head.mark, span);
                with_break(call, break_local, true)
            }
            Some(Generator::Curried { body, inner, params, ret }) => {
                self.prefer(ret, hint);
                let args = params.iter().zip(head.args);
                let args = args.map(|(&ty, arg)| self.check_expr(arg, ty, Because::Nothing)).collect();
                let (break_local, lambda) = self.loop_body(ast, kind, body, ret, span);
                let lambda = self.coerce(lambda, body, Because::Nothing);
                let head_span = callee.span;
                let generator = Callee { expr: callee, params: vec![body], ret: inner };
                let expr = self.build_call(generator, vec![lambda], head.mark, head_span);
                let call = self.build_call(Callee { expr, params, ret }, args, head.mark, span);
                with_break(call, break_local, false)
            }
            None => {
                self.loop_body_alone(ast, &head, kind);
                let ty = self.shown(callee.ty);
                let artic = self.body.home.dialect == Dialect::Artic;
                self.report(Error::Generator { ty, n_args: head.args.len(), span: callee.span, artic });
                self.error_expr(span)
            }
        }
    }

    /// How a generator takes its body, by its type.
    fn generator(&mut self, callee: &Expr, n_args: usize, n_pats: usize) -> Option<Generator> {
        if self.is_unknown(callee.ty) {
            self.assume_generator(callee, n_args, n_pats);
        }
        let (params, ret) = self.as_fn(callee.ty)?;
        let last = match params.split_last() {
            Some((&body, rest)) if rest.len() == n_args && self.can_be_body(body) => {
                Some(Generator::Last { params: rest.to_vec(), body, ret })
            }
            _ => None,
        };
        let curried = match (&*params, self.as_fn(ret)) {
            (&[body], Some((params, result))) if params.len() == n_args && self.can_be_body(body) => {
                Some(Generator::Curried { body, inner: ret, params, ret: result })
            }
            _ => None,
        };
        match self.body.home.dialect {
            Dialect::Artic => curried.or(last),
            Dialect::Impala => last.or(curried),
        }
    }

    fn can_be_body(&mut self, ty: Ty) -> bool {
        self.as_fn(ty).is_some() || self.as_var(ty).is_some()
    }

    /// Assumes the generator shape of the file's dialect for a generator of unknown type.
    fn assume_generator(&mut self, callee: &Expr, n_args: usize, n_pats: usize) {
        let span = callee.span;
        let pats: Vec<Ty> = (0..n_pats).map(|_| self.fresh_general(span)).collect();
        let body_ret = self.fresh_general(span);
        let body = self.program.types.func(&pats, body_ret);
        let mut args: Vec<Ty> = (0..n_args).map(|_| self.fresh_general(span)).collect();
        let ret = self.fresh_general(span);
        let ty = match self.body.home.dialect {
            Dialect::Impala => {
                args.push(body);
                self.program.types.func(&args, ret)
            }
            Dialect::Artic => {
                let inner = self.program.types.func(&args, ret);
                self.program.types.func(&[body], inner)
            }
        };
        self.unify(callee.ty, ty);
    }

    fn loop_args(&mut self, callee: &Expr, params: &[Ty], args: &'a [ast::Expr]) -> Vec<Expr> {
        let because = |i| match callee.kind {
            ExprKind::Fn(id, _) => Because::Param(id, i),
            _ => Because::Nothing,
        };
        let args = args.iter().zip(params).enumerate();
        args.map(|(i, (arg, &ty))| match self.signature_of_param(callee, i) {
            Some(signature) => self.generic_argument(arg, &signature, ty),
            None => self.check_expr(arg, ty, because(i)),
        })
        .collect()
    }

    /// The body of a loop as a lambda, and the loop's `break`.
    fn loop_body(
        &mut self,
        ast: &'a ast::ForExpr,
        kind: Loop,
        expected: Ty,
        loop_ret: Ty,
        span: Span,
    ) -> (Option<LocalId>, Expr) {
        let known = self.as_fn(expected);
        let (mut param_tys, ret) = match known {
            Some((params, ret)) => (params, ret),
            None => (vec![], self.fresh_result(ast.body.span)),
        };
        let is_wrong = param_tys.len() != ast.pats.len() && self.as_fn(expected).is_some();
        if is_wrong {
            let ty = self.shown(expected);
            let at = ast.pats.iter().map(|pat| pat.span).reduce(Span::to).unwrap_or(ast.call.span);
            let (expected, found) = (param_tys.len(), ast.pats.len());
            self.report(Error::BodyParams { expected, found, span: at, ty });
        }
        let missing = ast.pats.get(param_tys.len()..).unwrap_or_default();
        for pat in missing {
            let ty = self.fresh_general(pat.span);
            param_tys.push(ty);
        }
        self.body.scopes.enter();
        let is_never = self.is_never(loop_ret);
        let break_local = (kind == Loop::For && !is_never).then(|| self.new_return("break", loop_ret, span));
        self.body.level += 1;
        self.body.scopes.enter();
        let mut lambda = self.loop_lambda(ast, kind, &param_tys, ret);
        if is_wrong {
            lambda.ty = self.program.types.error();
        }
        self.body.scopes.exit();
        self.body.level -= 1;
        self.body.scopes.exit();
        (break_local, lambda)
    }

    fn loop_lambda(&mut self, ast: &'a ast::ForExpr, kind: Loop, tys: &[Ty], ret: Ty) -> Expr {
        let span = ast.body.span;
        let name = if kind == Loop::For { "continue" } else { "break" };
        let return_local = (!self.is_never(ret)).then(|| self.new_return(name, ret, span));
        self.body.scopes.enter();
        let mut params: Vec<Param> = vec![];
        for (pat, &ty) in ast.pats.iter().zip(tys) {
            let checked = self.check_pat(pat, ty);
            params.push(Param { pat: checked, ty, filter: None, span: pat.span });
        }
        for &ty in tys.iter().skip(ast.pats.len()) {
            params.push(Param { pat: self.wild(ty, span), ty, filter: None, span });
        }
        let filter = ast.filter.as_ref().map(|filter| self.whole_filter(&mut params, filter));
        let end = self.end_type(&params, ret);
        let value = self.block(&ast.body, end);
        let body = self.finish_body_value(value, &params, ret, Because::Nothing);
        self.body.scopes.exit();
        let tys: Vec<Ty> = params.iter().map(|param| param.ty).collect();
        let ty = self.program.types.func(&tys, ret);
        let lambda = Lambda { params, filter, ret, return_local, body };
        Expr { kind: ExprKind::Lambda(Box::new(lambda)), ty, span }
    }

    /// Checks the parts of a loop without valid generator, to report their errors.
    fn loop_body_alone(&mut self, ast: &'a ast::ForExpr, head: &Head<'a>, kind: Loop) {
        for arg in head.args {
            self.infer_expr(arg, None);
        }
        let error = self.program.types.error();
        self.loop_body(ast, kind, error, error, ast.call.span);
    }
}

/// The parts of the call in a loop's head.
fn head(call: &ast::Expr) -> Option<Head<'_>> {
    match &call.kind {
        ast::ExprKind::Call { callee, args, mark } => {
            Some(Head { callee, args, mark: mark.map(|mark| mark.kind), is_hidden: false })
        }
        ast::ExprKind::Unary { op: UnaryOp::Hide, operand, .. } => {
            head(operand).map(|head| Head { is_hidden: true, ..head })
        }
        ast::ExprKind::Paren(inner) => head(inner),
        _ => None,
    }
}

/// Marks a call as a loop: sets its `break` and its evaluation order.
fn with_break(mut call: Expr, break_local: Option<LocalId>, args_first: bool) -> Expr {
    if let ExprKind::Call(call) = &mut call.kind {
        let Call { break_local: slot, args_first: first, .. } = &mut **call;
        *slot = break_local;
        *first = args_first;
    }
    call
}
