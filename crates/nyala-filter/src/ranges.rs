//! What is known about an `Int` before the filter runs: its distance from the pixel's row or column, or its value.
//!
//! The distances of image accesses say how wide a margin the picture needs, so that no access needs a check. The values
//! of bounds say how many terms a sum has at most.

use crate::tree::{BinaryOp, Expr, Filter, Op, Ty, UnaryOp, Var};

/// The widest margin of a picture. Accesses that are farther away are mapped into the picture one by one.
pub const MAX_MARGIN: i64 = 64;

/// Larger numbers are unknown, so that nothing here overflows, neither in `i64` nor in the filter's `Int`.
const LIMIT: i64 = 1 << 29;

/// The variable that a number is relative to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// None: it is a value.
    Zero,
    /// The row of the pixel.
    Row,
    /// The column of the pixel.
    Col,
}

/// The numbers from `base + low` to `base + high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The variable.
    pub base: Base,
    /// The smallest distance.
    pub low: i64,
    /// The largest distance.
    pub high: i64,
}

impl Range {
    fn new(base: Base, low: i64, high: i64) -> Option<Range> {
        (low <= high && -LIMIT <= low && high <= LIMIT).then_some(Range { base, low, high })
    }

    fn value(value: i64) -> Option<Range> {
        Range::new(Base::Zero, value, value)
    }

    fn union(self, other: Range) -> Option<Range> {
        let (low, high) = (self.low.min(other.low), self.high.max(other.high));
        if self.base == other.base { Range::new(self.base, low, high) } else { None }
    }
}

/// Sizes that are known before the filter runs.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The width of the picture.
    pub width: i32,
    /// The height of the picture.
    pub height: i32,
    /// The number of the frame, if it is known.
    pub iter: Option<i32>,
}

/// The ranges of the variables in scope.
#[derive(Clone, Debug)]
pub struct Ranges {
    slots: Vec<Option<Range>>,
}

impl Ranges {
    /// The initial environment.
    pub fn new(filter: &Filter, known: Known) -> Ranges {
        let mut slots = vec![None; filter.n_slots as usize];
        slots[Var::ROW.0 as usize] = Range::new(Base::Row, 0, 0);
        slots[Var::COL.0 as usize] = Range::new(Base::Col, 0, 0);
        slots[Var::WIDTH.0 as usize] = Range::value(known.width.into());
        slots[Var::HEIGHT.0 as usize] = Range::value(known.height.into());
        slots[Var::ITER.0 as usize] = known.iter.and_then(|iter| Range::value(iter.into()));
        Ranges { slots }
    }

    /// Defines a variable.
    pub fn set(&mut self, var: Var, range: Option<Range>) {
        self.slots[var.0 as usize] = range;
    }

    /// The range of a sum's variable: from the least lower to the greatest upper bound.
    pub fn of_sum(&mut self, lower: &Expr, upper: &Expr) -> Option<Range> {
        let (lower, upper) = (self.of(lower)?, self.of(upper)?);
        if lower.base == upper.base { Range::new(lower.base, lower.low, upper.high) } else { None }
    }

    /// The most terms that a sum between these bounds has.
    pub fn terms(&mut self, lower: &Expr, upper: &Expr) -> Option<u64> {
        let (lower, upper) = (self.of(lower)?, self.of(upper)?);
        (lower.base == upper.base).then(|| (upper.high - lower.low + 1).max(0) as u64)
    }

    /// What is known about an expression.
    pub fn of(&mut self, expr: &Expr) -> Option<Range> {
        match &expr.op {
            Op::Int(value) => Range::value((*value).into()),
            Op::Var(var) if expr.ty == Ty::Int => self.slots[var.0 as usize],
            Op::Unary(UnaryOp::Neg, operand) => {
                let range = self.of(operand).filter(|range| range.base == Base::Zero)?;
                Range::new(Base::Zero, -range.high, -range.low)
            }
            Op::Binary(op, operands) if expr.ty == Ty::Int => {
                let [lhs, rhs] = &**operands;
                binary(*op, self.of(lhs)?, self.of(rhs)?)
            }
            Op::If(parts) => self.of(&parts[1])?.union(self.of(&parts[2])?),
            Op::Let(var, parts) => {
                let value = self.of(&parts[0]);
                self.set(*var, value);
                self.of(&parts[1])
            }
            _ => None,
        }
    }

