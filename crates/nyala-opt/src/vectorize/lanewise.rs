//! Vector forms of types and values.
//!
//! A scalar becomes a simd value. An aggregate becomes an aggregate of the vector forms of its parts: a
//! struct becomes a tuple, an array or simd value an array. The parts of an enum value are its tag and
//! one payload for each option; a lane has only the payload of its option.
//!
//! Recursion is on the nesting of types, which the program's declarations bound.

use nyala_ir::{CmpOp, Def, Node, Prim, Ty, TyKind, World};

/// Whether values of this type may vary.
pub(super) fn is_supported(world: &World, ty: Ty) -> bool {
    match world.types.kind(ty) {
        TyKind::Prim(_) | TyKind::Ptr { .. } => true,
        TyKind::Tuple(_) | TyKind::Struct(_) | TyKind::Enum(_) => {
            parts(world, ty).iter().all(|&part| is_supported(world, part))
        }

        TyKind::Array { elem, len } => *len <= 1024 && is_supported(world, *elem),
        TyKind::Simd { elem, .. } => is_supported(world, *elem),
        TyKind::Mem | TyKind::Slice(_) | TyKind::Cn(_) => false,
    }
}

/// Whether this is the type of a number, a bool or an address.
pub(super) fn is_scalar(world: &World, ty: Ty) -> bool {
    matches!(world.types.kind(ty), TyKind::Prim(_) | TyKind::Ptr { .. })
}

/// The types of the parts of an aggregate.
pub(super) fn parts(world: &World, ty: Ty) -> Vec<Ty> {
    match world.types.kind(ty) {
        TyKind::Tuple(parts) => parts.to_vec(),
        TyKind::Struct(id) => world.types.structs[*id].fields.iter().map(|field| field.ty).collect(),
        TyKind::Enum(id) => {
            let payloads = world.types.enums[*id].options.iter().map(|option| option.payload);
            std::iter::once(world.types.prim(Prim::U32)).chain(payloads).collect()
        }
        TyKind::Array { elem, len } => vec![*elem; *len as usize],
        TyKind::Simd { elem, lanes } => vec![*elem; *lanes as usize],
        _ => vec![],
    }
}

/// The vector form of a type.
pub(super) fn lanes_ty(world: &mut World, ty: Ty, n: u32) -> Ty {
    match *world.types.kind(ty) {
        TyKind::Array { elem, len } => {
            let elem = lanes_ty(world, elem, n);
            world.types.array(elem, len)
        }
        TyKind::Simd { elem, lanes } => {
            let elem = lanes_ty(world, elem, n);
            world.types.array(elem, u64::from(lanes))
        }
        TyKind::Tuple(_) | TyKind::Struct(_) | TyKind::Enum(_) => {
            let parts: Vec<Ty> = parts(world, ty).into_iter().map(|part| lanes_ty(world, part, n)).collect();
            world.types.tuple(&parts)
        }
        _ => world.types.simd(ty, n),
    }
}

/// Part `index` of a vector of type `ty`.
pub(super) fn part(world: &mut World, ty: Ty, lanes: Def, index: usize) -> Def {
    match is_single_part(world, ty) {
        true => lanes,
        false => world.extract_at(lanes, index as u32),
    }
}

/// Whether the vector form of `ty` is that of its only part: there are no tuples of one element.
pub(super) fn is_single_part(world: &World, ty: Ty) -> bool {
    matches!(world.types.kind(ty), TyKind::Tuple(_) | TyKind::Struct(_)) && parts(world, ty).len() == 1
}

/// A vector of type `ty` from the vectors of its parts.
pub(super) fn join(world: &mut World, ty: Ty, n: u32, parts: &[Def]) -> Def {
    let lanes = lanes_ty(world, ty, n);
    match world.types.kind(ty) {
        TyKind::Tuple(_) | TyKind::Struct(_) | TyKind::Enum(_) => world.tuple(parts),
        _ => world.aggregate(lanes, parts),
    }
}

/// Applies an operation to each scalar of vectors of type `ty`.
pub(super) fn map(
    world: &mut World,
    ty: Ty,
    n: u32,
    operands: &[Def],
    apply: &mut dyn FnMut(&mut World, Ty, &[Def]) -> Def,
) -> Def {
    if is_scalar(world, ty) {
        return apply(world, ty, operands);
    }
    let tys = parts(world, ty);
    let mut made = Vec::with_capacity(tys.len());
    for (index, part_ty) in tys.into_iter().enumerate() {
        let operands: Vec<Def> = operands.iter().map(|&operand| part(world, ty, operand, index)).collect();
        made.push(map(world, part_ty, n, &operands, apply));
    }
    join(world, ty, n, &made)
}

/// The largest number of block parameters that an aggregate is split into.
const MAX_FLAT: usize = 64;

/// The types of the block parameters that an aggregate is split into.
pub(super) fn flat(world: &World, ty: Ty) -> Vec<Ty> {
    match inner_parts(world, ty) {
        Some(parts) => parts.into_iter().flat_map(|part| flat(world, part)).collect(),
        None => vec![ty],
    }
}

