//! The syntax tree of one source file.
//!
//! The tree follows the text closely: parentheses, comments, the spelling of
//! literals and the forms of the dialects are all kept, because the
//! formatter prints the tree. `nyala-sema` gives it a meaning.
//!
//! # Invariants
//!
//! * The tree is at most [`MAX_DEPTH`] constructs deep, so walking it by recursion
//!   is safe. Long constructs are lists: operators of
//!   one precedence level are one [`ExprKind::Chain`], `else if` is one
//!   [`ExprKind::If`] with many arms.
//! * Every node has the span of its text. For malformed text the parser creates an
//!   `Error` node with its span.
//!
//! [`visit`] walks it.

mod exprs;
pub mod visit;

use nyala_span::{Name, Span};

pub use exprs::*;

/// The maximum nesting depth. The parser reports and skips deeper constructs, so
/// the tree is never deeper.
pub const MAX_DEPTH: usize = 256;

/// The maximum number of `else if` in one chain. The parser reports and skips the rest,
/// so their cost is bounded.
pub const MAX_ELSE_IFS: usize = 250_000;

/// One parsed source file.
#[derive(Clone, Debug)]
pub struct File {
    /// The items, in order.
    pub items: Vec<Item>,
    /// The dialect, which matters if the two give the same text different meanings.
    pub dialect: Dialect,
    /// Whether marks and types are read as in 2015: `@f(x)`, `$f(x)`, `fn(T)`.
    pub edition_2015: bool,
    /// All comments, in order, for the formatter.
    pub comments: Vec<Comment>,
    /// The whole text.
    pub span: Span,
}

/// The dialect decides if the two give the same text different meanings:
/// the level of prefix `$`, whether `_x` is anonymous, when a compound assignment
/// loads the old value, whether a tuple may be an argument list.
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

/// An identifier with its span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ident {
    /// The name.
    pub name: Name,
    /// Its span.
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
    /// Its attributes `#[..]`.
    pub attrs: Vec<Attr>,
    /// `pub` or `priv`: its visibility.
    pub vis: Option<Vis>,
    /// The definition.
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

/// One argument of `#[..]`: `export`, `import(cc = "C")`, `name = "f"`, `tune(8, 16)`.
#[derive(Clone, Debug)]
pub struct Attr {
    /// Its name.
    pub name: Ident,
    /// Its value.
    pub value: AttrValue,
    /// The whole span.
    pub span: Span,
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub enum AttrValue {
    /// Nothing.
    None,
    /// `= literal`
    Lit(Lit),
    /// `= path`
    Path(Path),
    /// `= [literal, literal]`
    Array(Vec<Lit>),
    /// `(args)`
    List(Vec<Attr>),
    /// `(a, b + c)`, the candidates of `tune`
    Exprs(Vec<Expr>),
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
        /// Its type and integer parameters.
        tparams: Vec<GenericParam>,
        /// The type.
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
        /// The initializer, if written.
        init: Option<Expr>,
    },
    /// `mod m { .. }`, `mod m;`
    Mod {
        /// Its name.
        name: Ident,
        /// Its items; `None` if it has files of its own.
        items: Option<Vec<Item>>,
    },
    /// `use a::b as c;`, `use a::{b, c::*};`
    Use(UseTree),
    /// `implicit T = e;`
    Implicit {
        /// Its type, if written.
        ty: Option<TypeExpr>,
        /// The value.
        value: Expr,
    },
    /// Malformed text.
    Error,
}

/// What a `use` brings into scope: a path, and what is taken from there.
#[derive(Clone, Debug)]
pub struct UseTree {
    /// Where names are looked for.
    pub path: Path,
    /// What is taken.
    pub kind: UseKind,
}

/// What a `use` takes.
#[derive(Clone, Debug)]
pub enum UseKind {
    /// `a::b`, `a::b as c`: what the path stands for.
    Name {
        /// The new name, if one is given.
        rename: Option<Ident>,
    },
    /// `a::*`: all names.
    Glob,
    /// `a::{b, c}`: these, each from the path on.
    List(Vec<UseTree>),
}

