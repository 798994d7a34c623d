//! Parameters, slots and blocks that are not needed, on small programs: the first line of
//! each file says which pass runs.

#[path = "../../nyala-ir/tests/support/files.rs"]
mod files;

use std::process::ExitCode;

use files::TestFile;
use libtest_mimic::Failed;
use nyala_ir::text;
use nyala_ir::verify::verify;
use nyala_opt::merge_blocks::Merge;
use nyala_opt::{eliminate_params, merge_blocks, promote_slots};

fn main() -> ExitCode {
    files::run("tests/clean_up", render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    let mut world = file.world()?;
    world.set_folding(true);
    verify(&world)?;
    let changed = match file.name.as_str() {
        "eliminate-params" => eliminate_params(&mut world),
        "promote-slots" => promote_slots(&mut world),
        "merge-blocks" => merge_blocks(&mut world, Merge::Blocks),
        name => return Err(format!("there is no pass `{name}`").into()),
    };
    let printed = text::print(&world);
    verify(&world).map_err(|errors| Failed::from(format!("{errors}\n\n{printed}")))?;
    Ok(file.expecting(if changed { &printed } else { "nothing changes" }))
}
