//! The typed tree: a checked program, with every name resolved, every type known
//! and every implicit conversion written out.
//!
//! `nyala-lower` turns it into the graph; editors read types and definitions
//! from it. Syntactic sugar is gone: `for` and `with` are calls with a
//! lambda, `return`, `break` and `continue` are local variables of continuation
//! type, implicit arguments are arguments.
//!
//! # Invariants (of a program without errors)
//!
//! * No type is [`TyKind::Error`](crate::types::TyKind) or an inference variable.
//! * Types of generic items mention only their own type parameters and those of
//!   enclosing functions.
//! * A local variable is defined once, by a pattern, parameter or construct, in
//!   the function or lambda that owns it or in an enclosing one.
//! * The tree is at most as deep as the syntax tree; see `nyala_syntax::ast::MAX_DEPTH`.

use cranelift_entity::{PrimaryMap, entity_impl};
use nyala_span::{Name, Span};
use nyala_syntax::ast::{BinaryOp, MarkKind, Operator};
use rustc_hash::FxHashMap;

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
    /// The declared operators, by symbol and number of operands.
    pub operators: FxHashMap<(Operator, usize), Vec<FnId>>,
    /// The files of packages that are not the user's, such as the prelude; sorted.
    pub foreign: Vec<Span>,
}

impl Program {
    /// Whether a place is in a package that is not the user's.
    pub fn is_foreign(&self, span: Span) -> bool {
        let after = self.foreign.partition_point(|file| file.lo <= span.lo);
        after.checked_sub(1).is_some_and(|file| self.foreign[file].contains(span.lo))
    }
}

/// A struct.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Its name.
    pub name: Name,
    /// Span of the name.
    pub span: Span,
    /// Its type and integer parameters.
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
    /// Its default: the value if a literal omits the field.
    pub default: Option<Expr>,
    /// Whether it is one value for all elements of a vector of structs.
    pub is_uniform: bool,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Its name.
    pub name: Name,
    /// Span of the name.
    pub span: Span,
    /// Its type and integer parameters.
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
    /// Span of the name.
    pub span: Span,
    /// Its own type and integer parameters.
    pub tparams: Vec<TyParam>,
    /// Its parameters, implicit ones included.
    pub params: Vec<Param>,
    /// Its result; `!` for one that never returns.
    pub ret: Ty,
    /// Its type, from parameters and result.
    pub ty: Ty,
    /// When to specialize on the return continuation: the filter of the function as a
    /// whole, a `bool` over its parameters. `None` means never.
    pub filter: Option<Expr>,
    /// The return continuation, `return`; `None` if the result is `!` (then the end of the body
    /// calls the last parameter, or is never reached) and for declarations.
    pub return_local: Option<LocalId>,
    /// Its body; `None` for declarations.
    pub body: Option<Expr>,
    /// How it is linked.
    pub linkage: Linkage,
    /// The attributes that checking does not interpret, as `(name, value)`:
    /// `fast_math`, `must_specialize`, budgets of the evaluator, and the symbol of
    /// `intern`.
    pub attrs: Vec<(Name, Option<AttrArg>)>,
    /// Which tool calls it.
    pub role: Option<Role>,
    /// The enclosing function.
    pub parent: Option<FnId>,
}

/// What a tool calls a function for: `#[test]` or `#[bench]`.
///
/// The function takes the number of lanes, if there are any, then the device, if it asks for one, and then, if it is a
/// test, any number of generated arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct Role {
    /// As what.
    pub kind: RoleKind,
    /// The numbers of lanes that it is called with; empty if it takes none.
    pub lanes: Vec<u32>,
    /// Whether it takes a device.
    pub device: bool,
}

/// As what a tool calls a function.
#[derive(Clone, PartialEq, Debug)]
pub enum RoleKind {
    /// `#[test]`
    Test {
        /// Whether it has to fail to pass.
        fails: bool,
    },
    /// `#[bench]`
    Bench {
        /// What a call processes.
        throughput: Option<Throughput>,
        /// By how much floats of the result may differ if parameters have other values.
        tolerance: f64,
    },
}

