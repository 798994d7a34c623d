//! Threads that cannot be started: a program does the same with fewer.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

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

#[test]
fn without_memory_for_threads_the_work_is_done_all_the_same() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [source, executable] = ["impala", "exe"]
        .map(|extension| folder.join(format!("few-threads-{}.{extension}", std::process::id())));
    std::fs::write(&source, PROGRAM).expect("the folder can be written");
    let mut build = Command::new(env!("CARGO_BIN_EXE_nyala"));
    let built = build.arg("build").arg(&source).arg("-o").arg(&executable).status();
    assert!(built.is_ok_and(|status| status.success()));
    // Less memory than the stacks of threads take.
    let limited = format!("ulimit -v 60000; exec {}", executable.display());
    let output = Command::new("sh").arg("-c").arg(limited).env("NYALA_THREADS", "4").output();
    let output = output.expect("a shell starts");
    for path in [source, executable] {
        std::fs::remove_file(path).expect("it was written");
    }
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot start a thread"), "{output:?}");
}
