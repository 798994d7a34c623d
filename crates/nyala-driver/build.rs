//! Embeds texts into the compiler: the sources of every edition of the prelude with lists of their items, the libraries
//! and the book's entries for diagnostics. A new file in these folders needs no other change. The library of the
//! runtime is embedded as well, so that the compiler needs no other files.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use nyala_span::{Name, SourceMap};
use nyala_syntax::ast::Dialect;
use nyala_syntax::outline::{Outline, outline};

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
    // Flags are for the compiler, such as sanitizers and processors; the runtime becomes part of programs for other
    // machines.
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
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
    embed_prelude(list, &editions)
}

/// A file of the prelude.
struct PreludeFile {
    path: PathBuf,
    dialect: Dialect,
    outline: Outline,
}

/// Writes the folders of the prelude, and the items of each file as numbers of names. See `src/prelude.rs`.
fn embed_prelude(list: &mut String, editions: &[(String, PathBuf)]) -> io::Result<()> {
    let mut folders = vec![];
    for (name, folder) in editions {
        let files = with_extension(folder, "impala")?;
        folders.push((name, files.map(prelude_file).collect::<io::Result<Vec<_>>>()?));
    }
    let items = folders.iter().flat_map(|(_, files)| files).flat_map(|file| &file.outline.items);
    let names: BTreeSet<&str> =
        items.flat_map(|item| [item.name, item.link_name]).flatten().map(Name::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    writeln!(list, "pub(crate) static PRELUDE_NAMES: &[&str] = &{names:?};").expect(TAKES_ALL);
    writeln!(list, "static EDITION_FOLDERS: &[(&str, &[PreludeFile])] = &[").expect(TAKES_ALL);
    for (name, files) in &folders {
        writeln!(list, "({name:?}, &[").expect(TAKES_ALL);
        files.iter().for_each(|file| write_prelude_file(list, file, &names));
        list.push_str("]),\n");
    }
    list.push_str("];\n");
    Ok(())
}

fn prelude_file(path: PathBuf) -> io::Result<PreludeFile> {
    println!("cargo::rerun-if-changed={}", path.display());
    let mut sources = SourceMap::default();
    let id = sources.add(path.display().to_string(), fs::read_to_string(&path)?).map_err(io::Error::other)?;
    let parse = nyala_syntax::parse(sources.file(id));
    let outline = outline(sources.file(id), &parse.file);
    match parse.errors.first() {
        None => Ok(PreludeFile { path, dialect: parse.file.dialect, outline }),
        Some(error) => {
            let place = sources.describe(error.primary.span);
            Err(io::Error::other(format!("{place}: {}", error.message)))
        }
    }
}

fn write_prelude_file(list: &mut String, file: &PreludeFile, names: &[&str]) {
    let PreludeFile { path, dialect, outline } = file;
    let number = |name: Name| names.binary_search(&name.as_str()).ok();
    let range = |range: &Range<usize>| (range.start, range.end);
    let stem = stem(path);
    writeln!(list, "PreludeFile {{ stem: {stem:?}, text: include_str!({path:?}),").expect(TAKES_ALL);
    writeln!(list, "dialect: nyala_syntax::ast::Dialect::{dialect:?}, items: &[").expect(TAKES_ALL);
    for item in &outline.items {
        let mentions: BTreeSet<usize> = item.mentions.iter().filter_map(|&name| number(name)).collect();
        let mentions: Vec<usize> = mentions.into_iter().collect();
        let [name, link_name] = [item.name, item.link_name].map(|name| name.and_then(number));
        let (text, block) = (range(&item.text), item.block);
        writeln!(list, "PreludeItem {{ name: {name:?}, link_name: {link_name:?}, text: {text:?},")
            .expect(TAKES_ALL);
        writeln!(list, "block: {block:?}, mentions: &{mentions:?} }},").expect(TAKES_ALL);
    }
    let blocks: Vec<_> = outline.blocks.iter().map(|block| [&block.open, &block.close].map(range)).collect();
    writeln!(list, "], blocks: &{blocks:?} }},").expect(TAKES_ALL);
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
    writeln!(list, "{name}: &[(&str, &str)] = &[").expect(TAKES_ALL);
    for path in with_extension(folder, extension)? {
        writeln!(list, "({:?}, include_str!({path:?})),", stem(&path)).expect(TAKES_ALL);
    }
    list.push_str("];\n");
    Ok(())
}

/// The files in `folder` with this extension, sorted by name.
fn with_extension<'a>(folder: &Path, extension: &'a str) -> io::Result<impl Iterator<Item = PathBuf> + 'a> {
    let has_extension = move |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    Ok(entries(folder)?.into_iter().filter(has_extension))
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a file with an extension has a stem").to_string_lossy().into_owned()
}
