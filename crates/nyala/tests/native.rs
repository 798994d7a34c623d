//! Runs every program under `tests/run` as native code, in memory with and without
//! optimization, with debug information, and as an executable: it behaves as in the interpreter. Parallel
//! programs run on one thread and on several, those with `vectorize` with other numbers of lanes.
//!
//! Programs that have no native code yet are listed in `native.txt` with the code
//! of the diagnostic that they get. A program that is not listed must run, and one
//! that is listed must get that diagnostic, so the list is always true. Those with the word
//! `device` need one: without one, they report that.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_tests::expectations::Expectations;
use nyala_tests::{files, snapshot};

const NOT_YET: &str = include_str!("native.txt");

fn main() -> ExitCode {
    let not_yet: BTreeMap<&str, &str> = NOT_YET.lines().filter_map(|line| line.split_once(' ')).collect();
    let mut trials = vec![];
    for path in files::with_extension(&files::repository().join("tests/run"), "impala") {
        let name = files::display_name(&path);
        let missing = not_yet.get(name.as_str()).copied();
        if expects_error(&path) {
            continue;
        }
        let mut ways = vec![Way::Run("-O0"), Way::Run("-O2"), Way::Run("-O3"), Way::Debugged, Way::Build];
        if name.contains("/functions/") || name.contains("/simd/") {
            ways.push(Way::Run("-O1"));
        }
        if name.contains("/parallel/") {
            ways.extend(["1", "2", "3", "8"].map(Way::Threads));
        }
        if with_lanes(&std::fs::read_to_string(&path).unwrap_or_default(), 1).is_some() {
            ways.extend([1, 4, 8, 16].map(Way::Lanes));
        }
        for way in ways {
            let path = path.clone();
            let kind =
                missing.map_or(way.name().to_owned(), |code| format!("{}, not yet: {code}", way.name()));
            trials.push(Trial::test(&name, move || test(&path, way, missing)).with_kind(kind));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// How a program is made to run.
#[derive(Clone, Copy)]
enum Way {
    /// In memory, at a level of optimization.
    Run(&'static str),
    /// In memory, with all that debuggers want to know.
    Debugged,
    /// As an executable.
    Build,
    /// In memory, on so many threads.
    Threads(&'static str),
    /// In memory, with so many lanes.
    Lanes(u32),
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Run(level) => level,
            Way::Debugged => "-g",
            Way::Build => "exe",
            Way::Threads(_) => "threads",
            Way::Lanes(_) => "lanes",
        }
    }
}

/// Whether a program ends with a mistake, which native code does not promise to notice.
fn expects_error(path: &Path) -> bool {
    let source = std::fs::read_to_string(path).unwrap_or_default();
    Expectations::parse(&source).is_ok_and(|expected| expected.error.is_some())
}

fn test(path: &Path, way: Way, missing: Option<&str>) -> Result<(), Failed> {
    let expected = Expectations::parse(&std::fs::read_to_string(path)?)?;
    let output = match way {
        Way::Run(level) => run(nyala().args(["run", level]).arg(path).arg("--"), &expected)?,
        Way::Debugged => run(nyala().args(["run", "-g", "-O0"]).arg(path).arg("--"), &expected)?,
        Way::Build => build_and_run(path, &expected)?,
        Way::Lanes(n) if missing.is_none() => return does_the_same_with_lanes(path, n, &expected),
        Way::Lanes(_) => return Ok(()),
        Way::Threads(n) => run(nyala().env("NYALA_THREADS", n).arg("run").arg(path).arg("--"), &expected)?,
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    if missing == Some("device") && stderr.contains(" device 0: there is no ") {
        return Ok(());
    }
    match (missing.filter(|&missing| missing != "device"), error_code(&stderr)) {
        (None, None) => compare(&expected, &output),
        (Some(missing), Some(code)) if missing == code => Ok(()),
        (Some(missing), None) => {
            Err(format!("it has native code now: take it from the list ({missing})").into())
        }
        (missing, Some(_)) => Err(format!("expected {missing:?}\n{stderr}").into()),
    }
}

/// With another number of lanes native code behaves as the interpreter, if the interpreter
/// reports no error.
fn does_the_same_with_lanes(path: &Path, n: u32, expected: &Expectations) -> Result<(), Failed> {
    let text = with_lanes(&std::fs::read_to_string(path)?, n).ok_or("it has no lanes")?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let path = folder.join(format!("lanes-{}-{n}-{name}.impala", std::process::id()));
    std::fs::write(&path, text)?;
    let outputs = ["interp", "run"].map(|how| run(nyala().arg(how).arg(&path).arg("--"), expected));
    std::fs::remove_file(&path)?;
    let [interpreted, native] = outputs;
    let (interpreted, native) = (interpreted?, native?);
    if error_code(&String::from_utf8_lossy(&interpreted.stderr)).is_some() {
        return Ok(());
    }
    let difference = || {
        let [a, b] =
            [&interpreted, &native].map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        format!("{} and {}\n{}", interpreted.status, native.status, snapshot::difference(&a, &b))
    };
    match (native.status, &native.stdout) == (interpreted.status, &interpreted.stdout) {
        true => Ok(()),
        false => Err(difference().into()),
    }
}

/// The program with another number of lanes, if the number is a literal.
fn with_lanes(text: &str, n: u32) -> Option<String> {
    let mut parts = text.split("vectorize");
    let mut changed = parts.next()?.to_owned();
    let mut found = false;
    for part in parts {
        changed.push_str("vectorize");
        let start = part.find('(').map_or(part.len(), |at| at + 1);
        let is_call = part[..start].chars().all(|c| c.is_alphabetic() || c == '_' || c == '(');
        let digits = part[start..].chars().take_while(char::is_ascii_digit).count();
        if is_call && digits > 0 {
            found = true;
            let (own, rest) = part[start..].split_at(digits);
            // Without a range, more lanes could repeat work.
            let most = own.parse().ok().filter(|_| rest.starts_with(')')).unwrap_or(n);
            changed.push_str(&format!("{}{}{rest}", &part[..start], n.min(most)));
        } else {
            changed.push_str(part);
        }
    }
    found.then_some(changed)
}

fn nyala() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nyala"))
}

/// The output of the executable, or the diagnostics of building it.
fn build_and_run(path: &Path, expected: &Expectations) -> std::io::Result<Output> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("exe-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let executable = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built = nyala().arg("build").arg(path).arg("-o").arg(&executable).output()?;
    if !built.status.success() {
        return Ok(built);
    }
    let output = run(&mut Command::new(&executable), expected);
    std::fs::remove_file(&executable)?;
    output
}

/// Runs a command with a program's arguments and input.
fn run(command: &mut Command, expected: &Expectations) -> std::io::Result<Output> {
    let command = command.args(&expected.args).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // A program that does not read its input may be gone already.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(expected.stdin.as_bytes()));
    child.wait_with_output()
}

/// The code of the first error that was reported.
fn error_code(stderr: &str) -> Option<&str> {
    stderr.split_once("error[").and_then(|(_, rest)| rest.split_once(']')).map(|(code, _)| code)
}

fn compare(expected: &Expectations, output: &Output) -> Result<(), Failed> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    if !stdout.lines().eq(&expected.out) {
        return Err(snapshot::difference(&expected.out.join("\n"), &stdout).into());
    }
    if output.status.code() == Some(expected.status & 0xff) {
        Ok(())
    } else {
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(format!("{} instead of {}\n{stderr}", output.status, expected.status).into())
    }
}
