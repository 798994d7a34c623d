//! The search for the LLVM library.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

/// A place to search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Why it is searched.
    what: &'static str,
    /// A library, or a folder with libraries.
    path: PathBuf,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path.display(), self.what)
    }
}

impl Place {
    /// The libraries at this place, those of the newest version first.
    pub fn libraries(&self) -> Vec<PathBuf> {
        if self.path.is_file() {
            return vec![self.path.clone()];
        }
        let entries = self.path.read_dir().into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| is_llvm(path)).collect();
        found.sort_by_key(|path| std::cmp::Reverse((version(path), path.clone())));
        found
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Whether a file has one of the names of the LLVM library.
fn is_llvm(path: &Path) -> bool {
    let name = file_name(path);
    let is_library = name.contains(".so") || name.ends_with(".dylib") || name.ends_with(".dll");
    is_library
        && (name.starts_with("libLLVM.") || name.starts_with("libLLVM-") || name.starts_with("LLVM-C."))
}

/// The first number in the name.
fn version(path: &Path) -> u32 {
    let name = file_name(path);
    let digits = name.chars().skip_while(|letter| !letter.is_ascii_digit());
    digits.take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

/// All places, in the order of the search: `NYALA_LLVM`, the folder of the compiler, Rust toolchains, the system.
pub fn places() -> Vec<Place> {
    let mut places = vec![];
    let mut add = |what, path: PathBuf| places.push(Place { what, path });
    if let Some(path) = env::var_os("NYALA_LLVM").filter(|path| !path.is_empty()) {
        add("NYALA_LLVM", path.into());
        // A library that the user names is the only candidate.
        return places;
    }
    if let Some(folder) = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned())) {
        add("beside the compiler", folder.clone());
        add("beside the compiler", folder.join("../lib"));
    }
    for folder in toolchains() {
        add("a Rust toolchain", folder.join("lib"));
    }
    for folder in SYSTEM_FOLDERS {
        add("the system", folder.into());
    }
    places
}

const SYSTEM_FOLDERS: [&str; 8] = [
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/riscv64-linux-gnu",
    "/opt/homebrew/opt/llvm/lib",
    "/usr/local/opt/llvm/lib",
];

/// Rust toolchains: the one in use first, then those of rustup, then the folder
/// that `rustc` on the path belongs to.
fn toolchains() -> Vec<PathBuf> {
    let home = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from);
    let rustup = env::var_os("RUSTUP_HOME").map(PathBuf::from).or_else(|| Some(home?.join(".rustup")));
    let folder = rustup.map(|rustup| rustup.join("toolchains"));
    let chosen = folder.as_ref().zip(env::var_os("RUSTUP_TOOLCHAIN")).map(|(folder, name)| folder.join(name));
    let mut installed: Vec<PathBuf> = folder
        .into_iter()
        .flat_map(|folder| folder.read_dir().into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .collect();
    // Newer ones have larger numbers in their names, and `stable` is newer than those.
    installed.sort_by(|a, b| b.cmp(a));
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).filter(|folder| folder.join("rustc").is_file());
    let on_path = on_path.filter_map(|folder| Some(folder.parent()?.to_owned()));
    chosen.into_iter().chain(installed).chain(on_path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_names() {
        let is = |name: &str| is_llvm(Path::new(name));
        assert!(is("/a/libLLVM.so.22.1-rust-1.95.0-stable") && is("libLLVM-19.so.1") && is("libLLVM.dylib"));
        assert!(!is("libLLVMSupport.a") && !is("librustc_driver.so") && !is("libLLVM-19.txt"));
    }

    #[test]
    fn the_version_is_the_first_number() {
        assert_eq!(version(Path::new("/lib64/libLLVM.so.22.1-rust-1.95.0")), 22);
        assert_eq!(version(Path::new("libLLVM-19.so.1")), 19);
        assert_eq!(version(Path::new("libLLVM.so")), 0);
    }
}
