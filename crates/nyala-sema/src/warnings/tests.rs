//! Small programs built by hand, and their warnings.

use nyala_span::Name;
use nyala_syntax::ast::{BinaryOp, PtrKind};

use super::check;
use crate::shadowing::Interface;
use crate::testing::{Build, summary};
use crate::tree::{Cond, Expr, ExprKind, Linkage, LocalId, Stmt};

/// The warnings for `main` with these statements.
fn check_main(b: &mut Build, stmts: Vec<Stmt>, value: Option<Expr>) -> Vec<String> {
    let body = b.block(stmts, value);
    b.main(body);
    summary(&check(&b.program, &Interface::default(), &|_| false, &|_| false, &|_| false))
}

fn while_(b: &mut Build, body: Expr) -> Expr {
    let (break_local, continue_local) = (b.local("break", b.unit, false), b.local("continue", b.unit, false));
    let cond = b.expr(b.bool, ExprKind::Lit(1));
    let kind = ExprKind::While {
        cond: Box::new(Cond::Expr(cond)),
        body: Box::new(body),
        break_local,
        continue_local,
    };
    b.expr(b.unit, kind)
}

fn set(b: &mut Build, local: LocalId, value: u64) -> Expr {
    let (place, value) = (b.read(local), b.lit(value));
    b.assign(None, place, value)
}

const NOTHING: [&str; 0] = [];

#[test]
fn variables_that_are_never_read_are_unused() {
    let mut b = Build::new();
    let locals = ["used", "unused", "_x", "stored"].map(|name| b.local(name, b.i32, name == "stored"));
    let mut stmts: Vec<Stmt> = vec![];
    for local in locals {
        let value = b.lit(1);
        stmts.push(b.let_(local, Some(value)));
    }
    stmts.push(Stmt::Expr(set(&mut b, locals[3], 2)));
    let value = b.read(locals[0]);
    assert_eq!(
        check_main(&mut b, stmts, Some(value)),
        ["W0001: unused variable `unused`", "W0001: variable `stored` is assigned, but never read"]
    );
}

#[test]
fn parameters_of_entry_points_may_be_unused() {
    let mut b = Build::new();
    let mut fns = vec![];
    for name in ["inner", "exported", "declared"] {
        let x = b.local(name, b.i32, false);
        let param = b.param(x, None);
        let id = b.function(name, vec![param], b.unit);
        fns.push(id);
    }
    let (inner_body, exported_body) = (b.block(vec![], None), b.block(vec![], None));
    b.program.fns[fns[0]].body = Some(inner_body);
    b.program.fns[fns[1]].body = Some(exported_body);
    b.program.fns[fns[1]].linkage = Linkage::Export(Name::new("exported"));
    let arg = b.lit(1);
    let call = b.call(fns[0], vec![arg]);
    assert_eq!(check_main(&mut b, vec![Stmt::Expr(call)], None), ["W0002: unused parameter `inner`"]);
}

#[test]
fn the_end_of_a_body_calls_the_last_parameter() {
    let mut b = Build::new();
    let never = b.program.types.never();
    let cont = b.program.types.func(&[b.i32], never);
    let k = b.local("k", cont, false);
    let param = b.param(k, None);
    let f = b.function("f", vec![param], never);
    b.program.fns[f].body = Some(b.lit(3));
    let value = b.expr(b.program.fns[f].ty, ExprKind::Fn(f, vec![]));
    assert_eq!(check_main(&mut b, vec![], Some(value)), NOTHING);
}

#[test]
fn functions_that_no_entry_point_reaches_are_unused() {
    let mut b = Build::new();
    let lonely = b.function("lonely", vec![], b.i32);
    let call_itself = b.call(lonely, vec![]);
    b.program.fns[lonely].body = Some(call_itself);
    b.import("puts", b.i32);
    assert_eq!(
        summary(&check(&b.program, &Interface::default(), &|_| false, &|_| false, &|_| false)),
        NOTHING,
        "a program without entry points is a library"
    );
    assert_eq!(check_main(&mut b, vec![], None), ["W0003: function `lonely` is never used"]);
    assert_eq!(
        summary(&check(&b.program, &Interface::default(), &|_| true, &|_| false, &|_| false)),
        NOTHING,
        "functions of the prelude may be unused"
    );
}

#[test]
fn mut_without_writes_is_reported() {
    let mut b = Build::new();
    let (idle, lent) = (b.local("idle", b.i32, true), b.local("lent", b.i32, true));
    let (one, two) = (b.lit(1), b.lit(2));
    let stmts = vec![b.let_(idle, Some(one)), b.let_(lent, Some(two))];
    let place = b.read(lent);
    let (pointer, value) = (b.addr_of(PtrKind::Mut, place), b.read(idle));
    let pair = b.expr(b.unit, ExprKind::Tuple(vec![pointer, value]));
    assert_eq!(check_main(&mut b, stmts, Some(pair)), ["W0004: variable `idle` need not be `mut`"]);
}

#[test]
fn casts_and_statements_without_effect_are_reported() {
    let mut b = Build::new();
    let (one, two, three) = (b.lit(1), b.lit(2), b.lit(3));
    let sum = b.add(one, two);
    let cast = b.expr(b.i32, ExprKind::Cast(Box::new(sum)));
    let literal_cast = b.expr(b.i32, ExprKind::Cast(Box::new(three)));
    let f = b.import("f", b.unit);
    let call = b.call(f, vec![]);
    let lambda = b.lambda(vec![], call.clone());
    let stmts = [cast, call, lambda].map(Stmt::Expr).into();
    assert_eq!(
        check_main(&mut b, stmts, Some(literal_cast)),
        [
            "W0005: cast of `i32` to itself",
            "W0006: statement has no effect",
            "W0006: statement has no effect"
        ]
    );
}

