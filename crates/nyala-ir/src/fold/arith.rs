//! Rules of arithmetic.

use super::{as_arith, compare, complement_of, constant, lanes, make_constant, make_lanes, ones};
use crate::eval;
use crate::node::{ArithFlags, ArithOp, Def};
use crate::types::{Prim, Ty};
use crate::world::World;

/// An operation that is being built. Both operands have type `ty`, lanes of `prim`.
#[derive(Clone, Copy)]
struct Arith {
    op: ArithOp,
    flags: ArithFlags,
    prim: Prim,
    ty: Ty,
    lhs: Def,
    rhs: Def,
}

/// Flags without those that mean nothing, and the operands in normal order.
pub(crate) fn normalize(
    world: &World,
    op: ArithOp,
    flags: ArithFlags,
    lhs: Def,
    rhs: Def,
) -> (ArithFlags, Def, Def) {
    let Some(prim) = world.types.lane_prim(world.ty(lhs)) else {
        return (flags, lhs, rhs);
    };
    let can_overflow = matches!(op, ArithOp::Add | ArithOp::Sub | ArithOp::Mul | ArithOp::Shl);
    let flags = ArithFlags {
        wrap: flags.wrap && prim.is_signed() && can_overflow,
        fast: flags.fast && prim.is_float(),
    };
    let commutes = matches!(op, ArithOp::Add | ArithOp::Mul | ArithOp::And | ArithOp::Or | ArithOp::Xor);
    // Constants to the right, otherwise the older node to the left.
    let swap = commutes
        && match (constant(world, lhs).is_some(), constant(world, rhs).is_some()) {
            (true, false) => true,
            (false, false) => rhs < lhs,
            _ => false,
        };
    if swap { (flags, rhs, lhs) } else { (flags, lhs, rhs) }
}

/// What `lhs op rhs` simplifies to; the operands are in normal order.
pub(crate) fn fold(world: &mut World, op: ArithOp, flags: ArithFlags, lhs: Def, rhs: Def) -> Option<Def> {
    let ty = world.ty(lhs);
    let prim = world.types.lane_prim(ty)?;
    if world.ty(rhs) != ty {
        return None;
    }
    let arith = Arith { op, flags, prim, ty, lhs, rhs };
    if let Some(folded) = arith.fold_lanes(world) {
        return Some(folded);
    }
    match (constant(world, lhs), constant(world, rhs)) {
        // Both known. An operation that fails stays in the program.
        (Some(a), Some(b)) => {
            let value = eval::arith(op, flags, prim, a, b).ok()?;
            make_constant(world, ty, value)
        }
        (_, Some(c)) if prim.is_float() => arith.float_with_constant(world, c),
        (_, Some(c)) => arith.int_with_constant(world, c),
        (Some(c), None) => arith.constant_first(world, c),
        (None, None) if prim.is_float() => arith.float(world),
        (None, None) => arith.int(world),
    }
}

impl Arith {
    /// Whether the result is taken modulo 2^N.
    fn wraps(&self) -> bool {
        self.flags.wrap || !self.prim.is_signed()
    }

    fn make(&self, world: &mut World, bits: u64) -> Option<Def> {
        make_constant(world, self.ty, bits)
    }

    /// Simd constants: lane by lane, if no lane fails.
    fn fold_lanes(&self, world: &mut World) -> Option<Def> {
        let (a, b) = (lanes(world, self.lhs)?, lanes(world, self.rhs)?);
        let eval = |(&a, &b): (&u64, &u64)| eval::arith(self.op, self.flags, self.prim, a, b).ok();
        let values: Vec<u64> = a.iter().zip(&b).map(eval).collect::<Option<_>>()?;
        Some(make_lanes(world, self.ty, self.prim, &values))
    }

    /// `x op c` on integers and `bool`.
    fn int_with_constant(&self, world: &mut World, c: u64) -> Option<Def> {
        let (x, ones) = (self.lhs, ones(self.prim));
        match self.op {
            // x + 0 = x,  x - 0 = x,  x | 0 = x,  x ^ 0 = x,  x << 0 = x,  x >> 0 = x
            ArithOp::Add | ArithOp::Sub | ArithOp::Or | ArithOp::Xor | ArithOp::Shl | ArithOp::Shr
                if c == 0 =>
            {
                Some(x)
            }
            // x & ~0 = x
            ArithOp::And if c == ones => Some(x),
            // x | ~0 = ~0
            ArithOp::Or if c == ones => Some(self.rhs),
            // x & 0 = 0,  x * 0 = 0
            ArithOp::And | ArithOp::Mul if c == 0 => Some(self.rhs),
            // x * 1 = x,  x / 1 = x
            ArithOp::Mul | ArithOp::Div if c == 1 => Some(x),
            // x % 1 = 0
            ArithOp::Rem if c == 1 => self.make(world, 0),
            ArithOp::Xor if self.prim == Prim::Bool => {
                compare::invert(world, x).or_else(|| self.nested_constants(world, c))
            }
            _ => self.nested_constants(world, c).or_else(|| self.smaller_constant(world, c)),
        }
    }

