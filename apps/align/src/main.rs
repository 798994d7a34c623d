//! `nyala-align`: alignments of the sequences in two files, by the library `align`.
//!
//! The command line ([`cli`]) names files ([`sequences`]) and a scoring. The app writes a program in Impala for it ([`program`]), compiles
//! it ([`kernel`]), aligns all pairs ([`pairs`]), and prints results ([`output`], [`picture`]) or the speed ([`mod@bench`]).
//! Errors on the command line end with status 2, all others with status 1.

mod bench;
mod cli;
mod kernel;
mod output;
mod pairs;
mod picture;
mod program;
mod sequences;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result, bail};
use clap::Parser;

use cli::{Args, Color, Device, Format, Letters, Mode, Pairs, Strands};
use pairs::Job;
use sequences::Sequence;

fn main() -> ExitCode {
    nyala_process::run("nyala-align", run_args)
}

fn run_args() -> ExitCode {
    let args = Args::parse();
    if let Err(error) = check(&args) {
        return failed(&error, 2);
    }
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error, 1),
    }
}

fn failed(error: &anyhow::Error, status: u8) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::from(status)
}

/// Rejects combinations of options that have no meaning.
fn check(args: &Args) -> Result<()> {
    let needs_path = args.format != Format::Tsv || args.picture.is_some();
    if args.device != Device::Cpu && (needs_path || args.band.is_some()) {
        bail!("devices compute scores only: `--format tsv` without `--picture` and `--band`");
    }
    if args.query.as_os_str() == "-" && args.subject.as_os_str() == "-" {
        bail!("queries and subjects cannot both come from standard input");
    }
    if args.strand == Strands::Both && args.letters == Letters::Protein {
        bail!("proteins have no strands");
    }
    if args.band.is_some() && args.free.is_empty() && args.mode == Mode::Local {
        bail!("local alignments have no band");
    }
    args.picture.as_deref().map_or(Ok(()), |picture| picture::Kind::of(picture).map(|_| ()))
}

fn run(args: &Args) -> Result<()> {
    let threads = match args.threads {
        0 => thread::available_parallelism().map_or(1, |n| n.get() as u32),
        n => n,
    };
    for output in [&args.output, &args.picture].into_iter().flatten() {
        require_other_file(output, [&args.query, &args.subject])?;
    }
    let mut queries = sequences::read(&args.query, args.letters)?;
    let subjects = sequences::read(&args.subject, args.letters)?;
    if args.format == Format::Sam {
        require_distinct_names(args, &subjects)?;
        require_names(&args.query, &queries, output::is_query_name)?;
        require_names(&args.subject, &subjects, output::is_subject_name)?;
    }
    if args.pairs == Pairs::Pairwise && queries.len() != subjects.len() {
        bail!("there are {} queries and {} subjects, which are no pairs", queries.len(), subjects.len());
    }
    if args.strand == Strands::Both {
        let others: Vec<_> = queries.iter().map(Sequence::reverse_complement).collect();
        queries.extend(others);
    }
    let job = Job { args, threads, queries: &queries, subjects: &subjects };
    if args.show_program {
        print!("{}", job.program());
        return Ok(());
    }
    if args.bench {
        return bench::measure(&job);
    }
    let is_coloured = match args.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            args.output.is_none() && io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
        }
    };
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot create `{}`", path.display()))?;
            Box::new(BufWriter::new(file))
        }
        None => Box::new(BufWriter::new(io::stdout().lock())),
    };
    let written = job.run(&mut out, is_coloured).and_then(|()| Ok(out.flush()?));
    written.map_err(|error| match &args.output {
        _ if !error.is::<io::Error>() => error,
        Some(path) => error.context(format!("cannot write `{}`", path.display())),
        None => error.context("cannot write to standard output"),
    })
}

/// An output must not replace the sequences that it is made of.
fn require_other_file(output: &Path, inputs: [&PathBuf; 2]) -> Result<()> {
    let file = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
    let Some(place) = file(output) else { return Ok(()) };
    match inputs.into_iter().find(|input| file(input).as_ref() == Some(&place)) {
        Some(input) => bail!("`{}` would replace the sequences in `{}`", output.display(), input.display()),
        None => Ok(()),
    }
}

/// Alignments in SAM name their subject.
fn require_distinct_names(args: &Args, subjects: &[Sequence]) -> Result<()> {
    let mut lines = HashMap::new();
    for Sequence { name, line, .. } in subjects {
        if let Some(first) = lines.insert(name, *line) {
            let file = args.subject.display();
            bail!(
                "{file}:{line}: `{name}` is the name of the subject on line {first}, too, which SAM does not allow"
            );
        }
    }
    Ok(())
}

fn require_names(file: &Path, all: &[Sequence], is_allowed: fn(&str) -> bool) -> Result<()> {
    match all.iter().find(|sequence| !is_allowed(&sequence.name)) {
        Some(Sequence { name, line, .. }) => {
            bail!("{}:{line}: SAM does not allow the name `{name}`", file.display())
        }
        None => Ok(()),
    }
}
