//! Generated programs, in six executions each.

use anyhow::ensure;
use nyala_tests::differential::{self, Step};
use nyala_tests::generate;
use nyala_tests::random::Random;

use super::worker::{Action, Case};

/// Programs for the host.
pub fn run(case: &mut Case) -> Result<bool, String> {
    compare(case, generate::program)
}

/// Programs with a kernel. Native code runs on an OpenCL device; PoCL needs no GPU.
pub fn kernels() -> anyhow::Result<Action> {
    ensure!(has_opencl(), "there is no OpenCL device (try `cargo xtask setup`)");
    Ok(Box::new(|case| compare(case, generate::kernel_program)))
}

/// Whether there is an OpenCL device.
pub fn has_opencl() -> bool {
    let listed = nyala_driver::device::list();
    let mut lines = listed.lines().skip_while(|line| !line.eq_ignore_ascii_case("opencl"));
    lines.nth(1).is_some_and(|line| line.starts_with("  "))
}

fn compare(case: &mut Case, generate: fn(&mut Random) -> String) -> Result<bool, String> {
    let mut random = case.random();
    let text = generate(&mut random);
    differential::compare(&text, &mut random, &mut |step| match step {
        Step::Program(text) => case.begin(text),
        Step::Execution(how) => case.execute(how),
    })
}
