//! The threads of compiled programs: fewer than requested if the system has no more, and asleep when idle.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const PROGRAM: &str = "
fn main() -> i32 {
    let counts = ~[64: i32];
    for i in range(0, 64) { counts(i) = 0 }
    for i in parallel(4, 0, 64) { counts(i) += 1 }
    for i in parallel(0, 0, 64) { counts(i) += 10 }
    let id = spawn(|| { counts(0) += 100 });
    sync(id);
    for i in range(0, 64) { if counts(i) != (if i == 0 { 111 } else { 11 }) { return(1) } }
    print_string(\"all\\n\");
    0
}
";

/// An executable that is removed in the end.
struct Executable(PathBuf);

impl Executable {
    fn build(name: &str, program: &str) -> Executable {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let [source, executable] = ["impala", "exe"]
            .map(|extension| folder.join(format!("{name}-{}.{extension}", std::process::id())));
        fs::write(&source, program).expect("the folder can be written");
        let mut build = Command::new(env!("CARGO_BIN_EXE_nyala"));
        let built = build.arg("build").arg(&source).arg("-o").arg(&executable).status();
        fs::remove_file(source).expect("it was written");
        assert!(built.is_ok_and(|status| status.success()));
        Executable(executable)
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn without_memory_for_threads_loops_run_sequentially() {
    let executable = Executable::build("few-threads", PROGRAM);
    // Less memory than the stacks of threads take.
    let limited = format!("ulimit -v 60000; exec {}", executable.0.display());
    let output = Command::new("sh").arg("-c").arg(limited).env("NYALA_THREADS", "4").output();
    let output = output.expect("a shell starts");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot start a thread"), "{output:?}");
}

#[test]
fn the_number_of_threads_is_limited_with_a_warning() {
    let executable = Executable::build("many-threads", PROGRAM);
    for asked in ["20000", "99999999999999999999"] {
        let output = Command::new(&executable.0).env("NYALA_THREADS", asked).output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "all\n");
        let expected = format!("warning: NYALA_THREADS is `{asked}`, going on with ");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with(&expected), "{output:?}");
    }
}

/// Runs loops and tasks, prints a line, and waits for the end of its input.
const IDLE: &str = "
extern \"C\" { fn getchar() -> i32; }
fn main() -> i32 {
    let counts = ~[64: i32];
    for _ in range(0, 100) { for i in parallel(0, 0, 64) { counts(i) = i } }
    let id = spawn(|| { counts(0) = 1 });
    sync(id);
    print_string(\"ready\\n\");
    print_flush();
    getchar() & 0
}
";

#[test]
fn idle_threads_take_no_processor_time() {
    let executable = Executable::build("idle", IDLE);
    let mut command = Command::new(&executable.0);
    command.env("NYALA_THREADS", "2").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let output = child.stdout.take().expect("it is piped");
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("it prints text");
    assert_eq!(line, "ready\n");
    sleep(Duration::from_millis(200));
    let before = processor_time(child.id());
    sleep(Duration::from_millis(500));
    let spent = processor_time(child.id()) - before;
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
    // In hundredths of a second; a thread that did not sleep would have spent up to fifty.
    assert!(spent <= 1, "{spent}");
}

/// The time that the processor worked for a process, as `/proc` has it.
fn processor_time(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it is running");
    let (_, fields) = stat.rsplit_once(')').expect("the name is in parentheses");
    fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().expect("a number")).sum()
}
