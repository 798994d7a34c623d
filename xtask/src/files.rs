//! The files of the repository.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// Folders without our sources.
const SKIPPED: [&str; 3] = ["target", ".git", "book"];

/// A text file of the repository.
pub struct TextFile {
    /// Its path from the root.
    pub path: PathBuf,
    /// Its contents.
    pub text: String,
}

/// The root of the repository: the one of the build, or the working directory if the binary was copied to another
/// machine.
pub fn repository() -> &'static Path {
    let built =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is a folder of the repository");
    if built.exists() { built } else { Path::new(".") }
}

/// All files under `folder` that end in `.extension`, sorted by path.
pub fn with_extension(folder: &str, extension: &str) -> anyhow::Result<Vec<TextFile>> {
    let mut files = Vec::new();
    let mut folders = vec![repository().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().with_context(|| format!("cannot list {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                if !SKIPPED.iter().any(|&skipped| path.ends_with(skipped)) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(read(&path)?);
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn read(path: &Path) -> anyhow::Result<TextFile> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(TextFile { path: path.strip_prefix(repository()).unwrap_or(path).to_owned(), text })
}
