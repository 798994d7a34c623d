//! Internal errors: a message for the user, and a report file for us.

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

/// The usual stack of a main thread.
const SMALL_STACK_BYTES: usize = 8 << 20;

/// Exit status of an internal error.
const STATUS: u8 = 101;

/// A panic of the compiler.
#[derive(Debug)]
pub struct Failure {
    /// Message and place of the panic.
    message: String,
    /// The backtrace.
    backtrace: String,
    /// Who is responsible, for the user.
    responsible: String,
}

const OURS_OR_LLVMS: &str =
    "unless the program has `asm` or declares functions of LLVM, this is a bug in nyala";

/// The last panic of any thread. The hook has message and position; the thread
/// that joins has neither.
static LAST_PANIC: Mutex<Option<Failure>> = Mutex::new(None);

/// Runs `work` of the program called `name` on a new thread with a large stack; a panic becomes an `Err`.
pub fn guard<T: Send>(name: &'static str, work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    panic::set_hook(Box::new(move |info| {
        let failure = Failure {
            message: info.to_string(),
            backtrace: Backtrace::force_capture().to_string(),
            responsible: bug_in(name),
        };
        *LAST_PANIC.lock().unwrap_or_else(|poison| poison.into_inner()) = Some(failure);
    }));
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("compiler".into()).stack_size(stack_size());
        match worker.spawn_scoped(scope, work) {
            Ok(handle) => handle.join().map_err(|_| last_panic(name)),
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory || memory::is_exhausted() => {
                memory::give_up()
            }
            Err(error) => Err(Failure::without_backtrace(name, format!("no thread: {error}"))),
        }
    })
}

/// The stack size of the compiler thread. With little memory it is smaller.
fn stack_size() -> usize {
    if memory::is_exhausted() { SMALL_STACK_BYTES } else { STACK_BYTES }
}

fn bug_in(name: &str) -> String {
    format!("this is a bug in {name}, not in your program")
}

fn last_panic(name: &str) -> Failure {
    let last = LAST_PANIC.lock().unwrap_or_else(|poison| poison.into_inner()).take();
    last.unwrap_or_else(|| Failure::without_backtrace(name, "panicked without a message".into()))
}

impl Failure {
    fn without_backtrace(name: &str, message: String) -> Failure {
        Failure { message, backtrace: String::new(), responsible: bug_in(name) }
    }
}

/// Prints a message, and writes a report file.
pub fn report(failure: &Failure) -> ExitCode {
    if memory::is_exhausted() {
        memory::give_up();
    }
    let mut stderr = io::stderr().lock();
    let headline = failure.message.lines().collect::<Vec<_>>().join(": ");
    // If standard error is closed, there is nothing left to do.
    let _ = writeln!(stderr, "internal error: {headline}\n  {}", failure.responsible);
    let _ = match write_report(failure) {
        Ok(path) => writeln!(stderr, "  a report was written to {}", path.display()),
        Err(error) => writeln!(stderr, "  no report could be written: {error}"),
    };
    ExitCode::from(STATUS)
}

/// Ends the process after a fatal error of LLVM.
pub fn llvm_gave_up(reason: &str) -> ! {
    let backtrace = Backtrace::force_capture().to_string();
    let message = format!("fatal error of LLVM: {reason}");
    report(&Failure { message, backtrace, responsible: OURS_OR_LLVMS.into() });
    std::process::exit(STATUS.into())
}

/// Writes the report to a new file in the temporary folder.
fn write_report(failure: &Failure) -> io::Result<PathBuf> {
    let name = format!("nyala-internal-error-{}.txt", std::process::id());
    let path = std::env::temp_dir().join(name);
    // A new file: the report must not follow an existing link.
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
        let failure = guard("nyala", || panic!("d41 has no type")).map(|(): ()| ()).expect_err("it panics");
        assert!(failure.message.contains("d41 has no type"), "{}", failure.message);
        assert!(failure.message.contains("internal_error.rs"), "{}", failure.message);
    }

    #[test]
    fn results_without_a_panic_are_passed_on() {
        assert_eq!(guard("nyala", || 42).expect("nothing panics"), 42);
    }
}
