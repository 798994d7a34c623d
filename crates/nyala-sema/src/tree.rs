//! The typed tree: a checked program, with every name resolved, every type known
//! and every implicit conversion written out.
//!
//! `nyala-lower` turns it into the graph; editors read types and definitions
//! from it. The surface's sugar is gone: `for` and `with` are calls with a
//! lambda, `return`, `break` and `continue` are local variables of continuation
//! type, implicit arguments are arguments.
//!
//! # Invariants (of a program without errors)
//!
//! * No type is [`TyKind::Error`](crate::types::TyKind) or a variable of inference.
//! * Types of generic items mention their own type parameters and those of the
//!   functions around them only.
//! * A local variable is defined once, by a pattern, parameter or construct, in
//!   the function or lambda that owns it or in one around it.
//! * As deep as the syntax tree at most; see `nyala_syntax::ast::MAX_DEPTH`.

use cranelift_entity::{PrimaryMap, entity_impl};
use nyala_span::{Name, Span};
use nyala_syntax::ast::{BinaryOp, MarkKind};

use crate::types::{EnumId, StructId, Ty, TyParam, Types};

/// A function of the program, nested ones included; lambdas are expressions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FnId(u32);
entity_impl!(FnId, "fn");

/// A static variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StaticId(u32);
entity_impl!(StaticId, "static");

/// A local variable; unique in the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(u32);
entity_impl!(LocalId, "local");

/// A checked program.
#[derive(Clone, Default)]
pub struct Program {
    /// The types.
    pub types: Types,
    /// The structs.
    pub structs: PrimaryMap<StructId, Struct>,
    /// The enums.
    pub enums: PrimaryMap<EnumId, Enum>,
    /// The functions, in source order.
    pub fns: PrimaryMap<FnId, Function>,
    /// The statics, in source order.
    pub statics: PrimaryMap<StaticId, Static>,
    /// The local variables.
    pub locals: PrimaryMap<LocalId, Local>,
    /// The entry point.
    pub main: Option<FnId>,
}

/// A struct.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Its name.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// Its type parameters.
    pub tparams: Vec<TyParam>,
    /// Its fields, in memory order; those of a tuple struct are named `0`, `1`, ...
    pub fields: Vec<Field>,
    /// `struct S(A, B);`
    pub is_tuple_like: bool,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// Where it is declared.
    pub span: Span,
    /// Its type.
    pub ty: Ty,
    /// Its value where a literal leaves it out.
    pub default: Option<Expr>,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Its name.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// Its type parameters.
    pub tparams: Vec<TyParam>,
    /// Its options, by tag.
    pub options: Vec<EnumOption>,
}

/// An option of an enum.
#[derive(Clone, Debug)]
pub struct EnumOption {
    /// Its name.
    pub name: Name,
    /// Where it is declared.
    pub span: Span,
    /// Its payload; names are empty for a tuple-like option.
    pub fields: Vec<Field>,
    /// `E { x: T }` rather than `E(T)`.
    pub is_record: bool,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// Its own type parameters.
    pub tparams: Vec<TyParam>,
    /// Its parameters, implicit ones included.
    pub params: Vec<Param>,
    /// Its result; `!` for one that never returns.
    pub ret: Ty,
    /// Its type, from parameters and result.
    pub ty: Ty,
    /// When to specialise on what it returns to: the filter of the function as a
    /// whole, a `bool` over its parameters. None is never.
    pub filter: Option<Expr>,
    /// The continuation `return`; none if the result is `!` (then the end of the body
    /// calls the last parameter, or is never reached) and for declarations.
    pub return_local: Option<LocalId>,
    /// What it does; none for declarations.
    pub body: Option<Expr>,
    /// How it is linked.
    pub linkage: Linkage,
    /// The attributes that checking does not interpret, as `(name, value)`:
    /// `fast_math`, `must_specialize`, budgets of the evaluator, and the symbol that
    /// `intern` gives.
    pub attrs: Vec<(Name, Option<AttrArg>)>,
    /// The function around it.
    pub parent: Option<FnId>,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Debug)]
pub enum AttrArg {
    /// A number.
    Int(u64),
    /// A string.
    Str(Vec<u8>),
    /// A name.
    Name(Name),
}

/// How a function or static is linked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Linkage {
    /// Not visible outside.
    Internal,
    /// Exported under this symbol.
    Export(Name),
    /// Declared here, defined elsewhere.
    Import {
        /// By whom.
        abi: Abi,
        /// Under which name.
        symbol: Name,
    },
}

/// Who defines an imported function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Abi {
    /// Foreign code with the C calling convention.
    C,
    /// The target's compiler.
    Device,
    /// This compiler (`thorin`, `builtin`).
    Intrinsic,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// What the argument is bound to; irrefutable.
    pub pat: Pat,
    /// Its type.
    pub ty: Ty,
    /// When to specialise on it: a `bool` over the function's parameters. The filter of the
    /// whole function is already or-ed into each. None is never.
    pub filter: Option<Expr>,
    /// All of it.
    pub span: Span,
}

