//! Two checks of finished bodies: initializers of statics and defaults of fields are constant, and
//! control does not reach the end of a function that never returns.
//!
//! The compile-time evaluator, which may run functions, decides whether a value is
//! constant. This check only reports expressions that are never constant, at their
//! position. Bodies of lambdas run later, so they are not checked.

use nyala_span::{Code, Diagnostic, Name, Span};

use crate::tree::{Abi, Coercion, Expr, ExprKind, Linkage, Param, Program, Stmt};
use crate::types::Ty;
use crate::visit::{self, Root};

/// Checks the initializers of all statics and defaults, and the ends of all bodies. Skips what contains
/// errors.
pub fn check(program: &Program) -> Vec<Diagnostic> {
    let mut problems = vec![];
    for item in program.statics.values() {
        for init in item.init.iter().chain(&item.candidates) {
            problems.extend(not_constant(program, "the value of the static", item.name, init));
        }
    }
    for field in program.structs.values().flat_map(|item| &item.fields) {
        if let Some(default) = &field.default {
            problems.extend(not_constant(program, "the default of the field", field.name, default));
        }
    }
    for function in program.fns.values() {
        if let Some(body) = &function.body {
            problems.extend(reached_end(program, &function.params, function.ret, body));
        }
    }
    for root in visit::roots(program) {
        visit::walk(root, |expr| {
            if let ExprKind::Lambda(lambda) = &expr.kind {
                problems.extend(reached_end(program, &lambda.params, lambda.ret, &lambda.body));
            }
        });
    }
    problems.into_iter().map(Problem::into_diagnostic).collect()
}

/// The errors of this module.
enum Problem {
    NotConstant { what: &'static str, of: Name, because: Reason, at: Span },
    ReachedEnd { at: Span, last_param: Option<Span> },
}

/// Why a value is not constant.
enum Reason {
    ReadsMutable(Name),
    ReadsImported(Name),
    WritesStatic(Name),
    CallsImported(Name),
    Allocates,
    Assembly,
}

impl Problem {
    fn into_diagnostic(self) -> Diagnostic {
        match self {
            Problem::NotConstant { what, of, because, at } => {
                let message = format!("{what} `{of}` is not constant");
                Diagnostic::error(Code("E0430"), at, message).with_label(because.describe())
            }
            Problem::ReachedEnd { at, last_param } => {
                let message = "the end of a function that never returns can be reached";
                let error = Diagnostic::error(Code("E0431"), at, message)
                    .with_label("no continuation is called here");
                match last_param {
                    Some(last) => {
                        error.with_secondary(last, "not a function, so the end of the body cannot call it")
                    }
                    None => error,
                }
            }
        }
    }
}

impl Reason {
    fn describe(&self) -> String {
        match self {
            Reason::ReadsMutable(name) => {
                format!("`{name}` is `mut`, so its value is known only at run time")
            }
            Reason::ReadsImported(name) => format!("`{name}` is defined outside of the program"),
            Reason::WritesStatic(name) => format!("this changes `{name}`"),
            Reason::CallsImported(name) => {
                format!("`{name}` is defined outside of the program and cannot run at compile time")
            }
            Reason::Allocates => "memory can only be allocated at run time".into(),
            Reason::Assembly => "assembly cannot run at compile time".into(),
        }
    }
}

/// The first part of the initializer of `of` that exists at run time only.
fn not_constant(program: &Program, what: &'static str, of: Name, init: &Expr) -> Option<Problem> {
    let mut found = None;
    visit::walk_while(init, |expr| {
        if found.is_none() {
            let reason = run_time_only(program, expr);
            found = reason.map(|because| Problem::NotConstant { what, of, because, at: expr.span });
        }
        found.is_none() && !is_opaque(expr)
    });
    found
}

/// Whether the check does not enter `expr`: bodies that run later, and places whose address is
/// constant whatever they hold.
fn is_opaque(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Lambda(_) => true,
        ExprKind::AddrOf(place) | ExprKind::Coerce { kind: Coercion::AddrOf, expr: place } => {
            matches!(visit::root_of(place), Some(Root::Static(_)))
        }
        _ => false,
    }
}

fn run_time_only(program: &Program, expr: &Expr) -> Option<Reason> {
    match &expr.kind {
        ExprKind::Static(id) => {
            let item = &program.statics[*id];
            match item.linkage {
                Linkage::Import { .. } => Some(Reason::ReadsImported(item.name)),
                _ => item.is_mut.then_some(Reason::ReadsMutable(item.name)),
            }
        }
        ExprKind::Call(call) => match call.callee.kind {
            ExprKind::Fn(id, _) => {
                let callee = &program.fns[id];
                is_foreign(&callee.linkage).then_some(Reason::CallsImported(callee.name))
            }
            _ => None,
        },
        ExprKind::Assign { place, .. } | ExprKind::Step { place, .. } => match visit::root_of(place) {
            Some(Root::Static(id)) => Some(Reason::WritesStatic(program.statics[id].name)),
            _ => None,
        },
        ExprKind::Box(_) | ExprKind::HeapArray { .. } => Some(Reason::Allocates),
        ExprKind::Asm(_) => Some(Reason::Assembly),
        _ => None,
    }
}

