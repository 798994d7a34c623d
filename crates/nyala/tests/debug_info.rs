//! Debuggers find functions, lines and variables in programs that are compiled with `-g`.

use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "struct Point { x: i32, y: f64 }
enum Shape { Circle(f64), Square(Point) }
fn fact(n: i32) -> i32 {
    if n < 2 { 1 } else { n * fact(n - 1) }
}
fn sum(n: i32) -> i32 {
    let mut total = 0;
    for i in range(0, n) {
        let square = i * i;
        total += square;
        print_i32(total);
    }
    let mut left = total;
    while left > 10 {
        left -= 10;
        print_i32(left);
    }
    total
}
fn inspect(p: &Point, shape: Shape, scale: f64) -> f64 {
    match shape { Shape::Circle(r) => r * scale, Shape::Square(q) => q.y * p.y }
}
fn main(argc: i32) -> i32 {
    let mut point = Point { x: argc + 2, y: 1.5 };
    let shape = if argc > 100 { Shape::Circle(1.0) } else { Shape::Square(point) };
    point.x = fact(argc + 2);
    let size = inspect(&point, shape, 2.0) as i32 + inspect(&point, Shape::Circle(0.0), 3.0) as i32;
    sum(argc + 3) - 14 + fact(argc + 3) - 24 + size - 2
}
";

const CONSTANTS: &str = "fn show(n: i32) -> () { print_i32(n) }
struct Point { x: i32, y: i32 }
fn main(argc: i32) -> i32 {
    let five = 5;
    let half = 0.5;
    let origin = Point { x: 0, y: 7 };
    let mut count = 1;
    show(five);
    count = 7;
    show(count);
    count = argc;
    let copy = count;
    show(copy + origin.y);
    if half > 1.0 { 1 } else { 0 }
}
";

/// The program, compiled with `-g` for the test of this name.
fn build(test: &str, level: &str) -> PathBuf {
    build_program(test, level, PROGRAM)
}

fn build_program(test: &str, level: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debug_info").join(test);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    std::fs::write(folder.join("shown.impala"), text).expect("it can be written");
    let executable = folder.join(format!("shown{level}"));
    let mut build = Command::new(env!("CARGO_BIN_EXE_nyala"));
    build.args(["build", "-g", level, "-o"]).arg(&executable).arg("shown.impala").current_dir(folder);
    let output = build.output().expect("the compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let status = Command::new(&executable).output().expect("it starts").status;
    assert_eq!(status.code(), Some(0), "debug information changes what the program does");
    executable
}

/// The output of a tool for a file; `None`, with a message, if the tool is missing.
fn ask(tool: &str, args: &[&str], file: &Path) -> Option<String> {
    match Command::new(tool).args(args).arg(file).env("LC_ALL", "C").output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            eprintln!("SKIPPED: {tool} cannot be run ({error})");
            None
        }
    }
}

fn gdb(executable: &Path, commands: &[&str], expected: &[&str]) {
    gdb_with(&[], executable, commands, expected);
}

/// Checks that the output of `gdb` contains all expected texts.
fn gdb_with(options: &[&str], file: &Path, commands: &[&str], expected: &[&str]) {
    let mut args = vec!["-batch", "-nx"];
    args.extend(commands.iter().flat_map(|&command| ["-ex", command]));
    args.extend(options);
    let Some(said) = ask("gdb", &args, file) else { return };
    for line in expected {
        assert!(said.contains(line), "no `{line}` in:\n{said}");
    }
}

#[test]
fn gdb_shows_calls_and_their_arguments() {
    let commands = ["break fact", "run", "continue", "backtrace", "print n"];
    let expected =
        ["fact (n=2) at shown.impala:4", "fact (n=3) at shown.impala:4", "main (argc=1)", "$1 = 2"];
    gdb(&build("calls", "-O0"), &commands, &expected);
}

#[test]
fn gdb_shows_variables_and_structs() {
    let executable = build("variables", "-O0");
    let commands =
        ["break shown.impala:11", "run", "continue", "continue", "info locals", "print total + square"];
    gdb(&executable, &commands, &["total = 5", "square = 4", "$1 = 9"]);
    let commands = ["break inspect", "run", "print *p", "print scale", "ptype p", "ptype shape"];
    let expected = ["x = 6, y = 1.5", "= 2", "struct Point {", "i32 x;", "f64 Circle;", "u8 tag;"];
    gdb(&executable, &commands, &expected);
}

#[test]
fn gdb_shows_the_last_assigned_value() {
    let executable = build("assigned", "-O0");
    gdb(&executable, &["break shown.impala:16", "run", "print left"], &["$1 = 4"]);
}

