//! What the vectorizer's estimates assume of the processor: its vector registers and its accesses to memory.

use nyala_opt::vectorize::Machine;

/// Names of processors with AVX-512, and with AVX2 but not AVX-512, as LLVM spells their beginnings.
const AVX512: [&str; 11] = [
    "x86-64-v4",
    "skylake-avx512",
    "cascadelake",
    "cooperlake",
    "icelake",
    "tigerlake",
    "rocketlake",
    "sapphirerapids",
    "graniterapids",
    "znver4",
    "znver5",
];
const AVX2: [&str; 11] = [
    "x86-64-v3",
    "haswell",
    "broadwell",
    "skylake",
    "alderlake",
    "arrowlake",
    "lunarlake",
    "znver1",
    "znver2",
    "znver3",
    "core-avx2",
];

/// The machine of a processor, by default of this one.
pub(crate) fn of_processor(cpu: Option<&str>) -> Machine {
    let is = |names: &[&str], cpu: &str| names.iter().any(|name| cpu.starts_with(name));
    match cpu {
        None | Some("native") => of_host(),
        Some(cpu) if is(&AVX512, cpu) => Machine::AVX512,
        Some(cpu) if is(&AVX2, cpu) => Machine::AVX2,
        Some(_) => Machine::BASELINE,
    }
}

#[cfg(target_arch = "x86_64")]
fn of_host() -> Machine {
    match (is_x86_feature_detected!("avx512bw"), is_x86_feature_detected!("avx2")) {
        (true, _) => Machine::AVX512,
        (false, true) => Machine::AVX2,
        (false, false) => Machine::BASELINE,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn of_host() -> Machine {
    Machine::BASELINE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_known_by_name() {
        let expected = [
            ("x86-64", Machine::BASELINE),
            ("skylake", Machine::AVX2),
            ("skylake-avx512", Machine::AVX512),
            ("znver3", Machine::AVX2),
            ("znver5", Machine::AVX512),
            ("cortex-a72", Machine::BASELINE),
        ];
        for (cpu, machine) in expected {
            assert_eq!(of_processor(Some(cpu)), machine, "{cpu}");
        }
    }
}
