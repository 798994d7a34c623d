//! Places: expressions that can be assigned to, and that have an address.

use nyala_span::Span;
use nyala_syntax::ast::PtrKind;

use crate::checker::Checker;
use crate::errors::{Error, ImmutablePlace, Write};
use crate::tree::{Expr, ExprKind};
use crate::types::TyKind;

use super::access::Accesses;

/// The root of a place.
enum Root<'e> {
    Local(crate::tree::LocalId),
    Static(crate::tree::StaticId),
    /// The target of a pointer.
    Pointer(&'e Expr),
    /// An access that is not solved.
    Deferred(u32),
    /// Not a place.
    Value,
}

fn root<'e>(mut expr: &'e Expr, accesses: &'e Accesses) -> Root<'e> {
    loop {
        match &expr.kind {
            ExprKind::Deferred(number) => match accesses.solved(*number) {
                Some(solved) => expr = solved,
                None => return Root::Deferred(*number),
            },
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
        let accesses = std::mem::take(&mut self.body.accesses);
        let written = root(expr, &accesses);
        self.check_writable_root(&written, write, span);
        let deferred = if let Root::Deferred(number) = written { Some(number) } else { None };
        self.body.accesses = accesses;
        if let Some(number) = deferred {
            self.body.accesses.add_write(number, write);
        }
    }

    fn check_writable_root(&mut self, root: &Root, write: Write, span: Span) {
        match *root {
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
            Root::Deferred(_) => {}
            Root::Value => self.report(Error::NotAPlace { write, span }),
        }
    }

    /// Whether `expr` is a place that can be written.
    pub(super) fn is_writable(&mut self, expr: &Expr) -> bool {
        match root(expr, &self.body.accesses) {
            Root::Local(id) => self.program.locals[id].is_mut,
            Root::Static(id) => self.program.statics[id].is_mut,
            Root::Pointer(pointer) => {
                let ty = pointer.ty;
                let ty = self.resolve(ty);
                matches!(self.program.types.kind(ty), TyKind::Ptr { kind, .. } if *kind != PtrKind::Shared)
            }
            Root::Deferred(_) | Root::Value => false,
        }
    }

    fn check_writable_pointer(&mut self, pointer: &Expr, write: Write, span: Span) {
        let mut ty = self.resolve(pointer.ty);
        if let TyKind::Simd(lane, _) = *self.program.types.kind(ty) {
            ty = self.resolve(lane);
        }
        if let TyKind::Ptr { kind: PtrKind::Shared, .. } = self.program.types.kind(ty) {
            let ty = self.shown(ty);
            self.report(Error::Immutable { write, place: ImmutablePlace::Pointer(pointer.span, ty), span });
        }
    }

    /// Records that the address of `expr` is taken.
    pub(super) fn take_address(&mut self, expr: &Expr) {
        match root(expr, &self.body.accesses) {
            Root::Local(id) => self.program.locals[id].address_taken = true,
            Root::Deferred(number) => self.body.accesses.take_address(number),
            Root::Static(_) | Root::Pointer(_) | Root::Value => {}
        }
    }

    /// The address space that `expr` lies in: generic unless it is behind a pointer.
    pub(super) fn space_of(&mut self, expr: &Expr) -> u32 {
        let Root::Pointer(pointer) = root(expr, &self.body.accesses) else { return 0 };
        let ty = self.resolve(pointer.ty);
        match self.program.types.kind(ty) {
            TyKind::Ptr { space, .. } => *space,
            _ => 0,
        }
    }
}
