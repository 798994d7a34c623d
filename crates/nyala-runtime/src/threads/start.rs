//! The number of threads, and how they are started.

use std::sync::OnceLock;
use std::thread::{self, Builder};

use crate::stack::guarded;

/// The stack size of a thread.
const STACK: usize = 64 << 20;

/// The maximum number of threads of a pool, unless the machine has more processors. The limit of the system is
/// unknown until it is reached, and then other parts of the process fail.
const MAX_THREADS: u32 = 1024;

/// Starts a detached thread. Returns whether it was started; if not, prints a warning.
pub(super) fn start_thread(body: impl FnOnce() + Send + 'static) -> bool {
    let body = || guarded("a thread of the runtime", body);
    let started = Builder::new().name("nyala".into()).stack_size(STACK).spawn(body);
    started
        .inspect_err(|error| eprintln!("warning: cannot start a thread, going on with fewer: {error}"))
        .is_ok()
}

/// The number of threads that the machine runs at once.
pub(super) fn available_processors() -> u32 {
    thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(MAX_THREADS))
}

/// The maximum number of threads of the pool.
pub(super) fn max_threads() -> u32 {
    MAX_THREADS.max(available_processors())
}

/// The number of threads of a loop that does not request a number: as many as the machine runs at once, or as
/// the environment variable says. Never 0.
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
    fn environment_variable_sets_the_number_of_threads() {
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
