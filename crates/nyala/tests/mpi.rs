//! The programs under `tests/mpi`, which are several processes of Open MPI. Without it, the tests are ignored.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_tests::{files, mpi};

type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    let is_there = mpi::is_there();
    let tests: [(&str, Test); 4] = [
        ("ranks_compute_the_bits_of_one_rank", ranks_compute_the_bits_of_one_rank),
        ("the_number_of_ranks_is_a_power_of_two", the_number_of_ranks_is_a_power_of_two),
        ("a_rank_that_does_not_answer_ends_the_run", a_rank_that_does_not_answer_ends_the_run),
        ("a_killed_rank_ends_the_run", a_killed_rank_ends_the_run),
    ];
    let trials = tests.map(|(name, test)| Trial::test(name, test).with_ignored_flag(!is_there));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// Builds a program of `tests/mpi` for a test.
fn build(name: &str, test: &str) -> Result<PathBuf, Failed> {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("mpi-{test}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_nyala"));
    command.args(["build", "--link", "mpi", "-o"]).arg(&program);
    let built = command.arg(files::repository().join("tests/mpi").join(name)).output()?;
    match built.status.success() {
        true => Ok(program),
        false => Err(String::from_utf8_lossy(&built.stderr).into_owned().into()),
    }
}

fn expect(text: &str, part: &str) -> Result<(), Failed> {
    if text.contains(part) { Ok(()) } else { Err(format!("no `{part}` in:\n{text}").into()) }
}

fn ranks_compute_the_bits_of_one_rank() -> Result<(), Failed> {
    let program = build("cycles.impala", "cycles")?;
    let run = |n: u32| -> Result<String, Failed> {
        let output = mpi::mpirun(n).arg(&program).output()?;
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout)?),
            false => Err(format!("{n} ranks: {}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    };
    let expected = run(1)?;
    assert_eq!(expected.lines().count(), 10, "{expected}");
    for n in [2, 4] {
        let found = run(n)?;
        if found != expected {
            return Err(format!("one rank:\n{expected}\n{n} ranks:\n{found}").into());
        }
    }
    Ok(())
}

fn the_number_of_ranks_is_a_power_of_two() -> Result<(), Failed> {
    let output = mpi::mpirun(3).arg(build("waiting.impala", "three")?).output()?;
    assert!(!output.status.success());
    expect(&String::from_utf8(output.stderr)?, "the number of ranks must be a power of two")
}

fn a_rank_that_does_not_answer_ends_the_run() -> Result<(), Failed> {
    let mut command = mpi::mpirun(2);
    let output = command.arg(build("waiting.impala", "patience")?).env("NYALA_MPI_PATIENCE", "1").output()?;
    assert!(!output.status.success());
    expect(&String::from_utf8(output.stderr)?, "multigrid: rank 0: another rank does not answer; start")
}

fn a_killed_rank_ends_the_run() -> Result<(), Failed> {
    let mut command = mpi::mpirun(2);
    command.arg(build("waiting.impala", "killed")?);
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let ranks = mpi::children(started.id(), 2);
    // Until then both have begun to wait.
    thread::sleep(Duration::from_secs(2));
    mpi::kill(ranks[1]);
    let output = started.wait_with_output()?;
    assert!(!output.status.success());
    let message = String::from_utf8(output.stderr)?;
    expect(&message, "multigrid: another rank is lost")?;
    expect(&message, "exited on signal 9")
}
