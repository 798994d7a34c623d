//! Dynamic staging: Table 1 of the paper, transforms against FFTW, and when specialization at run time pays.
//!
//! Our functions are in `bench/staging/*.sc`, the peers in `peers.cpp`, and one program, `main.cpp`, calls all of
//! them in turn and checks their results. The last rows measure what it costs to stage and compile a function while
//! a program runs, and after how many calls that is less than the generic function would have cost.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use nyala_driver::native::NativeOptions;
use nyala_span::SourceMap;
use nyala_stage::machine::{Limits, Outcome, Silent};
use nyala_stage::native::Compiler as Specializer;
use nyala_stage::program::{Language, Program, source};

use super::peer::Compiler;
use super::process::{build_nyala, process_seconds, succeed};
use super::{Peer, Row};
use crate::files;

/// A line of `main.cpp`: the case, the version, and the best processor time in milliseconds, for the iterations of
/// the paper's table.
struct Timing {
    case: String,
    version: String,
    ms: f64,
    is_right: bool,
}

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    let folder = files::repository().join("target/bench/staging");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let peer = Compiler::find()?;
    let program = build(&folder, &build_nyala()?, &peer)?;
    let mut command = Command::new(&program);
    command.arg(if quick { "quick" } else { "full" }).args(fftw());
    let output = command.output().context("cannot run the benchmark")?;
    ensure!(output.status.success(), "the benchmark fails: {}", String::from_utf8_lossy(&output.stderr));
    let timings =
        String::from_utf8_lossy(&output.stdout).lines().map(parse).collect::<anyhow::Result<Vec<_>>>()?;
    let mut rows = vec![];
    for timing in timings.iter().filter(|timing| matches!(&*timing.version, "staged" | "unstaged")) {
        let other = match &*timing.version {
            "staged" => find(&timings, &timing.case, "template").or(find(&timings, &timing.case, "fftw")),
            _ => find(&timings, &timing.case, "plain"),
        };
        let name = |version: &str| match version {
            "fftw" => "FFTW, measured plan".into(),
            _ => format!("C++, plain or with templates, {}", peer.name),
        };
        let (unit, scale) = if timing.ms < 1.0 { ("us", 1e3) } else { ("ms", 1.0) };
        let compared = other.map(|other| Peer { name: name(&other.version), value: other.ms * scale });
        let checked = timing.is_right && other.is_none_or(|other| other.is_right);
        let case = format!("{}, {}", timing.case, timing.version);
        rows.push(Row { case, unit, ours: timing.ms * scale, peer: compared, checked });
    }
    rows.extend(break_even(&timings)?);
    Ok(rows)
}

fn find<'a>(timings: &'a [Timing], case: &str, version: &str) -> Option<&'a Timing> {
    timings.iter().find(|timing| timing.case == case && timing.version == version)
}

fn parse(line: &str) -> anyhow::Result<Timing> {
    match &line.split_whitespace().collect::<Vec<_>>()[..] {
        [case, version, ms, is_right] => Ok(Timing {
            case: (*case).into(),
            version: (*version).into(),
            ms: ms.parse()?,
            is_right: *is_right == "1",
        }),
        _ => bail!("cannot read the figures `{line}`"),
    }
}

/// Compiles ours, the peers, and the program that calls them.
fn build(folder: &Path, nyala: &Path, peer: &Compiler) -> anyhow::Result<PathBuf> {
    let sources = files::repository().join("bench/staging");
    let mut objects = vec![];
    for (name, options) in [("kernels", &[][..]), ("fft", &["--fast-math"][..])] {
        let object = folder.join(name).with_extension("o");
        let file = sources.join(name).with_extension("sc");
        let emit = ["--emit", "obj", "-o"];
        succeed(Command::new(nyala).arg("stage").arg(file).args(options).args(emit).arg(&object))?;
        objects.push(object);
    }
    let peers = folder.join("peers.o");
    let flags = ["-x", "c++", "-std=c++17", "-fPIC", "-c", "-o"];
    succeed(peer.command().args(flags).arg(&peers).arg(sources.join("peers.cpp")))?;
    objects.push(peers);
    let program = folder.join("main");
    // The loop is the same for all versions, so any compiler will do.
    let compiler = std::env::var_os("CXX").unwrap_or("c++".into());
    let mut link = Command::new(compiler);
    link.args(["-O2", "-std=c++17", "-o"]).arg(&program).arg(sources.join("main.cpp"));
    succeed(link.args(objects).args(["-ldl", "-lm"]))?;
    Ok(program)
}

