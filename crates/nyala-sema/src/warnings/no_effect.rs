//! Casts to the type a value already has, and statements whose value is unused.

use super::Warning;
use crate::tree::{Expr, ExprKind, Program, Stmt};
use crate::visit;

pub(super) fn check(program: &Program) -> Vec<Warning> {
    let mut warnings = vec![];
    for root in visit::roots(program) {
        visit::walk(root, |expr| match &expr.kind {
            ExprKind::Cast(inner) if is_redundant_cast(expr, inner) => {
                let ty = program.types.display(expr.ty).to_string();
                warnings.push(Warning::SameTypeCast { ty, at: expr.span });
            }
            ExprKind::Block { stmts, .. } => {
                let exprs = stmts.iter().filter_map(|stmt| match stmt {
                    Stmt::Expr(expr) => Some(expr),
                    _ => None,
                });
                warnings.extend(exprs.filter(|expr| has_no_effect(expr)).map(|expr| Warning::NoEffect {
                    at: expr.span,
                    lacks_call: is_function_without_parameters(program, expr),
                }));
            }
            _ => {}
        });
    }
    warnings
}

/// Whether this is the name of a function without parameters, such as `break`.
fn is_function_without_parameters(program: &Program, expr: &Expr) -> bool {
    let is_name = matches!(expr.kind, ExprKind::Local(_) | ExprKind::Fn(..));
    let parts = program.types.as_fn(expr.ty);
    is_name && parts.is_some_and(|(params, _)| params.is_empty())
}

/// Casts of literals are ignored: the cast may determine the type of the literal.
fn is_redundant_cast(cast: &Expr, inner: &Expr) -> bool {
    cast.ty == inner.ty && !matches!(inner.kind, ExprKind::Lit(_))
}

/// Whether evaluating `expr` only produces a value. False for all expressions that can hold
/// statements, so each expression is visited for one statement only.
fn has_no_effect(expr: &Expr) -> bool {
    let mut is_pure = true;
    visit::walk_while(expr, |expr| {
        is_pure &= node_has_no_effect(&expr.kind);
        // A lambda that is never called has no effect, whatever its body contains.
        is_pure && !matches!(expr.kind, ExprKind::Lambda(_))
    });
    is_pure
}

fn node_has_no_effect(kind: &ExprKind) -> bool {
    match kind {
        ExprKind::Lit(_)
        | ExprKind::Str(_)
        | ExprKind::Number(_)
        | ExprKind::Local(_)
        | ExprKind::Static(_)
        | ExprKind::Fn(..)
        | ExprKind::FnParam(..)
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
        | ExprKind::Cast(_)
        | ExprKind::Coerce { .. }
        | ExprKind::Known(_)
        | ExprKind::Hide(_) => true,
        ExprKind::Chain { rest, .. } => rest.iter().all(|link| link.by.is_none()),
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
        | ExprKind::Deferred(_)
        | ExprKind::Error => false,
    }
}
