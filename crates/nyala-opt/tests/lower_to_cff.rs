//! Small programs in control-flow form, with the obstacles that are left. The first
//! line of a file selects lambda lifting (`lower-to-cff`) or all passes up to closure
//! conversion (`control-flow-form`).

use std::process::ExitCode;

use nyala_ir::World;
use nyala_ir::analysis::{Functions, Obstacle};
use nyala_opt::lower_to_cff;
use nyala_opt::pipeline::control_flow_form;
use nyala_test_support::ir_files::{self, Failed, TestFile, verified_text};

fn main() -> ExitCode {
    ir_files::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lower_to_cff"), render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    file.require_summary()?;
    let mut world = file.verified_world()?;
    world.set_folding(true);
    let find: fn(&World) -> Functions = match file.name.as_str() {
        "lower-to-cff" => {
            lower_to_cff(&mut world);
            Functions::new
        }
        "control-flow-form" => {
            control_flow_form(&mut world);
            Functions::styled
        }
        name => return Err(format!("there is no pass `{name}`").into()),
    };
    let printed = verified_text(&world)?;
    Ok(file.expecting(&(describe(&world, &find(&world)) + &printed)))
}

/// One line for each function, with its captures, and one for each violation.
fn describe(world: &World, functions: &Functions) -> String {
    let name = |cont| world.cont(cont).name;
    let mut lines = vec![];
    for function in functions.all() {
        let blocks = function.blocks.len();
        let captures = function.captures.len();
        let value = if function.is_value { ", a value" } else { "" };
        let passing = if functions.styles().is_passing(function.entry) { ", passing" } else { "" };
        lines.push(format!("{}: {blocks} blocks, {captures} captures{value}{passing}", name(function.entry)));
    }
    lines.extend(functions.obstacles(world).into_iter().map(|obstacle| match obstacle {
        Obstacle::Nested(cont) => format!("{} is nested", name(cont)),
        Obstacle::Shared(cont) => format!("{} is shared", name(cont)),
        Obstacle::Escape { from, .. } => format!("{} escapes", name(from)),
    }));
    lines.iter().map(|line| format!("; {line}\n")).collect()
}
