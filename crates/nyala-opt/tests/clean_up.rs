//! The clean-up passes on small programs. The first line of
//! each file names the pass.

use std::process::ExitCode;

use nyala_opt::merge_blocks::Merge;
use nyala_opt::{eliminate_params, merge_blocks, promote_slots};
use nyala_test_support::ir_files::{self, Failed, TestFile, verified_text};

fn main() -> ExitCode {
    ir_files::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clean_up"), render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    file.require_summary()?;
    let mut world = file.verified_world()?;
    world.set_folding(true);
    let changed = match file.name.as_str() {
        "eliminate-params" => eliminate_params(&mut world),
        "promote-slots" => promote_slots(&mut world),
        "merge-blocks" => merge_blocks(&mut world, Merge::Blocks),
        name => return Err(format!("there is no pass `{name}`").into()),
    };
    let printed = verified_text(&world)?;
    Ok(file.expecting(if changed { &printed } else { "nothing changes" }))
}
