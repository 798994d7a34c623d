//! Python packages for benchmarks and tests, each set in its own environment below
//! `target/bench`, created when it is first needed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files;

/// The Python of the environment `name` with these packages, if they can be installed; `probe` is Python code
/// that fails where they are missing.
pub fn environment(name: &str, packages: &[&str], probe: &str) -> Option<PathBuf> {
    let folder = files::repository().join("target/bench").join(name);
    let python = folder.join("bin/python");
    if succeeds(&python, probe) {
        return Some(python);
    }
    eprintln!("installing {} into {}", packages.join(", "), folder.display());
    let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status().ok()?;
    let install = ["-m", "pip", "install", "--quiet"];
    let installed =
        made.success() && Command::new(&python).args(install).args(packages).status().ok()?.success();
    (installed && succeeds(&python, probe)).then_some(python)
}

fn succeeds(python: &Path, code: &str) -> bool {
    Command::new(python).args(["-c", code]).output().is_ok_and(|output| output.status.success())
}
