//! Programs that run as several processes of Open MPI.

use std::process::Command;
use std::time::{Duration, Instant};

/// Whether programs can be linked with Open MPI and started by it; prints what to do otherwise.
pub fn is_there() -> bool {
    let succeeds = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let is_there = succeeds(Command::new("mpirun").arg("--version"))
        && succeeds(Command::new("mpicc").arg("--showme:link"));
    if !is_there {
        eprintln!(
            "SKIPPED: no program runs on several ranks, as there is no Open MPI (try `cargo xtask setup`)"
        );
    }
    is_there
}

/// The command that starts a program as `n` processes of this machine, even if it has fewer cores.
pub fn mpirun(n: u32) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--oversubscribe", "-n", &n.to_string()]);
    // Containers have one user.
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command
}

/// The processes that a process started, once there are `n` of them.
pub fn children(parent: u32, n: usize) -> Vec<u32> {
    let start = Instant::now();
    loop {
        let listed = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        let found: Vec<u32> =
            listed.unwrap_or_default().split_whitespace().filter_map(|id| id.parse().ok()).collect();
        if found.len() >= n {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{n} processes did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends a process at once, as the loss of a machine does.
pub fn kill(process: u32) {
    let killed = Command::new("kill").args(["-9", &process.to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()), "process {process} cannot be killed");
}
