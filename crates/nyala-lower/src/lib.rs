//! Typed tree to program graph: conversion to continuation-passing style and
//! construction of SSA form, in one walk over the tree.
//!
//! Read in this order:
//!
//! * `lowerer`: the state, and the main loop;
//! * `instance`: functions and lambdas become continuations; generic ones, one
//!   for each use; `numbers`: the lengths and integer parameters of these;
//! * `frame`: the block under construction and the values of variables in it; `debuggers`: debug information for these;
//! * `expr`, `operators`, `place`, `call`, `control`, `pattern`: the language's constructs;
//! * `filter`: filters as nodes without control flow; `origin`: other information for the
//!   evaluator;
//! * `types`, `adapt`: types, and values between two representations of one type;
//! * `statics`, `computed`, `intrinsics`, `numeric`, `flow_graphs`, `simd`, `vectors`, `compare`, `assertions`:
//!   statics and intrinsics;
//! * `entries`: functions that tools call: tests and benchmarks;
//! * `facts`, `skeleton`, `ssa`: analyses of variables before their function is
//!   lowered: which are memory, and which joins need parameters for the others.
//!
//! # Output
//!
//! * `fn(A) -> R` is `cn(mem, A, cn(mem, R))`, with the parts of a tuple result as
//!   separate parameters; a function that never returns has no return continuation.
//! * A call in tail position passes on the return continuation of its function, so
//!   loops written as tail calls run in constant space.
//! * A variable is a value unless its address is taken, or it is mutable and a nested
//!   function or an escaping jump uses it: then it is a slot. See `facts`. Some arrays
//!   of many parts are slots too. The graph is in minimal, pruned SSA form. See `frame`.
//! * Only functions that `main` and exported functions reach are lowered.
//!
//! ```
//! use nyala_lower::{LowerOptions, Statics, lower};
//! use nyala_sema::{check, package::Package};
//! use nyala_span::SourceMap;
//!
//! let mut sources = SourceMap::default();
//! let id = sources.add("next.impala", "extern fn next(x: i32) -> i32 { x + 1 }").expect("it is small");
//! let parse = nyala_syntax::parse(sources.file(id));
//! let checked = check(&[Package::program([&parse.file])]);
//! // Executes initializers of statics. This program has none.
//! let statics = Statics::new(&|_, _| unreachable!("there are no statics"));
//! let lowered = lower(&checked.program, &sources, &LowerOptions::default(), &statics).expect("it has no errors");
//! assert_eq!(
//!     nyala_ir::text::print(&lowered.world),
//!     "export next(mem: mem, x: i32, ret: cn(mem, i32)):\n    ret(mem, add(x, 1))\n",
//! );
//! ```

mod adapt;
mod assertions;
mod call;
mod compare;
mod computed;
mod control;
mod debuggers;
mod entries;
mod errors;
mod expr;
mod facts;
mod filter;
mod flow_graphs;
mod frame;
mod instance;
mod intrinsics;
mod lowerer;
mod numbers;
mod numeric;
mod operators;
mod origin;
mod pattern;
mod place;
mod simd;
mod skeleton;
mod ssa;
mod statics;
mod types;
mod vectors;

pub use computed::{Constant, Failure, Resource, Run, Statics};
pub use entries::{Entry, Input, Interface};
use nyala_ir::World;
use nyala_sema::tree::Program;
use nyala_span::{Diagnostic, SourceMap};

/// Options of lowering.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowerOptions {
    /// Whether signed overflow wraps around.
    pub wrapping: bool,
    /// Whether floats may be treated as real numbers, everywhere.
    pub fast_math: bool,
    /// Whether operations that may fail are executed at their position in the source, even if their values are
    /// unused. See [`World::demand`].
    pub demands: bool,
    /// Whether all values are named after their variables, for debuggers. Otherwise only parameters are, for
    /// readability.
    pub name_values: bool,
    /// Whether debug information is emitted where a variable gets a constant or the value of another variable
    /// (see [`Linkage::Debugger`](nyala_ir::Linkage)). Best without optimization.
    pub tell_debuggers: bool,
}

/// A program as a graph.
pub struct Lowered {
    /// The graph.
    pub world: World,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
    /// What a tool knows about each entry.
    pub entries: Vec<Interface>,
}

/// The graph of a checked program without errors. Messages of the program quote its `sources`.
///
/// Reports errors that appear only when generic functions are instantiated and intrinsics are
/// used; then there is no graph.
pub fn lower(
    program: &Program,
    sources: &SourceMap,
    options: &LowerOptions,
    statics: &Statics<'_>,
) -> Result<Lowered, Vec<Diagnostic>> {
    let mut lowered = lowerer::Lowerer::new(program, sources, *options, statics).run()?;
    flow_graphs::give_numbers(&mut lowered.world);
    Ok(lowered)
}

/// As [`lower`], for a tool that calls single functions: nothing else is exported.
pub fn lower_entries(
    program: &Program,
    sources: &SourceMap,
    options: &LowerOptions,
    statics: &Statics<'_>,
    entries: &[Entry],
) -> Result<Lowered, Vec<Diagnostic>> {
    let mut lowered = lowerer::Lowerer::new(program, sources, *options, statics).run_entries(entries)?;
    flow_graphs::give_numbers(&mut lowered.world);
    Ok(lowered)
}

/// The errors in the initializers of all statics, used or not, of a checked program without
/// errors.
pub fn check_statics(
    program: &Program,
    sources: &SourceMap,
    options: &LowerOptions,
    statics: &Statics<'_>,
) -> Vec<Diagnostic> {
    statics::check(program, sources, options, statics)
}
