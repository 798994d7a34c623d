//! Functions that programs declare and do not define: names, meaning and properties.
//!
//! This is the only list of them. Lowering, the verifier, the check of kernels, the
//! interpreter and all back ends use it, and none of them compares names:
//!
//! * [`External::named`] turns a link name into a [`Function`], once;
//! * [`Intrinsic::from_name`] and [`ValueOp::from_name`] do the same for the functions that the
//!   compiler itself defines, which programs declare as `extern "thorin"`.
//!
//! After that all code matches on an enum without a wildcard, so that a new function is an
//! entry in one of the tables and then the cases that rustc requires:
//!
//! * [`intrinsics`]: continuations with a meaning of their own, and operations by name;
//! * [`numbers`]: functions of numbers, which have no effect;
//! * [`device`]: functions of kernels only, and irregular names of functions of
//!   numbers;
//! * [`host`]: the runtime's functions and those of the C library;
//! * [`lanes`]: collective operations of SIMD lanes.
//!
//! # Invariants
//!
//! Every link name is one function, for all declarations. What a back end
//! does with a function depends on the function and on the types it is declared with, never on
//! the spelling; only [`External::written`] knows what the spelling says about a type.

pub mod device;
pub mod host;
pub mod intrinsics;
pub mod lanes;
pub mod numbers;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

pub use device::{AtomicFn, Collective, DeviceFn, Dim, Shape, WorkItem};
pub use host::{CFn, Effect, RuntimeFn, VectorFn};
pub use intrinsics::{Intrinsic, ValueOp};
pub use lanes::LaneFunction;
pub use numbers::{Domain, GpuSource, MathOp, NumberFn};

use crate::types::Prim;

/// The meaning of an external function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Function {
    /// A function of numbers.
    Number(NumberFn),
    /// Where a thread is among those of its kernel; in which dimension, unless an argument says.
    WorkItem(WorkItem, Option<Dim>),
    /// An atomic operation on memory; gives the old value.
    Atomic(AtomicFn),
    /// A collective operation of the threads of a block or a warp.
    Collective(Collective),
    /// Something else that is there for kernels.
    Device(DeviceFn),
    /// A collective operation of SIMD lanes.
    Lanes(LaneFunction),
    /// An instruction of a vector unit.
    Vector(VectorFn),
    /// Of the runtime.
    Runtime(RuntimeFn),
    /// Of the C library.
    C(CFn),
}

impl Function {
    /// Its effect on memory.
    pub fn effect(self) -> Effect {
        match self {
            Function::Number(_) | Function::Vector(_) => Effect::Pure,
            Function::Runtime(function) => function.effect(),
            Function::C(function) => function.effect(),
            Function::WorkItem(..)
            | Function::Atomic(_)
            | Function::Collective(_)
            | Function::Device(_)
            | Function::Lanes(_) => Effect::Any,
        }
    }

    /// Whether its effect or result depends on more than its arguments and the memory: on the
    /// outside, on time, on the place of a thread.
    pub fn reaches_out(self) -> bool {
        match self {
            Function::WorkItem(..) | Function::Device(DeviceFn::Printf) => true,
            Function::Runtime(function) => function.reaches_out(),
            Function::C(function) => function.reaches_out(),
            Function::Number(_)
            | Function::Atomic(_)
            | Function::Collective(_)
            | Function::Device(_)
            | Function::Lanes(_)
            | Function::Vector(_) => false,
        }
    }
}

/// Whose conventions a name follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// A name as it is: C's, OpenCL's, CUDA's, the runtime's. An `f` behind a function of
    /// numbers says `f32`.
    Plain,
    /// `llvm.name`, usually followed by a type.
    Llvm,
    /// `__nv_name` and `__nv_namef`, of NVIDIA's library.
    Libdevice,
    /// `__ocml_name_f32` and `__ocml_name_f64`, of AMD's library.
    Ocml,
}

/// Which compilers for devices know a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Targets {
    /// The one for NVIDIA's GPUs.
    pub ptx: bool,
    /// The one for AMD's GPUs.
    pub amdgpu: bool,
    /// OpenCL C.
    pub opencl: bool,
}

impl Targets {
    /// No device.
    pub const NONE: Targets = Targets { ptx: false, amdgpu: false, opencl: false };
    /// NVIDIA's GPUs.
    pub const PTX: Targets = Targets { ptx: true, ..Targets::NONE };
    /// AMD's GPUs.
    pub const AMDGPU: Targets = Targets { amdgpu: true, ..Targets::NONE };
    /// OpenCL devices.
    pub const OPENCL: Targets = Targets { opencl: true, ..Targets::NONE };
    /// NVIDIA's GPUs and OpenCL devices.
    pub const PTX_AND_OPENCL: Targets = Targets { ptx: true, opencl: true, ..Targets::NONE };

    /// Whether one of them knows it.
    pub fn any(self) -> bool {
        self.ptx || self.amdgpu || self.opencl
    }
}

/// A link name with its function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct External {
    /// Its meaning.
    pub function: Function,
    /// Whose name it is.
    pub family: Family,
    /// The type of float that the spelling says.
    pub written: Option<Prim>,
    /// Who knows this name in kernels.
    pub targets: Targets,
    /// The usual types of declarations; none for functions of the host, which C declares.
    pub signature: Option<Signature>,
}

