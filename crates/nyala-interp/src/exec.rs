//! The operations of a block, one after the other: the inner loop.
//!
//! Common operations on scalars have an arm of their own: [`eval`], specialized to the operator and the type. If
//! an operand is not a scalar, or the operation fails, they fall back to [`pure`](crate::pure), which evaluates any
//! node and reports the error.

use std::rc::Rc;

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Prim, eval};
use smallvec::SmallVec;

use crate::code::{Block, List, Op, Reg, Scope, fast_ops};
use crate::errors::{Checked, ErrorKind, MemoryKind, malformed};
use crate::machine::Machine;
use crate::memory::HEAP_ALIGN;
use crate::value::{Activation, Closure, Code, HeldSlots, KeptAlive, Place, Value};

/// `x op y` on two scalars; otherwise the general evaluation.
macro_rules! fast {
    ($machine:ident, $scope:ident, $at:ident, $dst:ident, $a:ident, $b:ident, |$x:ident, $y:ident| $result:expr) => {{
        let (a, b) = (&$machine.regs[$a as usize], &$machine.regs[$b as usize]);
        let result: Option<u64> = match (a, b) {
            (&Value::Bits($x), &Value::Bits($y)) => $result,
            _ => None,
        };
        match result {
            Some(bits) => $machine.regs[$dst as usize] = Value::Bits(bits),
            None => $machine.general($scope, $at, $dst, &[$a, $b])?,
        }
    }};
}

