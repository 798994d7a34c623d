//! The form that programs are executed in.
//!
//! A top-level continuation with all that is nested in it is one [`Scope`] of
//! blocks, one for each continuation. The blocks share one numbering of
//! registers: a value keeps its register in all blocks that its own block
//! dominates, and blocks that do not dominate each other use the same numbers.
//! So a jump between blocks only sets parameters, and a closure is a block with
//! a copy of the registers that the block needs, its `live` ones.
//!
//! A call never comes back, so there is only one set of registers at any time:
//! a caller's values live on in the closure it passed as return continuation.
//!
//! Registers below [`FRAME`] hold constants of the whole program.

use std::ops::Range;
use std::rc::Rc;

use nyala_ir::{ArithOp, CmpOp, Cont, Def, Intrinsic, Prim};
use nyala_span::Span;

use crate::memory::shape::Shape;

/// A register.
pub(crate) type Reg = u32;

/// The first register of a scope; those before it hold constants.
pub(crate) const FRAME: Reg = 2048;

/// A compiled top-level continuation.
pub(crate) struct Scope {
    /// Its own number.
    pub(crate) id: u32,
    /// The entry first; the others in reverse post order.
    pub(crate) blocks: Vec<Block>,
    pub(crate) ops: Vec<Op>,
    /// The node that each operation comes from.
    pub(crate) defs: Vec<Def>,
    /// Operands of operations and calls.
    pub(crate) pool: Vec<Reg>,
    pub(crate) shapes: Vec<Rc<Shape>>,
    /// One past the last register.
    pub(crate) end: Reg,
}

impl Scope {
    pub(crate) fn list(&self, list: List) -> &[Reg] {
        &self.pool[list.start as usize..][..list.len as usize]
    }
}

/// A continuation.
pub(crate) struct Block {
    pub(crate) cont: Cont,
    pub(crate) span: Span,
    /// Where its values begin; what is live is below.
    pub(crate) start: Reg,
    /// Its parameters' registers, memory tokens left out.
    pub(crate) params: Vec<Reg>,
    pub(crate) ops: Range<u32>,
    pub(crate) term: Term,
    /// The registers that it and all that follows it needs, in ascending order.
    pub(crate) live: Vec<Reg>,
    /// Those of `live` that are pointers, by position.
    pub(crate) live_ptrs: Vec<u32>,
    /// Those of `live` that may hold closures or aggregates.
    pub(crate) live_owning: Vec<Reg>,
    /// The registers it sets itself that may hold closures or aggregates. They are
    /// cleared when the scope is left, so that nothing lives longer than it should.
    pub(crate) owning: Vec<Reg>,
    /// Whether it is a function, with a return continuation: it has local
    /// variables of its own.
    pub(crate) is_fn: bool,
    /// How many functions of the scope it is nested in.
    pub(crate) depth: u32,
    /// The function of the scope that it belongs to.
    pub(crate) owner: u32,
    /// Where that function's return continuation is.
    pub(crate) ret: Option<Reg>,
    /// The loops of that function that it is in, each by its first block, the outermost first; functions that
    /// call themselves are none.
    pub(crate) loops: Vec<u32>,
    /// Whether the innermost of them is entered here.
    pub(crate) is_head: bool,
}

/// Registers in a scope's pool.
#[derive(Clone, Copy)]
pub(crate) struct List {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// What a block does at its end.
pub(crate) enum Term {
    /// Goes on in another block; the parameters are set all at once.
    Jump {
        block: u32,
        args: List,
        /// Whether no parameter is set that a later argument reads.
        in_order: bool,
    },
    Branch {
        cond: Reg,
        then: Target,
        other: Target,
    },
    Switch {
        value: Reg,
        default: Target,
        cases: Vec<(u64, Target)>,
    },
    Unreachable,
    /// Calls a top-level continuation.
    Call {
        cont: Cont,
        args: List,
    },
    /// Calls a value.
    CallValue {
        callee: Reg,
        args: List,
    },
    /// Calls what is defined outside, or what the interpreter knows. The
    /// continuation to go on with is not among the arguments.
    Native {
        cont: Cont,
        intrinsic: Option<Intrinsic>,
        args: List,
        ret: Target,
    },
    /// The end of a constant expression: nothing follows.
    Stop,
}

/// Where control goes on with no arguments, or with results yet to come.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    Block(u32),
    Value(Reg),
    /// Nowhere: the callee was given no continuation.
    None,
}

