//! The typed tree: names are resolved, coercions are explicit, and `current` is a definition.
//!
//! # Invariants
//!
//! * The operands of an operator have the types of the paper's rules: both operands of a [`BinaryOp`] have one type.
//! * A variable is a slot of the environment. Scopes that do not overlap may share a slot.

use std::rc::Rc;

use nyala_span::Span;

pub use crate::ast::{BinaryOp, Matrix, UnaryOp};

/// The types of the language.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Ty {
    Bool,
    Int,
    Float,
    Matrix,
}

impl Ty {
    /// As the paper writes it.
    pub fn name(self) -> &'static str {
        match self {
            Ty::Bool => "Bool",
            Ty::Int => "Int",
            Ty::Float => "Float",
            Ty::Matrix => "Matrix",
        }
    }
}

/// A slot of the environment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Var(pub u32);

impl Var {
    /// The row of the output pixel.
    pub const ROW: Var = Var(0);
    /// The column of the output pixel.
    pub const COL: Var = Var(1);
    /// The width of the picture.
    pub const WIDTH: Var = Var(2);
    /// The height of the picture.
    pub const HEIGHT: Var = Var(3);
    /// The number of the frame.
    pub const ITER: Var = Var(4);
    /// The first slot of definitions.
    pub const FIRST: Var = Var(5);
}

/// A checked filter.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Definitions that all channels share, in order.
    pub lets: Vec<(Var, Expr)>,
    /// The intensity of each channel, a `Float`.
    pub channels: Vec<Expr>,
    /// How many slots the environment has.
    pub n_slots: u32,
    /// The names of slots, for people.
    pub names: Vec<String>,
    /// Whether the number of the frame occurs.
    pub uses_iter: bool,
    /// Whether each channel is `let current = NUMBER in EXPR` with the same expression.
    pub is_alike: bool,
}

/// An expression with its type.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub op: Op,
    /// Its type.
    pub ty: Ty,
    /// Its place.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum Op {
    /// A constant.
    Bool(bool),
    /// A constant.
    Int(i32),
    /// A constant.
    Float(f32),
    /// A constant.
    Matrix(Rc<Matrix>),
    /// A variable.
    Var(Var),
    /// `image(row, col, channel)`
    Image(Box<[Expr; 3]>),
    /// The coercion of an `Int` to `Float`.
    IntToFloat(Box<Expr>),
    /// A prefix operator.
    Unary(UnaryOp, Box<Expr>),
    /// An operator of two operands of one type. The right operand of a power of a `Float` may be an `Int`.
    Binary(BinaryOp, Box<[Expr; 2]>),
    /// A conditional.
    If(Box<[Expr; 3]>),
    /// A local definition.
    Let(Var, Box<[Expr; 2]>),
    /// A sum: lower bound, upper bound, term.
    Sum(Var, Box<[Expr; 3]>),
    /// An entry of a matrix.
    Index(Var, Box<[Expr; 2]>),
}

impl Expr {
    /// Its parts, in order.
    pub fn parts(&self) -> &[Expr] {
        match &self.op {
            Op::Bool(_) | Op::Int(_) | Op::Float(_) | Op::Matrix(_) | Op::Var(_) => &[],
            Op::IntToFloat(part) | Op::Unary(_, part) => std::slice::from_ref(part),
            Op::Binary(_, parts) | Op::Let(_, parts) | Op::Index(_, parts) => &parts[..],
            Op::Image(parts) | Op::If(parts) | Op::Sum(_, parts) => &parts[..],
        }
    }

    /// How many nodes its tree has.
    pub fn size(&self) -> usize {
        1 + self.parts().iter().map(Expr::size).sum::<usize>()
    }

    /// How many leaves its tree has.
    pub fn leaves(&self) -> usize {
        self.parts().iter().map(Expr::leaves).sum::<usize>().max(1)
    }

    /// Whether it uses the variable for nothing but the channel of accesses.
    fn is_for_channel(&self, var: Var) -> bool {
        match &self.op {
            Op::Var(used) => *used != var,
            Op::Image(parts) if matches!(parts[2].op, Op::Var(used) if used == var) => {
                parts[..2].iter().all(|part| part.is_for_channel(var))
            }
            _ => self.parts().iter().all(|part| part.is_for_channel(var)),
        }
    }

    /// Whether it may differ between the pixels of a row; the variables that do are given.
    pub fn varies(&self, varying: &[Var]) -> bool {
        self.any(&|part| match &part.op {
            Op::Image(_) | Op::Sum(..) => true,
            Op::Var(var) => varying.contains(var),
            _ => false,
        })
    }

    /// Whether `is` holds for it or one of its parts.
    pub fn any(&self, is: &impl Fn(&Expr) -> bool) -> bool {
        is(self) || self.parts().iter().any(|part| part.any(is))
    }
}

impl Filter {
    /// The values of its definitions and its channels.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.lets.iter().map(|(_, value)| value).chain(&self.channels)
    }

    /// The expression of all channels and its variable `current`, if there are several channels, whose code differs
    /// only in what it accesses.
    pub fn of_any_channel(&self) -> Option<(Var, &Expr)> {
        let [first, _, ..] = &self.channels[..] else { return None };
        match &first.op {
            Op::Let(current, parts) if self.is_alike && parts[1].is_for_channel(*current) => {
                Some((*current, &parts[1]))
            }
            _ => None,
        }
    }

    /// The column, and the definitions that may differ between the pixels of a row.
    pub fn varying(&self) -> Vec<Var> {
        let mut varying = vec![Var::COL];
        for (var, value) in &self.lets {
            if value.varies(&varying) {
                varying.push(*var);
            }
        }
        varying
    }

    /// How many nodes its tree has. A definition is a node as well.
    pub fn size(&self) -> usize {
        self.lets.len() + self.exprs().map(Expr::size).sum::<usize>()
    }
}
