//! The interpreter: the reference for what filters mean, section 4.3 of the paper.
//!
//! It walks the typed tree for each pixel. Compiled filters compute the same, but their products and sums may be
//! contracted, and their sines and powers may differ in the last bit. A compiled filter that meets a fault only
//! says so; the interpreter then finds its place.

use std::rc::Rc;

use nyala_span::Span;

use crate::errors::{Fault, FaultKind};
use crate::picture::{Boundary, Picture};
use crate::tree::{BinaryOp, Expr, Filter, Matrix, Op, Ty, UnaryOp, Var};

/// How a filter is applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// What the pixels outside of the picture are.
    pub boundary: Boundary,
    /// The most terms of a sum for one pixel, with the terms of the sums around it.
    pub max_terms: i64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { boundary: Boundary::Clamp, max_terms: 1_000_000 }
    }
}

/// The picture after a filter, for the frame `iter`. Its channels are those of the filter.
pub fn interpret(filter: &Filter, picture: &Picture, rules: Rules, iter: i32) -> Result<Picture, Fault> {
    let (width, height, n_channels) = (picture.width, picture.height, filter.channels.len());
    let mut result = Picture::black(width, height, n_channels, picture.max_value)
        .expect("a picture of the same size exists");
    let mut interp = Interp { picture, rules, env: vec![Value::Int(0); filter.n_slots as usize] };
    interp.set(Var::WIDTH, Value::Int(width as i32));
    interp.set(Var::HEIGHT, Value::Int(height as i32));
    interp.set(Var::ITER, Value::Int(iter));
    for row in 0..height {
        for col in 0..width {
            let pixel = (row as i32, col as i32);
            let values = interp.pixel(filter, pixel);
            let values = values.map_err(|(at, kind)| Fault { at, kind, pixel })?;
            for (channel, value) in values.into_iter().enumerate() {
                result.set(row, col, channel, value);
            }
        }
    }
    Ok(result)
}

/// A value of the language.
#[derive(Clone, Debug)]
enum Value {
    Bool(bool),
    Int(i32),
    Float(f32),
    Matrix(Rc<Matrix>),
}

/// A result, or what went wrong and where.
type Result1<T> = Result<T, (Span, FaultKind)>;

struct Interp<'a> {
    picture: &'a Picture,
    rules: Rules,
    env: Vec<Value>,
}

