//! `cargo xtask fuzz TARGET`: random input, looking for what panics.
//!
//! Inputs are mutations of every Impala file in the repository, and streams of
//! random tokens; for SIMD code and filters, random programs. Case number `k` of seed `s` is the same on every machine:
//! `--seed s --first k --cases 1` runs it again.

mod filters;
mod simd;

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use nyala_driver::{Options, Prelude, Report, Session, pipeline};
use nyala_interp::Io;
use nyala_ir::text;
use nyala_tests::mutate::Corpus;
use nyala_tests::random::Random;

use crate::files;

/// Run random inputs through a part of the compiler
#[derive(Subcommand)]
pub enum FuzzTarget {
    /// Lexer, parser and checker
    FrontEnd(FuzzArgs),
    /// The same, and what has no errors is formatted, lowered, verified and run
    Whole(FuzzArgs),
    /// SIMD code for `vectorize`, against the interpreter
    Simd(FuzzArgs),
    /// Programs under random filters: they do the same before and after evaluation, and as native code
    Filters(filters::FilterArgs),
}

/// Whether the input is without errors; or what is wrong with the compiler.
type Action = fn(input: &Input) -> Result<bool, String>;

struct Input {
    text: String,
    /// With the whole prelude, or a short one.
    prelude: Prelude,
}

#[derive(Args)]
pub struct FuzzArgs {
    /// Which inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For how many seconds
    #[arg(long, default_value_t = 60)]
    time: u64,
    /// At most how many inputs
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    cases: u64,
    /// The number of the first input
    #[arg(long, default_value_t = 0)]
    first: u64,
}

/// An input that takes longer is a finding.
const HANG: Duration = Duration::from_secs(60);

/// What a program may use when it is run.
const MAX_STEPS: u64 = 1_000_000;
const MAX_MEMORY: u64 = 256 << 20;

/// So many inputs share one check of the whole prelude; the others see a few functions
/// only, which makes them fast.
const PRELUDE_EVERY: u64 = 16;

/// What most programs of the corpus need.
const SHORT_PRELUDE: &str = "
fn @(?a & ?b) range(a: i32, b: i32, body: fn(i32) -> ()) -> () { if a < b { body(a); range(a + 1, b, body) } }
fn @(?a & ?b) unroll(a: i32, b: i32, body: fn(i32) -> ()) -> () { if a < b { body(a); unroll(a + 1, b, body) } }
extern \"thorin\" { fn bitcast[D, S](S) -> D; fn select[T, U](T, U, U) -> U; fn sizeof[T]() -> i64; fn undef[T]() -> T; }
extern \"C\" { fn print_i32(i32) -> (); fn print_string(&[u8]) -> (); fn print_char(u8) -> (); }
";

pub fn run(target: FuzzTarget) -> anyhow::Result<()> {
    match target {
        FuzzTarget::FrontEnd(args) => inputs("front-end", &args, check),
        FuzzTarget::Whole(args) => inputs("whole", &args, check_and_run),
        FuzzTarget::Simd(args) => inputs("simd", &args, |input| simd::compare(&input.text)),
        FuzzTarget::Filters(args) => filters::run(args),
    }
}

/// Does `action` with one input after the other.
fn inputs(name: &str, args: &FuzzArgs, action: Action) -> anyhow::Result<()> {
    let sources = files::with_extension(".", "impala")?;
    ensure!(!sources.is_empty(), "there is no Impala file to start from");
    let corpus = Corpus::new(sources.iter().map(|file| file.text.as_str()));
    let (start, limit) = (Instant::now(), Duration::from_secs(args.time));
    let (mut n_cases, mut n_clean, mut n_findings) = (0, 0, 0);
    // A panic is reported by us, with its input.
    panic::set_hook(Box::new(|_| {}));
    while n_cases < args.cases && start.elapsed() < limit {
        let case = args.first + n_cases;
        let mut random = Random::new(args.seed, case);
        let input = Input {
            text: if name == "simd" { simd::program(&mut random) } else { corpus.input(&mut random) },
            prelude: if case.is_multiple_of(PRELUDE_EVERY) { Prelude::AsWritten } else { Prelude::Absent },
        };
        match try_input(action, &input) {
            Ok(is_clean) => n_clean += u64::from(is_clean),
            Err(what) => {
                n_findings += 1;
                report_finding(name, args.seed, case, &what, &input.text)?;
            }
        }
        n_cases += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{name}: {n_cases} cases in {seconds:.1} s ({:.0}/s), {n_clean} without errors, {n_findings} findings",
        n_cases as f64 / seconds
    );
    ensure!(n_findings == 0, "{n_findings} findings");
    Ok(())
}

/// Does `action`, and tells apart panics and hangs.
fn try_input(action: Action, input: &Input) -> Result<bool, String> {
    let start = Instant::now();
    let result = panic::catch_unwind(AssertUnwindSafe(|| action(input)));
    match result {
        Ok(_) if start.elapsed() > HANG => Err(format!("took {:?}", start.elapsed())),
        Ok(result) => result,
        Err(payload) => {
            let message = payload.downcast_ref::<String>().map(String::as_str);
            let message = message.or(payload.downcast_ref::<&str>().copied());
            Err(format!("panicked: {}", message.unwrap_or("(no message)")))
        }
    }
}

fn session_for(input: &Input) -> Session {
    let mut session = Session::new(Options { prelude: input.prelude, ..Options::default() });
    session.add_text("fuzz.impala", input.text.as_str());
    if input.prelude == Prelude::Absent {
        session.add_text("prelude.impala", SHORT_PRELUDE);
    }
    session
}

/// Whether there are no errors, after drawing what was reported.
fn report(session: &mut Session) -> bool {
    let is_clean = !session.has_errors();
    let report = Report::new(std::mem::take(&mut session.diagnostics));
    // What matters is that drawing does not panic.
    let _ = (report.human(&session.sources, true), report.json(&session.sources));
    is_clean
}

fn check(input: &Input) -> Result<bool, String> {
    let mut session = session_for(input);
    pipeline::check(&mut session);
    Ok(report(&mut session))
}

fn check_and_run(input: &Input) -> Result<bool, String> {
    let mut session = session_for(input);
    let Some(world) = pipeline::emit(&mut session) else {
        report(&mut session);
        return Ok(false);
    };
    nyala_ir::verify(&world).map_err(|errors| format!("not well formed: {errors}"))?;
    let printed = text::print(&world);
    let parsed = text::parse(&printed).map_err(|error| format!("cannot read what was printed: {error}"))?;
    if text::print(&parsed) != printed {
        return Err("printing what was read gives another text".into());
    }
    let options = nyala_interp::Options { steps: Some(MAX_STEPS), memory: MAX_MEMORY, ..Default::default() };
    let io = Io { output: &mut io::sink(), input: &mut io::empty(), nanos: &mut || 0 };
    pipeline::interp(&mut session, &world, &options, io);
    report(&mut session);
    Ok(true)
}

fn report_finding(name: &str, seed: u64, case: u64, what: &str, text: &str) -> anyhow::Result<()> {
    let folder = files::repository().join("target/fuzz");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}-{seed}-{case}.impala"));
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("{}: {what}", path.display());
    Ok(())
}