/// Whether this function exists at run time only. The evaluator knows many intrinsics.
fn is_foreign(linkage: &Linkage) -> bool {
    matches!(linkage, Linkage::Import { abi: Abi::C | Abi::Device, .. })
}

/// A reachable end of a body that calls no continuation.
fn reached_end(program: &Program, params: &[Param], ret: Ty, body: &Expr) -> Option<Problem> {
    let types = &program.types;
    let is_wrong = ret == types.never()
        && !ends_never(program, body)
        && visit::end_continuation(types, params, ret).is_none();
    let last_param = params.last().map(|last| last.span);
    is_wrong.then(|| Problem::ReachedEnd { at: end_of(body), last_param })
}

/// Whether the end of `body` is unreachable, or may be so because of an earlier error.
fn ends_never(program: &Program, body: &Expr) -> bool {
    let never_or_error = [program.types.never(), program.types.error()];
    let last_ty = match &body.kind {
        ExprKind::Block { stmts, value: None } => match stmts.last() {
            Some(Stmt::Expr(last)) => last.ty,
            _ => body.ty,
        },
        _ => body.ty,
    };
    never_or_error.contains(&body.ty) || last_ty == program.types.error()
}

/// The closing brace of a block; other bodies as a whole.
fn end_of(body: &Expr) -> Span {
    match body.kind {
        ExprKind::Block { .. } if !body.span.is_none() => Span::new(body.span.hi - 1, body.span.hi),
        _ => body.span,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Build, summary};

    /// The labels of the errors for a static with this initializer.
    fn check_static(b: &mut Build, init: Expr) -> Vec<String> {
        b.static_("s", false, init);
        let found = check(&b.program);
        assert!(found.iter().all(|error| error.code == Code("E0430")));
        found.into_iter().map(|error| error.primary.message).collect()
    }

    const NOTHING: [&str; 0] = [];

    #[test]
    fn statics_are_built_from_constants_and_functions() {
        let mut b = Build::new();
        let (one, two) = (b.lit(1), b.lit(2));
        let base = b.static_("base", false, one);
        let base = b.read_static(base);
        let sum = b.add(base, two);
        let known = b.function("known", vec![], b.i32);
        b.program.fns[known].body = Some(sum.clone());
        let call = b.call(known, vec![]);
        let foreign = b.import("foreign", b.i32);
        let later = b.call(foreign, vec![]);
        let lambda = b.lambda(vec![], later);
        let all = b.expr(b.unit, ExprKind::Tuple(vec![sum, call, lambda]));
        assert_eq!(check_static(&mut b, all), NOTHING);
    }

    #[test]
    fn reads_of_mutable_statics_are_not_constant() {
        let mut b = Build::new();
        let zero = b.lit(0);
        let counter = b.static_("counter", true, zero);
        let (place, value) = (b.read_static(counter), b.read_static(counter));
        let address = b.addr_of(nyala_syntax::ast::PtrKind::Mut, place);
        let pair = b.expr(b.unit, ExprKind::Tuple(vec![address, value]));
        assert_eq!(
            check_static(&mut b, pair),
            ["`counter` is `mut`, so its value is known only at run time"]
        );
    }

    #[test]
    fn calls_of_foreign_functions_are_not_constant() {
        let mut b = Build::new();
        let clock = b.import("clock", b.i32);
        let call = b.call(clock, vec![]);
        assert_eq!(
            check_static(&mut b, call),
            ["`clock` is defined outside of the program and cannot run at compile time"]
        );
    }

    #[test]
    fn allocations_are_not_constant() {
        let mut b = Build::new();
        let len = Box::new(b.lit(3));
        let heap = b.expr(b.unit, ExprKind::HeapArray { len, elem: b.i32 });
        assert_eq!(check_static(&mut b, heap), ["memory can only be allocated at run time"]);
    }

    /// The errors for `fn f(p: ty) -> !` with the body `3`.
    fn check_end(param: impl Fn(&mut Build) -> Ty) -> Vec<String> {
        let mut b = Build::new();
        let (never, ty) = (b.program.types.never(), param(&mut b));
        let local = b.local("p", ty, false);
        let param = b.param(local, None);
        let f = b.function("f", vec![param], never);
        b.program.fns[f].body = Some(b.lit(3));
        summary(&check(&b.program))
    }

    #[test]
    fn the_end_of_a_body_that_never_returns_needs_a_continuation() {
        assert_eq!(check_end(|b| b.i32), ["E0431: the end of a function that never returns can be reached"]);
        let continuation = |b: &mut Build| b.program.types.func(&[b.i32], b.program.types.never());
        assert_eq!(check_end(continuation), NOTHING);
    }
}
