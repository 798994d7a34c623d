//! Traversal of the typed tree, for the checks that run after inference.
//!
//! [`for_each_child`] is the one place that knows which expressions a node
//! holds, in the order in which they are evaluated; [`walk`] visits a whole
//! expression with an explicit stack, so deep trees do not overflow the
//! machine stack. Bodies of nested functions are not part of the expression that
//! declares them: they are functions of the program like all others.

use nyala_syntax::ast::PtrKind;

use crate::tree::{
    Coercion, Cond, Expr, ExprKind, Function, LocalId, Param, Pat, PatKind, Program, StaticId, Stmt,
};
use crate::types::{Ty, TyKind, Types};

/// Defines [`for_each_child`] and [`for_each_child_mut`], which differ in `mut` only.
macro_rules! traversal {
    ($(#[$doc:meta])* $name:ident, $iter:ident, $cond_expr:ident $(, $mutability:tt)?) => {
        $(#[$doc])*
        pub fn $name<'a>(expr: &'a $($mutability)? Expr, visit: &mut dyn FnMut(&'a $($mutability)? Expr)) {
            match &$($mutability)? expr.kind {
                ExprKind::Lit(_)
                | ExprKind::Str(_)
                | ExprKind::Number(_)
                | ExprKind::Local(_)
                | ExprKind::Static(_)
                | ExprKind::Fn(..)
                | ExprKind::FnParam(..)
                | ExprKind::Constructor(_)
                | ExprKind::Deferred(_)
                | ExprKind::Error => {}
                ExprKind::Tuple(parts) | ExprKind::Array(parts) => parts.$iter().for_each(visit),
                ExprKind::Repeat(inner)
                | ExprKind::Box(inner)
                | ExprKind::HeapArray { len: inner, .. }
                | ExprKind::Field { base: inner, .. }
                | ExprKind::Deref(inner)
                | ExprKind::AddrOf(inner)
                | ExprKind::Neg(inner)
                | ExprKind::Not(inner)
                | ExprKind::Cast(inner)
                | ExprKind::Coerce { expr: inner, .. }
                | ExprKind::Step { place: inner, .. }
                | ExprKind::Known(inner)
                | ExprKind::Hide(inner) => visit(inner),
                ExprKind::Struct { base, fields } => {
                    base.$iter().for_each(|base| visit(base));
                    fields.$iter().for_each(|(_, value)| visit(value));
                }
                ExprKind::Variant { fields, .. } => fields.$iter().for_each(|(_, value)| visit(value)),
                ExprKind::Index { base, index } => {
                    visit(base);
                    visit(index);
                }
                ExprKind::Chain { first, rest } => {
                    visit(first);
                    for link in rest {
                        visit(&$($mutability)? link.rhs);
                        link.by.$iter().for_each(|by| visit(&$($mutability)? by.callee));
                    }
                }
                ExprKind::Assign { place, value, by, .. } => {
                    visit(place);
                    visit(value);
                    by.$iter().for_each(|by| visit(&$($mutability)? by.callee));
                }
                ExprKind::Call(call) => {
                    if call.args_first {
                        call.args.$iter().for_each(&mut *visit);
                        visit(&$($mutability)? call.callee);
                    } else {
                        visit(&$($mutability)? call.callee);
                        call.args.$iter().for_each(visit);
                    }
                }
                ExprKind::Lambda(lambda) => {
                    lambda.filter.$iter().for_each(&mut *visit);
                    lambda.params.$iter().flat_map(|param| param.filter.$iter()).for_each(&mut *visit);
                    visit(&$($mutability)? lambda.body);
                }
                ExprKind::Asm(asm) => {
                    asm.outputs.$iter().for_each(|(_, place)| visit(place));
                    asm.inputs.$iter().for_each(|(_, value)| visit(value));
                }
                ExprKind::Block { stmts, value } => {
                    for stmt in stmts {
                        match stmt {
                            Stmt::Let { init, .. } => init.$iter().for_each(&mut *visit),
                            Stmt::Expr(expr) => visit(expr),
                            Stmt::Fn(_) => {}
                        }
                    }
                    value.$iter().for_each(|value| visit(value));
                }
                ExprKind::If { arms, other } => {
                    for (cond, value) in arms {
                        visit($cond_expr(cond));
                        visit(value);
                    }
                    other.$iter().for_each(|other| visit(other));
                }
                ExprKind::Match { scrutinee, arms } => {
                    visit(scrutinee);
                    arms.$iter().for_each(|(_, value)| visit(value));
                }
                ExprKind::While { cond, body, .. } => {
                    visit($cond_expr(cond));
                    visit(body);
                }
            }
        }
    };
}

traversal! {
    /// Calls `visit` on the expressions that `expr` holds directly, in the order in
    /// which they are evaluated.
    for_each_child, iter, cond_expr
}

traversal! {
    /// As [`for_each_child`], to change the children.
    for_each_child_mut, iter_mut, cond_expr_mut, mut
}

fn cond_expr_mut(cond: &mut Cond) -> &mut Expr {
    match cond {
        Cond::Expr(expr) | Cond::Let(_, expr) => expr,
    }
}

/// The expression of a condition.
pub fn cond_expr(cond: &Cond) -> &Expr {
    match cond {
        Cond::Expr(expr) | Cond::Let(_, expr) => expr,
    }
}

/// The filters that parameters have.
pub fn filters(params: &[Param]) -> impl Iterator<Item = &Expr> {
    params.iter().filter_map(|param| param.filter.as_ref())
}

/// Visits `root` and everything in it, parents first, in the order of evaluation.
pub fn walk<'a>(root: &'a Expr, mut visit: impl FnMut(&'a Expr)) {
    walk_while(root, |expr| {
        visit(expr);
        true
    });
}

/// As [`walk`], but enters only the expressions for which `visit` says so.
pub fn walk_while<'a>(root: &'a Expr, mut visit: impl FnMut(&'a Expr) -> bool) {
    let mut stack = vec![root];
    while let Some(expr) = stack.pop() {
        if visit(expr) {
            let first_child = stack.len();
            for_each_child(expr, &mut |child| stack.push(child));
            stack[first_child..].reverse();
        }
    }
}

/// The expressions of a function: its filters, then its body. The filters of the parameters
/// include that of the whole function.
pub fn fn_exprs(function: &Function) -> impl Iterator<Item = &Expr> {
    function.filter.iter().chain(filters(&function.params)).chain(&function.body)
}

/// All root expressions: of functions, statics and defaults of fields.
pub fn roots(program: &Program) -> impl Iterator<Item = &Expr> {
    let of_fns = program.fns.values().flat_map(fn_exprs);
    let of_statics = program.statics.values().flat_map(|item| item.init.iter().chain(&item.candidates));
    of_fns.chain(of_statics).chain(field_defaults(program))
}

/// The defaults of fields.
pub fn field_defaults(program: &Program) -> impl Iterator<Item = &Expr> {
    program.structs.values().flat_map(|item| &item.fields).filter_map(|field| field.default.as_ref())
}

/// Calls `visit` on the patterns that `expr` itself matches: of `let`, `if let`, `while let` and `match`. Those of
/// parameters are not among them.
pub fn for_each_pattern<'a>(expr: &'a Expr, mut visit: impl FnMut(&'a Pat)) {
    let of_cond = |cond: &'a Cond| match cond {
        Cond::Let(pat, _) => Some(pat),
        Cond::Expr(_) => None,
    };
    match &expr.kind {
        ExprKind::Block { stmts, .. } => {
            for stmt in stmts {
                if let Stmt::Let { pat, .. } = stmt {
                    visit(pat);
                }
            }
        }
        ExprKind::Match { arms, .. } => arms.iter().for_each(|(pat, _)| visit(pat)),
        ExprKind::If { arms, .. } => arms.iter().filter_map(|(cond, _)| of_cond(cond)).for_each(visit),
        ExprKind::While { cond, .. } => of_cond(cond).into_iter().for_each(visit),
        _ => {}
    }
}

/// The variables that a pattern binds, in source order.
pub fn bindings(pat: &Pat) -> Vec<LocalId> {
    let mut found = vec![];
    let mut stack = vec![pat];
    while let Some(pat) = stack.pop() {
        if let PatKind::Bind(local, _) = pat.kind {
            found.push(local);
        }
        let first_part = stack.len();
        for_each_part(pat, &mut |part| stack.push(part));
        stack[first_part..].reverse();
    }
    found
}

/// Calls `visit` on the patterns that `pat` holds directly.
pub fn for_each_part<'a>(pat: &'a Pat, visit: &mut dyn FnMut(&'a Pat)) {
    match &pat.kind {
        PatKind::Wild | PatKind::Lit(_) | PatKind::Bind(_, None) | PatKind::Error => {}
        PatKind::Bind(_, Some(inner)) => visit(inner),
        PatKind::Parts(parts) => parts.iter().for_each(visit),
        PatKind::Struct(fields) | PatKind::Variant(_, fields) => {
            fields.iter().for_each(|(_, part)| visit(part));
        }
    }
}

/// The variable that a place belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Root {
    /// A local variable.
    Local(LocalId),
    /// A static variable.
    Static(StaticId),
}

