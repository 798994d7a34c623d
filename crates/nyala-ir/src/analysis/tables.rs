//! Small arrays of known length: lanes that read different elements of one look them up in registers.

use crate::{Def, Node, Prim, TyKind, World};

/// The size in bytes of the largest array whose elements are looked up in registers.
const MAX_SIZE: u64 = 1024;

/// A small array, and the index of the element that is read.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The address of the array.
    pub array: Def,
    /// The index; of lanes, a vector.
    pub index: Def,
    /// Its elements, which are numbers.
    pub elem: Prim,
    /// The number of elements.
    pub len: u64,
}

impl Table {
    /// The table that the address of an element belongs to. The address of the array is the same in all lanes.
    pub fn of(world: &World, ptr: Def) -> Option<Table> {
        let Node::Lea { ptr: array, index } = world.node(ptr) else { return None };
        let (pointee, space) = world.types.as_ptr(world.ty(array))?;
        let TyKind::Array { elem, len } = *world.types.kind(pointee) else { return None };
        let elem = world.types.as_prim(elem).filter(|&prim| prim != Prim::Bool)?;
        let is_small = len.checked_mul(u64::from(elem.bits() / 8))? <= MAX_SIZE;
        (space == 0 && is_small).then_some(Table { array, index, elem, len })
    }
}
