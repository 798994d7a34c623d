//! Packages: folders of source files with a manifest, `nyala.toml`.
//!
//! This crate says which packages a program consists of and where their files are. It reads manifests and lists
//! folders; what is in source files is the driver's business. Packages that are built into the compiler are folders
//! too ([`Folder`]), so all packages follow the same rules.
//!
//! Read in this order: [`manifest`] is what a package says about itself; [`folder`] where its files are;
//! [`targets`] which files make its library and its programs; [`resolve`] finds its dependencies, with [`git`] and
//! [`lock`]; [`edit`] makes and changes manifests; [`tuned`] is what
//! `nyala tune` writes; [`errors`] says what can be wrong.
//!
//! # Invariants
//!
//! * What is wrong is a [`Diagnostic`](nyala_span::Diagnostic), at its place in the manifest. Nothing here panics,
//!   whatever the files contain.
//! * The packages of a [`Graph`] have different names, and no package depends on itself.
//! * The same files and the same lock file give the same graph, in the same order.

pub mod edit;
pub mod errors;
pub mod folder;
pub mod git;
pub mod lock;
pub mod manifest;
pub mod resolve;
pub mod targets;
pub mod tuned;

pub use folder::{EmbeddedPackage, Folder, Source, Text};
pub use manifest::Manifest;
pub use resolve::{Graph, Package, PackageIdx, Resolver};
pub use targets::{Program, Targets};

use std::ops::Range;

use nyala_span::{SourceFile, Span};

/// The name of a manifest.
pub const MANIFEST: &str = "nyala.toml";

/// The name of a lock file.
pub const LOCK: &str = "nyala.lock";

/// The name of the file with tuned values.
pub const TUNED: &str = "nyala.tune";

/// What the names of source files end with.
pub const EXTENSIONS: [&str; 2] = ["impala", "art"];

/// The place of a range of bytes that the parser of TOML names.
pub(crate) fn span_in(file: &SourceFile, range: Range<usize>) -> Span {
    let place = |offset: usize| file.base + offset.min(file.text.len()) as u32;
    Span::new(place(range.start), place(range.end.max(range.start)))
}
