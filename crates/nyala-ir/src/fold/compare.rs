//! Rules of comparisons and of `select`.

use super::{complement_of, constant, lanes, make_constant, make_lanes, ones};
use crate::eval;
use crate::node::{ArithFlags, ArithOp, CmpOp, Def, Node};
use crate::types::{Prim, Ty};
use crate::world::World;

/// Operator and operands in normal order: constants to the right; for `eq` and `ne`
/// otherwise the older node to the left.
pub(crate) fn normalize(world: &World, op: CmpOp, lhs: Def, rhs: Def) -> (CmpOp, Def, Def) {
    let symmetric = matches!(op, CmpOp::Eq | CmpOp::Ne);
    match (constant(world, lhs).is_some(), constant(world, rhs).is_some()) {
        (true, false) => (swapped(op), rhs, lhs),
        (false, false) if symmetric && rhs < lhs => (op, rhs, lhs),
        _ => (op, lhs, rhs),
    }
}

/// a op b = b swapped(op) a
fn swapped(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Eq | CmpOp::Ne => op,
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
    }
}

/// !(a op b) = a inverted(op) b, on integers
fn inverted(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Eq => CmpOp::Ne,
        CmpOp::Ne => CmpOp::Eq,
        CmpOp::Lt => CmpOp::Ge,
        CmpOp::Le => CmpOp::Gt,
        CmpOp::Gt => CmpOp::Le,
        CmpOp::Ge => CmpOp::Lt,
    }
}

/// What `lhs op rhs` simplifies to, as a value of type `ty`; the operands are in normal order.
pub(crate) fn cmp(world: &mut World, op: CmpOp, lhs: Def, rhs: Def, ty: Ty) -> Option<Def> {
    let operand_ty = world.ty(lhs);
    if world.ty(rhs) != operand_ty {
        return None;
    }
    // Pointers compare by address, as unsigned numbers.
    let prim = match world.types.as_ptr(operand_ty) {
        Some(_) => Prim::U64,
        None => world.types.lane_prim(operand_ty)?,
    };
    if let (Some(a), Some(b)) = (lanes(world, lhs), lanes(world, rhs)) {
        let values: Vec<u64> =
            a.iter().zip(&b).map(|(&a, &b)| u64::from(eval::cmp(op, prim, a, b))).collect();
        return Some(make_lanes(world, ty, Prim::Bool, &values));
    }
    match (constant(world, lhs), constant(world, rhs)) {
        (Some(a), Some(b)) => make_constant(world, ty, u64::from(eval::cmp(op, prim, a, b))),
        (None, Some(c)) => with_constant(world, op, prim, lhs, c, ty),
        _ if lhs == rhs => same_operands(world, op, prim, ty),
        _ => None,
    }
}

/// x == x, x <= x, x >= x hold unless x is NaN; x < x, x > x never hold, and x != x only for NaN.
fn same_operands(world: &mut World, op: CmpOp, prim: Prim, ty: Ty) -> Option<Def> {
    let holds = eval::cmp(op, Prim::U64, 0, 0);
    let is_strict = matches!(op, CmpOp::Lt | CmpOp::Gt);
    if prim.is_float() && !is_strict { None } else { make_constant(world, ty, u64::from(holds)) }
}

/// `x op c`
fn with_constant(world: &mut World, op: CmpOp, prim: Prim, x: Def, c: u64, ty: Ty) -> Option<Def> {
    if prim.is_float() {
        return None;
    }
    // Nothing lies beyond the limits of a type: x < MIN never holds, x <= MAX always.
    let (min, max) = limits(prim);
    match op {
        CmpOp::Lt if c == min => return make_constant(world, ty, 0),
        CmpOp::Ge if c == min => return make_constant(world, ty, 1),
        CmpOp::Gt if c == max => return make_constant(world, ty, 0),
        CmpOp::Le if c == max => return make_constant(world, ty, 1),
        _ => {}
    }
    if prim == Prim::Bool {
        // On bool: x == true = x,  x != false = x, and the complement for the others that are left.
        let keeps = matches!((op, c), (CmpOp::Eq, 1) | (CmpOp::Ne | CmpOp::Gt, 0) | (CmpOp::Ge, 1));
        return if keeps { Some(x) } else { complement(world, x) };
    }
    match world.node(x) {
        // No global is at address null.
        Node::Global(_) if c == 0 && op == CmpOp::Eq => make_constant(world, ty, 0),
        Node::Global(_) if c == 0 && op == CmpOp::Ne => make_constant(world, ty, 1),
        // select(c, a, b) op l = select(c, a op l, b op l), for literals
        Node::Select { cond, then, other } => {
            let (a, b) = (constant(world, then)?, constant(world, other)?);
            choose(world, cond, ty, eval::cmp(op, prim, a, c), eval::cmp(op, prim, b, c))
        }
        // A bool as a number is 0 or 1: (b as T) op l = select(b, 1 op l, 0 op l)
        Node::Cast(flag) if world.types.lane_prim(world.ty(flag)) == Some(Prim::Bool) => {
            choose(world, flag, ty, eval::cmp(op, prim, 1, c), eval::cmp(op, prim, 0, c))
        }
        // (x + c1) == c2 = x == (c2 - c1), modulo 2^N; and so for - and ^
        Node::Arith { op: inner, flags, lhs, rhs } if matches!(op, CmpOp::Eq | CmpOp::Ne) => {
            let c1 = constant(world, rhs)?;
            let wraps = flags.wrap || !prim.is_signed();
            let moved = match inner {
                ArithOp::Add if wraps => c.wrapping_sub(c1),
                ArithOp::Sub if wraps => c.wrapping_add(c1),
                ArithOp::Xor => c ^ c1,
                _ => return None,
            };
            let moved = make_constant(world, world.ty(x), moved)?;
            Some(world.cmp(op, lhs, moved))
        }
        _ => None,
    }
}

