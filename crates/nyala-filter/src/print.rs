//! Filters as text: the typed tree in the syntax of the language, to be read by people and to be parsed again.
//!
//! Coercions are written only where the text would mean something else without them: `0.0 + row` is a `Float`. A
//! division by 0 stands for constants that have no notation.

use std::fmt;

use crate::ast::NEG_PRECEDENCE;
use crate::tree::{BinaryOp, Expr, Filter, Matrix, Op, Ty, UnaryOp, Var};

impl fmt::Display for Filter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printer = Printer { names: &self.names };
        for (var, value) in &self.lets {
            writeln!(out, "let {} = {} in", printer.name(*var), printer.text(value, LOOSEST))?;
        }
        let channels: Vec<String> =
            self.channels.iter().map(|channel| printer.text(channel, LOOSEST)).collect();
        write!(out, "[ {} ]", channels.join(";\n  "))
    }
}

/// The precedences of what extends to the right, of products, and of operands that need no parentheses.
const LOOSEST: u8 = 0;
const PRODUCT: u8 = 5;
const TIGHTEST: u8 = u8::MAX;

struct Printer<'f> {
    names: &'f [String],
}

impl Printer<'_> {
    fn name(&self, var: Var) -> &str {
        &self.names[var.0 as usize]
    }

    /// An expression where operators of at least this precedence may be.
    fn text(&self, expr: &Expr, least: u8) -> String {
        let (text, precedence) = self.with_precedence(expr);
        if precedence < least { format!("({text})") } else { text }
    }

    /// Both operands of an operator, with the coercions that their types need.
    fn both(&self, op: BinaryOp, [lhs, rhs]: &[Expr; 2], left: u8, right: u8) -> [String; 2] {
        let is_coerced = |expr: &Expr| expr.ty == Ty::Float && written_ty(expr) == Ty::Int;
        let coerced = |expr: &Expr| format!("(0.0 + {})", self.text(expr, PRODUCT));
        // The right operand of a power keeps its type.
        if op == BinaryOp::Pow && is_coerced(rhs) {
            return [self.text(lhs, left), coerced(rhs)];
        }
        let needs_coercion = is_coerced(lhs) && written_ty(rhs) == Ty::Int;
        let lhs = if needs_coercion { coerced(lhs) } else { self.text(lhs, left) };
        [lhs, self.text(rhs, right)]
    }

    /// The text, and the precedence of its operator.
    fn with_precedence(&self, expr: &Expr) -> (String, u8) {
        let atom = |text: String| (text, TIGHTEST);
        match &expr.op {
            Op::Bool(value) => atom(value.to_string()),
            Op::Int(i32::MIN) => atom(format!("({} - 1)", i32::MIN + 1)),
            Op::Int(value) => signed(value.to_string()),
            Op::Float(value) => float(*value),
            Op::Matrix(matrix) => atom(self.matrix(matrix)),
            Op::Var(var) => atom(self.name(*var).to_owned()),
            Op::IntToFloat(part) => self.with_precedence(part),
            Op::Image(parts) => {
                let [row, col, channel] = parts.each_ref().map(|part| self.text(part, LOOSEST));
                atom(format!("image({row}, {col}, {channel})"))
            }
            Op::Unary(UnaryOp::Neg, operand) => {
                (format!("-{}", self.text(operand, NEG_PRECEDENCE + 1)), NEG_PRECEDENCE)
            }
            Op::Unary(op, operand) => atom(format!("{}({})", op.name(), self.text(operand, LOOSEST))),
            Op::Binary(op, operands) => self.binary(*op, operands),
            Op::If(parts) => {
                let [condition, then, other] = parts.each_ref().map(|part| self.text(part, LOOSEST));
                (format!("if {condition} then {then} else {other}"), LOOSEST)
            }
            Op::Let(var, parts) => {
                let [value, body] = parts.each_ref().map(|part| self.text(part, LOOSEST));
                (format!("let {} = {value} in {body}", self.name(*var)), LOOSEST)
            }
            Op::Sum(var, parts) => {
                let [lower, upper, term] = parts.each_ref().map(|part| self.text(part, LOOSEST));
                (format!("sum {} from {lower} to {upper} of {term}", self.name(*var)), LOOSEST)
            }
            Op::Index(var, parts) => {
                let [row, col] = parts.each_ref().map(|part| self.text(part, LOOSEST));
                atom(format!("{}[{row}, {col}]", self.name(*var)))
            }
        }
    }

    fn binary(&self, op: BinaryOp, operands: &[Expr; 2]) -> (String, u8) {
        let name = op.name();
        let Some(precedence) = op.precedence() else {
            let [lhs, rhs] = self.both(op, operands, LOOSEST, LOOSEST);
            return (format!("{name}({lhs}, {rhs})"), TIGHTEST);
        };
        let [left, right] =
            if op == BinaryOp::Pow { [precedence + 1, precedence] } else { [precedence, precedence + 1] };
        // What extends to the right is in parentheses, as its precedence is the lowest one.
        let [lhs, rhs] = self.both(op, operands, left, right);
        (format!("{lhs} {name} {rhs}"), precedence)
    }

    fn matrix(&self, matrix: &Matrix) -> String {
        let row = |row: &[f32]| row.iter().map(|&entry| float(entry).0).collect::<Vec<_>>().join(" ");
        format!("[ {} ]", matrix.entries.chunks(matrix.cols).map(row).collect::<Vec<_>>().join(" | "))
    }
}

/// The type that the checker finds for the text of an expression, before coercion.
fn written_ty(expr: &Expr) -> Ty {
    match &expr.op {
        Op::IntToFloat(_) => Ty::Int,
        Op::Unary(UnaryOp::Neg | UnaryOp::Abs, operand) => written_ty(operand),
        Op::If(parts) if written_ty(&parts[1]) == written_ty(&parts[2]) => written_ty(&parts[1]),
        Op::Let(_, parts) => written_ty(&parts[1]),
        Op::Sum(_, parts) => written_ty(&parts[2]),
        _ => expr.ty,
    }
}

/// A number, which may begin with `-`.
fn signed(text: String) -> (String, u8) {
    let precedence = if text.starts_with('-') { NEG_PRECEDENCE } else { TIGHTEST };
    (text, precedence)
}

fn float(value: f32) -> (String, u8) {
    match value {
        f32::INFINITY => ("(1.0 / 0.0)".into(), TIGHTEST),
        f32::NEG_INFINITY => ("(-1.0 / 0.0)".into(), TIGHTEST),
        value if value.is_nan() => ("(0.0 / 0.0)".into(), TIGHTEST),
        value => signed(format!("{value:?}")),
    }
}
