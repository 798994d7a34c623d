//! Matches and patterns built by hand, and their diagnostics.

use super::*;
use crate::testing::{Build, summary};

/// The diagnostics for a match on `ty` with these arms.
fn check_match(b: &mut Build, ty: Ty, pats: Vec<Pat>) -> Vec<String> {
    let scrutinee = b.expr(ty, ExprKind::Tuple(vec![]));
    let body = b.match_(scrutinee, pats);
    b.main(body);
    summary(&check(&b.program))
}

#[test]
fn missing_options_are_named_with_their_payload() {
    let mut b = Build::new();
    let shape = b.enum_("Shape", &[("Point", &[]), ("Circle", &[b.i32]), ("Box", &[b.i32, b.i32])]);
    let radius = b.wild(b.i32);
    let circle = b.option_pat(shape, 1, vec![radius]);
    let found = check_match(&mut b, shape, vec![circle]);
    assert_eq!(
        found,
        ["E0502: match is not exhaustive: `Shape::Point` and `Shape::Box(_, _)` are not covered"]
    );
}

#[test]
fn missing_parts_are_named_in_their_place() {
    let mut b = Build::new();
    let parts = vec![b.wild(b.i32), b.lit_pat(b.bool, 1)];
    let pat = b.tuple_pat(parts);
    let ty = pat.ty;
    let found = check_match(&mut b, ty, vec![pat]);
    assert_eq!(found, ["E0502: match is not exhaustive: `(_, false)` is not covered"]);
}

#[test]
fn missing_numbers_have_their_sign() {
    let mut b = Build::new();
    let i8 = b.program.types.prim(Prim::I8);
    let pats = (0..=254).map(|bits| b.lit_pat(i8, bits)).collect();
    let found = check_match(&mut b, i8, pats);
    assert_eq!(found, ["E0502: match is not exhaustive: `-1` is not covered"]);
}

#[test]
fn missing_fields_are_named() {
    let mut b = Build::new();
    let flags = b.struct_("Flags", &[b.bool, b.bool]);
    let on = b.lit_pat(b.bool, 1);
    let pat = b.pat(flags, PatKind::Struct(vec![(1, on)]));
    let found = check_match(&mut b, flags, vec![pat]);
    assert_eq!(found, ["E0502: match is not exhaustive: `Flags { y = false, ... }` is not covered"]);
}

#[test]
fn an_arm_after_one_that_takes_everything_is_unreachable() {
    let mut b = Build::new();
    let pats = vec![b.lit_pat(b.i32, 1), b.wild(b.i32), b.lit_pat(b.i32, 2)];
    let everything = pats[1].span;
    let scrutinee = b.lit(3);
    let body = b.match_(scrutinee, pats);
    b.main(body);
    let found = check(&b.program);
    assert_eq!(summary(&found), ["W0010: this arm is never reached"]);
    assert_eq!(found[0].secondary[0].span, everything);
}

#[test]
fn patterns_of_let_and_parameters_must_be_irrefutable() {
    let mut b = Build::new();
    let option = b.enum_("Option", &[("None", &[]), ("Some", &[b.i32])]);
    let inner = b.wild(b.i32);
    let some = b.option_pat(option, 1, vec![inner]);
    let value = b.expr(option, ExprKind::Variant { option: 0, fields: vec![] });
    let body = b.block(vec![Stmt::Let { pat: some.clone(), init: Some(value) }], None);
    b.main(body);
    let span = some.span;
    b.function("f", vec![Param { pat: some, ty: option, filter: None, span }], b.unit);
    let found = check(&b.program);
    assert_eq!(
        summary(&found),
        [
            "E0501: the pattern of a parameter must match every value",
            "E0501: the pattern of a `let` must match every value"
        ]
    );
    assert_eq!(found[0].primary.message, "`Option::None` is not matched");
}

#[test]
fn the_only_option_always_matches() {
    let mut b = Build::new();
    let wrapper = b.enum_("Wrapper", &[("Of", &[b.bool])]);
    let (any, off) = (b.wild(b.bool), b.lit_pat(b.bool, 0));
    let pats = [b.option_pat(wrapper, 0, vec![off]), b.option_pat(wrapper, 0, vec![any])];
    assert_eq!(check_match(&mut b, wrapper, vec![pats[1].clone()]), [""; 0]);
    b.program.fns.clear();
    let found = check_match(&mut b, wrapper, vec![pats[0].clone()]);
    assert_eq!(found, ["E0502: match is not exhaustive: `Wrapper::Of(true)` is not covered"]);
}

#[test]
fn patterns_with_errors_are_not_checked() {
    let mut b = Build::new();
    let pats = vec![b.pat(b.i32, PatKind::Error), b.lit_pat(b.i32, 2)];
    let ty = b.i32;
    assert_eq!(check_match(&mut b, ty, pats), [""; 0]);
}
