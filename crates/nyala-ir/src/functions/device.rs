//! Functions of kernels, by their names in CUDA, OpenCL and AMD's compiler.
//!
//! [`NAMES`] has a line for each name. Functions of numbers are in [`numbers`](super::numbers);
//! here are only those of their names that do not follow from the plain one.

use super::numbers::{MathOp, NumberFn};
use super::{Function, Signature, Targets};

/// Indices and sizes of the grid. Outside of kernels, sizes are 1 and indices 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WorkItem {
    /// Its number in its block.
    LocalId,
    /// The number of its block.
    GroupId,
    /// The size of its block.
    LocalSize,
    /// How many blocks there are.
    NumGroups,
    /// Its number in the grid.
    GlobalId,
    /// The size of the grid.
    GlobalSize,
    /// The number of the grid's first thread.
    GlobalOffset,
    /// How many dimensions there are.
    Dimensions,
}

impl WorkItem {
    /// The answer if there is one thread only.
    pub fn alone(self) -> u64 {
        match self {
            WorkItem::LocalId | WorkItem::GroupId | WorkItem::GlobalId | WorkItem::GlobalOffset => 0,
            WorkItem::LocalSize | WorkItem::NumGroups | WorkItem::GlobalSize | WorkItem::Dimensions => 1,
        }
    }
}

/// A dimension of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Dim {
    X,
    Y,
    Z,
}

impl Dim {
    /// All of them.
    pub const ALL: [Dim; 3] = [Dim::X, Dim::Y, Dim::Z];

    /// The suffix of names.
    pub fn name(self) -> &'static str {
        match self {
            Dim::X => "x",
            Dim::Y => "y",
            Dim::Z => "z",
        }
    }

    /// Its position in a triple.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Atomic operations; they give the old value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicFn {
    /// Adds.
    Add,
    /// Subtracts.
    Sub,
    /// Keeps the smaller.
    Min,
    /// Keeps the larger.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Writes.
    Exchange,
    /// One more, up to the operand, then from 0 again.
    Increment,
    /// One less, down to 0, then from the operand again.
    Decrement,
    /// Writes the third argument if the second one is there.
    CompareExchange,
}

/// Operations for which the threads of a block or warp wait for each other. Those of a warp have the
/// participating lanes as their first argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Collective {
    /// All threads of the block arrive.
    Barrier,
    /// A barrier; gives the number of threads whose condition holds.
    BarrierCount,
    /// A barrier; whether the condition holds in all threads.
    BarrierAnd,
    /// A barrier; whether the condition holds in one thread.
    BarrierOr,
    /// All participating lanes of the warp arrive.
    WarpBarrier,
    /// The lanes that are active.
    ActiveMask,
    /// Whether the condition holds in one lane.
    Any,
    /// Whether the condition holds in all lanes.
    All,
    /// The lanes in which the condition holds.
    Ballot,
    /// The lanes with the same value.
    MatchAny,
    /// All lanes if they have the same value, else none; also stores whether they have.
    MatchAll,
    /// The value of a lane.
    Shuffle,
    /// The value of the lane at this distance before.
    ShuffleUp,
    /// The value of the lane at this distance after.
    ShuffleDown,
    /// The value of the lane whose number differs in these bits.
    ShuffleXor,
}

/// Everything else.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeviceFn {
    /// Reads memory that is not written while the kernel runs.
    LoadCached,
    /// Orders accesses as the threads of the block see them.
    FenceBlock,
    /// Orders accesses as all threads of the device see them.
    FenceDevice,
    /// Orders accesses as the host sees them, too.
    FenceSystem,
    /// Stops the program.
    Trap,
    /// Waits for some nanoseconds.
    Sleep,
    /// Prints, as C does.
    Printf,
    /// Says that memory is needed soon.
    Prefetch,
    /// A branch hint; returns the condition.
    Expect,
    /// How the kernel was launched: a packet in memory.
    DispatchPacket,
}

/// The type of a parameter or a result, as programs usually declare it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// Nothing.
    Unit,
    /// A number of a type that the program chooses, the same for all `T`.
    T,
    /// A pointer to such a number in global memory.
    Ptr,
    /// `i32`.
    I32,
    /// `u32`, a mask of lanes.
    Mask,
    /// A pointer to an `i32`.
    PtrI32,
    /// A pointer to text.
    Text,
    /// A pointer to bytes in constant memory.
    Constants,
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The link name. A `?` at the end is a placeholder for `x`, `y` and `z`, a `*` for types.
    pub name: &'static str,
    /// Its meaning.
    pub function: Function,
    /// Who knows it.
    pub targets: Targets,
    /// Its type.
    pub signature: Signature,
}

