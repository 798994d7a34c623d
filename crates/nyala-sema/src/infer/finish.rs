//! The end of a body: every inference variable is replaced by its type.

use nyala_span::Span;

use crate::checker::Checker;
use crate::convert::substitution;
use crate::errors::Error;
use crate::tree::{
    Coercion, Cond, Expr, ExprKind, FnId, Lambda, LocalId, Param, Pat, PatKind, StaticId, Stmt,
};
use crate::types::{Ty, TyKind};

use super::unify::Zonk;

impl<'a> Checker<'a> {
    /// Finishes the current body: these functions and statics, and all nested ones.
    pub(super) fn finish_body(&mut self, fns: &[FnId], statics: &[StaticId]) {
        self.finish_accesses();
        self.default_vars();
        self.solve_accesses();
        self.check_deferred();
        self.check_obligations();
        self.report_unknown();
        let mut memo = Zonk::new();
        for id in std::mem::take(&mut self.body.locals) {
            self.finish_local(id, &mut memo);
        }
        let nested = std::mem::take(&mut self.body.fns);
        for &id in fns.iter().chain(&nested) {
            self.finish_fn(id, &mut memo);
        }
        let nested = std::mem::take(&mut self.body.statics);
        for &id in statics.iter().chain(&nested) {
            self.finish_static(id, &mut memo);
        }
    }

    /// Finishes an expression that belongs to no function: the default of a field.
    pub fn finish_alone(&mut self, mut expr: Expr) -> Expr {
        self.finish_body(&[], &[]);
        self.finish_expr(&mut expr, &mut Zonk::new());
        expr
    }

    fn finish_ty(&mut self, ty: &mut Ty, span: Span, memo: &mut Zonk) {
        *ty = self.program.types.substitute(*ty, &memo.with);
        if !self.program.types.info(*ty).has_infer {
            return;
        }
        *ty = self.zonk_with(*ty, memo, 0);
        if std::mem::take(&mut memo.too_large) {
            self.report(Error::TypeTooLarge { span });
        }
    }

    fn finish_local(&mut self, id: LocalId, memo: &mut Zonk) {
        let span = self.program.locals[id].span;
        let ty = match self.body.returns.get(&id) {
            Some(&(mut ret)) => {
                self.finish_ty(&mut ret, span, memo);
                self.program.types.continuation(ret)
            }
            None => {
                let mut ty = self.program.locals[id].ty;
                self.finish_ty(&mut ty, span, memo);
                ty
            }
        };
        self.program.locals[id].ty = ty;
    }

    fn finish_fn(&mut self, id: FnId, memo: &mut Zonk) {
        let span = self.program.fns[id].span;
        let mut params = std::mem::take(&mut self.program.fns[id].params);
        self.finish_params(&mut params, memo);
        let mut body = self.program.fns[id].body.take();
        if let Some(body) = &mut body {
            self.finish_expr(body, memo);
        }
        let mut filter = self.program.fns[id].filter.take();
        if let Some(filter) = &mut filter {
            self.finish_expr(filter, memo);
        }
        let mut ret = self.program.fns[id].ret;
        self.finish_ty(&mut ret, span, memo);
        self.fns[id].params = params.iter().map(|param| param.ty).collect();
        self.set_result(id, ret);
        let function = &mut self.program.fns[id];
        function.params = params;
        function.body = body;
        function.filter = filter;
        if ret == self.program.types.never() {
            function.return_local = None;
        }
    }

    fn finish_static(&mut self, id: StaticId, memo: &mut Zonk) {
        let span = self.program.statics[id].span;
        let mut ty = self.program.statics[id].ty;
        self.finish_ty(&mut ty, span, memo);
        self.program.statics[id].ty = ty;
        if let Some(mut init) = self.program.statics[id].init.take() {
            self.finish_expr(&mut init, memo);
            self.program.statics[id].init = Some(init);
        }
        let mut candidates = std::mem::take(&mut self.program.statics[id].candidates);
        candidates.iter_mut().for_each(|candidate| self.finish_expr(candidate, memo));
        self.program.statics[id].candidates = candidates;
    }

    fn finish_params(&mut self, params: &mut [Param], memo: &mut Zonk) {
        for param in params {
            self.finish_ty(&mut param.ty, param.span, memo);
            self.finish_pat(&mut param.pat, memo);
            if let Some(filter) = &mut param.filter {
                self.finish_expr(filter, memo);
            }
        }
    }

