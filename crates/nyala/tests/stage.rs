//! Runs every program under `tests/stage`: in the interpreter of the calculus, with compiled functions, and as native
//! code. All print what the comments at the top expect, and the residual program is the stored one. A program with an
//! error reports the stored text.

use std::path::Path;
use std::process::{Command, ExitCode, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_tests::expectations::Expectations;
use nyala_tests::{files, snapshot};

fn main() -> ExitCode {
    let mut trials = vec![];
    for extension in ["deep", "sc"] {
        for path in files::with_extension(&files::repository().join("tests/stage"), extension) {
            let name = files::display_name(&path);
            for way in [Way::Residual, Way::Interpreter, Way::Jit, Way::Native] {
                let path = path.clone();
                trials.push(Trial::test(&name, move || test(&path, way)).with_kind(way.name()));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// How a program is tested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Its residual or its error is compared with the stored text.
    Residual,
    /// It runs in the interpreter.
    Interpreter,
    /// It runs in the interpreter, and `compile` makes native code.
    Jit,
    /// It runs as native code.
    Native,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Residual => "residual",
            Way::Interpreter => "interpreter",
            Way::Jit => "jit",
            Way::Native => "native",
        }
    }
}

fn nyala(path: &Path, options: &[&str], args: &[String]) -> Result<Output, Failed> {
    let path = path.strip_prefix(files::repository()).unwrap_or(path);
    let mut command = Command::new(env!("CARGO_BIN_EXE_nyala"));
    command.arg("stage").arg(path).args(options).args(["--color", "never"]).arg("--").args(args);
    Ok(command.current_dir(files::repository()).output()?)
}

fn test(path: &Path, way: Way) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let expected = Expectations::parse(&text)?;
    let stdout = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    if let Some(code) = &expected.error {
        if way != Way::Residual {
            return Ok(());
        }
        let steps = expected.steps.unwrap_or(100_000).to_string();
        let output = nyala(path, &["--steps", &steps], &expected.args)?;
        let report = stderr(&output);
        if output.status.code() != Some(1) || !report.contains(&format!("error[{code}]")) {
            return Err(format!("expected {code}, and status 1\n{report}").into());
        }
        return Ok(snapshot::compare(&path.with_extension("stderr"), &report)?);
    }
    let options: &[&str] = match way {
        Way::Residual => &["--emit", "residual"],
        Way::Interpreter => &[],
        Way::Jit => &["--jit"],
        Way::Native => &["--run"],
    };
    let output = nyala(path, options, &expected.args)?;
    if way == Way::Residual {
        if !output.status.success() {
            return Err(stderr(&output).into());
        }
        let residual = Path::new(path).with_extension("residual");
        return Ok(snapshot::compare(&residual, &stdout(&output))?);
    }
    let lines: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    if lines != expected.out || output.status.code() != Some(expected.status) {
        let expected = expected.out.join("\n");
        let status = output.status;
        return Err(format!(
            "expected\n{expected}\nfound\n{}\n{status}\n{}",
            lines.join("\n"),
            stderr(&output)
        )
        .into());
    }
    Ok(())
}
