//! Runs every program under `check/` and `run/`, and formats every source file
//! of the repository.

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_driver::{Options, Report, Session, pipeline};
use nyala_interp::Io;
use nyala_ir::analysis::{Functions, References};
use nyala_ir::{Body, Cont, Intrinsic, World, text};
use nyala_span::SourceMap;
use nyala_syntax::Parse;
use nyala_tests::expectations::Expectations;
use nyala_tests::{files, snapshot};

/// The limit of steps of a test program.
const MAX_STEPS: u64 = 20_000_000;

type Test = fn(&Path) -> Result<(), Failed>;

fn main() -> ExitCode {
    let root = files::repository();
    let mut trials = Vec::new();
    let mut add = |kind: &'static str, folder: &str, test: Test| {
        for path in files::with_extension(&root.join(folder), "impala") {
            let name = files::display_name(&path);
            trials.push(Trial::test(name, move || test(&path)).with_kind(kind));
        }
    };
    add("accept", "tests/check/accept", accept);
    add("accept", "examples", accept);
    add("reject", "tests/check/reject", reject);
    add("json", "tests/check/json", json);
    add("format", ".", format);
    add("graph", "tests/run", graph);
    add("graph", "examples", graph);
    add("prelude", "tests/run", with_whole_prelude);
    add("prelude", "tests/check", with_whole_prelude);
    add("run", "tests/run", run);
    add("evaluated", "tests/run", run_evaluated);
    add("cff", "tests/run", run_cff);
    add("vectorized", "tests/run", run_vectorized);
    add("lanes", "tests/run", run_with_other_lane_counts);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A session with one program, under its file name only.
