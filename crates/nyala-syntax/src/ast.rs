//! The syntax tree of one source file.
//!
//! The tree follows the text closely: parentheses, comments, the spelling of
//! literals and which dialect's form was written are all kept, because the
//! formatter prints from it. Meaning is decided later, in `nyala-sema`.
//!
//! # Invariants
//!
//! * The tree is at most [`MAX_DEPTH`] constructs deep, so walking it by recursion
//!   is safe. What programs make long rather than deep is a list: operators of
//!   one precedence level are one [`ExprKind::Chain`], `else if` is one
//!   [`ExprKind::If`] with many arms.
//! * Every node has the span of its text. A node the parser had to invent is an
//!   `Error` node with the span of what stood there.

use nyala_span::{Name, Span};

/// How many constructs may be nested. The parser reports what is deeper and
/// skips it, so no later stage meets a deeper tree.
pub const MAX_DEPTH: usize = 256;

/// One parsed source file.
#[derive(Clone, Debug)]
pub struct File {
    /// The items, in order.
    pub items: Vec<Item>,
    /// Which dialect's rules hold where the two differ in meaning.
    pub dialect: Dialect,
    /// All comments, in order, for the formatter.
    pub comments: Vec<Comment>,
    /// The whole text.
    pub span: Span,
}

/// Where the two dialects give the same text different meanings, this decides:
/// the level of prefix `$`, whether `_x` is anonymous, when a compound assignment
/// loads the old value, whether a tuple may stand for an argument list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Impala.
    Impala,
    /// Artic.
    Artic,
}

/// A comment with its delimiters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comment {
    /// Its text, delimiters included, without the final line break.
    pub span: Span,
    /// `/* .. */` rather than `// ..`.
    pub is_block: bool,
}

/// An identifier where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ident {
    /// The name.
    pub name: Name,
    /// Where it stands.
    pub span: Span,
}

/// A string literal; adjacent literals are already joined and escapes resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StrLit {
    /// The bytes, without the terminating zero.
    pub bytes: Vec<u8>,
    /// All joined literals.
    pub span: Span,
}

// ---- Items ----------------------------------------------------------------

/// A definition, at module level or inside a block.
#[derive(Clone, Debug)]
pub struct Item {
    /// `#[..]` in front of it.
    pub attrs: Vec<Attr>,
    /// `pub` or `priv`, which mean nothing but are kept.
    pub vis: Option<Vis>,
    /// What it defines.
    pub kind: ItemKind,
    /// From the first attribute to the end.
    pub span: Span,
}

/// A visibility keyword.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vis {
    /// `pub`
    Pub,
    /// `priv`
    Priv,
}

/// One argument of `#[..]`: `export`, `import(cc = "C")`, `name = "f"`.
#[derive(Clone, Debug)]
pub struct Attr {
    /// Its name.
    pub name: Ident,
    /// What follows the name.
    pub value: AttrValue,
    /// All of it.
    pub span: Span,
}

/// What follows the name of an attribute.
#[derive(Clone, Debug)]
pub enum AttrValue {
    /// Nothing.
    None,
    /// `= literal`
    Lit(Lit),
    /// `= path`
    Path(Path),
    /// `(args)`
    List(Vec<Attr>),
}

/// The kinds of items.
#[derive(Clone, Debug)]
pub enum ItemKind {
    /// A function.
    Fn(FnItem),
    /// `extern "C" { .. }`
    ExternBlock {
        /// The calling convention as written.
        abi: StrLit,
        /// The declarations.
        fns: Vec<FnItem>,
    },
    /// A struct.
    Struct(StructItem),
    /// An enum.
    Enum(EnumItem),
    /// `type A[T] = ..;`
    Alias {
        /// Its name.
        name: Ident,
        /// Its type parameters.
        tparams: Vec<Ident>,
        /// What it stands for.
        ty: TypeExpr,
    },
    /// `static mut x: T = e;`
    Static {
        /// `mut`
        is_mut: bool,
        /// Its name.
        name: Ident,
        /// The type, if written.
        ty: Option<TypeExpr>,
        /// The initialiser, if written.
        init: Option<Expr>,
    },
    /// `mod m { .. }`
    Mod {
        /// Its name.
        name: Ident,
        /// What it holds.
        items: Vec<Item>,
    },
    /// `use a::b as c;`
    Use {
        /// What is brought into scope.
        path: Path,
        /// The new name, if one is given.
        rename: Option<Ident>,
    },
    /// `implicit T = e;`
    Implicit {
        /// The type it is summoned by, if written.
        ty: Option<TypeExpr>,
        /// The value.
        value: Expr,
    },
    /// Text that is no item.
    Error,
}

/// A function or the declaration of one.
#[derive(Clone, Debug)]
pub struct FnItem {
    /// `extern fn`: exported.
    pub is_extern: bool,
    /// `fn "name" f`: the symbol's name.
    pub link_name: Option<StrLit>,
    /// The filter in front of the name.
    pub filter: Option<Filter>,
    /// Its name.
    pub name: Ident,
    /// Its type parameters.
    pub tparams: Vec<Ident>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The result type, if written.
    pub ret: Option<Ret>,
    /// The body; none for a declaration.
    pub body: Option<FnBody>,
    /// From `extern` or `fn` to the end of the body.
    pub span: Span,
}