impl Interp<'_> {
    fn set(&mut self, var: Var, value: Value) {
        self.env[var.0 as usize] = value;
    }

    fn pixel(&mut self, filter: &Filter, (row, col): (i32, i32)) -> Result1<Vec<f32>> {
        self.set(Var::ROW, Value::Int(row));
        self.set(Var::COL, Value::Int(col));
        for (var, value) in &filter.lets {
            let value = self.expr(value, 1)?;
            self.set(*var, value);
        }
        filter.channels.iter().map(|channel| self.float(channel, 1)).collect()
    }

    fn int(&mut self, expr: &Expr, outer: i64) -> Result1<i32> {
        match self.expr(expr, outer)? {
            Value::Int(value) => Ok(value),
            _ => unreachable!("the checker saw an `Int`"),
        }
    }

    fn float(&mut self, expr: &Expr, outer: i64) -> Result1<f32> {
        match self.expr(expr, outer)? {
            Value::Float(value) => Ok(value),
            _ => unreachable!("the checker saw a `Float`"),
        }
    }

    fn bool(&mut self, expr: &Expr, outer: i64) -> Result1<bool> {
        match self.expr(expr, outer)? {
            Value::Bool(value) => Ok(value),
            _ => unreachable!("the checker saw a `Bool`"),
        }
    }

    /// The value of an expression. The sums around it have `outer` terms.
    fn expr(&mut self, expr: &Expr, outer: i64) -> Result1<Value> {
        Ok(match &expr.op {
            Op::Bool(value) => Value::Bool(*value),
            Op::Int(value) => Value::Int(*value),
            Op::Float(value) => Value::Float(*value),
            Op::Matrix(matrix) => Value::Matrix(matrix.clone()),
            Op::Var(var) => self.env[var.0 as usize].clone(),
            Op::Image(parts) => Value::Float(self.image(parts, expr.span, outer)?),
            Op::IntToFloat(part) => Value::Float(self.int(part, outer)? as f32),
            Op::Unary(op, operand) => match self.expr(operand, outer)? {
                Value::Bool(value) => Value::Bool(!value),
                Value::Int(value) => Value::Int(int_unary(*op, value)),
                Value::Float(value) if op.is_rounding() => Value::Int(rounded(*op, value)),
                Value::Float(value) => Value::Float(float_unary(*op, value)),
                Value::Matrix(_) => unreachable!("no operator takes a matrix"),
            },
            Op::Binary(op, operands) => self.binary(*op, operands, expr.span, outer)?,
            Op::If(parts) => {
                let branch = if self.bool(&parts[0], outer)? { &parts[1] } else { &parts[2] };
                self.expr(branch, outer)?
            }
            Op::Let(var, parts) => {
                let value = self.expr(&parts[0], outer)?;
                self.set(*var, value);
                self.expr(&parts[1], outer)?
            }
            Op::Sum(var, parts) => self.sum(*var, parts, expr, outer)?,
            Op::Index(var, parts) => {
                let (row, col) = (self.int(&parts[0], outer)?, self.int(&parts[1], outer)?);
                let Value::Matrix(matrix) = &self.env[var.0 as usize] else {
                    unreachable!("the checker saw a `Matrix`")
                };
                let Matrix { rows, cols, entries } = &**matrix;
                let (rows, cols) = (*rows, *cols);
                let is_inside = 0 <= row && (row as usize) < rows && 0 <= col && (col as usize) < cols;
                if !is_inside {
                    return Err((expr.span, FaultKind::OutsideMatrix { row, col, rows, cols }));
                }
                Value::Float(entries[row as usize * cols + col as usize])
            }
        })
    }

    fn image(&mut self, parts: &[Expr; 3], at: Span, outer: i64) -> Result1<f32> {
        let [row, col, channel] = parts;
        let (row, col) = (self.int(row, outer)?, self.int(col, outer)?);
        let channel = self.int(channel, outer)?;
        let n_channels = self.picture.n_channels as i32;
        if channel < 0 || channel >= n_channels {
            return Err((at, FaultKind::NoChannel { channel, n_channels }));
        }
        let (width, height) = (self.picture.width as i32, self.picture.height as i32);
        let boundary = self.rules.boundary;
        match (boundary.map(row, height), boundary.map(col, width)) {
            (Some(row), Some(col)) => Ok(self.picture.at(row as usize, col as usize, channel as usize)),
            _ => Err((at, FaultKind::OutsidePicture { row, col, width, height })),
        }
    }

    fn binary(&mut self, op: BinaryOp, operands: &[Expr; 2], at: Span, outer: i64) -> Result1<Value> {
        let [lhs, rhs] = operands;
        let lhs = self.expr(lhs, outer)?;
        // The right operand of these is evaluated only if it matters.
        match (op, &lhs) {
            (BinaryOp::And, Value::Bool(false)) | (BinaryOp::Or, Value::Bool(true)) => return Ok(lhs),
            _ => {}
        }
        match (lhs, self.expr(rhs, outer)?) {
            (Value::Bool(lhs), Value::Bool(rhs)) => Ok(Value::Bool(match op {
                BinaryOp::And | BinaryOp::Or => rhs,
                BinaryOp::Eq => lhs == rhs,
                _ => lhs != rhs,
            })),
            (Value::Int(lhs), Value::Int(rhs)) => int_binary(op, lhs, rhs).map_err(|kind| (at, kind)),
            (Value::Float(lhs), Value::Float(rhs)) => Ok(float_binary(op, lhs, rhs)),
            (Value::Float(lhs), Value::Int(rhs)) => Ok(Value::Float(power_of_float(lhs, rhs))),
            _ => unreachable!("the checker saw two operands of one type"),
        }
    }

    fn sum(&mut self, var: Var, parts: &[Expr; 3], sum: &Expr, outer: i64) -> Result1<Value> {
        let [lower, upper, term] = parts;
        let (lower, upper) = (self.int(lower, outer)?, self.int(upper, outer)?);
        let terms = (i64::from(upper) - i64::from(lower) + 1).max(0);
        let all = outer.saturating_mul(terms);
        if all > self.rules.max_terms {
            let kind = FaultKind::TooManyTerms { terms: all, limit: self.rules.max_terms };
            return Err((sum.span, kind));
        }
        // The terms of an empty sum are not counted.
        let outer = all.max(1);
        if sum.ty == Ty::Int {
            let mut total = 0i32;
            for index in 0..terms as i32 {
                self.set(var, Value::Int(lower.wrapping_add(index)));
                total = total.wrapping_add(self.int(term, outer)?);
            }
            return Ok(Value::Int(total));
        }
        let mut total = 0f32;
        for index in 0..terms as i32 {
            self.set(var, Value::Int(lower.wrapping_add(index)));
            total += self.float(term, outer)?;
        }
        Ok(Value::Float(total))
    }
}

