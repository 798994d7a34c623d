//! `nyala new`: a package to begin with.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use nyala_driver::package::edit::{self, Kind};
use nyala_driver::package::manifest::is_package_name;

use crate::output;

/// Make a new package
#[derive(Args)]
pub struct NewArgs {
    /// The folder to make; its name is that of the package
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// A library instead of a program
    #[arg(long)]
    lib: bool,
}

pub fn run(args: NewArgs) -> anyhow::Result<ExitCode> {
    let path = &args.path;
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    anyhow::ensure!(
        is_package_name(&name),
        "`{name}` cannot be the name of a package: a name consists of ASCII letters, digits and `_`, begins with a letter, \
         and is no keyword"
    );
    anyhow::ensure!(!path.exists(), "`{}` exists already", path.display());
    let kind = if args.lib { Kind::Library } else { Kind::Program };
    for (file, text) in edit::new_package(&name, kind) {
        let file = path.join(file);
        let folder = file.parent().unwrap_or(path);
        fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    let run = if args.lib { "nyala run --program hello" } else { "nyala run" };
    output::print(&format!("made the package `{name}`; `{run}` in `{}` runs it\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}
