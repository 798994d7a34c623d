//! Stack overflow: a message with the call chain instead of a bare segmentation fault.
//!
//! Each thread of a program that is [watched](watch) has a guard: it knows the end of the thread's stack,
//! and provides an alternate signal stack. A handler for `SIGSEGV` and `SIGBUS` runs there. If the
//! address of the fault is at the end of the thread's stack, the handler reports a stack overflow and ends the process
//! with status 1. Any other fault goes to the handler that was there before.
//!
//! Only a process that belongs to the program is watched: an executable of `nyala build`, which calls
//! [`nyala_start_program`], and `nyala run`. A host that embeds a program keeps its own signal handlers.
//!
//! # What always holds
//!
//! * The handler calls functions that are async-signal-safe. Two are not formally so: the unwinder, and the flush of
//!   standard output. The message is written before the unwinder runs, and a fault inside of it ends the process
//!   with the same status. Standard output is flushed only if the fault is in code of the program, which holds no
//!   lock of the C library.
//! * Compiled code touches each page of a large frame in order (`probe-stack`), so no frame skips the guard pages.
//!
//! `report` writes the message, `unwind` walks the stack, `symbols` names functions.

#[cfg(target_os = "linux")]
mod handler;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod symbols;
#[cfg(target_os = "linux")]
mod unwind;

#[cfg(target_os = "linux")]
use handler::Guard;

use std::ffi::{CStr, c_char};

/// The functions of a program.
///
/// The list of functions holds for each function its symbol, its name and its place in the source. Each text ends with
/// a zero, and so does the list.
pub struct Program {
    /// The object file that the code was loaded from. Without one, the code is in the executable file of this process.
    pub object: Option<LoadedObject>,
    /// The functions of the program.
    pub functions: Vec<u8>,
}

/// An object file, and the address to which one of its functions was loaded.
#[derive(Clone)]
pub struct LoadedObject {
    /// The contents of the file.
    pub bytes: Vec<u8>,
    /// The symbol of the function.
    pub symbol: String,
    /// Its address.
    pub address: usize,
}

/// Runs `main`, which may overflow the stack, on the current thread.
pub fn watch<T>(program: Program, main: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "linux")]
    handler::install(program);
    #[cfg(not(target_os = "linux"))]
    drop(program);
    guarded("the main thread", main)
}

/// Runs the body of a thread. `thread` is its name in messages.
pub(crate) fn guarded<T>(thread: &'static str, body: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "linux")]
    let _guard = handler::is_installed().then(|| Guard::new(thread));
    #[cfg(not(target_os = "linux"))]
    let _ = thread;
    body()
}

/// The start of an executable, before its `main`, with the list of its functions as a [`Program`] has it.
///
/// # Safety
/// The list has this format, and lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nyala_start_program(functions: *const c_char) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the caller guarantees it.
        handler::install_for_executable(unsafe { list_at(functions) });
        std::mem::forget(Guard::new("the main thread"));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = functions;
}

/// The list at an address, with the zero at its end.
///
/// # Safety
/// The list has this format, and lives as long as the process.
#[cfg(target_os = "linux")]
unsafe fn list_at(start: *const c_char) -> &'static [u8] {
    let mut len = 0;
    // SAFETY: the caller guarantees it: texts follow each other until an empty one at the place of a symbol.
    unsafe {
        while *start.add(len) != 0 {
            for _ in 0..3 {
                len += CStr::from_ptr(start.add(len)).to_bytes_with_nul().len();
            }
        }
        std::slice::from_raw_parts(start.cast(), len + 1)
    }
}
