//! SIMD code uses the vector instructions of the processor that it is for.

mod support;

/// Lanes that part, neighbours in memory, and what is elsewhere for each lane.
const PROGRAM: &str = "
extern fn kernel(n: i32, x: &[f32], at: &[i32], out: &mut [f32]) -> () {
    for i in vectorize_range(16, 0, n) {
        let a = x(i);
        let b = if a > 1f { cpu_sqrtf(a) * 3f } else { a + 2f };
        out(i) = b * x(at(i));
    }
}
";

/// The instructions of the kernel for a processor of a target.
fn assembly(target: &str, cpu: &str) -> Vec<String> {
    let args = ["build", "-O2", "--emit", "asm", "--target", target, "--target-cpu", cpu, "-o", "-", "-"];
    let (status, text, errors) = support::run(&args, PROGRAM);
    assert_eq!(status, Some(0), "{errors}");
    text.lines().map(|line| line.trim().replace('\t', " ")).filter(|line| !line.starts_with('.')).collect()
}

/// Whether an instruction is there on registers of this name.
fn has(assembly: &[String], instruction: &str, register: &str) -> bool {
    assembly.iter().any(|line| line.starts_with(instruction) && line.contains(register))
}

const X86: &str = "x86_64-unknown-linux-gnu";

#[test]
fn sse_has_registers_of_128_bits() {
    let assembly = assembly(X86, "nehalem");
    assert!(has(&assembly, "sqrtps", "%xmm") && has(&assembly, "mulps", "%xmm"), "{assembly:#?}");
    assert!(has(&assembly, "blendvps", "%xmm"), "{assembly:#?}");
    assert!(!has(&assembly, "v", "%ymm"), "{assembly:#?}");
}

#[test]
fn avx2_has_registers_of_256_bits_and_gathers() {
    let assembly = assembly(X86, "skylake");
    assert!(has(&assembly, "vsqrtps", "%ymm") && has(&assembly, "vmulps", "%ymm"), "{assembly:#?}");
    assert!(has(&assembly, "vgatherdps", "%ymm"), "{assembly:#?}");
    assert!(!has(&assembly, "v", "%zmm"), "{assembly:#?}");
}

#[test]
fn avx512_has_registers_of_512_bits_and_masks() {
    for cpu in ["icelake-server", "znver4"] {
        let assembly = assembly(X86, cpu);
        assert!(has(&assembly, "vsqrtps", "%zmm") && has(&assembly, "vmulps", "%zmm"), "{assembly:#?}");
        assert!(has(&assembly, "vgatherdps", "%zmm"), "{assembly:#?}");
        assert!(has(&assembly, "vcmp", "%k"), "{assembly:#?}");
    }
}

#[test]
fn neon_has_registers_of_four_floats() {
    let assembly = assembly("aarch64-unknown-linux-gnu", "cortex-a72");
    assert!(has(&assembly, "fsqrt", ".4s") && has(&assembly, "fmul", ".4s"), "{assembly:#?}");
    assert!(has(&assembly, "fcmgt", ".4s"), "{assembly:#?}");
}
