//! Lists the texts that are built into the compiler: the sources of every edition of the
//! prelude, the libraries and the book's entries for diagnostics. Adding a file to a folder is enough.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut list = String::new();
    for edition in ["default", "2018", "2019", "artic"] {
        let name = format!("EDITION_{}", edition.to_uppercase());
        embed(&mut list, &name, &root.join("lib").join(edition), "impala")?;
    }
    embed(&mut list, "LIBRARY_STENCIL", &root.join("lib/stencil"), "impala")?;
    embed(&mut list, "DIAGNOSTICS", &root.join("docs/src/diagnostics"), "md")?;
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out_dir.join("embedded.rs"), list)
}

/// Writes a static of `(stem, text)` pairs, sorted by name, for the files in `folder`.
fn embed(list: &mut String, name: &str, folder: &Path, extension: &str) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut paths = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            paths.push(entry?.path());
        }
    }
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    writeln!(list, "pub(crate) static {name}: &[(&str, &str)] = &[").expect("strings take all text");
    for path in paths {
        let stem = path.file_stem().expect("a file with an extension has a stem").to_string_lossy();
        writeln!(list, "({stem:?}, include_str!({path:?})),").expect("strings take all text");
    }
    list.push_str("];\n");
    Ok(())
}
