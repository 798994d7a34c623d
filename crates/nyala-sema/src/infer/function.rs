//! Functions and statics: their types, found on demand, and their bodies.

use nyala_span::Span;
use nyala_syntax::ast::{self, FnBody, Ret};

use crate::checker::{Checker, Progress};
use crate::errors::{Because, Error};
use crate::scope::Def;
use crate::tree::{Expr, FnId, Param, StaticId};
use crate::types::{Ty, TyParam};

use super::Body;
use super::filter::Filters;

/// The maximum number of enclosing expressions, over all suspended bodies, when a body is
/// checked on demand. Beyond it the type must be written.
const MAX_DEMAND_DEPTH: usize = 64;

impl<'a> Checker<'a> {
    /// The type of a function; finds its result if it is not written.
    pub(super) fn fn_type(&mut self, id: FnId, span: Span) -> Ty {
        // A `typeof` in the type of an item may need it early.
        if self.fns[id].declared == Progress::Open && self.depth <= MAX_DEMAND_DEPTH {
            self.declare_fn(id);
        }
        let is_declared = self.fns[id].declared == Progress::Done;
        match self.fns[id].progress {
            Progress::Done => {}
            Progress::Open if is_declared && self.depth <= MAX_DEMAND_DEPTH => self.check_fn(id),
            Progress::Open | Progress::Running => {
                let function = &self.program.fns[id];
                let (name, declared) = (function.name, function.span);
                self.report(Error::RecursiveResult { name, span, declared });
                let error = self.program.types.error();
                self.set_result(id, error);
            }
        }
        self.program.fns[id].ty
    }

    /// Sets the result of a function, and its type.
    pub fn set_result(&mut self, id: FnId, ret: Ty) {
        let ty = self.program.types.func(&self.fns[id].params, ret);
        self.program.fns[id].ret = ret;
        self.program.fns[id].ty = ty;
        self.fns[id].progress = Progress::Done;
    }

    /// Checks the body of a function outside of blocks, once.
    pub fn check_fn(&mut self, id: FnId) {
        if self.fns[id].is_checked {
            return;
        }
        let home = self.fns[id].home;
        self.in_own_body(Body::new(home), |this| {
            this.fn_parts(id);
            this.finish_body(&[id], &[]);
        });
    }

