//! Memory: allocation, release, copies, on the host and on [`crate::devices`].
//!
//! A block of the host's memory has a header before it with its layout, because the caller of a release
//! passes the address only.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::{Mutex, PoisonError};

use crate::devices::{self, Device, MemoryKind, with_device};
use crate::{fail, guard};

/// The alignment of memory from `anydsl_alloc`.
const ALIGN: usize = 64;

/// The alignment of memory that devices may map.
const PAGE: usize = 4096;

/// Blocks of at least this size use pages of 2 MiB.
const HUGE: usize = 4 << 20;

/// The header of a block, directly before it.
#[derive(Clone, Copy)]
struct Header {
    layout: Layout,
    /// The distance from the start of the allocation to the block.
    offset: usize,
}

/// `size` bytes aligned to `align`; null if `size` is 0.
fn allocate(size: usize, align: usize) -> *mut c_void {
    if size == 0 {
        return ptr::null_mut();
    }
    let align = align.max(align_of::<Header>());
    let offset = size_of::<Header>().next_multiple_of(align);
    // The end is aligned, too, for guard pages.
    let total = size.checked_next_multiple_of(align).and_then(|size| offset.checked_add(size));
    let layout = total.and_then(|total| Layout::from_size_align(total, align).ok());
    let Some(layout) = layout else { fail(format_args!("cannot allocate {size} bytes aligned to {align}")) };
    let start = match guard::is_on() {
        true => guard::allocate(layout.size()),
        // SAFETY: the layout contains the header, so it is not empty.
        false => unsafe { alloc(layout) },
    };
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

/// Requests large pages, so that sequential accesses do not wait for address translation. The system may
/// refuse.
#[cfg(target_os = "linux")]
fn prefer_huge_pages(start: *mut u8, size: usize) {
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: i32) -> i32;
    }
    const MADV_HUGEPAGE: i32 = 14;
    let skip = start.align_offset(PAGE);
    let length = size.saturating_sub(skip) / PAGE * PAGE;
    // SAFETY: whole pages of our allocation; the advice does not change their contents.
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
    // SAFETY: `allocate` wrote the header there, with the layout of the allocation.
    unsafe {
        let header = block.cast::<Header>().sub(1).read();
        let start = block.cast::<u8>().sub(header.offset);
        match guard::is_on() {
            true => guard::release(start, header.layout.size()),
            false => dealloc(start, header.layout),
        }
    }
}

fn size_of_request(size: i64, what: &str) -> usize {
    usize::try_from(size).unwrap_or_else(|_| fail(format_args!("{what}: {size} is no size")))
}

/// Prints the platforms and their devices.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_info() {
    crate::print::write(&devices::describe());
}

/// The name of a device. It is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_device_name(device: i32) -> *const c_char {
    /// Each name is allocated once.
    static NAMES: Mutex<BTreeMap<i32, CString>> = Mutex::new(BTreeMap::new());
    let Some(found) = Device::decode(device) else { return c"host".as_ptr() };
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = names.entry(device).or_insert_with(|| {
        let name = with_device(found, format_args!("anydsl_device_name"), |platform| {
            let devices = platform.devices()?;
            let info = devices.get(found.number as usize).ok_or("there is no such device")?;
            Ok(info.name.clone())
        });
        CString::new(name).unwrap_or_default()
    });
    name.as_ptr()
}

/// Whether a device has a feature, by the platform's name of it; the host has none.
///
/// # Safety
/// The feature is a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anydsl_device_check_feature_support(device: i32, feature: *const c_char) -> bool {
    let Some(device) = Device::decode(device) else { return false };
    // SAFETY: the caller guarantees it.
    let feature = unsafe { CStr::from_ptr(feature) }.to_string_lossy();
    with_device(device, format_args!("anydsl_device_check_feature_support"), |platform| {
        platform.has_feature(device.number, &feature)
    })
}

/// New memory of this kind; on the host with this alignment.
fn allocate_on(device: i32, size: i64, kind: MemoryKind, align: usize, what: &str) -> *mut c_void {
    let size = size_of_request(size, what);
    match Device::decode(device) {
        None => allocate(size, align),
        Some(_) if size == 0 => ptr::null_mut(),
        Some(device) => {
            let block = with_device(device, format_args!("{what} of {size} bytes"), |platform| {
                platform.alloc(device.number, size, kind).map(AtomicPtr::new)
            });
            block.into_inner()
        }
    }
}