/// How much one call of a benchmark processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Throughput {
    /// Bytes.
    Bytes(u64),
    /// Elements, pixels or whatever is counted.
    Items(u64),
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
    /// Not visible to the linker.
    Internal,
    /// Exported under this symbol.
    Export(Name),
    /// Declared here and defined outside of the program.
    Import {
        /// Where it is defined.
        abi: Abi,
        /// Its symbol.
        symbol: Name,
    },
}

/// Where an imported function is defined.
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
    /// The pattern that binds the argument; irrefutable.
    pub pat: Pat,
    /// Its type.
    pub ty: Ty,
    /// When to specialize on it: a `bool` over the function's parameters. It includes the
    /// filter of the whole function. `None` means never.
    pub filter: Option<Expr>,
    /// Span of the parameter.
    pub span: Span,
}

/// A static variable.
#[derive(Clone, Debug)]
pub struct Static {
    /// Its name.
    pub name: Name,
    /// Span of the name.
    pub span: Span,
    /// Its type.
    pub ty: Ty,
    /// `mut`
    pub is_mut: bool,
    /// Its initializer; `None` means all zeros. Initializers of statics have no cycles.
    pub init: Option<Expr>,
    /// The other values that `#[tune(..)]` allows; never part of the program.
    pub candidates: Vec<Expr>,
    /// How it is linked.
    pub linkage: Linkage,
}

/// A local variable.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name; may be `return`, `break` or `continue`.
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
    /// Its kind.
    pub kind: ExprKind,
    /// Its type; `!` if it never produces a value.
    pub ty: Ty,
    /// Its span.
    pub span: Span,
}

/// The kinds of expressions.
///
/// `Local`, `Static`, `Field`, `Index` and `Deref` are *places* if their
/// base is one. Reading a place is a load or the current value of a variable.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A literal of primitive type: its bits, zero-extended.
    Lit(u64),
    /// A string: an array of `u8` with its terminating zero.
    Str(Vec<u8>),
    /// The value of an integer parameter.
    Number(Ty),
    /// A local variable, `return`/`break`/`continue` included.
    Local(LocalId),
    /// A static variable.
    Static(StaticId),
    /// A function as a value, with its own arguments, types and numbers.
    Fn(FnId, Vec<Ty>),
    /// A parameter that takes a generic function, with arguments for that one.
    FnParam(LocalId, Vec<Ty>),
    /// An option with payload, or a tuple-like struct, as a function.
    Constructor(Constructor),

    /// `(a, b)`
    Tuple(Vec<Expr>),
    /// `[a, b]`, `simd[a, b]`; the type says which.
    Array(Vec<Expr>),
    /// `[v, .. n]`, `simd[v; n]`; the type has the length.
    Repeat(Box<Expr>),
    /// `~[n: T]`: uninitialized elements on the heap.
    HeapArray {
        /// The number of elements; any integer type.
        len: Box<Expr>,
        /// The element type.
        elem: Ty,
    },
    /// `~e`: a copy on the heap.
    Box(Box<Expr>),
    /// `S { .. }` and `e.{ .. }`.
    Struct {
        /// The struct whose other fields are copied.
        base: Option<Box<Expr>>,
        /// Field number and value, in source order; defaults come last. Without a base,
        /// every field occurs once.
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
        /// The value; `None` means unit, or an unreachable end if the type is `!`.
        value: Option<Box<Expr>>,
    },
    /// `if` and `if let`.
    If {
        /// Conditions with their values, tried in order.
        arms: Vec<(Cond, Expr)>,
        /// The value if no condition holds; `None` means unit.
        other: Option<Box<Expr>>,
    },
    /// `match`: the first arm that matches; together they are exhaustive.
    Match {
        /// The matched value.
        scrutinee: Box<Expr>,
        /// The arms.
        arms: Vec<(Pat, Expr)>,
    },
    /// `while` and `while let`.
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
        /// The indexed value.
        base: Box<Expr>,
        /// The index; any integer type.
        index: Box<Expr>,
    },
    /// Part `index` of a struct or tuple.
    Field {
        /// Of what.
        base: Box<Expr>,
        /// Which.
        index: u32,
    },
    /// `*p`; also implicit, for an index or a field of a pointer's target.
    Deref(Box<Expr>),
    /// `&p`, `&mut p`; `&v` of a value stores it first.
    AddrOf(Box<Expr>),

    /// `-e`
    Neg(Box<Expr>),
    /// `!e`
    Not(Box<Expr>),
    /// Operators of one level, from left to right; all but the comparisons and those that are declared keep
    /// the operands' type. `&&` and `||` are chains of their own.
    Chain {
        /// The leftmost operand.
        first: Box<Expr>,
        /// The rest; each link has the type and the span of the chain up to it.
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
        /// The function that computes a declared operator.
        by: Option<Box<OperatorFn>>,
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
        /// The conversion.
        kind: Coercion,
        /// The converted value.
        expr: Box<Expr>,
    },
    /// `?e`
    Known(Box<Expr>),
    /// `$e`
    Hide(Box<Expr>),
    /// An access to a value of unknown type, by its number; only while a body is checked.
    Deferred(u32),
    /// An expression with an error.
    Error,
}