/// The types of a function as programs usually declare it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Its parameters. Some functions may be declared with fewer or more.
    pub params: &'static [Shape],
    /// Its result.
    pub result: Shape,
}

impl External {
    /// The function of a link name.
    pub fn named(name: &str) -> Option<External> {
        if let Some(external) = INDEX.get(name) {
            return Some(*external);
        }
        if let Some(function) = LaneFunction::from_name(name) {
            return Some(External::plain(Function::Lanes(function), Targets::NONE));
        }
        let (overloaded, _ty) = name.strip_prefix("llvm.")?.rsplit_once('.')?;
        INDEX.get(&format!("llvm.{overloaded}.*")).copied()
    }

    /// Whether some device has the function of a link name: one of the table, or an instruction of a GPU by its name in
    /// LLVM.
    pub fn is_on_devices(name: &str) -> bool {
        let is_instruction = name.starts_with("llvm.nvvm.") || name.starts_with("llvm.amdgcn.");
        is_instruction || External::named(name).is_some_and(|external| external.targets.any())
    }

    /// All names with their functions, in any order. A name that ends in `.*` is one of
    /// LLVM's, followed by any type.
    pub fn all() -> impl Iterator<Item = (&'static str, External)> {
        INDEX.iter().map(|(name, external)| (name.as_str(), *external))
    }

    /// The operation of the graph that a function of C's mathematical library is. C says what
    /// they do, so calls of them need no call.
    pub fn c_op(self) -> Option<MathOp> {
        match self.function {
            Function::Number(NumberFn::Op(op)) if self.family == Family::Plain => {
                op.info().is_in_c.then_some(op)
            }
            _ => None,
        }
    }

    /// The operation of the graph that one of LLVM's functions is.
    pub fn llvm_op(self) -> Option<MathOp> {
        match self.function {
            Function::Number(NumberFn::Op(op)) if self.family == Family::Llvm => Some(op),
            _ => None,
        }
    }

    fn plain(function: Function, targets: Targets) -> External {
        External { function, family: Family::Plain, written: None, targets, signature: None }
    }
}

static INDEX: LazyLock<FxHashMap<String, External>> = LazyLock::new(|| {
    let mut index = FxHashMap::default();
    for (name, external) in list() {
        let other = index.insert(name.clone(), external);
        debug_assert!(other.is_none(), "`{name}` is listed twice");
    }
    index
});

/// All names with their functions.
fn list() -> Vec<(String, External)> {
    let mut all = vec![];
    for function in NumberFn::all() {
        list_number(function, &mut all);
    }
    for row in device::NAMES {
        list_device(row, &mut all);
    }
    for (name, function) in host::names() {
        let targets = if function == Function::C(CFn::Abs) { Targets::OPENCL } else { Targets::NONE };
        all.push((
            name.to_owned(),
            External { family: family_of(name), ..External::plain(function, targets) },
        ));
    }
    all
}

/// The names of a function of numbers in each family.
fn list_number(function: NumberFn, all: &mut Vec<(String, External)>) {
    let info = function.info();
    let gpus = Targets {
        ptx: info.gpu.is_some(),
        amdgpu: info.gpu.is_some_and(|source| source != GpuSource::Libdevice),
        opencl: false,
    };
    let signature = Some(function.signature());
    let external = External { signature, ..External::plain(Function::Number(function), gpus) };
    let with = |family, written| External { family, written, ..external };
    if let Some(name) = info.llvm {
        all.push((format!("llvm.{name}.*"), with(Family::Llvm, None)));
    }
    for &name in info.names {
        let opencl = External { targets: Targets { opencl: info.opencl.is_some(), ..gpus }, ..external };
        all.push((name.to_owned(), opencl));
        if info.domain != Domain::Float {
            continue;
        }
        all.push((format!("{name}f"), External { written: Some(Prim::F32), ..opencl }));
        all.push((format!("__nv_{name}"), with(Family::Libdevice, None)));
        all.push((format!("__nv_{name}f"), with(Family::Libdevice, Some(Prim::F32))));
        if info.gives_bool {
            all.push((format!("__nv_{name}d"), with(Family::Libdevice, Some(Prim::F64))));
        }
        for prim in [Prim::F32, Prim::F64] {
            all.push((format!("__ocml_{name}_{prim}"), with(Family::Ocml, Some(prim))));
        }
    }
}

/// A name, or three if it has a `?` for the dimension.
fn list_device(row: &device::Row, all: &mut Vec<(String, External)>) {
    let (family, signature) = (family_of(row.name), Some(row.signature));
    let external = External { family, signature, ..External::plain(row.function, row.targets) };
    let Function::WorkItem(query, _) = row.function else {
        return all.push((row.name.to_owned(), external));
    };
    match row.name.strip_suffix('?') {
        None => all.push((row.name.to_owned(), external)),
        Some(start) => all.extend(Dim::ALL.map(|dim| {
            let function = Function::WorkItem(query, Some(dim));
            (format!("{start}{}", dim.name()), External { function, ..external })
        })),
    }
}

fn family_of(name: &str) -> Family {
    if name.starts_with("llvm.") { Family::Llvm } else { Family::Plain }
}
