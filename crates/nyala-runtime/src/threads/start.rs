//! How many threads there are, and how they are started.

use std::sync::OnceLock;
use std::thread::{self, Builder};

use crate::stack::guarded;

/// How much stack a thread has.
const STACK: usize = 64 << 20;

/// No pool has more threads, unless the machine has that many processors: what a system gives to one
/// process is not known before it is used up, and then other parts of the process fail.
const MAX_THREADS: u32 = 1024;

/// Starts a thread that nobody waits for. Gives whether it was started; if not, says so.
pub(super) fn start_thread(body: impl FnOnce() + Send + 'static) -> bool {
    let body = || guarded("a thread of the runtime", body);
    let started = Builder::new().name("nyala".into()).stack_size(STACK).spawn(body);
    started
        .inspect_err(|error| eprintln!("warning: cannot start a thread, going on with fewer: {error}"))
        .is_ok()
}

/// How many threads the machine can run at once.
pub(super) fn available_processors() -> u32 {
    thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(MAX_THREADS))
}

/// The most threads that share loops.
pub(super) fn max_threads() -> u32 {
    MAX_THREADS.max(available_processors())
}

/// How many threads share a loop that names no number: as many as the machine can run at once, or as the
/// environment says. Never 0.
pub(crate) fn default_threads() -> u32 {
    static THREADS: OnceLock<u32> = OnceLock::new();
    *THREADS.get_or_init(|| match std::env::var("NYALA_THREADS") {
        Err(_) => available_processors(),
        Ok(text) => threads_from(&text),
    })
}

fn threads_from(text: &str) -> u32 {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(n) if (1..=max_threads()).contains(&n) => n,
        Ok(0) => no_number(text),
        Ok(_) => too_many(text),
        Err(_) if is_number => too_many(text),
        Err(_) => no_number(text),
    }
}

fn too_many(text: &str) -> u32 {
    let max = max_threads();
    eprintln!("warning: NYALA_THREADS is `{text}`, going on with {max} threads, the most there can be");
    max
}

fn no_number(text: &str) -> u32 {
    eprintln!("warning: NYALA_THREADS is `{text}`, which is no number of threads");
    available_processors()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_bounds_the_number_of_threads() {
        for (text, expected) in
            [("1", 1), ("16", 16), ("20000", max_threads()), ("99999999999", max_threads())]
        {
            assert_eq!(threads_from(text), expected, "{text}");
        }
        for text in ["", "0", "-1", "many"] {
            assert_eq!(threads_from(text), available_processors(), "{text}");
        }
    }
}
