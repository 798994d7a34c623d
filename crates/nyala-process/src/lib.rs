//! The process around a program: what the command line `nyala` and the apps do when memory is exhausted, when they have
//! a bug, and when their output has no reader.
//!
//! [`run`] is the whole interface; the allocator comes with it. `memory` handles exhausted memory, and
//! `internal_error` panics.

mod internal_error;
mod memory;

use std::process::ExitCode;

/// Runs the program called `name` on a thread with a large stack, and returns its exit status: 101 after an
/// internal error. Without memory, the process ends with a message and status 1.
pub fn run(name: &'static str, work: impl FnOnce() -> ExitCode + Send) -> ExitCode {
    end_with_the_reader();
    memory::watch();
    nyala_driver::native::set_fatal_hook(internal_error::llvm_gave_up);
    internal_error::guard(name, work).unwrap_or_else(|failure| internal_error::report(&failure))
}

/// Restores the default action of `SIGPIPE`, which Rust changes: a write to a pipe without reader ends the process.
/// So a program that is run or interpreted here ends as its executable does.
#[cfg(unix)]
fn end_with_the_reader() {
    // SAFETY: this is the default action.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

#[cfg(not(unix))]
fn end_with_the_reader() {}
