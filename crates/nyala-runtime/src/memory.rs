//! Memory of the host: allocation, release, copies.
//!
//! A device is a platform in the low four bits and a number above. The host is
//! device 0, and the only one there is.
//!
//! A block of memory has a header in front of it with its layout, because whoever
//! releases it says only where it is.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_char, c_void};
use std::ptr;

use crate::fail;

/// The alignment of memory from `anydsl_alloc`.
const ALIGN: usize = 64;

/// The alignment of memory that devices may map.
const PAGE: usize = 4096;

/// Blocks of at least so many bytes are worth pages of 2 MiB.
const HUGE: usize = 4 << 20;

/// What is remembered of a block, just in front of it.
#[derive(Clone, Copy)]
struct Header {
    layout: Layout,
    /// From the start of what was allocated to the block.
    offset: usize,
}

/// `size` bytes aligned to `align`; null for nothing.
fn allocate(size: usize, align: usize) -> *mut c_void {
    if size == 0 {
        return ptr::null_mut();
    }
    let align = align.max(align_of::<Header>());
    let offset = size_of::<Header>().next_multiple_of(align);
    let layout = offset.checked_add(size).and_then(|total| Layout::from_size_align(total, align).ok());
    let Some(layout) = layout else { fail(format_args!("cannot allocate {size} bytes aligned to {align}")) };
    // SAFETY: the layout is not empty, as the header is not.
    let start = unsafe { alloc(layout) };
    if start.is_null() {
        fail(format_args!("out of memory: cannot allocate {size} bytes"));
    }
    if size >= HUGE {
        prefer_huge_pages(start, layout.size());
    }
    // SAFETY: `offset` is inside of the allocation, and the header fits in front
    // of it, aligned because both its size and the offset are multiples of its alignment.
    unsafe {
        let block = start.add(offset);
        block.cast::<Header>().sub(1).write(Header { layout, offset });
        block.cast()
    }
}

/// Asks the system for large pages, so that streaming through memory does not wait for
/// address translation. It may decline.
#[cfg(target_os = "linux")]
fn prefer_huge_pages(start: *mut u8, size: usize) {
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: i32) -> i32;
    }
    const MADV_HUGEPAGE: i32 = 14;
    let skip = start.align_offset(PAGE);
    let length = size.saturating_sub(skip) / PAGE * PAGE;
    // SAFETY: whole pages of an allocation of ours; the advice does not change what they hold.
    unsafe { madvise(start.wrapping_add(skip).cast(), length, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn prefer_huge_pages(_start: *mut u8, _size: usize) {}

/// # Safety
/// `block` is null or comes from [`allocate`] and was not released.
unsafe fn release(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: `allocate` wrote the header there, with what it allocated.
    unsafe {
        let header = block.cast::<Header>().sub(1).read();
        dealloc(block.cast::<u8>().sub(header.offset), header.layout);
    }
}

fn host_only(device: i32, what: &str) {
    if device != 0 {
        let (platform, number) = (device & 15, device >> 4);
        fail(format_args!("{what}: there is no device {number} of platform {platform}"));
    }
}

fn size_of_request(size: i64, what: &str) -> usize {
    usize::try_from(size).unwrap_or_else(|_| fail(format_args!("{what}: {size} is no size")))
}

/// Prints the platforms and their devices.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_info() {
    crate::print::write("host: 1 device\n");
}

/// The name of a device.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_device_name(device: i32) -> *const c_char {
    host_only(device, "anydsl_device_name");
    c"host".as_ptr()
}

/// Whether a device has a feature: the host has none that are known by name.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_device_check_feature_support(_device: i32, _feature: *const c_char) -> bool {
    false
}

/// Memory on a device.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_alloc(device: i32, size: i64) -> *mut c_void {
    host_only(device, "anydsl_alloc");
    allocate(size_of_request(size, "anydsl_alloc"), ALIGN)
}

/// Memory of the host that a device can map.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_alloc_host(device: i32, size: i64) -> *mut c_void {
    host_only(device, "anydsl_alloc_host");
    allocate(size_of_request(size, "anydsl_alloc_host"), PAGE)
}

/// Memory that both sides address.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_alloc_unified(device: i32, size: i64) -> *mut c_void {
    host_only(device, "anydsl_alloc_unified");
    allocate(size_of_request(size, "anydsl_alloc_unified"), PAGE)
}

/// The device's address of mapped host memory.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_get_device_ptr(device: i32, block: *mut c_void) -> *mut c_void {
    host_only(device, "anydsl_get_device_ptr");
    block
}

/// Frees what `anydsl_alloc` or `anydsl_alloc_unified` gave.
///
/// # Safety
/// `block` is null, or such a block that was not released before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anydsl_release(device: i32, block: *mut c_void) {
    host_only(device, "anydsl_release");
    // SAFETY: the caller's promise.
    unsafe { release(block) }
}

/// Frees what `anydsl_alloc_host` gave.
///
/// # Safety
/// `block` is null, or such a block that was not released before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anydsl_release_host(device: i32, block: *mut c_void) {
    host_only(device, "anydsl_release_host");
    // SAFETY: the caller's promise.
    unsafe { release(block) }
}

/// Copies `size` bytes; the ranges may overlap.
///
/// # Safety
/// Both ranges are valid, the destination for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anydsl_copy(
    src_device: i32,
    src: *const c_void,
    src_offset: i64,
    dst_device: i32,
    dst: *mut c_void,
    dst_offset: i64,
    size: i64,
) {
    host_only(src_device, "anydsl_copy");
    host_only(dst_device, "anydsl_copy");
    let size = size_of_request(size, "anydsl_copy");
    let offsets = [src_offset, dst_offset].map(|offset| size_of_request(offset, "anydsl_copy"));
    // SAFETY: the caller's promise.
    unsafe { ptr::copy(src.cast::<u8>().add(offsets[0]), dst.cast::<u8>().add(offsets[1]), size) }
}

/// Waits for a device; the host does nothing behind the program's back.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_synchronize(device: i32) {
    host_only(device, "anydsl_synchronize");
}

/// Memory with an alignment of choice.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_aligned_malloc(size: usize, align: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        fail(format_args!("anydsl_aligned_malloc: {align} is no alignment"));
    }
    allocate(size, align)
}

/// Frees what `anydsl_aligned_malloc` gave.
///
/// # Safety
/// `block` is null, or such a block that was not released before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anydsl_aligned_free(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { release(block) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_can_be_copied_and_released() {
        let (a, b) = (anydsl_alloc(0, 100), anydsl_aligned_malloc(100, 1));
        assert!(a.addr().is_multiple_of(ALIGN));
        assert!(anydsl_alloc_host(0, 1).addr().is_multiple_of(PAGE));
        // SAFETY: both have 100 bytes and are released once.
        unsafe {
            a.cast::<u8>().write_bytes(7, 100);
            anydsl_copy(0, a, 10, 0, b, 0, 90);
            assert_eq!(b.cast::<u8>().add(89).read(), 7);
            anydsl_release(0, a);
            anydsl_aligned_free(b);
            anydsl_release(0, ptr::null_mut());
        }
    }
}
