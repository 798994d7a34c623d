//! Tests and benchmarks of programs: `nyala test`, `nyala bench` and `nyala tune` as a library.
//!
//! Read in this order:
//!
//! * [`discover`]: which tests, examples and benchmarks there are;
//! * [`execute`]: how they are compiled, and called in one process;
//! * [`property`]: the arguments of tests that take some;
//! * [`process`]: copies of this process, in which they run;
//! * [`run`](mod@run): all tests in all modes, in parallel;
//! * [`report`]: results as text, JSON and XML;
//! * [`bench`](mod@bench): measurements; [`statistics`]: their meaning; [`bench_report`]: as text and JSON, and saved;
//! * [`tune`]: the fastest values of parameters.
//!
//! # What always holds
//!
//! * A test that crashes, hangs or ends its process is one failed test.
//! * Tests share nothing: each starts from the state right after compiling.

pub mod bench;
pub mod bench_report;
pub mod discover;
pub mod execute;
pub mod process;
pub mod property;
pub mod report;
pub mod run;
pub mod statistics;
pub mod tune;
