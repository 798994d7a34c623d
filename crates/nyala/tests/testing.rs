//! `nyala test` as a library author meets it.

mod support;

use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::{Expect, expect};
use support::{Folder, nyala, run_command};

/// The exit status and the output of `nyala test` on a program, one process at a time. The time is left out.
fn test(text: &str, args: &[&str]) -> (Option<i32>, String) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let folder = Folder::new(&format!("testing-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    folder.file("library.impala", text.as_bytes());
    let all = [&["test", "library.impala", "--jobs", "1"], args].concat();
    let (status, stdout, stderr) = run_command(nyala().args(&all).current_dir(&folder.0), "");
    let stdout = match stdout.rsplit_once(" in ") {
        Some((before, time)) if time.ends_with(" s\n") => format!("{before}\n"),
        _ => stdout,
    };
    (status, stdout + &stderr)
}

fn check(text: &str, args: &[&str], status: i32, expected: Expect) {
    let (found, output) = test(text, args);
    expected.assert_eq(&output);
    assert_eq!(found, Some(status));
}

const LIBRARY: &str = r#"
fn square(n: i32) -> i32 { n * n }

#[test] fn squares_are_positive() -> () { assert(square(-3) > 0) }
#[test] fn nine() -> () {
    print_string("a line\n");
    assert_equal(square(3), 8)
}
#[test(fails)] fn fails() -> () { assert(square(2) == 5) }
fn main() -> i32 { 1 }
"#;

