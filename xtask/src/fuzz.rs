//! `cargo xtask fuzz TARGET`: random input, looking for what panics.
//!
//! Inputs are mutations of every Impala file in the repository, and streams of
//! random tokens. Case number `k` of seed `s` is the same on every machine:
//! `--seed s --first k --cases 1` runs it again.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use nyala_driver::{Options, Report, Session, pipeline};
use nyala_interp::Io;
use nyala_ir::text;

use crate::files;
use crate::random::Random;

/// Run random inputs through a part of the compiler
#[derive(Subcommand)]
pub enum FuzzTarget {
    /// Lexer, parser and checker
    FrontEnd(FuzzArgs),
    /// The same, and what has no errors is formatted, lowered, verified and run
    Whole(FuzzArgs),
}

impl FuzzTarget {
    /// Its name, its arguments, and what it does with an input.
    fn parts(self) -> (&'static str, FuzzArgs, Action) {
        match self {
            FuzzTarget::FrontEnd(args) => ("front-end", args, check),
            FuzzTarget::Whole(args) => ("whole", args, check_and_run),
        }
    }
}

/// Whether the input is without errors; or what is wrong with the compiler.
type Action = fn(text: &str) -> Result<bool, String>;

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
const HANG: Duration = Duration::from_secs(10);

/// What a program may use when it is run.
const MAX_STEPS: u64 = 1_000_000;
const MAX_MEMORY: u64 = 256 << 20;

/// Inputs are kept small: more of them find more.
const MAX_TOKENS: usize = 5_000;

/// Every file of the repository, cut into tokens.
type Corpus<'a> = [Vec<&'a str>];

pub fn run(target: FuzzTarget) -> anyhow::Result<()> {
    let (name, args, action) = target.parts();
    let sources = files::with_extension(".", "impala")?;
    let corpus: Vec<Vec<&str>> = sources.iter().map(|file| split(&file.text)).collect();
    ensure!(!corpus.is_empty(), "there is no Impala file to start from");
    let (start, limit) = (Instant::now(), Duration::from_secs(args.time));
    let (mut n_cases, mut n_clean, mut n_findings) = (0, 0, 0);
    // A panic is reported by us, with its input.
    panic::set_hook(Box::new(|_| {}));
    while n_cases < args.cases && start.elapsed() < limit {
        let case = args.first + n_cases;
        let text = make_input(&corpus, &mut Random::new(args.seed, case));
        match try_input(action, &text) {
            Ok(is_clean) => n_clean += u64::from(is_clean),
            Err(what) => {
                n_findings += 1;
                report_finding(name, args.seed, case, &what, &text)?;
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
fn try_input(action: Action, text: &str) -> Result<bool, String> {
    let start = Instant::now();
    let result = panic::catch_unwind(AssertUnwindSafe(|| action(text)));
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

fn session_for(text: &str) -> Session {
    let mut session = Session::new(Options::default());
    session.add_text("fuzz.impala", text);
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

fn check(text: &str) -> Result<bool, String> {
    let mut session = session_for(text);
    pipeline::check(&mut session);
    Ok(report(&mut session))
}

fn check_and_run(text: &str) -> Result<bool, String> {
    let mut session = session_for(text);
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
    println!("{}: {what}", path.display());
    Ok(())
}

fn make_input(corpus: &Corpus<'_>, random: &mut Random) -> String {
    let mut text = match random.below(8) {
        0 => random_tokens(corpus, random),
        _ => mutate_tokens(corpus, random),
    };
    if random.below(4) == 0 {
        text = mutate_bytes(text, random);
    }
    text
}

/// Tokens of random files in random order.
fn random_tokens(corpus: &Corpus<'_>, random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.below(400) {
        let from = random.pick(corpus);
        text.push_str(piece(from, 1, random).first().copied().unwrap_or(""));
        text.push(' ');
    }
    text
}

/// A file with some tokens deleted, doubled, swapped, or replaced by similar ones,
/// or with a piece of another file between them.
fn mutate_tokens(corpus: &Corpus<'_>, random: &mut Random) -> String {
    let file = random.pick(corpus);
    let mut tokens = if file.len() > MAX_TOKENS { piece(file, MAX_TOKENS, random) } else { file }.to_vec();
    for _ in 0..1 + random.below(2) * random.below(5) {
        if tokens.is_empty() {
            break;
        }
        let at = random.below(tokens.len());
        match random.below(12) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[at]),
            2 => {
                let other = random.below(tokens.len());
                tokens.swap(at, other);
            }
            3 => {
                let other = random.pick(corpus);
                let length = random.below(30);
                tokens.splice(at..at, piece(other, length, random).iter().copied());
            }
            4 => {
                let end = tokens.len().min(at + random.below(20));
                tokens.drain(at..end);
            }
            // Most of the time: what often gives a program that is still good.
            _ => replace_by_similar(&mut tokens, at, random),
        }
    }
    tokens.concat()
}

/// Replaces the next word, number or sign from `at` on by another one of the file.
fn replace_by_similar(tokens: &mut [&str], at: usize, random: &mut Random) {
    let kind = |token: &str| {
        let first = token.chars().next().unwrap_or(' ');
        (first.is_ascii_digit(), first.is_alphabetic(), first.is_whitespace())
    };
    let is_text = |token: &&str| !token.trim().is_empty();
    let Some(at) = (at..tokens.len()).find(|&at| is_text(&tokens[at])) else { return };
    for _ in 0..20 {
        let other = *random.pick(tokens);
        if kind(other) == kind(tokens[at]) && other != tokens[at] {
            tokens[at] = other;
            return;
        }
    }
}

/// Up to `length` tokens from a random place on.
fn piece<'a, 'b>(tokens: &'b [&'a str], length: usize, random: &mut Random) -> &'b [&'a str] {
    if tokens.is_empty() {
        return tokens;
    }
    let start = random.below(tokens.len());
    &tokens[start..tokens.len().min(start + length)]
}

/// Some bytes changed; what is no longer UTF-8 becomes the replacement character.
fn mutate_bytes(text: String, random: &mut Random) -> String {
    let mut bytes = text.into_bytes();
    for _ in 0..1 + random.below(4) {
        if !bytes.is_empty() {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Cuts a text into words, spaces and single characters, losing nothing.
fn split(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((_, c)) = chars.next() {
        let end = chars.peek().map_or(text.len(), |&(next, _)| next);
        let goes_on = chars.peek().is_some_and(|&(_, next)| class(next) == class(c) && class(c) != 2);
        if !goes_on {
            tokens.push(&text[start..end]);
            start = end;
        }
    }
    tokens
}
