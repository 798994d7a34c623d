//! Addresses and indices, for all lanes.

use nyala_ir::{ArithFlags, ArithOp, Def, Node, Prim, Ty, World};

use super::emit::{Emitter, Rep};
use super::shapes::Shape;

/// The largest number of summands of an index that are separated.
const MAX_SUMMANDS: usize = 4;

impl Emitter<'_> {
    /// The address of type `ty` that is `offset` bytes from another one. Each operand may be one per
    /// lane.
    pub fn bytes_from(&mut self, ptr: Def, ty: Ty, offset: Def) -> Def {
        let world = &mut *self.world;
        let (_, space) = world.types.as_ptr(ty).expect("an address has a pointer type");
        let byte = world.types.prim(Prim::U8);
        let bytes = world.types.slice(byte);
        let bytes = world.types.ptr(bytes, space);
        let bytes = match world.types.lanes(world.ty(ptr)) {
            Some(lanes) => world.types.simd(bytes, lanes),
            None => bytes,
        };
        let start = world.bitcast(bytes, ptr);
        let at = world.lea(start, offset);
        let ty = match world.types.lanes(world.ty(at)) {
            Some(lanes) => world.types.simd(ty, lanes),
            None => ty,
        };
        world.bitcast(ty, at)
    }

    /// One address per lane. Uniform operands stay scalar.
    pub fn address(&mut self, ptr: Def, index: Def, block: usize) -> Def {
        let base = self.rep(ptr, block);
        let base = match base.shape {
            Shape::Uniform => base.def,
            _ => self.lanes_of(base, self.world.ty(ptr)),
        };
        let at = match self.rep(index, block) {
            Rep { shape: Shape::Uniform, def } => def,
            _ => self.index(index, block),
        };
        let address = self.world.lea(base, at);
        match self.world.types.is_simd(self.world.ty(address)) {
            true => address,
            false => self.world.splat(address, self.task.lanes),
        }
    }

    /// A varying index in 64 bits. Uniform summands are added last, so that several accesses can share
    /// the varying part.
    pub fn index(&mut self, index: Def, block: usize) -> Def {
        if !self.world.types.as_prim(self.world.ty(index)).is_some_and(Prim::is_signed) {
            return self.lanes(index, block);
        }
        let i64 = self.world.types.prim(Prim::I64);
        let (mut own, mut shared) = (index, self.world.lit_i64(0));
        for _ in 0..MAX_SUMMANDS {
            let Some((op, lhs, rhs)) = widening_sum(self.world, own) else { break };
            let (rest, all) = match (self.rep(lhs, block), self.rep(rhs, block)) {
                (_, Rep { shape: Shape::Uniform, def }) => (lhs, def),
                (Rep { shape: Shape::Uniform, def }, _) if op == ArithOp::Add => (rhs, def),
                _ => break,
            };
            let all = self.world.cast(i64, all);
            shared = self.world.arith(op, ArithFlags::WRAP, shared, all);
            own = rest;
        }
        let wide = self.world.types.simd(i64, self.task.lanes);
        let own = self.lanes(own, block);
        let own = self.world.cast(wide, own);
        let shared = self.world.splat(shared, self.task.lanes);
        self.world.arith(ArithOp::Add, ArithFlags::WRAP, own, shared)
    }
}

/// The operands of a sum or difference that has the same value in 64 bits.
pub(super) fn widening_sum(world: &World, index: Def) -> Option<(ArithOp, Def, Def)> {
    let Node::Arith { op: op @ (ArithOp::Add | ArithOp::Sub), flags, lhs, rhs } = world.node(index) else {
        return None;
    };
    let prim = world.types.as_prim(world.ty(index))?;
    (prim.is_signed() && (!flags.wrap || prim.bits() == 64)).then_some((op, lhs, rhs))
}

/// The summand of an index that is not constant, and the constant one.
pub(super) fn constant_summand(world: &World, index: Def) -> Option<(Def, Def)> {
    match widening_sum(world, index)? {
        (ArithOp::Add, own, constant) if world.as_lit(constant).is_some() => Some((own, constant)),
        (ArithOp::Add, constant, own) if world.as_lit(constant).is_some() => Some((own, constant)),
        _ => None,
    }
}

/// Values besides its operands that an element's address may be computed from: summands of the index.
pub(super) fn index_parts(world: &World, def: Def) -> Vec<Def> {
    let Node::Lea { index, .. } = world.node(def) else { return vec![] };
    let (mut parts, mut sums) = (vec![], vec![index]);
    for _ in 0..MAX_SUMMANDS {
        let operands = sums.into_iter().filter_map(|sum| widening_sum(world, sum));
        sums = operands.flat_map(|(_, lhs, rhs)| [lhs, rhs]).collect();
        parts.extend_from_slice(&sums);
    }
    parts
}
