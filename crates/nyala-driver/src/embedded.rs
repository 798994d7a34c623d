//! Texts built into the compiler: the editions of the prelude, the libraries and the entries of `--explain`.
//!
//! The build script lists the files; see `build.rs`.

use crate::prelude::{PreludeFile, PreludeItem};

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The files of a folder of the prelude.
pub(crate) fn edition_folder(name: &str) -> &'static [PreludeFile] {
    EDITION_FOLDERS.iter().find(|&&(folder, _)| folder == name).map_or(&[], |&(_, files)| files)
}

/// The book's entry for a diagnostic code such as `E0203`, in any case.
pub fn explain(code: &str) -> Option<&'static str> {
    let code = code.to_ascii_uppercase();
    DIAGNOSTICS.iter().find(|&&(name, _)| name == code).map(|&(_, text)| text)
}

/// The codes that [`explain`] knows, sorted.
pub fn explained_codes() -> impl Iterator<Item = &'static str> {
    DIAGNOSTICS.iter().map(|&(name, _)| name).filter(|name| *name != "README")
}
