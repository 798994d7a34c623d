//! Syntax tree to typed tree: modules, names, types, mutability, exhaustiveness.
//!
//! [`check`] takes the syntax trees of all files of a program and gives the typed
//! tree, with everything that is wrong. It always ends and never panics; what
//! could not be typed has the error type, which fits everywhere, so that one
//! mistake is reported once.
//!
//! Read in this order: [`types`] and [`tree`] are what comes out; `collect` finds
//! the items, `resolve` the meaning of names, `convert` that of written types,
//! `items` the types of items; `infer` checks bodies; `symbols` what the linker sees; `errors` says what can be
//! wrong.
//!
//! ```
//! use nyala_sema::{CheckFile, check};
//! use nyala_span::SourceMap;
//!
//! let mut sources = SourceMap::default();
//! let id = sources.add("half.impala", "fn half(x: f32) -> i32 { x }")?;
//! let parse = nyala_syntax::parse(sources.file(id));
//! let checked = check(&[CheckFile { ast: &parse.file, is_prelude: false }]);
//! assert_eq!(checked.diagnostics[0].message, "expected `i32`, found `f32`");
//! # Ok::<(), nyala_span::SourceTooLarge>(())
//! ```

pub mod constness;
pub mod exhaustive;
pub mod tree;
pub mod types;
pub mod visit;
pub mod warnings;

mod checker;
mod collect;
mod containment;
mod convert;
mod demand;
mod errors;
mod infer;
mod items;
mod resolve;
mod scope;
mod symbols;

#[cfg(test)]
mod testing;

pub use checker::{CheckFile, Checked, check};
