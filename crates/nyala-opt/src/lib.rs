//! Transformations of the program graph.
//!
//! A pass is a function over a [`World`](nyala_ir::World). Read in this order:
//!
//! * [`mod@mangle`]: the one operation that copies continuations, under new
//!   parameters; inlining, specialization, loop peeling and unrolling, closure
//!   elimination and outlining are all uses of it;
//! * `rewrite`: replaces nodes all over a program; `mentions`: which nodes refer to continuations;
//! * [`partial_eval`]: evaluates calls at compile time, as filters request; `remedy`: filters that would end an
//!   endless evaluation;
//! * [`eliminate_params`](mod@eliminate_params): removes parameters that always get
//!   the same value, so that functions become loops;
//! * [`merge_blocks`](mod@merge_blocks): merges blocks with their only predecessor;
//! * [`promote_slots`](mod@promote_slots): turns local variables in memory into values;
//! * [`jumps_out`](mod@jumps_out): reports parallel bodies that jump out of their loops;
//! * [`merge_returns`](mod@merge_returns): one return continuation for each function;
//! * [`lower_to_cff`](mod@lower_to_cff): functions and basic blocks, by lambda lifting;
//! * [`mod@vectorize`]: SIMD versions of functions, for `vectorize`;
//! * [`convert_closures`](mod@convert_closures): closure conversion of the functions that are still values;
//! * [`closures_left`](mod@closures_left): reports these, with the reason;
//! * [`outline`]: kernels as programs of their own;
//! * [`large_locals`](mod@large_locals): which variables no stack has room for;
//! * [`pipeline`]: all of them, in order;
//! * `errors`: the diagnostics.
//!
//! ```
//! use nyala_opt::partial_eval::Options;
//! use nyala_opt::pipeline::evaluate;
//!
//! let world = nyala_ir::text::parse(
//!     "export cube(mem: mem, x: i32, ret: cn(mem, i32)):
//!     power(mem, x, 3, ret)
//! power(mem: mem, x: i32, n: i32, ret: cn(mem, i32)) @ [false, known(n), known(n), known(n)]:
//!     branch(mem, eq(n, 0), done, more)
//! done(mem: mem):
//!     power.ret(mem, 1)
//! more(mem: mem):
//!     power(mem, power.x, sub(power.n, 1), next)
//! next(mem: mem, rest: i32):
//!     power.ret(mem, mul(power.x, rest))
//! ",
//! )?;
//! let left = evaluate(&world, Options::default()).world;
//! assert_eq!(
//!     nyala_ir::text::print(&left),
//!     "export cube(mem: mem, x: i32, ret: cn(mem, i32)):\n    ret(mem, mul(x, mul(x, x)))\n",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod closures_left;
pub mod convert_closures;
pub mod eliminate_params;
mod errors;
pub mod jumps_out;
pub mod large_locals;
pub mod lower_to_cff;
pub mod mangle;
mod mentions;
pub mod merge_blocks;
pub mod merge_returns;
pub mod outline;
pub mod partial_eval;
pub mod pipeline;
pub mod promote_slots;
mod remedy;
mod rewrite;
pub mod vectorize;

pub use closures_left::closures_left;
pub use convert_closures::convert_closures;
pub use eliminate_params::eliminate_params;
pub use errors::tenths;
pub use jumps_out::jumps_out;
pub use large_locals::large_locals;
pub use lower_to_cff::lower_to_cff;
pub use mangle::{Mangling, mangle, mangle_group};
pub use merge_blocks::merge_blocks;
pub use merge_returns::merge_returns;
pub use outline::outline_kernels;
pub use promote_slots::promote_slots;
pub use vectorize::vectorize;
