//! Parameters that take a generic function: `fn twice(f: fn[A](A) -> A) -> ()`.
//!
//! A generic function is no value, since each use of it may have other types. So the function with such a parameter
//! is generic itself, over the function that it gets: see [`Signature`]. The argument is a function by its name, or
//! a parameter like this one.

use nyala_span::Span;
use nyala_syntax::ast;

use crate::checker::Checker;
use crate::convert::substitution;
use crate::errors::Error;
use crate::tree::{Coercion, Expr, ExprKind, FnId, LocalId};
use crate::types::{FnRef, GenericFn, Signature, Ty, TyKind};

impl<'a> Checker<'a> {
    /// The type of a parameter of a function, if it takes a generic function.
    pub fn generic_fn_param(&mut self, id: FnId, param: &'a ast::Param) -> Option<Ty> {
        let mut written = param.ty.as_ref()?;
        while let ast::TypeKind::Paren(inner) = &written.kind {
            written = inner;
        }
        let ast::TypeKind::Fn { tparams: names, params, ret } = &written.kind else { return None };
        if names.is_empty() {
            return None;
        }
        let tparams = self.declare_tparams(names);
        self.body.scopes.enter();
        self.define_tparams(names, &tparams);
        let ty = self.convert_fn(params, ret.as_deref(), written.span);
        self.body.scopes.exit();
        let stands_for = self.program.types.declare_signature(Signature { tparams, ty });
        self.program.fns[id].tparams.push(stands_for);
        Some(self.program.types.intern(TyKind::Param(stands_for)))
    }

    /// What a parameter of the callee takes in this call, if it takes a generic function.
    pub(super) fn signature_of_param(&mut self, callee: &Expr, index: usize) -> Option<Signature> {
        let ExprKind::Fn(id, args) = &callee.kind else { return None };
        let signature = self.program.types.signature(*self.fns[*id].params.get(index)?)?;
        let with = substitution(&self.program.fns[*id].tparams, args);
        Some(Signature { ty: self.program.types.substitute(signature.ty, &with), ..signature })
    }

    /// A parameter that is a generic function, with inference variables for type arguments that are not given.
    pub(super) fn generic_param_expr(&mut self, local: LocalId, given: &[Ty], span: Span) -> Option<Expr> {
        let signature = self.program.types.signature(self.program.locals[local].ty)?;
        let name = self.program.locals[local].name;
        let args = self.instantiate(&signature.tparams, given, &format_args!("`{name}`"), span);
        let ty = self.program.types.substitute(signature.ty, &substitution(&signature.tparams, &args));
        Some(Expr { kind: ExprKind::FnParam(local, args), ty, span })
    }

    /// An argument for a parameter that takes a generic function; `to` is its type in this call.
    pub(super) fn generic_argument(&mut self, arg: &'a ast::Expr, signature: &Signature, to: Ty) -> Expr {
        let value = self.infer_expr(arg, None);
        let (function, args) = match &value.kind {
            ExprKind::Fn(id, args) => (FnRef::Fn(*id), args.clone()),
            ExprKind::FnParam(local, args) => {
                let TyKind::Param(param) = *self.program.types.kind(self.program.locals[*local].ty) else {
                    unreachable!("the type of the parameter is a type parameter")
                };
                (FnRef::Param(param), args.clone())
            }
            ExprKind::Error => return value,
            _ => return self.reject_argument(value, signature, to),
        };
        if !self.try_unify(value.ty, signature.ty) {
            return self.reject_argument(value, signature, to);
        }
        self.settle_in_order(&args, signature);
        let generic = GenericFn { function, args: args.into(), instance: None };
        let ty = self.program.types.intern(TyKind::Generic(generic));
        self.unify(to, ty);
        let span = value.span;
        Expr { kind: ExprKind::Coerce { kind: Coercion::Generic, expr: Box::new(value) }, ty, span }
    }

    /// `?f`: whether a generic function is known does not depend on its type arguments.
    pub(super) fn settle_known(&mut self, value: &Expr) {
        let ExprKind::FnParam(_, args) = &value.kind else { return };
        let unit = self.program.types.unit();
        for &arg in args {
            self.unify(arg, unit);
        }
    }

    /// Type arguments that no type determines, as that of `sizeof`, are the signature's parameters in their order.
    fn settle_in_order(&mut self, args: &[Ty], signature: &Signature) {
        for (&arg, &param) in args.iter().zip(&signature.tparams) {
            if self.as_var(arg).is_some() {
                let param = self.program.types.intern(TyKind::Param(param));
                self.unify(arg, param);
            }
        }
    }

    fn reject_argument(&mut self, value: Expr, signature: &Signature, to: Ty) -> Expr {
        let error = self.program.types.error();
        self.unify(to, error);
        let (expected, found) = (self.shown(signature.ty), self.shown(value.ty));
        let params = signature.tparams.iter().map(|&param| self.program.types.params[param].name).collect();
        self.report(Error::GenericArgument { expected, found, params, span: value.span });
        self.error_expr(value.span)
    }
}