const fn row(
    name: &'static str,
    function: Function,
    targets: Targets,
    params: &'static [Shape],
    result: Shape,
) -> Row {
    Row { name, function, targets, signature: Signature { params, result } }
}

const fn place(name: &'static str, query: WorkItem, targets: Targets) -> Row {
    row(name, Function::WorkItem(query, None), targets, &[], Shape::I32)
}

/// With the dimension as an argument.
const fn place_in(name: &'static str, query: WorkItem) -> Row {
    row(name, Function::WorkItem(query, None), Targets::OPENCL, &[Shape::I32], Shape::I32)
}

const fn atomic(name: &'static str, function: AtomicFn, targets: Targets) -> Row {
    row(name, Function::Atomic(function), targets, &[Shape::Ptr, Shape::T], Shape::T)
}

const fn collective(
    name: &'static str,
    function: Collective,
    targets: Targets,
    params: &'static [Shape],
    result: Shape,
) -> Row {
    row(name, Function::Collective(function), targets, params, result)
}

const fn device(
    name: &'static str,
    function: DeviceFn,
    targets: Targets,
    params: &'static [Shape],
    result: Shape,
) -> Row {
    row(name, Function::Device(function), targets, params, result)
}

const fn number(name: &'static str, function: NumberFn, targets: Targets) -> Row {
    row(name, Function::Number(function), targets, &[Shape::T], Shape::T)
}

use Shape::{Constants, I32, Mask, Ptr, PtrI32, T, Text, Unit};

const PTX: Targets = Targets::PTX;
const OPENCL: Targets = Targets::OPENCL;
const AMDGPU: Targets = Targets::AMDGPU;
const NONE: Targets = Targets::NONE;

