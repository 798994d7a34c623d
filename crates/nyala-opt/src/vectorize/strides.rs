//! The shape of arithmetic results, from the shapes and ranges of the operands.
//!
//! Sums and multiples of strided values are strided. Values of narrow types may wrap between lanes;
//! ranges show where they cannot. Quotients and remainders need *blocks*: if the value of lane 0 is a
//! multiple of a power of two and all lanes stay below the next multiple, they differ only in the low
//! bits. Then `i / 16` is uniform and `i % 16` is strided, as in accesses to arrays of structs of
//! arrays.

use std::cmp::Ordering;

use nyala_ir::analysis::Number;
use nyala_ir::{ArithFlags, ArithOp, Def, Node, Prim, Ty, World};

use super::shapes::{Shape, Wraps};

/// The shape and the range of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Known {
    pub shape: Shape,
    /// The range of the active lanes; the power of two divides the value of lane 0.
    pub number: Number,
}

/// The lanes that execute an operation.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub count: u32,
    /// Whether lane 0 may be inactive.
    pub is_partial: bool,
}

impl Known {
    /// The stride and where it wraps; 0 for a uniform value.
    fn stride(self) -> Option<(i64, Wraps)> {
        match self.shape {
            Shape::Uniform => Some((0, Wraps::Never)),
            Shape::Strided { stride, wraps } => Some((stride, wraps)),
            Shape::Varying => None,
        }
    }

    /// The value, if it is a constant.
    fn constant(self) -> Option<i128> {
        let Number { min, max, .. } = self.number;
        (self.shape == Shape::Uniform && min == max).then_some(min)
    }

    /// The exponent of a power of two that divides the value in all lanes.
    fn twos_in_all_lanes(self) -> u32 {
        match self.shape {
            Shape::Uniform => self.number.twos,
            Shape::Strided { stride, .. } => self.number.twos.min(stride.trailing_zeros()),
            Shape::Varying => 0,
        }
    }
}

impl Lanes {
    /// The exponent of the smallest block that contains all lanes if lane 0 is at its beginning.
    fn block(self, stride: i64) -> Option<u32> {
        let span = u64::try_from(stride).ok()?.checked_mul(u64::from(self.count - 1))?;
        Some(u64::BITS - span.leading_zeros())
    }
}

/// The shape of `a op b`, for integers of type `prim`.
pub(super) fn arith(lanes: Lanes, prim: Prim, op: ArithOp, flags: ArithFlags, a: Known, b: Known) -> Shape {
    let (Some((s, x)), Some((t, y))) = (a.stride(), b.stride()) else { return Shape::Varying };
    if (s, t) == (0, 0) {
        return Shape::Uniform;
    }
    if let ArithOp::Div | ArithOp::Rem | ArithOp::Shr | ArithOp::And = op {
        return in_block(lanes, prim, op, a, b).unwrap_or(Shape::Varying);
    }
    let stride = match op {
        ArithOp::Add => s.checked_add(t),
        ArithOp::Sub => s.checked_sub(t),
        ArithOp::Mul => match (a.constant(), b.constant()) {
            (_, Some(factor)) => i64::try_from(factor).ok().and_then(|factor| s.checked_mul(factor)),
            (Some(factor), _) => i64::try_from(factor).ok().and_then(|factor| t.checked_mul(factor)),
            _ => None,
        },
        ArithOp::Shl => b
            .constant()
            .filter(|count| (0..i128::from(prim.bits().min(32))).contains(count))
            .and_then(|count| s.checked_mul(1 << count)),
        // Without common bits, this is the sum.
        ArithOp::Or | ArithOp::Xor if x.max(y) == Wraps::Never && have_disjoint_bits(a, b) => {
            s.checked_add(t)
        }
        _ => None,
    };
    let Some(stride) = stride.filter(|stride| stride.unsigned_abs() < 1 << 31) else { return Shape::Varying };
    let exact = Number::exact(op, a.number, b.number);
    let own = match exact {
        Some(exact) if exact.fits(prim) => Wraps::Never,
        None if matches!(op, ArithOp::Or | ArithOp::Xor) => Wraps::Never,
        _ if flags.wrap || !prim.is_signed() => Wraps::Anywhere,
        _ if lanes.is_partial => Wraps::FirstInactive,
        _ => Wraps::Never,
    };
    // Within a block, only the low bits differ, and they produce no carry.
    let twos = exact.map_or(0, |exact| exact.twos.min(prim.bits()));
    let is_block = lanes.block(stride).is_some_and(|block| block <= twos);
    Shape::strided(stride, if is_block { Wraps::Never } else { x.max(y).max(own) })
}

