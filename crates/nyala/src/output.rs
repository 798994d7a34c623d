//! How results are shown: diagnostics on standard error, results on standard
//! output.
//!
//! A reader that goes away (`nyala ir .. | head`) ends the program quietly.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use nyala_driver::{Report, Session};

use crate::cli::{ColorChoice, MessageArgs, MessageFormat};

/// Exit status of a program with errors.
pub const PROGRAM_ERRORS: u8 = 1;

/// Shows what the session has reported. The exit status: whether there were errors.
pub fn show_diagnostics(session: &mut Session, messages: &MessageArgs) -> io::Result<ExitCode> {
    let status = if session.has_errors() { ExitCode::from(PROGRAM_ERRORS) } else { ExitCode::SUCCESS };
    let report = Report::new(std::mem::take(&mut session.diagnostics));
    if report.is_empty() {
        return Ok(status);
    }
    let mut stderr = io::stderr().lock();
    match messages.message_format {
        MessageFormat::Json => stderr.write_all(report.json(&session.sources).as_bytes())?,
        MessageFormat::Human => {
            stderr.write_all(report.human(&session.sources, messages.with_color()).as_bytes())?;
            if let Some(summary) = report.summary() {
                writeln!(stderr, "{summary}")?;
            }
        }
    }
    Ok(status)
}

/// Writes a result.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes a result that need not be text.
pub fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).context(NO_OUTPUT)
}

/// What is wrong when standard output takes no more.
pub const NO_OUTPUT: &str = "cannot write to standard output";

/// What a file is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// To be read.
    Plain,
    /// To be run.
    Executable,
    /// For the same as the file that it replaces.
    Replacement,
}

/// Writes a file at once: nobody ever sees half of it, and the old contents stay if the new ones cannot be written.
/// What is no file, like a device or a pipe, is written to and stays what it is; through a link, the file that it points
/// to is replaced.
pub fn write_file(path: &Path, contents: &[u8], mode: Mode) -> anyhow::Result<()> {
    write_at_once(path, contents, mode).with_context(|| format!("cannot write `{}`", path.display()))
}

fn write_at_once(path: &Path, contents: &[u8], mode: Mode) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return fs::write(path, contents);
    }
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let draft = path.with_file_name(format!(".nyala-{}.tmp", std::process::id()));
    let result = write_new(&draft, contents, mode)
        .and_then(|()| set_mode(&draft, mode, path))
        .and_then(|()| fs::rename(&draft, path));
    if result.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&draft);
    }
    result
}

fn write_new(path: &Path, contents: &[u8], mode: Mode) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(contents)?;
    match mode {
        // What is replaced cannot be made again: it goes when the new text is on the disk.
        Mode::Replacement => file.sync_all(),
        Mode::Plain | Mode::Executable => Ok(()),
    }
}

/// Says who may do what with a file that takes the place of `old`, if there is one.
fn set_mode(path: &Path, mode: Mode, old: &Path) -> io::Result<()> {
    match mode {
        Mode::Plain => Ok(()),
        Mode::Executable => allow_running(path),
        Mode::Replacement => fs::set_permissions(path, fs::metadata(old)?.permissions()),
    }
}

/// Allows whoever may read an executable to run it.
#[cfg(unix)]
fn allow_running(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let bits = fs::metadata(path)?.permissions().mode();
    fs::set_permissions(path, fs::Permissions::from_mode(bits | (bits & 0o444) >> 2))
}

#[cfg(not(unix))]
fn allow_running(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// The exit status for an error that is not the program's, after reporting it.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    // Nothing is left to be done if standard error is closed.
    let _ = writeln!(io::stderr(), "error: {error:#}");
    ExitCode::from(PROGRAM_ERRORS)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

impl MessageArgs {
    fn with_color(&self) -> bool {
        match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                io::stderr().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_leaves_nothing_else_behind() {
        let folder = std::env::temp_dir().join(format!("nyala-write-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder is writable");
        // The longest name that systems allow.
        let path = folder.join("a".repeat(255));
        fs::write(&path, "old").expect("the folder is writable");
        write_file(&path, b"new", Mode::Replacement).expect("the folder is writable");
        assert_eq!(fs::read_to_string(&path).expect("it was just written"), "new");
        assert!(write_file(&folder.join("absent"), b"new", Mode::Replacement).is_err());
        assert_eq!(fs::read_dir(&folder).expect("it exists").count(), 1);
        fs::remove_dir_all(&folder).expect("it was just made");
    }
}