    /// Runs `f` with a new body; the current one is suspended.
    pub fn in_own_body<R>(&mut self, body: Body, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.body, body);
        let result = f(self);
        self.body = outer;
        result
    }

    /// Checks a nested function as part of the enclosing body.
    pub(super) fn nested_fn(&mut self, id: FnId) {
        self.program.fns[id].parent = self.body.current_fn;
        let n_implicits = self.body.implicits.len();
        self.fn_parts(id);
        self.body.implicits.truncate(n_implicits);
        self.body.fns.push(id);
    }

    /// Checks parameters, filters and body.
    fn fn_parts(&mut self, id: FnId) {
        self.fns[id].is_checked = true;
        let ast = self.fns[id].ast;
        let outer = self.body.current_fn.replace(id);
        self.body.level += 1;
        self.body.scopes.enter();
        self.define_tparams(&ast.tparams, &self.program.fns[id].tparams.clone());
        let ret = self.result_to_check(id);
        let returns = ast.body.is_some() && !self.is_never(ret);
        let return_local = returns.then(|| self.new_return("return", ret, ast.name.span));
        if let Some(local) = return_local.filter(|_| ast.ret.is_none() && self.is_artic()) {
            self.body.inferred_returns.insert(local, id);
        }
        self.body.scopes.enter();
        let (params, filter) = self.fn_params(id);
        if let Some(body) = &ast.body {
            let value = self.fn_value(body, &params, ret, ast.ret.as_ref());
            self.program.fns[id].body = Some(value);
        }
        self.program.fns[id].params = params;
        self.program.fns[id].filter = filter;
        self.program.fns[id].return_local = return_local;
        self.body.scopes.exit();
        self.body.scopes.exit();
        self.body.level -= 1;
        self.body.current_fn = outer;
        if self.fns[id].progress == Progress::Running {
            self.set_result(id, ret);
        }
    }

    /// The result type of a function before its body is checked.
    fn result_to_check(&mut self, id: FnId) -> Ty {
        if self.fns[id].progress == Progress::Done {
            return self.program.fns[id].ret;
        }
        self.fns[id].progress = Progress::Running;
        self.fresh_result(self.fns[id].ast.name.span)
    }

    fn fn_params(&mut self, id: FnId) -> (Vec<Param>, Option<Expr>) {
        let ast = self.fns[id].ast;
        let tys = self.fns[id].params.clone();
        let mut params = Vec::with_capacity(tys.len());
        for (param, &ty) in ast.params.iter().zip(&tys) {
            let pat = match &param.pat {
                Some(pat) => self.param_pat(pat, ty),
                None => {
                    self.define_untyped_names(param, ty);
                    self.wild(ty, param.span)
                }
            };
            if param.is_implicit {
                self.offer_implicit(&pat);
            }
            params.push(Param { pat, ty, filter: None, span: param.span });
        }
        let filters = Filters { whole: ast.filter.as_ref(), params: &ast.params };
        let whole = self.param_filters(&mut params, filters);
        (params, whole)
    }

    /// Defines the names of a parameter whose type is missing, so that their uses are not
    /// reported.
    fn define_untyped_names(&mut self, param: &ast::Param, ty: Ty) {
        let Some(written) = param.ty.as_ref().filter(|_| self.is_error(ty)) else { return };
        for name in self.names_of_untyped_pattern(written).unwrap_or_default() {
            // Duplicate names are ignored: the missing type is already reported.
            let _ = self.body.scopes.define(name.name, Def::Error, name.span, self.body.level);
        }
    }

    fn fn_value(&mut self, body: &'a FnBody, params: &[Param], ret: Ty, written: Option<&Ret>) -> Expr {
        let because = match written {
            Some(Ret::Type(ty)) => Because::Result(ty.span),
            _ => Because::Nothing,
        };
        match body {
            FnBody::Expr(expr) => self.fn_body_value(expr, params, ret, because),
            FnBody::Block(block) => {
                let end = self.end_type(params, ret);
                let value = self.block(block, end);
                self.finish_body_value(value, params, ret, because)
            }
        }
    }

    /// Brings type and integer parameters into the innermost scope.
    pub fn define_tparams(&mut self, params: &[ast::GenericParam], tparams: &[TyParam]) {
        let level = self.body.level;
        for (ident, &param) in params.iter().map(|param| param.name).zip(tparams) {
            if let Err(old) = self.body.scopes.define(ident.name, Def::TyParam(param), ident.span, level) {
                self.report_redefinition(ident.name, ident.span, old.span);
            }
        }
    }

    /// The type of a static; finds it if it is not written.
    pub(super) fn static_type(&mut self, id: StaticId, span: Span) -> Ty {
        match self.statics[id].progress {
            Progress::Done => {}
            Progress::Open if self.depth <= MAX_DEMAND_DEPTH => self.check_static(id),
            Progress::Open | Progress::Running => {
                let it = &self.program.statics[id];
                let (name, declared) = (it.name, it.span);
                self.report(Error::StaticCycle { name, span, declared });
                self.statics[id].progress = Progress::Done;
            }
        }
        self.program.statics[id].ty
    }

    /// Checks the initializer of a static, once.
    pub fn check_static(&mut self, id: StaticId) {
        if std::mem::replace(&mut self.statics[id].is_checked, true) {
            return;
        }
        let home = self.statics[id].home;
        if home.in_block {
            let floor = std::mem::replace(&mut self.body.local_floor, self.body.level + 1);
            self.body.level += 1;
            self.static_value(id);
            self.body.level -= 1;
            self.body.local_floor = floor;
            self.body.statics.push(id);
            return;
        }
        self.in_own_body(Body::new(home), |this| {
            this.static_value(id);
            this.finish_body(&[], &[id]);
        });
    }

    fn static_value(&mut self, id: StaticId) {
        let info = &self.statics[id];
        let (init, is_typed, written) = (info.init, info.progress == Progress::Done, info.ty);
        if !is_typed {
            self.statics[id].progress = Progress::Running;
        }
        let Some(init) = init else {
            if !is_typed {
                let it = &self.program.statics[id];
                self.report(Error::StaticType { name: it.name, span: it.span });
                self.statics[id].progress = Progress::Done;
            }
            return;
        };
        let value = if is_typed {
            let because = written.map_or(Because::Nothing, |ty| Because::Written(ty.span));
            self.check_expr(init, self.program.statics[id].ty, because)
        } else {
            self.infer_expr(init, None)
        };
        // A cycle may have been reported in the meantime.
        if self.statics[id].progress == Progress::Running {
            self.program.statics[id].ty = self.sized(value.ty, value.span);
            self.statics[id].progress = Progress::Done;
        }
        self.program.statics[id].init = Some(value);
        self.check_candidates(id);
    }
}
