//! The message of a stack overflow, written without allocation, locks or shared buffers.

use std::ffi::{c_int, c_void};

use super::handler::Stack;
use super::symbols::{Code, Function, Symbols};
use super::unwind::{Frames, walk};

/// The number of calls that are shown: the innermost and the outermost ones.
const INNERMOST: usize = 8;
const OUTERMOST: usize = 4;

/// Reports that a stack is full. `at` is the instruction that failed.
pub(super) fn stack_overflow(stack: &Stack, code: Option<&Code>, at: usize) {
    let symbols = code.and_then(Code::symbols);
    let innermost = symbols.as_ref().and_then(|symbols| symbols.function_at(at));
    if innermost.is_some() {
        flush_standard_output();
    }
    let mut text = Text::default();
    text.add("error: stack overflow in ");
    text.add(stack.thread);
    text.add(": its stack of ");
    text.size(stack.size);
    text.add(" is used up\n");
    text.write();
    let Some(symbols) = symbols else { return };
    let frames = walk(at);
    chain(&mut text, &symbols, &frames);
    text.write();
}

/// The functions of the program that call each other, the innermost first.
fn chain(text: &mut Text, symbols: &Symbols<'_>, frames: &Frames) {
    let mut shown = 0;
    let mut next = 0;
    let mut inner: Option<Function<'_>> = None;
    for (index, address) in frames.innermost() {
        if let Some(function) = symbols.function_at(address) {
            if !inner.is_some_and(|inner| function.is_around(&inner)) {
                call(text, shown == 0, &function);
                shown += 1;
            }
            inner = Some(function);
        }
        next = index + 1;
        if shown == INNERMOST {
            break;
        }
    }
    let rest = || frames.outermost().filter(|&(index, _)| index >= next);
    let is_call = |address: usize| symbols.function_at(address).is_some();
    let known = rest().filter(|&(_, address)| is_call(address)).count();
    let mut skipped = known.saturating_sub(OUTERMOST);
    // The frames between those that were kept, and the kept ones that are not shown.
    let unseen = rest().next().map_or(0, |(index, _)| index.saturating_sub(next));
    if unseen + skipped > 0 {
        text.add("  .. ");
        text.number(unseen + skipped);
        text.add(" more calls ..\n");
    }
    for function in rest().filter_map(|(_, address)| symbols.function_at(address)) {
        match skipped {
            0 if inner.is_some_and(|inner| function.is_around(&inner)) => {}
            0 => call(text, false, &function),
            _ => skipped -= 1,
        }
        inner = Some(function);
    }
    if frames.is_cut() {
        text.add("  .. and more calls that are not counted\n");
    }
}

fn call(text: &mut Text, is_first: bool, function: &Function<'_>) {
    text.add(if is_first { "  in `" } else { "  called by `" });
    text.bytes(function.name);
    text.add("`");
    if !function.place.is_empty() {
        text.add(" (");
        text.bytes(function.place);
        text.add(")");
    }
    text.add("\n");
}

unsafe extern "C" {
    static mut stdout: *mut c_void;
    fn ftrylockfile(stream: *mut c_void) -> c_int;
    fn funlockfile(stream: *mut c_void);
    fn fflush(stream: *mut c_void) -> c_int;
}

/// Flushes the output of the program, unless another thread is printing.
fn flush_standard_output() {
    // SAFETY: the C library keeps the stream for as long as the process. The lock may be taken more than once.
    unsafe {
        if ftrylockfile(stdout) == 0 {
            fflush(stdout);
            funlockfile(stdout);
        }
    }
}

/// Text for standard error.
struct Text {
    bytes: [u8; 4096],
    len: usize,
}

impl Default for Text {
    fn default() -> Text {
        Text { bytes: [0; 4096], len: 0 }
    }
}

impl Text {
    fn add(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.len == self.bytes.len() {
                self.write();
            }
            let room = &mut self.bytes[self.len..];
            let taken = bytes.len().min(room.len());
            room[..taken].copy_from_slice(&bytes[..taken]);
            self.len += taken;
            bytes = &bytes[taken..];
        }
    }

    /// A number with a comma after each three digits.
    fn number(&mut self, number: usize) {
        if number >= 1000 {
            self.number(number / 1000);
            self.add(",");
            self.digits(number % 1000, 3);
        } else {
            self.digits(number, 1);
        }
    }

    fn digits(&mut self, number: usize, at_least: usize) {
        if number >= 10 || at_least > 1 {
            self.digits(number / 10, at_least.saturating_sub(1));
        }
        self.bytes(&[b'0' + (number % 10) as u8]);
    }

    fn size(&mut self, bytes: usize) {
        let (unit, name) = if bytes >= 1 << 20 { (1 << 20, " MiB") } else { (1 << 10, " KiB") };
        self.number((bytes + unit / 2) / unit);
        self.add(name);
    }

    /// Writes what was added.
    fn write(&mut self) {
        let mut rest = &self.bytes[..self.len];
        while !rest.is_empty() {
            // SAFETY: the buffer has this length.
            let written = unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(written) {
                Ok(written) if written > 0 => rest = &rest[written..],
                // Standard error failed: the error cannot be reported.
                _ => break,
            }
        }
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(add: impl FnOnce(&mut Text)) -> String {
        let mut text = Text::default();
        add(&mut text);
        String::from_utf8(text.bytes[..text.len].to_vec()).expect("it is ASCII")
    }

    #[test]
    fn numbers_have_separators() {
        let numbers = [0, 7, 42, 999, 1000, 20_030, 1_234_567];
        let texts = numbers.map(|number| shown(|text| text.number(number)));
        assert_eq!(texts, ["0", "7", "42", "999", "1,000", "20,030", "1,234,567"]);
    }

    #[test]
    fn sizes_have_units() {
        let sizes = [64 << 10, 8 << 20, (8 << 20) - 4096].map(|size| shown(|text| text.size(size)));
        assert_eq!(sizes, ["64 KiB", "8 MiB", "8 MiB"]);
    }
}
