//! `nyala remove`: a package without one of its dependencies.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use nyala_driver::package::MANIFEST;
use nyala_driver::package::edit;

use crate::cli::package_folder;
use crate::output::{self, Mode};

/// Remove a dependency from a package
#[derive(Args)]
pub struct RemoveArgs {
    /// The name of the dependency
    name: String,
    /// The folder of the package [default: the one around the current folder]
    #[arg(long, value_name = "DIR")]
    package: Option<PathBuf>,
}

pub fn run(args: RemoveArgs) -> anyhow::Result<ExitCode> {
    let manifest = package_folder(args.package.as_deref()).join(MANIFEST);
    let shown = manifest.display();
    let before = fs::read_to_string(&manifest).with_context(|| format!("cannot read `{shown}`"))?;
    let changed = edit::remove_dependency(&before, &args.name).map_err(anyhow::Error::msg)?;
    let changed = changed.with_context(|| format!("`{shown}` has no dependency `{}`", args.name))?;
    output::write_file(&manifest, changed.as_bytes(), Mode::Replacement)?;
    Ok(ExitCode::SUCCESS)
}
