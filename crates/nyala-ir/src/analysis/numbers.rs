//! Range and alignment analysis of integers and addresses: a power of two that divides them, and
//! their bounds.
//!
//! [`Number::of`] is the transfer function of one operation; callers supply what they know of
//! parameters. [`Number::of_expression`] follows operands to a bounded depth.
//!
//! # Invariants
//!
//! * Bounds hold for every value that is computed without an error. What overflows where that is
//!   an error may be anything; the power of two divides it nevertheless.
//! * [`Number::or`] is a join with widening: chains of joins have a small constant length.

use crate::layout::{layout, offset};
use crate::{ArithOp, Def, Node, Prim, Ty, World};

/// Facts about a number. Addresses have no useful bounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Number {
    /// 2 to this divides it.
    pub twos: u32,
    /// The smallest that it may be.
    pub min: i128,
    /// The largest that it may be.
    pub max: i128,
}

/// No type has more bits.
const MAX_BITS: u32 = 64;

/// The depth to which operands are followed.
const MAX_DEPTH: usize = 8;

impl Number {
    /// Nothing is known.
    pub const ANY: Number = Number { twos: 0, min: i128::MIN, max: i128::MAX };

    /// Facts about all values of a type.
    pub fn of_type(world: &World, ty: Ty) -> Number {
        if let Some((pointee, _)) = world.types.as_ptr(ty) {
            let align = layout(&world.types, pointee).align.max(1);
            return Number { twos: align.trailing_zeros(), ..Number::ANY };
        }
        match world.types.as_prim(ty) {
            Some(prim) => Number::of_prim(prim),
            None => Number::ANY,
        }
    }

    fn of_prim(prim: Prim) -> Number {
        let (min, max) = match prim {
            Prim::Bool => (0, 1),
            _ if prim.is_signed() => (-1 << (prim.bits() - 1), (1 << (prim.bits() - 1)) - 1),
            _ if prim.is_int() => (0, (1 << prim.bits()) - 1),
            _ => return Number::ANY,
        };
        Number { twos: 0, min, max }
    }

    /// A known number.
    pub fn exactly(number: i128) -> Number {
        Number { twos: number.trailing_zeros().min(MAX_BITS), min: number, max: number }
    }

    /// Whether it is at least 0.
    pub fn is_natural(self) -> bool {
        self.min >= 0
    }

    /// The join of both. Bounds that differ are widened at once, except to 0, so that fixed points are
    /// reached quickly.
    #[must_use]
    pub fn or(self, other: Number) -> Number {
        let min = match (self.min, other.min) {
            (a, b) if b >= a => a,
            (_, b) if b >= 0 => 0,
            _ => i128::MIN,
        };
        let max = if other.max <= self.max { self.max } else { i128::MAX };
        Number { twos: self.twos.min(other.twos), min, max }
    }

    /// The same, as far as values of a type can be it.
    #[must_use]
    pub fn within(self, world: &World, ty: Ty) -> Number {
        let all = Number::of_type(world, ty);
        Number { twos: self.twos.max(all.twos), min: self.min.max(all.min), max: self.max.min(all.max) }
    }

    /// Whether all that it may be are values of a type.
    pub fn fits(self, prim: Prim) -> bool {
        let all = Number::of_prim(prim);
        all.min <= self.min && self.max <= all.max
    }

    /// Facts about `def`, from its operands.
    pub fn of_expression(world: &World, def: Def) -> Number {
        Number::to_depth(world, def, MAX_DEPTH)
    }

    fn to_depth(world: &World, def: Def, depth: usize) -> Number {
        Number::of(world, def, &mut |operand| match depth {
            0 => Number::of_type(world, world.ty(operand)),
            _ => Number::to_depth(world, operand, depth - 1),
        })
    }

