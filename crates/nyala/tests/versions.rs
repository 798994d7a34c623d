//! One file with code for several processors: the processor that executes it gets the best version.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod support;

use std::process::Command;

use support::{Folder, nyala, run_command};

const PROGRAM: &str = r#"
static mut calls = 0;
#[export] static mut anchor: i32 = 7;
extern fn twice(n: i32, data: &mut [f32]) -> i32 {
    calls += 1;
    for lane in vectorize(16) {
        for at in range_step(0, n, 16) { data(at + lane) = data(at + lane) * 2f }
    }
    calls
}
extern fn called() -> i32 { calls + anchor }
"#;

/// Tells which version runs by the distance between function and variable.
const HOST: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
    void* library = dlopen(argv[1], RTLD_NOW);
    int (*twice)(int, float*) = dlsym(library, "twice");
    int (*called)(void) = dlsym(library, "called");
    float data[16] = {1, 2, 3};
    int first = twice(16, data), second = twice(16, data);
    printf("%d %d %d %g %ld\n", first, second, called(), data[2], (char*)twice - (char*)dlsym(library, "anchor"));
    return 0;
}
"#;

const PROCESSORS: &str = "x86-64,x86-64-v3,x86-64-v4";

/// The index of the version for this processor.
fn expected_version() -> usize {
    let has_v3 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let has_v4 = is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512bw");
    usize::from(has_v3) + usize::from(has_v3 && has_v4)
}

/// The address of a symbol in a file.
fn address(file: &str, symbol: &str) -> i64 {
    let (_, table, _) = run_command(Command::new("nm").arg(file), "");
    let line = table.lines().find(|line| line.ends_with(&format!(" {symbol}")));
    let line = line.unwrap_or_else(|| panic!("there is no `{symbol}` in\n{table}"));
    i64::from_str_radix(line.split(' ').next().expect("a line has words"), 16).expect("it is a number")
}

#[test]
fn the_best_supported_version_runs() {
    let folder = Folder::new("versions");
    let (source, library) = (folder.file("twice.impala", PROGRAM), folder.path("libtwice.so"));
    let mut build = nyala();
    build.args(["build", "--emit", "shared", "--target-cpu", PROCESSORS, &source, "-o", &library]);
    assert_eq!(run_command(&mut build, ""), (Some(0), String::new(), String::new()));
    let (host, executable) = (folder.file("host.c", HOST), folder.path("host"));
    assert_eq!(run_command(Command::new("cc").args([&host, "-o", &executable, "-ldl"]), "").0, Some(0));
    let version = format!("twice.version.{}", expected_version());
    let distance = address(&library, &version) - address(&library, "anchor");
    let (status, printed, _) = run_command(Command::new(executable).arg(&library), "");
    assert_eq!((status, printed), (Some(0), format!("1 2 9 12 {distance}\n")));
}

#[test]
fn each_version_uses_the_vectors_of_its_processor() {
    let mut build = nyala();
    build.args(["build", "--emit", "asm", "--target-cpu", PROCESSORS, "-", "-o", "-"]);
    let (_, assembly, _) = run_command(&mut build, PROGRAM);
    let uses = |version: usize, register: &str| {
        let start = assembly.find(&format!("\ntwice.version.{version}:")).expect("it has this version");
        let code = &assembly[start..];
        code[..code.find(".cfi_endproc").expect("it ends")].contains(register)
    };
    let widths = [0, 1, 2].map(|version| ["%xmm", "%ymm", "%zmm"].map(|register| uses(version, register)));
    assert_eq!(widths[0], [true, false, false]);
    assert_eq!(widths[1][1..], [true, false]);
    assert!(widths[2][2]);
}

#[test]
fn executables_contain_all_versions() {
    let folder = Folder::new("executable-versions");
    let source = folder.file("sum.impala", "fn main(n: i32) -> () { print_i32(n * 3) }");
    let executable = folder.path("sum");
    let (status, ..) =
        run_command(nyala().args(["build", "--target-cpu", PROCESSORS, &source, "-o", &executable]), "");
    assert_eq!(status, Some(0));
    assert_eq!(run_command(&mut Command::new(executable), "").1, "3");
}

#[test]
fn invalid_versions_are_rejected() {
    let program = "fn main() -> i32 { 0 }";
    let check = |args: &[&str], message: &str| {
        let (status, _, errors) = run_command(nyala().args(args).arg("-"), program);
        assert_eq!(status, Some(1));
        assert!(errors.contains("error[E0925]") && errors.contains(message), "{errors}");
    };
    let build = ["build", "--emit", "obj", "-o", "-", "--target-cpu"];
    check(&[&build[..], &["x86-64,skylake"]].concat(), "whether the processor is a `skylake`");
    check(&[&build[..], &["x86-64-v3,x86-64-v2"]].concat(), "must stand before");
    let other = ["generic,x86-64-v2", "--target", "aarch64-unknown-linux-gnu"];
    check(&[&build[..], &other].concat(), "for x86-64 Linux only");
    check(&["run", "--target-cpu", "x86-64,x86-64-v3"], "code in memory is for one processor");
}
