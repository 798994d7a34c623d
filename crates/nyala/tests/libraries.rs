//! Shared and static libraries, used from C, C++, Rust and Python as their authors would: with the library and
//! its header, without the compiler.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{Folder, nyala, run, run_command};

const SCALE: &str = r#"
struct Range { low: f32, high: f32 }
extern fn scale(n: i32, data: &mut [f32], factor: f32) -> () {
    for i in parallel(0, 0, n) { data(i) = data(i) * factor }
}
extern fn bounds(n: i32, data: &[f32]) -> Range {
    let mut limits = Range { low: data(0), high: data(0) };
    for i in range(1, n) {
        if data(i) < limits.low { limits.low = data(i) }
        if data(i) > limits.high { limits.high = data(i) }
    }
    limits
}
extern fn report() -> () { print_string("scaled\n"); }
"#;

/// Another library. It has the runtime inside as well.
const SHIFT: &str = r#"
extern fn shift(n: i32, data: &mut [f32], by: f32) -> () {
    for i in parallel(0, 0, n) { data(i) = data(i) + by }
}
"#;

const C_HOST: &str = r#"
#include "scale.h"
#include <assert.h>

int main(void) {
    float data[] = {1, 5, 3};
    scale(3, data, 2);
    Range range = bounds(3, data);
    assert(range.low == 2 && range.high == 10);
    report();
    return 0;
}
"#;

const TWO_LIBRARIES: &str = r#"
#include "scale.h"
#include "shift.h"

int main(void) {
    float data[] = {1, 5, 3};
    scale(3, data, 2);
    shift(3, data, -2);
    return data[1] == 8 ? 0 : 1;
}
"#;

/// No function of the library uses its statics.
const STATICS: &str = r#"
#[export] static version: i32 = 42;
#[export] static mut scales: [f32 * 2] = [1.5, 2.5];
extern fn nothing() -> () {}
"#;

const HOST_OF_STATICS: &str = r#"
#include "statics.h"

int main(void) {
    scales[1] += 1;
    return version == 42 && scales[0] == 1.5f && scales[1] == 3.5f ? 0 : 1;
}
"#;

const RUST_HOST: &str = r#"
#[repr(C)]
struct Range { low: f32, high: f32 }
unsafe extern "C" {
    fn scale(n: i32, data: *mut f32, factor: f32);
    fn bounds(n: i32, data: *const f32) -> Range;
    fn report();
}
fn main() {
    let mut data = [1.0f32, 5.0, 3.0];
    let range = unsafe { scale(3, data.as_mut_ptr(), 2.0); bounds(3, data.as_ptr()) };
    assert!(range.low == 2.0 && range.high == 10.0);
    // The host's own runtime still works.
    assert!(std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(1))).is_err());
    unsafe { report() }
}
"#;

const PYTHON_HOST: &str = r#"
import ctypes, sys

class Range(ctypes.Structure):
    _fields_ = [("low", ctypes.c_float), ("high", ctypes.c_float)]

library = ctypes.CDLL(sys.argv[1])
library.bounds.restype = Range
data = (ctypes.c_float * 3)(1, 5, 3)
library.scale(3, data, ctypes.c_float(2))
limits = library.bounds(3, data)
assert (limits.low, limits.high) == (2, 10)
library.report()
"#;

/// The libraries of both kinds with their headers, in a folder.
fn build(test: &str) -> Folder {
    let folder = Folder::new(test);
    for (name, program) in [("scale", SCALE), ("shift", SHIFT)] {
        let source = folder.file(&format!("{name}.impala"), program);
        let mut build = nyala();
        build.args(["build", "--emit", "shared,staticlib,header", &source, "-o", &folder.path(name)]);
        let (status, _, errors) = run_command(&mut build, "");
        assert_eq!((status, errors.as_str()), (Some(0), ""));
    }
    folder
}

/// Compiles and runs a host program, which prints the results of the library.
fn check(mut compile: Command, executable: &str, printed: &str) {
    let (status, _, errors) = run_command(&mut compile, "");
    assert_eq!(status, Some(0), "{compile:?}: {errors}");
    assert_eq!(run_command(&mut Command::new(executable), ""), (Some(0), printed.into(), String::new()));
}

const SYSTEM_LIBRARIES: [&str; 3] = ["-lm", "-lpthread", "-ldl"];

#[test]
fn c_and_cpp_programs_link_static_libraries() {
    let folder = build("staticlib-c");
    for (compiler, extension) in [("cc", "c"), ("c++", "cpp")] {
        let (source, executable) = (folder.file(&format!("host.{extension}"), C_HOST), folder.path("host"));
        let mut compile = Command::new(compiler);
        compile.args([&source, &folder.path("libscale.a"), "-o", &executable]).args(SYSTEM_LIBRARIES);
        check(compile, &executable, "scaled\n");
    }
}

