//! The C compiler of the peers.
//!
//! `zig cc` is preferred: it is a Clang with the version of LLVM that we use, so that only
//! our code differs. It is a Python package, installed below `target` when it is
//! first needed. If that fails, the system's Clang or GCC is used.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use crate::files;

/// The options of all of them.
const OPTIONS: [&str; 3] = ["-O3", "-march=native", "-w"];

/// A C compiler.
pub struct Compiler {
    program: PathBuf,
    args: &'static [&'static str],
    /// Its name, version and options.
    pub name: String,
}

impl Compiler {
    /// The preferred compiler that is available.
    pub fn find() -> anyhow::Result<Compiler> {
        let zig = install_zig().map(|python| (python, &["-m", "ziglang", "cc"][..], "zig cc, "));
        let others = ["clang", "gcc", "cc"].map(|name| (PathBuf::from(name), &[][..], ""));
        for (program, args, prefix) in zig.into_iter().chain(others) {
            let version = Command::new(&program).args(args).arg("--version").output();
            let Some(version) = version.ok().filter(|version| version.status.success()) else { continue };
            let text = String::from_utf8_lossy(&version.stdout);
            let name = format!("{prefix}{} -O3 -march=native", text.lines().next().unwrap_or_default());
            return Ok(Compiler { program, args, name });
        }
        bail!("there is no C compiler to compare with: neither zig (by pip), nor clang, nor gcc")
    }

    /// A command without files.
    pub fn command(&self) -> Command {
        let mut command = self.bare();
        command.args(OPTIONS);
        command
    }

    /// A command without files and without options.
    pub fn bare(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.args);
        command
    }
}

/// The Python with the package, if it can be installed.
fn install_zig() -> Option<PathBuf> {
    let folder = files::repository().join("target/bench/zig");
    let python = folder.join("bin/python");
    if has_zig(&python) {
        return Some(python);
    }
    eprintln!("installing zig, whose C compiler is the peer, into {}", folder.display());
    let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status().ok()?;
    let install = ["-m", "pip", "install", "--quiet", "ziglang"];
    let installed = made.success() && Command::new(&python).args(install).status().ok()?.success();
    (installed && has_zig(&python)).then_some(python)
}

fn has_zig(python: &Path) -> bool {
    let version = Command::new(python).args(["-m", "ziglang", "version"]).output();
    version.is_ok_and(|version| version.status.success())
}
