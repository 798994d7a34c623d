//! Programs and the compiler at their limits: stack, memory, a closed pipe. Each ends with a
//! message and a status, never with a bare signal.
#![cfg(target_os = "linux")]

mod support;

use std::process::{Command, Stdio};

use support::{Folder, nyala, run_command};

/// The recursion needs a frame for each call: the address of the array is kept.
const DEEP: &str = "\
fn deep(n: i32, a: &mut [i32]) -> i32 {
    if n == 0 { a(0) } else { let mut b = [n, .. 64]; b(n & 63) = a(0); 1 + deep(n - 1, &mut b) - b(3) }
}
";

/// The standard error and the status of a program: with `run`, and as an executable.
fn both_ways(name: &str, text: &str) -> [(Option<i32>, String, String); 2] {
    let folder = Folder::new(name);
    let (source, exe) = (folder.file("deep.impala", text), folder.path("deep"));
    let (status, _, stderr) = run_command(nyala().args(["build", "-o", &exe, &source]), "");
    assert_eq!(status, Some(0), "{stderr}");
    let threads = |command: &mut Command| run_command(command.env("NYALA_THREADS", "3"), "");
    [threads(nyala().args(["run", &source])), threads(&mut Command::new(exe))]
}

#[test]
fn stack_overflow_on_the_main_thread_shows_the_calls() {
    let text = format!(
        "{DEEP}fn start() -> i32 {{ let mut a = [1, .. 64]; deep(2000000000, &mut a) }}\n\
         fn main() -> i32 {{ print_i32(7); start() }}\n"
    );
    for (status, stdout, stderr) in both_ways("deep-main", &text) {
        assert_eq!((status, stdout.as_str()), (Some(1), "7"), "{stderr}");
        assert!(stderr.starts_with("error: stack overflow in the main thread: its stack of "), "{stderr}");
        assert!(stderr.contains(" MiB is used up\n  in `deep` ("), "{stderr}");
        assert!(stderr.contains("deep.impala:1)\n  called by `deep` ("), "{stderr}");
        assert!(stderr.contains(" more calls ..\n"), "{stderr}");
        let last = stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("  called by `main` (") && last.ends_with("deep.impala:5)"), "{stderr}");
        assert!(stderr.lines().count() < 20, "{stderr}");
    }
}

#[test]
fn stack_overflow_on_other_threads_shows_the_calls() {
    let work = "let mut a = [1, .. 64]; print_i32(deep(2000000000, &mut a));";
    let pool = format!("for i in parallel(0, 0, 100) {{ if i == 99 {{ {work} }} }}");
    let spawned = format!("let thread = spawn(|| {{ {work} }}); sync(thread);");
    let own = format!("for i in parallel(2, 0, 100) {{ if i >= 50 {{ {work} }} }}");
    for (body, name) in [(pool, "pool"), (spawned, "spawned"), (own, "own")] {
        let text = format!("{DEEP}fn main() -> i32 {{ {body} 0 }}\n");
        for (status, _, stderr) in both_ways(&format!("deep-{name}"), &text) {
            assert_eq!(status, Some(1), "{name}: {stderr}");
            assert!(stderr.starts_with("error: stack overflow in "), "{name}: {stderr}");
            assert!(
                stderr.contains("\n  in `deep` (") && stderr.contains("deep.impala:1)"),
                "{name}: {stderr}"
            );
            assert!(stderr.contains(" more calls ..\n"), "{name}: {stderr}");
        }
    }
}

/// The main thread takes part in the loop, but only the others recurse.
#[test]
fn stack_overflow_on_a_worker_of_the_pool_shows_the_calls() {
    let text = format!(
        "extern \"C\" {{ fn gettid() -> i32; fn usleep(i32) -> i32; }}\n\
         {DEEP}fn work(main_thread: i32) -> () {{\n    \
             if gettid() == main_thread {{ usleep(1000); }}\n    \
             else {{ let mut a = [1, .. 64]; print_i32(deep(2000000000, &mut a)); }}\n\
         }}\n\
         fn main() -> i32 {{ let thread = gettid(); for i in parallel(0, 0, 5000) {{ work(thread + 0 * i) }} 0 }}\n"
    );
    for (status, _, stderr) in both_ways("deep-worker", &text) {
        assert_eq!(status, Some(1), "{stderr}");
        assert!(
            stderr.starts_with("error: stack overflow in a thread of the runtime: its stack of "),
            "{stderr}"
        );
        assert!(stderr.contains(" MiB is used up\n  in `deep` ("), "{stderr}");
        assert!(stderr.contains("deep.impala:2)\n  called by `deep` ("), "{stderr}");
        let last = stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("  called by `"), "{stderr}");
        assert!(!stderr.contains("`main`"), "{stderr}");
    }
}

