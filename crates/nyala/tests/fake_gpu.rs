//! The CUDA runtime with a fake driver: `tests/gpu/fake_driver.c` is compiled to a
//! library that replaces the driver and logs its calls. So errors, the cache and
//! leaks are tested without a GPU.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use nyala_tests::files;

/// The folder with the driver, which is compiled once.
fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let folder = folder("driver");
        let source = files::repository().join("tests/gpu/fake_driver.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let library = folder.join("libcuda.so.1");
        let compiled =
            Command::new(compiler).args(["-shared", "-fPIC", "-o"]).arg(library).arg(source).status();
        assert!(compiled.expect("there is a C compiler").success());
        folder
    })
}

/// A new folder.
fn folder(name: &str) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fake-gpu-{name}-{}", std::process::id()));
    // Files of an earlier process.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder for tests can be written to");
    folder
}

/// The result of a program of `tests/gpu`.
struct Run {
    output: Output,
    log: String,
}

impl Run {
    fn count(&self, what: &str) -> usize {
        self.log.lines().filter(|line| *line == what).count()
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

fn run(folder: &Path, program: &str, environment: &[(&str, &str)]) -> Run {
    let (log, gpu) = (folder.join("log"), files::repository().join("tests/gpu"));
    let _ = std::fs::remove_file(&log);
    let mut command = Command::new(env!("CARGO_BIN_EXE_nyala"));
    command.arg("run").args([program, "on/support.impala", "on/cuda.impala"].map(|name| gpu.join(name)));
    command.env("LD_LIBRARY_PATH", driver()).env("FAKE_LOG", &log).env("NYALA_CACHE", folder.join("cache"));
    let output = command.envs(environment.iter().copied()).output().expect("the compiler can be started");
    Run { output, log: std::fs::read_to_string(log).unwrap_or_default() }
}

/// A program ends with a message that has all of these texts.
fn fails(name: &str, program: &str, environment: &[(&str, &str)], texts: &[&str]) {
    let run = run(&folder(name), program, environment);
    let message = run.stderr();
    assert_eq!(run.output.status.code(), Some(1), "{message}");
    for text in texts {
        assert!(message.contains(text), "no `{text}` in\n{message}");
    }
}

#[test]
fn a_device_is_listed() {
    let listed =
        Command::new(env!("CARGO_BIN_EXE_nyala")).arg("devices").env("LD_LIBRARY_PATH", driver()).output();
    let listed = listed.expect("the compiler can be started").stdout;
    let line = "  0: Fake GPU (sm_90, driver for CUDA 12.4), 1.0 GiB, 132 processors\n";
    assert!(String::from_utf8_lossy(&listed).contains(line));
}

#[test]
fn compiled_kernels_are_cached() {
    let folder = folder("cache");
    let compiled =
        |environment: &[(&str, &str)]| run(&folder, "launches.impala", environment).count("compile");
    let entries = || -> Vec<PathBuf> {
        let entries = folder.join("cache").read_dir().expect("the cache is a folder");
        entries.flatten().map(|entry| entry.path()).collect()
    };
    assert_eq!(compiled(&[]), 1);
    assert_eq!(compiled(&[]), 0);
    let [entry] = &entries()[..] else { panic!("one entry, and nothing half written") };
    let damages: [fn(&mut Vec<u8>); 3] =
        [|bytes| bytes.truncate(20), |bytes| bytes[30] ^= 1, |bytes| bytes.clear()];
    for damage in damages {
        let mut bytes = std::fs::read(entry).expect("the entry is a file");
        damage(&mut bytes);
        std::fs::write(entry, bytes).expect("the entry can be written");
        assert_eq!(compiled(&[]), 1, "a damaged entry is made again");
        assert_eq!(compiled(&[]), 0);
    }
    assert_eq!(compiled(&[("FAKE_VERSION", "12050")]), 1, "another driver");
    assert_eq!(entries().len(), 2);
    assert_eq!(compiled(&[("NYALA_CACHE", "off")]), 1);
    assert_eq!(run(&folder, "histogram.impala", &[]).count("compile"), 1, "another program");
}

#[test]
fn faults_name_the_kernel() {
    let texts = [
        "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)",
        "`main_kernel`",
        "tests/gpu/launches.impala:",
        "with grid [256, 1, 1] and block [64, 1, 1]",
    ];
    fails("fault", "launches.impala", &[("FAKE_FAULT", "1")], &texts);
}

#[test]
fn errors_of_the_driver_are_reported_with_its_message() {
    let texts = [
        "launch of kernel `main_kernel`",
        "the kernels cannot be compiled: a PTX JIT compilation failed",
        "ptxas: line 7: no such instruction",
    ];
    fails("ptx", "launches.impala", &[("FAKE_BAD_PTX", "1")], &texts);
}

#[test]
fn failed_driver_calls_are_reported() {
    for name in
        ["out_of_memory", "grid_not_a_multiple_of_the_block", "work_group_too_large", "released_event"]
    {
        let program = format!("errors/{name}.impala");
        let source = files::repository().join("tests/gpu").join(&program);
        let source = std::fs::read_to_string(source).expect("the program can be read");
        let texts: Vec<&str> = source.lines().filter_map(|line| line.strip_prefix("// error: ")).collect();
        fails(name, &program, &[], &texts);
    }
}

#[test]
fn device_memory_does_not_leak() {
    for (program, environment) in [
        ("events.impala", &[][..]),
        ("shared_with_host.impala", &[]),
        ("launches.impala", &[("NYALA_PROFILE", "1")]),
    ] {
        let run = run(&folder("leaks"), program, environment);
        assert!(run.output.status.success(), "{}", run.stderr());
        assert!(run.count("alloc") > 0);
        assert_eq!(run.count("alloc"), run.count("free"), "{program}");
        assert_eq!(run.count("event"), run.count("no event"), "{program}");
    }
}

#[test]
fn the_profile_lists_each_kernel() {
    let run = run(&folder("profile"), "launches.impala", &[("NYALA_PROFILE", "1")]);
    let row = "       10      2.500     0.2500     0.2500  main_kernel (";
    assert!(run.stderr().contains(row), "{}", run.stderr());
    // The launch is in the prelude; the program asks for it here, at the end of a loop's body.
    assert!(run.stderr().contains("tests/gpu/launches.impala:12:9)"), "{}", run.stderr());
}
