//! Device code: the kernels of a program, compiled for devices.
//!
//! [`bundle`] compiles the device programs of an outlined program. Their code becomes data of the host program,
//! so a program with kernels needs no other file.
//!
//! | platform | code | compiled for a device |
//! |---|---|---|
//! | CUDA | PTX, by LLVM | by the driver, when the program runs |
//! | OpenCL | source text | by the driver, when the program runs |
//! | HSA | an object file, by LLVM | here |

use nyala_codegen::llvm::{self, Output};
use nyala_codegen::llvm_asm::{self, Abi, Gpu, GpuKind};
use nyala_codegen::opencl;
use nyala_codegen::{CodegenError, KernelShape};
use nyala_ir::World;
pub use nyala_opt::outline::Platform;
use nyala_opt::outline::{DeviceProgram, Kernel, Outlined};

use crate::libdevice;
use crate::native::{diagnostics, directory_for_debuggers, load_llvm, one, reported};
use crate::session::Session;

/// The default target of PTX. The driver compiles PTX for the same and newer GPUs.
pub const DEFAULT_PTX: &str = "sm_70";

/// The default target of AMD code.
pub const DEFAULT_AMDGCN: &str = "gfx90a";

/// A host program with the device code it contains.
pub struct Bundle<'p> {
    /// The host program.
    pub host: &'p World,
    /// The code for each platform in the format of the runtime: length, then code.
    code: Vec<(Platform, Vec<u8>)>,
}

impl Bundle<'_> {
    /// The globals that hold device code, by symbol.
    pub fn contents(&self) -> Vec<(&str, &[u8])> {
        self.code.iter().map(|(platform, code)| (platform.code_symbol(), &code[..])).collect()
    }
}

/// Compiles the device programs.
pub fn bundle<'p>(
    session: &mut Session,
    program: &'p Outlined,
    options: &llvm::Options,
) -> Option<Bundle<'p>> {
    let mut code = vec![];
    for device in &program.devices {
        let compiled = compile(session, device, options);
        let compiled = reported(session, compiled.map_err(diagnostics))?;
        let mut with_length = (compiled.len() as u64).to_le_bytes().to_vec();
        with_length.extend(compiled);
        // C strings end with a zero.
        with_length.push(0);
        code.push((device.platform, with_length));
    }
    Some(Bundle { host: &program.host, code })
}

/// The code of a program for a platform; empty if it has no kernels for it.
pub fn code(
    session: &mut Session,
    program: &Outlined,
    options: &llvm::Options,
    platform: Platform,
) -> Option<Vec<u8>> {
    match program.devices.iter().find(|device| device.platform == platform) {
        Some(device) => {
            let compiled = compile(session, device, options);
            reported(session, compiled.map_err(diagnostics))
        }
        None => Some(vec![]),
    }
}

/// The devices of this machine, or why there are none, as text.
pub fn list() -> String {
    nyala_runtime::devices::describe()
}

fn compile(
    session: &mut Session,
    program: &DeviceProgram,
    options: &llvm::Options,
) -> Result<Vec<u8>, Vec<CodegenError>> {
    let asked = asked_for(&session.options.gpu_arch, program.platform);
    match program.platform {
        Platform::Cuda => {
            let arch = asked.unwrap_or_else(|| DEFAULT_PTX.into());
            let features = format!("+ptx{}", ptx_version(&arch));
            let target = gpu_options(options, "nvptx64-nvidia-cuda", arch, features);
            gpu_code(session, program, GpuKind::Nvptx, target, Output::Assembly)
        }
        Platform::Hsa => {
            let arch = asked.unwrap_or_else(|| DEFAULT_AMDGCN.into());
            let target = gpu_options(options, "amdgcn-amd-amdhsa", arch, String::new());
            gpu_code(session, program, GpuKind::Amdgpu, target, Output::Object)
        }
        Platform::OpenCl => {
            session.timings.enter("write OpenCL C");
            opencl::write(&program.world, &kernels(program)).map(String::into_bytes)
        }
    }
}

/// The requested processor of a platform. A processor of no known platform is passed to all of
/// them, and LLVM rejects it.
fn asked_for(archs: &[String], platform: Platform) -> Option<String> {
    const KINDS: [(&str, Platform); 2] = [("sm_", Platform::Cuda), ("gfx", Platform::Hsa)];
    let is_asked = |arch: &&String| {
        KINDS.iter().find(|(prefix, _)| arch.starts_with(prefix)).is_none_or(|&(_, of)| of == platform)
    };
    archs.iter().find(is_asked).cloned()
}

/// The kernels of a program, for back ends.
fn kernels<'p>(program: &'p DeviceProgram) -> Vec<KernelShape<'p>> {
    let shape = |kernel: &'p Kernel| KernelShape {
        name: kernel.name.as_str(),
        block: kernel.block,
        apart: &kernel.apart,
    };
    program.kernels.iter().map(shape).collect()
}

fn gpu_options(options: &llvm::Options, target: &str, arch: String, features: String) -> llvm::Options {
    llvm::Options {
        opt_level: options.opt_level,
        target: Some(target.into()),
        cpu: Some(arch),
        versions: vec![],
        features,
        library: None,
    }
}

/// The version of PTX for a GPU generation, at least the one with all instructions that programs may use.
fn ptx_version(arch: &str) -> u32 {
    let number: String = arch.chars().filter(char::is_ascii_digit).collect();
    match number.parse() {
        Ok(100..) => 86,
        // With instructions for pairs of 16-bit integers.
        Ok(90..) => 80,
        Ok(89) => 78,
        _ => 74,
    }
}

fn gpu_code(
    session: &mut Session,
    program: &DeviceProgram,
    kind: GpuKind,
    mut options: llvm::Options,
    output: Output,
) -> Result<Vec<u8>, Vec<CodegenError>> {
    session.timings.enter("write LLVM assembly");
    let kernels = kernels(program);
    let directory = directory_for_debuggers(session);
    let directory = directory.as_ref().map(|directory| directory.to_string_lossy());
    let libdevice = match kind {
        GpuKind::Nvptx => libdevice::find()?,
        GpuKind::Amdgpu => None,
    };
    let module = llvm_asm::write(
        &program.world,
        &llvm_asm::Options {
            abi: Abi::Other,
            sources: Some(&session.sources),
            debug: directory.as_deref(),
            gpu: Some(Gpu {
                kind,
                kernels: &kernels,
                has_libdevice: libdevice.is_some(),
                is_fast: session.options.lower.fast_math,
            }),
            ..llvm_asm::Options::default()
        },
    )?;
    if module.imports.iter().any(|import| import.name.starts_with(libdevice::PREFIX)) {
        options.library = libdevice;
    }
    let timings = &mut session.timings;
    let llvm = load_llvm(timings)?;
    llvm::compile(llvm, &module.text, &options, output, |phase| timings.enter(phase)).map_err(one)
}
