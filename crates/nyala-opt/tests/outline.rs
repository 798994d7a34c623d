//! Programs with kernels, and what becomes of them: the host's program and those of the
//! devices, or what is reported.

#[path = "../../nyala-ir/tests/support/files.rs"]
mod files;

use std::process::ExitCode;

use files::TestFile;
use libtest_mimic::Failed;
use nyala_ir::verify::verify;
use nyala_ir::{World, text};
use nyala_opt::outline_kernels;

fn main() -> ExitCode {
    files::run("tests/outline", render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    let mut world = file.world()?;
    world.set_folding(true);
    verify(&world)?;
    let outlined = match outline_kernels(&world, None, |_| true) {
        Ok(outlined) => outlined.ok_or("it has no kernels")?,
        Err(errors) => {
            let reports = errors.iter().map(|error| format!("{}: {}\n", error.code, error.message));
            return Ok(file.expecting(&reports.collect::<String>()));
        }
    };
    let mut shown = format!("host\n{}", printed(&outlined.host)?);
    for device in &outlined.devices {
        shown += &format!("\n{}\n{}", device.platform.name(), printed(&device.world)?);
    }
    Ok(file.expecting(&shown))
}

fn printed(world: &World) -> Result<String, Failed> {
    let printed = text::print(world);
    verify(world).map_err(|errors| Failed::from(format!("{errors}\n\n{printed}")))?;
    Ok(printed)
}
