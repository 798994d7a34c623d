//! Staged-C: C-like functions with staging annotations (section 5.1 of the paper). This is its syntax tree.
//!
//! `parse` reads text, `translate` makes [DeepCPS](crate::deep).

mod aliases;
mod control;
mod expr;
mod parse;
mod special;
mod translate;
mod visit;

use nyala_ir::Prim;
use nyala_span::{Name, Span};

use crate::deep::{Ident, StageExpr};
use crate::primitive::Primitive;

pub use parse::{Parsed, parse};
pub use translate::translate;

/// The name of `*` in staging expressions: the stage of the instruction before.
pub const STAR: &str = "*";

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    /// No value.
    Void,
    /// A number or a `bool`.
    Scalar(Prim),
    /// A pointer to elements.
    Ptr(Prim),
    /// A stage.
    Stage,
}

/// A parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its type.
    pub ty: Ty,
    /// Its name.
    pub ident: Ident,
}

/// A definition of a program.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// A function.
    Function(Function),
    /// A specialization.
    Special(Special),
    /// `float* table = f(256);`: a variable that is computed when the program is staged. It is not assigned again.
    Global(Ty, Ident, Expr),
}

/// The names of all definitions of a library, in order; none if the program has a `main`.
pub fn exports(items: &[Item]) -> Vec<Name> {
    let heads = items.iter().filter_map(Item::head);
    if heads.clone().any(|head| head.ident.name.as_str() == "main") {
        return vec![];
    }
    heads.filter(|head| !head.is_static).map(|head| head.ident.name).collect()
}

impl Item {
    /// The head of a function.
    pub fn head(&self) -> Option<&Head> {
        match self {
            Item::Function(Function { head, .. }) | Item::Special(Special { head, .. }) => Some(head),
            Item::Global(..) => None,
        }
    }
}

/// The head of a function or specialization: `float f(int x)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Head {
    /// `static`: a library does not export it.
    pub is_static: bool,
    /// The type of the result.
    pub result: Ty,
    /// The name.
    pub ident: Ident,
    /// The parameters.
    pub params: Vec<Param>,
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Its head.
    pub head: Head,
    /// Its body.
    pub body: Vec<Stmt>,
}

/// `float f(float x) = generic<x, 3>;`
#[derive(Clone, PartialEq, Debug)]
pub struct Special {
    /// Its head.
    pub head: Head,
    /// The function that is specialized.
    pub generic: Ident,
    /// The arguments.
    pub args: Vec<Expr>,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// `@e:`
    pub label: Option<StageExpr>,
    /// What it is.
    pub kind: StmtKind,
    /// Where it is.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, PartialEq, Debug)]
pub enum StmtKind {
    /// `int x = e;`
    Declare(Ty, Ident, Option<Expr>),
    /// `x = e;`, or with an operator `x += e;`
    Assign(Target, Option<Primitive>, Expr),
    /// `f(x);`
    Call(Expr),
    /// `if (c) a else b`
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `for (init; c; step) body`, or `while (c) body`
    Loop {
        /// Runs once before.
        init: Vec<Stmt>,
        /// Whether to go on.
        condition: Option<Expr>,
        /// Runs after each iteration.
        step: Vec<Stmt>,
        /// The iteration.
        body: Vec<Stmt>,
    },
    /// `return e;`
    Return(Option<Expr>),
    /// `{ .. }`
    Block(Vec<Stmt>),
    /// A specialization to values of the function around.
    Special(Special),
}

/// The target of an assignment.
#[derive(Clone, PartialEq, Debug)]
pub enum Target {
    /// A variable.
    Name(Ident),
    /// `p[i]`
    Element(Expr, Expr),
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it is.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// An integer.
    Int(i64),
    /// A number with a decimal point.
    Float(f64),
    /// `true` or `false`
    Bool(bool),
    /// A variable.
    Name(Ident),
    /// `*` as the value of a `stage`.
    Star,
    /// `-e`
    Negate(Box<Expr>),
    /// `!e`
    Not(Box<Expr>),
    /// `a op b`
    Binary(Primitive, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Choose(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `p[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `f(a, b)`
    Call(Ident, Vec<Expr>),
    /// `(float) e`
    Cast(Ty, Box<Expr>),
    /// `{1.0, 2.0}`
    Array(Vec<Expr>),
    /// `(@s: e)`
    Staged(StageExpr, Box<Expr>),
}
