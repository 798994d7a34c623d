//! Filters that cannot stop the recursion they specialize.
//!
//! A function calls itself with a changed argument, and specializes on that parameter
//! whether or not it is known. If a run-time value decides where the recursion stops,
//! specialization does not terminate. A filter that depends on a changed parameter
//! stops it: `fn @(?n) power(x: i32, n: i32) -> i32`.

use cranelift_entity::EntitySet;
use nyala_span::Span;

use super::Warning;
use super::usage::Uses;
use crate::tree::{Call, Expr, ExprKind, FnId, Function, LocalId, PatKind, Program};
use crate::visit;

pub(super) fn check(program: &Program, uses: &Uses) -> Vec<Warning> {
    let mut warnings = vec![];
    for (id, function) in &program.fns {
        if let Some(body) = &function.body
            && visit::filters(&function.params).next().is_some()
        {
            warnings.extend(check_fn(program, function, &changes(id, function, body, uses)));
        }
    }
    warnings
}

/// A parameter that a recursive call changes.
struct Change {
    param: usize,
    local: LocalId,
    at: Span,
}

/// The changed parameters of a function, each once.
fn changes(id: FnId, function: &Function, body: &Expr, uses: &Uses) -> Vec<Change> {
    let mut changes: Vec<Option<Change>> = function.params.iter().map(|_| None).collect();
    visit::walk(body, |expr| {
        let Some(call) = as_call_of(id, expr) else { return };
        for (param, (pat, arg)) in function.params.iter().map(|param| &param.pat).zip(&call.args).enumerate()
        {
            if let PatKind::Bind(local, None) = pat.kind
                && is_changed(local, arg, uses)
            {
                changes[param].get_or_insert(Change { param, local, at: arg.span });
            }
        }
    });
    changes.into_iter().flatten().collect()
}

fn as_call_of(id: FnId, expr: &Expr) -> Option<&Call> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    matches!(call.callee.kind, ExprKind::Fn(callee, _) if callee == id).then_some(call)
}

/// A literal is the same in every call, so it changes the parameter once at most.
fn is_changed(param: LocalId, arg: &Expr, uses: &Uses) -> bool {
    match &arg.kind {
        ExprKind::Local(local) if *local == param => uses.is_written(param),
        ExprKind::Lit(_)
        | ExprKind::Str(_)
        | ExprKind::Fn(..)
        | ExprKind::FnParam(..)
        | ExprKind::Static(_) => false,
        ExprKind::Neg(inner) => is_changed(param, inner, uses),
        ExprKind::Coerce { expr, .. } => is_changed(param, expr, uses),
        _ => true,
    }
}

/// Warns about the first changed parameter whose filter depends on no changed parameter.
fn check_fn(program: &Program, function: &Function, changes: &[Change]) -> Option<Warning> {
    let mut changed = EntitySet::new();
    for change in changes {
        changed.insert(change.local);
    }
    let endless = changes.iter().find(|change| {
        let filter = function.params[change.param].filter.as_ref();
        filter.is_some_and(|filter| !is_never(filter) && !mentions(filter, &changed))
    })?;
    let parameter = &program.locals[endless.local];
    Some(Warning::EndlessFilter {
        function: function.name,
        parameter: parameter.name,
        declared: parameter.span,
        call: endless.at,
        remedy: remedy(program, function, &changed, function.params[endless.param].filter.as_ref()),
    })
}

/// The function with filters for those parameters that its filter mentions: the recursion does not change them.
/// None if the filter mentions no parameter.
fn remedy(
    program: &Program,
    function: &Function,
    changed: &EntitySet<LocalId>,
    filter: Option<&Expr>,
) -> Option<String> {
    let mut mentioned = EntitySet::new();
    visit::walk(filter?, |expr| {
        if let ExprKind::Local(local) = expr.kind {
            mentioned.insert(local);
        }
    });
    let mut is_any = false;
    let params = function.params.iter().map(|param| match param.pat.kind {
        PatKind::Bind(local, _) => {
            let is_steady = mentioned.contains(local) && !changed.contains(local);
            is_any |= is_steady;
            format!("{}{}", if is_steady { "@" } else { "" }, program.locals[local].name)
        }
        _ => "_".into(),
    });
    let params: Vec<String> = params.collect();
    is_any.then(|| format!("{}({})", function.name, params.join(", ")))
}

fn is_never(filter: &Expr) -> bool {
    matches!(filter.kind, ExprKind::Lit(0))
}

fn mentions(filter: &Expr, locals: &EntitySet<LocalId>) -> bool {
    let mut found = false;
    visit::walk_while(filter, |expr| {
        found |= matches!(expr.kind, ExprKind::Local(local) if locals.contains(local));
        !found
    });
    found
}