/// The variable that `place` is or is a part of; `None` behind a pointer and for values.
pub fn root_of(place: &Expr) -> Option<Root> {
    let mut place = place;
    loop {
        match &place.kind {
            ExprKind::Local(local) => return Some(Root::Local(*local)),
            ExprKind::Static(id) => return Some(Root::Static(*id)),
            ExprKind::Field { base, .. } | ExprKind::Index { base, .. } => place = base,
            _ => return None,
        }
    }
}

/// Calls `visit` on the places that `expr` itself writes, or allows to be written by
/// taking their address with `&mut`.
pub fn for_each_written<'a>(types: &Types, expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Assign { place, .. } | ExprKind::Step { place, .. } => visit(place),
        ExprKind::AddrOf(place) | ExprKind::Coerce { kind: Coercion::AddrOf, expr: place }
            if is_mut_ptr(types, expr) =>
        {
            visit(place);
        }
        ExprKind::Asm(asm) => asm.outputs.iter().for_each(|(_, place)| visit(place)),
        _ => {}
    }
}

fn is_mut_ptr(types: &Types, expr: &Expr) -> bool {
    let ty = match *types.kind(expr.ty) {
        TyKind::Simd(pointer, _) => pointer,
        _ => expr.ty,
    };
    matches!(types.kind(ty), TyKind::Ptr { kind: PtrKind::Mut, .. })
}

/// The parameter that the end of a body calls with its value: the last one, if
/// the result is `!` and that parameter is a function.
pub fn end_continuation<'a>(types: &Types, params: &'a [Param], ret: Ty) -> Option<&'a Param> {
    let last = params.last()?;
    (ret == types.never() && types.as_fn(last.ty).is_some()).then_some(last)
}