    /// Visits the filter with the ranges of the variables at each place.
    pub fn visit(&mut self, filter: &Filter, visit: &mut impl FnMut(&mut Ranges, &Expr)) {
        for (var, value) in &filter.lets {
            self.visit_expr(value, visit);
            let range = self.of(value);
            self.set(*var, range);
        }
        filter.channels.iter().for_each(|channel| self.visit_expr(channel, visit));
    }

    fn visit_expr(&mut self, expr: &Expr, visit: &mut impl FnMut(&mut Ranges, &Expr)) {
        visit(self, expr);
        match &expr.op {
            Op::Let(var, parts) => {
                self.visit_expr(&parts[0], visit);
                let range = self.of(&parts[0]);
                self.set(*var, range);
                self.visit_expr(&parts[1], visit);
            }
            Op::Sum(var, parts) => {
                self.visit_expr(&parts[0], visit);
                self.visit_expr(&parts[1], visit);
                let range = self.of_sum(&parts[0], &parts[1]);
                self.set(*var, range);
                self.visit_expr(&parts[2], visit);
            }
            _ => expr.parts().iter().for_each(|part| self.visit_expr(part, visit)),
        }
    }
}

fn binary(op: BinaryOp, lhs: Range, rhs: Range) -> Option<Range> {
    let is_value = lhs.base == Base::Zero && rhs.base == Base::Zero;
    match op {
        BinaryOp::Add if rhs.base == Base::Zero => {
            Range::new(lhs.base, lhs.low + rhs.low, lhs.high + rhs.high)
        }
        BinaryOp::Add if lhs.base == Base::Zero => binary(op, rhs, lhs),
        BinaryOp::Sub if rhs.base == Base::Zero => {
            Range::new(lhs.base, lhs.low - rhs.high, lhs.high - rhs.low)
        }
        BinaryOp::Sub if lhs.base == rhs.base => {
            Range::new(Base::Zero, lhs.low - rhs.high, lhs.high - rhs.low)
        }
        BinaryOp::Mul if is_value => {
            let products = [lhs.low * rhs.low, lhs.low * rhs.high, lhs.high * rhs.low, lhs.high * rhs.high];
            Range::new(Base::Zero, *products.iter().min()?, *products.iter().max()?)
        }
        // The quotient by a positive number is monotonic.
        BinaryOp::Div if is_value && rhs.low == rhs.high && rhs.low > 0 => {
            Range::new(Base::Zero, lhs.low / rhs.low, lhs.high / rhs.low)
        }
        BinaryOp::Mod if is_value && lhs.low >= 0 && rhs.low > 0 => {
            Range::new(Base::Zero, 0, lhs.high.min(rhs.high - 1))
        }
        BinaryOp::Min if lhs.base == rhs.base => {
            Range::new(lhs.base, lhs.low.min(rhs.low), lhs.high.min(rhs.high))
        }
        BinaryOp::Max if lhs.base == rhs.base => {
            Range::new(lhs.base, lhs.low.max(rhs.low), lhs.high.max(rhs.high))
        }
        _ => None,
    }
}

/// How an index of the picture is known to be inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inside {
    /// Always.
    Picture,
    /// With a margin of this many pixels.
    Margin(i64),
    /// Not known.
    Unknown,
}

/// Where an index along a side of `size` pixels lies; `base` is the pixel's coordinate along this side.
pub fn inside(range: Option<Range>, base: Base, size: i32) -> Inside {
    match range {
        Some(Range { base: Base::Zero, low, high }) if low >= 0 && high < size.into() => Inside::Picture,
        Some(range) if range.base == base => match range.low.abs().max(range.high.abs()) {
            0 => Inside::Picture,
            margin if margin <= MAX_MARGIN => Inside::Margin(margin),
            _ => Inside::Unknown,
        },
        _ => Inside::Unknown,
    }
}
