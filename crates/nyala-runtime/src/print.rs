//! Printing, through the standard output of C: so the output stays in order with that of functions of the C
//! library.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::Display;
use std::io;

unsafe extern "C" {
    fn putchar(byte: c_int) -> c_int;
    fn fflush(stream: *mut std::ffi::c_void) -> c_int;
    fn printf(format: *const c_char, ...) -> c_int;
}

fn write_bytes(bytes: &[u8]) {
    for chunk in bytes.chunks(c_int::MAX as usize) {
        // SAFETY: the format takes a length and that many bytes without a zero.
        unsafe { printf(c"%.*s".as_ptr(), chunk.len() as c_int, chunk.as_ptr()) };
    }
}

pub(crate) fn write(text: &str) {
    write_bytes(text.as_bytes());
}

fn write_number(number: impl Display) {
    write(&number.to_string());
}

macro_rules! print_integers {
    ($($name:ident $ty:ty,)*) => {
        $(
            /// Prints a number in decimal.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(number: $ty) {
                write_number(number);
            }
        )*
    };
}

print_integers! {
    anydsl_print_i8 i8,
    anydsl_print_i16 i16,
    anydsl_print_i32 i32,
    anydsl_print_i64 i64,
    anydsl_print_u8 u8,
    anydsl_print_u16 u16,
    anydsl_print_u32 u32,
    anydsl_print_u64 u64,
}

/// Prints a number with up to six significant digits.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_print_f32(number: f32) {
    anydsl_print_f64(f64::from(number));
}

/// Prints a number with up to six significant digits.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_print_f64(number: f64) {
    // SAFETY: the format takes one double.
    unsafe { printf(c"%g".as_ptr(), number) };
}

/// Prints a byte.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_print_char(byte: u8) {
    // SAFETY: it takes any byte.
    unsafe { putchar(c_int::from(byte)) };
}

/// Prints text up to its zero.
///
/// # Safety
/// `text` points to bytes that end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anydsl_print_string(text: *const c_char) {
    // SAFETY: the caller guarantees it.
    write_bytes(unsafe { CStr::from_ptr(text) }.to_bytes());
}

/// Flushes the output. Errors are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_print_flush() {
    let _ = flush();
}

/// Flushes the output, or returns the error.
pub fn flush() -> io::Result<()> {
    // SAFETY: null stands for all streams.
    match unsafe { fflush(std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