    /// x + c = x - (-c) and x - c = x + (-c), where -c is the smaller number.
    /// For strict operations both sides leave the range for the same x.
    fn smaller_constant(&self, world: &mut World, c: u64) -> Option<Def> {
        let negated = self.prim.canonical(c.wrapping_neg());
        let other = match self.op {
            ArithOp::Add => ArithOp::Sub,
            ArithOp::Sub => ArithOp::Add,
            _ => return None,
        };
        if negated >= c {
            return None;
        }
        let negated = self.make(world, negated)?;
        Some(world.arith(other, self.flags, self.lhs, negated))
    }

    /// `(x op1 c1) op c2`
    fn nested_constants(&self, world: &mut World, c2: u64) -> Option<Def> {
        let (inner, inner_flags, x, inner_rhs) = as_arith(world, self.lhs)?;
        let c1 = constant(world, inner_rhs)?;
        let same_flags = inner_flags == self.flags;
        let width = u64::from(self.prim.bits());
        match (inner, self.op) {
            // (x & c1) & c2 = x & (c1 & c2), and so for | and ^
            (ArithOp::And, ArithOp::And) | (ArithOp::Or, ArithOp::Or) | (ArithOp::Xor, ArithOp::Xor) => {
                self.combine(world, x, eval::arith(self.op, self.flags, self.prim, c1, c2).ok()?)
            }
            // (x * c1) * c2 = x * (c1 * c2) modulo 2^N
            (ArithOp::Mul, ArithOp::Mul) if same_flags && self.wraps() => {
                self.combine(world, x, self.prim.canonical(c1.wrapping_mul(c2)))
            }
            // (x << c1) << c2 = x << (c1 + c2) modulo 2^N, or 0 if nothing is left.
            // Not strict: 3 << 5 << 1 passes through the sign bit on i8, 3 << 6 fails.
            (ArithOp::Shl, ArithOp::Shl) if same_flags && self.wraps() && c1 < width && c2 < width => {
                if c1 + c2 < width { self.combine(world, x, c1 + c2) } else { self.make(world, 0) }
            }
            // (x >> c1) >> c2 = x >> (c1 + c2); signs fill up
            (ArithOp::Shr, ArithOp::Shr) if c1 < width && c2 < width => {
                if c1 + c2 >= width && !self.prim.is_signed() {
                    return self.make(world, 0);
                }
                self.combine(world, x, (c1 + c2).min(width - 1))
            }
            (ArithOp::Add | ArithOp::Sub, ArithOp::Add | ArithOp::Sub) if same_flags => {
                self.sum_of_constants(world, x, (inner, c1), (self.op, c2))
            }
            _ => None,
        }
    }

    /// `x op c`
    fn combine(&self, world: &mut World, x: Def, c: u64) -> Option<Def> {
        let c = self.make(world, c)?;
        Some(world.arith(self.op, self.flags, x, c))
    }

    /// (x ± c1) ± c2 = x + (±c1 ± c2) modulo 2^N. Strict, only if both go the same
    /// way and their sum is in range: then the one side overflows where the other does.
    fn sum_of_constants(
        &self,
        world: &mut World,
        x: Def,
        first: (ArithOp, u64),
        second: (ArithOp, u64),
    ) -> Option<Def> {
        let offset = |(op, c): (ArithOp, u64)| {
            let c = i128::from(self.prim.sign_extend(c));
            if op == ArithOp::Sub { -c } else { c }
        };
        let (first, second) = (offset(first), offset(second));
        let sum = first + second;
        let bits = self.prim.canonical(sum as u64);
        let fits = i128::from(self.prim.sign_extend(bits)) == sum;
        let same_way = fits && (first < 0) == (second < 0);
        if !self.wraps() && !same_way {
            return None;
        }
        let bits = self.make(world, bits)?;
        Some(world.arith(ArithOp::Add, self.flags, x, bits))
    }

    /// `c op x`, where operands do not commute.
    fn constant_first(&self, world: &mut World, c: u64) -> Option<Def> {
        let (inner, inner_flags, a, b) = as_arith(world, self.rhs)?;
        if (self.op, inner) != (ArithOp::Sub, ArithOp::Sub) || inner_flags != self.flags {
            return None;
        }
        let negative_zero = 1u64 << (self.prim.bits() - 1);
        let is_negation = |c| if self.prim.is_float() { c == negative_zero } else { c == 0 };
        if !is_negation(c) {
            return None;
        }
        if self.prim.is_float() {
            // -0 - (-0 - x) = x, for NaN and both zeros too
            return (constant(world, a) == Some(c)).then_some(b);
        }
        // 0 - (a - b) = b - a modulo 2^N
        self.wraps().then(|| world.arith(ArithOp::Sub, self.flags, b, a))
    }

