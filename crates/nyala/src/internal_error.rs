//! When the compiler itself fails: say so, and keep what helps to find out why.

use std::backtrace::Backtrace;
use std::fs::File;
use std::io::{self, Write as _};
use std::panic;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use nyala_driver::STACK_BYTES;

use crate::memory;

/// As much as systems give the main thread.
const SMALL_STACK_BYTES: usize = 8 << 20;

/// Exit status of an internal error.
const STATUS: u8 = 101;

/// A panic of the compiler.
#[derive(Debug)]
pub struct Failure {
    /// Message and place of the panic.
    message: String,
    /// How it came there.
    backtrace: String,
    /// Whose mistake it is, for the user.
    blame: &'static str,
}

const OURS: &str = "this is a bug in nyala, not in your program";
const OURS_OR_LLVMS: &str =
    "unless the program has `asm` or declares functions of LLVM, this is a bug in nyala";

/// The last panic of any thread. The hook sees message and place; the one who
/// joins the thread sees neither.
static LAST_PANIC: Mutex<Option<Failure>> = Mutex::new(None);

/// Runs `work` on a thread of its own, with a large stack; a panic is a value.
pub fn guard<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    panic::set_hook(Box::new(|info| {
        let backtrace = Backtrace::force_capture().to_string();
        let failure = Failure { message: info.to_string(), backtrace, blame: OURS };
        *LAST_PANIC.lock().unwrap_or_else(|poison| poison.into_inner()) = Some(failure);
    }));
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("compiler".into()).stack_size(stack_size());
        match worker.spawn_scoped(scope, work) {
            Ok(handle) => handle.join().map_err(|_| last_panic()),
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory || memory::is_exhausted() => {
                memory::give_up()
            }
            Err(error) => Err(Failure::without_backtrace(format!("no thread: {error}"))),
        }
    })
}

/// How large the stack of the compiler is. Where memory is scarce, a smaller one leaves some for the rest.
fn stack_size() -> usize {
    if memory::is_exhausted() { SMALL_STACK_BYTES } else { STACK_BYTES }
}

fn last_panic() -> Failure {
    let last = LAST_PANIC.lock().unwrap_or_else(|poison| poison.into_inner()).take();
    last.unwrap_or_else(|| Failure::without_backtrace("panicked without a message".into()))
}

impl Failure {
    fn without_backtrace(message: String) -> Failure {
        Failure { message, backtrace: String::new(), blame: OURS }
    }
}

/// Tells the user, and writes what we know to a file.
pub fn report(failure: &Failure) -> ExitCode {
    if memory::is_exhausted() {
        memory::give_up();
    }
    let mut stderr = io::stderr().lock();
    let headline = failure.message.lines().collect::<Vec<_>>().join(": ");
    // Nothing is left to be done if standard error is closed.
    let _ = writeln!(stderr, "internal error: {headline}\n  {}", failure.blame);
    let _ = match write_report(failure) {
        Ok(path) => writeln!(stderr, "  a report was written to {}", path.display()),
        Err(error) => writeln!(stderr, "  no report could be written: {error}"),
    };
    ExitCode::from(STATUS)
}

/// Ends the process because LLVM cannot go on.
pub fn llvm_gave_up(reason: &str) -> ! {
    let backtrace = Backtrace::force_capture().to_string();
    let message = format!("LLVM cannot go on: {reason}");
    report(&Failure { message, backtrace, blame: OURS_OR_LLVMS });
    std::process::exit(STATUS.into())
}

/// Writes the report to a new file in the temporary folder.
fn write_report(failure: &Failure) -> io::Result<PathBuf> {
    let name = format!("nyala-internal-error-{}.txt", std::process::id());
    let path = std::env::temp_dir().join(name);
    // A new file: a report must not follow a link that somebody has put there.
    let mut file = File::options().write(true).create_new(true).open(&path)?;
    let args: Vec<_> = std::env::args_os().collect();
    writeln!(file, "nyala {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(file, "arguments: {args:?}")?;
    writeln!(file, "\n{}\n\n{}", failure.message, failure.backtrace)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_value_with_its_message() {
        let failure = guard(|| panic!("d41 has no type")).map(|(): ()| ()).expect_err("it panics");
        assert!(failure.message.contains("d41 has no type"), "{}", failure.message);
        assert!(failure.message.contains("internal_error.rs"), "{}", failure.message);
    }

    #[test]
    fn what_does_not_panic_is_passed_on() {
        assert_eq!(guard(|| 42).expect("nothing panics"), 42);
    }
}
