//! Finding source files.

use std::path::{Path, PathBuf};

/// Folders without our sources.
const SKIPPED: [&str; 3] = ["target", ".git", "book"];

/// The root of the repository.
pub fn repository() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.expect("this crate is a folder of the repository").to_owned()
}

/// All files under `folder` that end in `.extension`, sorted; none if there is
/// no such folder.
pub fn with_extension(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = folder.read_dir() else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                if !SKIPPED.iter().any(|&skipped| path.ends_with(skipped)) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The name of a file in tests: its path in the repository.
pub fn display_name(path: &Path) -> String {
    path.strip_prefix(repository()).unwrap_or(path).display().to_string()
}
