//! A place in memory that no other value shares.

/// A value alone in its cache line, and in the neighbour that processors fetch along with it.
#[repr(align(128))]
pub(super) struct CacheLine<T>(pub T);

impl<T> std::ops::Deref for CacheLine<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
