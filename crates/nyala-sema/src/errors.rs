//! Errors of name resolution and type checking.
//!
//! Each rule is a variant of [`Error`]; `render` is the one place that turns it into a
//! diagnostic. In the types of a variant, inference variables
//! are replaced by what was inferred.

mod operators;
mod render;

use nyala_span::{Diagnostic, Name, Span};

use crate::tree::{FnId, Program};
use crate::types::{Prim, Ty, TyParam};

/// The kind of definition that a path must name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Namespace {
    Any,
    Value,
    Type,
    Pattern,
    /// The start of a longer path.
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
    /// The context is obvious from the source.
    Nothing,
    /// The parameter with this number.
    Param(FnId, usize),
    /// A type that is written here.
    Written(Span),
    /// The result written here.
    Result(Span),
    /// The target of an assignment.
    Place(Span),
    /// An earlier arm.
    Arm(Span),
    /// An earlier element.
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

/// An operation that needs a mutable place.
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

/// Why a place is immutable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ImmutablePlace {
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
    /// Whether a postfix operator would apply to the whole expression.
    pub is_tight: bool,
}

/// What a field of a value without fields was probably meant to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// A function of this name.
    Function(Name),
    /// The length of an array.
    Length,
}

/// No declared operator fits these operands.
#[derive(Clone, Debug)]
pub(crate) struct NoDeclaredOperator {
    pub operator: &'static str,
    pub op_span: Span,
    pub operands: Vec<Operand>,
    /// Those that are declared for the type of one operand.
    pub close: Vec<FnId>,
    /// Whether the package may declare it.
    pub can_declare: bool,
}

/// What an undefined name was probably meant to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Hint {
    None,
    /// A name of the parent module.
    Super,
    /// A name of this dependency.
    Dependency(Name),
    /// A similar name.
    Similar(Name),
    /// Names that begin like this one: `print_i32` for `print`.
    Prefix(Vec<Name>),
    /// The last name of the path, which is known without a path.
    Alone(Name),
}

/// An error in a program.
#[derive(Clone, Debug)]
pub(crate) enum Error {
    // Types of expressions.
    CannotInfer { what: String, span: Span, name: Option<Name> },
    CannotInferNumber { name: Name, span: Span },
    LengthMismatch { expected: Ty, found: Ty, span: Span },
    ArgumentCount { expected: usize, cps: bool, found: usize, span: Span, callee: Option<FnId>, ty: Ty },
    Mismatch { expected: Ty, found: Operand, because: Because, semicolon: Option<Span> },
    NotCallable { ty: Ty, span: Span },
    IndexType { ty: Ty, span: Span },
    IndexCount { found: usize, span: Span },
    TupleIndex { ty: Ty, span: Span },
    MissingFields { of: Name, names: Vec<Name>, span: Span },
    NoSuchField { ty: Ty, name: Name, span: Span, similar: Option<Name> },
    FieldTwice { name: Name, span: Span, first: Span },
    NoOperator { op: &'static str, ty: Ty, span: Span, op_span: Span, is_late: bool },
    OperandTypes { op: &'static str, op_span: Span, lhs: Operand, rhs: Operand },
    NoDeclaredOperator(NoDeclaredOperator),
    AmbiguousOperator { operator: &'static str, op_span: Span, fitting: Vec<FnId> },
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
    StructNeeded { ty: Ty, span: Span, method: Option<Method> },
    NoPayload { name: Name, span: Span },
    // Names.
    Undefined { name: Name, span: Span, hint: Hint, namespace: Namespace },
    Private { name: Name, span: Span, declared: Span, package: Option<Name> },
    AmbiguousGlob { name: Name, span: Span, places: [Span; 2] },
    UnknownExport { name: Name, span: Span, package: Option<Name> },
    NoModuleFile { name: Name, span: Span },
    Redefinition { name: Name, span: Span, first: Span, of_another_kind: bool },
    NoSuchMember { of: Name, name: Name, span: Span, what: &'static str, similar: Option<Name> },
    NotAModule { name: Name, span: Span },
    SuperAtRoot { span: Span },
    AnonymousUse { name: Name, span: Span },
    NotAValue { name: Name, what: &'static str, span: Span },
    NotAType { name: Name, what: &'static str, wanted: &'static str, span: Span },
    CyclicUse { span: Span },
    OuterGeneric { param: TyParam, span: Span },
    OuterLocal { name: Name, span: Span },
    // Items.
    InfiniteSize { name: Name, span: Span },
    CyclicAlias { name: Name, span: Span },
    Unsized { ty: Ty, span: Span },
    SimdElement { ty: Ty, span: Span },
    ArrayLength { span: Span, why: &'static str },
    NumberNeeded { span: Span },
    TypeNeeded { span: Span },
    NumberParamType { name: Name, span: Span },
    NumberRange { number: Ty, name: Name, prim: Prim, span: Span },
    UnknownAbi { abi: String, span: Span },
    LinkName { span: Span, why: &'static str },
    BadAttribute { span: Span, expected: &'static str },
    UnknownAttribute { name: Name, span: Span },
    RoleType { attribute: &'static str, name: Name, span: Span, why: String },
    ForeignGeneric { verb: &'static str, name: Name, span: Span },
    ExportNested { name: Name, span: Span },
    ForeignHigherOrder { verb: &'static str, name: Name, span: Span, ty: Ty },
    RecursiveResult { name: Name, span: Span, declared: Span },
    ReturnWithoutResult { name: Name, span: Span, declared: Span },
    StaticCycle { name: Name, span: Span, declared: Span },
    StaticType { name: Name, span: Span },
    MainIsStatic { span: Span },
    ParamType { span: Span },
    MissingResult { span: Span },
    GenericFnType { span: Span },
    GenericArgument { expected: Ty, found: Ty, params: Vec<Name>, span: Span },
    EmptyEnum { name: Name, span: Span },
    MalformedOperator { span: Span, why: String },
    ForeignOperator { span: Span, operands: Vec<(Ty, Span)>, is_call: bool },
    OperatorOverlap { operator: &'static str, span: Span, first: Span },
    AddrSpace { span: Span },
    // Patterns.
    BoundTwice { name: Name, span: Span, first: Span },
    OptionArity { name: Name, expected: usize, found: usize, span: Span },
    PatternType { ty: Ty, span: Span, what: String },
    FloatPattern { span: Span },
    MissingFieldPatterns { of: Name, names: Vec<Name>, span: Span },
    // Mutability.
    Immutable { write: Write, place: ImmutablePlace, span: Span },
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
    /// The same error for the namespace of the context.
    pub fn in_namespace(self, wanted: Namespace) -> Error {
        match self {
            Error::Undefined { name, span, hint, .. } => {
                Error::Undefined { name, span, hint, namespace: wanted }
            }
            other => other,
        }
    }

    /// The diagnostic.
    pub fn render(self, program: &Program) -> Diagnostic {
        render::render(self, program)
    }
}
