//! `cargo xtask`: everything longer than the ordinary tests.

fn main() {}