#[test]
fn reads_before_any_write_are_reported() {
    let mut b = Build::new();
    let (early, late) = (b.local("early", b.i32, true), b.local("late", b.i32, true));
    let early_read = b.read(early);
    let mut stmts = vec![b.let_(early, None), b.let_(late, None)];
    stmts.push(Stmt::Expr(set(&mut b, late, 1)));
    let used = b.local("_used", b.i32, false);
    stmts.push(b.let_(used, Some(early_read)));
    stmts.push(Stmt::Expr(set(&mut b, early, 1)));
    let value = b.read(late);
    assert_eq!(
        check_main(&mut b, stmts, Some(value)),
        ["W0007: variable `early` is read before it has a value"]
    );
}

#[test]
fn a_later_write_in_a_loop_may_precede_the_read() {
    let mut b = Build::new();
    let (outer, inner) = (b.local("outer", b.i32, true), b.local("inner", b.i32, true));
    let uses = [outer, inner].map(|local| {
        let (used, value) = (b.local("_used", b.i32, false), b.read(local));
        b.let_(used, Some(value))
    });
    let mut body = vec![b.let_(inner, None)];
    body.extend(uses);
    body.push(Stmt::Expr(set(&mut b, outer, 1)));
    body.push(Stmt::Expr(set(&mut b, inner, 1)));
    let body = b.block(body, None);
    let loop_ = while_(&mut b, body);
    let stmts = vec![b.let_(outer, None), Stmt::Expr(loop_)];
    assert_eq!(check_main(&mut b, stmts, None), ["W0007: variable `inner` is read before it has a value"]);
}

#[test]
fn writes_in_closures_may_precede_any_read() {
    let mut b = Build::new();
    let x = b.local("x", b.i32, true);
    b.program.locals[x].is_captured = true;
    let write = set(&mut b, x, 1);
    let (lambda, run) = (b.lambda(vec![], write), b.local("_run", b.unit, false));
    let stmts = vec![b.let_(x, None), b.let_(run, Some(lambda))];
    let value = b.read(x);
    assert_eq!(check_main(&mut b, stmts, Some(value)), NOTHING);
}

/// `fn f(n: i32, acc: i32) { f(n + 1, acc) }` with this filter on both parameters.
fn check_recursion(filter: impl Fn(&mut Build, LocalId, LocalId) -> Expr) -> Vec<String> {
    let mut b = Build::new();
    let (n, acc) = (b.local("n", b.i32, false), b.local("acc", b.i32, false));
    let filters = [filter(&mut b, n, acc), filter(&mut b, n, acc)];
    let params =
        [n, acc].into_iter().zip(filters).map(|(local, filter)| b.param(local, Some(filter))).collect();
    let f = b.function("f", params, b.i32);
    let (n, acc, one) = (b.read(n), b.read(acc), b.lit(1));
    let more = b.add(n, one);
    b.program.fns[f].body = Some(b.call(f, vec![more, acc]));
    let args = vec![b.lit(1), b.lit(2)];
    let call = b.call(f, args);
    check_main(&mut b, vec![], Some(call))
}

#[test]
fn filters_must_depend_on_parameters_that_recursion_changes() {
    let known = |b: &mut Build, local| {
        let local = b.read(local);
        b.expr(b.bool, ExprKind::Known(Box::new(local)))
    };
    let warning = "W0008: the filter of `f` does not depend on `n`, which its recursion changes";
    assert_eq!(check_recursion(|b, n, _| known(b, n)), NOTHING);
    assert_eq!(check_recursion(|b, _, acc| known(b, acc)), [warning]);
    assert_eq!(check_recursion(|b, _, _| b.expr(b.bool, ExprKind::Lit(1))), [warning]);
    assert_eq!(check_recursion(|b, _, _| b.expr(b.bool, ExprKind::Lit(0))), NOTHING);
}

#[test]
fn compound_assignments_whose_value_writes_the_target_are_reported() {
    let mut b = Build::new();
    let x = b.local("x", b.i32, true);
    let ten = b.lit(10);
    let place = Box::new(b.read(x));
    let dec = b.expr(b.i32, ExprKind::Step { place, is_dec: true, is_post: false });
    let place = b.read(x);
    let stmts = vec![b.let_(x, Some(ten)), Stmt::Expr(b.assign(Some(BinaryOp::Add), place, dec))];
    let value = b.read(x);
    assert_eq!(
        check_main(&mut b, stmts, Some(value)),
        ["W0009: the value of a compound assignment writes its target"]
    );
}

#[test]
fn deep_trees_fit_the_stack() {
    let mut b = Build::new();
    let x = b.local("_x", b.i32, true);
    let mut expr = b.lit(1);
    // Implicit conversions may add levels to those that the parser accepts.
    for _ in 0..2 * nyala_syntax::ast::MAX_DEPTH {
        let place = b.read(x);
        let value = b.block(vec![], Some(expr));
        expr = b.assign(Some(BinaryOp::Add), place, value);
    }
    let declared = b.let_(x, None);
    let found = check_main(&mut b, vec![declared], Some(expr));
    assert!(found.contains(&"W0007: variable `_x` is read before it has a value".to_owned()));
}