impl Machine<'_, '_> {
    /// Executes the operations of a block.
    pub(crate) fn exec(&mut self, scope: &Scope, block: &Block) -> Checked<()> {
        for at in block.ops.clone() {
            self.memory.at = at;
            macro_rules! execute {
                (
                    arith { $($arith:ident $arith_op:ident $arith_prim:ident,)* }
                    cmp { $($cmp:ident $cmp_op:ident $cmp_prim:ident,)* }
                ) => {
                    match scope.ops[at as usize] {
                        $(Op::$arith { dst, a, b } => fast!(self, scope, at, dst, a, b, |x, y| {
                            eval::arith(ArithOp::$arith_op, ArithFlags::STRICT, Prim::$arith_prim, x, y).ok()
                        }),)*
                        $(Op::$cmp { dst, a, b } => fast!(self, scope, at, dst, a, b, |x, y| {
                            Some(u64::from(eval::cmp(CmpOp::$cmp_op, Prim::$cmp_prim, x, y)))
                        }),)*
                        Op::Arith { op, prim, wrap, dst, a, b } => {
                            let flags = ArithFlags { wrap, fast: false };
                            fast!(self, scope, at, dst, a, b, |x, y| eval::arith(op, flags, prim, x, y).ok())
                        }
                        Op::Cmp { op, prim, dst, a, b } => {
                            fast!(self, scope, at, dst, a, b, |x, y| Some(u64::from(eval::cmp(op, prim, x, y))))
                        }
                        Op::Cast { from, to, dst, a } => match self.regs[a as usize] {
                            Value::Bits(bits) => match eval::cast(from, to, bits) {
                                Ok(bits) => self.set(dst, Value::Bits(bits)),
                                Err(_) => self.general(scope, at, dst, &[a])?,
                            },
                            _ => self.general(scope, at, dst, &[a])?,
                        },
                        Op::Select { dst, cond, then, other } => {
                            let chosen = if self.decide(cond, "a condition")? { then } else { other };
                            let value = self.regs[chosen as usize].clone();
                            self.set(dst, value);
                        }
                        Op::Extract { dst, agg, index } => self.extract(dst, agg, index)?,
                        Op::LoadPrim { dst, ptr, prim } => {
                            let addr = self.address(ptr)?;
                            let bits = self.memory.load_scalar(addr, prim.bytes())?;
                            self.set(dst, Value::Bits(bool_bits(prim, bits)));
                        }
                        Op::LoadPtr { dst, ptr } => {
                            let addr = self.address(ptr)?;
                            let bits = self.memory.load_scalar(addr, 8)?;
                            self.set(dst, Value::Bits(bits));
                        }
                        Op::StorePrim { ptr, value, prim } => {
                            let addr = self.address(ptr)?;
                            match self.regs[value as usize] {
                                Value::Bits(bits) => self.memory.store_scalar(addr, prim.bytes(), bits)?,
                                _ => self.store_prim(addr, value, prim)?,
                            }
                        }
                        Op::Field { dst, ptr, offset } => {
                            let addr = match self.regs[ptr as usize] {
                                Value::Bits(addr) => Value::Bits(addr.wrapping_add(u64::from(offset))),
                                _ => Value::Undef,
                            };
                            self.set(dst, addr);
                        }
                        Op::Element { dst, ptr, index, prim, shape } => {
                            let size = scope.shapes[shape as usize].size;
                            self.element(dst, ptr, index, prim, size)?;
                        }
                        Op::Node { dst, args } => self.node(scope, at, dst, args)?,
                        Op::Aggregate { dst, args } => {
                            let parts = scope.list(args).iter().map(|&reg| self.regs[reg as usize].clone());
                            let value = Value::agg(parts.collect());
                            self.set(dst, value);
                        }
                        Op::Const { dst, index } => {
                            let value = self.program.consts[index as usize].clone();
                            self.set(dst, value);
                        }
                        Op::Closure { dst, block } => self.closure(scope, dst, block)?,
                        Op::Load { dst, ptr, shape } => {
                            let addr = self.address(ptr)?;
                            let value = self.memory.load(addr, &scope.shapes[shape as usize])?;
                            self.set(dst, value);
                        }
                        Op::LoadLanes { dst, ptr, mask, shape } => {
                            let value = self.load_lanes(ptr, mask, &scope.shapes[shape as usize])?;
                            self.set(dst, value);
                        }
                        Op::StoreLanes { ptr, mask, value, shape } => {
                            self.store_lanes(ptr, mask, value, &scope.shapes[shape as usize])?;
                        }
                        Op::StorePtr { ptr, value } => self.store_ptr(ptr, value)?,
                        Op::Store { ptr, value, shape } => {
                            let addr = self.address(ptr)?;
                            let value = self.regs[value as usize].clone();
                            self.memory.store(addr, &scope.shapes[shape as usize], &value)?;
                        }
                        Op::Slot { dst, shape } => self.slot(scope, block, dst, shape)?,
                        Op::Alloc { dst, count, shape } => self.alloc(scope, dst, count, shape)?,
                    }
                };
            }
            fast_ops!(execute);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn set(&mut self, reg: Reg, value: Value) {
        self.regs[reg as usize] = value;
    }

    /// Evaluates any operation whose operands are in `args`.
    #[cold]
    #[inline(never)]
    fn general(&mut self, scope: &Scope, at: u32, dst: Reg, args: &[Reg]) -> Checked<()> {
        let args: SmallVec<[Value; 3]> = args.iter().map(|&reg| self.regs[reg as usize].clone()).collect();
        let value = self.pure(scope.defs[at as usize], &args)?;
        self.set(dst, value);
        Ok(())
    }

    #[inline(never)]
    fn node(&mut self, scope: &Scope, at: u32, dst: Reg, args: List) -> Checked<()> {
        let args = scope.list(args).iter().map(|&reg| self.regs[reg as usize].clone());
        let args: SmallVec<[Value; 3]> = args.collect();
        let value = self.pure(scope.defs[at as usize], &args)?;
        self.set(dst, value);
        Ok(())
    }

    /// The value of a condition, which must be defined.
    #[inline]
    pub(crate) fn decide(&self, reg: Reg, what: &'static str) -> Checked<bool> {
        match self.regs[reg as usize] {
            Value::Bits(bits) => Ok(bits != 0),
            Value::Undef => Err(Box::new(ErrorKind::UndefinedUse { what })),
            _ => malformed("a condition that is no bool"),
        }
    }

    #[inline]
    fn address(&self, reg: Reg) -> Checked<u64> {
        match self.regs[reg as usize] {
            Value::Bits(addr) => Ok(addr),
            Value::Undef => Err(Box::new(ErrorKind::UndefinedUse { what: "an address" })),
            _ => malformed("an address that is no pointer"),
        }
    }

    fn extract(&mut self, dst: Reg, agg: Reg, index: u32) -> Checked<()> {
        let value = match &self.regs[agg as usize] {
            Value::Agg(parts) => match parts.get(index as usize) {
                Some(part) => part.clone(),
                None => {
                    let (index, len) = (i64::from(index), parts.len());
                    return Err(Box::new(ErrorKind::IndexRange { index, len }));
                }
            },
            Value::Undef => Value::Undef,
            _ => return malformed("a part of a value that has no parts"),
        };
        self.set(dst, value);
        Ok(())
    }

    #[inline]
    fn element(&mut self, dst: Reg, ptr: Reg, index: Reg, prim: Prim, size: u64) -> Checked<()> {
        // An undefined address is an error only where it is accessed.
        let addr = match (&self.regs[ptr as usize], &self.regs[index as usize]) {
            (&Value::Bits(addr), &Value::Bits(index)) => {
                Value::Bits(addr.wrapping_add((prim.sign_extend(index) as u64).wrapping_mul(size)))
            }
            (Value::Bits(_) | Value::Undef, Value::Bits(_) | Value::Undef) => Value::Undef,
            _ => return malformed("an index that is no number"),
        };
        self.set(dst, addr);
        Ok(())
    }

    fn store_prim(&mut self, addr: u64, value: Reg, prim: Prim) -> Checked<()> {
        let value = self.regs[value as usize].clone();
        let shape = self.program.shapes.of(&self.program.world.types, self.program.world.types.prim(prim));
        self.memory.store(addr, &shape, &value)
    }

    fn store_ptr(&mut self, ptr: Reg, value: Reg) -> Checked<()> {
        let addr = self.address(ptr)?;
        match self.regs[value as usize] {
            Value::Bits(bits) => self.memory.store_ptr(addr, bits),
            // An undefined address has the size of a number.
            _ => self.store_prim(addr, value, Prim::U64),
        }
    }

    fn alloc(&mut self, scope: &Scope, dst: Reg, count: Reg, shape: u32) -> Checked<()> {
        let shape = &scope.shapes[shape as usize];
        let count = match self.regs[count as usize] {
            Value::Bits(bits) => bits as i64,
            _ => return Err(Box::new(ErrorKind::UndefinedUse { what: "a size" })),
        };
        let size = u64::try_from(count).ok().and_then(|count| count.checked_mul(shape.size));
        let Some(size) = size else {
            return Err(Box::new(ErrorKind::OutOfMemory { size: count as u64 }));
        };
        let made = self.place_in_program();
        let addr = self.memory.allocate(size, shape.align.max(HEAP_ALIGN), MemoryKind::Boxed, made)?;
        self.set(dst, Value::Bits(addr));
        Ok(())
    }

    // ---- Closures and local variables ---------------------------------------------

    fn closure(&mut self, scope: &Scope, dst: Reg, block: u32) -> Checked<()> {
        self.memory.check_closures(Closure::bytes_of_all())?;
        let target = &scope.blocks[block as usize];
        let mut closure = Closure::new(Code::Block(Place { scope: scope.id, block }));
        closure.creator = Some(Place { scope: scope.id, block: self.block });
        closure.task = self.task;
        closure.captured.extend(target.live.iter().map(|&reg| self.regs[reg as usize].clone()));
        let addrs = target.live_ptrs.iter().filter_map(|&at| closure.captured[at as usize].as_bits());
        let slots: HeldSlots = addrs.filter_map(|addr| self.memory.slot_token(addr)).collect();
        if self.activation.is_some() || !slots.is_empty() {
            closure.kept_alive = Some(Box::new(KeptAlive { activation: self.activation.clone(), slots }));
        }
        self.set(dst, Value::Fn(Rc::new(closure)));
        Ok(())
    }

    fn slot(&mut self, scope: &Scope, block: &Block, dst: Reg, shape: u32) -> Checked<()> {
        let activation = match self.activation.take() {
            Some(activation) if activation.depth >= block.depth => activation,
            parent => Rc::new(Activation { depth: block.depth, parent, slots: Default::default() }),
        };
        self.retire_slot(&activation, block, dst);
        let shape = &scope.shapes[shape as usize];
        let made = self.program.world.span_of(scope.defs[self.memory.at as usize]);
        let (addr, token) = self.memory.allocate_slot(shape.size, shape.align, made)?;
        activation.slots.borrow_mut().latest.push((self.memory.at, token));
        self.activation = Some(activation);
        self.set(dst, Value::Bits(addr));
        Ok(())
    }

    /// Drops the variable that the same operation created before in this activation,
    /// unless its address is stored or live.
    fn retire_slot(&mut self, activation: &Activation, block: &Block, dst: Reg) {
        let mut slots = activation.slots.borrow_mut();
        let Some(at) = slots.latest.iter().position(|(op, _)| *op == self.memory.at) else { return };
        let (_, token) = slots.latest.swap_remove(at);
        let needed = block.live.iter().copied().chain(block.start..dst);
        let points = |reg: Reg| self.points_into(&self.regs[reg as usize], token.alloc);
        if self.memory.is_address_stored(token.alloc) || needed.into_iter().any(points) {
            slots.earlier.push(token);
        } else {
            drop(token);
            drop(slots);
            self.memory.free_dead_slots();
        }
    }

    /// Whether a value is or has an address in this allocation.
    pub(crate) fn points_into(&self, value: &Value, alloc: u32) -> bool {
        match value {
            Value::Bits(bits) => self.memory.number_of(*bits) == Some(alloc),
            Value::Agg(parts) => parts.iter().any(|part| self.points_into(part, alloc)),
            Value::Fn(_) | Value::Undef => false,
        }
    }
}

/// A byte that is not 0 is `true`.
#[inline]
fn bool_bits(prim: Prim, bits: u64) -> u64 {
    if prim == Prim::Bool { u64::from(bits != 0) } else { bits }
}
