//! Vectors of structs, tuples, arrays, enums and functions.
//!
//! That of a struct, tuple or array has the same parts, as vectors ([`sema::Types::vector`]). That of an enum or a
//! function is an array. An element, or *lane*, is taken out and put in part by part. A part of the same type in
//! both is one for all lanes.
//!
//! [`sema::Types::vector`]: nyala_sema::types::Types::vector

use nyala_ir::{Def, Ty, TyKind, World};

/// Whether a value of the type of one lane consists of parts, each of which has its own vector.
pub(crate) fn has_parts(world: &World, lane: Ty) -> bool {
    matches!(world.types.kind(lane), TyKind::Tuple(_) | TyKind::Struct(_) | TyKind::Array { .. })
}

/// The types of the parts of a tuple, struct or array.
fn parts(world: &World, ty: Ty) -> Vec<Ty> {
    let count = world.types.part_count(ty).unwrap_or(0);
    (0..count).filter_map(|index| world.types.part(ty, index)).collect()
}

/// The vector of type `vector` whose lanes are all `lane`.
pub(crate) fn broadcast(world: &mut World, vector: Ty, lane: Def) -> Def {
    let ty = world.ty(lane);
    if ty == vector {
        return lane;
    }
    if !has_parts(world, ty) {
        let count = world.types.part_count(vector).unwrap_or(1);
        return world.aggregate(vector, &vec![lane; count as usize]);
    }
    let parts: Vec<Def> = (0..)
        .zip(parts(world, vector))
        .map(|(index, part)| {
            let lane = world.extract_at(lane, index);
            broadcast(world, part, lane)
        })
        .collect();
    world.aggregate(vector, &parts)
}

/// The vector of type `vector` with these lanes.
pub(crate) fn join(world: &mut World, vector: Ty, lanes: &[Def]) -> Def {
    let Some(&first) = lanes.first() else { return world.aggregate(vector, lanes) };
    let ty = world.ty(first);
    if ty == vector {
        return first;
    }
    if !has_parts(world, ty) {
        return world.aggregate(vector, lanes);
    }
    let parts: Vec<Def> = (0..)
        .zip(parts(world, vector))
        .map(|(index, part)| {
            let lanes: Vec<Def> = lanes.iter().map(|&lane| world.extract_at(lane, index)).collect();
            join(world, part, &lanes)
        })
        .collect();
    world.aggregate(vector, &parts)
}

/// Lane `index` of a vector, of type `ty`.
pub(crate) fn lane(world: &mut World, vector: Def, index: Def, ty: Ty) -> Def {
    if world.ty(vector) == ty {
        return vector;
    }
    if !has_parts(world, ty) {
        return world.extract(vector, index);
    }
    let parts: Vec<Def> = (0..)
        .zip(parts(world, ty))
        .map(|(part, ty)| {
            let vector = world.extract_at(vector, part);
            lane(world, vector, index, ty)
        })
        .collect();
    world.aggregate(ty, &parts)
}

/// A vector with lane `index` replaced.
pub(crate) fn with_lane(world: &mut World, vector: Def, index: Def, value: Def) -> Def {
    let (ty, lane) = (world.ty(vector), world.ty(value));
    if ty == lane {
        return value;
    }
    if !has_parts(world, lane) {
        return world.insert(vector, index, value);
    }
    let parts: Vec<Def> = (0..parts(world, lane).len() as u32)
        .map(|part| {
            let (vector, value) = (world.extract_at(vector, part), world.extract_at(value, part));
            with_lane(world, vector, index, value)
        })
        .collect();
    world.aggregate(ty, &parts)
}