/// A static variable.
#[derive(Clone, Debug)]
pub struct Static {
    /// Its name.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// Its type.
    pub ty: Ty,
    /// `mut`
    pub is_mut: bool,
    /// Its value; none is all zeros. Depends on other statics in no cycle.
    pub init: Option<Expr>,
    /// How it is linked.
    pub linkage: Linkage,
}

/// A local variable.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name: also `return`, `break`, `continue`.
    pub name: Name,
    /// Where it is bound.
    pub span: Span,
    /// Its type.
    pub ty: Ty,
    /// `mut`
    pub is_mut: bool,
    /// Whether its address is taken, by `&` or by an implicit conversion.
    pub address_taken: bool,
    /// Whether a function or lambda nested in the one that owns it uses it.
    pub is_captured: bool,
}

// ---- Expressions ------------------------------------------------------------

/// A typed expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type; `!` for what never produces a value.
    pub ty: Ty,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of expressions.
///
/// `Local`, `Static`, `Field`, `Index` and `Deref` are *places* if what they are
/// built on is one: reading one is a load or the current value of a variable.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A literal of primitive type: its bits, zero-extended.
    Lit(u64),
    /// A string: an array of `u8` with its terminating zero.
    Str(Vec<u8>),
    /// A local variable, `return`/`break`/`continue` included.
    Local(LocalId),
    /// A static variable.
    Static(StaticId),
    /// A function as a value, with its own type arguments.
    Fn(FnId, Vec<Ty>),
    /// An option with payload, or a tuple-like struct, as a function.
    Constructor(Constructor),

    /// `(a, b)`
    Tuple(Vec<Expr>),
    /// `[a, b]`, `simd[a, b]`; the type says which.
    Array(Vec<Expr>),
    /// `[v, .. n]`, `simd[v; n]`; the type has the length.
    Repeat(Box<Expr>),
    /// `~[n: T]`: uninitialised elements on the heap.
    HeapArray {
        /// How many; any integer type.
        len: Box<Expr>,
        /// Of what.
        elem: Ty,
    },
    /// `~e`: a copy on the heap.
    Box(Box<Expr>),
    /// `S { .. }` and `e.{ .. }`.
    Struct {
        /// What the fields left out are copied from.
        base: Option<Box<Expr>>,
        /// Field number and value, in source order; defaults come last. Every
        /// field once, unless there is a base.
        fields: Vec<(u32, Expr)>,
    },
    /// `E::A(a, b)`, `E::A`, `E::C { .. }`: field values in source order with their numbers.
    Variant {
        /// Which option.
        option: u32,
        /// The payload.
        fields: Vec<(u32, Expr)>,
    },

    /// `{ .. }`
    Block {
        /// The statements.
        stmts: Vec<Stmt>,
        /// The value; none is unit, or never reached if the type is `!`.
        value: Option<Box<Expr>>,
    },
    /// `if`, with `if let`.
    If {
        /// Conditions with their values, tried in order.
        arms: Vec<(Cond, Expr)>,
        /// The value if none holds; none is unit.
        other: Option<Box<Expr>>,
    },
    /// `match`: the first arm that matches; together they are exhaustive.
    Match {
        /// What is matched.
        scrutinee: Box<Expr>,
        /// The arms.
        arms: Vec<(Pat, Expr)>,
    },
    /// `while`, with `while let`.
    While {
        /// The condition.
        cond: Box<Cond>,
        /// The body.
        body: Box<Expr>,
        /// `break`, inside.
        break_local: LocalId,
        /// `continue`, inside.
        continue_local: LocalId,
    },
    /// An anonymous function.
    Lambda(Box<Lambda>),
    /// A call.
    Call(Box<Call>),
    /// Inline assembly; unit.
    Asm(Box<Asm>),

    /// `a(i)` on an array, a slice behind a `Deref`, or a simd value.
    Index {
        /// What is indexed.
        base: Box<Expr>,
        /// Any integer type.
        index: Box<Expr>,
    },
    /// Part `index` of a struct or tuple.
    Field {
        /// Of what.
        base: Box<Expr>,
        /// Which.
        index: u32,
    },
    /// `*p`, also where a pointer is indexed or has a field taken.
    Deref(Box<Expr>),
    /// `&p`, `&mut p`; `&v` of a value stores it first.
    AddrOf(Box<Expr>),

    /// `-e`
    Neg(Box<Expr>),
    /// `!e`
    Not(Box<Expr>),
    /// Operators of one level, from left to right; all but the comparisons keep
    /// the operands' type. `&&` and `||` are chains of their own.
    Chain {
        /// The leftmost operand.
        first: Box<Expr>,
        /// The rest, each with the type of the value so far and the span up to it.
        rest: Vec<ChainLink>,
    },
    /// `p = e`, `p += e`; unit.
    Assign {
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// The place.
        place: Box<Expr>,
        /// The value.
        value: Box<Expr>,
        /// Artic's order: the old value is loaded before `value` is evaluated.
        load_first: bool,
    },
    /// `++p`, `p--`
    Step {
        /// The place.
        place: Box<Expr>,
        /// By -1.
        is_dec: bool,
        /// The value is the old one.
        is_post: bool,
    },
    /// `e as T`: a conversion of the language; the node's type is the target.
    Cast(Box<Expr>),
    /// An implicit conversion.
    Coerce {
        /// Which.
        kind: Coercion,
        /// What is converted.
        expr: Box<Expr>,
    },
    /// `?e`
    Known(Box<Expr>),
    /// `$e`
    Hide(Box<Expr>),
    /// What could not be checked; never in a program without errors.
    Error,
}

