//! The command line: exit statuses, streams, and files.

mod support;

use std::fs;
use std::process::Command;

use support::{Folder, run, run_command};

const GOOD: &str = "fn main() -> i32 { 0 }\n";
const BAD: &str = "fn main() -> i32 { 1 + }\n";

#[test]
fn a_correct_program_has_no_output() {
    assert_eq!(run(&["check", "-"], GOOD), (Some(0), String::new(), String::new()));
}

#[test]
fn errors_are_printed_to_standard_error() {
    let (status, stdout, stderr) = run(&["check", "-"], BAD);
    assert_eq!((status, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("error[E0101]") && stderr.contains("--> <stdin>:1:24"), "{stderr}");
    assert!(stderr.ends_with("1 error\n"), "{stderr}");
}

#[test]
fn only_terminals_get_colors() {
    let (_, _, plain) = run(&["check", "-"], BAD);
    let (_, _, colored) = run(&["check", "-", "--color", "always"], BAD);
    assert!(!plain.contains('\x1b') && colored.contains('\x1b'));
}

#[test]
fn json_is_one_object_per_line() {
    let (status, _, stderr) = run(&["check", "-", "--message-format", "json"], BAD);
    assert_eq!((status, stderr.lines().count()), (Some(1), 1), "{stderr}");
    assert!(stderr.starts_with('{') && stderr.contains(r#""code":"E0101""#), "{stderr}");
}

#[test]
fn bad_usage_has_its_own_status() {
    assert_eq!(run(&["check"], "").0, Some(2));
    assert_eq!(run(&["compile", "x"], "").0, Some(2));
    assert_eq!(run(&["check", "-", "--dialect", "cobol"], "").0, Some(2));
}

#[test]
fn files_that_cannot_be_read_are_reported_together() {
    let folder = Folder::new("unreadable");
    let latin1 = folder.file("latin1.impala", b"// caf\xe9\n");
    let path = folder.0.display().to_string();
    let (status, _, stderr) = run(&["check", "absent.impala", &path, &latin1], "");
    assert_eq!(status, Some(1));
    for code in ["E0020", "E0021", "E0022"] {
        assert!(stderr.contains(code), "{stderr}");
    }
}

/// Every command that reads a file reports one that it cannot read, and ends with 1.
#[test]
fn every_command_reports_files_that_cannot_be_read() {
    let folder = Folder::new("unreadable-for-all");
    let latin1 = folder.file("latin1.impala", b"// caf\xe9\n");
    let path = folder.0.display().to_string();
    for command in ["check", "fmt", "ir", "interp", "run", "build"] {
        for (file, code) in [("absent.impala", "E0020"), (&path, "E0021"), (&latin1, "E0022")] {
            let (status, _, stderr) = run(&[command, file], "");
            assert!(status == Some(1) && stderr.contains(code), "{command} {file}: {status:?}\n{stderr}");
        }
    }
}

/// Bytes that editors do not show are errors at their place; a mark of the byte order at the
/// start of a file is none.
#[test]
fn invisible_bytes_are_reported_at_their_position() {
    assert_eq!(run(&["check", "-"], &format!("\u{feff}{GOOD}")), (Some(0), String::new(), String::new()));
    for (text, place) in [
        ("fn main() -> i32 { 0 }\0\n", "1:23"),
        ("fn main() -> i32 { /* \u{202e} */ 0 }\n", "1:23"),
        ("fn main() -> i32 { \u{feff}0 }\n", "1:20"),
    ] {
        let (status, _, stderr) = run(&["check", "-"], text);
        assert!(status == Some(1) && stderr.contains(place), "{text:?}: {stderr}");
    }
}

/// A line of a million bytes is read, and shown in part if something is wrong with it.
#[test]
fn long_lines_are_accepted() {
    let sum = "1 + 2 * 3 - ".repeat(90_000);
    let good = format!("fn main() -> i32 {{ ({sum} 0) * 0 }}\n");
    assert_eq!(run(&["check", "-"], &good).0, Some(0));
    let (status, _, stderr) = run(&["check", "-"], &format!("fn main() -> i32 {{ {sum} x }}\n"));
    assert!(status == Some(1) && stderr.contains("E0301"), "{}", &stderr[..200]);
    assert!(stderr.len() < 2_000, "the report has {} bytes", stderr.len());
}

#[test]
fn codes_are_explained() {
    let (status, stdout, _) = run(&["check", "--explain", "e0020"], "");
    assert!(status == Some(0) && stdout.starts_with("# E0020: "), "{stdout}");
    let (status, _, stderr) = run(&["check", "--explain", "E9999"], "");
    assert!(status == Some(1) && stderr.contains("unknown diagnostic `E9999`"), "{stderr}");
}

#[test]
fn formatting_replaces_the_file() {
    let folder = Folder::new("fmt");
    let path = folder.file("a.impala", "fn  f( )->i32{1}\n");
    let (status, stdout, _) = run(&["fmt", "--check", &path], "");
    assert_eq!((status, stdout.trim()), (Some(1), path.as_str()));
    assert_eq!(run(&["fmt", &path], ""), (Some(0), String::new(), String::new()));
    assert_eq!(run(&["fmt", "--check", &path], "").0, Some(0));
    let (status, stdout, _) = run(&["fmt", "-"], "fn  f( )->i32{1}\n");
    assert_eq!((status, stdout), (Some(0), fs::read_to_string(&path).expect("it was just written")));
}

#[test]
fn a_file_with_errors_is_not_formatted() {
    let folder = Folder::new("fmt-bad");
    let path = folder.file("bad.impala", BAD);
    let (status, _, stderr) = run(&["fmt", &path], "");
    assert!(status == Some(1) && stderr.contains("E0101"), "{stderr}");
    assert_eq!(fs::read_to_string(&path).expect("it is still there"), BAD);
}

#[test]
fn interp_runs_a_program_and_passes_on_its_status() {
    let program = "fn main(argc: i32, argv: &[&[u8]]) -> i32 { print_string(argv(1)); argc }";
    let folder = Folder::new("interp");
    let path = folder.file("args.impala", program);
    assert_eq!(run(&["interp", &path, "--", "hello", "there"], ""), (Some(3), "hello".into(), String::new()));
}

#[test]
fn an_edition_and_files_of_both_dialects_make_one_program() {
    let folder = Folder::new("editions");
    let impala = folder.file(
        "main.impala",
        "fn main() -> i32 {\n    let mut sum = 0;\n    for x in evens(0, 10) { sum += twice(x); }\n    sum\n}\n",
    );
    let artic = folder.file(
        "evens.impala",
        "fn twice(x: i32) = 2 * x;\n\
         fn @evens(body: fn(i32) -> ()) = @|a: i32, b: i32| for i in range_step(a, b, 2) { @body(i) };\n",
    );
    assert_eq!(run(&["interp", "--edition", "artic", &impala, &artic], "").0, Some(40));
    // The default edition has generators that take their body last: `for` finds out.
    assert_eq!(run(&["run", &impala, &artic], ""), (Some(40), String::new(), String::new()));
}

#[test]
fn interp_reports_errors_at_their_position() {
    let program = "fn main() -> i32 {\n    let zero = 0;\n    1 / zero\n}\n";
    let (status, _, stderr) = run(&["interp", "-"], program);
    assert_eq!(status, Some(1));
    assert!(stderr.contains("error[E09") && stderr.contains("<stdin>:3:5"), "{stderr}");
}

#[test]
fn interp_stops_at_the_step_limit() {
    let (status, _, stderr) =
        run(&["interp", "-", "--steps", "1000"], "fn main() -> i32 { while true {} 0 }");
    assert!(status == Some(1) && stderr.contains("error[E09"), "{stderr}");
}

#[test]
fn ir_prints_text_or_graphviz() {
    let (status, text, _) = run(&["ir", "-"], GOOD);
    assert!(status == Some(0) && text.starts_with("export main("), "{text}");
    let (status, picture, _) = run(&["ir", "-", "--dot"], GOOD);
    assert!(status == Some(0) && picture.starts_with("digraph"), "{picture}");
    let (status, text, stderr) = run(&["ir", "-"], BAD);
    assert!(status == Some(1) && text.is_empty() && stderr.contains("E0101"), "{text}{stderr}");
}

#[test]
fn stage_device_prints_one_program_per_platform() {
    let program = "extern fn f(p: &mut [i32]) -> () {
        for item in cuda_accelerator(0).exec((64, 1, 1), (64, 1, 1)) { p(item.gidx()) = 1; }
        for item in opencl_accelerator(0).exec((64, 1, 1), (64, 1, 1)) { p(item.gidx()) = 2; }
    }";
    let (status, device, _) = run(&["ir", "-", "--stage", "device"], program);
    assert_eq!(status, Some(0));
    let (cuda, opencl) = device.split_once("; OpenCL\n").expect("there are two programs");
    assert!(cuda.starts_with("; CUDA\n") && cuda.contains("threadIdx_x"), "{device}");
    assert!(opencl.contains("get_global_id") && !opencl.contains("threadIdx_x"), "{device}");
    assert!(!device.contains("nyala_launch"), "{device}");
    let (_, host, _) = run(&["ir", "-", "--stage", "final"], program);
    assert!(host.contains("nyala_launch"), "{host}");
    let (status, none, _) = run(&["ir", "-", "--stage", "device"], GOOD);
    assert_eq!((status, none.as_str()), (Some(0), ""));
}

#[test]
fn explain_prints_text_json_or_html() {
    let program = "fn @(?n) power(x: i32, n: i32) -> i32 { if n == 0 { 1 } else { x * power(x, n - 1) } }\n\
                   extern fn cube(x: i32) -> i32 { power(x, 3) }\n\
                   extern fn any(x: i32, n: i32) -> i32 { power(x, n) }\n";
    let (status, text, stderr) = run(&["explain", "-"], program);
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    assert!(text.contains("`n` is a parameter of the exported function `any`"), "{text}");
    let (_, only, _) = run(&["explain", "-", "--fn", "cube"], program);
    assert!(only.contains("<stdin>:2:33") && !only.contains("<stdin>:3:40"), "{only}");
    let (_, none, _) = run(&["explain", "-", "--fn", "absent"], program);
    assert!(none.starts_with("no function `absent` is reachable") && !none.contains("power"), "{none}");
    let (_, json, _) = run(&["explain", "-", "--format", "json"], program);
    assert!(json.starts_with('{') && json.contains(r#""source":"exported-parameter""#), "{json}");
    let (_, page, _) = run(&["explain", "-", "--format", "html"], program);
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("The residual program"), "{page}");
}

#[test]
fn vectorization_is_explained_on_a_page() {
    let program = "extern fn add(n: i32, x: &mut [f32]) -> () { for i in vectorize_range(8, 0, n) { x(i) = x(i) + 1f; } }";
    let (status, page, stderr) = run(&["explain", "--vectorize", "-", "--format", "html"], program);
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</main>\n"), "{page}");
    for text in ["8 lanes", "contiguous: one vector access", "loops with SIMD code"] {
        assert!(page.contains(text), "no `{text}` in:\n{page}");
    }
}

#[test]
fn reaching_a_limit_warns_or_stops() {
    let program = "fn @f(n: i32) -> i32 { f(n + 1) }\nextern fn forever() -> i32 { f(0) }\n";
    let (status, graph, stderr) = run(&["ir", "-", "--stage", "evaluated", "--pe-depth", "10"], program);
    assert_eq!(status, Some(0));
    assert!(stderr.contains("W0900") && stderr.contains("0, 1, 2, 3, .., 10"), "{stderr}");
    assert!(graph.contains("forever"), "{graph}");
    let (status, _, stderr) = run(&["explain", "-", "--pe-depth", "10", "--pe-on-limit", "stop"], program);
    assert_eq!(status, Some(1));
    assert!(stderr.contains("E0911"), "{stderr}");
}

/// Names of files may hold anything. Messages for people stay on their line; tools get the name as it is.
#[cfg(unix)]
#[test]
fn control_characters_in_file_names_are_escaped() {
    let folder = Folder::new("control");
    let source = folder.file("a\nb\u{1b}[31m.impala", BAD);
    for command in ["check", "run", "build", "fmt"] {
        let (status, _, stderr) = run(&[command, &source], if command == "fmt" { "" } else { BAD });
        if command != "fmt" {
            assert!(status == Some(1) && stderr.contains("a\\nb\\u{1b}[31m.impala:"), "{command}: {stderr}");
        }
        assert!(!stderr.contains('\u{1b}') && !stderr.contains("a\nb"), "{command}: {stderr}");
    }
    let (_, _, json) = run(&["check", "--message-format", "json", &source], "");
    assert!(json.contains(r"a\nb\u001b[31m.impala") && json.lines().count() == 1, "{json}");
    let (status, _, stderr) = run(&["check", &folder.path("no\nfile")], "");
    assert!(status == Some(1) && stderr.contains(r"no\nfile`: file not found"), "{stderr}");
}

/// Assembly, debug information and executables take such names too.
#[cfg(unix)]
#[test]
fn control_characters_in_file_names_go_through_the_back_end() {
    let folder = Folder::new("control-native");
    let source = folder.file("a\n.global x\n.impala", "fn main() -> i32 { 3 }\n");
    let stem = folder.path("out");
    let args = ["build", "-g", "--emit", "asm,llvm,obj,exe", "-o", &stem, &source];
    assert_eq!(run(&args, ""), (Some(0), String::new(), String::new()));
    let assembly = fs::read_to_string(folder.path("out.s")).expect("it was written");
    assert!(assembly.lines().all(|line| line.trim() != ".global x"), "{assembly}");
    assert_eq!(run_command(&mut Command::new(stem), "").0, Some(3));
    assert_eq!(run(&["run", "-g", &source], "").0, Some(3));
}

/// `check` finds errors of later stages: the number of instances, sizes, uses of intrinsics.
#[test]
fn check_rejects_what_build_rejects() {
    let types: Vec<String> = (0..20_000).map(|i| format!("struct S{i} {{ x: i32 }}\n")).collect();
    let calls: Vec<String> = (0..20_000).map(|i| format!("    f[S{i}]();\n")).collect();
    let many =
        format!("fn f[T]() -> () {{}}\n{}fn main() -> i32 {{\n{}    0\n}}\n", types.concat(), calls.concat());
    let size = "fn main() -> i32 { print_i64(sizeof[[[[u8 * 2000000000] * 2000000000] * 1000]]()); 0 }\n";
    for (text, code) in [(many.as_str(), "E0480"), (size, "E0488")] {
        let told = ["check", "build", "run", "interp"].map(|command| {
            let (status, _, stderr) = run(&[command, "-"], text);
            assert!(status == Some(1) && stderr.contains(&format!("error[{code}]")), "{command}: {stderr}");
            stderr
        });
        assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
    }
}

/// Memory comes from functions of the prelude; reports show the calls of the program.
#[test]
fn memory_is_reported_where_the_program_allocates_it() {
    let leak = "fn main() -> i32 {\n    let a = alloc_cpu(16i64);\n    let b = alloc_cpu(32i64);\n    (a.size + b.size) as i32\n}\n";
    let (status, _, stderr) = run(&["interp", "--leaks", "-"], leak);
    assert_eq!(status, Some(1));
    assert!(stderr.contains("E0957") && stderr.contains("--> <stdin>:2:13"), "{stderr}");
    assert!(stderr.contains("let b = alloc_cpu(32i64)") && !stderr.contains("<prelude>"), "{stderr}");

    let freed = "fn main() -> i32 {\n    let a = alloc_cpu(16i64);\n    release(a);\n    bitcast[&[i32]](a.data)(0)\n}\n";
    let (_, _, stderr) = run(&["interp", "-"], freed);
    let is_shown = |call: &str| stderr.contains(call);
    assert!(["E0951", "let a = alloc_cpu(16i64)", "release(a)"].into_iter().all(is_shown), "{stderr}");
    assert!(!stderr.contains("<prelude>"), "{stderr}");
}

/// A full disk is an error that names the output, for the output of the compiler and of the program.
#[cfg(target_os = "linux")]
#[test]
fn failed_writes_to_standard_output_are_errors() {
    let folder = Folder::new("full-disk");
    let source = folder.file("a.impala", "fn main() -> i32 { print_i32(1); 0 }\n");
    for args in
        [&["ir", &source][..], &["interp", &source], &["run", &source], &["build", "-o", "-", &source]]
    {
        let full = fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let output = support::nyala().args(args).stdout(full).output().expect("cargo has built it");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
        assert!(stderr.contains("cannot write to standard output: "), "{args:?}: {stderr}");
    }
}

/// Also without `-o`: the executable of a file without extension has the name of the file.
#[test]
fn build_does_not_overwrite_sources() {
    let folder = Folder::new("own-source");
    let source = folder.file("a", GOOD);
    let same = folder.path("./a");
    for args in
        [&["build", "a"][..], &["build", "a", "-o", &same], &["build", "a", "--emit", "obj", "-o", "a"]]
    {
        let output = support::nyala().args(args).current_dir(&folder.0).output().expect("cargo has built it");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && stderr.contains("is a source file"), "{args:?}: {stderr}");
        assert_eq!(fs::read_to_string(&source).expect("it is still there"), GOOD);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn failed_allocations_are_reported_in_the_source() {
    let folder = Folder::new("no-memory");
    let text = "fn main() -> i32 { let a = alloc_cpu(6000000000i64); release(a); 0 }\n";
    let source = folder.file("a.impala", text);
    let limited = format!("ulimit -v 3000000 && exec '{}' interp '{source}'", env!("CARGO_BIN_EXE_nyala"));
    let (status, _, stderr) = run_command(Command::new("sh").args(["-c", &limited]), "");
    assert!(status == Some(1) && stderr.contains("error[E0969]"), "{status:?}: {stderr}");
}

#[test]
fn a_missing_llvm_lists_the_searched_places() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nyala"));
    let folder = Folder::new("no-llvm");
    let source = folder.file("a.impala", GOOD);
    let output =
        command.args(["run", &source]).env("NYALA_LLVM", &folder.0).output().expect("cargo has built it");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("error[E0924]") && stderr.contains(&folder.0.display().to_string()), "{stderr}");
}

/// With the message of the system.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_not_a_library_is_rejected_as_llvm() {
    let folder = Folder::new("bad-llvm");
    let source = folder.file("a.impala", GOOD);
    let (status, _, stderr) =
        run_command(support::nyala().args(["run", &source]).env("NYALA_LLVM", &source), "");
    assert!(status == Some(1) && stderr.contains("error[E0924]"), "{stderr}");
    assert!(stderr.contains("a.impala: ") && !stderr.contains("dlopen"), "{stderr}");
}

/// Libraries that have only a version function, or not even that.
#[cfg(target_os = "linux")]
#[test]
fn an_unsupported_llvm_version_is_rejected() {
    let folder = Folder::new("other-llvm");
    let source = folder.file("a.impala", GOOD);
    let of_19 = "void LLVMGetVersion(unsigned *a, unsigned *b, unsigned *c) { *a = 19; *b = 1; *c = 7; }\n";
    for (code, expected) in [(of_19, "this is LLVM 19.1.7"), ("int x;\n", "this is older than LLVM 16")] {
        let (c, library) = (folder.file("llvm.c", code), folder.0.join("libLLVM-19.so"));
        let compiled = Command::new("cc").args(["-shared", "-fPIC", &c, "-o"]).arg(&library).status();
        assert!(compiled.is_ok_and(|status| status.success()), "there is a C compiler");
        let (status, _, stderr) =
            run_command(support::nyala().args(["run", &source]).env("NYALA_LLVM", &library), "");
        assert!(status == Some(1) && stderr.contains("error[E0924]"), "{stderr}");
        assert!(stderr.contains(expected) && stderr.contains("20 to 22"), "{stderr}");
    }
}

#[cfg(unix)]
#[test]
fn a_missing_folder_for_temporary_files_is_reported() {
    let folder = Folder::new("no-temporary");
    let source = folder.file("a.impala", GOOD);
    let mut command = support::nyala();
    command.args(["build", &source, "-o", &folder.path("a")]).env("TMPDIR", folder.path("absent"));
    let (status, _, stderr) = run_command(&mut command, "");
    assert!(status == Some(1) && stderr.contains("error[E0931]") && stderr.contains("/absent/"), "{stderr}");
    assert_eq!(folder.names(), ["a.impala"]);
}

#[test]
fn help_groups_options() {
    for command in ["run", "build", "ir", "explain"] {
        let (status, help, _) = run(&[command, "--help"], "");
        let (_, limits) = help.split_once("Limits of partial evaluation:").expect("they have a heading");
        let options = limits.lines().filter(|line| line.trim_start().starts_with('-') && line.contains("--"));
        assert!(status == Some(0) && options.clone().all(|line| line.contains("--pe-")), "{command}: {help}");
    }
}

#[test]
fn doc_writes_a_page_and_warns_of_examples_that_fail() {
    let folder = Folder::new("doc");
    let text =
        "/// Twice.\n/// ```\n/// print_i32(double(21));\n/// ```\nfn double(x: i32) -> i32 { x + x }\n";
    let source = folder.file("double.impala", text);
    let page = folder.path("page.html");
    assert_eq!(run(&["doc", &source, "-o", &page], ""), (Some(0), String::new(), String::new()));
    let written = fs::read_to_string(&page).expect("it is written");
    assert!(written.contains("<title>double</title>") && written.contains("<samp>42</samp>"), "{written}");

    let (status, stdout, stderr) = run(&["doc", "-", "-o", "-"], &text.replace("21", ""));
    assert_eq!(status, Some(0));
    assert!(stdout.contains("This example fails"), "{stdout}");
    assert!(stderr.contains("warning[W0030]") && stderr.contains("--> <stdin>:2:1"), "{stderr}");
}

#[test]
fn doc_needs_files_without_syntax_errors() {
    let (status, stdout, stderr) = run(&["doc", "-", "-o", "-"], BAD);
    assert_eq!((status, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("error[E0101]"), "{stderr}");
    assert_eq!(run(&["doc"], "").0, Some(2));
    let (status, stdout, _) = run(&["doc", "--prelude", "-o", "-"], "");
    assert!(status == Some(0) && stdout.contains("id=\"vectorize\""), "{stdout}");
}
