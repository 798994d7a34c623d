//! Guard pages: with `NYALA_GUARD=1` in the environment, an access beyond the end of an allocation ends the program.
//!
//! Each allocation has pages of its own. It ends, up to its alignment, at a page that cannot be accessed.

use std::sync::OnceLock;

pub(crate) use system::{allocate, release};

/// Whether allocations have guard pages. That never changes while a program runs.
pub(crate) fn is_on() -> bool {
    static IS_ON: OnceLock<bool> = OnceLock::new();
    *IS_ON.get_or_init(|| {
        cfg!(target_os = "linux") && std::env::var_os("NYALA_GUARD").is_some_and(|on| on == "1")
    })
}

#[cfg(target_os = "linux")]
mod system {
    use std::ptr;

    /// The size of a page.
    const PAGE: usize = 4096;

    /// The bytes of all pages for an allocation, without the one behind it.
    fn pages(size: usize) -> Option<usize> {
        size.checked_next_multiple_of(PAGE).filter(|pages| pages.checked_add(PAGE).is_some())
    }

    /// `size` bytes before a guard page; null if the system refuses.
    pub(crate) fn allocate(size: usize) -> *mut u8 {
        let Some(pages) = pages(size) else { return ptr::null_mut() };
        // SAFETY: a new mapping at any address; the page that is protected is its last one.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let base =
                libc::mmap(ptr::null_mut(), pages + PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if base == libc::MAP_FAILED || libc::mprotect(base.add(pages), PAGE, libc::PROT_NONE) != 0 {
                return ptr::null_mut();
            }
            base.cast::<u8>().add(pages - size)
        }
    }

    /// # Safety
    /// `start` comes from [`allocate`] with this size, and was not released.
    pub(crate) unsafe fn release(start: *mut u8, size: usize) {
        let Some(pages) = pages(size) else { return };
        // SAFETY: the caller's promise: these are the pages of the mapping.
        unsafe { libc::munmap(start.sub(pages - size).cast(), pages + PAGE) };
    }
}

/// Guard pages are never on.
#[cfg(not(target_os = "linux"))]
mod system {
    pub(crate) fn allocate(_size: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub(crate) unsafe fn release(_start: *mut u8, _size: usize) {}
}
