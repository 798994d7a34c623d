//! The syntax tree of expressions, statements and blocks.

use nyala_span::{Name, Prim, Span};

use super::{Filter, Ident, Item, Param, Pat, Path, Ret, StrLit, TypeExpr};

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its kind.
    pub kind: ExprKind,
    /// Its span.
    pub span: Span,
}

impl Expr {
    /// The steps of the postfix chain that ends here, from its end to its start.
    pub fn chain(&self) -> impl Iterator<Item = &Expr> {
        std::iter::successors(Some(self), |expr| match &expr.kind {
            ExprKind::Call { callee: base, .. }
            | ExprKind::Field { base, .. }
            | ExprKind::Update { base, .. }
            | ExprKind::TypeArgs { expr: base, .. }
            | ExprKind::Ascribe { expr: base, .. }
            | ExprKind::Unary { op: UnaryOp::PostInc | UnaryOp::PostDec, operand: base, .. } => Some(base),
            _ => None,
        })
    }

    /// The mark of a call.
    pub fn mark(&self) -> Option<CallMark> {
        match self.kind {
            ExprKind::Call { mark, .. } => mark,
            _ => None,
        }
    }
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `1`, `2.5f`, `true`, `'x'`, `"s"`
    Lit(Lit),
    /// `x`, `E::A`
    Path(Path),
    /// `(e)`
    Paren(Box<Expr>),
    /// `()`, `(a, b)`
    Tuple(Vec<Expr>),
    /// `[a, b]`, `simd[a, b]`
    Array {
        /// Whether `simd` is written.
        is_simd: bool,
        /// The elements.
        elems: Vec<Expr>,
    },
    /// `[v, .. n]`, `[v; n]`, `simd[v; n]`
    Repeat {
        /// Whether `simd` is written.
        is_simd: bool,
        /// The element.
        value: Box<Expr>,
        /// The length.
        len: Box<Expr>,
    },
    /// `~[n: T]`
    HeapArray {
        /// The length.
        len: Box<Expr>,
        /// The element type.
        elem: TypeExpr,
    },
    /// `S[T] { x: a, y = b }`
    Struct {
        /// The struct or record option.
        path: Path,
        /// Its type arguments.
        args: Vec<TypeExpr>,
        /// Its fields.
        fields: Vec<FieldInit>,
    },
    /// `e.{ x = a }`
    Update {
        /// The copied struct.
        base: Box<Expr>,
        /// The replaced fields.
        fields: Vec<FieldInit>,
    },
    /// `{ .. }`
    Block(Block),
    /// `if c { .. } else if d { .. } else { .. }`
    If {
        /// The conditions with their blocks; at least one.
        arms: Vec<IfArm>,
        /// The last `else`.
        else_block: Option<Block>,
    },
    /// `match e { p => a, .. }`
    Match {
        /// The matched value.
        scrutinee: Box<Expr>,
        /// The arms.
        arms: Vec<MatchArm>,
    },
    /// `while c { .. }`
    While {
        /// The condition.
        cond: Cond,
        /// The body.
        body: Block,
    },
    /// `for p, q in g(a) @{ .. }`
    For(Box<ForExpr>),
    /// `with p in g(a) { .. }`
    With(Box<ForExpr>),
    /// `@(f)|x, y: T| -> R e`
    Lambda(Box<Lambda>),
    /// `asm(..)`
    Asm(Box<Asm>),
    /// `-e`, `&mut e`, `e++`, `?e`
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its span.
        op_span: Span,
        /// The operand.
        operand: Box<Expr>,
    },
    /// `a + b - c`: operators of one level, from left to right.
    Chain {
        /// The leftmost operand.
        first: Box<Expr>,
        /// The rest; at least one.
        rest: Vec<ChainLink>,
    },
    /// `p = e`, `p += e`
    Assign {
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// Span of the operator.
        op_span: Span,
        /// The place.
        place: Box<Expr>,
        /// The value.
        value: Box<Expr>,
    },
    /// `e as T`
    Cast {
        /// The value.
        expr: Box<Expr>,
        /// The target type.
        ty: TypeExpr,
    },
    /// `e : T`
    Ascribe {
        /// The expression.
        expr: Box<Expr>,
        /// Its type.
        ty: TypeExpr,
    },
    /// `f(a, b)`, which may also be an index.
    Call {
        /// The callee or the indexed value.
        callee: Box<Expr>,
        /// The arguments.
        args: Vec<Expr>,
        /// The mark `@@` or `@` of this call.
        mark: Option<CallMark>,
    },
    /// `f[A, B]`; of an option also `E[A]::B`, and then the arguments are inside the path.
    TypeArgs {
        /// The generic item.
        expr: Box<Expr>,
        /// The arguments.
        args: Vec<TypeExpr>,
    },
    /// `e.f`, `e.0`
    Field {
        /// The struct or tuple.
        base: Box<Expr>,
        /// The field.
        field: FieldName,
    },
    /// Malformed text.
    Error,
}

/// A literal as written; its type and range are checked later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lit {
    /// Its kind.
    pub kind: LitKind,
    /// Its span.
    pub span: Span,
}