/// Splits a value, as [`flat`] does its type.
pub(super) fn flattened(world: &mut World, value: Def) -> Vec<Def> {
    let Some(parts) = inner_parts(world, world.ty(value)) else { return vec![value] };
    let mut all = vec![];
    for index in 0..parts.len() {
        let part = world.extract_at(value, index as u32);
        all.extend(flattened(world, part));
    }
    all
}

/// A value from its parts.
pub(super) fn unflattened(world: &mut World, ty: Ty, parts: &mut impl Iterator<Item = Def>) -> Def {
    let Some(tys) = inner_parts(world, ty) else { return parts.next().expect("there is one for each part") };
    let parts: Vec<Def> = tys.into_iter().map(|ty| unflattened(world, ty, parts)).collect();
    world.aggregate(ty, &parts)
}

/// The types of the parts that a value is split into, if it is.
fn inner_parts(world: &World, ty: Ty) -> Option<Vec<Ty>> {
    let inner = match world.types.kind(ty) {
        TyKind::Tuple(_) | TyKind::Struct(_) => parts(world, ty),
        TyKind::Array { len, .. } if *len <= MAX_FLAT as u64 => parts(world, ty),
        _ => return None,
    };
    (n_flat(world, ty) <= MAX_FLAT).then_some(inner)
}

fn n_flat(world: &World, ty: Ty) -> usize {
    match world.types.kind(ty) {
        TyKind::Tuple(_) | TyKind::Struct(_) => {
            parts(world, ty).into_iter().map(|part| n_flat(world, part)).sum()
        }
        TyKind::Array { elem, len } => n_flat(world, *elem).saturating_mul(*len as usize),
        _ => 1,
    }
}

/// Whether the type is an enum or contains one.
pub(super) fn has_enums(world: &World, ty: Ty) -> bool {
    match world.types.kind(ty) {
        TyKind::Enum(_) => true,
        TyKind::Array { elem, .. } => has_enums(world, *elem),
        _ => parts(world, ty).into_iter().any(|part| has_enums(world, part)),
    }
}

/// The value of type `ty` in one lane.
pub(super) fn lane(world: &mut World, ty: Ty, lanes: Def, index: Def) -> Def {
    if is_scalar(world, ty) {
        return world.extract(lanes, index);
    }
    let tys = parts(world, ty);
    let parts: Vec<Def> = tys
        .into_iter()
        .enumerate()
        .map(|(at, part_ty)| {
            let part = part(world, ty, lanes, at);
            lane(world, part_ty, part, index)
        })
        .collect();
    if !matches!(world.types.kind(ty), TyKind::Enum(_)) {
        return world.aggregate(ty, &parts);
    }
    let mut value = world.variant(ty, 0, parts[1]);
    for (option, &payload) in (1..).zip(&parts[2..]) {
        let (this, number) = (world.variant(ty, option, payload), world.lit_u32(option));
        let is_this = world.cmp(CmpOp::Eq, parts[0], number);
        value = world.select(is_this, this, value);
    }
    value
}

/// Replaces the value of one lane.
pub(super) fn with_lane(world: &mut World, n: u32, lanes: Def, index: Def, value: Def) -> Def {
    let ty = world.ty(value);
    if is_scalar(world, ty) {
        return world.insert(lanes, index, value);
    }
    let n_parts = parts(world, ty).len();
    let parts: Vec<Def> = (0..n_parts)
        .map(|at| {
            let (part, value) = (part(world, ty, lanes, at), world.extract_at(value, at as u32));
            with_lane(world, n, part, index, value)
        })
        .collect();
    join(world, ty, n, &parts)
}

/// The lanes of `then` where `mask` is set, those of `other` elsewhere.
pub(super) fn select(world: &mut World, ty: Ty, n: u32, mask: Def, then: Def, other: Def) -> Def {
    if let Some(either) = either(world, then, other) {
        return either;
    }
    map(world, ty, n, &[then, other], &mut |world, _, values| {
        either(world, values[0], values[1]).unwrap_or_else(|| world.select(mask, values[0], values[1]))
    })
}

/// The value of both, if they are equal or one is undefined.
pub(super) fn either(world: &World, then: Def, other: Def) -> Option<Def> {
    match (world.node(then), world.node(other)) {
        (_, Node::Undef) => Some(then),
        (Node::Undef, _) => Some(other),
        _ => (then == other).then_some(then),
    }
}

/// The integers `0`, `stride`, `2 * stride`, .. in the lanes.
pub(super) fn steps(world: &mut World, prim: Prim, stride: i64, n: u32) -> Def {
    let lanes: Vec<Def> =
        (0..i64::from(n)).map(|lane| world.lit(prim, lane.wrapping_mul(stride) as u64)).collect();
    let ty = world.types.prim(prim);
    let ty = world.types.simd(ty, n);
    world.aggregate(ty, &lanes)
}
