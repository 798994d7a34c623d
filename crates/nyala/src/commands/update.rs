//! `nyala update`: newer commits of git dependencies.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use nyala_driver::Session;

use crate::cli::{MessageArgs, ReadingArgs, package_folder};
use crate::output;

/// Look up what the revisions of git dependencies are now
///
/// The lock file gets the new commits. It stays as it is if there are errors.
#[derive(Args)]
pub struct UpdateArgs {
    /// The names of dependencies [default: all, and those of dependencies too]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The folder of the package [default: the one around the current folder]
    #[arg(long, value_name = "DIR")]
    package: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    messages: MessageArgs,
}

/// How much of the name of a commit is shown.
const SHOWN: usize = 10;

pub fn run(args: UpdateArgs) -> anyhow::Result<ExitCode> {
    let folder = package_folder(args.package.as_deref());
    let mut session = Session::new(args.reading.options());
    let mut only = None;
    if !args.names.is_empty() {
        match session.git_dependencies(&folder) {
            Some(known) => only = Some(args.repositories(&known)?),
            None => return Ok(output::show_diagnostics(&mut session, &args.messages)?),
        }
    }
    let locks = session.update_lock(&folder, only.as_deref());
    let status = output::show_diagnostics(&mut session, &args.messages)?;
    let Some((before, after)) = locks else { return Ok(status) };
    let short = |commit: &str| commit.get(..SHOWN).unwrap_or(commit).to_owned();
    for (git, rev, old, new) in after.changes(&before) {
        let old = old.map_or("new".into(), short);
        output::print(&format!("{git} {rev}: {old} -> {}\n", short(new)))?;
    }
    Ok(status)
}

impl UpdateArgs {
    /// The repositories of the named dependencies.
    fn repositories(&self, known: &[(String, String)]) -> anyhow::Result<Vec<String>> {
        let repository = |name: &String| {
            let found = known.iter().find(|(known, _)| known == name).map(|(_, git)| git.clone());
            found.with_context(|| format!("the package has no git dependency `{name}`"))
        };
        self.names.iter().map(repository).collect()
    }
}
