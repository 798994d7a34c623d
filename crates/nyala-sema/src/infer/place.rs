//! Places: what can be assigned to, and what has an address.

use nyala_span::Span;
use nyala_syntax::ast::PtrKind;

use crate::checker::Checker;
use crate::errors::{Error, Frozen, Write};
use crate::tree::{Expr, ExprKind};
use crate::types::TyKind;

/// What a place is part of.
enum Root<'e> {
    Local(crate::tree::LocalId),
    Static(crate::tree::StaticId),
    /// What a pointer points to.
    Pointer(&'e Expr),
    /// No place.
    Value,
}

fn root(mut expr: &Expr) -> Root<'_> {
    loop {
        match &expr.kind {
            ExprKind::Local(id) => return Root::Local(*id),
            ExprKind::Static(id) => return Root::Static(*id),
            ExprKind::Deref(pointer) => return Root::Pointer(pointer),
            ExprKind::Field { base, .. } | ExprKind::Index { base, .. } => expr = base,
            _ => return Root::Value,
        }
    }
}

impl<'a> Checker<'a> {
    /// Reports it if `expr` cannot be written.
    pub(super) fn check_writable(&mut self, expr: &Expr, write: Write) {
        if self.is_error(expr.ty) || matches!(expr.kind, ExprKind::Error) {
            return;
        }
        let span = expr.span;
        match root(expr) {
            // Nobody has written `return`, `break` and `continue`, so none can be made `mut`.
            Root::Local(id) if self.body.returns.contains_key(&id) => {
                self.report(Error::NotAPlace { write, span });
            }
            Root::Local(id) => {
                let local = &self.program.locals[id];
                if !local.is_mut {
                    let frozen = Frozen::Local(local.name, local.span);
                    self.report(Error::Immutable { write, frozen, span });
                }
            }
            Root::Static(id) => {
                let it = &self.program.statics[id];
                if !it.is_mut {
                    let frozen = Frozen::Static(it.name, it.span);
                    self.report(Error::Immutable { write, frozen, span });
                }
            }
            Root::Pointer(pointer) => self.check_writable_pointer(pointer, write, span),
            Root::Value => self.report(Error::NotAPlace { write, span }),
        }
    }

    fn check_writable_pointer(&mut self, pointer: &Expr, write: Write, span: Span) {
        let ty = self.resolve(pointer.ty);
        if let TyKind::Ptr { kind: PtrKind::Shared, .. } = self.program.types.kind(ty) {
            let ty = self.shown(ty);
            self.report(Error::Immutable { write, frozen: Frozen::Pointer(pointer.span, ty), span });
        }
    }

    /// Notes that the address of `expr` is taken.
    pub(super) fn take_address(&mut self, expr: &Expr) {
        if let Root::Local(id) = root(expr) {
            self.program.locals[id].address_taken = true;
        }
    }

    /// The address space that `expr` lies in: generic unless it is behind a pointer.
    pub(super) fn space_of(&mut self, expr: &Expr) -> u32 {
        let Root::Pointer(pointer) = root(expr) else { return 0 };
        let ty = self.resolve(pointer.ty);
        match self.program.types.kind(ty) {
            TyKind::Ptr { space, .. } => *space,
            _ => 0,
        }
    }
}
