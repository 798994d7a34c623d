//! DeepCPS: its syntax tree (Figure 3 of the paper).
//!
//! A block is a list of instructions. All but the last one end with the parameters of a continuation, `(x)[y]`, whose
//! body is the rest of the block. So a long sequence is flat, and only braces nest.
//!
//! `parse` reads text, `translate` makes calculus, `print` writes text. [`staged_c`](crate::staged_c) produces this
//! tree too.

mod parse;
mod print;
mod translate;

use nyala_span::{Name, Span};

use crate::code::{Const, Ty};
use crate::primitive::Primitive;

pub use parse::{Parsed, parse};
pub use print::print;
pub(crate) use translate::Literal;
pub use translate::{RUN, translate};

/// The maximum nesting of braces and expressions.
pub const MAX_DEPTH: usize = 200;

/// A name with its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ident {
    /// The name.
    pub name: Name,
    /// Its position.
    pub span: Span,
}

/// A parameter: `float base`, or `base`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name.
    pub ident: Ident,
    /// Its type, if there is one.
    pub ty: Option<Ty>,
}

/// The parameters of a function: `(x, y)[s]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binder {
    /// `(x, y)`
    pub params: Vec<Param>,
    /// `[s]`
    pub stage: Option<Ident>,
    /// Where they are.
    pub span: Span,
}

/// Instructions, each in the continuation of the one before.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block(pub Vec<Step>);

/// An instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// `@e:`; natural staging if absent.
    pub stage: Option<StageExpr>,
    /// What it does.
    pub kind: StepKind,
    /// Where it is, without the continuation.
    pub span: Span,
}

/// The kinds of instructions.
#[derive(Clone, PartialEq, Debug)]
pub enum StepKind {
    /// `f a b (x)[s]`, or without a continuation at the end of a block.
    Call {
        /// The function.
        callee: Value,
        /// Its arguments, without the continuation.
        args: Vec<Value>,
        /// The continuation: the rest of the block.
        binder: Option<Binder>,
    },
    /// `a + b (x)[s]`: a computation that is not in continuation-passing style.
    Compute {
        /// What is computed.
        expr: Expr,
        /// The continuation.
        binder: Binder,
    },
    /// `let [s] x v`
    Let {
        /// `[s]`
        stage: Option<Ident>,
        /// `x`
        param: Param,
        /// `v`
        value: Value,
    },
    /// `fix [s] f (x) { .. }`: a function that may call itself.
    Fix {
        /// `[s]`
        stage: Option<Ident>,
        /// `f`
        name: Ident,
        /// The function.
        function: Lambda,
    },
}

/// A function: `(x, y)[s] { .. }`.
#[derive(Clone, PartialEq, Debug)]
pub struct Lambda {
    /// Its parameters.
    pub binder: Binder,
    /// Its body.
    pub body: Block,
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// An integer, whose type follows from its use.
    Int(i64, Span),
    /// A number with a decimal point, whose type follows from its use.
    Float(f64, Span),
    /// A constant of a known type.
    Const(Const),
    /// Elements of an array that is never written.
    Array(nyala_ir::Prim, Vec<u64>),
    /// `always`
    Always,
    /// `never`
    Never,
    /// A parameter, function or primitive.
    Name(Ident),
    /// A primitive that has no name, such as `+`.
    Primitive(Primitive),
    /// A function.
    Lambda(Box<Lambda>),
    /// `[a, b]`
    Tuple(Vec<Value>),
}

/// A computation: operators on values.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A value.
    Value(Value),
    /// `a op b`
    Binary(Primitive, Box<Expr>, Box<Expr>),
}

/// A staging expression.
#[derive(Clone, PartialEq, Debug)]
pub enum StageExpr {
    /// `always`
    Always,
    /// `never`
    Never,
    /// A parameter or a staging parameter.
    Name(Ident),
    /// `a & b`
    And(Vec<StageExpr>),
    /// `a | b`
    Or(Vec<StageExpr>),
    /// `!a`
    Not(Box<StageExpr>),
}