/// The shape of a quotient, a remainder or the like by a constant, if all lanes are in one block.
fn in_block(lanes: Lanes, prim: Prim, op: ArithOp, a: Known, b: Known) -> Option<Shape> {
    let (value, by) = match (b.constant(), a.constant()) {
        (Some(by), _) => (a, by),
        (None, Some(by)) if op == ArithOp::And => (b, by),
        _ => return None,
    };
    let Shape::Strided { stride, .. } = value.shape else { return None };
    let block = lanes.block(stride)?;
    if block > value.number.twos || block >= prim.bits() {
        return None;
    }
    // Division rounds towards 0, so blocks of negative numbers differ.
    let is_even = !prim.is_signed() || value.number.is_natural();
    let ones = (1i128 << block) - 1;
    let same = Shape::strided(stride, Wraps::Never);
    match op {
        ArithOp::Div if is_even && by > 0 && by & ones == 0 => Some(Shape::Uniform),
        ArithOp::Rem if is_even && by > 0 && by & ones == 0 => Some(same),
        ArithOp::Shr if (i128::from(block)..i128::from(prim.bits())).contains(&by) => Some(Shape::Uniform),
        ArithOp::And if by & ones == 0 => Some(Shape::Uniform),
        ArithOp::And if by & ones == ones => Some(same),
        _ => None,
    }
}

/// Whether two values have no common bits.
fn have_disjoint_bits(a: Known, b: Known) -> bool {
    let is_below = |low: Known, high: Known| {
        let twos = high.twos_in_all_lanes();
        low.number.is_natural() && low.number.max < 1i128 << twos.min(100)
    };
    is_below(a, b) || is_below(b, a)
}

/// The shape of the address of element `index` of type `elem`; none if a narrow index may wrap between
/// lanes.
pub(super) fn element(world: &World, elem: Ty, index_ty: Ty, ptr: Known, index: Known) -> Option<Shape> {
    let (Some((base, _)), Some((step, wraps))) = (ptr.stride(), index.stride()) else {
        return Some(Shape::Varying);
    };
    if step != 0 && is_visible(world, index_ty, wraps) {
        return None;
    }
    let size = world.layout(elem).size as i64;
    let stride = step.checked_mul(size).and_then(|stride| stride.checked_add(base));
    Some(stride.map_or(Shape::Varying, |stride| Shape::strided(stride, Wraps::Never)))
}

/// Whether it matters that an index wraps: narrow ones are widened. If only an inactive lane 0 wraps,
/// an active lane has an index contiguous the limit of its type, which for `i32` is beyond any allocation.
fn is_visible(world: &World, index_ty: Ty, wraps: Wraps) -> bool {
    match world.types.as_prim(index_ty) {
        Some(prim) if prim.bits() == 64 => false,
        Some(Prim::I32) => wraps == Wraps::Anywhere,
        _ => wraps != Wraps::Never,
    }
}

/// The elements of a simd value, which have one stride in each group of some consecutive ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Elements {
    /// The length of the groups: all elements, or a part of them.
    pub lanes: u32,
    /// The stride in a group: 0 if its elements are equal.
    pub stride: i64,
}

/// The strides between the elements of a simd value, in the largest groups. `known` has those of parameters.
pub(super) fn of_elements(
    world: &World,
    def: Def,
    known: &dyn Fn(Def) -> Option<Elements>,
) -> Option<Elements> {
    elements(world, def, known, MAX_DEPTH)
}

/// The depth of the expressions whose elements are analyzed.
const MAX_DEPTH: u32 = 16;

