//! What can be wrong with a program's names and types, and how it is said.
//!
//! Each rule is a variant of [`Error`]; `render` is the one place that turns it into a
//! diagnostic. Types in a variant are free of inference variables
//! that are known, so that people see what the checker knew.

mod render;

use nyala_span::{Diagnostic, Name, Span};

use crate::tree::{FnId, Program};
use crate::types::Ty;

/// What kind of thing a path should name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Namespace {
    Any,
    Value,
    Type,
    Pattern,
    /// What a longer path starts with.
    Module,
}

impl Namespace {
    fn noun(self) -> &'static str {
        match self {
            Namespace::Any => "name",
            Namespace::Value => "value",
            Namespace::Type => "type",
            Namespace::Pattern => "option or struct",
            Namespace::Module => "module or enum",
        }
    }
}

/// Why a type is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Because {
    /// The place says it all.
    Nothing,
    /// A parameter of this function, by number.
    Param(FnId, usize),
    /// Something written here.
    Written(Span),
    /// The result written here.
    Result(Span),
    /// The place that is assigned to.
    Place(Span),
    /// An arm before.
    Arm(Span),
    /// An element before.
    Elem(Span),
    /// The field declared here.
    Field(Span),
    /// A condition.
    Condition,
    /// A filter.
    Filter,
    /// An `if` without `else`.
    NoElse(Span),
}

/// What requires mutability.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Write {
    Assign,
    Step,
    Borrow,
    Asm,
}

impl Write {
    fn phrase(self) -> &'static str {
        match self {
            Write::Assign => "assign to",
            Write::Step => "change",
            Write::Borrow => "take `&mut` of",
            Write::Asm => "write to",
        }
    }
}

/// Why something cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frozen {
    /// A local variable or parameter without `mut`.
    Local(Name, Span),
    /// A static without `mut`.
    Static(Name, Span),
    /// Behind a pointer that is not `mut`.
    Pointer(Span, Ty),
}

/// An expression that has a wrong type, or one side of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Operand {
    pub ty: Ty,
    pub span: Span,
    /// Whether an operator behind it would belong to it as a whole.
    pub is_tight: bool,
}

/// Something wrong with a program.
#[derive(Clone, Debug)]
pub(crate) enum Error {
    // Types of expressions.
    CannotInfer { what: String, span: Span, name: Option<Name> },
    ArgumentCount { expected: usize, cps: bool, found: usize, span: Span, callee: Option<FnId>, ty: Ty },
    Mismatch { expected: Ty, found: Operand, because: Because, semicolon: Option<Span> },
    NotCallable { ty: Ty, span: Span },
    IndexType { ty: Ty, span: Span },
    IndexCount { found: usize, span: Span },
    TupleIndex { ty: Ty, span: Span },
    MissingFields { of: Name, names: Vec<Name>, span: Span },
    NoSuchField { ty: Ty, name: Name, span: Span, similar: Option<Name> },
    FieldTwice { name: Name, span: Span, first: Span },
    NoOperator { op: &'static str, ty: Ty, span: Span, op_span: Span },
    OperandTypes { op: &'static str, op_span: Span, lhs: Operand, rhs: Operand },
    BadCast { from: Ty, to: Ty, span: Span },
    NotAPointer { ty: Ty, span: Span },
    Generator { ty: Ty, n_args: usize, span: Span, artic: bool },
    BodyParams { expected: usize, found: usize, span: Span, ty: Ty },
    AsmOperand { ty: Ty, span: Span },
    Unreachable { span: Span, jump: Span },
    LiteralRange { text: String, ty: Ty, span: Span },
    InfiniteType { span: Span },
    TypeTooLarge { span: Span },
    TypeArgCount { what: String, expected: usize, found: usize, span: Span },
    NotGeneric { span: Span },
    StructNeeded { ty: Ty, span: Span },
    NoPayload { name: Name, span: Span },
    // Names.
    Undefined { name: Name, span: Span, similar: Option<Name>, is_in_super: bool, namespace: Namespace },
    Redefinition { name: Name, span: Span, first: Span, of_another_kind: bool },
    NoSuchMember { of: Name, name: Name, span: Span, what: &'static str, similar: Option<Name> },
    NotAModule { name: Name, span: Span },
    SuperAtRoot { span: Span },
    AnonymousUse { name: Name, span: Span },
    NotAValue { name: Name, what: &'static str, span: Span },
    NotAType { name: Name, what: &'static str, wanted: &'static str, span: Span },
    CyclicUse { span: Span },
    OuterGeneric { name: Name, span: Span },
    OuterLocal { name: Name, span: Span },
    // Items.
    InfiniteSize { name: Name, span: Span },
    CyclicAlias { name: Name, span: Span },
    Unsized { ty: Ty, span: Span },
    SimdElement { ty: Ty, span: Span },
    ArrayLength { span: Span, why: &'static str },
    UnknownAbi { abi: String, span: Span },
    LinkName { span: Span, why: &'static str },
    BadAttribute { span: Span, expected: &'static str },
    UnknownAttribute { name: Name, span: Span },
    ForeignGeneric { verb: &'static str, name: Name, span: Span },
    ExportNested { name: Name, span: Span },
    ForeignHigherOrder { verb: &'static str, name: Name, span: Span, ty: Ty },
    RecursiveResult { name: Name, span: Span, declared: Span },
    StaticCycle { name: Name, span: Span, declared: Span },
    StaticType { name: Name, span: Span },
    MainSignature { span: Span, ty: Ty },
    MainIsStatic { span: Span },
    ParamType { span: Span },
    MissingResult { span: Span },
    EmptyEnum { name: Name, span: Span },
    AddrSpace { span: Span },
    // Patterns.
    BoundTwice { name: Name, span: Span, first: Span },
    OptionArity { name: Name, expected: usize, found: usize, span: Span },
    PatternType { ty: Ty, span: Span, what: String },
    FloatPattern { span: Span },
    MissingFieldPatterns { of: Name, names: Vec<Name>, span: Span },
    // Mutability.
    Immutable { write: Write, frozen: Frozen, span: Span },
    NotAPlace { write: Write, span: Span },
    // Filters.
    FilterName { name: Name, span: Span },
    FilterEffect { span: Span },
    // Implicits.
    NoImplicit { ty: Ty, span: Span },
    AmbiguousImplicit { ty: Ty, span: Span, candidates: Vec<Span> },
    ImplicitNotLast { span: Span },
}

impl Error {
    /// The same, said of what the context needs.
    pub fn in_namespace(self, wanted: Namespace) -> Error {
        match self {
            Error::Undefined { name, span, similar, is_in_super, .. } => {
                Error::Undefined { name, span, similar, is_in_super, namespace: wanted }
            }
            other => other,
        }
    }

    /// What the user sees.
    pub fn render(self, program: &Program) -> Diagnostic {
        render::render(self, program)
    }
}
