//! Fatal errors of LLVM.
//!
//! LLVM does not return some errors: it calls a handler, and ends the process when the handler returns. Nothing
//! can unwind through LLVM, so the handler can only print a message and end the process.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

/// Takes the reason; ends the process.
pub type FatalHook = fn(&str) -> !;

static HOOK: OnceLock<FatalHook> = OnceLock::new();

/// Sets the handler of fatal errors. The first call decides; without one, LLVM's message is printed and the process
/// aborts.
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