#[test]
fn gdb_shows_constants_and_copies() {
    let executable = build_program("constants", "-O0", CONSTANTS);
    let commands =
        ["break shown.impala:8", "break shown.impala:10", "break shown.impala:13", "run", "info locals"];
    let commands =
        [&commands[..], &["continue", "print count", "continue", "print count", "print copy"]].concat();
    let expected =
        ["five = 5", "half = 0.5", "origin = {x = 0, y = 7}", "count = 1", "$1 = 7", "$2 = 1", "$3 = 1"];
    gdb(&executable, &commands, &expected);
}

#[test]
fn gdb_shows_loop_variables_and_a_frame_for_each_function() {
    let text = "fn smooth(n: i32, x: &[f32], y: &mut [f32]) -> () {
    for i in range(0, n) {
        let v = x(i) + 1f;
        let w = 2f * v;
        y(i) = w;
    }
}
fn main() -> i32 {
    let x = ~[8: f32];
    let y = ~[8: f32];
    for k in range(0, 8) { x(k) = k as f32; }
    smooth(8, x, y);
    for column, row in range_2d(0, 2, 0, 2) {
        y(row) = column as f32;
    }
    0
}
";
    let executable = build_program("loops", "-O0", text);
    // The second round: all values are those of this round.
    let commands = ["break shown.impala:5", "run", "continue", "info locals", "print i", "backtrace"];
    let expected = ["i = 1", "v = 2", "w = 4", "$1 = 1", "#0  smooth (n=8, ", "#1 ", " main ("];
    gdb(&executable, &commands, &expected);
    let commands = ["break shown.impala:14", "run", "continue", "continue", "print column", "print row"];
    gdb(&executable, &commands, &["$1 = 0", "$2 = 1"]);
}

#[test]
fn gdb_steps_over_calls() {
    let commands = ["break shown.impala:8", "run", "next", "next", "next"];
    let expected = ["\n9\t    count = 7;", "\n10\t    show(count);", "\n11\t    count = argc;"];
    gdb(&build_program("steps", "-O0", CONSTANTS), &commands, &expected);
}

#[test]
fn gdb_knows_functions_of_nyala_run() {
    let source = build("in_memory", "-O0").with_file_name("shown.impala");
    let commands = ["set breakpoint pending on", "break shown.impala:4", "run", "continue", "backtrace 2"];
    let options = ["--args", env!("CARGO_BIN_EXE_nyala"), "run", "-g", "-O0"];
    let expected = ["fact (n=2) at", "fact (n=3) at", "shown.impala:4"];
    gdb_with(&options, &source, &commands, &expected);
}

#[test]
fn perf_map_has_the_names_of_functions() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debug_info/perf_map");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    std::fs::write(folder.join("shown.impala"), PROGRAM).expect("it can be written");
    let mut run = Command::new(env!("CARGO_BIN_EXE_nyala"));
    run.args(["run", "--perf-map", "-O0", "shown.impala"]).env("TMPDIR", ".").current_dir(&folder);
    let mut child = run.stdout(std::process::Stdio::null()).spawn().expect("the compiler starts");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
    let map = folder.join(format!("perf-{}.map", child.id()));
    let text = std::fs::read_to_string(&map).expect("it was written");
    std::fs::remove_file(map).expect("it can be removed");
    for name in ["main", "fact", "inspect"] {
        let line = text.lines().find(|line| line.ends_with(&format!(" {name}")));
        let numbers = line.into_iter().flat_map(|line| line.split(' ').take(2));
        let numbers: Vec<_> = numbers.filter_map(|number| u64::from_str_radix(number, 16).ok()).collect();
        assert!(matches!(numbers[..], [address, size] if address > 0 && size > 0), "{name} in\n{text}");
    }
}

#[test]
fn profilers_read_the_names_of_functions() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debug_info");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let text = "fn work(n: i32) -> i32 { if n < 2 { 1 } else { work(n - 1) + work(n - 2) } }
                fn main(argc: i32) -> i32 { work(argc + 3) }";
    std::fs::write(folder.join("named.impala"), text).expect("it can be written");
    let mut build = Command::new(env!("CARGO_BIN_EXE_nyala"));
    let built = build.args(["build", "-O2", "named.impala"]).current_dir(&folder).status();
    assert!(built.is_ok_and(|status| status.success()));
    let Some(symbols) = ask("nm", &[], &folder.join("named")) else { return };
    assert!(symbols.lines().any(|line| line.ends_with(" t work")), "{symbols}");
}

#[test]
fn optimized_programs_have_line_numbers() {
    let executable = build("lines", "-O2");
    let Some(lines) = ask("readelf", &["--debug-dump=decodedline"], &executable) else { return };
    let lines: Vec<&str> = lines.lines().filter(|line| line.starts_with("shown.impala")).collect();
    for number in [4, 9, 10] {
        let is_there = |line: &&str| line.split_whitespace().nth(1) == Some(&number.to_string());
        assert!(lines.iter().any(is_there), "line {number} is not in {lines:#?}");
    }
}
