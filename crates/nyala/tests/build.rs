//! `nyala build`: its outputs, and the files that remain when it
//! cannot.

mod support;

use std::fs;
use std::process::Command;

use support::{Folder, nyala, run, run_command};

const GOOD: &str = "fn main() -> i32 { 0 }\n";

#[test]
fn build_writes_each_kind_of_output() {
    let folder = Folder::new("build");
    let source = folder.file("a.impala", "extern fn twice(x: i32) -> i32 { x + x }\n");
    let emitted = |kind: &str| run(&["build", "--emit", kind, "-o", "-", &source], "");
    let (status, llvm, stderr) = emitted("llvm");
    assert!(status == Some(0) && llvm.contains("define") && llvm.contains("@twice(i32"), "{stderr}");
    assert!(emitted("asm").1.contains("twice:"));
    assert!(emitted("ir").1.contains("export twice("));

    let stem = folder.path("all");
    let built = run(&["build", "--emit", "obj,asm,llvm,ir", "-o", &stem, &source], "");
    assert_eq!(built, (Some(0), String::new(), String::new()));
    assert_eq!(folder.names(), ["a.impala", "all.ir", "all.ll", "all.o", "all.s"]);
}

#[test]
fn an_executable_runs_without_nyala() {
    let folder = Folder::new("exe");
    let program = "fn main(argc: i32, argv: &[&[u8]]) -> i32 { print_string(argv(1)); argc }";
    let source = folder.file("echo.impala", program);
    let built = run_command(nyala().args(["build", &source]).current_dir(&folder.0), "");
    assert_eq!(built, (Some(0), String::new(), String::new()));
    assert_eq!(folder.names(), ["echo", "echo.impala"]);
    let ran = run_command(Command::new(folder.0.join("echo")).args(["hello", "there"]).env_clear(), "");
    assert_eq!(ran, (Some(3), "hello".into(), String::new()));
}

/// The device is reached through a link, so that a mistake replaces that.
#[cfg(unix)]
#[test]
fn build_does_not_replace_device_files() {
    let folder = Folder::new("device");
    let source = folder.file("a.impala", GOOD);
    let sink = folder.path("sink");
    std::os::unix::fs::symlink("/dev/null", &sink).expect("the folder is ours");
    for kind in ["exe", "obj", "llvm"] {
        let built = run(&["build", "--emit", kind, "-o", &sink, &source], "");
        assert_eq!(built, (Some(0), String::new(), String::new()), "{kind}");
        assert!(fs::symlink_metadata(&sink).expect("it is still there").is_symlink(), "{kind}");
    }
    assert_eq!(folder.names(), ["a.impala", "sink"]);
}

/// `e_machine` in the header of an object file.
fn machine(object: &[u8]) -> u16 {
    assert!(object.starts_with(b"\x7fELF"));
    u16::from_le_bytes([object[18], object[19]])
}

#[test]
fn build_compiles_for_other_targets() {
    let folder = Folder::new("cross");
    let source = folder.file("a.impala", "extern fn twice(x: i32) -> i32 { x + x }\n");
    let triples = [
        ("x86_64-unknown-linux-gnu", 62),
        ("aarch64-unknown-linux-gnu", 183),
        ("riscv64gc-unknown-linux-gnu", 243),
    ];
    for (triple, expected) in triples {
        let object = folder.path("a.o");
        let built = run(&["build", "--emit", "obj", "--target", triple, "-o", &object, &source], "");
        assert_eq!(built, (Some(0), String::new(), String::new()), "{triple}");
        assert_eq!(machine(&fs::read(&object).expect("it was written")), expected, "{triple}");
    }
}

