//! Dynamic staging: a calculus in which staging expressions give the order of evaluation, and two languages on it.
//!
//! After Danilewski, Köster, Leißa, Membarth and Slusallek, *Specialization through Dynamic Staging* (GPCE 2014).
//!
//! ```text
//! .sc text ──staged_c──▶ DeepCPS ◀──deep── .deep text
//!                           │  deep::translate
//!                           ▼
//!                       calculus (code)
//!                           │  machine: evaluates active bodies, deepest first
//!                           ▼
//!                       residual (code) ──machine──▶ result
//!                           │  lower: types, graph; the partial evaluator stays off
//!                           ▼
//!                       nyala-ir ──native──▶ machine code, which may call `compile` again
//! ```
//!
//! Read in this order:
//!
//! * [`code`]: terms of the calculus; [`primitive`]: its built-in functions;
//! * [`machine`]: the interpreter; [`trace`]: its steps as text;
//! * [`deep`]: DeepCPS; [`staged_c`]: Staged-C; `lex` and `parser`: what both share;
//! * [`print`](mod@print): the calculus as text; [`html`]: its steps as a page;
//! * `types` and [`lower`]: residual programs as graphs; [`native`]: and as machine code;
//! * [`program`]: all of it for a file; [`errors`]: what can be wrong; [`generate`]: random programs for tests.

pub mod code;
pub mod deep;
pub mod errors;
pub mod generate;
pub mod html;
mod lex;
pub mod lower;
pub mod machine;
pub mod native;
mod parser;
pub mod primitive;
pub mod print;
pub mod program;
pub mod staged_c;
pub mod trace;
mod types;

pub use errors::Error;