    fn finish_pat(&mut self, pat: &mut Pat, memo: &mut Zonk) {
        self.finish_ty(&mut pat.ty, pat.span, memo);
        match &mut pat.kind {
            PatKind::Wild | PatKind::Error | PatKind::Bind(_, None) => {}
            PatKind::Bind(_, Some(sub)) => self.finish_pat(sub, memo),
            PatKind::Lit(bits) if !memo.is_again() => *bits = self.literal_bits(*bits, pat.ty),
            PatKind::Lit(_) => {}
            PatKind::Parts(parts) => parts.iter_mut().for_each(|part| self.finish_pat(part, memo)),
            PatKind::Struct(fields) | PatKind::Variant(_, fields) => {
                fields.iter_mut().for_each(|(_, field)| self.finish_pat(field, memo));
            }
        }
    }

    fn finish_expr(&mut self, expr: &mut Expr, memo: &mut Zonk) {
        if let ExprKind::Deferred(number) = expr.kind {
            let solved = self.body.accesses.solved(number).cloned();
            *expr = solved.unwrap_or(Expr { kind: ExprKind::Error, ..*expr });
        }
        self.finish_ty(&mut expr.ty, expr.span, memo);
        let ty = expr.ty;
        match &mut expr.kind {
            ExprKind::Lit(bits) if !memo.is_again() => *bits = self.literal_bits(*bits, ty),
            ExprKind::Number(number) => self.finish_ty(number, expr.span, memo),
            ExprKind::Local(id) => {
                // The parameters of a `return` are final only now.
                if self.body.returns.contains_key(id) {
                    expr.ty = self.program.locals[*id].ty;
                }
            }
            ExprKind::Fn(_, args) | ExprKind::FnParam(_, args) => {
                args.iter_mut().for_each(|arg| self.finish_ty(arg, expr.span, memo))
            }
            ExprKind::HeapArray { len, elem } => {
                self.finish_expr(len, memo);
                self.finish_ty(elem, expr.span, memo);
            }
            ExprKind::Struct { base, fields } => {
                let has_base = base.is_some();
                if let Some(base) = base {
                    self.finish_expr(base, memo);
                }
                self.finish_fields(fields, memo);
                if !has_base {
                    self.fill_defaults(ty, fields);
                }
            }
            ExprKind::Variant { fields, .. } => self.finish_fields(fields, memo),
            ExprKind::Lambda(lambda) => self.finish_lambda(lambda, memo),
            ExprKind::Block { .. }
            | ExprKind::If { .. }
            | ExprKind::Match { .. }
            | ExprKind::While { .. } => {
                self.finish_control(&mut expr.kind, memo);
            }
            kind => self.finish_operands(kind, memo),
        }
    }

    fn finish_all(&mut self, exprs: &mut [Expr], memo: &mut Zonk) {
        exprs.iter_mut().for_each(|expr| self.finish_expr(expr, memo));
    }

    fn finish_fields(&mut self, fields: &mut [(u32, Expr)], memo: &mut Zonk) {
        fields.iter_mut().for_each(|(_, value)| self.finish_expr(value, memo));
    }

    /// Adds the defaults of fields that a literal omits.
    fn fill_defaults(&mut self, ty: Ty, fields: &mut Vec<(u32, Expr)>) {
        let (elem, lanes) = match *self.program.types.kind(ty) {
            TyKind::Simd(elem, lanes) => (elem, Some(lanes)),
            _ => (ty, None),
        };
        let TyKind::Struct(id, args) = self.program.types.kind(elem).clone() else { return };
        let it = &self.program.structs[id];
        if fields.len() == it.fields.len() {
            return;
        }
        let with = substitution(&it.tparams, &args);
        let mut is_given = vec![false; it.fields.len()];
        for (number, _) in fields.iter() {
            is_given[*number as usize] = true;
        }
        for (number, is_given) in is_given.into_iter().enumerate() {
            let default = self.program.structs[id].fields[number].default.clone();
            if let (false, Some(mut default)) = (is_given, default) {
                if !with.is_empty() {
                    self.finish_expr(&mut default, &mut Zonk::again(with.clone()));
                }
                if let Some(lanes) = lanes.filter(|_| !self.program.structs[id].fields[number].is_uniform) {
                    let (ty, span) = (self.program.types.vector(default.ty, lanes), default.span);
                    let kind = ExprKind::Coerce { kind: Coercion::Broadcast, expr: Box::new(default) };
                    default = Expr { kind, ty, span };
                }
                fields.push((number as u32, default));
            }
        }
    }

