//! Whole-compiler tests: programs with expectations.
//!
//! This crate has the shared parts of the tests in `harness/`: finding source files ([`files`]), the expectations
//! at the top of a program ([`expectations`]), comparing with a stored text ([`snapshot`]), changing programs at
//! [`random`] ([`mutate`]), generating programs ([`generate`], [`vectorial`], [`annotate`]) and comparing their
//! executions ([`differential`], [`equivalence`]), measuring time ([`clock`]), and starting programs as several
//! processes ([`mpi`]).
//!
//! * `check/accept`: programs without errors; `// warn: W0001` at the top names
//!   each expected kind of warning, and the warnings are in a file beside it
//!   ending in `.stderr`;
//! * `check/reject`: programs with errors; the diagnostics are in a file beside each,
//!   ending in `.stderr`;
//! * `check/json`: programs whose reports for tools are in a file beside them, ending
//!   in `.json`;
//! * `run`: programs that are executed.
//!
//! `BLESS=1 cargo test` updates the stored texts; review the diff.

pub mod annotate;
pub mod clock;
pub mod differential;
pub mod equivalence;
pub mod expectations;
pub mod files;
pub mod generate;
pub mod mpi;
pub mod mutate;
pub mod vectorial;
pub use nyala_test_support::random;

pub use nyala_test_support::snapshot;
