//! The syntax tree, as it is written.

use nyala_span::Span;

/// A filter: common definitions, and the intensities of the channels.
#[derive(Clone, Debug)]
pub struct Filter {
    /// `let var = expr in`, in order.
    pub lets: Vec<Let>,
    /// The channels.
    pub channels: Channels,
    /// The place of the channels.
    pub span: Span,
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Let {
    /// The name.
    pub name: Name,
    /// Its value.
    pub value: Expr,
}

/// A name with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Its place.
    pub span: Span,
}

/// The intensities of the channels.
#[derive(Clone, Debug)]
pub enum Channels {
    /// `[ expr; expr; .. ]`
    Each(Vec<Expr>),
    /// `[ n channels: expr ]`
    All(u32, Box<Expr>),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its place.
    pub span: Span,
    /// The height of its tree, which the parser bounds. So stages may recurse.
    pub height: u32,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Bool(bool),
    /// A constant.
    Int(i32),
    /// A constant.
    Float(f32),
    /// A variable, or `current`.
    Var(String),
    /// `image(row, col, channel)`
    Image(Box<[Expr; 3]>),
    /// A prefix operator of one operand.
    Unary(UnaryOp, Box<Expr>),
    /// An infix operator, or `min` and `max`.
    Binary(BinaryOp, Box<[Expr; 2]>),
    /// `if .. then .. else ..`
    If(Box<[Expr; 3]>),
    /// `let .. in ..`
    Let(Box<Let>, Box<Expr>),
    /// `sum var from lower to upper of body`
    Sum(Name, Box<[Expr; 3]>),
    /// `[1.0 2.0 | 3.0 4.0]`
    Matrix(Matrix),
    /// `matrix[row, col]`
    Index(Name, Box<[Expr; 2]>),
}

/// A matrix of constants.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    /// How many rows it has; at least 1.
    pub rows: usize,
    /// How many columns it has; at least 1.
    pub cols: usize,
    /// The entries, row by row.
    pub entries: Vec<f32>,
}

/// Prefix operators of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Neg,
    Not,
    Abs,
    Floor,
    Ceil,
    Round,
    Sqrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Exp,
    Log,
}

impl UnaryOp {
    /// All of them.
    pub const ALL: [UnaryOp; 15] = [
        UnaryOp::Neg,
        UnaryOp::Not,
        UnaryOp::Abs,
        UnaryOp::Floor,
        UnaryOp::Ceil,
        UnaryOp::Round,
        UnaryOp::Sqrt,
        UnaryOp::Sin,
        UnaryOp::Cos,
        UnaryOp::Tan,
        UnaryOp::Asin,
        UnaryOp::Acos,
        UnaryOp::Atan,
        UnaryOp::Exp,
        UnaryOp::Log,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "not",
            UnaryOp::Abs => "abs",
            UnaryOp::Floor => "floor",
            UnaryOp::Ceil => "ceil",
            UnaryOp::Round => "round",
            UnaryOp::Sqrt => "sqrt",
            UnaryOp::Sin => "sin",
            UnaryOp::Cos => "cos",
            UnaryOp::Tan => "tan",
            UnaryOp::Asin => "asin",
            UnaryOp::Acos => "acos",
            UnaryOp::Atan => "atan",
            UnaryOp::Exp => "exp",
            UnaryOp::Log => "log",
        }
    }

    /// Whether it turns a `Float` into an `Int`.
    pub fn is_rounding(self) -> bool {
        matches!(self, UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round)
    }
}

/// Operators of two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
    Min,
    Max,
}

impl BinaryOp {
    /// All of them.
    pub const ALL: [BinaryOp; 16] = [
        BinaryOp::Or,
        BinaryOp::And,
        BinaryOp::Eq,
        BinaryOp::Ne,
        BinaryOp::Lt,
        BinaryOp::Le,
        BinaryOp::Gt,
        BinaryOp::Ge,
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Mod,
        BinaryOp::Pow,
        BinaryOp::Min,
        BinaryOp::Max,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::Eq => "=",
            BinaryOp::Ne => "<>",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Mod => "%",
            BinaryOp::Pow => "**",
            BinaryOp::Min => "min",
            BinaryOp::Max => "max",
        }
    }

    /// Its precedence among infix operators, higher binds tighter; none for prefix operators.
    pub fn precedence(self) -> Option<u8> {
        match self {
            BinaryOp::Or => Some(1),
            BinaryOp::And => Some(2),
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                Some(3)
            }
            BinaryOp::Add | BinaryOp::Sub => Some(4),
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => Some(5),
            BinaryOp::Pow => Some(7),
            BinaryOp::Min | BinaryOp::Max => None,
        }
    }

    /// Whether it compares and gives a `Bool`.
    pub fn is_comparison(self) -> bool {
        self.precedence() == Some(3)
    }
}

/// The precedence of the operand of `-`: above products, below powers.
pub const NEG_PRECEDENCE: u8 = 6;
