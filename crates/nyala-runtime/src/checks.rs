//! Failed checks of programs that were compiled with checks, and failed assertions.

use std::ffi::{CStr, c_char};

/// Ends the process with a message: the position in the source, then the text with each
/// `{}` replaced by a number, and `{s}` by the plural ending that the last number requires. `kind`
/// is the kind of the numbers: 0 unsigned, 1 signed, 2 the bits of a float.
///
/// # Safety
/// Both texts end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nyala_check_failed(
    place: *const c_char,
    message: *const c_char,
    kind: u32,
    first: u64,
    second: u64,
) -> ! {
    // SAFETY: the caller guarantees it.
    let [place, message] = [place, message].map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    crate::print::anydsl_print_flush();
    eprintln!("{place}: {}", filled(&message, [first, second].map(|bits| shown(kind, bits))));
    std::process::exit(1)
}

/// Ends the process because an assertion failed: with its place, and the template filled with the values.
///
/// # Safety
/// Both texts end with a zero, and there are as many values as the template takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nyala_assertion_failed(
    place: *const c_char,
    template: *const c_char,
    values: *const u64,
) -> ! {
    // SAFETY: the caller's promise.
    let [place, template] = [place, template].map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    let values: &[u64] = match nyala_message::count(&template) {
        0 => &[],
        // SAFETY: the caller's promise.
        count => unsafe { std::slice::from_raw_parts(values, count) },
    };
    crate::print::anydsl_print_flush();
    eprintln!("{place}: error[E0985]: {}", nyala_message::fill(&template, values).replace('\n', "\n  "));
    std::process::exit(1)
}

/// The message with each `{}` and `{s}` replaced.
fn filled(message: &str, values: [String; 2]) -> String {
    let text = values.iter().fold(message.to_owned(), |message, value| message.replacen("{}", value, 1));
    let last = &values[message.matches("{}").count().clamp(1, values.len()) - 1];
    text.replace("{s}", if last == "1" { "" } else { "s" })
}

fn shown(kind: u32, bits: u64) -> String {
    match kind {
        0 => bits.to_string(),
        1 => bits.cast_signed().to_string(),
        _ => f64::from_bits(bits).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_by_their_kind() {
        let values = [shown(1, u64::MAX), shown(2, 2.5f64.to_bits())];
        assert_eq!(filled("add({}, {})", values), "add(-1, 2.5)");
        assert_eq!(filled("index {}", [shown(0, 7), shown(0, 0)]), "index 7");
    }

    #[test]
    fn plural_ending_depends_on_the_number() {
        let room = |bytes| filled("at {} of {} byte{s}", [shown(0, 1), shown(0, bytes)]);
        assert_eq!([room(1), room(2)], ["at 1 of 1 byte", "at 1 of 2 bytes"]);
    }
}
