//! Transformations of the program graph.
//!
//! A pass is a function over a [`World`](nyala_ir::World). Read in this order:
//!
//! * [`mod@mangle`]: the one operation that copies continuations, under new
//!   parameters; inlining, specialisation, loop peeling and unrolling, closure
//!   elimination and outlining are all uses of it;
//! * [`partial_eval`]: removes abstraction at compile time, steered by filters.

pub mod mangle;
pub mod partial_eval;

pub use mangle::{Mangling, mangle, mangle_group};