    /// Facts about `def`, given those of its operands by `of`.
    pub fn of(world: &World, def: Def, of: &mut dyn FnMut(Def) -> Number) -> Number {
        let ty = world.ty(def);
        let all = Number::of_type(world, ty);
        match world.node(def) {
            Node::Lit(bits) => match world.types.as_prim(ty) {
                Some(prim) if prim.is_signed() => Number::exactly(i128::from(prim.sign_extend(bits))),
                Some(prim) if prim.is_int() => Number::exactly(i128::from(bits)),
                _ => all,
            },
            Node::Arith { op, flags, lhs, rhs } => match world.types.as_prim(ty).filter(|prim| prim.is_int())
            {
                Some(prim) => Number::arith(prim, op, flags.wrap, of(lhs), of(rhs)),
                None => all,
            },
            Node::Cast(value) | Node::Bitcast(value) => of(value).converted(world, world.ty(value), ty),
            Node::Select { then, other, .. } => {
                let (a, b) = (of(then), of(other));
                Number { twos: a.twos.min(b.twos), min: a.min.min(b.min), max: a.max.max(b.max) }
            }
            Node::Lea { ptr, index } => {
                let Some((pointee, _)) = world.types.lane_ptr(world.ty(ptr)) else { return all };
                let further = match (world.types.elem(pointee), world.as_lit(index)) {
                    (Some(elem), _) => {
                        of(index).twos.saturating_add(layout(&world.types, elem).size.trailing_zeros())
                    }
                    (None, Some(part)) => offset(&world.types, pointee, part).trailing_zeros(),
                    (None, None) => 0,
                };
                Number { twos: of(ptr).twos.min(further).max(all.twos), ..all }
            }
            Node::Hide(value) | Node::Streaming(value) => of(value),
            _ => all,
        }
    }

    /// The sum or the like of numbers, as if there were no largest one; none for other operators.
    pub fn exact(op: ArithOp, a: Number, b: Number) -> Option<Number> {
        let (min, max) = match op {
            ArithOp::Add => (a.min.checked_add(b.min)?, a.max.checked_add(b.max)?),
            ArithOp::Sub => (a.min.checked_sub(b.max)?, a.max.checked_sub(b.min)?),
            ArithOp::Mul => a.products(b)?,
            ArithOp::Shl => a.products(b.power_of_two()?)?,
            _ => return None,
        };
        let twos = match op {
            ArithOp::Mul => a.twos.saturating_add(b.twos),
            ArithOp::Shl => a.twos.saturating_add(b.power_of_two()?.twos),
            _ => a.twos.min(b.twos),
        };
        Some(Number { twos: twos.min(MAX_BITS), min, max })
    }

    fn products(self, other: Number) -> Option<(i128, i128)> {
        let (a, b, c, d) = (self.min, self.max, other.min, other.max);
        let all = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
        Some((*all.iter().min()?, *all.iter().max()?))
    }

    /// 2 to this, if it is known and small.
    fn power_of_two(self) -> Option<Number> {
        let is_known = self.min == self.max && (0..i128::from(MAX_BITS)).contains(&self.min);
        is_known.then(|| Number::exactly(1 << self.min))
    }