#[test]
fn tests_are_run_in_all_modes() {
    check(
        LIBRARY,
        &[],
        1,
        expect![[r#"
            3 tests in interp, O0, O3
            ok      squares_are_positive
            FAILED  nine (in interp, O0, O3)
            ok      fails

            ---- nine (interp) at library.impala:5:12: it failed
            a line
            error[E0985]: assertion failed: `assert_equal(square(3), 8)`
             --> library.impala:7:5
              |
            7 |     assert_equal(square(3), 8)
              |     ^^^^^^^^^^^^^^^^^^^^^^^^^^
              |
              = note:  left: 9
              = note: right: 8
              = note: in `nine`

            ---- nine (O0, O3) at library.impala:5:12: it failed
            a line
            library.impala:7:5: error[E0985]: assertion failed: `assert_equal(square(3), 8)`
               left: 9
              right: 8

            2 passed, 1 failed
        "#]],
    );
}

#[test]
fn a_filter_selects_tests() {
    check(
        LIBRARY,
        &["--filter", "squares"],
        0,
        expect![[r#"
            1 test in interp, O0, O3
            ok      squares_are_positive

            1 passed, 0 failed
        "#]],
    );
    check(
        LIBRARY,
        &["--filter", "squares", "--list"],
        0,
        expect![[r#"
            squares_are_positive
        "#]],
    );
    check(
        LIBRARY,
        &["--filter", "nothing"],
        0,
        expect![[r#"
            0 tests in interp, O0, O3

            0 passed, 0 failed
            note: no test has `nothing` in its name
        "#]],
    );
}

/// A test that hangs, crashes or ends its process has no effect on the others.
#[test]
fn each_test_has_its_own_process() {
    let text = r#"
static mut count = 0;
extern "C" { fn exit(i32) -> !; }

#[test] fn first() -> () { count += 1; assert_equal(count, 1) }
#[test] fn second() -> () { count += 1; assert_equal(count, 1) }
#[test] fn hangs() -> () { let mut i = $1; while i != 0 { i = 3 - i; } }
#[test] fn crashes() -> () { *bitcast[&mut i32](8u64) = 3; }
#[test] fn exits() -> () { exit(0) }
"#;
    check(
        text,
        &["--timeout", "0.3", "--mode", "O0"],
        1,
        expect![[r#"
            5 tests in O0
            ok      first
            ok      second
            FAILED  hangs (in O0)
            FAILED  crashes (in O0)
            FAILED  exits (in O0)

            ---- hangs (O0) at library.impala:7:12: it took more than 0.3 s

            ---- crashes (O0) at library.impala:8:12: it was ended by SIGSEGV

            ---- exits (O0) at library.impala:9:12: it ended with exit status 0

            2 passed, 3 failed
        "#]],
    );
}

#[test]
fn a_stack_overflow_names_the_calls() {
    let text = r#"
fn deeper(n: i32) -> i32 { if n == 0 { 0 } else { 1 + deeper(n + 1) * 2 } }
#[test] fn overflows() -> () { assert_equal(deeper(1), 0) }
"#;
    let (status, output) = test(text, &["--mode", "O0"]);
    assert_eq!(status, Some(1), "{output}");
    if cfg!(target_os = "linux") {
        assert!(output.contains("stack overflow") && output.contains("called by `deeper`"), "{output}");
    }
}

#[test]
fn memory_that_is_not_released_is_a_failure() {
    let text = "#[test] fn leaks() -> () { let buffer = alloc_cpu(100); assert(buffer.size == 100) }";
    assert_eq!(test(text, &["--mode", "interp", "--allow-leaks"]).0, Some(0));
    check(
        text,
        &["--mode", "interp"],
        1,
        expect![[r#"
            1 test in interp
            FAILED  leaks (in interp)

            ---- leaks (interp) at library.impala:1:12: it failed
            error[E0957]: a heap allocation of 100 bytes was never freed
             --> <prelude>/default/buffers.impala:4:20
              |
            4 |     Buffer { data: runtime_alloc(dev, size as i64), size: size as i64, device: dev }
              |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ allocated here

            0 passed, 1 failed
        "#]],
    );
}

#[test]
fn generated_arguments_are_made_small() {
    let text = r#"
struct Size { width: i32, height: u8 }
#[test] fn sums_commute(a: i16, b: i16) -> () { assert_equal(a as i32 + b as i32, b as i32 + a as i32) }
#[test] fn few(n: u32, size: Size, weights: [f32 * 2]) -> () { assert(n < 1000u || size.width > -5) }
"#;
    check(
        text,
        &["--mode", "O3"],
        1,
        expect![[r#"
            2 tests in O3
            ok      sums_commute
            FAILED  few (in O3)

            ---- few (O3) at library.impala:4:12: it failed
            library.impala:4:64: error[E0985]: assertion failed: `assert(n < 1000u || size.width > -5)`
            arguments: n = 1000, size = Size { width: -5, height: 0 }, weights = [0.0, 0.0]
            (case 5 of seed 1, made smaller 26 times)

            1 passed, 1 failed
        "#]],
    );
}

#[test]
fn tests_run_for_each_number_of_lanes() {
    let text = r#"
#[test(lanes = [1, 8])] fn doubled(lanes: i32) -> () {
    let mut found = [0, .. 16];
    for i in range_step(0, 16, lanes) {
        for lane in vectorize(lanes) { found(i + lane) = 2 * (i + lane); }
    }
    for i in range(0, 16) { assert_equal(found(i), 2 * i) }
}
"#;
    check(
        text,
        &[],
        0,
        expect![[r#"
            2 tests in interp, O0, O3
            ok      doubled/lanes=1
            ok      doubled/lanes=8

            2 passed, 0 failed
        "#]],
    );
}

/// The program mentions no function that makes a device. Its other tests are not disturbed.
#[test]
fn tests_for_devices_run_for_each_platform() {
    let text = "
#[test(device)] fn numbers(device: Accelerator) -> () {
    let buffer = device.alloc(64);
    let numbers = bitcast[&mut[1][i32]](buffer.data);
    for item in device.exec((16, 1, 1), (16, 1, 1)) { numbers(item.gidx()) = item.gidx(); }
    device.sync();
    let copy = alloc_cpu(64);
    runtime_copy(buffer.device, buffer.data, 0, 0, copy.data, 0, 64);
    for i in range(0, 16) { assert_equal(bitcast[&[i32]](copy.data)(i), i) }
    release(copy);
    release(buffer);
}
#[test] fn small(n: u8) -> () { assert(n < 200u8) }
";
    check(
        text,
        &["--mode", "interp"],
        1,
        expect![[r#"
        3 tests in interp
        ok      numbers/cuda
        ok      numbers/opencl
        FAILED  small (in interp)

        ---- small (interp) at library.impala:13:12: it failed
        error[E0985]: assertion failed: `assert(n < 200u8)`
          --> library.impala:13:33
           |
        13 | #[test] fn small(n: u8) -> () { assert(n < 200u8) }
           |                                 ^^^^^^^^^^^^^^^^^
           |
           = note: in `small`

        arguments: n = 200
        (case 7 of seed 1, made smaller 5 times)

        2 passed, 1 failed
    "#]],
    );
}

/// An example whose `main` cannot be called fails alone.
#[test]
fn an_example_whose_main_takes_arguments_is_an_error() {
    let text = "
/// ```
/// fn main(n: i32) -> i32 { n }
/// ```
fn one() -> i32 { 1 }
#[test] fn right() -> () { assert_equal(one(), 1) }
";
    check(
        text,
        &["--mode", "interp"],
        1,
        expect![[r#"
        2 tests in interp
        ok      right
        FAILED  example of one at library.impala:2 (in interp)

        ---- example of one at library.impala:2 (interp) at library.impala:2:1: it does not compile
        error[E0465]: `example of one at library.impala:2` cannot be called: there is no function `main` without parameters

        1 passed, 1 failed
    "#]],
    );
}

#[test]
fn examples_in_documentation_are_tests() {
    let text = r#"//! Squares.
//!
//! ```
//! assert_equal(square(2), 4);
//! ```

/// The square of a number.
///
/// ```impala
/// fn twice(n: i32) -> i32 { 2 * n }
/// fn main() -> i32 {
///     assert_equal(square(twice(2)), 17);
///     0
/// }
/// ```
///
/// ```impala,fails
/// assert_equal(square(1), 2);
/// ```
///
/// ```text
/// This is no code.
/// ```
///
/// ```impala,no_run
/// while true {}
/// ```
fn square(n: i32) -> i32 { n * n }

fn main() -> i32 { square(3) }

mod inner {
    /// ```
    /// undefined(3);
    /// ```
    fn f() -> () {}
}
"#;
    check(
        text,
        &["--mode", "interp"],
        1,
        expect![[r#"
            5 tests in interp
            ok      example at library.impala:3
            FAILED  example of square at library.impala:9 (in interp)
            ok      example of square at library.impala:17
            ok      example of square at library.impala:25
            FAILED  example of f at library.impala:33 (in interp)

            ---- example of square at library.impala:9 (interp) at library.impala:9:1: it failed
            error[E0985]: assertion failed: `assert_equal(square(twice(2)), 17)`
              --> library.impala:12:9
               |
            12 |         assert_equal(square(twice(2)), 17);
               |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
               |
               = note:  left: 16
               = note: right: 17
               = note: in `main`

            ---- example of f at library.impala:33 (interp) at library.impala:33:5: it does not compile
            error[E0301]: undefined value `undefined`
              --> library.impala:34:9
               |
            34 |         undefined(3);
               |         ^^^^^^^^^ not found here

            3 passed, 2 failed
        "#]],
    );
}

#[test]
fn a_program_with_errors_has_no_tests() {
    check(
        "#[test] fn f() -> () { g() }",
        &[],
        1,
        expect![[r#"
            error[E0301]: undefined value `g`
             --> library.impala:1:24
              |
            1 | #[test] fn f() -> () { g() }
              |                        ^ not found here

            1 error
        "#]],
    );
}

/// A test that does not compile fails alone.
#[test]
fn errors_after_checking_belong_to_one_test() {
    let text = r#"
#[test] fn good() -> () {}
#[test] fn bad() -> () { pe_assert(1 > 2, "one is less than two") }
"#;
    check(
        text,
        &["--mode", "O0"],
        1,
        expect![[r#"
            2 tests in O0
            ok      good
            FAILED  bad (in O0)

            ---- bad (O0) at library.impala:3:12: it does not compile
            error[E0913]: one is less than two
             --> library.impala:3:26
              |
            3 | #[test] fn bad() -> () { pe_assert(1 > 2, "one is less than two") }
              |                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this condition is false

            1 passed, 1 failed
        "#]],
    );
}

#[test]
fn results_are_json_or_xml() {
    let (status, json) = test(LIBRARY, &["--format", "json", "--mode", "O3"]);
    assert_eq!(status, Some(1));
    let lines: Vec<&str> = json.lines().collect();
    assert_eq!(lines.len(), 4, "{json}");
    assert!(
        lines[0].contains(r#""name":"squares_are_positive""#) && lines[0].contains(r#""outcome":"passed""#)
    );
    assert!(lines[1].contains(r#""mode":"O3""#) && lines[1].contains(r#""outcome":"failed""#), "{json}");
    assert!(lines[3].contains(r#""event":"summary","failed":1,"passed":2"#), "{json}");
    let (_, xml) = test(LIBRARY, &["--format", "junit", "--mode", "O3"]);
    assert!(xml.contains(r#"<testsuite name="nyala" tests="3" failures="1" skipped="0""#), "{xml}");
    assert!(xml.contains(r#"name="nine [O3]""#) && xml.contains("left: 9"), "{xml}");
}

// ---- Benchmarks ---------------------------------------------------------------------------

const BENCHMARKS: &str = r#"
static mut numbers: [i32 * 1024];
#[bench(bytes = 4096)] fn sum() -> i32 {
    let mut total = 0;
    for i in range(0, 1024) { total += numbers(i); }
    total
}
#[bench(lanes = [4])] fn filled(lanes: i32) -> () {
    for i in range_step(0, 1024, lanes) { for lane in vectorize(lanes) { numbers(i + lane) = black_box(3); } }
}
#[bench] fn slow() -> () { for i in range(0, 16) { filled(4) } }
"#;

#[test]
fn benchmarks_are_measured_saved_and_compared() {
    let folder = Folder::new("bench");
    folder.file("library.impala", BENCHMARKS);
    let bench = |args: &[&str]| {
        let all = [&["bench", "library.impala", "--time", "0.05"], args].concat();
        let (status, stdout, stderr) = run_command(nyala().args(&all).current_dir(&folder.0), "");
        assert_eq!(status, Some(0), "{stdout}{stderr}");
        stdout
    };
    assert_eq!(bench(&["--list"]), "sum\nfilled/lanes=4\nslow\n");
    let table = bench(&["--save", "first"]);
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(table.contains("benchmark") && table.contains("B/s"), "{table}");
    let compared = bench(&["--compare", "first", "--filter", "sum"]);
    let is_compared = ["same", "faster", "SLOWER"].iter().any(|word| compared.contains(word));
    assert!(is_compared, "{compared}");
    let json = bench(&["--format", "json", "--filter", "slow", "--compare", "first"]);
    for field in ["\"median_ns\":", "\"compile_ms\":{", "\"evaluate\":", "\"verdict\":"] {
        assert!(json.contains(field), "{json}");
    }
}

#[test]
fn benchmarks_that_fail_are_reported() {
    let folder = Folder::new("bench-fails");
    folder.file("library.impala", "#[bench] fn fails() -> () { assert(black_box(1) == 2) }");
    let args = ["bench", "library.impala", "--time", "0.01"];
    let (status, _, stderr) = run_command(nyala().args(args).current_dir(&folder.0), "");
    assert_eq!(status, Some(1));
    assert!(stderr.contains("`fails` at library.impala:1:13 was not measured"), "{stderr}");
    assert!(stderr.contains("assertion failed: `assert(black_box(1) == 2)`"), "{stderr}");
    let args = ["bench", "library.impala", "--compare", "absent"];
    let (status, _, stderr) = run_command(nyala().args(args).current_dir(&folder.0), "");
    assert_eq!(status, Some(1));
    assert!(stderr.contains("cannot read the run `absent`"), "{stderr}");
}