#[test]
fn c_programs_link_shared_libraries() {
    let folder = build("shared-c");
    let (source, executable) = (folder.file("host.c", C_HOST), folder.path("host"));
    let mut compile = Command::new("cc");
    compile.args([&source, "-L", &folder.path(""), "-lscale", "-o", &executable]);
    compile.arg(format!("-Wl,-rpath,{}", folder.path("")));
    check(compile, &executable, "scaled\n");
}

#[test]
fn exported_statics_are_there_without_uses() {
    let folder = Folder::new("exported-statics");
    let (source, library) = (folder.file("statics.impala", STATICS), folder.path("statics"));
    let mut build = nyala();
    build.args(["build", "--dialect", "artic", "--emit", "staticlib,header", &source, "-o", &library]);
    assert_eq!(run_command(&mut build, ""), (Some(0), String::new(), String::new()));
    let (host, executable) = (folder.file("host.c", HOST_OF_STATICS), folder.path("host"));
    let mut compile = Command::new("cc");
    compile.args([&host, &folder.path("libstatics.a"), "-o", &executable]).args(SYSTEM_LIBRARIES);
    check(compile, &executable, "");
}

#[test]
fn one_program_links_two_libraries() {
    let folder = build("two-libraries");
    let (source, executable) = (folder.file("host.c", TWO_LIBRARIES), folder.path("host"));
    let mut compile = Command::new("cc");
    compile.args([&source, &folder.path("libscale.a"), &folder.path("libshift.a"), "-o", &executable]);
    compile.args(SYSTEM_LIBRARIES);
    check(compile, &executable, "");
}

#[test]
fn rust_programs_link_static_libraries() {
    let folder = build("staticlib-rust");
    let (source, executable) = (folder.file("host.rs", RUST_HOST), folder.path("host"));
    let mut compile = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    compile.args(["--edition", "2024", &source, "-o", &executable]);
    compile.args(["-L", &folder.path(""), "-l", "static=scale"]);
    check(compile, &executable, "scaled\n");
}

#[test]
fn python_programs_load_shared_libraries() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let folder = build("shared-python");
    let mut python = Command::new("python3");
    python.args([folder.file("host.py", PYTHON_HOST), folder.path("libscale.so")]);
    assert_eq!(run_command(&mut python, ""), (Some(0), "scaled\n".into(), String::new()));
}

/// The program of the book that calls a library with NumPy's arrays.
#[test]
fn numpy_programs_of_the_book_call_shared_libraries() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // As `cargo xtask setup` installs it.
    let of_setup = repository.join("target/bench/numpy/bin/python");
    let has_numpy = |python: &&Path| {
        Command::new(python).args(["-c", "import numpy"]).output().is_ok_and(|output| output.status.success())
    };
    let Some(python) = [of_setup.as_path(), Path::new("python3")].into_iter().find(has_numpy) else {
        eprintln!("skipped: there is no NumPy");
        return;
    };
    let chapter = fs::read_to_string(repository.join("docs/src/hosts.md")).expect("it is in the repository");
    let section = chapter.split("\n## Libraries for C, C++, Rust and Python\n").nth(1).expect("it is there");
    let code = |language: &str| {
        let start = section.split(&format!("\n```{language}\n")).nth(1).expect("it has such code");
        start.split("\n```").next().expect("it ends").to_owned()
    };
    let folder = Folder::new("shared-numpy");
    let source = folder.file("scale.impala", code("impala"));
    let built = run(&["build", "--emit", "shared", "-O3", &source, "-o", &folder.path("libscale.so")], "");
    assert_eq!(built, (Some(0), String::new(), String::new()));
    folder.file("host.py", code("python") + "\nprint(data[3], data.sum())\n");
    let mut host = Command::new(python);
    let printed = run_command(host.arg("host.py").current_dir(&folder.0), "");
    assert_eq!(printed, (Some(0), "6.0 999000.0\n".into(), String::new()));
}

#[test]
fn a_library_without_exports_is_an_error() {
    let folder = Folder::new("no-exports");
    let source = folder.file("empty.impala", "fn twice(x: i32) -> i32 { 2 * x }");
    for kind in ["shared", "staticlib"] {
        let output = folder.path("empty.out");
        let (status, _, errors) =
            run_command(nyala().args(["build", "--emit", kind, &source, "-o", &output]), "");
        assert_eq!(status, Some(1));
        assert!(errors.contains("error[E0979]: the library exports nothing"), "{errors}");
    }
}
