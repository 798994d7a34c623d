//! Types and names: from the syntax tree to the typed tree.
//!
//! The rules are those of the paper's section 4.2. An `Int` is coerced where a `Float` is needed. Checking
//! continues after an error: an expression with an error has no type, and nothing else is reported about it.

use std::rc::Rc;

use nyala_span::Span;
use nyala_span::similar::most_similar;

use crate::ast::{self, ExprKind};
use crate::errors::FilterError;
use crate::tree::{BinaryOp, Expr, Filter, Op, Ty, UnaryOp, Var};

/// The variables of the initial environment that differ from pixel to pixel, picture to picture and frame to frame.
const VARIABLES: [(&str, Var); 5] = [
    ("row", Var::ROW),
    ("col", Var::COL),
    ("width", Var::WIDTH),
    ("height", Var::HEIGHT),
    ("iter", Var::ITER),
];

/// The names of channels.
const CHANNELS: [(&str, i32); 5] = [("red", 0), ("green", 1), ("blue", 2), ("alpha", 3), ("gray", 0)];

/// The names of the first slots.
pub(crate) fn initial_names() -> Vec<String> {
    VARIABLES.map(|(name, _)| name.to_owned()).into()
}

/// Checks a filter.
pub fn check(filter: &ast::Filter) -> Result<Filter, Vec<FilterError>> {
    let names = initial_names();
    let mut checker = Checker { scope: vec![], names, errors: vec![], uses_iter: false };
    let lets: Vec<Option<(Var, Expr)>> = filter
        .lets
        .iter()
        .map(|definition| {
            let value = checker.expr(&definition.value);
            let var = checker.bind(&definition.name.text, value.as_ref().map(|value| value.ty));
            Some((var, value?))
        })
        .collect();
    let channels = checker.channels(&filter.channels);
    let is_alike = matches!(filter.channels, ast::Channels::All(..));
    if !checker.errors.is_empty() {
        return Err(checker.errors);
    }
    let lets = lets.into_iter().flatten().collect();
    let channels = channels.into_iter().flatten().collect();
    let (n_slots, uses_iter) = (checker.names.len() as u32, checker.uses_iter);
    Ok(Filter { lets, channels, n_slots, names: checker.names, uses_iter, is_alike })
}

/// A name in scope.
struct Binding {
    name: String,
    var: Var,
    /// None after an error.
    ty: Option<Ty>,
}

struct Checker {
    scope: Vec<Binding>,
    /// The name of each slot.
    names: Vec<String>,
    errors: Vec<FilterError>,
    uses_iter: bool,
}

impl Checker {
    fn bind(&mut self, name: &str, ty: Option<Ty>) -> Var {
        let var = Var(self.names.len() as u32);
        self.names.push(name.to_owned());
        self.scope.push(Binding { name: name.to_owned(), var, ty });
        var
    }

    fn error<T>(&mut self, error: FilterError) -> Option<T> {
        self.errors.push(error);
        None
    }

    fn channels(&mut self, channels: &ast::Channels) -> Vec<Option<Expr>> {
        match channels {
            ast::Channels::Each(channels) => channels.iter().map(|channel| self.channel(channel)).collect(),
            ast::Channels::All(count, channel) => {
                let mut copies = vec![];
                for index in 0..*count {
                    copies.push(self.copy(channel, index as i32));
                    // Each copy would have the same errors.
                    if !self.errors.is_empty() {
                        break;
                    }
                }
                copies
            }
        }
    }

    fn channel(&mut self, channel: &ast::Expr) -> Option<Expr> {
        self.expr_of(channel, Ty::Float)
    }

    /// `let current = index in channel`
    fn copy(&mut self, channel: &ast::Expr, index: i32) -> Option<Expr> {
        let current = Expr { op: Op::Int(index), ty: Ty::Int, span: channel.span };
        let var = self.bind("current", Some(Ty::Int));
        let body = self.channel(channel);
        self.scope.pop();
        let body = body?;
        Some(Expr { ty: body.ty, span: channel.span, op: Op::Let(var, Box::new([current, body])) })
    }

