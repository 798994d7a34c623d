//! Which arguments registers may not hold, on x86-64.
//!
//! The answer may be wrong in one way only: an argument that is said to be on the stack may be in registers.

use nyala_ir::layout::{enum_layout, layout};
use nyala_ir::{EnumId, Prim, Ty, TyKind, Types};
use rustc_hash::FxHashSet;

use super::super::value::{Scalar, Type};
use super::{Form, Vector};

/// Vector registers for arguments.
const VECTOR_REGISTERS: u64 = 8;

/// Bits of such a register that every processor has.
const VECTOR_BITS: u64 = 128;

/// Registers for integers and addresses. There are six: an environment and the address for a large result may take two.
const INTEGER_REGISTERS: u64 = 4;

/// For each parameter, what of it may be on the stack.
pub(super) struct OnStack {
    pub(super) vectors: Vec<bool>,
    /// Integers of eight bits, and `bool`s.
    pub(super) bytes: Vec<bool>,
}

impl OnStack {
    pub(super) fn new(types: &Types, params: &[Ty]) -> OnStack {
        let outside = |n_registers, needed: fn(Needed) -> u64, is_concerned: fn(&Types, Ty) -> bool| {
            let mut left: u64 = n_registers;
            let mut is_outside = |&ty: &Ty| {
                let needed = needed(Needed::new(types, ty));
                let fits = needed <= left;
                // What does not fit takes what is left.
                left = left.saturating_sub(needed);
                !fits && is_concerned(types, ty)
            };
            params.iter().map(&mut is_outside).collect()
        };
        OnStack {
            vectors: outside(VECTOR_REGISTERS, |needed| needed.vectors, has_vector),
            bytes: outside(INTEGER_REGISTERS, |needed| needed.integers, has_byte),
        }
    }

    pub(super) fn is_any(&self) -> bool {
        self.vectors.contains(&true) || self.bytes.contains(&true)
    }
}

/// How many registers a value takes at most.
#[derive(Clone, Copy, Default)]
struct Needed {
    vectors: u64,
    integers: u64,
}

impl Needed {
    fn new(types: &Types, ty: Ty) -> Needed {
        match types.kind(ty) {
            TyKind::Mem => Needed::default(),
            TyKind::Prim(prim) if prim.is_float() => Needed { vectors: 1, integers: 0 },
            TyKind::Prim(_) | TyKind::Ptr { .. } => Needed { vectors: 0, integers: 1 },
            TyKind::Simd { lanes, .. } => Needed {
                vectors: vector(types, ty).map_or(0, registers_of_vector),
                integers: if is_mask_of_bytes(types, ty) { u64::from(*lanes) } else { 0 },
            },
            TyKind::Array { elem, len } => Needed::new(types, *elem).times(*len),
            TyKind::Tuple(_) | TyKind::Struct(_) => {
                let parts = (0..).map_while(|index| types.part(ty, index));
                parts.fold(Needed::default(), |sum, part| sum.plus(Needed::new(types, part)))
            }
            TyKind::Enum(id) => Storage::new(types, *id).needed(),
            // Code and environment.
            TyKind::Cn(_) | TyKind::Slice(_) => Needed { vectors: 0, integers: 2 },
        }
    }

    fn plus(self, other: Needed) -> Needed {
        Needed {
            vectors: self.vectors.saturating_add(other.vectors),
            integers: self.integers.saturating_add(other.integers),
        }
    }

    fn times(self, n: u64) -> Needed {
        Needed { vectors: self.vectors.saturating_mul(n), integers: self.integers.saturating_mul(n) }
    }
}

fn registers_of_vector(vector: Vector) -> u64 {
    // A number of lanes that is no power of two may be taken apart, and so may what has no
    // instructions. A mask has at least a byte for each lane.
    if !vector.lanes.is_power_of_two() || vector.elem == Scalar::Half {
        return vector.lanes;
    }
    (vector.lanes * vector.elem_bits().max(8)).div_ceil(VECTOR_BITS).max(1)
}

/// The type of a vector that is a value.
pub(super) fn vector(types: &Types, ty: Ty) -> Option<Vector> {
    let TyKind::Simd { elem, lanes } = *types.kind(ty) else { return None };
    let elem = types.as_prim(elem).map_or(Scalar::PTR, Scalar::from);
    Some(Vector { lanes: u64::from(lanes), elem })
}

/// Whether LLVM takes a mask that is a parameter apart. In an aggregate its lanes are bytes of a vector.
fn is_mask_of_bytes(types: &Types, ty: Ty) -> bool {
    vector(types, ty).is_some_and(|vector| vector.is_mask() && !vector.lanes.is_power_of_two())
}

/// Room for the payload of an enum; see `TypeWriter::storage`.
pub(super) struct Storage {
    pub(super) words: u64,
    /// Of a word, in bytes.
    align: u64,
}

impl Storage {
    pub(super) fn new(types: &Types, id: EnumId) -> Storage {
        let payloads = types.enums[id].options.iter().map(|option| layout(types, option.payload));
        let (size, align) =
            payloads.fold((0, 1), |(size, align), one| (one.size.max(size), one.align.max(align)));
        Storage { words: size.div_ceil(align), align }
    }

    /// A word, if it is a vector.
    fn vector(&self) -> Option<Vector> {
        (self.align > 8).then_some(Vector { lanes: self.align / 8, elem: Scalar::WORD })
    }

    pub(super) fn word(&self) -> Type {
        self.vector().map_or(Type::int(8 * self.align as u32), Vector::ty)
    }

    /// How a word is passed.
    pub(super) fn form(&self, cuts_vectors: bool) -> Form {
        match self.vector() {
            Some(vector) if cuts_vectors => Form::Pieces(vector),
            None if self.align == 1 => Form::Widened,
            _ => Form::Whole,
        }
    }

    /// With the tag.
    fn needed(&self) -> Needed {
        match self.vector() {
            Some(vector) => Needed { vectors: self.words * registers_of_vector(vector), integers: 1 },
            None => Needed { vectors: 0, integers: self.words.saturating_add(1) },
        }
    }
}

/// Whether LLVM finds a vector in values of a type.
pub(super) fn has_vector(types: &Types, ty: Ty) -> bool {
    any_part(types, ty, |ty| match types.kind(ty) {
        TyKind::Simd { .. } => true,
        TyKind::Enum(id) => Storage::new(types, *id).vector().is_some(),
        _ => false,
    })
}

/// Whether LLVM finds an integer of eight bits or fewer in values of a type.
pub(super) fn has_byte(types: &Types, ty: Ty) -> bool {
    let is_byte = |ty| match types.kind(ty) {
        TyKind::Prim(prim) => matches!(prim, Prim::Bool | Prim::I8 | Prim::U8),
        TyKind::Enum(id) => enum_layout(types, *id).2 == 1 || Storage::new(types, *id).align == 1,
        _ => false,
    };
    is_mask_of_bytes(types, ty) || any_part(types, ty, is_byte)
}

fn any_part(types: &Types, ty: Ty, holds: impl Fn(Ty) -> bool) -> bool {
    let mut seen = FxHashSet::default();
    let mut work = vec![ty];
    while let Some(ty) = work.pop() {
        if !seen.insert(ty) {
            continue;
        }
        if holds(ty) {
            return true;
        }
        match types.kind(ty) {
            TyKind::Array { elem, .. } => work.push(*elem),
            TyKind::Tuple(_) | TyKind::Struct(_) => {
                work.extend((0..).map_while(|index| types.part(ty, index)));
            }
            _ => {}
        }
    }
    false
}
