//! Mutations of every Impala file in the repository, and streams of random tokens.

use std::io;

use anyhow::ensure;
use nyala_driver::{Options, Prelude, Report, Session, pipeline};
use nyala_interp::Io;
use nyala_ir::text;
use nyala_tests::mutate::Corpus;

use super::worker::{Action, Case};
use crate::files;

/// The limits of the interpreter.
const MAX_STEPS: u64 = 1_000_000;
const MAX_MEMORY: u64 = 256 << 20;

/// One of this number of programs is checked with the whole prelude. The others have a few functions only, which makes
/// them fast.
const PRELUDE_EVERY: u64 = 16;

/// The functions that most programs of the corpus need.
const SHORT_PRELUDE: &str = "
fn @(?a & ?b) range(a: i32, b: i32, body: fn(i32) -> ()) -> () { if a < b { body(a); range(a + 1, b, body) } }
fn @(?a & ?b) unroll(a: i32, b: i32, body: fn(i32) -> ()) -> () { if a < b { body(a); unroll(a + 1, b, body) } }
extern \"thorin\" { fn bitcast[D, S](S) -> D; fn select[T, U](T, U, U) -> U; fn sizeof[T]() -> i64; fn undef[T]() -> T; }
extern \"C\" { fn print_i32(i32) -> (); fn print_string(&[u8]) -> (); fn print_char(u8) -> (); }
";

/// Lexer, parser and checker.
pub fn front_end() -> anyhow::Result<Action> {
    on_mutants(check)
}

/// All stages up to the interpreter.
pub fn all_stages() -> anyhow::Result<Action> {
    on_mutants(check_and_run)
}

fn on_mutants(run: fn(&mut Case, &mut Session) -> Result<bool, String>) -> anyhow::Result<Action> {
    let sources = files::with_extension(".", "impala")?;
    ensure!(!sources.is_empty(), "there is no Impala file to start from");
    // A worker needs them until it ends, so they are leaked.
    let corpus = Corpus::new(Vec::leak(sources).iter().map(|file| file.text.as_str()));
    Ok(Box::new(move |case| {
        let text = corpus.input(&mut case.random());
        case.begin(&text);
        run(case, &mut session_for(case.number, &text))
    }))
}

fn session_for(case: u64, text: &str) -> Session {
    let prelude = if case.is_multiple_of(PRELUDE_EVERY) { Prelude::AsWritten } else { Prelude::Absent };
    let mut session = Session::new(Options { prelude, ..Options::default() });
    session.add_text("fuzz.impala", text);
    if prelude == Prelude::Absent {
        session.add_text("prelude.impala", SHORT_PRELUDE);
    }
    session
}

/// Whether there are no errors, after rendering the diagnostics.
fn report(session: &mut Session) -> bool {
    let is_clean = !session.has_errors();
    let report = Report::new(std::mem::take(&mut session.diagnostics));
    // Rendering must not panic.
    let _ = (report.human(&session.sources, true), report.json(&session.sources));
    is_clean
}

fn check(_: &mut Case, session: &mut Session) -> Result<bool, String> {
    pipeline::check(session);
    Ok(report(session))
}

fn check_and_run(case: &mut Case, session: &mut Session) -> Result<bool, String> {
    let Some(world) = pipeline::emit(session) else {
        report(session);
        return Ok(false);
    };
    nyala_ir::verify(&world).map_err(|errors| format!("not well formed: {errors}"))?;
    let printed = text::print(&world);
    let parsed = text::parse(&printed).map_err(|error| format!("cannot read what was printed: {error}"))?;
    if text::print(&parsed) != printed {
        return Err("printing what was read gives another text".into());
    }
    case.execute("interpreter");
    let options = nyala_interp::Options { steps: Some(MAX_STEPS), memory: MAX_MEMORY, ..Default::default() };
    let io = Io { output: &mut io::sink(), input: &mut io::empty(), nanos: &mut || 0 };
    pipeline::interp(session, &world, &options, io);
    report(session);
    Ok(true)
}
