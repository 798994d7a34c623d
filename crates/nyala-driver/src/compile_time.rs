//! Runs code while the program is compiled, in the interpreter: the initialisers of statics.

use nyala_interp::{Ending, ErrorKind, Io, Options, Value};
use nyala_ir::{Cont, Ty, TyKind, World};
use nyala_lower::{Constant, Failure};

/// So many operations and calls one static may take: some tenths of a second.
const STEPS: u64 = 20_000_000;

/// So many bytes.
const MEMORY: u64 = 1 << 30;

/// Calls a function that gives one value, which must be plain data.
pub(crate) fn run(world: &World, function: Cont) -> Result<Constant, Failure> {
    let options = Options { steps: Some(STEPS), memory: MEMORY, is_alone: true, ..Options::default() };
    let io = Io { output: &mut std::io::sink(), input: &mut std::io::empty(), nanos: &mut || 0 };
    let ending = match nyala_interp::call(world, function, &[], &options, io) {
        Ok(run) => run.ending,
        Err(error) if matches!(error.kind, ErrorKind::OutOfSteps { .. }) => {
            return Err(Failure::Endless { limit: STEPS });
        }
        Err(error) => return Err(Failure::Error(Box::new(error.to_diagnostic()))),
    };
    let ret = world.cont(function).params.last().copied();
    let result = ret.and_then(|ret| world.types.as_cn(world.ty(ret))).and_then(|takes| takes.last().copied());
    match (ending, result) {
        (Ending::Results(values), Some(ty)) => constant(world, ty, values.first().unwrap_or(&Value::Undef)),
        _ => Ok(Constant::Undef),
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
