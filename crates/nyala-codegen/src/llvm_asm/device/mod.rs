//! What GPUs do differently: kernels, shared memory, address spaces.
//!
//! Pointers have the address space of their type. One without is generic: the
//! device finds out where it points to, unless LLVM does. What a kernel is
//! launched with points to global memory.
//!
//! Functions call each other with the C calling convention; there are no closures and no threads. `functions` has
//! the functions that kernels call by name, `warp` collective operations, `approximate` functions that the hardware
//! computes, `remainder` that of floats, and `loops` the loops that are unrolled.

mod approximate;
mod functions;
mod loops;
mod remainder;
mod warp;

use nyala_ir::analysis::Function;
use nyala_ir::{Def, Prim, Ty, TyKind};

use super::ModuleWriter;
use super::border::{Code, Wrapper};
use super::function::FunctionWriter;
use super::symbols::symbol;
use super::value::{Scalar, Type};
use crate::KernelShape;
use crate::errors::CodegenError;
use crate::skeleton::program::Call;

/// The address space of global memory.
pub(crate) const GLOBAL: u32 = 1;
/// The address space of memory that the threads of a block share.
const SHARED: u32 = 3;
/// Metadata that says that memory does not change while a kernel runs.
pub(crate) const INVARIANT: &str = "!{}";

pub(super) use loops::metadata as loop_metadata;

/// A GPU as the target of a program.
#[derive(Clone, Copy, Debug)]
pub struct Gpu<'a> {
    /// Whose.
    pub kind: GpuKind,
    /// The exported functions that are kernels.
    pub kernels: &'a [KernelShape<'a>],
    /// Whether mathematical functions are those of NVIDIA's library.
    pub has_libdevice: bool,
    /// Whether functions of `f32` may be rough, and are computed by the GPU's own units.
    pub is_fast: bool,
}

/// Kinds of GPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GpuKind {
    /// NVIDIA's, by way of PTX.
    Nvptx,
    /// AMD's.
    Amdgpu,
}

impl GpuKind {
    pub(crate) fn private_space(self) -> u32 {
        match self {
            GpuKind::Nvptx => 0,
            GpuKind::Amdgpu => 5,
        }
    }

    fn kernel_convention(self) -> &'static str {
        match self {
            GpuKind::Nvptx => "ptx_kernel",
            GpuKind::Amdgpu => "amdgpu_kernel",
        }
    }

    /// How LLVM is told the size of blocks.
    fn block_attribute(self, block: [u32; 3]) -> String {
        let [x, y, z] = block;
        match self {
            GpuKind::Nvptx => format!("\"nvvm.reqntid\"=\"{x},{y},{z}\" "),
            GpuKind::Amdgpu => {
                let threads = u64::from(x) * u64::from(y) * u64::from(z);
                format!("\"amdgpu-flat-work-group-size\"=\"{threads},{threads}\" ")
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            GpuKind::Nvptx => "NVIDIA's GPUs",
            GpuKind::Amdgpu => "AMD's GPUs",
        }
    }
}

impl ModuleWriter<'_> {
    /// What a device's program exports: a kernel, or a function for other device code.
    pub(crate) fn device_export(&mut self, function: &Function, name: &str, gpu: Gpu<'_>) -> String {
        let (params, results) = self.signature(function);
        let (mut code, debug) = self.wrapper(function);
        let kernel = gpu.kernels.iter().find(|kernel| kernel.name == name);
        let (mut outside, mut args) = (vec![], vec![]);
        for (index, &ty) in params.iter().enumerate() {
            let (text, given) = (self.ty(ty), format!("%{index}"));
            let (param, arg) = match kernel {
                Some(kernel) => {
                    let is_apart = kernel.apart.get(index).copied().unwrap_or(false);
                    let (param, arg) = self.kernel_param(&mut code, ty, &given);
                    (param + if is_apart { " noalias" } else { "" }, arg)
                }
                None => (text.to_string(), given.clone()),
            };
            outside.push(format!("{param} {given}"));
            args.push(format!("{text} {arg}"));
        }
        let result = self.types.results(&results);
        let inner = self.function_name(function.entry);
        let call = format!("call {result} {inner}({})", args.join(", "));
        match result {
            Type::Void => {
                code.line(call);
                code.line("ret void".into());
            }
            _ => {
                let value = code.compute("result", call);
                code.line(format!("ret {result} {value}"));
            }
        }
        let (head, attributes) = match kernel {
            Some(kernel) => {
                let block = kernel.block.map_or(String::new(), |block| gpu.kind.block_attribute(block));
                (gpu.kind.kernel_convention().to_owned(), block)
            }
            None => ("linkonce_odr".into(), String::new()),
        };
        let (params, text, name) = (outside.join(", "), code.text(), symbol(name));
        format!("define {head} {result} {name}({params}) #0 {attributes}{debug}{{\n{text}}}\n")
    }

    /// How a kernel gets a value: the type of its parameter, and the value.
    fn kernel_param(&mut self, code: &mut Wrapper, ty: Ty, given: &str) -> (String, String) {
        match self.world.types.kind(ty) {
            TyKind::Ptr { space: 0, .. } => {
                let global = Scalar::Ptr(GLOBAL);
                let generic = code.compute("generic", format!("addrspacecast {global} {given} to ptr"));
                (global.to_string(), generic)
            }
            TyKind::Prim(Prim::Bool) => {
                let value = code.compute("bool", format!("trunc i8 {given} to i1"));
                ("i8".into(), value)
            }
            _ => (self.ty(ty).to_string(), given.to_owned()),
        }
    }
}

impl FunctionWriter<'_, '_> {
    /// Memory that the threads of a block share, for a call of `reserve_shared`.
    pub(crate) fn reserve_shared(&mut self, call: &Call) -> Vec<String> {
        let array =
            call.results.first().and_then(|&ptr| self.world.types.as_ptr(ptr)).map(|(array, _)| array);
        let elem = array.and_then(|array| self.world.types.elem(array)).unwrap_or(self.world.types.unit());
        let (text, align) = (self.module.ty(elem), self.module.align_of(elem).max(16));
        let count = call.args.first().and_then(|&count| self.world.as_lit(count)).unwrap_or(0);
        let name = format!("@{}", self.module.names.unique("shared"));
        self.module.globals.text += &format!(
            "{name} = internal addrspace({SHARED}) global [{count} x {text}] undef, align {align}\n"
        );
        vec![name]
    }

    /// Calls a function that the device knows; gives its results as one value.
    pub(crate) fn call_on_device(&mut self, name: &str, args: &[Def], result: &Type) -> Option<String> {
        let value = self.device_function(name, args, result);
        if value.is_none() {
            let device = self.module.options.gpu.map_or("", |gpu| gpu.kind.name());
            let error = CodegenError::NotOnDevice { at: self.flow.span(), name: name.to_owned(), device };
            self.module.errors.push(error);
            self.line("unreachable");
        }
        value
    }
}