    /// An expression of this type, after coercion.
    fn expr_of(&mut self, expr: &ast::Expr, ty: Ty) -> Option<Expr> {
        let found = self.expr(expr)?;
        let at = found.span;
        let found_ty = found.ty;
        match coerce(found, ty) {
            Some(expr) => Some(expr),
            None => self.error(FilterError::Type { at, expected: ty.name().into(), found: found_ty }),
        }
    }

    fn expr(&mut self, expr: &ast::Expr) -> Option<Expr> {
        let span = expr.span;
        let (op, ty) = match &expr.kind {
            ExprKind::Bool(value) => (Op::Bool(*value), Ty::Bool),
            ExprKind::Int(value) => (Op::Int(*value), Ty::Int),
            ExprKind::Float(value) => (Op::Float(*value), Ty::Float),
            ExprKind::Matrix(matrix) => (Op::Matrix(Rc::new(matrix.clone())), Ty::Matrix),
            ExprKind::Var(name) => self.variable(name, span)?,
            ExprKind::Image(parts) => {
                let parts = parts.each_ref().map(|part| self.expr_of(part, Ty::Int));
                (Op::Image(Box::new(all(parts)?)), Ty::Float)
            }
            ExprKind::Unary(op, operand) => self.unary(*op, operand)?,
            ExprKind::Binary(op, operands) => self.binary(*op, operands, span)?,
            ExprKind::If(parts) => self.conditional(parts)?,
            ExprKind::Let(definition, body) => {
                let value = self.expr(&definition.value);
                let var = self.bind(&definition.name.text, value.as_ref().map(|value| value.ty));
                let body = self.expr(body);
                self.scope.pop();
                let (value, body) = (value?, body?);
                let ty = body.ty;
                (Op::Let(var, Box::new([value, body])), ty)
            }
            ExprKind::Sum(name, parts) => self.sum(name, parts)?,
            ExprKind::Index(name, parts) => {
                let matrix = self.variable(&name.text, name.span);
                let parts = parts.each_ref().map(|part| self.expr_of(part, Ty::Int));
                match matrix? {
                    (Op::Var(var), Ty::Matrix) => (Op::Index(var, Box::new(all(parts)?)), Ty::Float),
                    (_, found) => {
                        let expected = Ty::Matrix.name().into();
                        return self.error(FilterError::Type { at: name.span, expected, found });
                    }
                }
            }
        };
        Some(Expr { op, ty, span })
    }

    /// What a name means: a definition, or a name of the initial environment.
    fn variable(&mut self, name: &str, at: Span) -> Option<(Op, Ty)> {
        if let Some(binding) = self.scope.iter().rev().find(|binding| binding.name == name) {
            return Some((Op::Var(binding.var), binding.ty?));
        }
        if let Some((_, var)) = VARIABLES.iter().find(|(known, _)| *known == name) {
            self.uses_iter |= *var == Var::ITER;
            return Some((Op::Var(*var), Ty::Int));
        }
        if let Some((_, channel)) = CHANNELS.iter().find(|(known, _)| *known == name) {
            return Some((Op::Int(*channel), Ty::Int));
        }
        let known = VARIABLES.iter().map(|(name, _)| *name).chain(CHANNELS.iter().map(|(name, _)| *name));
        let known = known.chain(self.scope.iter().map(|binding| binding.name.as_str()));
        let near = most_similar(name, known).map(str::to_owned);
        self.error(FilterError::UnknownName { at, name: name.into(), near })
    }

    fn unary(&mut self, op: UnaryOp, operand: &ast::Expr) -> Option<(Op, Ty)> {
        let (operand, ty) = match op {
            UnaryOp::Not => (self.expr_of(operand, Ty::Bool)?, Ty::Bool),
            UnaryOp::Neg | UnaryOp::Abs => {
                let operand = self.number(operand)?;
                let ty = operand.ty;
                (operand, ty)
            }
            _ if op.is_rounding() => (self.expr_of(operand, Ty::Float)?, Ty::Int),
            _ => (self.expr_of(operand, Ty::Float)?, Ty::Float),
        };
        Some((Op::Unary(op, Box::new(operand)), ty))
    }

