//! Support for tests of the command line.

// Each test program uses its part of this.
#![allow(dead_code)]

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The compiler, to be started.
pub fn nyala() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nyala"))
}

/// Runs a command with `stdin` as its input.
pub fn output(command: &mut Command, stdin: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("cargo has built it");
    let mut pipe = child.stdin.take().expect("it was asked for");
    // A program that does not read its input may be gone already.
    let _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    child.wait_with_output().expect("it ends")
}

/// Exit status, standard output and standard error of nyala.
pub fn run(args: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    run_command(nyala().args(args), stdin)
}

/// Exit status, standard output and standard error of a command.
pub fn run_command(command: &mut Command, stdin: &str) -> (Option<i32>, String, String) {
    let output = output(command, stdin);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A folder of its own for a test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("nyala-test-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary folder is writable");
        Folder(path)
    }

    /// Writes a file, in a folder that may be new, and returns its path as an argument.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder"))
            .expect("the temporary folder is writable");
        fs::write(&path, text).expect("the temporary folder is writable");
        path.display().to_string()
    }

    /// The path of a file that need not be there, as an argument.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// The names of its files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("it was made").flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Remaining temporary files do no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}
