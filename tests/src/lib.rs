//! Whole-compiler tests: programs with expectations.
//!
//! This crate holds what the test programs in `harness/` share: finding source
//! files ([`files`]), what a program says at its top about how it behaves
//! ([`expectations`]), comparing with a stored text ([`snapshot`]), changing
//! programs at [`random`] ([`mutate`]), making programs ([`generate`]) and comparing all ways to execute them
//! ([`differential`], [`equivalence`]), and measuring time ([`clock`]).
//!
//! * `check/accept`: programs without errors; `// warn: W0001` at the top names
//!   each kind of warning that is expected, and the warnings stand beside it in a file
//!   ending in `.stderr`;
//! * `check/reject`: programs with errors; what is reported stands beside each in
//!   a file ending in `.stderr`;
//! * `check/json`: programs whose reports for tools stand beside them in a file ending
//!   in `.json`;
//! * `run`: programs that are executed.
//!
//! `BLESS=1 cargo test` writes the stored texts anew; the diff is what to review.

pub mod annotate;
pub mod clock;
pub mod differential;
pub mod equivalence;
pub mod expectations;
pub mod files;
pub mod generate;
pub mod mutate;
pub mod random;

pub use nyala_test_support::snapshot;