    /// An `Int` or a `Float`.
    fn number(&mut self, expr: &ast::Expr) -> Option<Expr> {
        let expr = self.expr(expr)?;
        match expr.ty {
            Ty::Int | Ty::Float => Some(expr),
            found => self.error(FilterError::Type { at: expr.span, expected: "a number".into(), found }),
        }
    }

    fn binary(&mut self, op: BinaryOp, operands: &[ast::Expr; 2], at: Span) -> Option<(Op, Ty)> {
        let both = |operands| Op::Binary(op, Box::new(operands));
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let operands = operands.each_ref().map(|operand| self.expr_of(operand, Ty::Bool));
            return Some((both(all(operands)?), Ty::Bool));
        }
        let [lhs, rhs] = all(operands.each_ref().map(|operand| self.expr(operand)))?;
        let types = [lhs.ty, rhs.ty];
        let is_equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
        let common = match types {
            [Ty::Bool, Ty::Bool] if is_equality => Some(Ty::Bool),
            [Ty::Int, Ty::Int] => Some(Ty::Int),
            [Ty::Int | Ty::Float, Ty::Int | Ty::Float] if op != BinaryOp::Mod => Some(Ty::Float),
            _ => None,
        };
        let Some(common) = common else {
            return self.error(FilterError::Operands { at, op, types });
        };
        let ty = if op.is_comparison() { Ty::Bool } else { common };
        // A power with a whole exponent is a product, also of a `Float`.
        if op == BinaryOp::Pow && types == [Ty::Float, Ty::Int] {
            return Some((both([lhs, rhs]), ty));
        }
        Some((both(all([coerce(lhs, common), coerce(rhs, common)])?), ty))
    }

    fn conditional(&mut self, parts: &[ast::Expr; 3]) -> Option<(Op, Ty)> {
        let [condition, then, other] = parts;
        let condition = self.expr_of(condition, Ty::Bool);
        let (then, other) = (self.expr(then), self.expr(other));
        let (condition, then, other) = (condition?, then?, other?);
        let ty = match (then.ty, other.ty) {
            (Ty::Int, Ty::Float) | (Ty::Float, Ty::Int) => Ty::Float,
            (then_ty, other_ty) if then_ty == other_ty => then_ty,
            (then_ty, other_ty) => {
                let (then, other) = ((then.span, then_ty), (other.span, other_ty));
                return self.error(FilterError::Branches { then, other });
            }
        };
        let parts = [condition, coerce(then, ty)?, coerce(other, ty)?];
        Some((Op::If(Box::new(parts)), ty))
    }

    fn sum(&mut self, name: &ast::Name, parts: &[ast::Expr; 3]) -> Option<(Op, Ty)> {
        let [lower, upper, term] = parts;
        let (lower, upper) = (self.expr_of(lower, Ty::Int), self.expr_of(upper, Ty::Int));
        let var = self.bind(&name.text, Some(Ty::Int));
        let term = self.number(term);
        self.scope.pop();
        let parts = [lower?, upper?, term?];
        let ty = parts[2].ty;
        Some((Op::Sum(var, Box::new(parts)), ty))
    }
}

/// All of them, or none.
fn all<const N: usize>(parts: [Option<Expr>; N]) -> Option<[Expr; N]> {
    let parts: Vec<Expr> = parts.into_iter().collect::<Option<_>>()?;
    parts.try_into().ok()
}

/// `expr` as a `ty`, if there is a coercion.
fn coerce(expr: Expr, ty: Ty) -> Option<Expr> {
    let span = expr.span;
    match (expr.ty, ty) {
        (found, expected) if found == expected => Some(expr),
        (Ty::Int, Ty::Float) => Some(Expr { op: Op::IntToFloat(Box::new(expr)), ty, span }),
        _ => None,
    }
}
