//! Filters: when to specialise, as nodes without control flow.
//!
//! A filter is instantiated and folded at each call, so it must be one node over
//! the parameters: `&&` and `||` evaluate both sides here, which is the same,
//! because nothing in a filter has an effect.

use nyala_ir::{Cont, Def};
use nyala_sema::tree::{Coercion, Expr, ExprKind, LocalId, Param};
use nyala_span::Span;

use crate::errors::LowerError;
use crate::instance::Binding;
use crate::lowerer::Lowerer;

/// Something in a filter that is no node.
struct ImpureAt(Span);

impl<'p> Lowerer<'p> {
    /// Sets the filters of a function's continuation; `filter` is for what it returns to.
    pub(crate) fn filters(
        &mut self,
        params: &'p [Param],
        filter: Option<&'p Expr>,
        args: &[Def],
        cont: Cont,
    ) {
        if filter.is_none() && params.iter().all(|param| param.filter.is_none()) {
            return;
        }
        // In a filter a parameter is the argument, wherever the body will keep it.
        for (param, &arg) in params.iter().zip(args) {
            for (local, value) in self.pat_bindings(&param.pat, arg) {
                self.set_binding(local, Binding::Value(value));
            }
        }
        let mut all = vec![self.world.lit_bool(false)];
        for param in params {
            all.push(self.filter(param.filter.as_ref()));
        }
        if self.world.cont(cont).params.len() > all.len() {
            all.push(self.filter(filter));
        }
        self.world.set_filter(cont, all);
    }

    fn filter(&mut self, filter: Option<&'p Expr>) -> Def {
        let Some(filter) = filter else { return self.world.lit_bool(false) };
        match self.pure(filter) {
            Ok(node) => node,
            Err(ImpureAt(at)) => {
                // The filter of a whole function is the filter of each parameter too.
                let same =
                    |error: &LowerError| matches!(error, LowerError::ImpureFilter { at: old } if *old == at);
                if !self.errors.iter().any(same) {
                    self.errors.push(LowerError::ImpureFilter { at });
                }
                self.world.lit_bool(false)
            }
        }
    }

    /// The node of an expression without effects.
    fn pure(&mut self, expr: &'p Expr) -> Result<Def, ImpureAt> {
        self.at(expr.span);
        match &expr.kind {
            ExprKind::Lit(bits) => Ok(self.literal(expr.ty, *bits)),
            ExprKind::Str(text) => Ok(self.string(text)),
            ExprKind::Fn(id, args) => Ok(self.fn_value(*id, args, expr.span)),
            ExprKind::Local(local) => self.pure_local(expr, *local),
            ExprKind::Static(id) => self.static_value(*id).ok_or(ImpureAt(expr.span)),
            ExprKind::Field { base, index } => {
                let base = self.pure(base)?;
                Ok(self.world.extract_at(base, *index))
            }
            ExprKind::Index { base, index } => {
                let (base, index) = (self.pure(base)?, self.pure(index)?);
                Ok(self.world.extract(base, index))
            }
            ExprKind::Neg(inner) | ExprKind::Not(inner) => {
                let value = self.pure(inner)?;
                Ok(self.unary_op(matches!(expr.kind, ExprKind::Neg(_)), value))
            }
            ExprKind::Chain { first, rest } => {
                let mut value = self.pure(first)?;
                for link in rest {
                    let rhs = self.pure(&link.rhs)?;
                    value = self.binary_op(link.op, value, rhs);
                }
                Ok(value)
            }
            ExprKind::Known(inner) => {
                let value = self.pure(inner)?;
                Ok(self.world.known(value))
            }
            ExprKind::Hide(inner) => {
                let value = self.pure(inner)?;
                Ok(self.world.hide(value))
            }
            _ => self.pure_rest(expr),
        }
    }

    fn pure_rest(&mut self, expr: &'p Expr) -> Result<Def, ImpureAt> {
        match &expr.kind {
            ExprKind::Cast(inner) => {
                let (value, ty) = (self.pure(inner)?, self.ty(expr.ty));
                Ok(self.world.cast(ty, value))
            }
            ExprKind::Coerce { kind: Coercion::Retype, expr: inner } => {
                let (value, ty) = (self.pure(inner)?, self.ty(expr.ty));
                Ok(self.adapt(value, ty))
            }
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => {
                let parts = parts.iter().map(|part| self.pure(part)).collect::<Result<Vec<Def>, _>>()?;
                let ty = self.ty(expr.ty);
                Ok(self.world.aggregate(ty, &parts))
            }
            ExprKind::Block { stmts, value: Some(value) } if stmts.is_empty() => self.pure(value),
            ExprKind::Call(call) => {
                let op = self.direct_op(call).ok_or(ImpureAt(expr.span))?;
                let args = call.args.iter().map(|arg| self.pure(arg)).collect::<Result<Vec<Def>, _>>()?;
                Ok(self.op_node(expr, op, &args))
            }
            _ => Err(ImpureAt(expr.span)),
        }
    }

    fn pure_local(&mut self, expr: &Expr, local: LocalId) -> Result<Def, ImpureAt> {
        match self.binding(local) {
            Some(Binding::Value(value) | Binding::Return(value)) => Ok(value),
            _ => Err(ImpureAt(expr.span)),
        }
    }
}
