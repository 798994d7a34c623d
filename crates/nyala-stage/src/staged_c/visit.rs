//! Visits all parts of statements and expressions.

use super::{Expr, ExprKind, Stmt, StmtKind, Target};

/// Calls `stmt` with each statement and `expr` with each expression.
pub(super) fn visit_stmts(stmts: &[Stmt], stmt: &mut dyn FnMut(&Stmt), expr: &mut dyn FnMut(&Expr)) {
    for each in stmts {
        stmt(each);
        match &each.kind {
            StmtKind::Declare(_, _, value) | StmtKind::Return(value) => {
                value.iter().for_each(|value| visit_expr(value, expr));
            }
            StmtKind::Assign(target, _, value) => {
                if let Target::Element(pointer, index) = target {
                    visit_expr(pointer, expr);
                    visit_expr(index, expr);
                }
                visit_expr(value, expr);
            }
            StmtKind::Call(value) => visit_expr(value, expr),
            StmtKind::If(condition, then, other) => {
                visit_expr(condition, expr);
                visit_stmts(then, stmt, expr);
                visit_stmts(other, stmt, expr);
            }
            StmtKind::Loop { init, condition, step, body } => {
                condition.iter().for_each(|condition| visit_expr(condition, expr));
                [init, step, body].into_iter().for_each(|stmts| visit_stmts(stmts, stmt, expr));
            }
            StmtKind::Block(stmts) => visit_stmts(stmts, stmt, expr),
            StmtKind::Special(special) => special.args.iter().for_each(|arg| visit_expr(arg, expr)),
        }
    }
}

/// Calls `each` with an expression and all of its parts.
pub(super) fn visit_expr(expr: &Expr, each: &mut dyn FnMut(&Expr)) {
    each(expr);
    match &expr.kind {
        ExprKind::Negate(inner)
        | ExprKind::Not(inner)
        | ExprKind::Cast(_, inner)
        | ExprKind::Staged(_, inner) => {
            visit_expr(inner, each);
        }
        ExprKind::Binary(_, left, right) | ExprKind::Index(left, right) => {
            visit_expr(left, each);
            visit_expr(right, each);
        }
        ExprKind::Choose(condition, then, other) => {
            [condition, then, other].into_iter().for_each(|part| visit_expr(part, each));
        }
        ExprKind::Call(_, parts) | ExprKind::Array(parts) => {
            parts.iter().for_each(|part| visit_expr(part, each))
        }
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Star => {}
    }
}
