//! Programs in control-flow form to native code, through LLVM.
//!
//! [`nyala_ir::analysis::functions`] defines functions and blocks. Read in this order:
//!
//! * `skeleton`: the walk over functions and blocks that back ends share;
//! * [`llvm_asm`]: a program as LLVM assembly, a text that people can read;
//! * [`llvm`]: the LLVM library, found and loaded when the compiler runs, which
//!   turns that text into machine code;
//! * `vector_math`: mathematical functions for vectors and GPUs;
//! * [`opencl`]: the kernels of a program as OpenCL C;
//! * [`errors`]: why a program cannot be compiled.
//!
//! Writing the text needs no LLVM, so it can be tested and shown on any machine. Only [`llvm`] uses the library,
//! and only there is `unsafe` code.
//!
//! ```
//! use nyala_codegen::llvm_asm;
//!
//! let world = nyala_ir::text::parse(
//!     "export next(mem: mem, x: u32, ret: cn(mem, u32)):
//!     ret(mem, add(x, 1))
//! ",
//! )?;
//! let module = llvm_asm::write(&world, &llvm_asm::Options::default()).expect("all of it can be written");
//! assert!(module.text.contains("%add = add i32 %x, 1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod errors;
pub mod llvm;
pub mod llvm_asm;
pub mod opencl;
mod skeleton;
mod vector_math;

pub use errors::CodegenError;

/// A kernel that a program for a device exports.
#[derive(Clone, Copy, Debug)]
pub struct KernelShape<'a> {
    /// Its symbol.
    pub name: &'a str,
    /// The size of its work groups in each dimension, if it is known.
    pub block: Option<[u32; 3]>,
    /// For each parameter, whether it is `noalias`.
    pub apart: &'a [bool],
}
