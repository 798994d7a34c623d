//! The compiler as a library, for the command line and other programs.
//!
//! Read in this order:
//!
//! * [`session`]: one compilation, its options and its source files;
//! * [`pipeline`]: the stages of the compiler; [`compile_time`]: the interpreter runs initializers of statics;
//! * [`native`]: native code, run in memory or written to files; `machine`: the processor; `archive`, `perf_map`:
//!   other files;
//! * [`device`]: code for GPUs and other devices; `libdevice`: NVIDIA's library for it;
//! * [`link`](mod@link): executables;
//! * [`embed`]: programs inside of a Rust program; [`excerpts`]: parts of files in other languages;
//! * [`timings`]: the times of the phases;
//! * [`render`]: diagnostics as text or JSON;
//! * [`evaluation`]: the report on partial evaluation, as text, JSON or HTML;
//! * [`vectorization`]: the report on vectorization, as text or JSON; `annotated`: both reports as pages;
//! * [`documentation`]: pages about programs and the prelude;
//! * [`examples`]: examples in documentation comments, as programs;
//! * [`edition`]: the editions of the prelude;
//! * [`tuning`]: the values of parameters that `nyala tune` found;
//! * [`packages`]: the program as part of a package; `loading` reads the files of all packages, which `modules` and
//!   `uses` find;
//! * [`embedded`]: texts built into the compiler;
//! * [`errors`]: errors of files, linking and embedding.
//!
//! ```
//! use nyala_driver::{Options, Report, Session, pipeline};
//!
//! let mut session = Session::new(Options::default());
//! session.add_text("sum.impala", "extern fn sum() -> i32 { let mut s = 0; for i in unroll(0, 4) { s += i; } s }");
//! let world = pipeline::emit(&mut session).expect("it has no errors");
//! let world = pipeline::evaluate(&mut session, &world);
//! assert_eq!(
//!     nyala_ir::text::print(&world),
//!     "export sum(mem: mem, ret: cn(mem, i32)):\n    ret(mem, 6)\n",
//! );
//! assert!(Report::new(session.diagnostics).is_empty());
//! ```

mod annotated;
mod archive;
pub mod compile_time;
pub mod device;
pub mod documentation;
pub mod edition;
pub mod embed;
pub mod embedded;
pub mod errors;
pub mod evaluation;
pub mod examples;
pub mod excerpts;
mod libdevice;
pub mod link;
mod loading;
mod machine;
mod modules;
pub mod native;
pub mod packages;
mod perf_map;
pub mod pipeline;
mod prelude;
pub mod render;
pub mod session;
pub mod timings;
pub mod tuning;
mod uses;
pub mod vectorization;

pub use nyala_interface as interface;
pub use nyala_opt::outline::Outlined;
pub use nyala_span::without_controls;
pub use nyala_syntax::ast::Dialect;

pub use edition::{Edition, Prelude};
pub use embedded::{explain, explained_codes};
pub use nyala_package as package;
pub use packages::TargetChoice;
pub use render::Report;
pub use session::{Options, Session};

/// The stack of a compiling thread. Stages bound their recursion, so this is more
/// than they need: a second line of defense.
pub const STACK_BYTES: usize = 64 << 20;