/// FFTW's library for floats: the system's, or that of the Python package `pyfftw` beside the C compiler of the peers.
fn fftw() -> Option<PathBuf> {
    let is_fftw = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libfftw3f")
            && !name.contains("omp")
            && !name.contains("threads")
            && name.contains(".so")
    };
    let python = files::repository().join("target/bench/zig/bin/python");
    let packages = || -> Option<PathBuf> {
        let _ = Command::new(&python).args(["-m", "pip", "install", "--quiet", "pyfftw"]).status();
        let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let found = Command::new(&python).args(["-c", code]).output().ok()?;
        Some(PathBuf::from(String::from_utf8_lossy(&found.stdout).trim()).join("pyfftw.libs"))
    };
    let system = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"].map(PathBuf::from);
    let search = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).ok()?;
        entries.filter_map(Result::ok).map(|entry| entry.path()).find(|path| is_fftw(path))
    };
    let found = system.into_iter().find_map(search).or_else(|| packages().and_then(search));
    if found.is_none() {
        eprintln!("FFTW is not there: its rows are left out");
    }
    found
}

/// What is specialized at run time: the case, its exported function, and the calls that the time of a case is for,
/// as in the paper's table.
const SPECIALIZED: [(&str, &str, f64); 3] = [
    ("power", "power72", 1e8),
    ("convolution", "conv_staged", 1e6),
    ("convolution-mirror", "conv_mirror_staged", 1e6),
];

/// The time to stage and compile, and the number of calls after which it is paid back.
fn break_even(timings: &[Timing]) -> anyhow::Result<Vec<Row>> {
    let text = std::fs::read_to_string(files::repository().join("bench/staging/kernels.sc"))?;
    let mut rows = vec![];
    for (case, function, calls) in SPECIALIZED {
        let best = (0..3).map(|_| specialize(&text, function)).collect::<anyhow::Result<Vec<f64>>>()?;
        let ms = best.into_iter().fold(f64::INFINITY, f64::min);
        let per_call = |version| find(timings, case, version).map(|timing| timing.ms / calls);
        let row = |what: &str, unit, ours| Row {
            case: format!("{case}, {what}"),
            unit,
            ours,
            peer: None,
            checked: true,
        };
        rows.push(row("specialize at run time", "ms", ms));
        if let (Some(generic), Some(staged)) = (per_call("unstaged"), per_call("staged")) {
            rows.push(row("pays after", "calls", (ms / (generic - staged)).ceil()));
        }
    }
    Ok(rows)
}

/// The processor time to stage and compile one function of a library, once it is read and LLVM is loaded.
fn specialize(text: &str, function: &str) -> anyhow::Result<f64> {
    let (sources, file) = source("kernels.sc", text).context("it is short")?;
    let read = Program::read(Language::StagedC, sources.file(file));
    let Ok(program) = read else { bail!("the kernels have errors") };
    let at = program.exports.iter().position(|name| name.as_str() == function).context("it is exported")?;
    let mut specializer = Specializer::new(NativeOptions::default(), SourceMap::default());
    let start = process_seconds();
    let mut machine = program.machine(Limits::default());
    let outcome = machine.stage(&mut Silent).and_then(|_| machine.run_to_end(&mut Silent));
    let Ok(Outcome::Exit(nyala_stage::code::Term::Tuple(functions))) = outcome else {
        bail!("the library has no functions")
    };
    let code = machine.closed(&functions[at]).context("it is a function")?;
    let compiled = specializer.compile(&code, &machine.memory);
    ensure!(compiled.is_ok(), "`{function}` is not compiled");
    Ok((process_seconds() - start) * 1e3)
}