macro_rules! ops {
    ($($fast:ident),*) => {
        /// An operation on registers.
        #[derive(Clone, Copy)]
        pub(crate) enum Op {
            $(#[allow(missing_docs)] $fast { dst: Reg, a: Reg, b: Reg },)*
            Arith { op: ArithOp, prim: Prim, wrap: bool, dst: Reg, a: Reg, b: Reg },
            Cmp { op: CmpOp, prim: Prim, dst: Reg, a: Reg, b: Reg },
            Cast { from: Prim, to: Prim, dst: Reg, a: Reg },
            Select { dst: Reg, cond: Reg, then: Reg, other: Reg },
            /// Any other operation without effect; the node says which.
            Node { dst: Reg, args: List },
            Aggregate { dst: Reg, args: List },
            Extract { dst: Reg, agg: Reg, index: u32 },
            /// A constant that has no register of its own.
            Const { dst: Reg, index: u32 },
            /// A closure of a block over the registers that are live there.
            Closure { dst: Reg, block: u32 },
            LoadPrim { dst: Reg, ptr: Reg, prim: Prim },
            LoadPtr { dst: Reg, ptr: Reg },
            Load { dst: Reg, ptr: Reg, shape: u32 },
            StorePrim { ptr: Reg, value: Reg, prim: Prim },
            StorePtr { ptr: Reg, value: Reg },
            Store { ptr: Reg, value: Reg, shape: u32 },
            /// Lanes, each a scalar of the shape, where the mask is set.
            LoadLanes { dst: Reg, ptr: Reg, mask: Reg, shape: u32 },
            StoreLanes { ptr: Reg, mask: Reg, value: Reg, shape: u32 },
            Slot { dst: Reg, shape: u32 },
            Alloc { dst: Reg, count: Reg, shape: u32 },
            /// The address of a part at a fixed offset.
            Field { dst: Reg, ptr: Reg, offset: u32 },
            /// The address of an element; the shape is the element's.
            Element { dst: Reg, ptr: Reg, index: Reg, prim: Prim, shape: u32 },
        }

        impl Op {
            /// The register that is set.
            pub(crate) fn dst(&self) -> Option<Reg> {
                match *self {
                    $(Op::$fast { dst, .. } => Some(dst),)*
                    Op::Arith { dst, .. }
                    | Op::Cmp { dst, .. }
                    | Op::Cast { dst, .. }
                    | Op::Select { dst, .. }
                    | Op::Node { dst, .. }
                    | Op::Aggregate { dst, .. }
                    | Op::Extract { dst, .. }
                    | Op::Const { dst, .. }
                    | Op::Closure { dst, .. }
                    | Op::LoadPrim { dst, .. }
                    | Op::LoadPtr { dst, .. }
                    | Op::Load { dst, .. }
                    | Op::LoadLanes { dst, .. }
                    | Op::Slot { dst, .. }
                    | Op::Alloc { dst, .. }
                    | Op::Field { dst, .. }
                    | Op::Element { dst, .. } => Some(dst),
                    Op::StorePrim { .. } | Op::StorePtr { .. } | Op::Store { .. } | Op::StoreLanes { .. } => None,
                }
            }
        }
    };
}

ops! {
    AddI32, SubI32, MulI32, LtI32, LeI32, GtI32, GeI32,
    AddI64, SubI64, MulI64, LtI64, LeI64, GtI64, GeI64,
    AddU32, SubU32, MulU32, LtU32, LeU32, GtU32, GeU32,
    AddU64, SubU64, MulU64, LtU64, LeU64, GtU64, GeU64,
    AddF32, SubF32, MulF32, DivF32, LtF32, LeF32, GtF32, GeF32,
    AddF64, SubF64, MulF64, DivF64, LtF64, LeF64, GtF64, GeF64,
    And, Or, Xor, EqInt, NeInt
}

impl Op {
    /// Whether it touches memory.
    pub(crate) fn has_effect(&self) -> bool {
        matches!(
            self,
            Op::LoadPrim { .. }
                | Op::LoadPtr { .. }
                | Op::Load { .. }
                | Op::StorePrim { .. }
                | Op::StorePtr { .. }
                | Op::Store { .. }
                | Op::LoadLanes { .. }
                | Op::StoreLanes { .. }
                | Op::Slot { .. }
                | Op::Alloc { .. }
        )
    }

    /// The operation that is made for this operator and type, if there is one.
    pub(crate) fn fast_arith(op: ArithOp, prim: Prim, wrap: bool, dst: Reg, a: Reg, b: Reg) -> Option<Op> {
        use ArithOp::{Add, And, Div, Mul, Or, Sub, Xor};
        Some(match (op, prim) {
            (And, _) => Op::And { dst, a, b },
            (Or, _) => Op::Or { dst, a, b },
            (Xor, _) => Op::Xor { dst, a, b },
            (Add, Prim::U32) => Op::AddU32 { dst, a, b },
            (Sub, Prim::U32) => Op::SubU32 { dst, a, b },
            (Mul, Prim::U32) => Op::MulU32 { dst, a, b },
            (Add, Prim::U64) => Op::AddU64 { dst, a, b },
            (Sub, Prim::U64) => Op::SubU64 { dst, a, b },
            (Mul, Prim::U64) => Op::MulU64 { dst, a, b },
            (Add, Prim::F32) => Op::AddF32 { dst, a, b },
            (Sub, Prim::F32) => Op::SubF32 { dst, a, b },
            (Mul, Prim::F32) => Op::MulF32 { dst, a, b },
            (Div, Prim::F32) => Op::DivF32 { dst, a, b },
            (Add, Prim::F64) => Op::AddF64 { dst, a, b },
            (Sub, Prim::F64) => Op::SubF64 { dst, a, b },
            (Mul, Prim::F64) => Op::MulF64 { dst, a, b },
            (Div, Prim::F64) => Op::DivF64 { dst, a, b },
            _ if wrap => return None,
            (Add, Prim::I32) => Op::AddI32 { dst, a, b },
            (Sub, Prim::I32) => Op::SubI32 { dst, a, b },
            (Mul, Prim::I32) => Op::MulI32 { dst, a, b },
            (Add, Prim::I64) => Op::AddI64 { dst, a, b },
            (Sub, Prim::I64) => Op::SubI64 { dst, a, b },
            (Mul, Prim::I64) => Op::MulI64 { dst, a, b },
            _ => return None,
        })
    }

    /// The operation that is made for this comparison and type, if there is one.
    pub(crate) fn fast_cmp(op: CmpOp, prim: Prim, dst: Reg, a: Reg, b: Reg) -> Option<Op> {
        use CmpOp::{Eq, Ge, Gt, Le, Lt, Ne};
        Some(match (op, prim) {
            (Eq, prim) if !prim.is_float() => Op::EqInt { dst, a, b },
            (Ne, prim) if !prim.is_float() => Op::NeInt { dst, a, b },
            (Lt, Prim::I32) => Op::LtI32 { dst, a, b },
            (Le, Prim::I32) => Op::LeI32 { dst, a, b },
            (Gt, Prim::I32) => Op::GtI32 { dst, a, b },
            (Ge, Prim::I32) => Op::GeI32 { dst, a, b },
            (Lt, Prim::I64) => Op::LtI64 { dst, a, b },
            (Le, Prim::I64) => Op::LeI64 { dst, a, b },
            (Gt, Prim::I64) => Op::GtI64 { dst, a, b },
            (Ge, Prim::I64) => Op::GeI64 { dst, a, b },
            (Lt, Prim::U32) => Op::LtU32 { dst, a, b },
            (Le, Prim::U32) => Op::LeU32 { dst, a, b },
            (Gt, Prim::U32) => Op::GtU32 { dst, a, b },
            (Ge, Prim::U32) => Op::GeU32 { dst, a, b },
            (Lt, Prim::U64) => Op::LtU64 { dst, a, b },
            (Le, Prim::U64) => Op::LeU64 { dst, a, b },
            (Gt, Prim::U64) => Op::GtU64 { dst, a, b },
            (Ge, Prim::U64) => Op::GeU64 { dst, a, b },
            (Lt, Prim::F32) => Op::LtF32 { dst, a, b },
            (Le, Prim::F32) => Op::LeF32 { dst, a, b },
            (Gt, Prim::F32) => Op::GtF32 { dst, a, b },
            (Ge, Prim::F32) => Op::GeF32 { dst, a, b },
            (Lt, Prim::F64) => Op::LtF64 { dst, a, b },
            (Le, Prim::F64) => Op::LeF64 { dst, a, b },
            (Gt, Prim::F64) => Op::GtF64 { dst, a, b },
            (Ge, Prim::F64) => Op::GeF64 { dst, a, b },
            _ => return None,
        })
    }
}
