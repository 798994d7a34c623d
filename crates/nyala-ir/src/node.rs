//! The kinds of nodes.
//!
//! A program is a set of *continuations*. A continuation has *parameters* and a
//! *body* that is one call; it never returns. Everything else is a *primitive
//! operation* on other nodes. There is no nesting: a continuation that uses
//! another one's parameter is nested in it by that very use.
//!
//! Side effects are ordered by a token of type `mem` that is threaded through
//! loads, stores, allocations and calls; each token is used once.
//!
//! # The standard shapes
//!
//! * A function `fn(A, B) -> R` of the source is `cn(mem, A, B, cn(mem, R))`; the
//!   result `()` gives `cn(mem)`, a tuple `(R, S)` gives `cn(mem, R, S)`.
//! * `branch(mem, cond, then, else)` with `then, else: cn(mem)`.
//! * `switch(mem, value, default, (lit, target)..)` with all targets `cn(mem)`.
//! * `unreachable(mem)`.
//! * Operations with an effect and a result have type `(mem, T)`; the parts are
//!   taken by `extract(op, 0)` and `extract(op, 1)`. Those without a result, such
//!   as `store`, have type `mem`.

use cranelift_entity::entity_impl;
use nyala_span::{Name, Span};

pub use crate::functions::{Intrinsic, MathOp};
use crate::types::Ty;

/// Any node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Def(u32);
entity_impl!(Def, "d");

/// A continuation; [`World::cont_def`](crate::World::cont_def) gives its node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cont(u32);
entity_impl!(Cont, "k");

/// A global variable or constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Global(u32);
entity_impl!(Global, "g");

/// Inline assembly, in [`World::asms`](crate::World).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AsmId(u32);
entity_impl!(AsmId, "asm");

/// A list of nodes in the world's pool; [`World::list`](crate::World::list) reads it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DefList {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl DefList {
    /// The nodes, from the pool that the list is in.
    pub(crate) fn of(self, pool: &[Def]) -> &[Def] {
        &pool[self.start as usize..][..self.len as usize]
    }
}

/// The arguments of a call, or the parameters of a continuation. They are mostly few, and each pass goes over those
/// of all continuations: so they are kept in place.
pub type Defs = smallvec::SmallVec<[Def; 4]>;

/// A node. Its type is stored separately.
#[derive(Clone, Copy, Debug)]
pub enum Node {
    /// A continuation.
    Cont(Cont),
    /// A parameter of a continuation.
    Param {
        /// Whose.
        cont: Cont,
        /// Which.
        index: u32,
    },
    /// The address of a global.
    Global(Global),

    /// A literal of primitive type: the bits of its value, zero-extended. A null
    /// pointer is a literal 0 of pointer type.
    Lit(u64),
    /// Any value of its type.
    Undef,

    /// `lhs op rhs` on integers, floats, bools, and lane by lane on simd.
    Arith {
        /// The operator.
        op: ArithOp,
        /// Its assumptions.
        flags: ArithFlags,
        /// The left operand.
        lhs: Def,
        /// The right operand, of the same type.
        rhs: Def,
    },
    /// `lhs op rhs`; `bool`, or `simd[bool * n]` for simd operands.
    Cmp {
        /// The operator.
        op: CmpOp,
        /// The left operand.
        lhs: Def,
        /// The right operand, of the same type.
        rhs: Def,
    },
    /// A mathematical function.
    Math {
        /// Which.
        op: MathOp,
        /// Its assumptions.
        flags: ArithFlags,
        /// Its arguments.
        args: DefList,
    },
    /// `value as ty`: the conversions of the language.
    Cast(Def),
    /// The same bits as another type.
    Bitcast(Def),
    /// `if cond { then } else { other }` without control flow; lane by lane if
    /// `cond` is `simd[bool * n]`.
    Select {
        /// The condition.
        cond: Def,
        /// The value if it holds.
        then: Def,
        /// The value otherwise.
        other: Def,
    },

    /// A tuple, struct, array or simd value from its parts; the type says which.
    Aggregate(DefList),
    /// Part `index` of an aggregate value.
    Extract {
        /// The aggregate.
        agg: Def,
        /// Which part: any integer type; a literal for tuples and structs.
        index: Def,
    },
    /// `agg` with part `index` replaced.
    Insert {
        /// The aggregate.
        agg: Def,
        /// Which part.
        index: Def,
        /// The new part.
        value: Def,
    },
    /// An enum value.
    Variant {
        /// Which option.
        option: u32,
        /// Its payload; the unit tuple if it has none.
        payload: Def,
    },
    /// The option number of an enum value, as `u32`.
    VariantTag(Def),
    /// The payload of an enum value that is known to be `option`.
    VariantPayload {
        /// Which option.
        option: u32,
        /// The enum value.
        value: Def,
    },

    /// `sizeof[T]()` as an integer of the node's type.
    SizeOf(Ty),
    /// `alignof[T]()` as an integer of the node's type.
    AlignOf(Ty),

