//! Memory for the environments of closures.
//!
//! The last use of a closure is unknown, so its environment is never released. Each thread
//! allocates environments from its own chunks.

use std::alloc::{Layout, alloc};
use std::cell::Cell;
use std::ffi::c_void;

use crate::fail;

/// The size of a chunk.
const CHUNK: usize = 64 << 10;

thread_local! {
    /// The free part of the thread's chunk: start and end.
    static REST: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// `size` bytes aligned to `align`, a power of two. They are never freed.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_environment(size: i64, align: i64) -> *mut c_void {
    let (size, align) = (size as usize, align as usize);
    let (start, end) = REST.get();
    let at = start.next_multiple_of(align);
    if at + size <= end {
        REST.set((at + size, end));
        return at as *mut c_void;
    }
    let chunk = chunk(CHUNK.max(size), align.max(align_of::<u64>()));
    // A large environment has its own chunk; the current chunk stays in use.
    if size < CHUNK {
        REST.set((chunk as usize + size, chunk as usize + CHUNK));
    }
    chunk
}

fn chunk(size: usize, align: usize) -> *mut c_void {
    let layout = Layout::from_size_align(size, align);
    // SAFETY: a chunk is not empty.
    let chunk = layout.map_or(std::ptr::null_mut(), |layout| unsafe { alloc(layout) });
    if chunk.is_null() {
        fail(format_args!("out of memory: cannot allocate {size} bytes for a closure"));
    }
    chunk.cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_are_aligned_and_disjoint() {
        let mut last = 0;
        for (size, align) in [(8, 8), (1, 1), (32, 32), (100_000, 16), (24, 8), (70_000, 64), (16, 8)] {
            let at = nyala_environment(size, align) as usize;
            assert_eq!(at % align as usize, 0, "{size} bytes");
            // SAFETY: the memory was just allocated.
            unsafe { std::ptr::write_bytes(at as *mut u8, 1, size as usize) };
            assert_ne!(at, last);
            last = at;
        }
    }

    #[test]
    fn many_environments_do_not_overlap() {
        let all: Vec<usize> = (0..10_000).map(|_| nyala_environment(24, 8) as usize).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 24));
    }
}
