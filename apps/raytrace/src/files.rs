//! Files: what is read of them, and how results are written.
//!
//! Scenes come from strangers and name other files, so only regular files of a sensible size are read: a device or a pipe may have no end, or wait for
//! ever.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// The most bytes of a file; larger ones have more triangles than a scene may have.
const MOST_BYTES: u64 = 8 << 30;

/// The bytes of a file that a scene needs, or that is the scene.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    read_up_to(path, MOST_BYTES).with_context(|| format!("cannot read `{}`", path.display()))
}

fn read_up_to(path: &Path, most: u64) -> Result<Vec<u8>> {
    // Opening a pipe waits for its writer, so the type comes first.
    let data = fs::metadata(path)?;
    ensure!(data.is_file(), "it is no regular file");
    ensure!(data.len() <= most, "it has {} bytes, which is more than {most}", data.len());
    let mut bytes = vec![];
    bytes.try_reserve_exact(data.len() as usize).context("there is not enough memory")?;
    // Files of the system have the length 0, and more bytes than that.
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Prints to standard output.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")
}

/// Replaces a file as a whole, so that viewers never see a part of it.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written.with_context(|| format!("cannot write `{}`", path.display()))
}

/// Whether a file may be written later, as far as that can be said without writing it.
pub fn check_output(path: &Path) -> Result<()> {
    let failed = || format!("cannot write `{}`", path.display());
    if let Ok(data) = fs::metadata(path) {
        ensure!(data.is_file(), "{}: it is no regular file", failed());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let data = fs::metadata(folder).with_context(failed)?;
    ensure!(data.is_dir(), "{}: `{}` is no folder", failed(), folder.display());
    Ok(())
}
