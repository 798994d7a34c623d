//! Compiles the Impala part of this crate.

use nyala_driver::embed::{CompileError, Compiler};

fn main() -> Result<(), CompileError> {
    Compiler::new().file("src/filters.impala").build_script("filters")
}
