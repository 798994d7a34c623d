//! `nyala new`: a package to begin with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use nyala_driver::package::edit::{self, Kind};
use nyala_driver::package::manifest::{NAME_RULE, is_package_name};

use crate::output;

/// Make a new package
///
/// The folder may exist; nothing in it is overwritten. `nyala new .` makes the current folder a package.
#[derive(Args)]
pub struct NewArgs {
    /// The folder of the package; its name is that of the package
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// A library instead of a program
    #[arg(long)]
    lib: bool,
}

pub fn run(args: NewArgs) -> anyhow::Result<ExitCode> {
    let path = &args.path;
    let name = folder_name(path);
    anyhow::ensure!(is_package_name(&name), "`{name}` cannot be the name of a package: {NAME_RULE}");
    let kind = if args.lib { Kind::Library } else { Kind::Program };
    let files = edit::new_package(&name, kind);
    for (file, _) in &files {
        let file = path.join(file);
        anyhow::ensure!(!file.exists(), "`{}` exists already", file.display());
    }
    for (file, text) in files {
        let file = path.join(file);
        let folder = file.parent().unwrap_or(path);
        fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    let run = if args.lib { "nyala run --program hello" } else { "nyala run" };
    output::print(&format!("made the package `{name}`; `{run}` in `{}` runs it\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// What a folder that need not exist is called.
fn folder_name(path: &Path) -> String {
    let absolute = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    absolute.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