    fn finish_lambda(&mut self, lambda: &mut Lambda, memo: &mut Zonk) {
        self.finish_params(&mut lambda.params, memo);
        if let Some(filter) = &mut lambda.filter {
            self.finish_expr(filter, memo);
        }
        self.finish_ty(&mut lambda.ret, lambda.body.span, memo);
        self.finish_expr(&mut lambda.body, memo);
        if lambda.ret == self.program.types.never() {
            lambda.return_local = None;
        }
    }

    fn finish_cond(&mut self, cond: &mut Cond, memo: &mut Zonk) {
        match cond {
            Cond::Expr(expr) => self.finish_expr(expr, memo),
            Cond::Let(pat, expr) => {
                self.finish_pat(pat, memo);
                self.finish_expr(expr, memo);
            }
        }
    }

    fn finish_stmt(&mut self, stmt: &mut Stmt, memo: &mut Zonk) {
        match stmt {
            Stmt::Let { pat, init } => {
                self.finish_pat(pat, memo);
                if let Some(init) = init {
                    self.finish_expr(init, memo);
                }
            }
            Stmt::Expr(expr) => self.finish_expr(expr, memo),
            Stmt::Fn(_) => {}
        }
    }

    fn finish_control(&mut self, kind: &mut ExprKind, memo: &mut Zonk) {
        match kind {
            ExprKind::Block { stmts, value } => {
                stmts.iter_mut().for_each(|stmt| self.finish_stmt(stmt, memo));
                if let Some(value) = value {
                    self.finish_expr(value, memo);
                }
            }
            ExprKind::If { arms, other } => {
                for (cond, value) in arms {
                    self.finish_cond(cond, memo);
                    self.finish_expr(value, memo);
                }
                if let Some(other) = other {
                    self.finish_expr(other, memo);
                }
            }
            ExprKind::Match { scrutinee, arms } => {
                self.finish_expr(scrutinee, memo);
                for (pat, value) in arms {
                    self.finish_pat(pat, memo);
                    self.finish_expr(value, memo);
                }
            }
            ExprKind::While { cond, body, .. } => {
                self.finish_cond(cond, memo);
                self.finish_expr(body, memo);
            }
            _ => unreachable!("the caller passes control flow only"),
        }
    }

    fn finish_operands(&mut self, kind: &mut ExprKind, memo: &mut Zonk) {
        match kind {
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => self.finish_all(parts, memo),
            ExprKind::Call(call) => {
                self.finish_expr(&mut call.callee, memo);
                self.finish_all(&mut call.args, memo);
            }
            ExprKind::Asm(asm) => {
                let operands = asm.outputs.iter_mut().chain(&mut asm.inputs);
                operands.for_each(|(_, operand)| self.finish_expr(operand, memo));
            }
            ExprKind::Index { base, index } => {
                self.finish_expr(base, memo);
                self.finish_expr(index, memo);
            }
            ExprKind::Chain { first, rest } => {
                self.finish_expr(first, memo);
                for link in rest {
                    self.finish_expr(&mut link.rhs, memo);
                    self.finish_ty(&mut link.ty, link.span, memo);
                    link.by.iter_mut().for_each(|by| self.finish_expr(&mut by.callee, memo));
                }
            }
            ExprKind::Assign { place, value, by, .. } => {
                self.finish_expr(place, memo);
                self.finish_expr(value, memo);
                by.iter_mut().for_each(|by| self.finish_expr(&mut by.callee, memo));
            }
            ExprKind::Repeat(inner)
            | ExprKind::Box(inner)
            | ExprKind::Field { base: inner, .. }
            | ExprKind::Deref(inner)
            | ExprKind::AddrOf(inner)
            | ExprKind::Neg(inner)
            | ExprKind::Not(inner)
            | ExprKind::Step { place: inner, .. }
            | ExprKind::Cast(inner)
            | ExprKind::Coerce { expr: inner, .. }
            | ExprKind::Known(inner)
            | ExprKind::Hide(inner) => self.finish_expr(inner, memo),
            _ => {}
        }
    }
}