/// How a function's body is written.
#[derive(Clone, Debug)]
pub enum FnBody {
    /// `{ .. }`
    Block(Block),
    /// `= e;`
    Expr(Expr),
}

/// `@`, `@(e)`, `@?`.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Which of them.
    pub kind: FilterKind,
    /// All of it.
    pub span: Span,
}

/// The ways to write a filter.
#[derive(Clone, Debug)]
pub enum FilterKind {
    /// `@`: always.
    Always,
    /// `@(e)`: if `e`.
    If(Box<Expr>),
    /// `@?` in front of a parameter: if it is known.
    IfKnown,
}

/// A parameter of a function or lambda.
#[derive(Clone, Debug)]
pub struct Param {
    /// `implicit`
    pub is_implicit: bool,
    /// The parameter's own filter.
    pub filter: Option<Filter>,
    /// The pattern; none where only a type is written.
    pub pat: Option<Pat>,
    /// The type, if written.
    pub ty: Option<TypeExpr>,
    /// All of it.
    pub span: Span,
}

/// What follows `->`.
#[derive(Clone, Debug)]
pub enum Ret {
    /// A type.
    Type(TypeExpr),
    /// `!`
    Never(Span),
}

/// A struct.
#[derive(Clone, Debug)]
pub struct StructItem {
    /// Its name.
    pub name: Ident,
    /// Its type parameters.
    pub tparams: Vec<Ident>,
    /// Its fields.
    pub fields: Fields,
}

/// The fields of a struct or of an enum option.
#[derive(Clone, Debug)]
pub enum Fields {
    /// None, and no brackets.
    Unit,
    /// `(A, B)`
    Tuple(Vec<TypeExpr>),
    /// `{ a: A, b: B = e }`
    Record(Vec<FieldDef>),
}

/// A named field.
#[derive(Clone, Debug)]
pub struct FieldDef {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: TypeExpr,
    /// Its value where a literal leaves it out.
    pub default: Option<Expr>,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct EnumItem {
    /// Its name.
    pub name: Ident,
    /// Its type parameters.
    pub tparams: Vec<Ident>,
    /// Its options.
    pub options: Vec<OptionDef>,
}

/// One option of an enum.
#[derive(Clone, Debug)]
pub struct OptionDef {
    /// Its name.
    pub name: Ident,
    /// Its payload.
    pub fields: Fields,
}

// ---- Paths and types --------------------------------------------------------

/// `a::b::c`; `super` is a segment of that name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// At least one segment.
    pub segments: Vec<Ident>,
    /// All of it.
    pub span: Span,
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
}

/// The ways to write a type.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `i32`, `S[f32]`, `m::T`; the primitive types and their aliases too.
    Path {
        /// The name.
        path: Path,
        /// Its type arguments.
        args: Vec<TypeExpr>,
    },
    /// `(A, B)`; `()` is empty. One type in parentheses is [`TypeKind::Paren`].
    Tuple(Vec<TypeExpr>),
    /// `(A)`
    Paren(Box<TypeExpr>),
    /// `[T * n]`
    Array {
        /// The element.
        elem: Box<TypeExpr>,
        /// How many.
        len: Length,
    },
    /// `[T]`
    Slice(Box<TypeExpr>),
    /// `simd[T * n]`
    Simd {
        /// The lane.
        elem: Box<TypeExpr>,
        /// How many.
        len: Length,
    },
    /// `&T`, `&mut[3] T`, `~T`
    Ptr {
        /// Which pointer.
        kind: PtrKind,
        /// The address space, if written.
        space: Option<AddrSpace>,
        /// What it points to.
        pointee: Box<TypeExpr>,
    },
    /// `fn(A) -> R`; without arrow a continuation of old.
    Fn {
        /// The parameters.
        params: Vec<TypeExpr>,
        /// The result, if an arrow is written.
        ret: Option<Box<Ret>>,
    },
    /// `cn(A)`
    Cn(Vec<TypeExpr>),
    /// `typeof(e)`
    Typeof(Box<Expr>),
    /// Text that is no type.
    Error,
}

/// The pointers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PtrKind {
    /// `&`
    Shared,
    /// `&mut`
    Mut,
    /// `~`
    Owned,
}

/// An address space as written: `[1]`, `addrspace(1)`, `global`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddrSpace {
    /// Its number; `None` if the literal does not fit.
    pub number: Option<u32>,
    /// Where it stands.
    pub span: Span,
}

/// The length of an array: a literal or the name of a static.
#[derive(Clone, Debug)]
pub enum Length {
    /// `4`
    Lit(Lit),
    /// `N`
    Path(Path),
    /// Text that is no length.
    Error(Span),
}

// ---- Patterns ---------------------------------------------------------------

