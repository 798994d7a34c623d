//! Programs that are wrong, with what is reported.

use crate::check_labels;

#[test]
fn a_wrong_argument_is_reported_where_it_stands() {
    check_labels(
        "
fn f(x: i32) -> i32 { x }
fn g() -> i32 { f(1.5f) }
//                ^^^^ error: expected `i32`, found `f32`
",
    );
}
