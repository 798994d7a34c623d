//! Dynamic staging: any text, and random staged programs against the same without annotations.

use anyhow::ensure;
use nyala_driver::Report;
use nyala_driver::native::NativeOptions;
use nyala_ir::Prim;
use nyala_span::SourceMap;
use nyala_stage::code::{Const, Term};
use nyala_stage::errors::ErrorKind;
use nyala_stage::generate::{self, Ending};
use nyala_stage::machine::{Limits, Outcome, Silent};
use nyala_stage::native::Compiler;
use nyala_stage::program::{Language, Program, source};
use nyala_stage::{deep, print};
use nyala_tests::mutate::Corpus;

use super::worker::{Action, Case};
use crate::files;

const LIMITS: Limits = Limits { steps: 20_000, bodies: 20_000, memory: 1 << 20 };

/// Mutations of all programs under `tests/stage`, in both languages.
pub fn texts() -> anyhow::Result<Action> {
    let mut sources = files::with_extension("tests/stage", "deep")?;
    sources.extend(files::with_extension("tests/stage", "sc")?);
    ensure!(!sources.is_empty(), "there is no program to start from");
    // A worker needs them until it ends, so they are leaked.
    let corpus = Corpus::new(Vec::leak(sources).iter().map(|file| file.text.as_str()));
    Ok(Box::new(move |case| {
        let text = corpus.input(&mut case.random());
        case.begin(&text);
        let is_deep = read_and_run(case, Language::Deep, &text)?;
        Ok(read_and_run(case, Language::StagedC, &text)? || is_deep)
    }))
}

fn read_and_run(case: &mut Case, language: Language, text: &str) -> Result<bool, String> {
    let Some((sources, file)) = source("fuzz", text) else { return Ok(false) };
    let program = match Program::read(language, sources.file(file)) {
        Ok(program) => program,
        Err(errors) => {
            let report = Report::new(errors.iter().map(nyala_stage::Error::to_diagnostic).collect());
            let _ = report.human(&sources, true);
            return if errors.is_empty() { Err("rejected without an error".into()) } else { Ok(false) };
        }
    };
    let _ = (deep::print(&program.block), print::print(&program.code));
    case.execute("machine");
    let mut machine = program.machine(LIMITS);
    let result = machine.stage(&mut Silent).and_then(|_| {
        let _ = print::print(&machine.snapshot().0);
        machine.run_to_end(&mut Silent)
    });
    if let Err(error) = result {
        let _ = Report::new(vec![error.to_diagnostic()]).human(&sources, true);
    }
    Ok(true)
}

/// Random staged programs: what is not stuck computes the same as without annotations, also as native code.
pub fn programs(case: &mut Case) -> Result<bool, String> {
    let n = (case.number % 12) as i32;
    let generated = |with_annotations, ending| {
        let mut random = case.random();
        generate::program(&mut |bound| random.below(bound as usize) as u64, with_annotations, ending)
    };
    let (plain, staged) = (generated(false, Ending::Call(n)), generated(true, Ending::Call(n)));
    let function = generated(true, Ending::Function);
    case.begin(&staged);
    case.execute("machine, without annotations");
    let Ok(expected) = result(&plain)? else { return Ok(false) };
    case.execute("machine");
    match result(&staged)? {
        Ok(found) if found == expected => {}
        Ok(found) => return Err(format!("staged {found:?}, and without annotations {expected:?}")),
        Err(ErrorKind::Stuck | ErrorKind::Unbound | ErrorKind::Runaway) => return Ok(false),
        Err(other) => return Err(format!("staged it fails with {other:?}")),
    }
    case.execute("native code");
    match native(&function, n)? {
        Some(found) if found != expected => Err(format!("native {found:?}, and interpreted {expected:?}")),
        _ => Ok(true),
    }
}

fn read(text: &str) -> Result<Program, String> {
    let (sources, file) = source("fuzz.deep", text).ok_or("too long")?;
    Program::read(Language::Deep, sources.file(file)).map_err(|errors| format!("rejected: {errors:?}"))
}

fn result(text: &str) -> Result<Result<Const, ErrorKind>, String> {
    let mut machine = read(text)?.machine(LIMITS);
    let outcome = machine.stage(&mut Silent).and_then(|_| machine.run_to_end(&mut Silent));
    match outcome {
        Ok(Outcome::Exit(Term::Const(value))) => Ok(Ok(value)),
        Ok(other) => Err(format!("the program ends with {other:?}")),
        Err(error) => Ok(Err(error.kind)),
    }
}

/// The result of `main` as native code; nothing if its staging does not end before the program runs.
fn native(text: &str, n: i32) -> Result<Option<Const>, String> {
    let mut machine = read(text)?.machine(LIMITS);
    let outcome = machine.stage(&mut Silent).and_then(|_| machine.run_to_end(&mut Silent));
    let Ok(Outcome::Exit(main)) = outcome else { return Ok(None) };
    let main = machine.closed(&main).ok_or("`main` is not closed")?;
    let mut compiler = Compiler::new(NativeOptions::default(), SourceMap::default());
    let function = compiler.compile(&main, &machine.memory).map_err(|errors| format!("{errors:?}"))?;
    let arg = Const::Scalar(Prim::I32, Prim::I32.canonical(n as u64));
    // SAFETY: the program uses no memory.
    unsafe { function.call(&[arg], &machine.memory) }
}
