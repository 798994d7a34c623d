//! Syntax tree to typed tree: modules, names, types, mutability, exhaustiveness.
//!
//! [`check`] takes the syntax trees of all files of a program and gives the typed
//! tree, with everything that is wrong. It always ends and never panics; what
//! could not be typed has the error type, which fits everywhere, so that one
//! mistake is reported once.
//!
//! Read in this order: [`types`] and [`tree`] are what comes out; `collect` finds
//! the items, `resolve` the meaning of names, `convert` that of written types,
//! `items` the types of items; `infer` checks bodies; `errors` says what can be wrong.

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

#[cfg(test)]
mod testing;

pub use checker::{CheckFile, Checked, check};
