//! Out of memory: a message and exit status 1, for every kind of allocation.
//!
//! Rust, LLVM and the C++ library call `abort` if an allocation fails, with different messages or
//! none. So the allocator of this program ends the process, and a handler for `SIGABRT` checks whether
//! memory is exhausted. Other aborts are not changed.
//!
//! Allocations from [`LARGE`] on return null, since the interpreter checks whether the system has that much.

use std::alloc::{GlobalAlloc, Layout, System};

/// The allocator of the system, except that small allocations do not fail.
pub struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Callers check the result of allocations of at least this size.
const LARGE: usize = 1 << 24;

/// The message, with a line break.
const MESSAGE: &[u8] = b"error: out of memory\n";

/// The exit status, as of any program with errors.
const STATUS: i32 = 1;

fn checked(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() && size < LARGE {
        give_up();
    }
    memory
}

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        checked(unsafe { System.realloc(memory, layout, size) }, size)
    }
}

#[cfg(unix)]
pub use unix::{give_up, is_exhausted, watch};

#[cfg(unix)]
mod unix {
    use std::ffi::c_int;
    use std::mem::zeroed;
    use std::ptr::null_mut;

    use super::{MESSAGE, STATUS};

    /// An abort with less free memory than this counts as out of memory: LLVM alone needs more.
    const ENOUGH: usize = 256 << 20;

    /// Ends the process without allocating memory.
    pub fn give_up() -> ! {
        // SAFETY: these are that many bytes, and both functions may be called anywhere.
        unsafe {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(STATUS)
        }
    }

    /// Whether the system has no memory for this process.
    pub fn is_exhausted() -> bool {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new memory is mapped, not used, and unmapped.
        unsafe {
            let memory = libc::mmap(null_mut(), ENOUGH, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            memory == libc::MAP_FAILED || libc::munmap(memory, ENOUGH) != 0
        }
    }

    /// Installs the handler for aborts.
    pub fn watch() {
        // SAFETY: the handler has the required type; all zeros is a valid empty set of signals.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = on_abort as *const () as usize;
            libc::sigaction(libc::SIGABRT, &action, null_mut());
        }
    }

    /// Calls only async-signal-safe functions.
    extern "C" fn on_abort(signal: c_int) {
        if is_exhausted() {
            give_up();
        }
        // SAFETY: this restores the default action and sends the signal again.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

#[cfg(not(unix))]
pub fn give_up() -> ! {
    std::process::abort()
}

#[cfg(not(unix))]
pub fn is_exhausted() -> bool {
    false
}

#[cfg(not(unix))]
pub fn watch() {}