fn elements(
    world: &World,
    def: Def,
    known: &dyn Fn(Def) -> Option<Elements>,
    depth: u32,
) -> Option<Elements> {
    let depth = depth.checked_sub(1)?;
    let of = |def: Def| elements(world, def, known, depth);
    let is_int = |def: Def| world.types.lane_prim(world.ty(def)).filter(|prim| prim.is_int());
    match world.node(def) {
        Node::Param { .. } => known(def),
        Node::Aggregate(parts) if world.types.is_simd(world.ty(def)) => {
            let parts = world.list(parts);
            if parts.windows(2).all(|pair| pair[0] == pair[1]) {
                return Some(Elements { lanes: parts.len() as u32, stride: 0 });
            }
            is_int(def)?;
            let numbers: Option<Vec<i64>> = parts.iter().map(|&part| world.as_int(part)).collect();
            of_numbers(&numbers?)
        }
        // Numbers that wrap have another distance.
        Node::Arith { op, flags, lhs, rhs } => {
            let (a, b) = (of(lhs)?, of(rhs)?);
            let stride = match (op, a.stride, b.stride) {
                (_, 0, 0) => 0,
                _ if flags.wrap || !is_int(def)?.is_signed() => return None,
                (ArithOp::Add, a, b) => a.checked_add(b)?,
                (ArithOp::Sub, a, b) => a.checked_sub(b)?,
                (ArithOp::Mul, a, 0) => a.checked_mul(common_number(world, rhs)?)?,
                (ArithOp::Mul, 0, b) => b.checked_mul(common_number(world, lhs)?)?,
                _ => return None,
            };
            Some(Elements { lanes: a.lanes.min(b.lanes), stride })
        }
        Node::Cast(value) => match of(value)? {
            same @ Elements { stride: 0, .. } => Some(same),
            elements => {
                let (from, to) = (is_int(value)?, is_int(def)?);
                (from.is_signed() && to.is_signed() && from.bits() <= to.bits()).then_some(elements)
            }
        },
        _ => None,
    }
}

/// The stride of numbers in the largest groups that have a common one.
fn of_numbers(numbers: &[i64]) -> Option<Elements> {
    let mut lanes = numbers.len();
    loop {
        let stride = numbers[1].checked_sub(numbers[0])?;
        let has_stride = |pair: &[i64]| pair[1].checked_sub(pair[0]) == Some(stride);
        if numbers.chunks(lanes).all(|group| group.windows(2).all(has_stride)) {
            return Some(Elements { lanes: lanes as u32, stride });
        }
        lanes /= 2;
        if lanes < 2 || !numbers.len().is_multiple_of(lanes) {
            return None;
        }
    }
}

/// The number that all elements of a simd value are.
fn common_number(world: &World, def: Def) -> Option<i64> {
    match world.node(def) {
        Node::Aggregate(parts) => {
            let parts = world.list(parts);
            let is_common = parts.windows(2).all(|pair| pair[0] == pair[1]);
            parts.first().filter(|_| is_common).and_then(|&part| world.as_int(part))
        }
        _ => None,
    }
}

