//! Runs any bytes as DeepCPS and as Staged-C: parsers, translation, and the machine with small limits. None of them
//! panics.
//!
//! `cargo +nightly fuzz run stage -- -max_total_time=60`

#![no_main]

use libfuzzer_sys::fuzz_target;
use nyala_stage::machine::{Limits, Silent};
use nyala_stage::program::{Language, Program, source};
use nyala_stage::{deep, print};

const LIMITS: Limits = Limits { steps: 5_000, bodies: 5_000, memory: 1 << 20 };

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for language in [Language::Deep, Language::StagedC] {
        let Some((sources, file)) = source("fuzz", text) else { return };
        let Ok(program) = Program::read(language, sources.file(file)) else { continue };
        let _ = deep::print(&program.block);
        let mut machine = program.machine(LIMITS);
        if machine.stage(&mut Silent).is_ok() {
            let _ = print::print(&machine.snapshot().0);
            let _ = machine.run_to_end(&mut Silent);
        }
    }
});
