//! Atomic operations: intrinsics, and the device functions.

use nyala_ir::functions::AtomicFn;
use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Intrinsic, Prim, eval};
use smallvec::smallvec;

use crate::compile::scalar;
use crate::errors::{AccessKind, Checked, ErrorKind, malformed};
use crate::machine::{Machine, Results, Ret};
use crate::value::Value;

/// How the new value is computed from the old one and the operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Update {
    Exchange,
    Arith(ArithOp),
    Nand,
    Max,
    Min,
    UnsignedMax,
    UnsignedMin,
    /// Plus one; 0 after the operand.
    Increment,
    /// Minus one; the operand after 0.
    Decrement,
}

impl Machine<'_, '_> {
    /// An atomic intrinsic.
    pub(crate) fn atomic(
        &mut self,
        intrinsic: Intrinsic,
        cont: Cont,
        args: &[Value],
        ret: Ret,
    ) -> Checked<()> {
        let values = defined(args)?;
        let Some(prim) = self.pointee(cont, usize::from(intrinsic == Intrinsic::Atomic)) else {
            return self.bad_arguments(intrinsic, args);
        };
        let size = prim.bytes();
        let results: Results = match (intrinsic, &values[..]) {
            (Intrinsic::AtomicLoad, [addr, ..]) => {
                smallvec![Value::Bits(self.memory.load_scalar_as(AccessKind::Atomic, *addr, size)?)]
            }
            (Intrinsic::AtomicStore, [addr, value, ..]) => {
                self.memory.store_scalar_as(AccessKind::Atomic, *addr, size, *value)?;
                smallvec![]
            }
            (Intrinsic::Atomic, [op, addr, value, ..]) => {
                let Some(update) = Update::of_number(*op) else {
                    return malformed(format!("there is no atomic operation {op}"));
                };
                smallvec![Value::Bits(self.update(update, prim, *addr, *value)?)]
            }
            (Intrinsic::CmpXchg | Intrinsic::CmpXchgWeak, [addr, expected, new, ..]) => {
                let old = self.compare_exchange(prim, *addr, *expected, *new)?;
                smallvec![Value::Bits(old), Value::bool(old == *expected)]
            }
            _ => return self.bad_arguments(intrinsic, args),
        };
        self.deliver_tuple(cont, ret, results)
    }

    /// An atomic device function; returns the old value, or none if it is declared
    /// with other parameters.
    pub(crate) fn device_atomic(
        &mut self,
        function: AtomicFn,
        cont: Cont,
        args: &[Value],
    ) -> Option<Checked<Value>> {
        let prim = self.pointee(cont, 0)?;
        let values = match defined(args) {
            Ok(values) => values,
            Err(error) => return Some(Err(error)),
        };
        let old = match (Update::of_function(function, prim), &values[..]) {
            (None, [addr, expected, new]) => self.compare_exchange(prim, *addr, *expected, *new),
            (Some(update), [addr, value]) => self.update(update, prim, *addr, *value),
            _ => return None,
        };
        Some(old.map(Value::Bits))
    }

    fn update(&mut self, update: Update, prim: Prim, addr: u64, value: u64) -> Checked<u64> {
        let old = self.memory.load_scalar_as(AccessKind::Atomic, addr, prim.bytes())?;
        let new = update.apply(prim, old, value)?;
        self.memory.store_scalar_as(AccessKind::Atomic, addr, prim.bytes(), new)?;
        Ok(old)
    }

    fn compare_exchange(&mut self, prim: Prim, addr: u64, expected: u64, new: u64) -> Checked<u64> {
        let old = self.memory.load_scalar_as(AccessKind::Atomic, addr, prim.bytes())?;
        if old == expected {
            self.memory.store_scalar_as(AccessKind::Atomic, addr, prim.bytes(), new)?;
        }
        Ok(old)
    }

    /// The pointee type of parameter `at` of a declaration.
    fn pointee(&self, cont: Cont, at: usize) -> Option<Prim> {
        let world = self.program.world;
        let (pointee, _) = world.types.as_ptr(*self.param_types(cont).get(at)?)?;
        scalar(world, pointee)
    }
}

fn defined(args: &[Value]) -> Checked<Vec<u64>> {
    let values: Option<Vec<u64>> = args.iter().map(Value::as_bits).collect();
    values.ok_or_else(|| Box::new(ErrorKind::UndefinedUse { what: "an atomic's operand" }))
}

impl Update {
    fn of_number(op: u64) -> Option<Update> {
        Some(match op {
            0 => Update::Exchange,
            1 | 11 => Update::Arith(ArithOp::Add),
            2 | 12 => Update::Arith(ArithOp::Sub),
            3 => Update::Arith(ArithOp::And),
            4 => Update::Nand,
            5 => Update::Arith(ArithOp::Or),
            6 => Update::Arith(ArithOp::Xor),
            7 => Update::Max,
            8 => Update::Min,
            9 => Update::UnsignedMax,
            10 => Update::UnsignedMin,
            _ => return None,
        })
    }

    /// The update of a device function on this type; none for compare and exchange.
    fn of_function(function: AtomicFn, prim: Prim) -> Option<Update> {
        let is_unsigned = prim.is_int() && !prim.is_signed();
        Some(match function {
            AtomicFn::Exchange => Update::Exchange,
            AtomicFn::Add => Update::Arith(ArithOp::Add),
            AtomicFn::Sub => Update::Arith(ArithOp::Sub),
            AtomicFn::And => Update::Arith(ArithOp::And),
            AtomicFn::Or => Update::Arith(ArithOp::Or),
            AtomicFn::Xor => Update::Arith(ArithOp::Xor),
            AtomicFn::Max if is_unsigned => Update::UnsignedMax,
            AtomicFn::Max => Update::Max,
            AtomicFn::Min if is_unsigned => Update::UnsignedMin,
            AtomicFn::Min => Update::Min,
            AtomicFn::Increment => Update::Increment,
            AtomicFn::Decrement => Update::Decrement,
            AtomicFn::CompareExchange => return None,
        })
    }

    /// The new value.
    fn apply(self, prim: Prim, old: u64, value: u64) -> Checked<u64> {
        let choose = |op, prim| if eval::cmp(op, prim, old, value) { old } else { value };
        Ok(match self {
            Update::Exchange => value,
            Update::Arith(op) => {
                let result = eval::arith(op, ArithFlags::WRAP, prim, old, value);
                return result.or_else(|_| malformed("an atomic operation that its type does not have"));
            }
            Update::Nand => prim.canonical(!(old & value)),
            Update::Max => choose(CmpOp::Gt, signed(prim)),
            Update::Min => choose(CmpOp::Lt, signed(prim)),
            Update::UnsignedMax => choose(CmpOp::Gt, unsigned(prim)),
            Update::UnsignedMin => choose(CmpOp::Lt, unsigned(prim)),
            Update::Increment => {
                if old >= value {
                    0
                } else {
                    old + 1
                }
            }
            Update::Decrement => {
                if old == 0 || old > value {
                    value
                } else {
                    old - 1
                }
            }
        })
    }
}

fn signed(prim: Prim) -> Prim {
    match prim {
        Prim::U8 => Prim::I8,
        Prim::U16 => Prim::I16,
        Prim::U32 => Prim::I32,
        Prim::U64 => Prim::I64,
        prim => prim,
    }
}

fn unsigned(prim: Prim) -> Prim {
    match prim {
        Prim::I8 => Prim::U8,
        Prim::I16 => Prim::U16,
        Prim::I32 => Prim::U32,
        Prim::I64 => Prim::U64,
        prim => prim,
    }
}
