//! Functions that tests and benchmarks call.

use std::ffi::c_void;
use std::hint;
use std::sync::{PoisonError, RwLock};

/// Returns the numbers that the generated arguments of tests are made of.
pub type Generator = fn() -> u64;

static GENERATOR: RwLock<Generator> = RwLock::new(|| 0);

/// Sets what [`nyala_generate`] calls. Before, it gives zeros.
pub fn set_generator(generator: Generator) {
    *GENERATOR.write().unwrap_or_else(PoisonError::into_inner) = generator;
}

/// The next number of the generator.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_generate() -> u64 {
    let generator = *GENERATOR.read().unwrap_or_else(PoisonError::into_inner);
    generator()
}

/// Uses what `value` points to, as far as the optimizer can tell.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_black_box(value: *mut c_void) {
    hint::black_box(value);
}
