//! Commits of git repositories, as folders in a cache.
//!
//! A commit is checked out once, into a folder named after it, and never changed. So a dependency that was used before
//! needs neither git nor a network. The work is done by the `git` command, with the user's configuration
//! for access to repositories, but without its hooks and conversions of line ends.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::folder::normal;
use crate::lock::is_commit;

/// The folder that commits are checked out in.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// A commit on disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkout {
    /// Its full name.
    pub commit: String,
    /// Its files.
    pub folder: PathBuf,
}

impl Cache {
    /// A cache in this folder, which need not exist.
    pub fn new(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into() }
    }

    /// The cache of this user: in `$NYALA_CACHE`, `$XDG_CACHE_HOME/nyala` or `$HOME/.cache/nyala`.
    pub fn of_user() -> Option<Cache> {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let xdg = || variable("XDG_CACHE_HOME").map(|folder| folder.join("nyala"));
        let home = || variable("HOME").map(|folder| folder.join(".cache/nyala"));
        variable("NYALA_CACHE").or_else(xdg).or_else(home).map(Cache::new)
    }

    /// A revision of a repository: the locked commit if there is one, else what the revision is now. A relative path
    /// to a repository starts from `base`.
    pub fn checkout(
        &self,
        url: &str,
        rev: &str,
        locked: Option<&str>,
        base: Option<&Path>,
    ) -> Result<Checkout, String> {
        let url = absolute(url, base);
        let repository = self.folder.join("git").join(folder_name(&url));
        let known = locked.or(is_commit(rev).then_some(rev));
        if let Some(commit) = known {
            let folder = repository.join(commit);
            if folder.is_dir() {
                return Ok(Checkout { commit: commit.into(), folder });
            }
        }
        fs::create_dir_all(&repository).map_err(|error| cannot("create", &repository, &error))?;
        let work = Work::new(&repository)?;
        work.clone(&url)?;
        let commit = match known {
            Some(commit) => work.fetched(commit)?,
            None => work.resolve(rev)?,
        };
        let folder = repository.join(&commit);
        if !folder.is_dir() {
            work.move_to(&commit, &folder)?;
        }
        Ok(Checkout { commit, folder })
    }
}

/// A clone that is deleted in the end.
struct Work {
    folder: PathBuf,
}

impl Drop for Work {
    fn drop(&mut self) {
        // A folder that cannot be removed does no harm: it takes the place of no checkout.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Work {
    fn new(repository: &Path) -> Result<Work, String> {
        // Threads of one process may clone the same repository.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = repository.join(format!("clone-{}-{number}", process::id()));
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot("remove", &folder, &error)),
            _ => Ok(Work { folder }),
        }
    }

    fn clone(&self, url: &str) -> Result<(), String> {
        let mut command = git();
        command.args(["clone", "--quiet", "--no-checkout", "--"]).arg(url).arg(&self.folder);
        run(command).map(drop)
    }

    /// The commit that a tag, a branch or the beginning of a commit's name stands for.
    fn resolve(&self, rev: &str) -> Result<String, String> {
        let is_hex = rev.len() >= 4 && rev.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut names = vec![format!("refs/tags/{rev}"), format!("refs/remotes/origin/{rev}")];
        names.extend(is_hex.then(|| rev.to_owned()));
        let resolved = names.iter().find_map(|name| self.commit_of(name));
        resolved.ok_or_else(|| format!("the repository has no tag, branch or commit `{rev}`"))
    }

    /// A commit, fetched by its name if no branch and no tag contains it.
    fn fetched(&self, commit: &str) -> Result<String, String> {
        if self.commit_of(commit).is_none() {
            run(self.git(["fetch", "--quiet", "origin", commit]))?;
        }
        self.commit_of(commit).ok_or_else(|| format!("the repository has no commit `{commit}`"))
    }

    fn commit_of(&self, name: &str) -> Option<String> {
        let name = format!("{name}^{{commit}}");
        let output = run(self.git(["rev-parse", "--verify", "--quiet", "--end-of-options", &name])).ok()?;
        Some(output.trim().to_owned()).filter(|commit| is_commit(commit))
    }

    /// Checks a commit out and leaves its files in `folder`. Another process may be faster: its files are the same.
    fn move_to(&self, commit: &str, folder: &Path) -> Result<(), String> {
        run(self.git(["checkout", "--quiet", "--detach", commit]))?;
        let history = self.folder.join(".git");
        fs::remove_dir_all(&history).map_err(|error| cannot("remove", &history, &error))?;
        match fs::rename(&self.folder, folder) {
            Err(error) if !folder.is_dir() => Err(cannot("create", folder, &error)),
            _ => Ok(()),
        }
    }

    fn git<const N: usize>(&self, args: [&str; N]) -> Command {
        let mut command = git();
        command.arg("-C").arg(&self.folder).args(args);
        command
    }
}

/// The command, such that the same commit gives the same files for everybody and nothing is asked.
fn git() -> Command {
    let mut command = Command::new("git");
    for setting in
        ["core.autocrlf=false", "core.eol=lf", "core.hooksPath=/dev/null", "advice.detachedHead=false"]
    {
        command.args(["-c", setting]);
    }
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(variable);
    }
    command.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null());
    command
}

fn run(mut command: Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot start `git`: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(if said.is_empty() { format!("`git` ended with {}", output.status) } else { said })
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {what} `{}`: {error}", path.display())
}

/// A path to a repository as seen from everywhere; URLs stay as they are.
fn absolute(url: &str, base: Option<&Path>) -> String {
    let is_path = !url.contains("://") && !url.split('/').next().is_some_and(|start| start.contains(':'));
    let Some(base) = base.filter(|_| is_path) else { return url.into() };
    let path = normal(&base.join(url));
    let path = if path.as_os_str().is_empty() { PathBuf::from(".") } else { path };
    fs::canonicalize(&path).unwrap_or(path).display().to_string()
}

/// A name for the folder of a repository: readable, and different for different repositories.
fn folder_name(url: &str) -> String {
    let stem =
        Path::new(url.trim_end_matches('/')).file_stem().and_then(OsStr::to_str).unwrap_or("repository");
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_' || *letter == '-';
    let stem: String = stem.chars().filter(is_plain).take(40).collect();
    format!("{stem}-{:016x}", hash(url))
}

/// The hash FNV-1a, which is the same on every machine.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
