//! Runs the app as several processes of Open MPI. Without it, the tests are ignored.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_tests::mpi;

const APP: &str = env!("CARGO_BIN_EXE_nyala-multigrid");

type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    let is_there = mpi::is_there();
    let tests: [(&str, Test); 2] = [
        ("two_ranks_write_the_solution_of_one", two_ranks_write_the_solution_of_one),
        ("a_run_goes_on_after_the_loss_of_a_rank", a_run_goes_on_after_the_loss_of_a_rank),
    ];
    let trials = tests.map(|(name, test)| Trial::test(name, test).with_ignored_flag(!is_there));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// An empty folder per test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("mpi-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn output(command: &mut Command) -> Result<Output, Failed> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(output),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

/// Runs the app as two ranks and as one process, and compares the files that they write.
fn compare(folder: &Path, args: &[&str]) -> Result<Output, Failed> {
    let ranks =
        output(mpi::mpirun(2).current_dir(folder).args([APP, "--mpi", "--vtk", "ranks.vtk"]).args(args))?;
    output(Command::new(APP).current_dir(folder).args([
        "problem.toml",
        "--threads",
        "1",
        "--vtk",
        "one.vtk",
    ]))?;
    let file = |name: &str| fs::read(folder.join(name)).unwrap();
    if file("ranks.vtk") == file("one.vtk") { Ok(ranks) } else { Err("the solutions differ".into()) }
}

fn two_ranks_write_the_solution_of_one() -> Result<(), Failed> {
    let folder = folder("poisson");
    let problem = "[problem]\nequation = \"poisson\"\nintervals = 32\nboundary = [\"dirichlet\", \"neumann\"]\nsource = \"x * y\"\nstart = \"x\"\n[solver]\nlevels = 2\n";
    fs::write(folder.join("problem.toml"), problem)?;
    let found = compare(&folder, &["problem.toml"])?;
    assert_eq!(String::from_utf8(found.stdout)?.matches("solved after").count(), 1);
    Ok(())
}

/// The number of steps is the third number of a checkpoint.
fn steps_in(checkpoint: &Path) -> u32 {
    let bytes = fs::read(checkpoint).unwrap();
    u32::from_le_bytes(bytes[16..20].try_into().unwrap())
}

fn a_run_goes_on_after_the_loss_of_a_rank() -> Result<(), Failed> {
    let folder = folder("lost");
    let problem = |steps: u32| {
        format!(
            "[problem]\nequation = \"heat\"\nintervals = 32\nstart = \"x * y\"\nsource = \"x\"\n[time]\nsteps = {steps}\nsteps_per_frame = 8\n"
        )
    };
    fs::write(folder.join("problem.toml"), problem(100_000_000))?;
    let mut command = mpi::mpirun(2);
    command.current_dir(&folder).args([APP, "--mpi", "problem.toml", "--checkpoint", "state"]);
    let started = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let ranks = mpi::children(started.id(), 2);
    let checkpoint = folder.join("state");
    let begin = Instant::now();
    while !checkpoint.exists() {
        assert!(begin.elapsed() < Duration::from_secs(120), "no checkpoint is written");
        thread::sleep(Duration::from_millis(20));
    }
    mpi::kill(ranks[1]);
    let lost = started.wait_with_output()?;
    assert!(!lost.status.success());
    let message = String::from_utf8(lost.stderr)?;
    assert!(
        message.contains("another rank is lost") && message.contains("goes on from its checkpoint"),
        "{message}"
    );

    let steps = steps_in(&checkpoint);
    fs::write(folder.join("problem.toml"), problem(steps + 16))?;
    let found = compare(&folder, &["problem.toml", "--checkpoint", "state"])?;
    assert!(String::from_utf8(found.stdout)?.contains(&format!("going on after {steps} steps")));
    Ok(())
}