/// A pattern.
#[derive(Clone, Debug)]
pub struct Pat {
    /// What it is.
    pub kind: PatKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of patterns.
#[derive(Clone, Debug)]
pub enum PatKind {
    /// `x`, `mut x`, `x as p`, `_`. A lone name may also be an option or a
    /// static in scope; that is for the checker to say.
    Bind {
        /// `mut`
        is_mut: bool,
        /// The name, `_` included.
        name: Ident,
        /// What the value must match too.
        sub: Option<Box<Pat>>,
    },
    /// `p: T`
    Typed {
        /// The pattern.
        pat: Box<Pat>,
        /// The type.
        ty: TypeExpr,
    },
    /// `(p, q)`, `()`
    Tuple(Vec<Pat>),
    /// `(p)`
    Paren(Box<Pat>),
    /// `1`, `-1`, `'a'`, `true`
    Lit {
        /// A minus sign in front.
        neg: bool,
        /// The literal.
        lit: Lit,
    },
    /// `E::A`, `E::A(p, q)`, `Pair(a, b)`
    Option {
        /// The option or tuple struct.
        path: Path,
        /// Its payload; none where no parentheses are written.
        args: Option<Vec<Pat>>,
    },
    /// `S { x = p, y = q, ... }`
    Record {
        /// The struct or option.
        path: Path,
        /// The fields.
        fields: Vec<FieldPat>,
        /// `...` at the end.
        rest: bool,
    },
    /// `[p, q]`
    Array(Vec<Pat>),
    /// `simd[p, q]`
    Simd(Vec<Pat>),
    /// Text that is no pattern.
    Error,
}

/// `x = p` in a record pattern.
#[derive(Clone, Debug)]
pub struct FieldPat {
    /// The field.
    pub name: Ident,
    /// What it must match.
    pub pat: Pat,
}

// ---- Expressions ------------------------------------------------------------

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
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
        /// `simd` in front.
        is_simd: bool,
        /// The elements.
        elems: Vec<Expr>,
    },
    /// `[v, .. n]`, `[v; n]`, `simd[v; n]`
    Repeat {
        /// `simd` in front.
        is_simd: bool,
        /// The element.
        value: Box<Expr>,
        /// How many.
        len: Length,
    },
    /// `~[n: T]`
    HeapArray {
        /// How many.
        len: Box<Expr>,
        /// Of what.
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
        /// What is copied.
        base: Box<Expr>,
        /// What is different.
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
        /// What is matched.
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
        /// Where it stands.
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
        /// Where the operator stands.
        op_span: Span,
        /// The place.
        place: Box<Expr>,
        /// The value.
        value: Box<Expr>,
    },
    /// `e as T`
    Cast {
        /// What is cast.
        expr: Box<Expr>,
        /// To what.
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
        /// What is called or indexed.
        callee: Box<Expr>,
        /// The arguments.
        args: Vec<Expr>,
        /// `@@` or `@` that reaches this call.
        mark: Option<CallMark>,
    },
    /// `f[A, B]`
    TypeArgs {
        /// What gets type arguments.
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
    /// Text that is no expression.
    Error,
}

/// A literal as written; its type and range are checked later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lit {
    /// What it is.
    pub kind: LitKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of literals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LitKind {
    /// `true`, `false`
    Bool(bool),
    /// An integer; `None` where it does not fit 64 bits (reported by the lexer).
    Int {
        /// Its value.
        value: Option<u64>,
        /// Its suffix, `i` and `u` resolved; a float suffix makes it a float: `2f`.
        suffix: Option<NumSuffix>,
    },
    /// A number with a point or an exponent. The digits are kept, because they
    /// are rounded once, to the final type.
    Float {
        /// The digits without suffix and underscores, as Rust's float parser takes them.
        digits: Name,
        /// Its suffix.
        suffix: Option<NumSuffix>,
    },
    /// `'x'`
    Char(u8),
    /// `"s"`
    Str(StrLit),
    /// A literal that is malformed (reported by the lexer).
    Error,
}

/// The type a numeric suffix names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum NumSuffix {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl NumSuffix {
    /// Whether it names a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, NumSuffix::F16 | NumSuffix::F32 | NumSuffix::F64)
    }
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
        /// The pattern; a written type is a [`PatKind::Typed`] around it.
        pat: Pat,
        /// The initialiser.
        init: Option<Expr>,
        /// With the semicolon.
        span: Span,
    },
    /// A nested item.
    Item(Item),
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
    /// The loop variables; a written type is a [`PatKind::Typed`].
    pub pats: Vec<Pat>,
    /// The call of the generator. A [`ExprKind::Call`] unless the text is broken;
    /// `@g(..)` marks it, `$g(..)` wraps it in [`UnaryOp::Hide`].
    pub call: Expr,
    /// The filter in front of the body.
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

/// What a prefix or postfix operator does.
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
    /// Where it stands.
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

/// How a call is forced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallMark {
    /// `@@` rather than `@`.
    pub doubled: bool,
    /// Where it stands.
    pub span: Span,
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
        /// Where it stands.
        span: Span,
    },
}
