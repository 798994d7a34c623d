//! Sizes, alignments and offsets, as C has them on a 64-bit machine.
//!
//! Structs, tuples: fields in order with natural alignment and trailing padding.
//! Enums: a union of the payloads followed by the tag. `bool` is one byte. A simd
//! value is aligned to its size rounded up to a power of two. Function values
//! have no layout for the outside; inside they are two words (code, environment).

use crate::types::{EnumId, Ty, TyKind, Types};

/// Size and alignment in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// With trailing padding.
    pub size: u64,
    /// A power of two.
    pub align: u64,
}

impl Layout {
    /// The layout of nothing.
    pub const UNIT: Layout = Layout { size: 0, align: 1 };
}

/// The layout of `ty`; an unsized array has the layout of no elements.
/// Sizes saturate at `u64::MAX`, so absurd types do not overflow.
pub fn layout(types: &Types, ty: Ty) -> Layout {
    match types.kind(ty) {
        TyKind::Mem => Layout::UNIT,
        TyKind::Prim(prim) => Layout { size: prim.bytes(), align: prim.bytes() },
        TyKind::Ptr { .. } => Layout { size: 8, align: 8 },
        TyKind::Cn(_) => Layout { size: 16, align: 8 },
        TyKind::Tuple(parts) => sequence(types, parts.iter().copied()),
        TyKind::Struct(id) => sequence(types, types.structs[*id].fields.iter().map(|field| field.ty)),
        TyKind::Array { elem, len } => {
            let elem = layout(types, *elem);
            Layout { size: elem.size.saturating_mul(*len), align: elem.align }
        }
        TyKind::Slice(elem) => Layout { size: 0, align: layout(types, *elem).align },
        TyKind::Simd { elem, lanes } => {
            let size = layout(types, *elem).size.saturating_mul(u64::from(*lanes)).max(1);
            let size = size.checked_next_power_of_two().unwrap_or(u64::MAX);
            Layout { size, align: size }
        }
        TyKind::Enum(id) => enum_layout(types, *id).0,
    }
}

/// The offset of part `index` of a tuple or struct, or of an element of an array.
pub fn offset(types: &Types, ty: Ty, index: u64) -> u64 {
    match types.kind(ty) {
        TyKind::Tuple(parts) => offset_in(types, parts.iter().copied(), index),
        TyKind::Struct(id) => offset_in(types, types.structs[*id].fields.iter().map(|field| field.ty), index),
        TyKind::Array { elem, .. } | TyKind::Slice(elem) | TyKind::Simd { elem, .. } => {
            layout(types, *elem).size.saturating_mul(index)
        }
        _ => 0,
    }
}

/// The layout of an enum, the offset of its tag, and the tag's size.
pub fn enum_layout(types: &Types, id: EnumId) -> (Layout, u64, u64) {
    let options = &types.enums[id].options;
    let tag = match options.len() {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    };
    let payload =
        options.iter().map(|option| layout(types, option.payload)).fold(Layout::UNIT, |all, one| Layout {
            size: all.size.max(one.size),
            align: all.align.max(one.align),
        });
    let union_size = round_up(payload.size, payload.align);
    let tag_at = round_up(union_size, tag);
    let align = payload.align.max(tag);
    (Layout { size: round_up(tag_at.saturating_add(tag), align), align }, tag_at, tag)
}

/// The layout of a struct with these fields.
pub fn sequence(types: &Types, parts: impl Iterator<Item = Ty>) -> Layout {
    let mut all = Layout::UNIT;
    for part in parts {
        let part = layout(types, part);
        all.size = round_up(all.size, part.align).saturating_add(part.size);
        all.align = all.align.max(part.align);
    }
    Layout { size: round_up(all.size, all.align), align: all.align }
}

fn offset_in(types: &Types, parts: impl Iterator<Item = Ty>, index: u64) -> u64 {
    let mut at = 0u64;
    for (i, part) in parts.enumerate() {
        let part = layout(types, part);
        at = round_up(at, part.align);
        if i as u64 == index {
            break;
        }
        at = at.saturating_add(part.size);
    }
    at
}

fn round_up(size: u64, align: u64) -> u64 {
    size.checked_next_multiple_of(align).unwrap_or(u64::MAX)
}
