//! The code that the interpreter executes.
//!
//! A top-level continuation with all that is nested in it is one [`Scope`] of
//! blocks, one for each continuation. The blocks share one numbering of
//! registers: a value keeps its register in all blocks that its own block
//! dominates, and blocks that do not dominate each other use the same numbers.
//! So a jump between blocks only sets parameters. A closure is a block with a copy
//! of its `live` registers.
//!
//! A call never returns, so there is one set of registers at any time: the closure
//! that a caller passes as return continuation has captured the caller's values.
//!
//! Registers below [`FRAME`] hold constants of the whole program.

use std::ops::Range;
use std::rc::Rc;

use nyala_ir::{ArithOp, CmpOp, Cont, Def, Intrinsic, Prim};
use nyala_span::Span;

use crate::memory::shape::Shape;

/// A register.
pub(crate) type Reg = u32;

/// The first register of a scope; the registers before it hold constants.
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
    /// The first register of its own values; live registers are below.
    pub(crate) start: Reg,
    /// Its parameters' registers, memory tokens left out.
    pub(crate) params: Vec<Reg>,
    pub(crate) ops: Range<u32>,
    pub(crate) term: Term,
    /// The registers that are live at its start, in ascending order.
    pub(crate) live: Vec<Reg>,
    /// Those of `live` that are pointers, by position.
    pub(crate) live_ptrs: Vec<u32>,
    /// Those of `live` that may hold closures or aggregates.
    pub(crate) live_owning: Vec<Reg>,
    /// The registers it sets itself that may hold closures or aggregates. They are
    /// cleared when control leaves the scope, so that their values are dropped.
    pub(crate) owning: Vec<Reg>,
    /// Whether it is a function, with a return continuation and its own local
    /// variables.
    pub(crate) is_fn: bool,
    /// How many functions of the scope it is nested in.
    pub(crate) depth: u32,
    /// The function of the scope that it belongs to.
    pub(crate) owner: u32,
    /// The register of that function's return continuation.
    pub(crate) ret: Option<Reg>,
    /// The loops of that function that contain it, each by its header, the outermost first. Recursion is not a
    /// loop here.
    pub(crate) loops: Vec<u32>,
    /// Whether it is the header of the innermost one.
    pub(crate) is_header: bool,
}

/// Registers in a scope's pool.
#[derive(Clone, Copy)]
pub(crate) struct List {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// The terminator of a block.
pub(crate) enum Term {
    /// Jumps to another block; the parameters are set at once.
    Jump {
        block: u32,
        args: List,
        /// Whether the parameters can be set one by one: no argument reads a parameter that was set before.
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
    /// Calls an intrinsic or an external function. The return continuation is not
    /// among the arguments.
    Native {
        cont: Cont,
        intrinsic: Option<Intrinsic>,
        args: List,
        ret: Target,
    },
    /// The end of a constant expression.
    Stop,
}

/// The target of a branch, or the continuation of a native call.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    Block(u32),
    Value(Reg),
    /// The callee does not return.
    None,
}

/// The common pairs of operator and type that have an operation of their own. Each is [`nyala_ir::eval`],
/// specialized to the operator and the type.
///
/// Bitwise operators and equality on `U64` serve all types except floats.
macro_rules! fast_ops {
    ($callback:ident) => {
        $callback! {
            arith {
                AddI32 Add I32, SubI32 Sub I32, MulI32 Mul I32,
                AddI64 Add I64, SubI64 Sub I64, MulI64 Mul I64,
                AddU32 Add U32, SubU32 Sub U32, MulU32 Mul U32,
                AddU64 Add U64, SubU64 Sub U64, MulU64 Mul U64,
                AddF32 Add F32, SubF32 Sub F32, MulF32 Mul F32, DivF32 Div F32,
                AddF64 Add F64, SubF64 Sub F64, MulF64 Mul F64, DivF64 Div F64,
                And And U64, Or Or U64, Xor Xor U64,
            }
            cmp {
                LtI32 Lt I32, LeI32 Le I32, GtI32 Gt I32, GeI32 Ge I32,
                LtI64 Lt I64, LeI64 Le I64, GtI64 Gt I64, GeI64 Ge I64,
                LtU32 Lt U32, LeU32 Le U32, GtU32 Gt U32, GeU32 Ge U32,
                LtU64 Lt U64, LeU64 Le U64, GtU64 Gt U64, GeU64 Ge U64,
                LtF32 Lt F32, LeF32 Le F32, GtF32 Gt F32, GeF32 Ge F32,
                LtF64 Lt F64, LeF64 Le F64, GtF64 Gt F64, GeF64 Ge F64,
                Eq Eq U64, Ne Ne U64,
            }
        }
    };
}
pub(crate) use fast_ops;

macro_rules! define_op {
    (
        arith { $($arith:ident $arith_op:ident $arith_prim:ident,)* }
        cmp { $($cmp:ident $cmp_op:ident $cmp_prim:ident,)* }
    ) => {
        /// An operation on registers.
        #[derive(Clone, Copy)]
        pub(crate) enum Op {
            $($arith { dst: Reg, a: Reg, b: Reg },)*
            $($cmp { dst: Reg, a: Reg, b: Reg },)*
            Arith { op: ArithOp, prim: Prim, wrap: bool, dst: Reg, a: Reg, b: Reg },
            Cmp { op: CmpOp, prim: Prim, dst: Reg, a: Reg, b: Reg },
            Cast { from: Prim, to: Prim, dst: Reg, a: Reg },
            Select { dst: Reg, cond: Reg, then: Reg, other: Reg },
            /// Any other operation without effect.
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
            /// A masked load; each lane is a scalar of the shape.
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
                    $(Op::$arith { dst, .. } => Some(dst),)*
                    $(Op::$cmp { dst, .. } => Some(dst),)*
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

            /// The operation for this operator and type, if there is one.
            pub(crate) fn fast_arith(
                op: ArithOp,
                prim: Prim,
                wrap: bool,
                dst: Reg,
                a: Reg,
                b: Reg,
            ) -> Option<Op> {
                // The operations for signed integers do not wrap.
                if wrap && prim.is_int() && prim.is_signed() && !is_bitwise(op) {
                    return None;
                }
                let prim = if is_bitwise(op) { any_bits(prim) } else { prim };
                match (op, prim) {
                    $((ArithOp::$arith_op, Prim::$arith_prim) => Some(Op::$arith { dst, a, b }),)*
                    _ => None,
                }
            }

            /// The operation for this comparison and type, if there is one.
            pub(crate) fn fast_cmp(op: CmpOp, prim: Prim, dst: Reg, a: Reg, b: Reg) -> Option<Op> {
                let prim = if matches!(op, CmpOp::Eq | CmpOp::Ne) { any_bits(prim) } else { prim };
                match (op, prim) {
                    $((CmpOp::$cmp_op, Prim::$cmp_prim) => Some(Op::$cmp { dst, a, b }),)*
                    _ => None,
                }
            }
        }
    };
}

fast_ops!(define_op);

/// Whether an operator works on single bits.
fn is_bitwise(op: ArithOp) -> bool {
    matches!(op, ArithOp::And | ArithOp::Or | ArithOp::Xor)
}

/// The type that represents all types with the same equality and bitwise operators.
fn any_bits(prim: Prim) -> Prim {
    if prim.is_float() { prim } else { Prim::U64 }
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
}