    /// `?value`: whether the partial evaluator knows it. `false` once evaluation is over.
    Known(Def),
    /// `$value`: the value, hidden from the partial evaluator.
    Hide(Def),
    /// A callee whose call is annotated for the partial evaluator.
    Mark {
        /// How.
        mark: Mark,
        /// The callee.
        callee: Def,
    },
    /// The pointer, with a hint for non-temporal stores:
    /// stores may go past the caches. The same pointer in every other respect.
    Streaming(Def),

    /// Reads through a pointer; `(mem, T)`.
    Load {
        /// The memory.
        mem: Def,
        /// Where.
        ptr: Def,
    },
    /// Writes through a pointer; `mem`.
    Store {
        /// The memory.
        mem: Def,
        /// Where.
        ptr: Def,
        /// What.
        value: Def,
    },
    /// A fresh local variable each time it is executed; `(mem, &T)`. It lives until
    /// the function that executes it is left and no closure made there is left.
    Slot {
        /// The memory.
        mem: Def,
    },
    /// `count` elements on the heap; `(mem, &[T])`.
    Alloc {
        /// The memory.
        mem: Def,
        /// How many, as `i64`.
        count: Def,
    },
    /// The address of part `index` of the target of `ptr`. On a pointer to
    /// `[T]` or `[T * n]` the index is any integer, also negative; on a tuple or
    /// struct it is a literal. Either may have lanes, and then the address does.
    Lea {
        /// The address.
        ptr: Def,
        /// Which part.
        index: Def,
    },
    /// Computes `value`, which may fail, whether or not anything uses it; `mem`. See
    /// Note [Operations that must not be dropped].
    Demand {
        /// The memory.
        mem: Def,
        /// An operation that may fail.
        value: Def,
    },
    /// Reads a scalar for each lane of `mask` that is set, and leaves the others
    /// undefined; `(mem, simd[T * n])`.
    LoadLanes {
        /// The memory.
        mem: Def,
        /// The addresses: `simd[&T * n]`, or `&T` of lane 0 if they are contiguous.
        ptr: Def,
        /// The active lanes: `simd[bool * n]`.
        mask: Def,
    },
    /// Writes a scalar for each lane of `mask` that is set, the last lane last; `mem`.
    StoreLanes {
        /// The memory.
        mem: Def,
        /// Where, as for [`Node::LoadLanes`].
        ptr: Def,
        /// The active lanes.
        mask: Def,
        /// What: `simd[T * n]`.
        value: Def,
    },
    /// An operation across lanes.
    Lanes {
        /// Which.
        op: LaneOp,
        /// Its arguments, all simd with the same number of lanes.
        args: DefList,
    },
    /// Inline assembly; operands are `mem` and the inputs; `(mem, outputs..)`.
    Asm {
        /// The assembly.
        asm: AsmId,
        /// `mem`, then the inputs.
        args: DefList,
    },
}

/// Arithmetic operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum ArithOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

impl ArithOp {
    /// All of them.
    pub const ALL: [ArithOp; 10] = [
        ArithOp::Add,
        ArithOp::Sub,
        ArithOp::Mul,
        ArithOp::Div,
        ArithOp::Rem,
        ArithOp::And,
        ArithOp::Or,
        ArithOp::Xor,
        ArithOp::Shl,
        ArithOp::Shr,
    ];

    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            ArithOp::Add => "add",
            ArithOp::Sub => "sub",
            ArithOp::Mul => "mul",
            ArithOp::Div => "div",
            ArithOp::Rem => "rem",
            ArithOp::And => "and",
            ArithOp::Or => "or",
            ArithOp::Xor => "xor",
            ArithOp::Shl => "shl",
            ArithOp::Shr => "shr",
        }
    }

    /// Its sign in source text, Impala's and C's.
    pub fn sign(self) -> &'static str {
        match self {
            ArithOp::Add => "+",
            ArithOp::Sub => "-",
            ArithOp::Mul => "*",
            ArithOp::Div => "/",
            ArithOp::Rem => "%",
            ArithOp::And => "&",
            ArithOp::Or => "|",
            ArithOp::Xor => "^",
            ArithOp::Shl => "<<",
            ArithOp::Shr => ">>",
        }
    }
}

/// Assumptions of an operation beyond the strict meaning of its operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ArithFlags {
    /// Signed overflow wraps around instead of being a program error.
    pub wrap: bool,
    /// Floats may be treated as real numbers.
    pub fast: bool,
}

impl ArithFlags {
    /// Overflow is an error, floats are IEEE.
    pub const STRICT: ArithFlags = ArithFlags { wrap: false, fast: false };
    /// Overflow wraps, floats are IEEE.
    pub const WRAP: ArithFlags = ArithFlags { wrap: true, fast: false };
}