/// The least and greatest value of an integer type or `bool`.
fn limits(prim: Prim) -> (u64, u64) {
    if prim.is_signed() {
        let min = 1 << (prim.bits() - 1);
        (min, min - 1)
    } else {
        (0, ones(prim))
    }
}

/// `select(cond, then, other)` for two known truth values of type `ty`.
fn choose(world: &mut World, cond: Def, ty: Ty, then: bool, other: bool) -> Option<Def> {
    match (then, other) {
        (true, true) | (false, false) => make_constant(world, ty, u64::from(then)),
        // A scalar condition does not have the type of several lanes.
        _ if world.ty(cond) != ty => None,
        (true, false) => Some(cond),
        (false, true) => complement(world, cond),
    }
}

/// `!x` on bool
fn complement(world: &mut World, x: Def) -> Option<Def> {
    let yes = make_constant(world, world.ty(x), 1)?;
    Some(world.arith(ArithOp::Xor, ArithFlags::STRICT, x, yes))
}

/// !(a < b) = a >= b, and so on; with floats only for == and !=
pub(crate) fn invert(world: &mut World, cond: Def) -> Option<Def> {
    let Node::Cmp { op, lhs, rhs } = world.node(cond) else { return None };
    let is_float = world.types.lane_prim(world.ty(lhs)).is_some_and(Prim::is_float);
    let invertible = !is_float || matches!(op, CmpOp::Eq | CmpOp::Ne);
    invertible.then(|| world.cmp(inverted(op), lhs, rhs))
}

/// What `select(cond, then, other)` simplifies to.
pub(crate) fn select(world: &mut World, cond: Def, then: Def, other: Def) -> Option<Def> {
    // select(true, a, b) = a,  select(false, a, b) = b
    match constant(world, cond) {
        Some(0) => return Some(other),
        Some(_) => return Some(then),
        None => {}
    }
    // A choice for each lane, if all are known.
    if let (Some(choices), Some(a), Some(b)) = (lanes(world, cond), lanes(world, then), lanes(world, other)) {
        let chosen: Vec<u64> =
            choices.iter().zip(a.iter().zip(&b)).map(|(&c, (&a, &b))| if c != 0 { a } else { b }).collect();
        let ty = world.ty(then);
        let prim = world.types.lane_prim(ty)?;
        return Some(make_lanes(world, ty, prim, &chosen));
    }
    // select(c, a, a) = a
    if then == other {
        return Some(then);
    }
    // select(!c, a, b) = select(c, b, a)
    if let Some(cond) = complement_of(world, cond) {
        return Some(world.select(cond, other, then));
    }
    // select(c, true, false) = c,  select(c, false, true) = !c
    if world.ty(cond) == world.ty(then) {
        match (constant(world, then), constant(world, other)) {
            (Some(1), Some(0)) => return Some(cond),
            (Some(0), Some(1)) => return complement(world, cond),
            _ => {}
        }
    }
    // select(c, select(c, a, x), b) = select(c, a, b)
    if let Node::Select { cond: inner, then: a, .. } = world.node(then)
        && inner == cond
    {
        return Some(world.select(cond, a, other));
    }
    // select(c, a, select(c, x, b)) = select(c, a, b)
    if let Node::Select { cond: inner, other: b, .. } = world.node(other)
        && inner == cond
    {
        return Some(world.select(cond, then, b));
    }
    None
}
