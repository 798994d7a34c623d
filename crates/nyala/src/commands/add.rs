//! `nyala add`: a dependency for a package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use nyala_driver::package::MANIFEST;
use nyala_driver::package::edit::{self, NewOrigin};
use nyala_driver::package::manifest::{NAME_RULE, is_package_name};
use nyala_driver::{Session, TargetChoice};

use crate::cli::{MessageArgs, ReadingArgs, package_folder};
use crate::output::{self, Mode, PROGRAM_ERRORS};

/// Add a dependency to a package
///
/// Without `--path` and `--git`, it is a library of the library path. The manifest stays as it is if the dependency
/// cannot be found.
#[derive(Args)]
pub struct AddArgs {
    /// The name of the dependency
    name: String,
    /// The folder of the dependency
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    path: Option<PathBuf>,
    /// The git repository of the dependency
    #[arg(long, value_name = "URL", requires = "rev")]
    git: Option<String>,
    /// The commit, tag or branch of the repository
    #[arg(long, value_name = "REV", requires = "git")]
    rev: Option<String>,
    /// The folder of the package [default: the one around the current folder]
    #[arg(long, value_name = "DIR")]
    package: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    messages: MessageArgs,
}

pub fn run(args: AddArgs) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        is_package_name(&args.name),
        "`{}` cannot be the name of a package: {NAME_RULE}",
        args.name
    );
    let folder = package_folder(args.package.as_deref());
    let manifest = folder.join(MANIFEST);
    let before =
        fs::read_to_string(&manifest).with_context(|| format!("cannot read `{}`", manifest.display()))?;
    let changed =
        edit::add_dependency(&before, &args.name, &args.origin(&folder)).map_err(anyhow::Error::msg)?;
    output::write_file(&manifest, changed.as_bytes(), Mode::Replacement)?;
    let mut session = Session::new(args.reading.options());
    session.load_package(&folder, &TargetChoice::Library);
    if session.has_errors() {
        output::write_file(&manifest, before.as_bytes(), Mode::Replacement)?;
        output::show_diagnostics(&mut session, &args.messages)?;
        return Ok(ExitCode::from(PROGRAM_ERRORS));
    }
    Ok(output::show_diagnostics(&mut session, &args.messages)?)
}

impl AddArgs {
    fn origin(&self, folder: &Path) -> NewOrigin {
        match (&self.path, &self.git, &self.rev) {
            (Some(path), ..) => NewOrigin::Path(from_package(path, folder).display().to_string()),
            (None, Some(url), Some(rev)) => NewOrigin::Git { url: url.clone(), rev: rev.clone() },
            _ => NewOrigin::Library,
        }
    }
}

/// A path from the current folder as one from the package's folder.
fn from_package(path: &Path, folder: &Path) -> PathBuf {
    let is_here = folder.as_os_str().is_empty();
    let (Ok(target), Ok(package)) =
        (fs::canonicalize(path), fs::canonicalize(if is_here { Path::new(".") } else { folder }))
    else {
        return path.to_owned();
    };
    if path.is_absolute() || is_here {
        return path.to_owned();
    }
    let shared = target.components().zip(package.components()).take_while(|(a, b)| a == b).count();
    let up = package.components().skip(shared).map(|_| "..");
    up.collect::<PathBuf>().join(target.components().skip(shared).collect::<PathBuf>())
}