    fn arith(prim: Prim, op: ArithOp, wraps: bool, a: Number, b: Number) -> Number {
        let all = Number::of_prim(prim);
        let known = Some(b.min).filter(|_| b.min == b.max && b.min > 0);
        let naturals = [a, b].into_iter().filter(|number| number.is_natural());
        let number = match (op, known) {
            (ArithOp::Div, Some(by)) => {
                let twos = if by & (by - 1) == 0 { a.twos.saturating_sub(by.trailing_zeros()) } else { 0 };
                Number { twos, min: a.min / by, max: a.max / by }
            }
            (ArithOp::Rem, Some(by)) => Number {
                twos: a.twos.min(by.trailing_zeros()),
                min: if a.is_natural() { 0 } else { 1 - by },
                max: a.max.min(by - 1).max(0),
            },
            (ArithOp::Shr, _) => match b.power_of_two() {
                Some(by) => Number {
                    twos: a.twos.saturating_sub(by.twos),
                    min: a.min >> by.twos,
                    max: a.max >> by.twos,
                },
                None => all,
            },
            (ArithOp::And, _) => {
                let max = naturals.map(|natural| natural.max).min();
                let min = max.map_or(all.min, |_| 0);
                Number { twos: a.twos.max(b.twos), min, max: max.unwrap_or(all.max) }
            }
            (ArithOp::Or | ArithOp::Xor, _) => {
                let twos = a.twos.min(b.twos);
                match a.is_natural() && b.is_natural() {
                    true => Number { twos, min: 0, max: all_ones(a.max.max(b.max)) },
                    false => Number { twos, ..all },
                }
            }
            _ => match Number::exact(op, a, b) {
                Some(exact) if exact.fits(prim) => exact,
                // Overflow is an error, so it is not a result.
                Some(exact) if !wraps && prim.is_signed() && op != ArithOp::Shl => {
                    let (min, max) = (exact.min.max(all.min), exact.max.min(all.max));
                    if min <= max {
                        Number { twos: exact.twos, min, max }
                    } else {
                        Number { twos: exact.twos, ..all }
                    }
                }
                Some(exact) => Number { twos: exact.twos, ..all },
                None => all,
            },
        };
        Number { twos: number.twos.min(prim.bits()), ..number }
    }

    /// The number as a value of another type.
    fn converted(self, world: &World, from: Ty, to: Ty) -> Number {
        let all = Number::of_type(world, to);
        let bits = |ty: Ty| match world.types.as_ptr(ty) {
            Some(_) => Some(MAX_BITS),
            None => world.types.as_prim(ty).filter(|prim| prim.is_int()).map(Prim::bits),
        };
        let (Some(_), Some(width)) = (bits(from), bits(to)) else { return all };
        let twos = self.twos.min(width).max(all.twos);
        match world.types.as_prim(to) {
            Some(prim) if self.fits(prim) => Number { twos, ..self },
            _ => Number { twos, ..all },
        }
    }
}

