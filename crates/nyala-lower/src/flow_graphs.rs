//! Flow graphs and their tasks, as values.
//!
//! In source text they are structs without fields, which only the functions for flow graphs create. The runtime
//! numbers them. So in the program graph these structs have a field for the number, and programs may pass and
//! store them like other values.

use nyala_ir::types::{FieldData, StructId};
use nyala_ir::{Intrinsic, Linkage, Prim, TyKind, World};
use nyala_span::Name;

/// Adds the number to the structs for graphs and tasks.
pub(crate) fn give_numbers(world: &mut World) {
    let makes_handle = |linkage: &Linkage| {
        matches!(linkage, Linkage::Intrinsic(Intrinsic::CreateGraph | Intrinsic::CreateTask))
    };
    let made = world
        .conts()
        .filter(|(_, data)| makes_handle(&data.linkage))
        .filter_map(|(_, data)| data.params.last().and_then(|&ret| world.types.as_cn(world.ty(ret))))
        .flatten();
    let without_fields = made.filter_map(|&result| match *world.types.kind(result) {
        TyKind::Struct(id) if world.types.structs[id].fields.is_empty() => Some(id),
        _ => None,
    });
    let handles: Vec<StructId> = without_fields.collect();
    let ty = world.types.prim(Prim::I32);
    for id in handles {
        world.types.structs[id].fields = vec![FieldData { name: Name::new("number"), ty }];
    }
}
