//! Functions that this compiler defines, which programs declare as `extern "thorin"`.
//!
//! The language's generations gave one name several types, so a row lists how many parameters a
//! declaration may have and, for messages, the types in source syntax.

/// A row of the table of [`Intrinsic`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// How many parameters there may be, besides memory and the return continuation.
    pub arities: &'static [usize],
    /// Whether the last of them is a function.
    pub takes_body: bool,
    /// Whether kernels can call it.
    pub is_for_devices: bool,
    /// The accepted types; none for intrinsics that programs do not declare.
    pub shapes: &'static [&'static str],
}

/// The last argument is a function.
const BODY: bool = true;
const PLAIN: bool = false;

/// There is one on devices.
const DEVICES: bool = true;
const HOST: bool = false;

const KERNEL: [&str; 2] = [
    "(dev: i32, grid: (i32, i32, i32), block: (i32, i32, i32), body: fn() -> ()) -> ()",
    "(grid: (i32, i32, i32), block: (i32, i32, i32), body: fn() -> ()) -> ()",
];
const CMPXCHG: [&str; 2] = [
    "(addr: &mut T, cmp: T, new: T) -> (T, bool)",
    "(addr: &mut T, cmp: T, new: T, success: u32, failure: u32, scope: &[u8]) -> (T, bool)",
];

macro_rules! intrinsics {
    ($($(#[$meta:meta])* $variant:ident $name:literal
        $arities:expr, $takes_body:ident, $is_for_devices:ident, $shapes:expr;)*) => {
        /// Continuations whose meaning the compiler knows. What their parameters are
        /// is said by the declared type, which may be any of the shapes that the
        /// language's generations gave them.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Intrinsic { $($(#[$meta])* $variant,)* }

        impl Intrinsic {
            /// All of them.
            pub const ALL: &'static [Intrinsic] = &[$(Intrinsic::$variant,)*];

            /// Its name in the text form and in `extern "thorin"` declarations.
            pub fn name(self) -> &'static str {
                match self { $(Intrinsic::$variant => $name,)* }
            }

            /// How it is declared.
            pub fn declaration(self) -> Declaration {
                match self {
                    $(Intrinsic::$variant => Declaration {
                        arities: &$arities,
                        takes_body: $takes_body,
                        is_for_devices: $is_for_devices,
                        shapes: &$shapes,
                    },)*
                }
            }
        }
    };
}

impl Intrinsic {
    /// The intrinsic of this name.
    pub fn from_name(name: &str) -> Option<Intrinsic> {
        Intrinsic::ALL.iter().copied().find(|intrinsic| intrinsic.name() == name)
    }

    /// The intrinsic that a program declares under this name.
    pub fn from_declared_name(name: &str) -> Option<Intrinsic> {
        match name {
            // The name in the first edition of the language.
            "amdgpu" => Some(Intrinsic::AmdgpuHsa),
            _ => Intrinsic::from_name(name).filter(|intrinsic| !intrinsic.declaration().shapes.is_empty()),
        }
    }
}

