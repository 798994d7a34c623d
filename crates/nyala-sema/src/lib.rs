//! Syntax tree to typed tree: modules, names, types, mutability, exhaustiveness.
//!
//! [`check`] takes the syntax trees of all packages of a program and returns the typed tree
//! and the diagnostics. It always terminates and never panics. An expression that could
//! not be typed has the error type. The error type matches every type, so one mistake
//! is reported once.
//!
//! Read in this order:
//!
//! * [`package`] is the input, [`types`] and [`tree`] are the output;
//! * `checker`: the state, and the order of the steps;
//! * `collect` finds the items; `scope` has names, which `resolve` and `globs` resolve; `shadowing` reports hidden
//!   ones;
//! * `convert` and `numbers` convert written types; `items` finds the types of items; `containment` finds types
//!   that contain themselves;
//! * `infer` checks bodies, in the order of `demand`;
//! * on the typed tree, which [`visit`] traverses: [`mod@exhaustive`] checks patterns, [`constness`] initializers,
//!   and [`mod@warnings`] finds probable mistakes; `simd_mode` replaces control flow that depends on vectors;
//! * `operators` checks declarations of operators, `linkage` and `symbols` what the linker sees, `roles` tests and
//!   benchmarks, `tuning` the parameters of `nyala tune`;
//! * `errors` lists all errors.
//!
//! ```
//! use nyala_sema::{check, package::Package};
//! use nyala_span::SourceMap;
//!
//! let mut sources = SourceMap::default();
//! let id = sources.add("half.impala", "fn half(x: f32) -> i32 { x }")?;
//! let parse = nyala_syntax::parse(sources.file(id));
//! let checked = check(&[Package::program([&parse.file])]);
//! assert_eq!(checked.diagnostics[0].message, "expected `i32`, found `f32`");
//! # Ok::<(), nyala_span::SourceTooLarge>(())
//! ```

pub mod constness;
pub mod exhaustive;
pub mod package;
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
mod globs;
mod infer;
mod items;
mod linkage;
mod numbers;
mod operators;
mod resolve;
mod roles;
mod scope;
mod shadowing;
mod simd_mode;
mod symbols;
mod tuning;

#[cfg(test)]
mod testing;

pub use checker::{Checked, check};
