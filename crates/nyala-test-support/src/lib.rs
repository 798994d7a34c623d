//! Support for the tests of several crates.
//!
//! * [`browser`]: pages in a real browser;
//! * [`ir_files`]: folders of `.ir` files, each a program with its expected output;
//! * [`random`]: random numbers that are the same in every run;
//! * [`snapshot`]: comparison with a stored text, which `BLESS=1` rewrites.
//!
//! Crates use this as a development dependency. Of our crates it depends on `nyala-ir` only, so the
//! tests of every later crate can use it.

pub mod browser;
pub mod ir_files;
pub mod random;
pub mod snapshot;