/// The kinds of literals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LitKind {
    /// `true`, `false`
    Bool(bool),
    /// An integer; `None` if it does not fit 64 bits (reported by the lexer).
    Int {
        /// Its value.
        value: Option<u64>,
        /// Its suffix, `i` and `u` resolved; a float suffix makes it a float: `2f`.
        suffix: Option<Prim>,
    },
    /// A number with a point or an exponent. The digits are kept: they are rounded
    /// once, to the final type.
    Float {
        /// The digits without suffix and underscores, as Rust's float parser takes them.
        digits: Name,
        /// Its suffix.
        suffix: Option<Prim>,
    },
    /// `'x'`
    Char(u8),
    /// `"s"`
    Str(StrLit),
    /// A literal that is malformed (reported by the lexer).
    Error,
}

/// `x: e` or `x = e` in a struct literal.
#[derive(Clone, Debug)]
pub struct FieldInit {
    /// The field.
    pub name: Ident,
    /// `=` rather than `:`.
    pub with_eq: bool,
    /// Its value.
    pub value: Expr,
}

/// `{ statements; value }`
#[derive(Clone, Debug)]
pub struct Block {
    /// The statements.
    pub stmts: Vec<Stmt>,
    /// The last expression, if no `;` follows it.
    pub value: Option<Box<Expr>>,
    /// With the braces.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `let p: T = e;`
    Let {
        /// The pattern; a written type is a [`PatKind::Typed`](super::PatKind::Typed) around it.
        pat: Pat,
        /// The initializer.
        init: Option<Expr>,
        /// With the semicolon.
        span: Span,
    },
    /// A nested item.
    Item(Box<Item>),
    /// `e;`, or a statement-like expression without one.
    Expr {
        /// The expression.
        expr: Expr,
        /// Whether a `;` follows.
        semi: bool,
    },
}

/// A condition.
#[derive(Clone, Debug)]
pub enum Cond {
    /// `e`
    Expr(Box<Expr>),
    /// `let p = e`
    Let(Box<Pat>, Box<Expr>),
}

/// `if` or `else if` with its block.
#[derive(Clone, Debug)]
pub struct IfArm {
    /// The condition.
    pub cond: Cond,
    /// The block.
    pub block: Block,
}

/// `p => e`
#[derive(Clone, Debug)]
pub struct MatchArm {
    /// The pattern.
    pub pat: Pat,
    /// The value.
    pub value: Expr,
}

/// `for` and `with`.
#[derive(Clone, Debug)]
pub struct ForExpr {
    /// The loop variables; a written type is a [`PatKind::Typed`](super::PatKind::Typed).
    pub pats: Vec<Pat>,
    /// The call of the generator. A [`ExprKind::Call`] unless the text is malformed;
    /// `@g(..)` marks it, `$g(..)` wraps it in [`UnaryOp::Hide`] or, in edition 2015, marks it.
    pub call: Expr,
    /// The filter of the body.
    pub filter: Option<Filter>,
    /// The body.
    pub body: Block,
}

/// An anonymous function.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// Its filter.
    pub filter: Option<Filter>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its result, if written.
    pub ret: Option<Ret>,
    /// Its body; `None` for `f(||)`, which means unit.
    pub body: Option<Expr>,
}

/// Inline assembly.
#[derive(Clone, Debug)]
pub struct Asm {
    /// The template.
    pub template: StrLit,
    /// `"=r"(place)`
    pub outputs: Vec<(StrLit, Expr)>,
    /// `"r"(value)`
    pub inputs: Vec<(StrLit, Expr)>,
    /// Clobbers.
    pub clobbers: Vec<StrLit>,
    /// Options.
    pub options: Vec<StrLit>,
}

/// Prefix and postfix operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `+e`
    Plus,
    /// `-e`
    Minus,
    /// `!e`
    Not,
    /// `*e`
    Deref,
    /// `&e`
    AddrOf,
    /// `&mut e`
    AddrOfMut,
    /// `~e`
    Box,
    /// `++e`
    PreInc,
    /// `--e`
    PreDec,
    /// `e++`
    PostInc,
    /// `e--`
    PostDec,
    /// `?e`
    Known,
    /// `$e`
    Hide,
}

/// One operator with its right operand.
#[derive(Clone, Debug)]
pub struct ChainLink {
    /// The operator.
    pub op: BinaryOp,
    /// Its span.
    pub op_span: Span,
    /// The right operand.
    pub rhs: Expr,
}

/// Binary operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum BinaryOp {
    OrOr,
    AndAnd,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Or,
    Xor,
    And,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl BinaryOp {
    /// Its spelling.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::OrOr => "||",
            BinaryOp::AndAnd => "&&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::And => "&",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        }
    }
}

/// A mark of a call for the partial evaluator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallMark {
    /// Its meaning.
    pub kind: MarkKind,
    /// Its spelling: `@@`, `@`, `@run`, `@halt`, `$`.
    pub text: &'static str,
    /// Its span.
    pub span: Span,
}

/// The meaning of a [`CallMark`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkKind {
    /// `@@f(x)`, `@f(x)`: the call is specialized on all arguments.
    Force,
    /// `@run f(x)`, in edition 2015 also `@f(x)`: the evaluator unfolds the call and what it reaches.
    Run,
    /// `@halt f(x)`, in edition 2015 also `$f(x)`: the evaluator keeps the call.
    Halt,
}

/// The name after a `.`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldName {
    /// `.f`
    Named(Ident),
    /// `.0`
    Index {
        /// The number.
        index: u32,
        /// Its span.
        span: Span,
    },
}
