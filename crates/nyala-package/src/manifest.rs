//! What a package says about itself in `nyala.toml`.
//!
//! ```toml
//! [package]
//! name = "fft"
//! version = "0.2.0"
//! exports = ["transform", "plans"]
//!
//! [dependencies]
//! complex = { path = "../complex" }
//! stencil = "*"
//!
//! [[target]]
//! kind = "program"
//! name = "spectrum"
//! main = "src/spectrum.impala"
//! ```

mod read;

use std::fmt;
use std::path::PathBuf;

use nyala_span::{Diagnostic, SourceFile, Span};

/// A manifest without errors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    /// What the package is called, and what its items are found under.
    pub name: At<String>,
    /// Which version this is.
    pub version: Version,
    /// The edition of its prelude, if it is not the default one.
    pub edition: Option<At<String>>,
    /// What it is, in a sentence.
    pub description: Option<String>,
    /// The items of the root module that other packages may use; all if absent.
    pub exports: Option<Vec<At<String>>>,
    /// The packages that it uses, in the order they are written.
    pub dependencies: Vec<Dependency>,
    /// Its targets, as far as they are written.
    pub targets: Vec<Target>,
}

/// A value where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its place in the manifest.
    pub span: Span,
}

/// A package that another one uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dependency {
    /// The name under which its items are found.
    pub name: At<String>,
    /// Where it comes from.
    pub origin: Origin,
    /// The versions that are accepted.
    pub requirement: Requirement,
}

/// Where a dependency comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A folder, relative to the manifest's.
    Path(At<String>),
    /// A commit of a git repository.
    Git(GitOrigin),
    /// The library path.
    Library,
}

/// A commit of a git repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GitOrigin {
    /// The repository.
    pub url: At<String>,
    /// A commit, tag or branch.
    pub rev: At<String>,
    /// The folder of the package in the repository.
    pub folder: Option<PathBuf>,
}

/// One thing that is made from a package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// What other packages use.
    Library {
        /// Its files: paths, or `*` with an extension for all files of a folder.
        files: Vec<At<String>>,
    },
    /// What is run.
    Program {
        /// What it is called.
        name: At<String>,
        /// The file with `main`.
        main: At<String>,
    },
}

/// Three numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Version(pub [u32; 3]);

/// The first numbers of a version; `*` if there are none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Requirement(pub Vec<u32>);

impl Manifest {
    /// Reads a manifest. What is wrong is reported, all of it; then there is no manifest.
    pub fn parse(file: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> Option<Manifest> {
        read::manifest(file, diagnostics)
    }
}

impl Version {
    /// Reads `1.2.3`.
    pub fn parse(text: &str) -> Option<Version> {
        let numbers = numbers(text)?;
        numbers.try_into().ok().map(Version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

impl Requirement {
    /// Reads `*`, `1`, `1.2` or `1.2.3`.
    pub fn parse(text: &str) -> Option<Requirement> {
        match text {
            "*" => Some(Requirement::default()),
            _ => numbers(text).filter(|numbers| numbers.len() <= 3).map(Requirement),
        }
    }

    /// Whether a version begins with these numbers.
    pub fn accepts(&self, version: Version) -> bool {
        version.0.starts_with(&self.0)
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("*");
        }
        let numbers: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

fn numbers(text: &str) -> Option<Vec<u32>> {
    let number = |part: &str| {
        let is_plain =
            part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
        if is_plain { part.parse().ok() } else { None }
    };
    text.split('.').map(number).collect()
}

/// What names of packages look like, for messages.
pub const NAME_RULE: &str = "a name consists of ASCII letters, digits and `_`, begins with a letter, and is no keyword, type or `main`";

/// Whether a package may be called so: its name begins paths in source files.
pub fn is_package_name(name: &str) -> bool {
    is_program_name(name) && !RESERVED.contains(&name)
}

/// Whether a program may be called so.
pub fn is_program_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    begins && name.len() <= MAX_NAME && name.bytes().all(is_word)
}

/// The longest name of a package or program, in bytes.
const MAX_NAME: usize = 64;

/// Names that mean something else at the start of a path: keywords of both dialects, types, and `main`.
const RESERVED: &[&str] = &[
    "as", "asm", "bool", "else", "enum", "f16", "f32", "f64", "false", "fn", "for", "i16", "i32", "i64",
    "i8", "if", "in", "let", "main", "match", "mod", "mut", "package", "simd", "static", "struct", "super",
    "true", "type", "u16", "u32", "u64", "u8", "while",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_accept_versions_that_begin_with_them() {
        let accepts = |requirement: &str, version: &str| {
            let version = Version::parse(version).expect("it is a version");
            Requirement::parse(requirement).expect("it is a requirement").accepts(version)
        };
        assert!(accepts("*", "1.2.3") && accepts("1", "1.2.3") && accepts("1.2", "1.2.3"));
        assert!(!accepts("1.3", "1.2.3") && !accepts("2", "1.2.3"));
        for bad in ["", "1.", "01", "+1", "1.2.3.4", "a", "4294967296"] {
            assert_eq!(Requirement::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn package_names_begin_paths() {
        assert!(is_package_name("fft") && is_package_name("fft_2"));
        for bad in ["", "2fft", "my-fft", "_x", "super", "package", "fn", "i32", "main", "ä"] {
            assert!(!is_package_name(bad), "{bad}");
        }
    }
}