    /// Rules for two unknown integers.
    fn int(&self, world: &mut World) -> Option<Def> {
        if self.lhs == self.rhs {
            return match self.op {
                // x - x = 0,  x ^ x = 0
                ArithOp::Sub | ArithOp::Xor => self.make(world, 0),
                // x & x = x,  x | x = x
                ArithOp::And | ArithOp::Or => Some(self.lhs),
                _ => None,
            };
        }
        self.distance(world)
            .or_else(|| self.int_against(world, self.lhs, self.rhs, true))
            .or_else(|| self.int_against(world, self.rhs, self.lhs, false))
    }

    /// (x ± c1) - (x ± c2) = ±c1 - ±c2, for any number of constants. Strict too: where the sums are in range, so is
    /// their difference, and a sum that is not fails by itself.
    fn distance(&self, world: &mut World) -> Option<Def> {
        if self.op != ArithOp::Sub {
            return None;
        }
        let ((left, from), (right, to)) = (self.base(world, self.lhs), self.base(world, self.rhs));
        let distance = from - to;
        let bits = self.prim.canonical(distance as u64);
        let fits = self.wraps() || i128::from(self.prim.sign_extend(bits)) == distance;
        if left == right && fits { self.make(world, bits) } else { None }
    }

    /// `x` and `c`, where `def` is `x + c` and `x` is not such a sum again.
    fn base(&self, world: &World, mut def: Def) -> (Def, i128) {
        let mut offset = 0;
        while let Some((op @ (ArithOp::Add | ArithOp::Sub), flags, x, rhs)) = as_arith(world, def)
            && let Some(c) = constant(world, rhs)
            && flags == self.flags
        {
            let c = i128::from(self.prim.sign_extend(c));
            offset += if op == ArithOp::Sub { -c } else { c };
            def = x;
        }
        (def, offset)
    }

    /// Rules for `a` and an operation `nested`; `nested` is on the right if `right`.
    fn int_against(&self, world: &mut World, a: Def, nested: Def, right: bool) -> Option<Def> {
        let (inner, inner_flags, l, r) = as_arith(world, nested)?;
        let has_a = l == a || r == a;
        let other = if l == a { r } else { l };
        let modulo = self.wraps() && inner_flags == self.flags;
        match (self.op, inner) {
            // a & (a | b) = a,  a | (a & b) = a
            (ArithOp::And, ArithOp::Or) | (ArithOp::Or, ArithOp::And) if has_a => Some(a),
            // a ^ (a ^ b) = b
            (ArithOp::Xor, ArithOp::Xor) if has_a => Some(other),
            // a & ~a = 0,  a | ~a = ~0
            (ArithOp::And | ArithOp::Or, ArithOp::Xor) if complement_of(world, nested) == Some(a) => {
                let bits = if self.op == ArithOp::And { 0 } else { ones(self.prim) };
                self.make(world, bits)
            }
            // a + (b - a) = b modulo 2^N
            (ArithOp::Add, ArithOp::Sub) if modulo && r == a => Some(l),
            // (a + b) - a = b modulo 2^N
            (ArithOp::Sub, ArithOp::Add) if modulo && !right && has_a => Some(other),
            // a - (a - b) = b modulo 2^N
            (ArithOp::Sub, ArithOp::Sub) if modulo && right && l == a => Some(r),
            _ => None,
        }
    }

    /// `x op c` on floats.
    fn float_with_constant(&self, world: &mut World, c: u64) -> Option<Def> {
        let value = eval::float_value(self.prim, c);
        let is_zero = value == 0.0;
        let (x, fast) = (self.lhs, self.flags.fast);
        match self.op {
            // x * 1 = x,  x / 1 = x
            ArithOp::Mul | ArithOp::Div if value == 1.0 => Some(x),
            // x - 0 = x,  x + -0 = x; with the other zero -0 would become 0
            ArithOp::Sub if is_zero && (value.is_sign_positive() || fast) => Some(x),
            ArithOp::Add if is_zero && (value.is_sign_negative() || fast) => Some(x),
            // fast: x * 0 = 0
            ArithOp::Mul if is_zero && fast => Some(self.rhs),
            // fast: (x + c1) + c2 = x + (c1 + c2),  (x * c1) * c2 = x * (c1 * c2)
            ArithOp::Add | ArithOp::Mul if fast => {
                let (inner, inner_flags, x, inner_rhs) = as_arith(world, x)?;
                let c1 = constant(world, inner_rhs)?;
                if inner != self.op || !inner_flags.fast {
                    return None;
                }
                self.combine(world, x, eval::arith(self.op, self.flags, self.prim, c1, c).ok()?)
            }
            _ => None,
        }
    }

    /// Rules for two unknown floats.
    fn float(&self, world: &mut World) -> Option<Def> {
        match self.op {
            // fast: x - x = 0,  x / x = 1
            ArithOp::Sub if self.flags.fast && self.lhs == self.rhs => self.make(world, 0),
            ArithOp::Div if self.flags.fast && self.lhs == self.rhs => {
                self.make(world, eval::float_from_value(self.prim, 1.0))
            }
            _ => None,
        }
    }
}