/// Comparisons. With NaN all are false but `Ne`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CmpOp {
    /// All of them.
    pub const ALL: [CmpOp; 6] = [CmpOp::Eq, CmpOp::Ne, CmpOp::Lt, CmpOp::Le, CmpOp::Gt, CmpOp::Ge];

    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            CmpOp::Eq => "eq",
            CmpOp::Ne => "ne",
            CmpOp::Lt => "lt",
            CmpOp::Le => "le",
            CmpOp::Gt => "gt",
            CmpOp::Ge => "ge",
        }
    }

    /// Its sign in source text, Impala's and C's.
    pub fn sign(self) -> &'static str {
        match self {
            CmpOp::Eq => "==",
            CmpOp::Ne => "!=",
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
        }
    }
}

/// A mark of a call for the partial evaluator. It never changes the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Mark {
    /// The call is specialized on all arguments.
    Force,
    /// The evaluator unfolds the callee and its calls.
    Run,
    /// The evaluator stays out of the callee.
    Halt,
}

impl Mark {
    /// All of them.
    pub const ALL: [Mark; 3] = [Mark::Force, Mark::Run, Mark::Halt];

    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Mark::Force => "force",
            Mark::Run => "run",
            Mark::Halt => "halt",
        }
    }
}

/// Operations across lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LaneOp {
    /// Whether one lane of `simd[bool * n]` is true; `bool`.
    Any,
    /// Whether all lanes of `simd[bool * n]` are true; `bool`.
    All,
    /// The lanes of `simd[bool * n]` as bits, the first one lowest; `u64`. At most 64 lanes.
    Ballot,
    /// Each lane of the first as the second, `simd[i32 * n]`, says. A lane that there is not
    /// is undefined.
    Permute,
    /// The lanes of the first where the second, `simd[bool * n]`, is true, moved to the
    /// front in order. The other lanes keep their value.
    Compress,
    /// The first lanes of the first, moved in order to where the second, `simd[bool * n]`, is true.
    /// The other lanes keep their value.
    Expand,
}

impl LaneOp {
    /// All of them.
    pub const ALL: [LaneOp; 6] =
        [LaneOp::Any, LaneOp::All, LaneOp::Ballot, LaneOp::Permute, LaneOp::Compress, LaneOp::Expand];

    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            LaneOp::Any => "any",
            LaneOp::All => "all",
            LaneOp::Ballot => "ballot",
            LaneOp::Permute => "permute",
            LaneOp::Compress => "compress",
            LaneOp::Expand => "expand",
        }
    }

    /// How many arguments it takes.
    pub fn arity(self) -> usize {
        match self {
            LaneOp::Any | LaneOp::All | LaneOp::Ballot => 1,
            LaneOp::Permute | LaneOp::Compress | LaneOp::Expand => 2,
        }
    }
}

/// A call: the body of a continuation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body {
    /// The callee: a node of continuation type, possibly in a [`Node::Mark`].
    pub callee: Def,
    /// The arguments.
    pub args: Defs,
    /// The span of the call.
    pub span: Span,
}

/// A continuation.
#[derive(Clone, Debug)]
pub struct ContData {
    /// For people to read; need not be unique.
    pub name: Name,
    /// Its span.
    pub span: Span,
    /// Its type: a `cn`.
    pub ty: Ty,
    /// Its node.
    pub def: Def,
    /// Its parameters.
    pub params: Defs,
    /// For each parameter, when to specialize on it: a `bool` over the parameters.
    /// Empty means never, for all.
    pub filter: Defs,
    /// Its body; `None` for declarations.
    pub body: Option<Body>,
    /// How it is known outside.
    pub linkage: Linkage,
}

/// How a continuation or global is known outside the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Linkage {
    /// Not at all.
    Internal,
    /// Under this symbol.
    Exported(Name),
    /// Defined outside of the program, with the C calling convention.
    Imported(Name),
    /// Known to the target's compiler under this name (`extern "device"`).
    Device(Name),
    /// Known to this compiler.
    Intrinsic(Intrinsic),
    /// For debuggers: a global that represents the variables of this name and type in all functions. It is
    /// written where such a variable gets a value without a name of its own. It is never read.
    Debugger,
}

/// A global.
#[derive(Clone, Debug)]
pub struct GlobalData {
    /// Its name.
    pub name: Name,
    /// Its span.
    pub span: Span,
    /// The type of its value; its node is a pointer to it.
    pub ty: Ty,
    /// Whether the program may write to it.
    pub is_mut: bool,
    /// Its first value, a constant; set once. None is all zeros.
    pub init: Option<Def>,
    /// Its node.
    pub def: Def,
    /// How it is known outside.
    pub linkage: Linkage,
}

/// Inline assembly, in LLVM's notation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AsmData {
    /// The template.
    pub template: Vec<u8>,
    /// Constraints of the outputs.
    pub outputs: Vec<Vec<u8>>,
    /// Constraints of the inputs.
    pub inputs: Vec<Vec<u8>>,
    /// Clobbers.
    pub clobbers: Vec<Vec<u8>>,
    /// `volatile`, `alignstack`, `intel`.
    pub options: Vec<Vec<u8>>,
}