/// A parameter of a generic item: `T`, or `n: i32`.
#[derive(Clone, Debug)]
pub struct GenericParam {
    /// Its name.
    pub name: Ident,
    /// The type of an integer parameter.
    pub ty: Option<TypeExpr>,
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
    /// Its name; of an operator, `operator` with the symbol.
    pub name: Ident,
    /// The operator that it declares.
    pub operator: Option<Operator>,
    /// Its type and integer parameters.
    pub tparams: Vec<GenericParam>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The result type, if written.
    pub ret: Option<Ret>,
    /// The body; `None` for a declaration.
    pub body: Option<FnBody>,
    /// From `extern` or `fn` to the end of the body.
    pub span: Span,
}

/// An operator that a function declares: `fn operator +(a: V, b: V) -> V { .. }`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operator {
    /// One with two operands. `-` may also have one.
    Binary(BinaryOp),
    /// `!`
    Not,
    /// `()`: a call or an index, `v(i)`.
    Call,
}

impl Operator {
    /// Its spelling.
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Binary(op) => op.symbol(),
            Operator::Not => "!",
            Operator::Call => "()",
        }
    }
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
    /// The whole span.
    pub span: Span,
}

/// The forms of filters.
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
    /// The pattern; `None` if only a type is written.
    pub pat: Option<Pat>,
    /// The type, if written.
    pub ty: Option<TypeExpr>,
    /// The whole span.
    pub span: Span,
}

/// The result after `->`.
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
    /// Its type and integer parameters.
    pub tparams: Vec<GenericParam>,
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
    /// Whether it is `uniform`: one value for all elements of a vector of structs.
    pub is_uniform: bool,
    /// Its type.
    pub ty: TypeExpr,
    /// Its default: the value if a literal omits the field.
    pub default: Option<Expr>,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct EnumItem {
    /// Its name.
    pub name: Ident,
    /// Its type and integer parameters.
    pub tparams: Vec<GenericParam>,
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
    /// The whole span.
    pub span: Span,
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct TypeExpr {
    /// Its kind.
    pub kind: TypeKind,
    /// Its span.
    pub span: Span,
}

/// The forms of types.
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
        /// The length.
        len: Box<Expr>,
    },
    /// `[T]`
    Slice(Box<TypeExpr>),
    /// `simd[T * n]`
    Simd {
        /// The lane.
        elem: Box<TypeExpr>,
        /// The length.
        len: Box<Expr>,
    },
    /// `&T`, `&mut[3] T`, `~T`
    Ptr {
        /// Shared, mutable or owned.
        kind: PtrKind,
        /// The address space, if written.
        space: Option<AddrSpace>,
        /// The type of the target.
        pointee: Box<TypeExpr>,
    },
    /// `fn(A) -> R`, `fn[A](A) -> A`; without arrow a continuation of the 2015 edition.
    Fn {
        /// The type and integer parameters of a generic one.
        tparams: Vec<GenericParam>,
        /// The parameters.
        params: Vec<TypeExpr>,
        /// The result, if an arrow is written.
        ret: Option<Box<Ret>>,
    },
    /// `cn(A)`
    Cn(Vec<TypeExpr>),
    /// `typeof(e)`
    Typeof(Box<Expr>),
    /// `4`, `n + 1`: an argument for an integer parameter. A lone name is a [`TypeKind::Path`].
    Number(Box<Expr>),
    /// Malformed text.
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
    /// Its span.
    pub span: Span,
}

// ---- Patterns ---------------------------------------------------------------

/// A pattern.
#[derive(Clone, Debug)]
pub struct Pat {
    /// Its kind.
    pub kind: PatKind,
    /// Its span.
    pub span: Span,
}

/// The kinds of patterns.
#[derive(Clone, Debug)]
pub enum PatKind {
    /// `x`, `mut x`, `x as p`, `_`. A lone name may also be an option or a
    /// static in scope; the checker decides.
    Bind {
        /// `mut`
        is_mut: bool,
        /// The name, `_` included.
        name: Ident,
        /// A pattern that the value must match as well.
        sub: Option<Box<Pat>>,
    },
    /// `p: T`; also `E[T]::A(p)` and `S[T] { x = p }`, and then pattern and type start together.
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
        /// Whether it has a minus sign.
        neg: bool,
        /// The literal.
        lit: Lit,
    },
    /// `E::A`, `E::A(p, q)`, `Pair(a, b)`
    Option {
        /// The option or tuple struct.
        path: Path,
        /// Its payload; `None` without parentheses.
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
    /// Malformed text.
    Error,
}

/// `x = p` in a record pattern.
#[derive(Clone, Debug)]
pub struct FieldPat {
    /// The field.
    pub name: Ident,
    /// Its pattern.
    pub pat: Pat,
}