/// The shape of a conversion.
pub(super) fn convert(world: &World, from: Ty, to: Ty, is_cast: bool, value: Known) -> Shape {
    let Shape::Strided { stride, wraps } = value.shape else { return value.shape };
    // Pointers are integers of 64 bits.
    let number = |ty: Ty| match world.types.as_ptr(ty) {
        Some(_) => Some(Prim::U64),
        None => world.types.as_prim(ty).filter(|prim| prim.is_int()),
    };
    let (Some(source), Some(target)) = (number(from), number(to)) else { return Shape::Varying };
    match source.bits().cmp(&target.bits()) {
        Ordering::Equal if source.is_signed() == target.is_signed() => value.shape,
        _ if !is_cast && source.bits() != target.bits() => Shape::Varying,
        Ordering::Less if wraps != Wraps::Never => Shape::Varying,
        // The same number, or one that is wide enough.
        _ if value.number.fits(target) => value.shape,
        _ => Shape::Strided { stride, wraps: Wraps::Anywhere },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Lanes = Lanes { count: 16, is_partial: false };
    const PARTIAL: Lanes = Lanes { count: 16, is_partial: true };

    /// A value with stride 1 whose lane 0 is divisible by 2 to `twos`.
    fn counting(twos: u32, min: i128, max: i128) -> Known {
        Known { shape: Shape::strided(1, Wraps::Never), number: Number { twos, min, max } }
    }

    fn constant(number: i128) -> Known {
        Known { shape: Shape::Uniform, number: Number::exactly(number) }
    }

    fn of(lanes: Lanes, prim: Prim, op: ArithOp, a: Known, b: Known) -> Shape {
        arith(lanes, prim, op, ArithFlags::STRICT, a, b)
    }

    const ONE: Shape = Shape::Strided { stride: 1, wraps: Wraps::Never };

    #[test]
    fn quotient_of_a_block_is_uniform_and_remainder_is_strided() {
        let i = counting(4, 0, 1000);
        for by in [16, 32, 48, 64] {
            assert_eq!(of(FULL, Prim::I32, ArithOp::Div, i, constant(by)), Shape::Uniform, "{by}");
            assert_eq!(of(FULL, Prim::I32, ArithOp::Rem, i, constant(by)), ONE, "{by}");
        }
        for by in [8, 24, 17, -16] {
            assert_eq!(of(FULL, Prim::I32, ArithOp::Div, i, constant(by)), Shape::Varying, "{by}");
            assert_eq!(of(FULL, Prim::I32, ArithOp::Rem, i, constant(by)), Shape::Varying, "{by}");
        }
        let unaligned = counting(3, 0, 1000);
        assert_eq!(of(FULL, Prim::I32, ArithOp::Div, unaligned, constant(16)), Shape::Varying);
    }

    #[test]
    fn negative_blocks_have_uniform_shifts_but_varying_quotients() {
        let i = counting(4, -1000, 1000);
        assert_eq!(of(FULL, Prim::I32, ArithOp::Div, i, constant(16)), Shape::Varying);
        assert_eq!(of(FULL, Prim::I32, ArithOp::Rem, i, constant(16)), Shape::Varying);
        assert_eq!(of(FULL, Prim::I32, ArithOp::Shr, i, constant(4)), Shape::Uniform);
        assert_eq!(of(FULL, Prim::I32, ArithOp::And, i, constant(15)), ONE);
        assert_eq!(of(FULL, Prim::I32, ArithOp::And, constant(-16), i), Shape::Uniform);
        assert_eq!(of(FULL, Prim::I32, ArithOp::And, i, constant(7)), Shape::Varying);
        assert_eq!(of(FULL, Prim::I32, ArithOp::Shr, i, constant(3)), Shape::Varying);
    }

    #[test]
    fn unsigned_add_wraps_unless_range_or_block_excludes_it() {
        let wrapping = Shape::Strided { stride: 1, wraps: Wraps::Anywhere };
        let max = i128::from(u32::MAX);
        assert_eq!(of(FULL, Prim::U32, ArithOp::Add, counting(0, 0, max), constant(5)), wrapping);
        assert_eq!(of(FULL, Prim::U32, ArithOp::Add, counting(0, 0, max - 5), constant(5)), ONE);
        assert_eq!(of(FULL, Prim::U32, ArithOp::Add, counting(4, 0, max), constant(48)), ONE);
        assert_eq!(of(FULL, Prim::U32, ArithOp::Add, counting(4, 0, max), constant(8)), wrapping);
    }

    #[test]
    fn signed_add_wraps_only_in_inactive_lanes() {
        let i = counting(0, 0, i128::from(i32::MAX));
        let missing = Shape::Strided { stride: 1, wraps: Wraps::FirstInactive };
        assert_eq!(of(FULL, Prim::I32, ArithOp::Add, i, constant(5)), ONE);
        assert_eq!(of(PARTIAL, Prim::I32, ArithOp::Add, i, constant(5)), missing);
        assert_eq!(of(PARTIAL, Prim::I32, ArithOp::Sub, i, constant(5)), ONE);
    }

    #[test]
    fn or_of_disjoint_bits_is_a_sum() {
        let high = Known { shape: Shape::Uniform, number: Number { twos: 4, min: 0, max: 1 << 20 } };
        assert_eq!(of(FULL, Prim::I32, ArithOp::Or, high, counting(4, 0, 15)), ONE);
        assert_eq!(of(FULL, Prim::I32, ArithOp::Or, high, counting(4, 0, 16)), Shape::Varying);
        assert_eq!(of(FULL, Prim::I32, ArithOp::Xor, counting(0, 0, 7), constant(8)), ONE);
    }

    #[test]
    fn elements_have_the_largest_groups_with_one_stride() {
        assert_eq!(of_numbers(&[3, 5, 7, 9]), Some(Elements { lanes: 4, stride: 2 }));
        assert_eq!(of_numbers(&[0, 1, 10, 11, 20, 21, 30, 31]), Some(Elements { lanes: 2, stride: 1 }));
        assert_eq!(of_numbers(&[0, 0, 1, 1]), Some(Elements { lanes: 2, stride: 0 }));
        assert_eq!(of_numbers(&[0, 1, 3, 7]), None);
    }
}
