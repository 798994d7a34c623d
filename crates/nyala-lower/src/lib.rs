//! Typed tree to program graph: conversion to continuation-passing style and
//! construction of SSA form, in one walk over the tree.
//!
//! Read in this order:
//!
//! * `instance`: functions and lambdas become continuations; generic ones, one
//!   for each use;
//! * `frame`: the block under construction and the values of variables in it; `debuggers`: what else is told of these;
//! * `expr`, `place`, `call`, `control`, `pattern`: the language's constructs;
//! * `filter`: when to specialise, as nodes without control flow; `origin`: what else the
//!   evaluator is told;
//! * `types`, `adapt`: types, and values between two representations of one type;
//! * `statics`, `computed`, `intrinsics`, `simd`, `compare`: what is not an ordinary function;
//! * `facts`, `skeleton`, `ssa`: what must be known about variables before their function is
//!   lowered: which are memory, and where the values of the others meet.
//!
//! # What comes out
//!
//! * `fn(A) -> R` is `cn(mem, A, cn(mem, R))`, with the parts of a tuple result as
//!   parameters of their own; a function that never returns has no second one.
//! * A call in tail position hands on the return continuation it was given, so
//!   loops written as tail calls run in constant space.
//! * A variable is a value unless its address is taken, or it is mutable and a nested
//!   function or a jump that is kept sees it: then it is a slot. See `facts`. Some arrays
//!   of many parts are slots too. The graph is in minimal, pruned SSA form. See `frame`.
//! * Only what the program's roots reach is lowered: `main` and what is exported.
//!
//! ```
//! use nyala_lower::{LowerOptions, Statics, lower};
//! use nyala_sema::{CheckFile, check};
//! use nyala_span::SourceMap;
//!
//! let mut sources = SourceMap::default();
//! let id = sources.add("next.impala", "extern fn next(x: i32) -> i32 { x + 1 }").expect("it is small");
//! let parse = nyala_syntax::parse(sources.file(id));
//! let checked = check(&[CheckFile { ast: &parse.file, is_prelude: false }]);
//! // What runs code for the values of statics, of which there are none here.
//! let statics = Statics::new(&|_, _| unreachable!("no static asks for it"));
//! let lowered = lower(&checked.program, &LowerOptions::default(), &statics).expect("it has no errors");
//! assert_eq!(
//!     nyala_ir::text::print(&lowered.world),
//!     "export next(mem: mem, x: i32, ret: cn(mem, i32)):\n    ret(mem, add(x, 1))\n",
//! );
//! ```

mod adapt;
mod call;
mod compare;
mod computed;
mod control;
mod debuggers;
mod errors;
mod expr;
mod facts;
mod filter;
mod flow_graphs;
mod frame;
mod instance;
mod intrinsics;
mod lowerer;
mod origin;
mod pattern;
mod place;
mod simd;
mod skeleton;
mod ssa;
mod statics;
mod types;

pub use computed::{Constant, Failure, Resource, Run, Statics};
use nyala_ir::World;
use nyala_sema::tree::Program;
use nyala_span::Diagnostic;

/// How to read a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowerOptions {
    /// Signed overflow wraps around.
    pub wrapping: bool,
    /// Floats may be treated as real numbers, everywhere.
    pub fast_math: bool,
    /// Operations that may fail are executed where they stand in the source, even if nothing uses their values. See
    /// [`World::demand`].
    pub demands: bool,
    /// Values are named after all variables that they are the values of, for debuggers; and not only
    /// parameters, for people to read.
    pub name_values: bool,
    /// Where a variable gets a constant or the value of another variable, debuggers are told
    /// (see [`Linkage::Debugger`](nyala_ir::Linkage)). Best without optimisation.
    pub tell_debuggers: bool,
}

/// A program as a graph.
pub struct Lowered {
    /// The graph.
    pub world: World,
    /// What may not be as the user means it.
    pub warnings: Vec<Diagnostic>,
}

/// The graph of a checked program without errors.
///
/// Errors that only show once generic functions are instantiated and intrinsics are
/// used are reported; then there is no graph.
pub fn lower(
    program: &Program,
    options: &LowerOptions,
    statics: &Statics<'_>,
) -> Result<Lowered, Vec<Diagnostic>> {
    let mut lowered = lowerer::Lowerer::new(program, *options, statics).run()?;
    flow_graphs::give_numbers(&mut lowered.world);
    Ok(lowered)
}

/// What is wrong with the values of the statics of a checked program without errors,
/// whether or not anything uses them.
pub fn check_statics(program: &Program, options: &LowerOptions, statics: &Statics<'_>) -> Vec<Diagnostic> {
    statics::check(program, options, statics)
}
