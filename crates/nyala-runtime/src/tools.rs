//! Functions that tests and benchmarks call.

use std::ffi::c_void;
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Gets the values of a result.
pub type Observer = fn(&[u64]);

static OBSERVER: RwLock<Observer> = RwLock::new(|_| ());

/// Whether an observer was set: benchmarks that are measured have none, and do not pay for it.
static IS_OBSERVED: AtomicBool = AtomicBool::new(false);

/// Sets what [`nyala_result`] calls, or nothing.
pub fn set_observer(observer: Option<Observer>) {
    IS_OBSERVED.store(observer.is_some(), Ordering::Relaxed);
    *OBSERVER.write().unwrap_or_else(PoisonError::into_inner) = observer.unwrap_or(|_| ());
}

/// Passes the result of a benchmark on to the tool that called it.
///
/// # Safety
/// There are as many values as `count` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nyala_result(values: *const u64, count: u64) {
    if IS_OBSERVED.load(Ordering::Relaxed) {
        let observer = *OBSERVER.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's promise.
        observer(unsafe { std::slice::from_raw_parts(values, count as usize) });
    }
}

/// The promise that two pointers lead to different allocations, where code generation makes no use of it.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_separate(_: *const c_void, _: *const c_void) {}

/// Uses what `value` points to, as far as the optimizer can tell.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_black_box(value: *mut c_void) {
    hint::black_box(value);
}
