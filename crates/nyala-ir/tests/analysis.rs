//! The analyses on small programs. The first line of a file names the analysis
//! and the entry of the scope it looks at.

use std::fmt::Write;
use std::process::ExitCode;

use nyala_ir::analysis::{Cfg, DomTree, LoopForest, Mode, Nesting, Schedule, Scope};
use nyala_ir::dot::dot;
use nyala_ir::{Cont, Def, Node, World, text};
use nyala_test_support::ir_files::{self, Failed, TestFile, find_cont};

fn main() -> ExitCode {
    ir_files::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/analysis"), render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    let world = file.world()?;
    match file.name.as_str() {
        "nesting" => return Ok(file.expecting(&nesting(&world))),
        "dot" => return Ok(file.expecting(&dot(&world))),
        _ => {}
    }
    let entry = file.args.first().ok_or("the first line names no entry")?;
    let scope = Scope::new(&world, find_cont(&world, entry)?);
    let cfg = Cfg::new(&world, &scope);
    let output = match file.name.as_str() {
        "scope" => show_scope(&world, &scope),
        "cfg" => show_cfg(&world, &cfg),
        "dominance" => show_dominance(&world, &cfg),
        "loops" => show_loops(&world, &cfg),
        "schedule" => show_schedules(&world, &cfg),
        name => return Err(format!("unknown test `{name}`").into()),
    };
    Ok(file.expecting(&output))
}

fn name(world: &World, cont: Cont) -> String {
    world.cont(cont).name.to_string()
}

fn vertex_name(world: &World, cfg: &Cfg, vertex: usize) -> String {
    cfg.cont(vertex).map_or("exit".into(), |cont| name(world, cont))
}

fn list(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "-".into() } else { names.join(", ") }
}

fn nesting(world: &World) -> String {
    fn below(world: &World, nesting: &Nesting, parent: Option<Cont>, out: &mut String) {
        let is_builtin = |cont: Cont| world.cont(cont).body.is_none();
        for &cont in
            nesting.conts().iter().filter(|&&cont| nesting.parent(cont) == parent && !is_builtin(cont))
        {
            let indent = nesting.depth(cont) as usize * 4;
            *out += &format!("{:indent$}{}\n", "", name(world, cont));
            below(world, nesting, Some(cont), out);
        }
    }
    let mut out = String::new();
    below(world, &Nesting::new(world), None, &mut out);
    out
}

fn show_scope(world: &World, scope: &Scope) -> String {
    let conts = list(scope.conts().iter().map(|&cont| name(world, cont)));
    let free = list(scope.free_params().iter().map(|&param| text::print_node(world, param)));
    let captures = list(scope.captures().iter().map(|&def| op_name(world, def)));
    format!("scope: {conts}\nfree: {free}\ncaptures: {captures}\n")
}

fn show_cfg(world: &World, cfg: &Cfg) -> String {
    let mut out = String::new();
    for vertex in 0..cfg.exit() {
        let succs = list(cfg.graph().succs(vertex).map(|succ| vertex_name(world, cfg, succ)));
        writeln!(out, "{} -> {succs}", vertex_name(world, cfg, vertex)).expect("a string");
    }
    out
}

fn show_dominance(world: &World, cfg: &Cfg) -> String {
    let (doms, post_doms) = (cfg.dominators(), cfg.post_dominators());
    let frontiers = doms.frontiers(cfg.graph());
    let parent =
        |tree: &DomTree, vertex| list(tree.idom(vertex).map(|up| vertex_name(world, cfg, up)).into_iter());
    let mut out = String::new();
    for (vertex, frontier) in frontiers.iter().enumerate().take(cfg.exit()) {
        let frontier = list(frontier.iter().map(|&at| vertex_name(world, cfg, at)));
        let (up, down) = (parent(&doms, vertex), parent(&post_doms, vertex));
        let vertex = vertex_name(world, cfg, vertex);
        writeln!(out, "{vertex}: dominator {up}, post-dominator {down}, frontier {frontier}")
            .expect("a string");
    }
    out
}

fn show_loops(world: &World, cfg: &Cfg) -> String {
    let forest = LoopForest::new(cfg.graph(), cfg.entry());
    let mut out = String::new();
    for one in forest.loops() {
        let names = |vertices: &[usize]| list(vertices.iter().map(|&vertex| vertex_name(world, cfg, vertex)));
        let around = one.parent.map_or("-".into(), |parent| names(&forest.loops()[parent].headers));
        let (headers, vertices) = (names(&one.headers), names(&one.vertices));
        writeln!(out, "loop at {headers} in {around}, depth {}: {vertices}", one.depth).expect("a string");
    }
    out
}

fn show_schedules(world: &World, cfg: &Cfg) -> String {
    let mut out = String::new();
    for mode in [Mode::Early, Mode::Late, Mode::Smart, Mode::Demand] {
        writeln!(out, "{mode:?}").expect("a string");
        let schedule = Schedule::new(world, cfg, mode);
        for vertex in 0..cfg.exit() {
            // Taking an effect apart is no work; it would only blur the picture.
            let is_shown =
                |&&def: &&Def| world.name(def).is_some() || !matches!(world.node(def), Node::Extract { .. });
            let ops = list(schedule.block(vertex).iter().filter(is_shown).map(|&def| op_name(world, def)));
            writeln!(out, "    {}: {ops}", vertex_name(world, cfg, vertex)).expect("a string");
        }
    }
    out
}

fn op_name(world: &World, def: Def) -> String {
    match (world.node(def), world.name(def)) {
        (Node::Param { .. }, _) | (_, None) => text::print_node(world, def),
        (_, Some(name)) => name.to_string(),
    }
}
