//! Which processor a worker runs on: the system decides. `linux.rs` has the same interface.

/// The processor of the current thread, where it is known.
pub(super) fn current() -> Option<u32> {
    None
}

/// Executes `body` on other processors than this one.
pub(super) fn elsewhere(_processor: u32, body: impl FnOnce()) {
    body();
}
