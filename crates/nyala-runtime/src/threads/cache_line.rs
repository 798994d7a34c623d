//! A value with its own cache lines.

/// A value alone in its cache line, and in the adjacent one that processors prefetch.
#[repr(align(128))]
pub(super) struct CacheLine<T>(pub T);

impl<T> std::ops::Deref for CacheLine<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
