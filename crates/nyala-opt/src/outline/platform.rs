//! The platforms that run kernels.

use nyala_ir::Intrinsic;

/// A platform that runs kernels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Platform {
    /// NVIDIA's GPUs.
    Cuda,
    /// Devices with an OpenCL driver.
    OpenCl,
    /// AMD's GPUs.
    Hsa,
}

impl Platform {
    /// All platforms.
    pub const ALL: [Platform; 3] = [Platform::Cuda, Platform::OpenCl, Platform::Hsa];

    /// The platform that an intrinsic launches kernels on.
    pub fn of(intrinsic: Intrinsic) -> Option<Platform> {
        match intrinsic {
            Intrinsic::Cuda | Intrinsic::Nvvm => Some(Platform::Cuda),
            Intrinsic::OpenCl => Some(Platform::OpenCl),
            Intrinsic::AmdgpuHsa => Some(Platform::Hsa),
            _ => None,
        }
    }

    /// Its number in the runtime: the low four bits of a device.
    pub fn number(self) -> u32 {
        match self {
            Platform::Cuda => 1,
            Platform::OpenCl => 2,
            Platform::Hsa => 3,
        }
    }

    /// Its name for the user.
    pub fn name(self) -> &'static str {
        match self {
            Platform::Cuda => "CUDA",
            Platform::OpenCl => "OpenCL",
            Platform::Hsa => "HSA",
        }
    }

    /// The symbol of the device code in the host's program, which is resolved when it is linked: the
    /// length in eight bytes, then the code.
    pub fn code_symbol(self) -> &'static str {
        match self {
            Platform::Cuda => "nyala_device_code_cuda",
            Platform::OpenCl => "nyala_device_code_opencl",
            Platform::Hsa => "nyala_device_code_hsa",
        }
    }
}
