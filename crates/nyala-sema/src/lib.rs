//! Syntax tree to typed tree: modules, names, types, mutability, exhaustiveness.
//!
//! Read in this order: [`types`] and [`tree`] are what comes out.

pub mod constness;
pub mod exhaustive;
pub mod tree;
pub mod types;
pub mod visit;
pub mod warnings;

#[cfg(test)]
mod testing;