/// Builds `text` with these arguments, which fails; returns the diagnostics. Nothing is
/// left behind.
fn build_fails(name: &str, text: &str, args: &[&str], env: Option<(&str, &str)>) -> String {
    let folder = Folder::new(name);
    let source = folder.file("a.impala", text);
    let mut command = nyala();
    command.arg("build").args(args).arg(&source).envs(env).current_dir(&folder.0);
    let (status, stdout, stderr) = run_command(&mut command, "");
    assert_eq!((status, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert_eq!(folder.names(), ["a.impala"]);
    stderr
}

#[test]
fn an_executable_needs_main() {
    let stderr = build_fails("no-main", "extern fn f() -> i32 { 0 }\n", &[], None);
    assert!(stderr.contains("error[E0923]") && stderr.contains("no exported function `main`"), "{stderr}");
    let stderr = build_fails("odd-main", "fn main(x: f32) -> i32 { x as i32 }\n", &[], None);
    assert!(stderr.contains("error[E0415]") && stderr.contains("a.impala:1:4"), "{stderr}");
}

#[test]
fn an_unknown_target_is_reported() {
    let stderr = build_fails("target", GOOD, &["--emit", "obj", "--target", "pdp11"], None);
    assert!(stderr.contains("error[E0925]"), "{stderr}");
    let stderr = build_fails("other", GOOD, &["--target", "sparc-sun-solaris"], None);
    assert!(stderr.contains("error[E0933]") && stderr.contains("sparc-sun-solaris"), "{stderr}");
}

#[test]
fn an_unknown_processor_is_reported() {
    let machines = [
        ("x86_64-unknown-linux-gnu", "skylake"),
        ("aarch64-unknown-linux-gnu", "cortex-a72"),
        ("riscv64gc-unknown-linux-gnu", "sifive-u74"),
    ];
    for (target, processor) in machines {
        let args = ["--emit", "obj", "--target", target, "--target-cpu", "z80"];
        let stderr = build_fails("processor", GOOD, &args, None);
        assert!(stderr.starts_with("error[E0925]: LLVM knows no processor `z80`"), "{stderr}");
        for known in [processor, "generic", "native"] {
            let args = ["build", "--emit", "asm", "--target", target, "--target-cpu", known, "-o", "-", "-"];
            let (status, _, stderr) = run(&args, GOOD);
            assert_eq!((status, stderr.as_str()), (Some(0), ""), "{target} {known}");
        }
    }
    let (status, _, stderr) = run(&["run", "--target-cpu", "z80", "-"], GOOD);
    assert_eq!(status, Some(1));
    assert!(stderr.starts_with("error[E0925]"), "{stderr}");
}

#[test]
fn each_kind_of_gpu_has_its_own_processors() {
    let kernel = |acc: &str| {
        format!(
            "for item in {acc}(0).exec((4, 1, 1), (4, 1, 1)) {{ bitcast[&mut [1][i32]](data)(item.gidx()) = 1; }}\n"
        )
    };
    let both = [kernel("cuda_accelerator"), kernel("amdgpu_hsa_accelerator")].concat();
    let text = format!("#[export] fn launch(data: &[i8]) -> () {{ {both} }}\n");
    for (archs, unknown) in [
        (vec!["sm_90", "gfx1100"], None),
        (vec!["gfx1100"], None),
        (vec!["sm_99"], Some("sm_99")),
        (vec!["sm_90", "gfx9999"], Some("gfx9999")),
        (vec!["z80"], Some("z80")),
    ] {
        let archs = archs.into_iter().flat_map(|arch| ["--gpu-arch", arch]);
        let args: Vec<&str> = ["build", "--emit", "obj", "-o", "-", "-"].into_iter().chain(archs).collect();
        let (status, _, stderr) = run(&args, &text);
        match unknown {
            None => assert_eq!((status, stderr.as_str()), (Some(0), "")),
            Some(unknown) => {
                let expected = format!("error[E0925]: LLVM knows no processor `{unknown}`");
                assert!(status == Some(1) && stderr.starts_with(&expected), "{stderr}");
            }
        }
    }
}

#[test]
fn exit_handlers_run() {
    let folder = Folder::new("at-exit");
    let text = "extern \"C\" { fn atexit(fn() -> ()) -> i32; fn exit(i32) -> !; }
                fn first() -> () { print_string(\"first \") }
                fn second() -> () { print_string(\"second \"); atexit(third); }
                fn third() -> () { print_string(\"third \") }
                fn main(argc: i32) -> i32 {
                    atexit(first);
                    atexit(second);
                    print_string(\"main \");
                    if argc > 1 { exit(5) }
                    4
                }\n";
    let source = folder.file("a.impala", text);
    let executable = folder.path("a");
    assert_eq!(run(&["build", "-o", &executable, &source], "").0, Some(0));
    for (args, status) in [(&[][..], 4), (&["more"], 5)] {
        let expected = (Some(status), "main second third first ".to_owned(), String::new());
        assert_eq!(run_command(Command::new(&executable).args(args), ""), expected);
        assert_eq!(run(&[&["run", source.as_str(), "--"], args].concat(), ""), expected);
    }
}

#[test]
fn a_missing_linker_or_runtime_is_reported() {
    let stderr = build_fails("linker", GOOD, &[], Some(("CC", "no-such-compiler")));
    assert!(stderr.contains("error[E0930]") && stderr.contains("no-such-compiler"), "{stderr}");
    let stderr = build_fails("runtime", GOOD, &[], Some(("NYALA_RUNTIME", "/no/such/folder")));
    assert!(stderr.contains("error[E0932]") && stderr.contains("searched /no/such/folder"), "{stderr}");
}

#[test]
fn the_compiler_needs_no_other_files() {
    let folder = Folder::new("alone");
    let source = folder.file("a.impala", GOOD);
    let compiler = folder.path("nyala");
    std::fs::copy(env!("CARGO_BIN_EXE_nyala"), &compiler).expect("the folder is ours");
    let built = run_command(Command::new(&compiler).args(["build", &source]).current_dir(&folder.0), "");
    assert_eq!(built, (Some(0), String::new(), String::new()));
    let ran = run_command(&mut Command::new(folder.path("a")), "");
    assert_eq!(ran.2, "", "{ran:?}");
}

#[test]
fn invalid_atomics_and_unknown_llvm_intrinsics_are_reported_in_the_source() {
    let text = "extern \"device\" { fn \"llvm.no.such\" f(i32) -> i32; }\nfn main() -> i32 { f(3) }\n";
    let stderr = build_fails("llvm", text, &[], None);
    assert!(stderr.contains("error[E0927]: LLVM has no intrinsic `llvm.no.such`"), "{stderr}");
    assert!(stderr.contains("a.impala:2:20"), "{stderr}");
    let (status, _, stderr) = run(&["run", "-"], text);
    assert_eq!(status, Some(1));
    assert!(stderr.starts_with("error[E0927]"), "{stderr}");
    for (call, message) in [
        ("atomic[i32](99u32, &mut x, 2, 7u32, \"\")", "99 is not a valid operation of `atomic`"),
        ("atomic[i32](1u32, &mut x, 2, 1u32, \"\")", "1 is not a valid memory order of this operation"),
        ("atomic_load[i32](&x, 5u32, \"\")", "5 is not a valid memory order of this operation"),
        (
            "atomic[i32](argc as u32, &mut x, 2, 7u32, \"\")",
            "the operation of `atomic` is not known at compile time",
        ),
    ] {
        let text = format!("fn main(argc: i32) -> i32 {{ let mut x = argc; {call} }}");
        let (status, _, stderr) = run(&["run", "-"], &text);
        assert_eq!(status, Some(1), "{stderr}");
        assert!(stderr.contains(&format!("error[E0928]: {message}")), "{stderr}");
    }
}

#[test]
fn undefined_symbols_are_reported_in_the_source() {
    let text = "extern \"C\" { fn launch_rocket() -> (); }\nfn main() -> i32 { launch_rocket(); 0 }\n";
    let stderr = build_fails("undefined", text, &[], None);
    assert!(stderr.contains("error[E0927]") && stderr.contains("a.impala:2:20"), "{stderr}");
    let stderr = build_fails("no-library", GOOD, &["--link", "no-such-library"], None);
    assert!(stderr.contains("error[E0931]") && stderr.contains("no-such-library"), "{stderr}");
}

#[test]
fn outputs_that_cannot_be_written_are_reported() {
    let stderr = build_fails("unwritable", GOOD, &["-o", "absent/a"], None);
    assert!(stderr.contains("cannot write `absent/a`"), "{stderr}");
    let stderr = build_fails("folder", GOOD, &["-o", "."], None);
    assert!(stderr.contains("cannot write `.`"), "{stderr}");
    assert_eq!(run(&["build", "-O4", "-o", "a", "-"], GOOD).0, Some(2));
}

#[test]
fn link_adds_libraries() {
    let folder = Folder::new("link");
    let c = folder.file("shout.c", "int shout(int x) { return 2 * x + 1; }\n");
    let library = folder.path("libshout.so");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o", &library, &c]).status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let text = "extern \"C\" { fn shout(i32) -> i32; }\nfn main() -> i32 { shout(20) }\n";
    let source = folder.file("a.impala", text);
    assert_eq!(run(&["run", "--link", &library, &source], "").0, Some(41));
    let executable = folder.path("a");
    let built = run(&["build", "--link", &library, "-o", &executable, &source], "");
    assert_eq!(built, (Some(0), String::new(), String::new()));
    assert_eq!(run_command(&mut Command::new(&executable), "").0, Some(41));
}

#[test]
fn fatal_errors_of_llvm_are_internal_errors() {
    let folder = Folder::new("fatal");
    let text =
        "extern \"device\" { fn \"llvm.x86.rdtsc\" ticks() -> i64; }\nextern fn f() -> i64 { ticks() }\n";
    let source = folder.file("a.impala", text);
    let args = ["build", "--emit", "obj", "--target", "aarch64-unknown-linux-gnu", "-o", "-", &source];
    // The report is in the temporary folder.
    let (status, stdout, stderr) = run_command(nyala().args(args).env("TMPDIR", &folder.0), "");
    assert_eq!((status, stdout.as_str()), (Some(101), ""));
    assert!(stderr.contains("internal error: fatal error of LLVM") && stderr.contains("rdtsc"), "{stderr}");
    assert!(folder.names().iter().any(|name| name.starts_with("nyala-internal-error")));
}

#[test]
fn time_prints_the_phases() {
    let (status, _, stderr) = run(&["run", "--time-passes", "-"], GOOD);
    assert_eq!(status, Some(0));
    for phase in ["parse", "check", "lower", "evaluate", "LLVM: optimize", "link", "run", "total"] {
        assert!(stderr.lines().any(|line| line.starts_with(phase)), "{phase} is missing:\n{stderr}");
    }
    assert!(run(&["check", "--time-passes", "-"], GOOD).2.contains("total"));
    assert!(run(&["build", "--time-passes", "--emit", "ir", "-o", "-", "-"], GOOD).2.contains("total"));
}

#[test]
fn flags_change_the_meaning_of_arithmetic() {
    let folder = Folder::new("flags");
    let text = "extern fn f(x: i32, y: f32) -> f32 { (x + 1) as f32 + y * y }\n";
    let source = folder.file("a.impala", text);
    let llvm = |flags: &[&str]| {
        let args = [&["build", "-O0", "--emit", "llvm", "-o", "-", &source], flags].concat();
        run(&args, "").1
    };
    assert!(llvm(&[]).contains("add nsw i32") && llvm(&[]).contains("fmul contract float"));
    assert!(llvm(&["--wrapping"]).contains("add i32"));
    assert!(llvm(&["--fast-math"]).contains("fmul fast float"));
}

#[test]
fn fast_math_applies_to_single_functions() {
    let folder = Folder::new("fast-math");
    // Evaluation inlines both into `f`; each operation keeps the flags of its function.
    let text = "#[fast_math] fn quick(x: f32) -> f32 { x * x }
                fn exact(x: f32) -> f32 { x + x }
                extern fn f(x: f32) -> f32 { quick(exact(x)) }\n";
    let source = folder.file("a.impala", text);
    let (_, llvm, stderr) = run(&["build", "-O0", "--emit", "llvm", "-o", "-", &source], "");
    assert!(llvm.contains("fmul fast float") && llvm.contains("fadd contract float"), "{llvm}{stderr}");
}

/// If one of several files cannot be written, none is.
#[test]
fn several_outputs_appear_together_or_not_at_all() {
    let folder = Folder::new("together");
    let source = folder.file("a.impala", GOOD);
    let stem = folder.path("out");
    fs::write(folder.path("out.ll"), "old").expect("the folder is ours");
    fs::create_dir(folder.path("out.s")).expect("the folder is ours");
    let args = ["build", "--emit", "llvm,obj,asm", "-o", &stem, &source];
    let (status, _, stderr) = run(&args, "");
    assert!(status == Some(1) && stderr.contains("cannot write `") && stderr.contains("out.s`"), "{stderr}");
    assert_eq!(folder.names(), ["a.impala", "out.ll", "out.s"]);
    assert_eq!(fs::read_to_string(folder.path("out.ll")).expect("it is still there"), "old");
    fs::remove_dir(folder.path("out.s")).expect("it is empty");
    assert_eq!(run(&args, ""), (Some(0), String::new(), String::new()));
    assert_eq!(folder.names(), ["a.impala", "out.ll", "out.o", "out.s"]);
}
