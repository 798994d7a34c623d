//! Output: diagnostics on standard error, results on standard output.
//!
//! Several files are written together or not at all.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use nyala_driver::{Report, Session, without_controls};

use crate::cli::{ColorChoice, MessageArgs, MessageFormat};

/// Exit status of a program with errors.
pub const PROGRAM_ERRORS: u8 = 1;

/// Prints the diagnostics of the session; returns the exit status.
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

/// Writes a binary result.
pub fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).context(NO_OUTPUT)
}

/// The error message if standard output fails.
pub const NO_OUTPUT: &str = "cannot write to standard output";

/// The permissions of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A data file.
    Plain,
    /// An executable.
    Executable,
    /// Those of the file that it replaces.
    Replacement,
}

/// A file to write.
pub struct NewFile<'a> {
    /// Its path.
    pub path: PathBuf,
    /// Its contents.
    pub contents: &'a [u8],
    /// Its permissions.
    pub mode: Mode,
}

/// Writes a file atomically: readers see the old or the new contents, and the old ones stay if writing fails.
/// Devices and pipes are written to and not replaced. For a link, its target is
/// replaced.
pub fn write_file(path: &Path, contents: &[u8], mode: Mode) -> anyhow::Result<()> {
    write_files(&[NewFile { path: path.to_owned(), contents, mode }])
}

/// Writes several files as [`write_file`] does, all of them or none: if one cannot be written, the others are
/// not changed.
pub fn write_files(files: &[NewFile<'_>]) -> anyhow::Result<()> {
    let mut drafts = vec![];
    let mut streams = vec![];
    for (number, file) in files.iter().enumerate() {
        match is_stream(&file.path) {
            true => streams.push(file),
            false => drafts.push(Draft::write(file, number).with_context(|| cannot_write(&file.path))?),
        }
    }
    // A write to a pipe cannot be undone, so it comes before files are replaced, and after all steps that
    // often fail.
    for file in streams {
        fs::write(&file.path, file.contents).with_context(|| cannot_write(&file.path))?;
    }
    publish_all(&mut drafts)
}

/// Renames all files, or none.
fn publish_all(drafts: &mut [Draft]) -> anyhow::Result<()> {
    let is_single = drafts.len() == 1;
    for at in 0..drafts.len() {
        if let Err(error) = drafts[at].publish(is_single) {
            drafts[..at].iter_mut().rev().for_each(Draft::take_back);
            return Err(error).with_context(|| cannot_write(&drafts[at].path));
        }
    }
    Ok(())
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write `{}`", without_controls(&path.display().to_string()))
}

/// Whether the path is a device or pipe.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// A file that is first written under another name. Dropping it removes temporary files.
struct Draft {
    /// The final path.
    path: PathBuf,
    draft: PathBuf,
    /// The path of the old file's backup.
    backup: Option<PathBuf>,
}

impl Draft {
    fn write(file: &NewFile<'_>, number: usize) -> io::Result<Draft> {
        let path = fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let name = format!(".nyala-{}-{number}.tmp", std::process::id());
        let draft = Draft { draft: path.with_file_name(name), path, backup: None };
        write_new(&draft.draft, file.contents, file.mode)?;
        set_mode(&draft.draft, file.mode, &draft.path)?;
        Ok(draft)
    }

    /// Renames the file. The old file is kept as a backup, in case another rename fails.
    fn publish(&mut self, is_single: bool) -> io::Result<()> {
        if !is_single && self.path.exists() {
            let backup = self.draft.with_extension("old");
            // Not every file system has hard links.
            fs::hard_link(&self.path, &backup).or_else(|_| fs::copy(&self.path, &backup).map(|_| ()))?;
            self.backup = Some(backup);
        }
        fs::rename(&self.draft, &self.path)
    }

    /// Restores the old file. The first error is reported.
    fn take_back(&mut self) {
        let _ = match self.backup.take() {
            Some(backup) => fs::rename(backup, &self.path),
            None => fs::remove_file(&self.path),
        };
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After the rename the draft does not exist.
        let _ = fs::remove_file(&self.draft);
        if let Some(backup) = &self.backup {
            let _ = fs::remove_file(backup);
        }
    }
}

fn write_new(path: &Path, contents: &[u8], mode: Mode) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(contents)?;
    match mode {
        // The old contents are removed only after the new ones are on the disk.
        Mode::Replacement => file.sync_all(),
        Mode::Plain | Mode::Executable => Ok(()),
    }
}

/// Copies the permissions of `old`, if it exists.
fn set_mode(path: &Path, mode: Mode, old: &Path) -> io::Result<()> {
    match mode {
        Mode::Plain => Ok(()),
        Mode::Executable => allow_running(path),
        Mode::Replacement => fs::set_permissions(path, fs::metadata(old)?.permissions()),
    }
}

/// Adds the execute permission for everyone with read permission.
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

/// Reports an error of the system; returns the exit status.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    // If standard error is closed, there is nothing left to do.
    let _ = writeln!(io::stderr(), "error: {error:#}");
    ExitCode::from(PROGRAM_ERRORS)
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

    /// The last rename fails, because its target is a folder. The earlier renames are undone.
    #[test]
    fn files_are_replaced_together_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("nyala-together-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let file = |name: &str| NewFile { path: folder.join(name), contents: b"new", mode: Mode::Plain };
        fs::write(folder.join("a"), "old").expect("the folder is writable");
        let mut drafts: Vec<Draft> = ["a", "b", "c"]
            .iter()
            .enumerate()
            .map(|(number, name)| Draft::write(&file(name), number).expect("the folder is writable"))
            .collect();
        fs::create_dir(folder.join("c")).expect("the folder is writable");
        assert!(publish_all(&mut drafts).is_err());
        drop(drafts);
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        assert_eq!([read("a"), read("b")], [Some("old".into()), None]);
        assert_eq!(fs::read_dir(&folder).expect("it exists").count(), 2);

        fs::remove_dir(folder.join("c")).expect("it is empty");
        write_files(&["a", "b", "c"].map(file)).expect("the folder is writable");
        assert_eq!(["a", "b", "c"].map(read), [(); 3].map(|()| Some("new".to_owned())));
        assert_eq!(fs::read_dir(&folder).expect("it exists").count(), 3);
        fs::remove_dir_all(&folder).expect("it was just made");
    }
}
