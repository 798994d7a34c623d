//! Folding on construction: the rules by which factories simplify.
//!
//! Each rule is an equation, written beside the arm that applies it. A rule
//! never makes the program worse, never loops with another rule, and holds for
//! every width, NaN and overflow case of its type. What an operator *means* is
//! said once, in [`eval`](crate::eval); tests compare every rule with it.
//!
//! There is a module for each kind of operator: `arith`, `compare`, `cast`, `math`, `lanes`, `aggregate`, `memory`, and
//! `control` for calls.
//!
//! # Principles
//!
//! * An operation that fails stays in the program: `1 / 0` is not folded, and
//!   no rule computes with an overflow that the strict meaning forbids. `(x + 1) - 1`
//!   is `x` only where addition wraps. An operand that is not needed may
//!   go, even if computing it would fail: `(1 / 0) * 0` is `0`.
//! * A rule that builds a node does so through the [`World`], so what it
//!   builds is simplified in turn. Each rule leaves fewer operators, or the same
//!   number nearer to the normal form, so this ends.
//! * Rules look at a bounded number of nodes, except where they say why not.
//!
//! # The normal form
//!
//! Constants are on the right of commutative operators and comparisons; other
//! operands of commutative operators by age. Small aggregates are written out,
//! with every known `insert` applied; see `aggregate`. A cast to `bool` is a
//! comparison with zero. Flags that mean nothing for the operand's type are off.
//!
//! # Lessons
//!
//! `a & (a | b)` is `a`; an older compiler had `b`. `x + 0.0` is not `x` for
//! `-0.0`, but `x - 0.0` is. `x != x` is how programs test for NaN.

pub(crate) mod aggregate;
pub(crate) mod arith;
pub(crate) mod cast;
pub(crate) mod compare;
pub(crate) mod control;
pub(crate) mod lanes;
pub(crate) mod math;
pub(crate) mod memory;

#[cfg(test)]
mod tests;

use crate::node::{ArithFlags, ArithOp, Def, Node};
use crate::types::{Prim, Ty, TyKind};
use crate::world::World;

/// The bits of a constant: a literal, or a simd value with the same literal in each lane.
fn constant(world: &World, def: Def) -> Option<u64> {
    match world.node(def) {
        Node::Lit(bits) => Some(bits),
        Node::Aggregate(lanes) if world.types.is_simd(world.ty(def)) => {
            let lanes = world.list(lanes);
            let first = *lanes.first()?;
            lanes.iter().all(|&lane| lane == first).then(|| world.as_lit(first))?
        }
        _ => None,
    }
}

/// The constant of type `ty`, a primitive type or simd of one, with these bits in each lane.
fn make_constant(world: &mut World, ty: Ty, bits: u64) -> Option<Def> {
    match *world.types.kind(ty) {
        TyKind::Prim(prim) => Some(world.lit(prim, bits)),
        TyKind::Simd { elem, lanes } => {
            let lane = world.lit(world.types.as_prim(elem)?, bits);
            Some(world.aggregate(ty, &vec![lane; lanes as usize]))
        }
        _ => None,
    }
}

/// The literals in the lanes of a simd value.
fn lanes(world: &World, def: Def) -> Option<Vec<u64>> {
    match world.node(def) {
        Node::Aggregate(lanes) if world.types.is_simd(world.ty(def)) => {
            world.list(lanes).iter().map(|&lane| world.as_lit(lane)).collect()
        }
        _ => None,
    }
}

/// The simd constant of type `ty` with these lanes.
fn make_lanes(world: &mut World, ty: Ty, prim: Prim, lanes: &[u64]) -> Def {
    let lanes: Vec<Def> = lanes.iter().map(|&bits| world.lit(prim, bits)).collect();
    world.aggregate(ty, &lanes)
}

/// The operator and operands of `def`.
fn as_arith(world: &World, def: Def) -> Option<(ArithOp, ArithFlags, Def, Def)> {
    match world.node(def) {
        Node::Arith { op, flags, lhs, rhs } => Some((op, flags, lhs, rhs)),
        _ => None,
    }
}

/// All ones.
fn ones(prim: Prim) -> u64 {
    prim.canonical(u64::MAX)
}

/// What `def` is the complement of: `x ^ ~0`.
fn complement_of(world: &World, def: Def) -> Option<Def> {
    let (op, _, x, mask) = as_arith(world, def)?;
    let prim = world.types.lane_prim(world.ty(def))?;
    (op == ArithOp::Xor && constant(world, mask) == Some(ones(prim))).then_some(x)
}
