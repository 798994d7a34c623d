//! Compile-time execution: the interpreter runs the initializers of statics.
//!
//! All statics of a program share one budget of steps, so compile time is bounded for any number of them. The
//! memory of a run is freed after it; only the values stay, which have a separate budget.

use std::cell::Cell;

use nyala_interp::{Ending, ErrorKind, Io, Options, Value};
use nyala_ir::{Cont, Ty, TyKind, World};
use nyala_lower::{Constant, Failure, Resource};

/// The limits for all statics of a program together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Operations and calls, and nodes of the executed graphs.
    pub steps: u64,
    /// Bytes: of one run, and of all values.
    pub memory: u64,
}

impl Default for Limits {
    /// About a second, and less than 256 MiB for the compiler as a whole.
    fn default() -> Limits {
        Limits { steps: 40_000_000, memory: 160 << 20 }
    }
}

/// The rest of the budget.
pub(crate) struct Budget {
    limits: Limits,
    steps: Cell<u64>,
    /// For values.
    memory: Cell<u64>,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Budget {
        Budget { limits, steps: Cell::new(limits.steps), memory: Cell::new(limits.memory) }
    }

    /// Calls a function whose result must be plain data.
    pub(crate) fn run(&self, world: &World, function: Cont) -> Result<Constant, Failure> {
        self.take_steps(world.node_count() as u64)?;
        let left = self.steps.get();
        let options =
            Options { steps: Some(left), memory: self.memory.get(), is_isolated: true, ..Options::default() };
        let io = Io { output: &mut std::io::sink(), input: &mut std::io::empty(), nanos: &mut || 0 };
        let ending = match nyala_interp::call(world, function, &[], &options, io) {
            Ok(run) => {
                self.take_steps(run.steps)?;
                run.ending
            }
            Err(error) => {
                self.steps.set(left.saturating_sub(error.steps));
                return Err(match error.kind {
                    ErrorKind::OutOfSteps { .. } => self.spent(Resource::Steps),
                    ErrorKind::OutOfMemory { .. } => self.spent(Resource::Memory),
                    _ => Failure::Error(Box::new(error.to_diagnostic())),
                });
            }
        };
        let ret = world.cont(function).params.last().copied();
        let result =
            ret.and_then(|ret| world.types.as_cn(world.ty(ret))).and_then(|takes| takes.last().copied());
        match (ending, result) {
            (Ending::Results(values), Some(ty)) => {
                let value = values.first().unwrap_or(&Value::Undef);
                self.keep(value)?;
                constant(world, ty, value)
            }
            _ => Ok(Constant::Undef),
        }
    }

    fn take_steps(&self, steps: u64) -> Result<(), Failure> {
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or_else(|| self.spent(Resource::Steps))
    }

    /// Deducts a value that becomes part of the program.
    fn keep(&self, value: &Value) -> Result<(), Failure> {
        let left = self.memory.get().checked_sub(n_parts(value).saturating_mul(BYTES_OF_PART));
        self.memory.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or_else(|| self.spent(Resource::Memory))
    }

    fn spent(&self, resource: Resource) -> Failure {
        let limit = match resource {
            Resource::Steps => self.limits.steps,
            Resource::Memory => self.limits.memory >> 20,
        };
        Failure::Spent { resource, limit }
    }
}

/// The approximate size of a part of a value, here and as a node of the graph.
const BYTES_OF_PART: u64 = size_of::<Constant>() as u64;

/// The number of scalars in a value. Recurses on the nesting of types, which declarations bound.
fn n_parts(value: &Value) -> u64 {
    match value {
        Value::Agg(parts) => parts.iter().map(n_parts).sum::<u64>() + 1,
        _ => 1,
    }
}

/// A value as a constant. Recurses on the nesting of types, which declarations bound.
fn constant(world: &World, ty: Ty, value: &Value) -> Result<Constant, Failure> {
    let parts = match value {
        Value::Undef => return Ok(Constant::Undef),
        Value::Fn(_) => {
            return Err(Failure::NotData {
                part: "a function, and functions that are computed cannot be written down",
            });
        }
        &Value::Bits(bits) => {
            return match world.types.kind(ty) {
                TyKind::Ptr { .. } if bits != 0 => {
                    Err(Failure::NotData { part: "a pointer to memory that is gone when the program runs" })
                }
                _ => Ok(Constant::Bits(bits)),
            };
        }
        Value::Agg(parts) => parts,
    };
    if let (TyKind::Enum(id), [Value::Bits(option), payload]) = (world.types.kind(ty), &parts[..]) {
        let payload_ty = world.types.enums[*id].options[*option as usize].payload;
        return Ok(Constant::Option(*option as u32, Box::new(constant(world, payload_ty, payload)?)));
    }
    let part_ty = |i| world.types.part(ty, i).unwrap_or(ty);
    let parts: Result<Vec<Constant>, Failure> =
        parts.iter().zip(0..).map(|(part, i)| constant(world, part_ty(i), part)).collect();
    Ok(Constant::Parts(parts?))
}
