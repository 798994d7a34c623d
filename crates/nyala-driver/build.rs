//! Embeds texts into the compiler: the sources of every edition of the prelude, the libraries and the book's
//! entries for diagnostics. A new file in these folders needs no other change. The library of the
//! runtime is embedded as well, so that the compiler needs no other files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut list = String::new();
    for edition in ["default", "2015", "2018", "2019", "artic"] {
        let name = format!("EDITION_{}", edition.to_uppercase());
        embed(&mut list, &name, &root.join("lib").join(edition), "impala")?;
    }
    embed(&mut list, "LIBRARY_STENCIL", &root.join("lib/stencil"), "impala")?;
    embed(&mut list, "DIAGNOSTICS", &root.join("docs/src/diagnostics"), "md")?;
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let runtime = build_runtime(&root, &out_dir)?;
    writeln!(list, "pub(crate) static RUNTIME: &[u8] = include_bytes!({runtime:?});")
        .expect("strings take all text");
    fs::write(out_dir.join("embedded.rs"), list)
}

/// Builds the runtime as an optimized static library, in a separate run of cargo: cargo has no dependencies on
/// static libraries. Returns its path.
fn build_runtime(root: &Path, out_dir: &Path) -> io::Result<PathBuf> {
    for package in ["nyala-runtime", "nyala-message", "nyala-random"] {
        println!("cargo::rerun-if-changed={}", root.join("crates").join(package).display());
    }
    let (folder, target) = (out_dir.join("runtime"), env::var("TARGET").expect("cargo sets it"));
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets it"));
    cargo.args(["rustc", "--quiet", "--release", "--package", "nyala-runtime"]);
    cargo.args(["--crate-type", "staticlib", "--target", &target, "--target-dir"]).arg(&folder);
    for option in ["lto='fat'", "codegen-units=1", "debug=false"] {
        cargo.arg("--config").arg(format!("profile.release.{option}"));
    }
    // `cargo check` and clippy set a wrapper for rustc. The runtime must be compiled, not checked.
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER").current_dir(root);
    match cargo.status()? {
        status if status.success() => Ok(folder.join(target).join("release/libnyala_runtime.a")),
        status => Err(io::Error::other(format!("the runtime was not built: {cargo:?} gives {status}"))),
    }
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
