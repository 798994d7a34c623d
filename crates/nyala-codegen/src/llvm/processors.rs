//! The processors that LLVM knows.
//!
//! LLVM accepts any name of a processor: it prints a warning about an unknown one, and continues without it or ends
//! the process. Its C interface cannot be asked. There is a parser of these names for each architecture, a C++
//! function with simple types that can be called by its symbol. Where a library lacks the parser, every name is
//! accepted. NVIDIA's GPUs have no parser.

use std::ffi::{c_char, c_int, c_void};

use libloading::Library;

/// A `StringRef` is passed as its two fields.
type OfX86 = unsafe extern "C" fn(*const c_char, usize, bool) -> c_int;
type OfAArch64 = unsafe extern "C" fn(*const c_char, usize) -> *const c_void;
type OfRiscV = unsafe extern "C" fn(*const c_char, usize, bool) -> bool;
type OfAmdgpu = unsafe extern "C" fn(*const c_char, usize) -> c_int;

/// The generations of NVIDIA's GPUs, `sm_` and a number; from 90 on there are variants `a`, and from 100 on `f`.
const NVIDIA: [u32; 21] =
    [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121];

/// The parsers of processor names that the library has.
pub(super) struct Processors {
    x86: Option<OfX86>,
    aarch64: Option<OfAArch64>,
    riscv: Option<OfRiscV>,
    amdgpu: Option<OfAmdgpu>,
}

impl Processors {
    /// Those of a library that is never unloaded.
    pub(super) fn of(library: &'static Library) -> Processors {
        // SAFETY: the types are those of LLVM's headers, which are part of the symbols.
        unsafe {
            Processors {
                x86: library.get(b"_ZN4llvm3X8612parseArchX86ENS_9StringRefEb\0").ok().map(|found| *found),
                aarch64: library
                    .get(b"_ZN4llvm7AArch6413getArchForCpuENS_9StringRefE\0")
                    .ok()
                    .map(|found| *found),
                riscv: library.get(b"_ZN4llvm5RISCV8parseCPUENS_9StringRefEb\0").ok().map(|found| *found),
                amdgpu: library
                    .get(b"_ZN4llvm6AMDGPU15parseArchAMDGCNENS_9StringRefE\0")
                    .ok()
                    .map(|found| *found),
            }
        }
    }

    /// Whether an architecture has a processor of this name; of 64 bits, like all supported targets.
    pub(super) fn has(&self, triple: &str, name: &str) -> bool {
        let (start, len) = (name.as_ptr().cast(), name.len());
        let machine = triple.split('-').next().unwrap_or_default();
        // Every architecture has it, but not all parsers know the name.
        if name == "generic" {
            return true;
        }
        // SAFETY: the parsers read the name, which is alive, and nothing else.
        unsafe {
            match machine {
                "x86_64" => self.x86.is_none_or(|parse| parse(start, len, true) != 0),
                "aarch64" | "arm64" => self.aarch64.is_none_or(|parse| !parse(start, len).is_null()),
                "riscv64" => self.riscv.is_none_or(|parse| parse(start, len, true)),
                "amdgcn" => self.amdgpu.is_none_or(|parse| parse(start, len) != 0),
                "nvptx64" => is_nvidia(name),
                _ => true,
            }
        }
    }
}

fn is_nvidia(name: &str) -> bool {
    let Some(generation) = name.strip_prefix("sm_") else { return false };
    let number = generation.trim_end_matches(['a', 'f']);
    let Ok(parsed) = number.parse() else { return false };
    let variant = match &generation[number.len()..] {
        "" => true,
        "a" => parsed >= 90,
        "f" => parsed >= 100,
        _ => false,
    };
    variant && NVIDIA.contains(&parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_of_nvidia_have_numbers_and_variants() {
        assert!(["sm_70", "sm_90", "sm_90a", "sm_100f"].into_iter().all(is_nvidia));
        assert!(!["sm_99", "sm_80a", "sm_90f", "sm_90aa", "sm_", "gfx90a", "70"].into_iter().any(is_nvidia));
    }
}