intrinsics! {
    /// `branch(mem, cond, then, else)`
    Branch "branch" [], PLAIN, DEVICES, [];
    /// `switch(mem, value, default, (lit, target)..)`
    Switch "switch" [], PLAIN, DEVICES, [];
    /// `unreachable(mem)`: control never gets here.
    Unreachable "unreachable" [], PLAIN, DEVICES, [];
    /// Runs a body as SIMD lanes.
    Vectorize "vectorize" [2, 4, 5], BODY, HOST, [
        "vectorize(length: i32, body: fn(i32) -> ()) -> ()",
        "vectorize(length: i32, lower: i32, upper: i32, body: fn(i32) -> ()) -> ()",
        "vectorize(length: i32, alignment: i32, lower: i32, upper: i32, body: fn(i32) -> ()) -> ()",
    ];
    /// Runs a body over a range on several threads.
    Parallel "parallel" [4], BODY, HOST,
        ["parallel(threads: i32, lower: i32, upper: i32, body: fn(i32) -> ()) -> ()"];
    /// Starts a thread.
    Spawn "spawn" [1], BODY, HOST, ["spawn(body: fn() -> ()) -> i32"];
    /// Joins a thread.
    Sync "sync" [1], PLAIN, HOST, ["sync(id: i32) -> ()"];
    /// Runs a body on blocks and warps of fibers.
    Fibers "fibers" [4], BODY, HOST,
        ["fibers(threads: i32, blocks: i32, warps: i32, body: fn(i32, i32) -> ()) -> ()"];
    /// A kernel for NVIDIA GPUs.
    Cuda "cuda" [3, 4], BODY, HOST, KERNEL;
    /// A kernel for NVIDIA GPUs.
    Nvvm "nvvm" [3, 4], BODY, HOST, KERNEL;
    /// A kernel for OpenCL devices.
    OpenCl "opencl" [3, 4], BODY, HOST, KERNEL;
    /// A kernel for OpenCL devices, as SPIR-V.
    OpenClSpirv "opencl_spirv" [3, 4], BODY, HOST, KERNEL;
    /// A kernel for AMD GPUs.
    AmdgpuHsa "amdgpu_hsa" [3, 4], BODY, HOST, KERNEL;
    /// A kernel for AMD GPUs, through PAL.
    AmdgpuPal "amdgpu_pal" [3, 4], BODY, HOST, KERNEL;
    /// A kernel for Level Zero devices.
    LevelZero "levelzero" [3, 4], BODY, HOST, KERNEL;
    /// A kernel for high-level synthesis.
    Hls "hls" [1, 2], BODY, HOST, ["hls(body: fn() -> ()) -> ()", "hls(dev: i32, body: fn() -> ()) -> ()"];
    /// A pipelined loop for high-level synthesis; a plain loop on other targets.
    Pipeline "pipeline" [4], BODY, HOST,
        ["pipeline(interval: i32, lower: i32, upper: i32, body: fn(i32) -> ()) -> ()"];
    /// A new flow graph.
    CreateGraph "anydsl_create_graph" [0], PLAIN, HOST, ["create_graph() -> FlowGraph"];
    /// A task of a flow graph.
    CreateTask "anydsl_create_task" [2], BODY, HOST,
        ["create_task(graph: FlowGraph, body: fn() -> ()) -> FlowTask"];
    /// An edge between two tasks of a flow graph.
    CreateEdge "anydsl_create_edge" [2], PLAIN, HOST, ["create_edge(before: FlowTask, after: FlowTask) -> ()"];
    /// Runs the tasks of a flow graph that one of them leads to.
    ExecuteGraph "anydsl_execute_graph" [2], PLAIN, HOST,
        ["execute_graph(graph: FlowGraph, first: FlowTask) -> ()"];
    /// Work-group memory.
    ReserveShared "reserve_shared" [1], PLAIN, DEVICES, ["reserve_shared[T](n: i32) -> &mut[3][T]"];
    /// Read-modify-write.
    Atomic "atomic" [3, 5], PLAIN, DEVICES, [
        "atomic[T](op: u32, addr: &mut T, value: T) -> T",
        "atomic[T](op: u32, addr: &mut T, value: T, order: u32, scope: &[u8]) -> T",
    ];
    /// Atomic load.
    AtomicLoad "atomic_load" [3], PLAIN, DEVICES,
        ["atomic_load[T](addr: &T, order: u32, scope: &[u8]) -> T"];
    /// Atomic store.
    AtomicStore "atomic_store" [4], PLAIN, DEVICES,
        ["atomic_store[T](addr: &mut T, value: T, order: u32, scope: &[u8]) -> ()"];
    /// Compare and exchange.
    CmpXchg "cmpxchg" [3, 6], PLAIN, DEVICES, CMPXCHG;
    /// Compare and exchange that may fail by itself.
    CmpXchgWeak "cmpxchg_weak" [3, 6], PLAIN, DEVICES, CMPXCHG;
    /// A memory fence.
    Fence "fence" [2], PLAIN, DEVICES, ["fence(order: u32, scope: &[u8]) -> ()"];
    /// Prints at compile time.
    PeInfo "pe_info" [2], PLAIN, DEVICES, ["pe_info[T](message: &[u8], value: T) -> ()"];
    /// An error at compile time if a condition is known not to hold.
    PeAssert "pe_assert" [2], PLAIN, DEVICES, ["pe_assert(condition: bool, message: &[u8]) -> ()"];
    /// A warning at compile time if a condition is known not to hold.
    PeExpect "pe_expect" [2], PLAIN, DEVICES, ["pe_expect(condition: bool, message: &[u8]) -> ()"];
    /// What a call of a function costs.
    PeCost "pe_cost" [1], PLAIN, DEVICES, ["pe_cost[T, U](function: fn(T) -> U) -> i32"];
}

macro_rules! value_ops {
    ($($(#[$meta:meta])* $op:ident $name:literal $shapes:expr;)*) => {
        /// Intrinsics that are operations of the graph: they compute a value from values.
        /// Mathematical ones are in [`MathOp`](super::MathOp).
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ValueOp { $($(#[$meta])* $op,)* }

        impl ValueOp {
            /// All of them.
            pub const ALL: &'static [ValueOp] = &[$(ValueOp::$op,)*];

            /// The name that programs declare it by.
            pub fn name(self) -> &'static str {
                match self { $(ValueOp::$op => $name,)* }
            }

            /// The accepted types, in source syntax.
            pub fn shapes(self) -> &'static [&'static str] {
                match self { $(ValueOp::$op => &$shapes,)* }
            }
        }
    };
}

impl ValueOp {
    /// The operation of this name.
    pub fn from_name(name: &str) -> Option<ValueOp> {
        ValueOp::ALL.iter().copied().find(|op| op.name() == name)
    }
}

value_ops! {
    /// The same bits as another type.
    Bitcast "bitcast" ["bitcast[D, S](S) -> D"];
    /// One of two values.
    Select "select" ["select[T, U](T, U, U) -> U"];
    /// An aggregate with another part.
    Insert "insert" ["insert[T, U](T, i32, U) -> T"];
    /// The size of a type.
    SizeOf "sizeof" ["sizeof[T]() -> i64", "sizeof[T]() -> i32"];
    /// The alignment of a type.
    AlignOf "alignof" ["alignof[T]() -> i64", "alignof[T]() -> i32"];
    /// Any value.
    Undef "undef" ["undef[T]() -> T"];
    /// All zeros.
    Zeroed "zeroed" ["zeroed[T]() -> T"];
    /// Whether the partial evaluator knows a value.
    Known "pe_known" ["pe_known[T](T) -> bool"];
    /// Whether the program reports errors at run time: `--checked`, or the interpreter.
    Checked "pe_checked" ["pe_checked() -> bool"];
    /// A pointer through which stores go past the caches.
    Streaming "streaming" ["streaming[T](&mut T) -> &mut T"];
}
