//! Casts to the type a value already has, and statements whose value is unused.

use super::Warning;
use crate::tree::{Expr, ExprKind, Program, Stmt};
use crate::visit;

pub(super) fn check(program: &Program) -> Vec<Warning> {
    let mut warnings = vec![];
    for root in visit::roots(program) {
        visit::walk(root, |expr| match &expr.kind {
            ExprKind::Cast(inner) if is_idle_cast(expr, inner) => {
                let ty = program.types.display(expr.ty).to_string();
                warnings.push(Warning::SameTypeCast { ty, at: expr.span });
            }
            ExprKind::Block { stmts, .. } => {
                let exprs = stmts.iter().filter_map(|stmt| match stmt {
                    Stmt::Expr(expr) => Some(expr),
                    _ => None,
                });
                warnings.extend(exprs.filter(|expr| is_idle(expr)).map(|expr| Warning::NoEffect {
                    at: expr.span,
                    lacks_call: is_named_thunk(program, expr),
                }));
            }
            _ => {}
        });
    }
    warnings
}

/// Whether this is the name of a function without parameters, such as `break`.
fn is_named_thunk(program: &Program, expr: &Expr) -> bool {
    let is_name = matches!(expr.kind, ExprKind::Local(_) | ExprKind::Fn(..));
    let parts = program.types.as_fn(expr.ty);
    is_name && parts.is_some_and(|(params, _)| params.is_empty())
}

/// A literal may have its type only because of the cast, so it is left alone.
fn is_idle_cast(cast: &Expr, inner: &Expr) -> bool {
    cast.ty == inner.ty && !matches!(inner.kind, ExprKind::Lit(_))
}

/// Whether evaluating `expr` does nothing but produce a value. Expressions that can hold
/// statements never count, so each is looked at for one statement only.
fn is_idle(expr: &Expr) -> bool {
    let mut idle = true;
    visit::walk_while(expr, |expr| {
        idle &= is_idle_node(&expr.kind);
        // A lambda that is never called does nothing, whatever its body contains.
        idle && !matches!(expr.kind, ExprKind::Lambda(_))
    });
    idle
}

fn is_idle_node(kind: &ExprKind) -> bool {
    match kind {
        ExprKind::Lit(_)
        | ExprKind::Str(_)
        | ExprKind::Local(_)
        | ExprKind::Static(_)
        | ExprKind::Fn(..)
        | ExprKind::Constructor(_)
        | ExprKind::Tuple(_)
        | ExprKind::Array(_)
        | ExprKind::Repeat(_)
        | ExprKind::Struct { .. }
        | ExprKind::Variant { .. }
        | ExprKind::Lambda(_)
        | ExprKind::Index { .. }
        | ExprKind::Field { .. }
        | ExprKind::Deref(_)
        | ExprKind::AddrOf(_)
        | ExprKind::Neg(_)
        | ExprKind::Not(_)
        | ExprKind::Chain { .. }
        | ExprKind::Cast(_)
        | ExprKind::Coerce { .. }
        | ExprKind::Known(_)
        | ExprKind::Hide(_) => true,
        ExprKind::HeapArray { .. }
        | ExprKind::Box(_)
        | ExprKind::Block { .. }
        | ExprKind::If { .. }
        | ExprKind::Match { .. }
        | ExprKind::While { .. }
        | ExprKind::Call(_)
        | ExprKind::Asm(_)
        | ExprKind::Assign { .. }
        | ExprKind::Step { .. }
        | ExprKind::Error => false,
    }
}