#[test]
fn a_local_array_larger_than_the_stack_overflows_it() {
    let text = "fn fill(a: &mut [u8], n: i32) -> () { for i in range(0, n) { a(i) = i as u8; } }\n\
                fn large(n: i32) -> i32 { let mut a: [u8 * 400000000]; fill(&mut a, n); a(5) as i32 }\n\
                fn main(n: i32, args: &[&[u8]]) -> i32 { large(n + 9) }\n";
    for (status, _, stderr) in both_ways("large-local", text) {
        assert_eq!(status, Some(1), "{stderr}");
        assert!(stderr.contains("stack overflow in the main thread"), "{stderr}");
        assert!(stderr.contains("`large`") || stderr.contains("`main`"), "{stderr}");
    }
}

/// A fault outside of the stack keeps its default action.
#[test]
fn other_faults_keep_their_default_action() {
    use std::os::unix::process::ExitStatusExt as _;
    let folder = Folder::new("null");
    let text = "fn main(n: i32, args: &[&[u8]]) -> i32 { let p = bitcast[&i32]((n as i64) * 8i64); *p }\n";
    let (source, exe) = (folder.file("null.impala", text), folder.path("null"));
    let built = run_command(nyala().args(["build", "-o", &exe, &source]), "");
    assert_eq!(built, (Some(0), String::new(), String::new()));
    for mut command in [Command::new(exe), {
        let mut run = nyala();
        run.args(["run", &source]);
        run
    }] {
        let output = support::output(&mut command, "");
        assert_eq!((output.status.signal(), output.stderr.len()), (Some(11), 0));
    }
}

/// With any amount of memory, a command succeeds or reports that memory is exhausted.
#[test]
fn out_of_memory_is_reported() {
    let folder = Folder::new("scarce");
    let text = "fn main() -> i32 { for i in range(0, 3) { print_i32(i); } 0 }\n";
    let source = folder.file("a.impala", text);
    let exe = folder.path("a");
    let commands: [&[&str]; 5] = [
        &["check", &source],
        &["interp", &source],
        &["explain", &source],
        &["run", &source],
        &["build", "-o", &exe, &source],
    ];
    for megabytes in [60, 90, 120, 170, 220, 300] {
        for args in commands {
            let limit = format!("ulimit -v {} && exec \"$0\" \"$@\"", megabytes * 1000);
            let mut command = Command::new("sh");
            command.args(["-c", &limit, env!("CARGO_BIN_EXE_nyala")]).args(args);
            let (status, _, stderr) = run_command(&mut command, "");
            let shown = format!("{megabytes} MB, {args:?}: {status:?}: {stderr}");
            match status {
                Some(0) => assert_eq!(stderr, "", "{shown}"),
                Some(1) => assert!(is_about_memory(&stderr), "{shown}"),
                // Not even the loader has memory for the compiler.
                Some(126 | 127) => assert!(stderr.contains("nyala"), "{shown}"),
                _ => panic!("{shown}"),
            }
            assert!(!stderr.contains("bug in nyala") && !stderr.contains("E0924"), "{shown}");
        }
    }
}

/// Our message, or that of the linker, which has the same limit.
fn is_about_memory(stderr: &str) -> bool {
    let words = ["out of memory", "annot allocate memory", "memory exhausted", "failed to map segment"];
    words.iter().any(|words| stderr.contains(words)) || stderr.contains("error[E0932]")
}

#[test]
fn a_pipe_without_a_reader_ends_the_process() {
    use std::os::unix::process::ExitStatusExt as _;
    const SIGPIPE: i32 = 13;
    let folder = Folder::new("pipe");
    let text = "fn main() -> i32 { for i in range(0, 100000) { print_i32(i); print_char('\\n'); } 3 }\n";
    let (source, exe) = (folder.file("a.impala", text), folder.path("a"));
    let built = run_command(nyala().args(["build", "-o", &exe, &source]), "");
    assert_eq!(built, (Some(0), String::new(), String::new()));
    let with = |args: &[&str]| {
        let mut command = nyala();
        command.args(args);
        command
    };
    let commands = [
        with(&["run", &source]),
        with(&["interp", &source]),
        with(&["ir", &source]),
        with(&["check", "--explain", "E0020"]),
        Command::new(exe),
    ];
    for mut command in commands {
        // The reader is gone before the process starts: short output would fit into the pipe.
        let (reader, writer) = std::io::pipe().expect("there are file descriptors");
        drop(reader);
        command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let child = command.spawn().expect("cargo has built it");
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.signal(), stderr.as_ref()), (Some(SIGPIPE), ""), "{command:?}");
    }
}
