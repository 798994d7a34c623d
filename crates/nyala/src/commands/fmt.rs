//! `nyala fmt`: the formatter.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nyala_driver::{Prelude, Session, pipeline};

use crate::cli::{MessageArgs, ReadingArgs, package_folder};
use crate::output::{self, Mode, PROGRAM_ERRORS};

/// Format source files in place; `-` formats standard input to standard output
///
/// A file with syntax errors is not changed.
#[derive(Args)]
pub struct FmtArgs {
    /// The files to format; `-` is standard input [default: all source files of the package around the current folder]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The folder of the package [default: the one around the current folder]
    #[arg(long, value_name = "DIR", conflicts_with = "files")]
    package: Option<PathBuf>,
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
    let files = match args.files.is_empty() {
        true => package_files(&args)?,
        false => args.files.clone(),
    };
    for path in &files {
        all_good &= format_file(&args, path)?;
    }
    Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::from(PROGRAM_ERRORS) })
}

/// All source files of the package; none if its manifest has errors, which are shown.
fn package_files(args: &FmtArgs) -> anyhow::Result<Vec<PathBuf>> {
    let mut session = Session::new(args.reading.options());
    let folder = package_folder(args.package.as_deref());
    let targets = session.package_targets(&folder);
    output::show_diagnostics(&mut session, &args.messages)?;
    let targets =
        targets.ok_or_else(|| anyhow::anyhow!("the package in `{}` cannot be read", folder.display()))?;
    Ok(targets.files_on_disk(&folder))
}

/// Formats one file. Returns whether it was readable and, with `--check`, already formatted.
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
        output::write_file(path, formatted.as_bytes(), Mode::Replacement)?;
    }
    Ok(true)
}
