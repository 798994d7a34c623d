//! Partial evaluation of whole programs, under `evaluation/`.
//!
//! * `residual/`: the residual program as a graph; with `// loops only` at its top, it
//!   has only exported functions and blocks;
//! * `directives/`: the reports of `pe_info`, `pe_assert` and `#[must_specialize]`;
//! * `check/`: the reports of `nyala check` that need evaluation;
//! * `limits/`: programs that reach a limit: the report, the time, and the results of the residual program;
//! * `explain/`: the output of `nyala explain`;
//! * `vectorize/`: the output of `nyala explain --vectorize`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_driver::evaluation::{Answers, Question};
use nyala_driver::vectorization::Vectorization;
use nyala_driver::{Options, Report, Session, pipeline};
use nyala_interp::Io;
use nyala_ir::analysis::References;
use nyala_ir::{Linkage, World, text};
use nyala_tests::clock::Clock;
use nyala_tests::{files, snapshot};

type Test = fn(&Path) -> Result<(), Failed>;

fn main() -> ExitCode {
    let folder = files::repository().join("tests/evaluation");
    let mut trials = Vec::new();
    let tests: [(&str, Test); 6] = [
        ("residual", residual),
        ("directives", directives),
        ("check", check),
        ("limits", limits),
        ("explain", explain),
        ("vectorize", vectorize),
    ];
    for (kind, test) in tests {
        for path in files::with_extension(&folder.join(kind), "impala") {
            let name = files::display_name(&path);
            trials.push(Trial::test(name, move || test(&path)).with_kind(kind));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A session with one program, under its file name only.
fn session_for(path: &Path, source: &str) -> Session {
    let mut session = Session::new(Options::default());
    session.add_text(path.file_name().unwrap_or_default().to_string_lossy(), source);
    session
}

fn rendered(session: &Session) -> String {
    Report::new(session.diagnostics.clone()).human(&session.sources, false)
}

fn residual(path: &Path) -> Result<(), Failed> {
    let source = std::fs::read_to_string(path)?;
    let mut session = session_for(path, &source);
    let world = pipeline::emit(&mut session).ok_or_else(|| rendered(&session))?;
    let evaluated = pipeline::evaluate(&mut session, &world);
    if session.has_errors() {
        return Err(rendered(&session).into());
    }
    if source.starts_with("// loops only") {
        has_only_blocks(&evaluated)?;
    }
    Ok(snapshot::compare(&path.with_extension("ir"), &text::print(&evaluated))?)
}

/// Only external functions are called, and only the return continuation of an exported function
/// is a value.
fn has_only_blocks(world: &World) -> Result<(), Failed> {
    let mut types = world.types.clone();
    for cont in References::of_program(world).conts(world) {
        let data = world.cont(cont);
        let has_function_param = data.params.iter().any(|&param| types.order(world.ty(param)) > 0);
        if data.linkage == Linkage::Internal && has_function_param {
            return Err(format!("`{}` is a function:\n{}", data.name, text::print(world)).into());
        }
    }
    Ok(())
}

fn directives(path: &Path) -> Result<(), Failed> {
    let source = std::fs::read_to_string(path)?;
    let mut session = session_for(path, &source);
    let world = pipeline::emit(&mut session).ok_or_else(|| rendered(&session))?;
    pipeline::evaluate(&mut session, &world);
    Ok(snapshot::compare(&path.with_extension("stderr"), &rendered(&session))?)
}

fn check(path: &Path) -> Result<(), Failed> {
    let source = std::fs::read_to_string(path)?;
    let mut session = session_for(path, &source);
    pipeline::check_all(&mut session);
    Ok(snapshot::compare(&path.with_extension("stderr"), &rendered(&session))?)
}

/// A tenth of the default limits, since tests run without optimization.
fn limits(path: &Path) -> Result<(), Failed> {
    let source = std::fs::read_to_string(path)?;
    let mut session = session_for(path, &source);
    let budget = &mut session.options.evaluation.budget;
    budget.specializations /= 10;
    budget.growth /= 10;
    budget.depth /= 10;
    let clock = Clock::start();
    if let Some(world) = pipeline::emit(&mut session) {
        let evaluated = pipeline::evaluate(&mut session, &world);
        let elapsed = clock.elapsed();
        if elapsed > MAX_TIME {
            return Err(format!("took {elapsed:?}").into());
        }
        nyala_ir::verify(&evaluated)?;
        if evaluated.node_count() > MAX_NODES {
            return Err(format!("{} nodes are left", evaluated.node_count()).into());
        }
        if let Some(before) = outcome(&world)
            && outcome(&evaluated).as_ref() != Some(&before)
        {
            return Err("evaluation changes the results".into());
        }
    }
    Ok(snapshot::compare(&path.with_extension("stderr"), &rendered(&session))?)
}

/// The exit status and the output of `main`; none if there is no `main`, or it does not end in time.
fn outcome(world: &World) -> Option<(i32, Vec<u8>)> {
    let mut output = vec![];
    let io = Io { output: &mut output, input: &mut std::io::empty(), nanos: &mut || 0 };
    let options = nyala_interp::Options { steps: Some(MAX_STEPS), ..Default::default() };
    let status = nyala_interp::run_main(world, &options, io).ok()?;
    Some((status, output))
}

/// The maximum size of the residual program: rolling back removes the instances that led to the limit.
const MAX_NODES: usize = 5_000;

/// Programs with more steps count as endless.
const MAX_STEPS: u64 = 200_000;

/// Without optimization and with verification of every round; a release build takes a small part of this.
const MAX_TIME: Duration = Duration::from_secs(20);

fn explain(path: &Path) -> Result<(), Failed> {
    let source = std::fs::read_to_string(path)?;
    let mut session = session_for(path, &source);
    let world = pipeline::emit(&mut session).ok_or_else(|| rendered(&session))?;
    let plain = text::print(&pipeline::evaluate(&mut session, &world));
    let (evaluated, explanation) = pipeline::explain(&mut session, &world);
    if plain != text::print(&evaluated) {
        return Err("explain changes the residual program".into());
    }
    let answers = Answers::new(&session, &evaluated, &explanation, &Question::default());
    let object: serde_json::Value = serde_json::from_str(&answers.json())?;
    let page = answers.html();
    let calls = object["calls"].as_array().ok_or("the calls are a list")?;
    let n_answers = page.matches("<details ").count();
    if calls.len() != n_answers {
        return Err(format!("{} calls, but {n_answers} answers on the page", calls.len()).into());
    }
    if ["http", "<script", "<link", "url("].iter().any(|foreign| page.contains(foreign)) {
        return Err("the page needs something else".into());
    }
    snapshot::compare(&path.with_extension("json"), &(serde_json::to_string_pretty(&object)? + "\n"))?;
    Ok(snapshot::compare(&path.with_extension("txt"), &answers.text())?)
}

fn vectorize(path: &Path) -> Result<(), Failed> {
    let source = std::fs::read_to_string(path)?;
    let mut session = session_for(path, &source);
    let world = pipeline::emit(&mut session).ok_or_else(|| rendered(&session))?;
    let evaluated = pipeline::evaluate(&mut session, &world);
    let world = pipeline::control_flow_form(&mut session, evaluated);
    session.options.cpu = Some("x86-64-v3".into());
    let facts = pipeline::explain_vectorize(&mut session, world);
    let answers = Vectorization::new(&session, &facts, false);
    let object: serde_json::Value = serde_json::from_str(&answers.json())?;
    snapshot::compare(&path.with_extension("json"), &(serde_json::to_string_pretty(&object)? + "\n"))?;
    Ok(snapshot::compare(&path.with_extension("txt"), &answers.text())?)
}