/// What builds a value when called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constructor {
    /// An enum's option; the expression's type is a function to the enum.
    Option {
        /// Of which enum.
        of: EnumId,
        /// Which option.
        option: u32,
    },
    /// A tuple-like struct.
    Struct(StructId),
}

/// An implicit conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coercion {
    /// `T` to `&T`: the address of a place, or of a value stored for it.
    AddrOf,
    /// A change of type only: `&mut T` to `&T`, `~T` to `&T`, `&[T * n]` to `&[T]`,
    /// and functions and tuples of such.
    Retype,
    /// What never produces a value, as a value of any type.
    Never,
}

/// One operator of a chain.
#[derive(Clone, Debug)]
pub struct ChainLink {
    /// The operator.
    pub op: BinaryOp,
    /// The right operand.
    pub rhs: Expr,
    /// The type of the chain up to here.
    pub ty: Ty,
    /// From the chain's start to the right operand.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `let p = e;` with an irrefutable pattern; without a value the variables are uninitialised.
    Let {
        /// The pattern.
        pat: Pat,
        /// The value.
        init: Option<Expr>,
    },
    /// An expression for its effects.
    Expr(Expr),
    /// A nested function comes into being; all functions of a block may refer to each
    /// other, and stand at its beginning.
    Fn(FnId),
}

/// A condition.
#[derive(Clone, Debug)]
pub enum Cond {
    /// A `bool`.
    Expr(Expr),
    /// `let p = e`: whether it matches.
    Let(Pat, Expr),
}

/// An anonymous function; the bodies of `for` and `with` too.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// Its parameters, with their filters.
    pub params: Vec<Param>,
    /// The filter of the lambda as a whole, as in [`Function::filter`].
    pub filter: Option<Expr>,
    /// Its result; `!` for a continuation.
    pub ret: Ty,
    /// Its own return continuation: `return`, or `continue` of a `for`, or `break` of
    /// a `with`; none for a continuation.
    pub return_local: Option<LocalId>,
    /// Its body.
    pub body: Expr,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub callee: Expr,
    /// The arguments, one for each parameter; in a jump to a function with a result,
    /// one more: the continuation it returns to.
    pub args: Vec<Expr>,
    /// A jump: the call has all arguments of the full type, and never comes back.
    pub is_jump: bool,
    /// What the partial evaluator is told: `@@f(..)`, `@run f(..)`, ..
    pub mark: Option<MarkKind>,
    /// The return continuation of this call, as `break` in the body of a `for`.
    pub break_local: Option<LocalId>,
    /// The arguments are evaluated before the callee, as in a `for` of Impala.
    pub args_first: bool,
}

/// Inline assembly.
#[derive(Clone, Debug)]
pub struct Asm {
    /// The template.
    pub template: Vec<u8>,
    /// Constraints and places.
    pub outputs: Vec<(Vec<u8>, Expr)>,
    /// Constraints and values.
    pub inputs: Vec<(Vec<u8>, Expr)>,
    /// Clobbers.
    pub clobbers: Vec<Vec<u8>>,
    /// Options.
    pub options: Vec<Vec<u8>>,
}

// ---- Patterns ---------------------------------------------------------------

/// A typed pattern.
#[derive(Clone, Debug)]
pub struct Pat {
    /// What it is.
    pub kind: PatKind,
    /// The type of what it matches.
    pub ty: Ty,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of patterns.
#[derive(Clone, Debug)]
pub enum PatKind {
    /// Anything.
    Wild,
    /// Anything, with a name; and what it must match too.
    Bind(LocalId, Option<Box<Pat>>),
    /// A literal: its bits.
    Lit(u64),
    /// The parts of a tuple, array or simd value: all of them.
    Parts(Vec<Pat>),
    /// Fields of a struct.
    Struct(Vec<(u32, Pat)>),
    /// An option of an enum with its payload.
    Variant(u32, Vec<(u32, Pat)>),
    /// What could not be checked.
    Error,
}