fn int_unary(op: UnaryOp, value: i32) -> i32 {
    match op {
        UnaryOp::Neg => value.wrapping_neg(),
        _ => value.wrapping_abs(),
    }
}

fn float_unary(op: UnaryOp, value: f32) -> f32 {
    match op {
        UnaryOp::Neg => -value,
        UnaryOp::Abs => value.abs(),
        UnaryOp::Sqrt => value.sqrt(),
        UnaryOp::Sin => value.sin(),
        UnaryOp::Cos => value.cos(),
        UnaryOp::Tan => value.tan(),
        UnaryOp::Asin => value.asin(),
        UnaryOp::Acos => value.acos(),
        UnaryOp::Atan => value.atan(),
        UnaryOp::Exp => value.exp(),
        UnaryOp::Log => value.ln(),
        UnaryOp::Not | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round => {
            unreachable!("the result is no `Float`")
        }
    }
}

/// The smallest `Int`, as a `Float`: what is below, and NaN, becomes it.
pub(crate) const LEAST_INT: f32 = i32::MIN as f32;
/// The largest `Float` that is an `Int`.
pub(crate) const GREATEST_INT: f32 = 2_147_483_520.0;

fn rounded(op: UnaryOp, value: f32) -> i32 {
    let whole = match op {
        UnaryOp::Floor => value.floor(),
        UnaryOp::Ceil => value.ceil(),
        _ => value.round(),
    };
    // Not `clamp`, which keeps NaN.
    #[allow(clippy::manual_clamp)]
    let inside = whole.max(LEAST_INT).min(GREATEST_INT);
    inside as i32
}

fn int_binary(op: BinaryOp, lhs: i32, rhs: i32) -> Result<Value, FaultKind> {
    let is_zero = rhs == 0;
    Ok(Value::Int(match op {
        BinaryOp::Div | BinaryOp::Mod if is_zero => return Err(FaultKind::DivisionByZero),
        BinaryOp::Pow if rhs < 0 => return Err(FaultKind::NegativeExponent { exponent: rhs }),
        BinaryOp::Add => lhs.wrapping_add(rhs),
        BinaryOp::Sub => lhs.wrapping_sub(rhs),
        BinaryOp::Mul => lhs.wrapping_mul(rhs),
        BinaryOp::Div => lhs.wrapping_div(rhs),
        BinaryOp::Mod => lhs.wrapping_rem(rhs),
        BinaryOp::Pow => lhs.wrapping_pow(rhs as u32),
        BinaryOp::Min => lhs.min(rhs),
        BinaryOp::Max => lhs.max(rhs),
        _ => return Ok(Value::Bool(compare(op, &lhs, &rhs))),
    }))
}

fn float_binary(op: BinaryOp, lhs: f32, rhs: f32) -> Value {
    Value::Float(match op {
        BinaryOp::Add => lhs + rhs,
        BinaryOp::Sub => lhs - rhs,
        BinaryOp::Mul => lhs * rhs,
        BinaryOp::Div => lhs / rhs,
        BinaryOp::Pow => lhs.powf(rhs),
        BinaryOp::Min => lhs.min(rhs),
        BinaryOp::Max => lhs.max(rhs),
        _ => return Value::Bool(compare(op, &lhs, &rhs)),
    })
}

fn compare<T: PartialOrd>(op: BinaryOp, lhs: &T, rhs: &T) -> bool {
    match op {
        BinaryOp::Eq => lhs == rhs,
        BinaryOp::Ne => lhs != rhs,
        BinaryOp::Lt => lhs < rhs,
        BinaryOp::Le => lhs <= rhs,
        BinaryOp::Gt => lhs > rhs,
        _ => lhs >= rhs,
    }
}

/// A power with a whole exponent, by squaring; `translate` emits the same products.
fn power_of_float(base: f32, exponent: i32) -> f32 {
    let (mut rest, mut square, mut power) = (exponent.wrapping_abs(), base, 1.0);
    while rest > 0 {
        if rest & 1 == 1 {
            power *= square;
        }
        square *= square;
        rest >>= 1;
    }
    if exponent < 0 { 1.0 / power } else { power }
}