/// The largest number that has no more bits.
fn all_ones(number: i128) -> i128 {
    let bits = i128::BITS - number.leading_zeros();
    (1i128 << bits.min(MAX_BITS)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ArithFlags;

    /// Facts about an expression on two parameters of type `i32`, and one of `&[f32]`.
    fn check(build: impl FnOnce(&mut World, [Def; 3]) -> Def, twos: u32, min: i128, max: i128) {
        let mut world = World::new();
        world.set_folding(true);
        let (i32, f32) = (world.types.prim(Prim::I32), world.types.prim(Prim::F32));
        let floats = world.types.slice(f32);
        let floats = world.types.ptr(floats, 0);
        let cont = world.new_cont("f", &[i32, i32, floats]);
        let params = [0, 1, 2].map(|index| world.param(cont, index));
        let def = build(&mut world, params);
        assert_eq!(Number::of_expression(&world, def), Number { twos, min, max });
    }

    const MIN: i128 = i32::MIN as i128;
    const MAX: i128 = i32::MAX as i128;
    const STRICT: ArithFlags = ArithFlags::STRICT;

    #[test]
    fn a_parameter_is_any_value_of_its_type() {
        check(|_, [x, ..]| x, 0, MIN, MAX);
    }

    #[test]
    fn a_product_has_the_powers_of_two_of_both_factors() {
        let scaled = |world: &mut World, [x, y, _]: [Def; 3]| {
            let (four, six) = (world.lit_i32(4), world.lit_i32(6));
            let (x, y) =
                (world.arith(ArithOp::Mul, STRICT, x, four), world.arith(ArithOp::Mul, STRICT, y, six));
            world.arith(ArithOp::Mul, STRICT, x, y)
        };
        check(scaled, 3, MIN, MAX);
    }

    #[test]
    fn a_sum_has_the_common_powers_of_two() {
        let sum = |world: &mut World, [x, y, _]: [Def; 3]| {
            let (eight, four) = (world.lit_i32(8), world.lit_i32(4));
            let (x, y) =
                (world.arith(ArithOp::Mul, STRICT, x, eight), world.arith(ArithOp::Mul, STRICT, y, four));
            world.arith(ArithOp::Add, STRICT, x, y)
        };
        check(sum, 2, MIN, MAX);
    }

    #[test]
    fn wrapping_keeps_powers_of_two_and_drops_bounds() {
        let sum = |world: &mut World, [x, ..]: [Def; 3]| {
            let (three, twelve) = (world.lit_i32(3), world.lit_i32(12));
            let x = world.arith(ArithOp::Shl, STRICT, x, three);
            world.arith(ArithOp::Add, ArithFlags::WRAP, x, twelve)
        };
        check(sum, 2, MIN, MAX);
    }

    #[test]
    fn overflow_that_is_an_error_does_not_count() {
        let sum = |world: &mut World, [x, ..]: [Def; 3]| {
            let ten = world.lit_i32(10);
            world.arith(ArithOp::Add, STRICT, x, ten)
        };
        check(sum, 0, MIN + 10, MAX);
    }

    #[test]
    fn a_mask_bounds_its_operand() {
        let masked = |world: &mut World, [x, ..]: [Def; 3]| {
            let mask = world.lit_i32(0xf0);
            world.arith(ArithOp::And, STRICT, x, mask)
        };
        check(masked, 4, 0, 0xf0);
    }

    #[test]
    fn quotients_and_remainders() {
        let quotient = |world: &mut World, [x, ..]: [Def; 3]| {
            let (mask, eight) = (world.lit_i32(0xff0), world.lit_i32(8));
            let x = world.arith(ArithOp::And, STRICT, x, mask);
            world.arith(ArithOp::Div, STRICT, x, eight)
        };
        check(quotient, 1, 0, 0x1fe);
        let remainder = |world: &mut World, [x, ..]: [Def; 3]| {
            let twelve = world.lit_i32(12);
            world.arith(ArithOp::Rem, STRICT, x, twelve)
        };
        check(remainder, 0, -11, 11);
    }

    #[test]
    fn conversions_keep_bounds_that_fit() {
        let narrowed = |world: &mut World, [x, ..]: [Def; 3]| {
            let (mask, u8) = (world.lit_i32(0x60), world.types.prim(Prim::U8));
            let x = world.arith(ArithOp::And, STRICT, x, mask);
            world.cast(u8, x)
        };
        check(narrowed, 5, 0, 0x60);
        let unsigned = |world: &mut World, [x, ..]: [Def; 3]| {
            let u32 = world.types.prim(Prim::U32);
            world.cast(u32, x)
        };
        check(unsigned, 0, 0, i128::from(u32::MAX));
    }

    #[test]
    fn addresses_have_the_alignment_of_their_index() {
        let address = |world: &mut World, [x, _, p]: [Def; 3]| {
            let eight = world.lit_i32(8);
            let index = world.arith(ArithOp::Mul, STRICT, x, eight);
            world.lea(p, index)
        };
        // The array itself is aligned as its elements are.
        check(address, 2, i128::MIN, i128::MAX);
    }

    #[test]
    fn joins_of_different_numbers_converge_in_few_steps() {
        let mut number = Number::exactly(0);
        let mut changes = 0;
        for round in 1..1000 {
            let next = number.or(Number::exactly(16 * round));
            changes += usize::from(next != number);
            number = next;
        }
        assert_eq!(changes, 1);
        assert_eq!(number, Number { twos: 4, min: 0, max: i128::MAX });
        assert_eq!(number.or(Number::exactly(-8)), Number { twos: 3, ..Number::ANY });
    }
}
