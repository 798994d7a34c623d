//! `nyala devices`: the devices of this machine.

use std::process::ExitCode;

use clap::Args;

use crate::output;

/// List the devices that kernels can run on, or why there are none
#[derive(Args)]
pub struct DevicesArgs {}

pub fn run(_args: DevicesArgs) -> anyhow::Result<ExitCode> {
    output::print(&nyala_driver::device::list())?;
    Ok(ExitCode::SUCCESS)
}
