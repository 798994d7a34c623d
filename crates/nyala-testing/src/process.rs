//! Processes that are copies of this one: what runs in them cannot harm the others.
//!
//! A test that crashes, hangs or calls `exit` ends its own process only, and statics that it changes are as before in
//! the next test. A copy has all that was compiled so far, so it starts in less than a millisecond.
//!
//! Processes are copied while they have a single thread that works: copies have only that one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A running copy.
pub struct Process {
    pid: libc::pid_t,
    ended: Option<Ended>,
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// By itself.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// It was killed because it took too long.
    TimedOut,
}

/// Exit status of a copy whose work panicked.
const PANICKED: i32 = 101;

/// How long to sleep between two looks at processes, at first and at most.
const FIRST_NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_millis(5);

/// Runs `work` in a copy of this process, whose output goes to `output`. Its result is the exit status.
pub fn spawn(output: &Scratch, work: impl FnOnce() -> i32) -> io::Result<Process> {
    io::stdout().flush()?;
    let _ = nyala_runtime::print::flush();
    // SAFETY: this process has one thread that works; the others, if any, wait for it and hold no locks.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            output.take_over();
            let result = panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
                eprintln!("internal error: {}", text.unwrap_or("a panic without a message"));
                PANICKED
            });
            let _ = nyala_runtime::print::flush();
            let _ = io::stdout().flush();
            // SAFETY: it ends the process. What the original registered for its own end is not for copies.
            unsafe { libc::_exit(result) }
        }
        pid => Ok(Process { pid, ended: None }),
    }
}

impl Process {
    /// How it ended, if it has.
    pub fn try_wait(&mut self) -> io::Result<Option<Ended>> {
        if self.ended.is_none() {
            self.ended = wait(self.pid, libc::WNOHANG)?;
        }
        Ok(self.ended)
    }

    /// Waits for its end. After `limit`, it is killed.
    pub fn wait(&mut self, limit: Duration) -> io::Result<Ended> {
        let (start, mut nap) = (Instant::now(), Nap::default());
        loop {
            if let Some(ended) = self.try_wait()? {
                return Ok(ended);
            }
            if start.elapsed() >= limit {
                self.kill()?;
                return Ok(Ended::TimedOut);
            }
            nap.sleep();
        }
    }

    fn kill(&mut self) -> io::Result<()> {
        // SAFETY: this process has not been waited for, so its number is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        wait(self.pid, 0)?;
        self.ended = Some(Ended::TimedOut);
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.kill();
        }
    }
}

fn wait(pid: libc::pid_t, flags: libc::c_int) -> io::Result<Option<Ended>> {
    let mut status = 0;
    loop {
        // SAFETY: the status is written to a variable.
        match unsafe { libc::waitpid(pid, &mut status, flags) } {
            0 => return Ok(None),
            -1 => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
            _ if libc::WIFSIGNALED(status) => return Ok(Some(Ended::Signal(libc::WTERMSIG(status)))),
            _ => return Ok(Some(Ended::Status(libc::WEXITSTATUS(status)))),
        }
    }
}

/// Sleeps longer each time.
pub struct Nap(Duration);

impl Default for Nap {
    fn default() -> Nap {
        Nap(FIRST_NAP)
    }
}

impl Nap {
    /// Sleeps.
    pub fn sleep(&mut self) {
        thread::sleep(self.0);
        self.0 = (self.0 * 2).min(LONGEST_NAP);
    }
}

/// A file without a name, which copies share with the original.
pub struct Scratch(File);

impl Scratch {
    /// A new one.
    pub fn new() -> io::Result<Scratch> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("nyala-{}-{number}", std::process::id());
        let path: PathBuf = std::env::temp_dir().join(name);
        let file = OpenOptions::new().read(true).append(true).create_new(true).open(&path)?;
        fs::remove_file(&path)?;
        Ok(Scratch(file))
    }

    /// All that was written.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![];
        let mut file = &self.0;
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Appends, at once.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    /// Empties it.
    pub fn clear(&self) -> io::Result<()> {
        self.0.set_len(0)
    }

    /// Makes it the standard output and error of this process, which gets no input.
    fn take_over(&self) {
        use std::os::fd::AsRawFd as _;
        if let Ok(nothing) = File::open("/dev/null") {
            // SAFETY: both are open files of this process.
            unsafe { libc::dup2(nothing.as_raw_fd(), 0) };
        }
        for stream in [1, 2] {
            // SAFETY: both are open files of this process.
            unsafe { libc::dup2(self.0.as_raw_fd(), stream) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(limit: Duration, work: impl FnOnce() -> i32) -> Ended {
        let output = Scratch::new().expect("the temporary folder is writable");
        spawn(&output, work).and_then(|mut process| process.wait(limit)).expect("the system copies processes")
    }

    #[test]
    fn a_copy_has_an_exit_status_of_its_own() {
        let long = Duration::from_secs(60);
        assert_eq!(ended(long, || 7), Ended::Status(7));
        assert_eq!(ended(long, || panic!("in the copy")), Ended::Status(PANICKED));
        assert_eq!(ended(long, || std::process::abort()), Ended::Signal(libc::SIGABRT));
    }

    #[test]
    fn a_copy_that_takes_too_long_is_killed() {
        let forever = || loop {
            thread::sleep(Duration::from_secs(1));
        };
        assert_eq!(ended(Duration::from_millis(20), forever), Ended::TimedOut);
    }
}