/// All names.
pub const NAMES: &[Row] = &[
    // ---- The place of a thread.
    place("threadIdx_?", WorkItem::LocalId, PTX),
    place("blockIdx_?", WorkItem::GroupId, PTX),
    place("blockDim_?", WorkItem::LocalSize, PTX),
    place("gridDim_?", WorkItem::NumGroups, PTX),
    place("llvm.nvvm.read.ptx.sreg.tid.?", WorkItem::LocalId, PTX),
    place("llvm.nvvm.read.ptx.sreg.ctaid.?", WorkItem::GroupId, PTX),
    place("llvm.nvvm.read.ptx.sreg.ntid.?", WorkItem::LocalSize, PTX),
    place("llvm.nvvm.read.ptx.sreg.nctaid.?", WorkItem::NumGroups, PTX),
    place("llvm.amdgcn.workitem.id.?", WorkItem::LocalId, AMDGPU),
    place("llvm.amdgcn.workgroup.id.?", WorkItem::GroupId, AMDGPU),
    place("anydsl.amdpal.workitem.id.?", WorkItem::LocalId, NONE),
    place("anydsl.amdpal.workgroup.id.?", WorkItem::GroupId, NONE),
    place("anydsl.amdpal.workgroup.size.?", WorkItem::LocalSize, NONE),
    place("anydsl.amdpal.nblk.?", WorkItem::NumGroups, NONE),
    place_in("get_local_id", WorkItem::LocalId),
    place_in("get_group_id", WorkItem::GroupId),
    place_in("get_local_size", WorkItem::LocalSize),
    place_in("get_num_groups", WorkItem::NumGroups),
    place_in("get_global_id", WorkItem::GlobalId),
    place_in("get_global_size", WorkItem::GlobalSize),
    place_in("get_global_offset", WorkItem::GlobalOffset),
    place("get_work_dim", WorkItem::Dimensions, OPENCL),
    // ---- Atomic operations.
    atomic("atomicAdd", AtomicFn::Add, PTX),
    atomic("atomicSub", AtomicFn::Sub, PTX),
    atomic("atomicMin", AtomicFn::Min, PTX),
    atomic("atomicMax", AtomicFn::Max, PTX),
    atomic("atomicAnd", AtomicFn::And, PTX),
    atomic("atomicOr", AtomicFn::Or, PTX),
    atomic("atomicXor", AtomicFn::Xor, PTX),
    atomic("atomicExch", AtomicFn::Exchange, PTX),
    atomic("atomicInc", AtomicFn::Increment, PTX),
    atomic("atomicDec", AtomicFn::Decrement, PTX),
    row("atomicCAS", Function::Atomic(AtomicFn::CompareExchange), PTX, &[Ptr, T, T], T),
    atomic("atomic_add", AtomicFn::Add, OPENCL),
    atomic("atomic_sub", AtomicFn::Sub, OPENCL),
    atomic("atomic_min", AtomicFn::Min, OPENCL),
    atomic("atomic_max", AtomicFn::Max, OPENCL),
    atomic("atomic_and", AtomicFn::And, OPENCL),
    atomic("atomic_or", AtomicFn::Or, OPENCL),
    atomic("atomic_xor", AtomicFn::Xor, OPENCL),
    atomic("atomic_xchg", AtomicFn::Exchange, OPENCL),
    row("atomic_cmpxchg", Function::Atomic(AtomicFn::CompareExchange), OPENCL, &[Ptr, T, T], T),
    // ---- Collective operations.
    collective("__syncthreads", Collective::Barrier, PTX, &[], Unit),
    collective("llvm.nvvm.barrier0", Collective::Barrier, PTX, &[], Unit),
    collective("llvm.amdgcn.s.barrier", Collective::Barrier, AMDGPU, &[], Unit),
    collective("barrier", Collective::Barrier, OPENCL, &[I32], Unit),
    collective("__syncthreads_count", Collective::BarrierCount, PTX, &[I32], I32),
    collective("__syncthreads_and", Collective::BarrierAnd, PTX, &[I32], I32),
    collective("__syncthreads_or", Collective::BarrierOr, PTX, &[I32], I32),
    collective("__syncwarp", Collective::WarpBarrier, PTX, &[Mask], Unit),
    collective("__activemask", Collective::ActiveMask, PTX, &[], Mask),
    collective("__any_sync", Collective::Any, PTX, &[Mask, I32], I32),
    collective("__all_sync", Collective::All, PTX, &[Mask, I32], I32),
    collective("__ballot_sync", Collective::Ballot, PTX, &[Mask, I32], Mask),
    collective("__match_any_sync", Collective::MatchAny, PTX, &[Mask, T], Mask),
    collective("__match_all_sync", Collective::MatchAll, PTX, &[Mask, T, PtrI32], Mask),
    collective("__shfl_sync", Collective::Shuffle, PTX, &[Mask, T, I32, I32], T),
    collective("__shfl_up_sync", Collective::ShuffleUp, PTX, &[Mask, T, I32, I32], T),
    collective("__shfl_down_sync", Collective::ShuffleDown, PTX, &[Mask, T, I32, I32], T),
    collective("__shfl_xor_sync", Collective::ShuffleXor, PTX, &[Mask, T, I32, I32], T),
    // ---- Memory, time and text.
    device("__ldg", DeviceFn::LoadCached, PTX, &[Ptr], T),
    device("__threadfence_block", DeviceFn::FenceBlock, PTX, &[], Unit),
    device("__threadfence", DeviceFn::FenceDevice, PTX, &[], Unit),
    device("__threadfence_system", DeviceFn::FenceSystem, PTX, &[], Unit),
    device("mem_fence", DeviceFn::FenceBlock, OPENCL, &[I32], Unit),
    device("read_mem_fence", DeviceFn::FenceBlock, OPENCL, &[I32], Unit),
    device("write_mem_fence", DeviceFn::FenceBlock, OPENCL, &[I32], Unit),
    device("__trap", DeviceFn::Trap, PTX, &[], Unit),
    device("__nanosleep", DeviceFn::Sleep, PTX, &[I32], Unit),
    device("printf", DeviceFn::Printf, Targets::PTX_AND_OPENCL, &[Text, T], I32),
    device("vprintf", DeviceFn::Printf, PTX, &[Text, T], I32),
    device("llvm.prefetch", DeviceFn::Prefetch, NONE, &[Text, I32, I32, I32], Unit),
    device("llvm.prefetch.*", DeviceFn::Prefetch, NONE, &[Text, I32, I32, I32], Unit),
    device("llvm.expect.*", DeviceFn::Expect, NONE, &[T, T], T),
    device("llvm.amdgcn.dispatch.ptr", DeviceFn::DispatchPacket, AMDGPU, &[], Constants),
    // ---- Bits, by CUDA's names.
    number("__popc", NumberFn::Op(MathOp::Popcount), PTX),
    number("__popcll", NumberFn::Op(MathOp::Popcount), PTX),
    number("__clz", NumberFn::Op(MathOp::Clz), PTX),
    number("__clzll", NumberFn::Op(MathOp::Clz), PTX),
    number("__ffs", NumberFn::FirstOne, PTX),
    number("__ffsll", NumberFn::FirstOne, PTX),
    number("__brev", NumberFn::ReverseBits, PTX),
    number("__brevll", NumberFn::ReverseBits, PTX),
];
