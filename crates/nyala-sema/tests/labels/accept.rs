//! Programs that are right, with the types that inference finds.

use crate::check_labels;

#[test]
fn literals_take_the_type_of_the_context() {
    check_labels(
        "
fn f(x: i64) -> i64 { 1 + x }
//                    ^ i64
fn g() -> f32 { 1.5 }
//              ^^^ f32
fn h() -> i32 { let a = 1; let b = 2.5; a }
//                  ^ i32
//                             ^ f64
fn k(x: f32) -> f32 { x * 2 }
//                        ^ f32
fn least() -> i32 { -2147483648 }
",
    );
}
