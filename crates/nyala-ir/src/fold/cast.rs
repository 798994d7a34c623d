//! Rules of conversions.

use super::{constant, lanes, make_constant, make_lanes};
use crate::eval;
use crate::node::{CmpOp, Def, Node};
use crate::types::{Prim, Ty, TyKind};
use crate::world::World;

/// What `value as ty` simplifies to.
pub(crate) fn cast(world: &mut World, ty: Ty, value: Def) -> Option<Def> {
    let value_ty = world.ty(value);
    // x as T = x, if it is a T
    if value_ty == ty {
        return Some(value);
    }
    if let (Some(_), Some(_)) = (world.types.as_ptr(value_ty), world.types.as_ptr(ty)) {
        return pointer_cast(world, ty, value);
    }
    let (from, to) = (world.types.lane_prim(value_ty)?, world.types.lane_prim(ty)?);
    // Known. A cast that fails stays in the program.
    if let Some(bits) = constant(world, value) {
        let bits = eval::cast(from, to, bits).ok()?;
        return make_constant(world, ty, bits);
    }
    if let Some(bits) = lanes(world, value) {
        let bits: Vec<u64> =
            bits.iter().map(|&bits| eval::cast(from, to, bits).ok()).collect::<Option<_>>()?;
        return Some(make_lanes(world, ty, to, &bits));
    }
    // x as bool = x != 0
    if to == Prim::Bool {
        let zero = make_constant(world, value_ty, 0)?;
        return Some(world.cmp(CmpOp::Ne, value, zero));
    }
    // (x as M) as T = x as T, where the step over M loses nothing that T would see
    if let Node::Cast(inner) = world.node(value)
        && let Some(source) = world.types.lane_prim(world.ty(inner))
        && can_skip(source, from, to)
    {
        return Some(world.cast(ty, inner));
    }
    None
}

/// Whether (x as mid) as to = x as to for every x of type `from`.
fn can_skip(from: Prim, mid: Prim, to: Prim) -> bool {
    match (from.is_float(), mid.is_float(), to.is_float()) {
        // The low bits are the same whichever way.
        (false, false, false) if to.bits() <= mid.bits() => true,
        // To an integer, the step over a float must not be where it fails, nor hide that.
        (false, true, false) => holds_all(mid, from) && holds_all(to, from),
        // Otherwise it is enough that `mid` holds every value of `from`.
        _ => holds_all(mid, from),
    }
}

/// Whether `wide` has every value of `narrow`.
fn holds_all(wide: Prim, narrow: Prim) -> bool {
    match (narrow.is_float(), wide.is_float()) {
        (true, true) => wide.bits() >= narrow.bits(),
        (true, false) => false,
        (false, true) => narrow.bits() <= mantissa_bits(wide),
        (false, false) if narrow.is_signed() => wide.is_signed() && wide.bits() >= narrow.bits(),
        (false, false) => wide.bits() >= narrow.bits() + u32::from(wide.is_signed()),
    }
}

/// How many bits of an integer a float holds exactly.
fn mantissa_bits(prim: Prim) -> u32 {
    match prim {
        Prim::F16 => 11,
        Prim::F32 => 24,
        _ => 53,
    }
}

/// (p as &A) as &B = p as &B, within one address space; null stays null.
fn pointer_cast(world: &mut World, ty: Ty, value: Def) -> Option<Def> {
    if world.as_lit(value) == Some(0) {
        return Some(world.null(ty));
    }
    let Node::Cast(inner) = world.node(value) else { return None };
    let space = |ty: Ty| world.types.as_ptr(ty).map(|(_, space)| space);
    let here = space(ty);
    (space(world.ty(inner)) == here && space(world.ty(value)) == here).then(|| world.cast(ty, inner))
}

/// What the bits of `value` as a `ty` simplify to.
pub(crate) fn bitcast(world: &mut World, ty: Ty, value: Def) -> Option<Def> {
    let value_ty = world.ty(value);
    if value_ty == ty {
        return Some(value);
    }
    if let Some(bits) = world.as_lit(value) {
        return literal_bits(world, ty, value_ty, bits);
    }
    // The bits of the bits of x are the bits of x. Not through `bool`, which has
    // bits in memory that are no value, nor through aggregates, which have padding.
    match world.node(value) {
        Node::Bitcast(inner) if keeps_bits(world, value_ty) && keeps_bits(world, world.ty(inner)) => {
            Some(world.bitcast(ty, inner))
        }
        _ => None,
    }
}

/// A number or null pointer as a number or null pointer of the same size. Other
/// addresses are no literals: a number that becomes one stays in the program.
fn literal_bits(world: &mut World, ty: Ty, value_ty: Ty, bits: u64) -> Option<Def> {
    // An address is eight plain bytes.
    let prim = |ty: Ty| match world.types.as_ptr(ty) {
        Some(_) => Some(Prim::U64),
        None => world.types.as_prim(ty),
    };
    let bits = eval::bitcast(prim(value_ty)?, prim(ty)?, bits).ok()?;
    let is_literal = bits == 0 || world.types.as_ptr(ty).is_none();
    is_literal.then(|| world.intern(Node::Lit(bits), ty))
}

/// Whether a value of `ty` is nothing but its bits.
fn keeps_bits(world: &World, ty: Ty) -> bool {
    match *world.types.kind(ty) {
        TyKind::Prim(prim) => prim != Prim::Bool,
        TyKind::Ptr { .. } => true,
        TyKind::Simd { elem, .. } => keeps_bits(world, elem),
        _ => false,
    }
}

/// A size or alignment as a literal, if it fits into the type.
pub(crate) fn size(world: &mut World, ty: Ty, size: u64) -> Option<Def> {
    let prim = world.types.as_prim(ty)?;
    let fits = size <= i64::MAX as u64 && prim.sign_extend(prim.canonical(size)) == size as i64;
    (prim.is_int() && fits).then(|| world.lit(prim, size))
}
