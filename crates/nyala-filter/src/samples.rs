//! Memory for samples that starts at a cache line.
//!
//! An access of a whole SIMD register that crosses cache lines takes two accesses. Large blocks from the system's
//! allocator start 16 bytes after a page, so all accesses to rows of 4 KiB would cross lines.

use std::ops::{Deref, DerefMut};

/// The samples of a cache line.
pub(crate) const LINE: usize = 64 / size_of::<f32>();

/// Samples. The first one is at the start of a cache line.
#[derive(Default, Debug)]
pub(crate) struct Samples {
    /// The samples with unused ones before and after them.
    block: Vec<f32>,
    start: usize,
    len: usize,
}

impl Samples {
    /// Samples that are 0.
    pub(crate) fn zero(len: usize) -> Samples {
        let block = vec![0.0; len + LINE - 1];
        // Where the standard library cannot tell, the block is slower, but as good.
        let start = block.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE - 1);
        Samples { block, start, len }
    }
}

impl Clone for Samples {
    fn clone(&self) -> Samples {
        let mut copy = Samples::zero(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl PartialEq for Samples {
    fn eq(&self, other: &Samples) -> bool {
        self[..] == other[..]
    }
}

impl Deref for Samples {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.block[self.start..][..self.len]
    }
}

impl DerefMut for Samples {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.block[self.start..][..self.len]
    }
}
