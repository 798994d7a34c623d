//! Transformations of the program graph.
//!
//! A pass is a function over a [`World`](nyala_ir::World). Read in this order:
//!
//! * [`mod@mangle`]: the one operation that copies continuations, under new
//!   parameters; inlining, specialisation, loop peeling and unrolling, closure
//!   elimination and outlining are all uses of it;
//! * [`partial_eval`]: removes abstraction at compile time, steered by filters;
//! * [`eliminate_params`](mod@eliminate_params): removes parameters that always get
//!   the same value, so that functions become loops;
//! * [`merge_blocks`](mod@merge_blocks): joins blocks that follow each other;
//! * [`promote_slots`](mod@promote_slots): turns local variables in memory into values;
//! * [`merge_returns`](mod@merge_returns): one place to return to for each function;
//! * [`lower_to_cff`](mod@lower_to_cff): functions and basic blocks, by lambda lifting;
//! * [`mod@vectorize`]: SIMD versions of functions, for `vectorize`;
//! * [`convert_closures`](mod@convert_closures): the functions that are still values, so that
//!   native code can be made for them;
//! * [`outline`]: kernels as programs for devices;
//! * [`closures_left`](mod@closures_left): which these are, and why;
//! * [`pipeline`]: all of them, in order;
//! * `errors`: what is reported.

pub mod closures_left;
pub mod convert_closures;
pub mod eliminate_params;
mod errors;
pub mod lower_to_cff;
pub mod mangle;
mod mentions;
pub mod merge_blocks;
pub mod merge_returns;
pub mod outline;
pub mod partial_eval;
pub mod pipeline;
pub mod promote_slots;
mod rewrite;
pub mod vectorize;

pub use closures_left::closures_left;
pub use convert_closures::convert_closures;
pub use eliminate_params::eliminate_params;
pub use lower_to_cff::lower_to_cff;
pub use mangle::{Mangling, mangle, mangle_group};
pub use merge_blocks::merge_blocks;
pub use merge_returns::merge_returns;
pub use outline::outline_kernels;
pub use promote_slots::promote_slots;
pub use vectorize::vectorize;
