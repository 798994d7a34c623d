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
    embed(&mut list, "static DIAGNOSTICS", &root.join("docs/src/diagnostics"), "md")?;
    embed_lib(&mut list, &root.join("lib"))?;
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let runtime = build_runtime(&root, &out_dir)?;
    writeln!(list, "pub(crate) static RUNTIME: &[u8] = include_bytes!({runtime:?});").expect(TAKES_ALL);
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

/// Writes what is in `lib`: each folder with a manifest is a package, each other one belongs to the prelude.
fn embed_lib(list: &mut String, lib: &Path) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", lib.display());
    let (mut packages, mut editions) = (vec![], vec![]);
    for folder in entries(lib)?.into_iter().filter(|path| path.is_dir()) {
        let name = file_name(&folder);
        match folder.join("nyala.toml").is_file() {
            true => packages.push((name, package_files(&folder)?)),
            false => editions.push((name, folder)),
        }
    }
    writeln!(list, "pub(crate) static PACKAGES: &[nyala_package::EmbeddedPackage] = &[").expect(TAKES_ALL);
    for (name, files) in packages {
        writeln!(list, "nyala_package::EmbeddedPackage {{ name: {name:?}, files: &[").expect(TAKES_ALL);
        for (path, file) in files {
            writeln!(list, "({path:?}, include_str!({file:?})),").expect(TAKES_ALL);
        }
        list.push_str("] },\n");
    }
    list.push_str("];\n");
    writeln!(list, "static EDITION_FOLDERS: &[(&str, &[(&str, &str)])] = &[").expect(TAKES_ALL);
    for (number, (name, _)) in editions.iter().enumerate() {
        writeln!(list, "({name:?}, EDITION_{number}),").expect(TAKES_ALL);
    }
    list.push_str("];\n");
    for (number, (_, folder)) in editions.iter().enumerate() {
        embed(list, &format!("static EDITION_{number}"), folder, "impala")?;
    }
    Ok(())
}

/// The manifest and the sources of a package, with their paths in it.
fn package_files(package: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut files = vec![("nyala.toml".to_owned(), package.join("nyala.toml"))];
    let mut open = vec![("src".to_owned(), package.join("src"))];
    while let Some((path, folder)) = open.pop() {
        for entry in entries(&folder)? {
            let path = format!("{path}/{}", file_name(&entry));
            if entry.is_dir() { &mut open } else { &mut files }.push((path, entry));
        }
    }
    Ok(files)
}

/// Strings take all text.
const TAKES_ALL: &str = "strings take all text";

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name().expect("entries of folders have names").to_string_lossy().into_owned()
}

/// Writes a static of `(stem, text)` pairs, sorted by name, for the files in `folder`.
fn embed(list: &mut String, name: &str, folder: &Path, extension: &str) -> io::Result<()> {
    let paths = entries(folder)?.into_iter();
    writeln!(list, "{name}: &[(&str, &str)] = &[").expect(TAKES_ALL);
    for path in paths.filter(|path| path.extension().is_some_and(|found| found == extension)) {
        let stem = path.file_stem().expect("a file with an extension has a stem").to_string_lossy();
        writeln!(list, "({stem:?}, include_str!({path:?})),").expect(TAKES_ALL);
    }
    list.push_str("];\n");
    Ok(())
}
