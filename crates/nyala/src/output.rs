//! How results are shown: diagnostics on standard error, results on standard
//! output.
//!
//! A reader that goes away (`nyala ir .. | head`) ends the program quietly.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

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
pub fn print(text: &str) -> io::Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes a result that need not be text.
pub fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// What a file is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// To be read.
    Plain,
    /// To be run.
    Executable,
}

/// Writes a file at once: nobody ever sees half of it. What is no file, like a device or a pipe, is written to
/// and stays what it is.
pub fn write_file(path: &Path, contents: &[u8], mode: Mode) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return fs::write(path, contents);
    }
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let result = fs::write(&temporary, contents)
        .and_then(|()| set_mode(&temporary, mode))
        .and_then(|()| fs::rename(&temporary, path));
    if result.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    result
}

/// Allows whoever may read an executable to run it.
#[cfg(unix)]
fn set_mode(path: &Path, mode: Mode) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if mode == Mode::Plain {
        return Ok(());
    }
    let bits = fs::metadata(path)?.permissions().mode();
    fs::set_permissions(path, fs::Permissions::from_mode(bits | (bits & 0o444) >> 2))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: Mode) -> io::Result<()> {
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