/// A function that builds a value.
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
    /// From `!` to any type.
    Never,
    /// A scalar in each lane of a vector.
    Broadcast,
    /// A function to what stands for it in the type of a parameter that takes a generic function. Its value is empty.
    Generic,
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
    /// The function that computes a declared operator.
    pub by: Option<Box<OperatorFn>>,
}

/// The function of a declared operator, which takes the operands.
#[derive(Clone, Debug)]
pub struct OperatorFn {
    /// The function, an [`ExprKind::Fn`].
    pub callee: Expr,
    /// Whether the result is negated: `a != b` by `a == b`.
    pub is_negated: bool,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `let p = e;` with an irrefutable pattern; without a value the variables are uninitialized.
    Let {
        /// The pattern.
        pat: Pat,
        /// The value.
        init: Option<Expr>,
    },
    /// An expression for its effects.
    Expr(Expr),
    /// The definition of a nested function. The functions of a block may refer to each
    /// other, and are defined at its beginning.
    Fn(FnId),
}

/// A condition.
#[derive(Clone, Debug)]
pub enum Cond {
    /// A `bool`.
    Expr(Expr),
    /// `let p = e`: whether `e` matches `p`.
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
    /// Its return continuation: `return`, `continue` of a `for`, or `break` of
    /// a `with`; `None` for a continuation.
    pub return_local: Option<LocalId>,
    /// Its body.
    pub body: Expr,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The callee.
    pub callee: Expr,
    /// The arguments, one for each parameter; in a jump to a function with a result,
    /// one more: the return continuation.
    pub args: Vec<Expr>,
    /// Whether the call is a jump: it passes the return continuation, and never returns.
    pub is_jump: bool,
    /// The mark for the partial evaluator: `@@f(..)`, `@run f(..)`, ..
    pub mark: Option<MarkKind>,
    /// The return continuation of this call, as `break` in the body of a `for`.
    pub break_local: Option<LocalId>,
    /// Whether the arguments are evaluated before the callee, as in a `for` of Impala.
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
    /// Its kind.
    pub kind: PatKind,
    /// The type of the matched value.
    pub ty: Ty,
    /// Its span.
    pub span: Span,
}

/// The kinds of patterns.
#[derive(Clone, Debug)]
pub enum PatKind {
    /// Anything.
    Wild,
    /// A name, and a pattern that the value must match as well.
    Bind(LocalId, Option<Box<Pat>>),
    /// A literal: its bits.
    Lit(u64),
    /// The parts of a tuple, array or simd value: all of them.
    Parts(Vec<Pat>),
    /// Fields of a struct.
    Struct(Vec<(u32, Pat)>),
    /// An option of an enum with its payload.
    Variant(u32, Vec<(u32, Pat)>),
    /// A pattern with an error.
    Error,
}
