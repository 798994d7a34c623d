//! Narrow arithmetic: bytes from numbers of 16 bits, and comparisons of such numbers.
//!
//! `((77 * red + 150 * green + 29 * blue) >> 8) as u8` is arithmetic of 32 bits in the language, although 16 bits are enough
//! for all of its numbers. Registers have twice as many lanes of 16 bits. LLVM narrows scalars and the loops that it
//! vectorizes itself, but it does not choose a width for vectors.
//!
//! Sums, products and the like are computed modulo 2^16. Operands of quotients, of shifts to the right and of comparisons must be
//! known to have 16 bits. Only what the block of the cast or the comparison computes is narrowed, down to conversions of narrow
//! numbers. A choice is narrowed if its condition is: otherwise the same numbers would be computed twice.

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Def, Node, Prim, Ty};
use rustc_hash::{FxHashMap, FxHashSet};

use super::emit::Emitter;
use super::shapes::Shape;

/// The largest number of operations.
const MAX_OPERATIONS: usize = 128;

/// The type that numbers are computed with.
const NARROW: Prim = Prim::U16;

impl Emitter<'_> {
    /// The lanes of `value` modulo 2^16, if its cast to `ty` needs no others and they can be computed from narrow numbers.
    pub fn narrowed(&mut self, value: Def, ty: Ty, block: usize) -> Option<Def> {
        let to = self.integer(ty)?;
        let is_operation = matches!(self.world.node(value), Node::Arith { .. } | Node::Select { .. });
        let can_be = is_operation
            && to.bits() <= NARROW.bits()
            && self.is_wide(value)
            && self.is_narrow(value, block, &mut FxHashSet::default());
        can_be.then(|| self.narrow(value, block, &mut FxHashMap::default()))
    }

    /// A comparison of numbers that can be computed from narrow ones.
    pub fn narrow_comparison(&mut self, op: CmpOp, lhs: Def, rhs: Def, block: usize) -> Option<Def> {
        let prim = self.compared_as(lhs, rhs, block, &mut FxHashSet::default())?;
        let ty = self.world.types.prim(prim);
        let ty = self.world.types.simd(ty, self.task.lanes);
        let mut known = FxHashMap::default();
        let [lhs, rhs] = [lhs, rhs].map(|operand| {
            let narrow = self.narrow(operand, block, &mut known);
            self.world.cast(ty, narrow)
        });
        Some(self.world.cmp(op, lhs, rhs))
    }

    /// The type with which two wide numbers are compared, if 16 bits are enough.
    fn compared_as(&self, lhs: Def, rhs: Def, block: usize, seen: &mut FxHashSet<Def>) -> Option<Prim> {
        if !self.is_wide(lhs) {
            return None;
        }
        let number = |def| self.task.shapes.number(self.world, def);
        let (a, b) = (number(lhs), number(rhs));
        let prim = [Prim::U16, Prim::I16].into_iter().find(|&prim| a.fits(prim) && b.fits(prim))?;
        (self.is_narrow(lhs, block, seen) && self.is_narrow(rhs, block, seen)).then_some(prim)
    }

    fn integer(&self, ty: Ty) -> Option<Prim> {
        self.world.types.as_prim(ty).filter(|prim| prim.is_int())
    }

    fn is_wide(&self, def: Def) -> bool {
        self.integer(self.world.ty(def)).is_some_and(|prim| prim.bits() > NARROW.bits())
    }

    /// What was `seen` is narrow, or something else is not.
    fn is_narrow(&self, def: Def, block: usize, seen: &mut FxHashSet<Def>) -> bool {
        let world = &*self.world;
        if self.is_uniform(def, block) || !seen.insert(def) {
            return true;
        }
        let is_here = self.task.shapes.home(self.task.flow, def, block) == Some(block);
        if seen.len() > MAX_OPERATIONS || !is_here {
            return false;
        }
        match world.node(def) {
            Node::Cast(value) => {
                self.integer(world.ty(value)).is_some_and(|from| from.bits() <= NARROW.bits())
            }
            Node::Select { cond, then, other } => {
                self.is_narrow_condition(cond, block, seen)
                    && self.is_narrow(then, block, seen)
                    && self.is_narrow(other, block, seen)
            }
            Node::Arith { op: ArithOp::Shl | ArithOp::Shr | ArithOp::Div | ArithOp::Rem, lhs, .. } => {
                self.by_constant(def).is_some() && self.is_narrow(lhs, block, seen)
            }
            Node::Arith { lhs, rhs, .. } => {
                self.is_narrow(lhs, block, seen) && self.is_narrow(rhs, block, seen)
            }
            _ => false,
        }
    }

    /// Whether a condition is computed without wide numbers.
    fn is_narrow_condition(&self, cond: Def, block: usize, seen: &mut FxHashSet<Def>) -> bool {
        let world = &*self.world;
        match world.node(cond) {
            _ if world.types.is_simd(world.ty(cond)) => false,
            Node::Cmp { lhs, rhs, .. } if self.is_wide(lhs) && !self.is_uniform(cond, block) => {
                self.compared_as(lhs, rhs, block, seen).is_some()
            }
            _ => true,
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
    fn narrow(&mut self, def: Def, block: usize, known: &mut FxHashMap<Def, Def>) -> Def {
        if let Some(&narrow) = known.get(&def) {
            return narrow;
        }
        let narrow = self.narrow_once(def, block, known);
        known.insert(def, narrow);
        narrow
    }

    fn narrow_once(&mut self, def: Def, block: usize, known: &mut FxHashMap<Def, Def>) -> Def {
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
                let (then, other) = (self.narrow(then, block, known), self.narrow(other, block, known));
                let cond = self.lanes(cond, block);
                self.world.select(cond, then, other)
            }
            Node::Arith {
                op: op @ (ArithOp::Shl | ArithOp::Shr | ArithOp::Div | ArithOp::Rem), lhs, ..
            } => {
                let (prim, number) = self.by_constant(def).expect("it is narrow");
                let ty = self.world.types.prim(prim);
                let ty = self.world.types.simd(ty, lanes);
                let value = self.narrow(lhs, block, known);
                let value = self.world.cast(ty, value);
                let number = self.world.lit(prim, number);
                let number = self.world.splat(number, lanes);
                let result = self.world.arith(op, ArithFlags::WRAP, value, number);
                self.world.cast(narrow_ty, result)
            }
            Node::Arith { op, lhs, rhs, .. } => {
                let (a, b) = (self.narrow(lhs, block, known), self.narrow(rhs, block, known));
                self.world.arith(op, ArithFlags::WRAP, a, b)
            }
            _ => unreachable!("only these are narrow"),
        }
    }
}
