//! Narrow arithmetic: bytes from numbers of 16 bits.
//!
//! `((77 * red + 150 * green + 29 * blue) >> 8) as u8` is arithmetic of 32 bits in the language, although 16 bits are enough
//! for all of its numbers. Registers have twice as many lanes of 16 bits. LLVM narrows scalars and the loops that it
//! vectorizes itself, but it does not choose a width for vectors.
//!
//! Sums, products and the like are computed modulo 2^16. Operands of quotients and of shifts to the right must be known to
//! have 16 bits. Only what the block of the cast computes is narrowed, down to conversions of narrow numbers.

use nyala_ir::{ArithFlags, ArithOp, Def, Node, Prim, Ty};

use super::emit::Emitter;
use super::shapes::Shape;

/// The largest number of operations, with those that are used repeatedly.
const MAX_OPERATIONS: usize = 64;

/// The type that numbers are computed with.
const NARROW: Prim = Prim::U16;

impl Emitter<'_> {
    /// The lanes of `value` modulo 2^16, if its cast to `ty` needs no others and they can be computed from narrow numbers.
    pub fn narrowed(&mut self, value: Def, ty: Ty, block: usize) -> Option<Def> {
        let prim = |ty: Ty| self.world.types.as_prim(ty).filter(|prim| prim.is_int());
        let (from, to) = (prim(self.world.ty(value))?, prim(ty)?);
        let is_operation = matches!(self.world.node(value), Node::Arith { .. } | Node::Select { .. });
        let mut left = MAX_OPERATIONS;
        let can_be =
            is_operation && to.bits() == 8 && from.bits() > 16 && self.is_narrow(value, block, &mut left);
        can_be.then(|| self.narrow(value, block))
    }

    fn is_narrow(&self, def: Def, block: usize, left: &mut usize) -> bool {
        let world = &*self.world;
        *left = left.saturating_sub(1);
        if self.is_uniform(def, block) {
            return true;
        }
        if *left == 0 || self.task.shapes.home(self.task.flow, def, block) != Some(block) {
            return false;
        }
        match world.node(def) {
            Node::Cast(value) => {
                let from = world.types.as_prim(world.ty(value));
                from.is_some_and(|from| from.is_int() && from.bits() <= NARROW.bits())
            }
            Node::Select { cond, then, other } => {
                !world.types.is_simd(world.ty(cond))
                    && self.is_narrow(then, block, left)
                    && self.is_narrow(other, block, left)
            }
            Node::Arith { op: ArithOp::Shl | ArithOp::Shr | ArithOp::Div | ArithOp::Rem, lhs, .. } => {
                self.by_constant(def).is_some() && self.is_narrow(lhs, block, left)
            }
            Node::Arith { lhs, rhs, .. } => {
                self.is_narrow(lhs, block, left) && self.is_narrow(rhs, block, left)
            }
            _ => false,
        }
    }

    fn is_uniform(&self, def: Def, block: usize) -> bool {
        self.task.shapes.at(self.task.flow, def, block) == Shape::Uniform
    }

    /// The type and the constant with which a shift or a quotient is computed, if 16 bits of its operand are enough.
    fn by_constant(&self, def: Def) -> Option<(Prim, u64)> {
        let Node::Arith { op, lhs, rhs, .. } = self.world.node(def) else { return None };
        let number = self.world.as_lit(rhs)?;
        let range = self.task.shapes.number(self.world, lhs);
        let prim = [Prim::U16, Prim::I16].into_iter().find(|&prim| op == ArithOp::Shl || range.fits(prim))?;
        let is_small = match op {
            ArithOp::Shl | ArithOp::Shr => number < u64::from(NARROW.bits()),
            _ => (1..1 << 15).contains(&number),
        };
        is_small.then_some((prim, number))
    }

    /// The lanes of an operation that [is narrow](Self::is_narrow), modulo 2^16.
    fn narrow(&mut self, def: Def, block: usize) -> Def {
        let lanes = self.task.lanes;
        let scalar_ty = self.world.types.prim(NARROW);
        let narrow_ty = self.world.types.simd(scalar_ty, lanes);
        if self.is_uniform(def, block) {
            let value = self.rep(def, block).def;
            let value = self.world.cast(scalar_ty, value);
            return self.world.splat(value, lanes);
        }
        match self.world.node(def) {
            Node::Cast(value) => {
                let value = self.lanes(value, block);
                self.world.cast(narrow_ty, value)
            }
            Node::Select { cond, then, other } => {
                let (then, other) = (self.narrow(then, block), self.narrow(other, block));
                let cond = self.lanes(cond, block);
                self.world.select(cond, then, other)
            }
            Node::Arith {
                op: op @ (ArithOp::Shl | ArithOp::Shr | ArithOp::Div | ArithOp::Rem), lhs, ..
            } => {
                let (prim, number) = self.by_constant(def).expect("it is narrow");
                let ty = self.world.types.prim(prim);
                let ty = self.world.types.simd(ty, lanes);
                let value = self.narrow(lhs, block);
                let value = self.world.cast(ty, value);
                let number = self.world.lit(prim, number);
                let number = self.world.splat(number, lanes);
                let result = self.world.arith(op, ArithFlags::WRAP, value, number);
                self.world.cast(narrow_ty, result)
            }
            Node::Arith { op, lhs, rhs, .. } => {
                let (a, b) = (self.narrow(lhs, block), self.narrow(rhs, block));
                self.world.arith(op, ArithFlags::WRAP, a, b)
            }
            _ => unreachable!("only these are narrow"),
        }
    }
}
