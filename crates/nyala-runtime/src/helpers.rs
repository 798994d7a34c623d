//! Small functions that old test programs link.
//!
//! Their names are too common for symbols of a library: `read` is also a function of the system. So
//! [`SYMBOLS`](crate::SYMBOLS) has them under these names, and the static library with a prefix.

use std::ffi::{c_char, c_int, c_void};

use crate::print::{anydsl_print_char, anydsl_print_string, write};

unsafe extern "C" {
    fn atoi(text: *const c_char) -> c_int;
    fn getchar() -> c_int;
    fn memset(block: *mut c_void, byte: c_int, size: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
}

/// Prints a byte.
#[unsafe(export_name = "nyala_helper_print_char")]
pub extern "C" fn print_char(byte: u8) {
    anydsl_print_char(byte);
}

/// Prints a byte.
#[unsafe(export_name = "nyala_helper_put_u8")]
pub extern "C" fn put_u8(byte: u8) {
    anydsl_print_char(byte);
}

/// Prints text up to its zero.
///
/// # Safety
/// `text` points to bytes that end with a zero.
#[unsafe(export_name = "nyala_helper_print")]
pub unsafe extern "C" fn print(text: *const c_char) {
    // SAFETY: the caller guarantees it.
    unsafe { anydsl_print_string(text) }
}

/// Prints text up to its zero, as a line.
///
/// # Safety
/// `text` points to bytes that end with a zero.
#[unsafe(export_name = "nyala_helper_println")]
pub unsafe extern "C" fn println(text: *const c_char) {
    // SAFETY: the caller guarantees it.
    unsafe { anydsl_print_string(text) };
    write("\n");
}

/// Prints a number as a line.
#[unsafe(export_name = "nyala_helper_print_int")]
pub extern "C" fn print_int(number: i32) {
    write(&format!("{number}\n"));
}

/// Prints a number with nine digits after the decimal point, as a line.
#[unsafe(export_name = "nyala_helper_print_f64")]
pub extern "C" fn print_f64(number: f64) {
    write(&format!("{number:.9}\n"));
}

/// 42
#[unsafe(export_name = "nyala_helper_forty_two")]
pub extern "C" fn forty_two() -> i32 {
    42
}

/// Reads a line into a buffer, and terminates it with a zero.
///
/// # Safety
/// The buffer is large enough.
#[unsafe(export_name = "nyala_helper_read")]
pub unsafe extern "C" fn read(buffer: *mut u8) {
    let mut at = buffer;
    // SAFETY: the caller guarantees it. A byte of the input is not negative; the end of the input is.
    unsafe {
        while let Ok(byte @ (0..=9 | 11..=255)) = u8::try_from(getchar()) {
            *at = byte;
            at = at.add(1);
        }
        *at = 0;
    }
}

/// The number at the start of a text.
///
/// # Safety
/// `text` points to bytes that end with a zero.
#[unsafe(export_name = "nyala_helper_anydsl_atoi")]
pub unsafe extern "C" fn anydsl_atoi(text: *const c_char) -> i32 {
    // SAFETY: the caller guarantees it.
    unsafe { atoi(text) }
}

/// Fills memory with a byte.
///
/// # Safety
/// There are that many bytes.
#[unsafe(export_name = "nyala_helper_anydsl_memset")]
pub unsafe extern "C" fn anydsl_memset(block: *mut c_void, byte: i32, size: i64) {
    // SAFETY: the caller guarantees it.
    unsafe { memset(block, byte, size as usize) };
}

/// Copies memory; the ranges may overlap.
///
/// # Safety
/// Both ranges are valid.
#[unsafe(export_name = "nyala_helper_impala_memmove")]
pub unsafe extern "C" fn impala_memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller guarantees it.
    unsafe { memmove(to, from, size) }
}

/// Resizes memory, and keeps its contents.
///
/// # Safety
/// `block` is null or from C's allocator.
#[unsafe(export_name = "nyala_helper_impala_realloc")]
pub unsafe extern "C" fn impala_realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller guarantees it.
    unsafe { realloc(block, size) }
}
