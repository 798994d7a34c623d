//! Properties of native code: inline assembly, stack use, checks.

mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use nyala_tests::expectations::Expectations;
use nyala_tests::files;

/// Gives a program to `nyala run` with these arguments.
fn run(args: &[&str], program: &str) -> Output {
    support::output(support::nyala().arg("run").args(args).arg("-"), program)
}

/// The output of a program, at every optimization level.
fn check(program: &str, expected: &str) {
    for level in ["-O0", "-O2", "-O3"] {
        let Output { status, stdout, stderr } = run(&[level], program);
        assert_eq!(String::from_utf8_lossy(&stderr), "", "{level}");
        assert_eq!(String::from_utf8_lossy(&stdout), expected, "{level}");
        assert!(status.success(), "{level}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn inline_assembly_has_inputs_and_outputs_of_all_kinds() {
    check(
        r#"
        fn bump(x: i32) -> i32 {
            let mut y = x;
            asm("addl $1, $0" : "=r"(y) : "r"(5), "0"(x));
            y
        }
        fn two(x: i32) -> (i32, i32) {
            let mut a = 0;
            let mut b = 0;
            asm("movl $2, $0; leal 1($2), $1" : "=&r"(a), "=&r"(b) : "r"(x) : "memory" : "volatile");
            (a, b)
        }
        fn in_memory(x: i32) -> i32 {
            let mut a = x;
            let mut z = 0;
            asm("movl $$7, $0" : "=*m"(z));
            asm("incl $0" : : "*m"(&mut a) : "memory");
            a + z
        }
        fn intel(x: i64) -> i64 {
            let mut y = 0i64;
            asm("lea $0, [$1 + $1]" : "=r"(y) : "r"(x) : "{rcx}" : "intel");
            y
        }
        fn main() -> () {
            let (a, b) = two(10);
            print_i32(bump(3)); print_char(' ');
            print_i32(a); print_char(' ');
            print_i32(b); print_char(' ');
            print_i32(in_memory(1)); print_char(' ');
            print_i64(intel(21i64));
        }"#,
        "8 10 11 9 42",
    );
}

#[test]
fn invalid_inline_assembly_is_reported() {
    let output = run(&[], r#"fn main() -> () { asm("no such instruction"); }"#);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("error[E0926]") && stderr.contains("<inline asm>:1"), "{stderr}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn tail_calls_need_no_stack() {
    check(
        "fn even(n: i32) -> bool { if n == 0 { true } else { odd(n - 1) } }
         fn odd(n: i32) -> bool { if n == 0 { false } else { even(n - 1) } }
         fn sum(n: i32, acc: i64) -> i64 { if n == 0 { acc } else { sum(n - 1, acc + n as i64) } }
         fn main(argc: i32) -> () {
             if even(10000000 * argc) { print_i64(sum(10000000 * argc, 0i64)) }
         }",
        "50000005000000",
    );
}

/// Programs whose arrays have lengths that cannot be seen: the memory is the runtime's, or
/// accessed as something else than it was made as.
const UNSEEN: [&str; 3] = ["copy_beyond_a_buffer", "read_beyond_a_buffer", "wide_access_at_the_end"];

/// The errors and the exit status of `nyala` for a program.
fn errors(args: &[&str], path: &Path) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_nyala")).args(args).arg(path).stdin(Stdio::null()).output();
    let Output { status, stderr, .. } = output.expect("the compiler starts");
    (String::from_utf8_lossy(&stderr).into_owned(), status.code())
}

/// The message of the first error.
fn message(stderr: &str) -> &str {
    let start = stderr.find("error[").unwrap_or(stderr.len());
    stderr[start..].lines().next().unwrap_or_default()
}

#[test]
fn checked_programs_report_what_the_interpreter_reports() {
    let mut count = 0;
    for path in files::with_extension(&files::repository().join("tests/run/errors"), "impala") {
        let source = std::fs::read_to_string(&path).expect("it is there");
        let expected = Expectations::parse(&source).expect("it is well formed");
        let name = path.file_stem().expect("files have names").to_string_lossy().into_owned();
        let is_seen = expected.error.as_deref().is_some_and(|code| match code {
            "E0958" | "E0959" | "E0960" | "E0961" | "E0972" => true,
            "E0950" => !UNSEEN.contains(&name.as_str()),
            _ => false,
        });
        if !is_seen {
            continue;
        }
        count += 1;
        let (interpreted, _) = errors(&["interp", "--color", "never"], &path);
        for level in ["-O0", "-O2"] {
            let (stderr, status) = errors(&["run", "--checked", level], &path);
            let place = format!("{}:", path.display());
            assert!(stderr.lines().any(|line| line.starts_with(&place)), "{name}: {stderr}");
            assert_eq!(status, Some(1), "{name}");
            match stderr.contains("in a lane") {
                // The numbers are not shown: they are many.
                true => assert_eq!(message(&stderr).get(..12), message(&interpreted).get(..12), "{name}"),
                false => assert_eq!(message(&stderr), message(&interpreted), "{name}"),
            }
        }
    }
    assert!(count >= 25, "only {count} programs");
}

#[test]
fn checks_change_nothing_for_correct_programs() {
    let program = "fn main(argc: i32) -> () {
        let a = ~[10: i32];
        for i in range(0, 10) { a(i) = (i - 5) * argc << 2 }
        let mut sum = 0;
        for i in range(0, 10) { sum += a(i) / (i + argc) % 7 }
        print_i32(sum + (2.9f32 * argc as f32) as i32 + (1 << 30));
    }";
    let [plain, checked] = [&["-O2"][..], &["-O2", "--checked"]].map(|args| run(args, program));
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert_eq!(plain.stdout, checked.stdout);
}

#[test]
fn checks_compare_reads_with_declared_footprints() {
    let program = "// uses: stencil
    fn main(argc: i32) -> () {
        let (a, b) = (~[60: f32], ~[60: f32]);
        for i in range(0, 60) { a(i) = 0f; }
        let op: Stencil[f32, f32] = within(footprint(1, 0, 0, 0), @|f| @|x, y| f(x - 2 * argc, y));
        compute(image(a, 20, 3, 20), image(b, 20, 3, 20), clamp(), seq(op))
    }";
    let [plain, checked] = [&["-O2"][..], &["-O2", "--checked"]].map(|args| run(args, program));
    assert_eq!((plain.status.code(), plain.stdout), (Some(0), vec![]));
    let message = "stencil: an operator reads outside of the footprint that is declared for it\n";
    assert_eq!(
        (checked.status.code(), String::from_utf8_lossy(&checked.stdout).as_ref()),
        (Some(1), message)
    );
}

#[test]
fn relaxed_functions_of_vectors_agree_with_those_of_scalars() {
    let path = files::repository().join("tests/run/simd/mathematical_functions.impala");
    let program = std::fs::read_to_string(path).expect("the program is there");
    for level in ["-O0", "-O3"] {
        let Output { stdout, stderr, .. } = run(&[level, "--fast-math"], &program);
        assert_eq!(String::from_utf8_lossy(&stderr), "", "{level}");
        assert_eq!(String::from_utf8_lossy(&stdout), "ok", "{level}");
    }
}
