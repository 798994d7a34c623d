//! Outlining of kernels: the host program and the device programs, or the
//! diagnostics.

use std::process::ExitCode;

use nyala_opt::outline_kernels;
use nyala_test_support::ir_files::{self, Failed, TestFile, verified_text};

fn main() -> ExitCode {
    ir_files::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/outline"), render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    let mut world = file.verified_world()?;
    world.set_folding(true);
    let outlined = match outline_kernels(world, None, |_| true) {
        Ok(outlined) if outlined.devices.is_empty() => return Err("it has no kernels".into()),
        Ok(outlined) => outlined,
        Err(errors) => {
            let reports = errors.iter().map(|error| format!("{}: {}\n", error.code, error.message));
            return Ok(file.expecting(&reports.collect::<String>()));
        }
    };
    let mut shown = format!("host\n{}", verified_text(&outlined.host)?);
    for device in &outlined.devices {
        shown += &format!("\n{}\n{}", device.platform.name(), verified_text(&device.world)?);
    }
    Ok(file.expecting(&shown))
}
