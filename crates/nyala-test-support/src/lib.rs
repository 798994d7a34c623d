//! Support for the tests of several crates.
//!
//! * [`ir_files`]: folders of `.ir` files, each a program with its expected output;
//! * [`snapshot`]: comparison with a stored text, which `BLESS=1` rewrites.
//!
//! Crates use this as a development dependency. It depends on `nyala-ir` only, so the
//! tests of every later crate can use it.

pub mod ir_files;
pub mod snapshot;
