//! Traversal of the syntax tree: all code that runs, in source order.
//!
//! An implementation of [`Visit`] handles the nodes it needs, and visits their children with the
//! function `walk_..` of the same name. Types, patterns and filters are not visited: they do not run.

use super::{Block, Cond, Expr, ExprKind, FnBody, FnItem, Item, ItemKind, Stmt};

/// A visitor; by default, each method visits the children.
pub trait Visit<'a> {
    /// An item, of a file, a module or a block.
    fn item(&mut self, item: &'a Item) {
        walk_item(self, item);
    }

    /// A block, of a function or of control flow.
    fn block(&mut self, block: &'a Block) {
        walk_block(self, block);
    }

    /// A statement of a block.
    fn stmt(&mut self, stmt: &'a Stmt) {
        walk_stmt(self, stmt);
    }

    /// The condition of an `if` or a `while`.
    fn cond(&mut self, cond: &'a Cond) {
        walk_cond(self, cond);
    }

    /// An expression.
    fn expr(&mut self, expr: &'a Expr) {
        walk_expr(self, expr);
    }
}

/// Visits the children of an item.
pub fn walk_item<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, item: &'a Item) {
    match &item.kind {
        ItemKind::Fn(function) => walk_fn(visitor, function),
        ItemKind::Static { init: Some(expr), .. } | ItemKind::Implicit { value: expr, .. } => {
            visitor.expr(expr);
        }
        ItemKind::Mod { items, .. } => items.iter().flatten().for_each(|item| visitor.item(item)),
        _ => {}
    }
}

/// Visits the body of a function.
pub fn walk_fn<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, function: &'a FnItem) {
    match &function.body {
        Some(FnBody::Block(block)) => visitor.block(block),
        Some(FnBody::Expr(expr)) => visitor.expr(expr),
        None => {}
    }
}

/// Visits the children of a block.
pub fn walk_block<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, block: &'a Block) {
    block.stmts.iter().for_each(|stmt| visitor.stmt(stmt));
    block.value.iter().for_each(|value| visitor.expr(value));
}

/// Visits the children of a statement.
pub fn walk_stmt<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, stmt: &'a Stmt) {
    match stmt {
        Stmt::Let { init, .. } => init.iter().for_each(|init| visitor.expr(init)),
        Stmt::Item(item) => visitor.item(item),
        Stmt::Expr { expr, .. } => visitor.expr(expr),
    }
}

/// Visits the children of a condition.
pub fn walk_cond<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, cond: &'a Cond) {
    match cond {
        Cond::Expr(expr) | Cond::Let(_, expr) => visitor.expr(expr),
    }
}

/// Visits the children of an expression.
pub fn walk_expr<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, expr: &'a Expr) {
    match &expr.kind {
        ExprKind::Lit(_) | ExprKind::Path(_) | ExprKind::Error => {}
        ExprKind::Tuple(parts) | ExprKind::Array { elems: parts, .. } => {
            parts.iter().for_each(|part| visitor.expr(part));
        }
        ExprKind::Paren(inner)
        | ExprKind::Repeat { value: inner, .. }
        | ExprKind::HeapArray { len: inner, .. }
        | ExprKind::Unary { operand: inner, .. }
        | ExprKind::Cast { expr: inner, .. }
        | ExprKind::Ascribe { expr: inner, .. }
        | ExprKind::TypeArgs { expr: inner, .. }
        | ExprKind::Field { base: inner, .. } => visitor.expr(inner),
        ExprKind::Struct { fields, .. } => fields.iter().for_each(|field| visitor.expr(&field.value)),
        ExprKind::Update { base, fields } => {
            visitor.expr(base);
            fields.iter().for_each(|field| visitor.expr(&field.value));
        }
        ExprKind::Assign { place, value, .. } => {
            visitor.expr(place);
            visitor.expr(value);
        }
        ExprKind::Chain { first, rest } => {
            visitor.expr(first);
            rest.iter().for_each(|link| visitor.expr(&link.rhs));
        }
        ExprKind::Call { callee, args, .. } => {
            visitor.expr(callee);
            args.iter().for_each(|arg| visitor.expr(arg));
        }
        ExprKind::Lambda(lambda) => lambda.body.iter().for_each(|body| visitor.expr(body)),
        ExprKind::Asm(asm) => {
            asm.outputs.iter().chain(&asm.inputs).for_each(|(_, operand)| visitor.expr(operand));
        }
        ExprKind::Block(_)
        | ExprKind::If { .. }
        | ExprKind::Match { .. }
        | ExprKind::While { .. }
        | ExprKind::For(_)
        | ExprKind::With(_) => walk_control(visitor, expr),
    }
}

fn walk_control<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, expr: &'a Expr) {
    match &expr.kind {
        ExprKind::Block(block) => visitor.block(block),
        ExprKind::If { arms, else_block } => {
            for arm in arms {
                visitor.cond(&arm.cond);
                visitor.block(&arm.block);
            }
            else_block.iter().for_each(|block| visitor.block(block));
        }
        ExprKind::Match { scrutinee, arms } => {
            visitor.expr(scrutinee);
            arms.iter().for_each(|arm| visitor.expr(&arm.value));
        }
        ExprKind::While { cond, body } => {
            visitor.cond(cond);
            visitor.block(body);
        }
        ExprKind::For(ast) | ExprKind::With(ast) => {
            visitor.expr(&ast.call);
            visitor.block(&ast.body);
        }
        _ => {}
    }
}
