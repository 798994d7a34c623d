//! Places: expressions that can be assigned to, and that have an address.

use nyala_span::Span;
use nyala_syntax::ast::PtrKind;

use crate::checker::Checker;
use crate::errors::{Error, ImmutablePlace, Write};
use crate::tree::{Expr, ExprKind};
use crate::types::TyKind;

/// The root of a place.
enum Root<'e> {
    Local(crate::tree::LocalId),
    Static(crate::tree::StaticId),
    /// The target of a pointer.
    Pointer(&'e Expr),
    /// Not a place.
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
    /// Reports an error if `expr` cannot be written.
    pub(super) fn check_writable(&mut self, expr: &Expr, write: Write) {
        if self.is_error(expr.ty) || matches!(expr.kind, ExprKind::Error) {
            return;
        }
        let span = expr.span;
        match root(expr) {
            // `return`, `break` and `continue` are not declared in the source, so `mut` is no fix.
            Root::Local(id) if self.body.returns.contains_key(&id) => {
                self.report(Error::NotAPlace { write, span });
            }
            Root::Local(id) => {
                let local = &self.program.locals[id];
                if !local.is_mut {
                    let place = ImmutablePlace::Local(local.name, local.span);
                    self.report(Error::Immutable { write, place, span });
                }
            }
            Root::Static(id) => {
                let it = &self.program.statics[id];
                if !it.is_mut {
                    let place = ImmutablePlace::Static(it.name, it.span);
                    self.report(Error::Immutable { write, place, span });
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
            self.report(Error::Immutable { write, place: ImmutablePlace::Pointer(pointer.span, ty), span });
        }
    }

    /// Records that the address of `expr` is taken.
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
