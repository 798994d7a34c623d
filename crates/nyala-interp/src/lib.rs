//! The interpreter: executes program graphs with all checks. It defines what programs mean.
//!
//! Accesses are checked for bounds, lifetime, alignment and initialization, operators for overflow and invalid
//! operands, and parallel instances for data races. An error has the operation and the chain of calls that led to
//! it.
//!
//! Read in this order:
//!
//! * [`value`]: the contents of registers, closures among them;
//! * `memory`: allocations and checked accesses;
//! * `code` and `compile`: the code that is executed, and its construction from the
//!   graph;
//! * `machine`: control flow; `exec`, `pure` and `vectors`: operations;
//! * `native`, `callbacks`, `atomics` and `host`: intrinsics and external functions;
//! * `parallel`, `work_items`, `lanes`, `graphs` and `race`: many instances of one body;
//! * `trace` and [`errors`]: errors and their positions.
//!
//! Nothing here touches files, threads or clocks; the caller provides [`Io`].
//!
//! ```
//! use nyala_interp::{Io, Options, run_main};
//!
//! let world = nyala_ir::text::parse(
//!     "export main(mem: mem, ret: cn(mem, i32)):
//!     fac(mem, 1, 5)
//! fac(mem: mem, product: i32, n: i32):
//!     branch(mem, eq(n, 0), done, more)
//! done(mem: mem):
//!     main.ret(mem, fac.product)
//! more(mem: mem):
//!     fac(mem, mul(fac.product, fac.n), sub(fac.n, 1))
//! ",
//! )?;
//! let (mut output, mut input) = (vec![], std::io::empty());
//! let io = Io { output: &mut output, input: &mut input, nanos: &mut || 0 };
//! assert_eq!(run_main(&world, &Options::default(), io).ok(), Some(120));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atomics;
mod callbacks;
mod code;
mod compile;
pub mod errors;
mod exec;
mod graphs;
mod host;
mod lanes;
mod machine;
mod memory;
mod native;
mod parallel;
mod pure;
mod race;
mod trace;
pub mod value;
mod vectors;
mod work_items;

use std::io::{Read, Write};

pub use nyala_ir::entry::exported;
use nyala_ir::entry::{self, NoEntry};
use nyala_ir::{Cont, TyKind, World};
use nyala_span::Span;

pub use errors::{ErrorKind, InterpError};
pub use host::format::general as general_format;
pub use value::Value;

use errors::MemoryKind;
use machine::Machine;

/// How to run a program.
#[derive(Clone, Debug)]
pub struct Options {
    /// The maximum number of steps: operations, calls, and copied parts of aggregates.
    pub steps: Option<u64>,
    /// Chooses the order of parallel instances; 0 is the order of their numbers.
    pub seed: u64,
    /// Whether leaked memory is an error.
    pub leaks: bool,
    /// The maximum size of the program's memory in bytes.
    pub memory: u64,
    /// The arguments of `main`, the program's name first.
    pub args: Vec<String>,
    /// Whether the program runs at compile time, without access to its environment: functions that print, read, or
    /// use clocks or random numbers are errors.
    pub is_isolated: bool,
    /// Returns the numbers that the generated arguments of a test are made of.
    pub generate: fn() -> u64,
    /// The source text of libraries: the memory that they allocate and free is reported at the program's calls of them.
    pub libraries: Vec<Span>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            steps: None,
            seed: 0,
            leaks: false,
            memory: 8 << 30,
            args: vec![],
            is_isolated: false,
            generate: || 0,
            libraries: vec![],
        }
    }
}

/// The environment of a run.
pub struct Io<'a> {
    /// The output of the program.
    pub output: &'a mut dyn Write,
    /// The input of the program.
    pub input: &'a mut dyn Read,
    /// A monotonic clock, in nanoseconds.
    pub nanos: &'a mut dyn FnMut() -> u64,
}

/// A successful run.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it ended.
    pub ending: Ending,
    /// The number of executed steps.
    pub steps: u64,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub enum Ending {
    /// By returning.
    Results(Vec<Value>),
    /// By `exit`, with this status.
    Exit(i32),
}

/// Runs the exported `main`; returns the exit status of the program.
pub fn run_main(world: &World, options: &Options, io: Io<'_>) -> Result<i32, Box<InterpError>> {
    let main = entry::main(world).map_err(no_entry)?;
    let params = &world.cont(main).params;
    let n_args = params.iter().filter(|&&param| is_data(world, param)).count();
    let mut machine = Machine::new(world, main, options, io);
    let args = main_args(&mut machine, options).map(|args| args[..n_args].to_vec());
    match finish(&mut machine, main, args, options)?.ending {
        Ending::Exit(status) => Ok(status),
        Ending::Results(results) => match results[..] {
            [Value::Bits(status)] => Ok(status as i32),
            [Value::Undef] => Err(machine.error(ErrorKind::UndefinedUse { what: "the exit status" })),
            _ => Ok(0),
        },
    }
}

/// Calls a top-level continuation with `args`, without the memory token and the
/// return continuation.
pub fn call(
    world: &World,
    cont: Cont,
    args: &[Value],
    options: &Options,
    io: Io<'_>,
) -> Result<Run, Box<InterpError>> {
    let mut machine = Machine::new(world, cont, options, io);
    finish(&mut machine, cont, Ok(args.to_vec()), options)
}

fn finish(
    machine: &mut Machine<'_, '_>,
    cont: Cont,
    args: errors::Checked<Vec<Value>>,
    options: &Options,
) -> Result<Run, Box<InterpError>> {
    let ending = args.and_then(|args| machine.run(cont, args)).and_then(|ending| machine.at_exit(ending));
    let ending = ending.map_err(|kind| machine.error(*kind))?;
    machine.io.output.flush().map_err(|error| machine.error(ErrorKind::Io { error: error.to_string() }))?;
    if options.leaks
        && let Some((kind, span)) = machine.memory.leak()
    {
        let (calls, steps) = (vec![], machine.steps());
        return Err(Box::new(InterpError { kind, span, calls, omitted: None, steps }));
    }
    Ok(Run { ending, steps: machine.steps() })
}

/// `argc` and `argv`.
fn main_args(machine: &mut Machine<'_, '_>, options: &Options) -> errors::Checked<Vec<Value>> {
    let mut table = vec![];
    for arg in &options.args {
        let text: Vec<u8> = arg.bytes().chain([0]).collect();
        table.extend(machine.memory.allocate_bytes(&text, MemoryKind::Host)?.to_le_bytes());
    }
    table.extend([0; 8]);
    let argv = machine.memory.allocate_bytes(&table, MemoryKind::Host)?;
    Ok(vec![Value::Bits(options.args.len() as u64), Value::Bits(argv)])
}

fn is_data(world: &World, param: nyala_ir::Def) -> bool {
    !matches!(world.types.kind(world.ty(param)), TyKind::Mem | TyKind::Cn(_))
}

fn no_entry(reason: NoEntry) -> Box<InterpError> {
    let span = match reason {
        NoEntry::Missing => Span::NONE,
        NoEntry::Type { at } => at,
    };
    Box::new(InterpError { kind: ErrorKind::NoEntry(reason), span, calls: vec![], omitted: None, steps: 0 })
}
