//! Reductions over lanes: their sum, for example.
//!
//! The second half of the lanes is combined with the first one, and so on with what is left
//! until there is one value. So sums of floats are the same wherever they are computed: here on
//! numbers ([`Reduction::eval`]), and as operations of simd values ([`World::reduce`]).

use crate::eval::{self, EvalError};
use crate::node::{ArithFlags, ArithOp, CmpOp, Def, LaneOp, MathOp};
use crate::types::{Prim, TyKind};
use crate::world::World;

/// How two values become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduction {
    /// The sum; integers wrap around.
    Add,
    /// The product; integers wrap around.
    Mul,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// The bits that both have, of integers and `bool`.
    And,
    /// The bits that one of them has.
    Or,
    /// The bits that only one of them has.
    Xor,
}

impl Reduction {
    /// All of them.
    pub const ALL: [Reduction; 7] = [
        Reduction::Add,
        Reduction::Mul,
        Reduction::Min,
        Reduction::Max,
        Reduction::And,
        Reduction::Or,
        Reduction::Xor,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Add => "add",
            Reduction::Mul => "mul",
            Reduction::Min => "min",
            Reduction::Max => "max",
            Reduction::And => "and",
            Reduction::Or => "or",
            Reduction::Xor => "xor",
        }
    }

    /// The names of its inclusive and of its exclusive scan.
    pub fn scan_names(self) -> (&'static str, &'static str) {
        match self {
            Reduction::Add => ("scan_add", "scan_before_add"),
            Reduction::Mul => ("scan_mul", "scan_before_mul"),
            Reduction::Min => ("scan_min", "scan_before_min"),
            Reduction::Max => ("scan_max", "scan_before_max"),
            Reduction::And => ("scan_and", "scan_before_and"),
            Reduction::Or => ("scan_or", "scan_before_or"),
            Reduction::Xor => ("scan_xor", "scan_before_xor"),
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Reduction> {
        Reduction::ALL.into_iter().find(|reduction| reduction.name() == name)
    }

    /// Whether there is one for values of this type.
    pub fn is_for(self, prim: Prim) -> bool {
        match self {
            Reduction::And | Reduction::Or | Reduction::Xor => !prim.is_float(),
            _ => prim != Prim::Bool,
        }
    }

    /// The neutral element.
    pub fn neutral(self, prim: Prim) -> u64 {
        let float = |value: f64| eval::float_from_value(prim, value);
        let lowest = if prim.is_signed() { 1 << (prim.bits() - 1) } else { 0 };
        let all = prim.canonical(u64::MAX);
        match self {
            Reduction::Add if prim.is_float() => float(-0.0),
            Reduction::Mul if prim.is_float() => float(1.0),
            Reduction::Min if prim.is_float() => float(f64::INFINITY),
            Reduction::Max if prim.is_float() => float(f64::NEG_INFINITY),
            Reduction::Add | Reduction::Or | Reduction::Xor => 0,
            Reduction::Mul => 1,
            Reduction::Max => lowest,
            Reduction::Min if prim.is_signed() => lowest - 1,
            Reduction::Min | Reduction::And => all,
        }
    }

    /// The reduction of the values of lanes.
    pub fn eval(self, prim: Prim, lanes: &[u64]) -> Result<u64, EvalError> {
        let mut lanes = lanes.to_vec();
        while lanes.len() > 1 {
            let half = lanes.len().next_power_of_two() / 2;
            for at in half..lanes.len() {
                lanes[at - half] = self.combine(prim, lanes[at - half], lanes[at])?;
            }
            lanes.truncate(half);
        }
        lanes.first().copied().ok_or(EvalError::Unsupported)
    }

    /// The inclusive scan of the values of lanes: each with all before it, in the order of [`World::scan`].
    pub fn eval_scan(self, prim: Prim, lanes: &[u64]) -> Result<Vec<u64>, EvalError> {
        let mut lanes = lanes.to_vec();
        let mut distance = 1;
        while distance < lanes.len() {
            let combined =
                lanes.iter().zip(&lanes[distance..]).map(|(&before, &lane)| self.combine(prim, before, lane));
            let combined: Vec<u64> = combined.collect::<Result<_, _>>()?;
            lanes[distance..].copy_from_slice(&combined);
            distance *= 2;
        }
        Ok(lanes)
    }

    fn combine(self, prim: Prim, a: u64, b: u64) -> Result<u64, EvalError> {
        let choose = |op: MathOp, is_first: CmpOp| match prim.is_float() {
            true => eval::math(op, prim, &[a, b]),
            false => Ok(if eval::cmp(is_first, prim, a, b) { a } else { b }),
        };
        match self.arith() {
            Some(op) => eval::arith(op, ArithFlags::WRAP, prim, a, b),
            None if self == Reduction::Min => choose(MathOp::Fmin, CmpOp::Lt),
            None => choose(MathOp::Fmax, CmpOp::Gt),
        }
    }

    /// The operator, if it is one.
    fn arith(self) -> Option<ArithOp> {
        Some(match self {
            Reduction::Add => ArithOp::Add,
            Reduction::Mul => ArithOp::Mul,
            Reduction::And => ArithOp::And,
            Reduction::Or => ArithOp::Or,
            Reduction::Xor => ArithOp::Xor,
            Reduction::Min | Reduction::Max => return None,
        })
    }
}

impl World {
    /// One value from the lanes of a simd value, whose type must be one that the reduction
    /// [is for](Reduction::is_for).
    pub fn reduce(&mut self, reduction: Reduction, mut lanes: Def) -> Def {
        let ty = self.ty(lanes);
        let TyKind::Simd { lanes: n, .. } = *self.types.kind(ty) else { return lanes };
        let prim = self.types.lane_prim(ty).expect("lanes that are reduced are numbers");
        let mut left = n;
        while left > 1 {
            let half = left.next_power_of_two() / 2;
            let order: Vec<Def> = (0..n).map(|lane| self.lit_i32(((lane + half) % n) as i32)).collect();
            let order = self.simd_of(Prim::I32, &order);
            let mut second = self.lanes(LaneOp::Permute, &[lanes, order]);
            if left < 2 * half {
                let has_one: Vec<Def> = (0..n).map(|lane| self.lit_bool(lane + half < left)).collect();
                let has_one = self.simd_of(Prim::Bool, &has_one);
                let neutral = self.lit(prim, reduction.neutral(prim));
                let neutral = self.splat(neutral, n);
                second = self.select(has_one, second, neutral);
            }
            lanes = self.combined(reduction, prim, lanes, second);
            left = half;
        }
        self.extract_at(lanes, 0)
    }

    /// The inclusive scan of the lanes of a simd value, in a logarithmic number of steps. The type must be one that the
    /// reduction [is for](Reduction::is_for).
    pub fn scan(&mut self, reduction: Reduction, mut lanes: Def) -> Def {
        let ty = self.ty(lanes);
        let TyKind::Simd { lanes: n, .. } = *self.types.kind(ty) else { return lanes };
        let prim = self.types.lane_prim(ty).expect("lanes that are combined are numbers");
        let mut distance = 1;
        while distance < n {
            let before = self.shifted(reduction, lanes, distance);
            lanes = self.combined(reduction, prim, before, lanes);
            distance *= 2;
        }
        lanes
    }

    /// The lanes of a simd value moved up by some lanes; the first ones get the neutral element.
    pub fn shifted(&mut self, reduction: Reduction, lanes: Def, by: u32) -> Def {
        let ty = self.ty(lanes);
        let TyKind::Simd { lanes: n, .. } = *self.types.kind(ty) else { return lanes };
        let prim = self.types.lane_prim(ty).expect("lanes that are combined are numbers");
        let order: Vec<Def> = (0..n).map(|lane| self.lit_i32(((lane + n - by) % n) as i32)).collect();
        let order = self.simd_of(Prim::I32, &order);
        let moved = self.lanes(LaneOp::Permute, &[lanes, order]);
        let has_one: Vec<Def> = (0..n).map(|lane| self.lit_bool(lane >= by)).collect();
        let has_one = self.simd_of(Prim::Bool, &has_one);
        let neutral = self.lit(prim, reduction.neutral(prim));
        let neutral = self.splat(neutral, n);
        self.select(has_one, moved, neutral)
    }

    fn simd_of(&mut self, prim: Prim, lanes: &[Def]) -> Def {
        let elem = self.types.prim(prim);
        let ty = self.types.simd(elem, lanes.len() as u32);
        self.aggregate(ty, lanes)
    }

    fn combined(&mut self, reduction: Reduction, prim: Prim, a: Def, b: Def) -> Def {
        let (math, is_first) = match reduction {
            Reduction::Min => (MathOp::Fmin, CmpOp::Lt),
            _ => (MathOp::Fmax, CmpOp::Gt),
        };
        match reduction.arith() {
            Some(op) => self.arith(op, ArithFlags::WRAP, a, b),
            None if prim.is_float() => self.math(math, ArithFlags::STRICT, &[a, b]),
            None => {
                let a_is = self.cmp(is_first, a, b);
                self.select(a_is, a, b)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_operations_agree() {
        let numbers = [3_u64, 250, 7, 128, 99, 255, 1];
        for reduction in Reduction::ALL {
            for n in 1..=numbers.len() {
                for prim in [Prim::U8, Prim::I8] {
                    let mut world = World::new();
                    let lanes: Vec<Def> = numbers[..n].iter().map(|&lane| world.lit(prim, lane)).collect();
                    let lanes = world.simd_of(prim, &lanes);
                    let result = world.reduce(reduction, lanes);
                    let expected = reduction.eval(prim, &numbers[..n]).expect("it is for integers");
                    assert_eq!(world.as_lit(result), Some(expected), "{} of {n} {prim:?}", reduction.name());
                }
            }
        }
    }

    #[test]
    fn neutral_elements_do_not_change_results() {
        for reduction in Reduction::ALL {
            for prim in [Prim::I8, Prim::U16, Prim::I64, Prim::U64, Prim::F32, Prim::F64, Prim::Bool] {
                let values = if prim == Prim::Bool { [0, 1] } else { [1, 1 << (prim.bits() - 2)] };
                for value in values.into_iter().filter(|_| reduction.is_for(prim)) {
                    let both = [value, reduction.neutral(prim)];
                    assert_eq!(reduction.eval(prim, &both), Ok(value), "{} of {prim:?}", reduction.name());
                }
            }
        }
    }
}
