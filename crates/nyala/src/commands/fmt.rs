//! `nyala fmt`: source text in its one canonical form.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use nyala_driver::{Prelude, Session, pipeline};

use crate::cli::{MessageArgs, ReadingArgs};
use crate::output::{self, PROGRAM_ERRORS};

/// Format source files in place; `-` formats standard input to standard output
///
/// A file with syntax errors is left as it is.
#[derive(Args)]
pub struct FmtArgs {
    /// The files to format; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Change nothing; list the files that are not formatted, and exit with 1 if there are any
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    messages: MessageArgs,
}

pub fn run(args: FmtArgs) -> anyhow::Result<ExitCode> {
    let mut all_good = true;
    for path in &args.files {
        all_good &= format_file(&args, path)?;
    }
    Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::from(PROGRAM_ERRORS) })
}

/// Formats one file. Whether it was readable and, with `--check`, already formatted.
fn format_file(args: &FmtArgs, path: &Path) -> anyhow::Result<bool> {
    let mut options = args.reading.options();
    options.prelude = Prelude::Absent;
    let mut session = Session::new(options);
    session.load(path);
    let formatted = pipeline::format(&mut session);
    output::show_diagnostics(&mut session, &args.messages)?;
    let Some(formatted) = formatted else { return Ok(false) };

    let is_changed = session.sources.files().next().is_none_or(|(_, file)| file.text != formatted);
    if args.check {
        if is_changed {
            output::print(&format!("{}\n", path.display()))?;
        }
        return Ok(!is_changed);
    }
    if path == Path::new("-") {
        output::print(&formatted)?;
    } else if is_changed {
        replace(path, &formatted).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(true)
}

/// Replaces a file's text at once: nobody ever sees half of it, and the old text
/// stays if the new one cannot be written.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // Through a link, the file it points to is replaced.
    let path = fs::canonicalize(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let result = write_new(&temporary, text)
        .and_then(|()| fs::set_permissions(&temporary, fs::metadata(&path)?.permissions()))
        .and_then(|()| fs::rename(&temporary, &path));
    if result.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    result
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_leaves_nothing_else_behind() {
        let folder = std::env::temp_dir().join(format!("nyala-fmt-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let path = folder.join("a.impala");
        fs::write(&path, "old").expect("the folder is writable");
        replace(&path, "new").expect("the folder is writable");
        assert_eq!(fs::read_to_string(&path).expect("it was just written"), "new");
        assert_eq!(fs::read_dir(&folder).expect("it exists").count(), 1);
        assert!(replace(&folder.join("absent.impala"), "new").is_err());
        fs::remove_dir_all(&folder).expect("it was just made");
    }
}
