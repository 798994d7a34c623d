//! When LLVM cannot go on.
//!
//! Some mistakes LLVM does not return as errors: it calls a handler, and ends the process
//! when that comes back. Nothing can be unwound through LLVM, so all that is left is to
//! tell the user, in the words of whoever runs the process.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

/// Told the reason; ends the process.
pub type FatalHook = fn(&str) -> !;

static HOOK: OnceLock<FatalHook> = OnceLock::new();

/// Chooses what happens when LLVM cannot go on. The first choice counts; without one,
/// LLVM's message is printed and the process aborts.
pub fn set_hook(hook: FatalHook) {
    HOOK.get_or_init(|| hook);
}

/// LLVM calls this.
pub(super) extern "C" fn handle(reason: *const c_char) {
    // SAFETY: LLVM gives a string.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    match HOOK.get() {
        Some(hook) => hook(&reason),
        None => {
            eprintln!("LLVM cannot go on: {reason}");
            std::process::abort()
        }
    }
}
