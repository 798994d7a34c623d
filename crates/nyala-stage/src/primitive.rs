//! The built-in functions of the calculus: names, arities and effects, each in one row.
//!
//! A primitive takes its operands and then its continuations, as every function does. The machine evaluates it once
//! its operands are constants; `lower` turns it into operations of the graph.

use nyala_ir::{ArithOp, CmpOp, MathOp, Prim};

/// A built-in function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Primitive {
    /// `a op b (result)`
    Arith(ArithOp),
    /// `a op b (bool)`
    Cmp(CmpOp),
    /// `sin x (result)`
    Math(MathOp),
    /// `to_float x (result)`: a conversion of numbers.
    Convert(Prim),
    /// `not b (result)`
    Not,
    /// `select c a b (result)`: one of two values, both known.
    Select,
    /// `get tuple i (part)`
    Get,
    /// `load pointer i (value)`
    Load,
    /// `store pointer i value ()`
    Store,
    /// `offset pointer i (pointer)`
    Offset,
    /// `alloc_float n (pointer)`: memory for `n` elements, all zero.
    Alloc(Prim),
    /// `print value ()`: the value and the end of the line.
    Print,
    /// `arg i (int)`: an argument of the program as a number.
    Arg,
    /// `compile function (compiled)`: the function as native code.
    Compile,
    /// `if c then else`
    If,
    /// `exit value`: ends the program, whose result is printed.
    Exit,
    /// `quit status`: ends the program with an exit status.
    Quit,
}

/// The scalar types with their names in both languages.
pub const SCALARS: [(&str, Prim); 5] = [
    ("bool", Prim::Bool),
    ("int", Prim::I32),
    ("long", Prim::I64),
    ("float", Prim::F32),
    ("double", Prim::F64),
];

/// The name of a scalar type.
pub fn scalar_name(prim: Prim) -> &'static str {
    SCALARS.iter().find(|(_, scalar)| *scalar == prim).map_or_else(|| prim.name(), |(name, _)| name)
}

/// The binary operators with their signs. `mod` is the paper's spelling of `%`.
pub const OPERATORS: [(&str, Primitive); 17] = [
    ("+", Primitive::Arith(ArithOp::Add)),
    ("-", Primitive::Arith(ArithOp::Sub)),
    ("*", Primitive::Arith(ArithOp::Mul)),
    ("/", Primitive::Arith(ArithOp::Div)),
    ("%", Primitive::Arith(ArithOp::Rem)),
    ("mod", Primitive::Arith(ArithOp::Rem)),
    ("<<", Primitive::Arith(ArithOp::Shl)),
    (">>", Primitive::Arith(ArithOp::Shr)),
    ("==", Primitive::Cmp(CmpOp::Eq)),
    ("!=", Primitive::Cmp(CmpOp::Ne)),
    ("<", Primitive::Cmp(CmpOp::Lt)),
    ("<=", Primitive::Cmp(CmpOp::Le)),
    (">", Primitive::Cmp(CmpOp::Gt)),
    (">=", Primitive::Cmp(CmpOp::Ge)),
    ("&&", Primitive::Arith(ArithOp::And)),
    ("||", Primitive::Arith(ArithOp::Or)),
    ("^", Primitive::Arith(ArithOp::Xor)),
];

/// The primitives with a name of their own. Mathematical functions have the names of the graph.
const NAMED: [(&str, Primitive); 12] = [
    ("not", Primitive::Not),
    ("select", Primitive::Select),
    ("get", Primitive::Get),
    ("load", Primitive::Load),
    ("store", Primitive::Store),
    ("offset", Primitive::Offset),
    ("print", Primitive::Print),
    ("arg", Primitive::Arg),
    ("compile", Primitive::Compile),
    ("if", Primitive::If),
    ("exit", Primitive::Exit),
    ("quit", Primitive::Quit),
];

impl Primitive {
    /// The primitive with this name.
    pub fn named(name: &str) -> Option<Primitive> {
        if let Some((_, primitive)) = NAMED.iter().find(|(named, _)| *named == name) {
            return Some(*primitive);
        }
        for (scalar, prim) in SCALARS {
            if name.strip_prefix("to_") == Some(scalar) {
                return Some(Primitive::Convert(prim));
            }
            if name.strip_prefix("alloc_") == Some(scalar) {
                return Some(Primitive::Alloc(prim));
            }
        }
        MathOp::ALL.iter().find(|op| op.name() == name && is_float(**op)).map(|op| Primitive::Math(*op))
    }

    /// Its name or operator.
    pub fn name(self) -> String {
        let operator = OPERATORS.iter().find(|(_, primitive)| *primitive == self);
        let named = NAMED.iter().find(|(_, primitive)| *primitive == self);
        match (self, operator.or(named)) {
            (_, Some((name, _))) => (*name).into(),
            (Primitive::Math(op), _) => op.name().into(),
            (Primitive::Convert(prim), _) => format!("to_{}", scalar_name(prim)),
            (Primitive::Alloc(prim), _) => format!("alloc_{}", scalar_name(prim)),
            (Primitive::Arith(op), _) => op.name().into(),
            (other, None) => format!("{other:?}"),
        }
    }

    /// Whether it is written between its operands.
    pub fn is_operator(self) -> bool {
        OPERATORS.iter().any(|(_, primitive)| *primitive == self)
    }

    /// The number of operands, before the continuations.
    pub fn operands(self) -> usize {
        match self {
            Primitive::Arith(_)
            | Primitive::Cmp(_)
            | Primitive::Get
            | Primitive::Load
            | Primitive::Offset => 2,
            Primitive::Math(op) => op.arity(),
            Primitive::Select | Primitive::Store => 3,
            Primitive::Convert(_)
            | Primitive::Not
            | Primitive::Alloc(_)
            | Primitive::Print
            | Primitive::Arg
            | Primitive::Compile
            | Primitive::If
            | Primitive::Exit
            | Primitive::Quit => 1,
        }
    }

    /// The number of continuations.
    pub fn continuations(self) -> usize {
        match self {
            Primitive::If => 2,
            Primitive::Exit | Primitive::Quit => 0,
            _ => 1,
        }
    }

    /// Whether the continuation gets a result.
    pub fn has_result(self) -> bool {
        !matches!(
            self,
            Primitive::Store | Primitive::Print | Primitive::If | Primitive::Exit | Primitive::Quit
        )
    }

    /// Whether the order of its evaluation can be observed.
    pub fn has_effect(self) -> bool {
        matches!(
            self,
            Primitive::Load | Primitive::Store | Primitive::Print | Primitive::Alloc(_) | Primitive::Compile
        )
    }
}

/// Whether a mathematical function works on floats only, so that its operands tell their types.
fn is_float(op: MathOp) -> bool {
    op.info().domain == nyala_ir::functions::Domain::Float
}