/// Memory on a device.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_alloc(device: i32, size: i64) -> *mut c_void {
    allocate_on(device, size, MemoryKind::Device, ALIGN, "anydsl_alloc")
}

/// Memory of the host that a device can map.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_alloc_host(device: i32, size: i64) -> *mut c_void {
    allocate_on(device, size, MemoryKind::Host, PAGE, "anydsl_alloc_host")
}

/// Memory that the host and the device address.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_alloc_unified(device: i32, size: i64) -> *mut c_void {
    allocate_on(device, size, MemoryKind::Unified, PAGE, "anydsl_alloc_unified")
}

/// The device's address of mapped host memory.
///
/// # Safety
/// `block` came from `anydsl_alloc_host`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anydsl_get_device_ptr(device: i32, block: *mut c_void) -> *mut c_void {
    let Some(device) = Device::decode(device) else { return block };
    let address = with_device(device, format_args!("anydsl_get_device_ptr"), |platform| {
        // SAFETY: the caller guarantees it.
        unsafe { platform.device_pointer(device.number, block) }.map(AtomicPtr::new)
    });
    address.into_inner()
}

/// # Safety
/// As for [`anydsl_release`] and [`anydsl_release_host`].
unsafe fn release_on(device: i32, block: *mut c_void, kind: MemoryKind, what: &str) {
    match Device::decode(device) {
        // SAFETY: the caller guarantees it.
        None => unsafe { release(block) },
        Some(_) if block.is_null() => {}
        Some(device) => with_device(device, format_args!("{what}"), |platform| {
            // SAFETY: the caller guarantees it.
            unsafe { platform.release(device.number, block, kind) }
        }),
    }
}

/// Frees memory of `anydsl_alloc` or `anydsl_alloc_unified`.
///
/// # Safety
/// `block` is null, or such a block that was not released before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anydsl_release(device: i32, block: *mut c_void) {
    // SAFETY: the caller guarantees it.
    unsafe { release_on(device, block, MemoryKind::Device, "anydsl_release") }
}

/// Frees memory of `anydsl_alloc_host`.
///
/// # Safety
/// `block` is null, or such a block that was not released before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anydsl_release_host(device: i32, block: *mut c_void) {
    // SAFETY: the caller guarantees it.
    unsafe { release_on(device, block, MemoryKind::Host, "anydsl_release_host") }
}

/// Copies `size` bytes; on the host, the ranges may overlap. Waits for all kernels that were launched
/// before on the devices.
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
    let size = size_of_request(size, "anydsl_copy");
    let offsets = [src_offset, dst_offset].map(|offset| size_of_request(offset, "anydsl_copy"));
    // The host must not compute with addresses of a device.
    let src = src.cast::<u8>().wrapping_add(offsets[0]).cast::<c_void>();
    let dst = dst.cast::<u8>().wrapping_add(offsets[1]).cast::<c_void>();
    let (from, to) = (Device::decode(src_device), Device::decode(dst_device));
    let device = match (from, to) {
        // SAFETY: the caller guarantees it.
        (None, None) => return unsafe { ptr::copy(src.cast::<u8>(), dst.cast::<u8>(), size) },
        (Some(from), Some(to)) if from.platform != to.platform => {
            let what = format_args!("anydsl_copy from {from} to {to}: they are of different platforms");
            return devices::report(what);
        }
        (Some(device), _) | (_, Some(device)) => device,
    };
    if size > 0 {
        with_device(device, format_args!("anydsl_copy of {size} bytes"), |platform| {
            let number = |device: Option<Device>| device.map(|device| device.number);
            // SAFETY: the caller guarantees it.
            unsafe { platform.copy((number(from), src), (number(to), dst), size) }
        });
    }
}

/// Waits for a device; the host has no asynchronous work.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_synchronize(device: i32) {
    if let Some(device) = Device::decode(device) {
        with_device(device, format_args!("anydsl_synchronize"), |platform| {
            platform.synchronize(device.number)
        });
    }
}

/// Memory with a given alignment.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_aligned_malloc(size: usize, align: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        fail(format_args!("anydsl_aligned_malloc: {align} is no alignment"));
    }
    allocate(size, align)
}

/// Frees memory of `anydsl_aligned_malloc`.
///
/// # Safety
/// `block` is null, or such a block that was not released before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anydsl_aligned_free(block: *mut c_void) {
    // SAFETY: the caller guarantees it.
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