fn session_for(path: &Path) -> Result<Session, Failed> {
    let text = std::fs::read_to_string(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut session = Session::new(Options::default());
    session.add_text(name, text);
    Ok(session)
}

fn accept(path: &Path) -> Result<(), Failed> {
    let expected = Expectations::parse(&std::fs::read_to_string(path)?)?;
    let mut session = session_for(path)?;
    pipeline::check(&mut session);
    let mut codes: Vec<String> = session.diagnostics.iter().map(|d| d.code.to_string()).collect();
    codes.sort();
    codes.dedup();
    if codes != expected.warnings {
        return Err(rendered(&session).into());
    }
    if codes.is_empty() {
        return Ok(());
    }
    Ok(snapshot::compare(&path.with_extension("stderr"), &rendered(&session))?)
}

fn reject(path: &Path) -> Result<(), Failed> {
    let mut session = session_for(path)?;
    pipeline::emit(&mut session);
    if !session.has_errors() {
        return Err("no error was reported".into());
    }
    Ok(snapshot::compare(&path.with_extension("stderr"), &rendered(&session))?)
}

/// The reports for tools are equal to the stored ones, and their positions in bytes agree with lines
/// and columns.
fn json(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let mut session = session_for(path)?;
    pipeline::emit(&mut session);
    let reports = Report::new(session.diagnostics.clone()).json(&session.sources);
    for line in reports.lines() {
        let report: serde_json::Value = serde_json::from_str(line)?;
        for list in ["spans", "suggestions"] {
            for place in report[list].as_array().ok_or("spans and suggestions are lists")? {
                check_position(place, &text)?;
            }
        }
    }
    Ok(snapshot::compare(&path.with_extension("json"), &reports)?)
}

/// Lines and columns count from 1, columns in characters.
fn check_position(place: &serde_json::Value, text: &str) -> Result<(), Failed> {
    for end in ["start", "end"] {
        let number = |name: &str| place[format!("{name}_{end}")].as_u64().ok_or("a place has numbers");
        let byte = place[format!("byte_{end}")].as_u64().ok_or("a place has bytes")?;
        let before = text.get(..usize::try_from(byte)?).ok_or("the place is in the text")?;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = 1 + before.matches('\n').count() as u64;
        let column = 1 + before[line_start..].chars().count() as u64;
        if (line, column) != (number("line")?, number("column")?) {
            return Err(format!("byte {byte} is at {line}:{column}, but the report says {place}").into());
        }
    }
    Ok(())
}

/// The program's graph is well-formed, and its text form can be parsed.
fn graph(path: &Path) -> Result<(), Failed> {
    for emit in [pipeline::emit, pipeline::emit_for_interp] {
        let mut session = session_for(path)?;
        let world = emit(&mut session).ok_or_else(|| rendered(&session))?;
        nyala_ir::verify(&world)?;
        let printed = text::print(&world);
        let again = text::print(&text::parse(&printed)?);
        if printed != again {
            return Err(snapshot::difference(&printed, &again).into());
        }
    }
    Ok(())
}

/// The items of the prelude that a program needs make the same program as all of them: the same graph, and the same
/// reports.
fn with_whole_prelude(path: &Path) -> Result<(), Failed> {
    let mut results = vec![];
    for whole_prelude in [false, true] {
        let mut session = session_for(path)?;
        session.options.whole_prelude = whole_prelude;
        let graph = pipeline::emit(&mut session).map(|world| text::print(&world));
        results.push(graph.unwrap_or_default() + &rendered(&session));
    }
    if results[0] != results[1] {
        return Err(snapshot::difference(&results[0], &results[1]).into());
    }
    Ok(())
}

/// The interpreter gives the expected results.
fn run(path: &Path) -> Result<(), Failed> {
    let mut session = session_for(path)?;
    let world = pipeline::emit_for_interp(&mut session).ok_or_else(|| rendered(&session))?;
    check_run(path, &mut session, &world)
}

/// Partial evaluation does not change the results.
fn run_evaluated(path: &Path) -> Result<(), Failed> {
    let mut session = session_for(path)?;
    let world = pipeline::emit_for_interp(&mut session).ok_or_else(|| rendered(&session))?;
    let evaluated = pipeline::evaluate(&mut session, &world);
    nyala_ir::verify(&evaluated)?;
    check_run_after_evaluation(path, &mut session, &evaluated)
}

/// Control-flow form does not change the results.
fn run_cff(path: &Path) -> Result<(), Failed> {
    let mut session = session_for(path)?;
    let lowered = lowered(&mut session, pipeline::emit_for_interp)?;
    nyala_ir::verify(&lowered)?;
    let functions = Functions::styled(&lowered);
    let obstacles = functions.obstacles(&lowered);
    if !obstacles.is_empty() {
        return Err(format!("{obstacles:?}\n{}", text::print(&lowered)).into());
    }
    has_functions(path, &lowered, &functions)?;
    check_run_after_evaluation(path, &mut session, &lowered)
}

/// SIMD code gives the same results as the lanes one after the other.
fn run_vectorized(path: &Path) -> Result<(), Failed> {
    for emit in [pipeline::emit, pipeline::emit_for_interp] {
        let mut session = session_for(path)?;
        let lowered = lowered(&mut session, emit)?;
        let vectorized = pipeline::vectorize(&mut session, lowered);
        nyala_ir::verify(&vectorized)?;
        session.diagnostics.clear();
        // SIMD code need not detect errors of lanes.
        if Expectations::parse(&std::fs::read_to_string(path)?)?.error.is_none() {
            check_run_after_evaluation(path, &mut session, &vectorized)?;
        }
    }
    Ok(())
}

/// SIMD code gives the same results as the lanes one after the other, with any number of lanes.
fn run_with_other_lane_counts(path: &Path) -> Result<(), Failed> {
    let expected = Expectations::parse(&std::fs::read_to_string(path)?)?;
    for n_lanes in [1, 4, 8, 16] {
        let mut session = session_for(path)?;
        let mut lowered = lowered(&mut session, pipeline::emit)?;
        if !set_lanes(&mut lowered, n_lanes) {
            return Ok(());
        }
        session.diagnostics.clear();
        let mut outputs = [vec![], vec![]];
        let status = interpret(&mut session, &lowered, &expected, &mut outputs[0]);
        if session.has_errors() {
            // The program does not support this number of lanes: it leaves its arrays, for example.
            continue;
        }
        let vectorized = pipeline::vectorize(&mut session, lowered);
        session.diagnostics.clear();
        let found = interpret(&mut session, &vectorized, &expected, &mut outputs[1]);
        let outputs = outputs.map(|output| String::from_utf8_lossy(&output).into_owned());
        if found != status || outputs[0] != outputs[1] {
            let difference = snapshot::difference(&outputs[0], &outputs[1]);
            return Err(format!(
                "with {n_lanes} lanes {found:?} instead of {status:?}\n{difference}{}",
                rendered(&session)
            )
            .into());
        }
    }
    Ok(())
}

/// The program in control-flow form.
fn lowered(session: &mut Session, emit: fn(&mut Session) -> Option<World>) -> Result<World, Failed> {
    let world = emit(session).ok_or_else(|| rendered(session))?;
    let evaluated = pipeline::evaluate(session, &world);
    Ok(pipeline::control_flow_form(session, evaluated))
}

/// Changes the number of lanes of each `vectorize`; returns whether there is any. Without a range the number only
/// decreases, because additional lanes could do anything.
fn set_lanes(world: &mut World, n_lanes: i64) -> bool {
    let conts: Vec<Cont> = References::of_program(world).conts(world).collect();
    let mut found = false;
    for cont in conts {
        let Some(Body { callee, args, .. }) = world.cont(cont).body.clone() else { continue };
        if world.as_intrinsic(callee) == Some(Intrinsic::Vectorize) {
            let mut args = args.to_vec();
            let has_range = args.len() > 4;
            let most = world.as_int(args[1]).filter(|_| !has_range).unwrap_or(n_lanes);
            args[1] = world.lit_i32(n_lanes.min(most) as i32);
            world.set_body(cont, callee, args);
            found = true;
        }
    }
    found
}

/// Control-flow form has exactly the functions that the program lists, if it lists any.
fn has_functions(path: &Path, world: &World, functions: &Functions) -> Result<(), Failed> {
    let Some(expected) = Expectations::parse(&std::fs::read_to_string(path)?)?.functions else {
        return Ok(());
    };
    let names = functions.all().iter().map(|function| world.cont(function.entry).name.to_string());
    let mut names: Vec<String> = names.collect();
    names.sort();
    if names == expected { Ok(()) } else { Err(format!("{names:?} instead of {expected:?}").into()) }
}

/// The program gives the expected results, unless they are undefined after evaluation.
fn check_run_after_evaluation(path: &Path, session: &mut Session, world: &World) -> Result<(), Failed> {
    let expected = Expectations::parse(&std::fs::read_to_string(path)?)?;
    if expected.undefined_evaluated { Ok(()) } else { check_run(path, session, world) }
}

fn check_run(path: &Path, session: &mut Session, world: &World) -> Result<(), Failed> {
    let expected = Expectations::parse(&std::fs::read_to_string(path)?)?;
    let mut output = Vec::new();
    let status = interpret(session, world, &expected, &mut output);
    let error = session.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
    if error.map(|error| error.code.0) != expected.error.as_deref() {
        return Err(format!("expected {:?}\n{}", expected.error, rendered(session)).into());
    }
    let output = String::from_utf8_lossy(&output);
    if !output.lines().eq(&expected.out) {
        return Err(snapshot::difference(&expected.out.join("\n"), &output).into());
    }
    match status {
        Some(status) if status != expected.status => {
            Err(format!("exit status {status} instead of {}", expected.status).into())
        }
        _ => Ok(()),
    }
}

fn interpret(
    session: &mut Session,
    world: &World,
    expected: &Expectations,
    output: &mut Vec<u8>,
) -> Option<i32> {
    let args = std::iter::once("program".to_owned()).chain(expected.args.iter().cloned()).collect();
    let steps = Some(expected.steps.unwrap_or(MAX_STEPS));
    let options = nyala_interp::Options { steps, leaks: expected.leaks, args, ..Default::default() };
    // The clock is the same in every run.
    let mut now = 0;
    let mut nanos = || {
        now += 1_000;
        now
    };
    let io = Io { output, input: &mut expected.stdin.as_bytes(), nanos: &mut nanos };
    pipeline::interp(session, world, &options, io)
}

/// Formatting keeps the tree, and is idempotent.
fn format(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let Some((formatted, tree)) = format_text(&text) else { return Ok(()) };
    let (again, tree_again) = format_text(&formatted).ok_or("the formatted text has syntax errors")?;
    if tree != tree_again {
        return Err(format!("the tree changed:\n{}", snapshot::difference(&tree, &tree_again)).into());
    }
    if formatted != again {
        return Err(format!("not stable:\n{}", snapshot::difference(&formatted, &again)).into());
    }
    Ok(())
}

/// The formatted text and the structure of its tree; none if there are syntax errors.
fn format_text(text: &str) -> Option<(String, String)> {
    let mut sources = SourceMap::default();
    let id = sources.add("format.impala", text).ok()?;
    let file = sources.file(id);
    let Parse { file: tree, errors, .. } = nyala_syntax::parse(file);
    errors.is_empty().then(|| (nyala_syntax::format(&tree, file), nyala_syntax::dump(&tree)))
}

fn rendered(session: &Session) -> String {
    Report::new(session.diagnostics.clone()).human(&session.sources, false)
}
