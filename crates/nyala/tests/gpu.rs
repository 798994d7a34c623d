//! The programs under `tests/gpu`, which have kernels: they meet their expectations in the interpreter
//! and on the devices of this machine. Their device code is compiled for
//! all platforms, whatever is here.
//!
//! * `ptxas` assembles the PTX, if there is one: on the path, where `NYALA_PTXAS` says, or where
//!   `cargo xtask setup` puts it.
//! * An OpenCL driver runs the programs, if there is one: PoCL, which needs no GPU, is another thing that
//!   `cargo xtask setup` installs.
//! * Programs under `cuda` use features of CUDA only. Neither the interpreter nor AMD's GPUs
//!   have `printf`.
//! * Those under `errors` end with a message that has the texts of all their lines `// error:`.
//! * PTX of some programs is compared with stored files; `BLESS=1` rewrites them.
//! * Programs under `tests/published` are in the style of those that were published with each edition. They run on
//!   the CPU, too, with one lane and with several. Their folders have files `on/PLATFORM.impala`, and
//!   `platform.impala` if they bring their own prelude.
//!
//! Tests that cannot run on this machine are ignored, with a message.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_tests::expectations::Expectations;
use nyala_tests::{files, snapshot};

fn main() -> ExitCode {
    let folder = files::repository().join("tests/gpu");
    let devices = String::from_utf8_lossy(&output(nyala().arg("devices")).stdout).into_owned();
    let ptxas = ptxas();
    let (has_cuda, has_opencl) = (has_devices(&devices, "cuda"), has_devices(&devices, "opencl"));
    let skipped = [
        (ptxas.is_some(), "PTX is not assembled, as there is no `ptxas` (try `cargo xtask setup`)"),
        (has_cuda, "no program runs on CUDA, as there is no device"),
        (has_opencl, "no program runs on OpenCL, as there is no device (try `cargo xtask setup`)"),
    ];
    for (_, what) in skipped.iter().filter(|(is_there, _)| !is_there) {
        eprintln!("SKIPPED: {what}");
    }
    let mut trials = vec![];
    let libdevice = installed("nvvm/libdevice/libdevice.10.bc");
    let has_libdevice = libdevice.is_some() && ptxas.is_some();
    let trial = {
        let ptxas = ptxas.clone();
        Trial::test("functions", move || with_libdevice(libdevice.as_deref(), ptxas.as_deref()))
    };
    trials.push(trial.with_kind("libdevice").with_ignored_flag(!has_libdevice));
    trials.push(Trial::test("vector_add", kernels_have_line_numbers).with_kind("lines"));
    let published = files::with_extension(&files::repository().join("tests/published"), "impala");
    for path in files::with_extension(&folder, "impala").into_iter().chain(published) {
        let is_part = path.components().any(|part| part.as_os_str() == "on");
        if is_part || path.ends_with("platform.impala") {
            continue;
        }
        let is_published = !path.starts_with(&folder);
        let name = files::display_name(&path);
        let mut add =
            |kind: &str, is_possible: bool, test: fn(&Path, Option<&Path>) -> Result<(), Failed>| {
                let (path, ptxas) = (path.clone(), ptxas.clone());
                let trial = Trial::test(&name, move || test(&path, ptxas.as_deref())).with_kind(kind);
                trials.push(trial.with_ignored_flag(!is_possible));
            };
        let is_for_cuda = path.components().any(|part| part.as_os_str() == "cuda");
        if path.starts_with(folder.join("errors")) {
            add("cuda", has_cuda, |path, _| fails_on_device(path, "cuda"));
            if !is_for_cuda {
                add("opencl", has_opencl, |path, _| fails_on_device(path, "opencl"));
            }
            continue;
        }
        let prints = path.ends_with("printf.impala");
        if is_published {
            add("cpu", true, |path, _| on_device(path, "cpu"));
            add("avx", true, |path, _| on_device(path, "avx"));
        }
        add("interpreter", !prints, |path, _| interpreted(path));
        add("ptx", true, |path, _| ptx(path).map(drop));
        add("ptxas", ptxas.is_some(), assembled);
        add("stored ptx", folder.join("ptx").join(ptx_name(&path)).exists(), |path, _| stored(path));
        add("cuda", has_cuda, |path, _| on_device(path, "cuda"));
        if is_for_cuda {
            continue;
        }
        add("opencl source", true, |path, _| opencl_source(path));
        add("opencl", has_opencl, |path, _| on_device(path, "opencl"));
        add("amdgcn", !prints && !is_published, |path, _| amdgcn(path));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The compiler, with the mathematical functions for devices that it has itself.
fn nyala() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nyala"));
    command.env("NYALA_LIBDEVICE", "off");
    command
}

fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Whether `nyala devices` lists devices of a platform.
fn has_devices(listed: &str, platform: &str) -> bool {
    let mut lines = listed.lines().skip_while(|line| !line.eq_ignore_ascii_case(platform));
    lines.nth(1).is_some_and(|line| line.starts_with("  "))
}

fn ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("NYALA_PTXAS").map(PathBuf::from);
    let mut candidates = named.into_iter().chain(["ptxas".into()]).chain(installed("bin/ptxas"));
    candidates.find(|ptxas| {
        Command::new(ptxas).arg("--version").output().is_ok_and(|output| output.status.success())
    })
}

/// A file of NVIDIA's tools, where `cargo xtask setup` installs them.
fn installed(file: &str) -> Option<PathBuf> {
    let libraries = files::repository().join("target/bench/cuda/lib").read_dir().ok()?;
    let tools = libraries.flatten().map(|python| python.path().join("site-packages/nvidia/cuda_nvcc"));
    tools.map(|tools| tools.join(file)).find(|file| file.exists())
}

/// The arguments for a program on a platform: its files, and an option if it brings its own prelude.
fn sources(path: &Path, platform: &str) -> Vec<PathBuf> {
    let beside = path.with_file_name("on");
    let on = if beside.is_dir() { beside } else { files::repository().join("tests/gpu/on") };
    let mut arguments = vec![path.to_owned(), on.join(format!("{platform}.impala"))];
    arguments.extend(Some(on.join("support.impala")).filter(|support| support.exists()));
    let prelude = path.with_file_name("platform.impala");
    if prelude.exists() {
        arguments.extend([prelude, "--no-prelude".into()]);
    }
    arguments
}

fn succeeded(output: Output) -> Result<Output, Failed> {
    match output.status.success() {
        true => Ok(output),
        false => Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn as_expected(path: &Path, output: Output) -> Result<(), Failed> {
    let expected = Expectations::parse(&std::fs::read_to_string(path)?)?;
    let output = succeeded(output)?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    match stdout.lines().eq(&expected.out) {
        true => Ok(()),
        false => Err(snapshot::difference(&expected.out.join("\n"), &stdout).into()),
    }
}

fn interpreted(path: &Path) -> Result<(), Failed> {
    as_expected(path, output(nyala().arg("interp").args(sources(path, "cuda"))))
}

fn on_device(path: &Path, platform: &str) -> Result<(), Failed> {
    as_expected(path, output(nyala().arg("run").args(sources(path, platform))))
}

/// A program ends with an error that contains all expected texts.
fn fails_on_device(path: &Path, platform: &str) -> Result<(), Failed> {
    let source = std::fs::read_to_string(path)?;
    let output = output(nyala().arg("run").args(sources(path, platform)));
    let message = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(1) {
        return Err(format!("{}\n{message}", output.status).into());
    }
    match source
        .lines()
        .filter_map(|line| line.strip_prefix("// error: "))
        .find(|part| !message.contains(part))
    {
        Some(part) => Err(format!("no `{part}` in\n{message}").into()),
        None => Ok(()),
    }
}

/// The device code of a program for a platform.
fn device_code(path: &Path, kind: &str, platform: &str, options: &[&str]) -> Result<Vec<u8>, Failed> {
    let mut build = nyala();
    build.args(["build", "--emit", kind, "-o", "-"]).args(options).args(sources(path, platform));
    Ok(succeeded(output(&mut build))?.stdout)
}

fn opencl_source(path: &Path) -> Result<(), Failed> {
    match String::from_utf8(device_code(path, "opencl", "opencl", &[])?)?.contains("__kernel ") {
        true => Ok(()),
        false => Err("it has no kernel".into()),
    }
}

/// An object file for AMD's GPUs has a descriptor for each kernel, and tells how it is launched. LLVM's tool reads
/// that too, if it is here.
fn amdgcn(path: &Path) -> Result<(), Failed> {
    const MACHINE: [u8; 2] = 224u16.to_le_bytes();
    const TOLD: [&str; 5] = [
        "amdhsa.kernels",
        "main_kernel.kd",
        ".kernarg_segment_size",
        ".group_segment_fixed_size",
        ".max_flat_workgroup_size",
    ];
    let object = device_code(path, "amdgcn", "amdgpu", &[])?;
    if !object.starts_with(b"\x7fELF") || object.get(18..20) != Some(&MACHINE) {
        return Err("it is no object file".into());
    }
    let has = |text: &str| object.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    if let Some(missing) = TOLD.iter().find(|text| !has(text)) {
        return Err(format!("it has no `{missing}`").into());
    }
    let file = scratch("amdgcn");
    std::fs::write(&file, &object)?;
    let read = Command::new("llvm-readobj").arg("--notes").arg(&file).output();
    std::fs::remove_file(&file)?;
    match read {
        Ok(read) => match String::from_utf8_lossy(&succeeded(read)?.stdout)
            .contains(".symbol:         main_kernel.kd")
        {
            true => Ok(()),
            false => Err("`llvm-readobj` finds no kernel".into()),
        },
        // There is no such tool.
        Err(_) => Ok(()),
    }
}

/// A name for a file of this test alone.
fn scratch(kind: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("{kind}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn ptx(path: &Path) -> Result<String, Failed> {
    ptx_for(path, &[])
}

fn ptx_for(path: &Path, options: &[&str]) -> Result<String, Failed> {
    let ptx = String::from_utf8(device_code(path, "ptx", "cuda", options)?)?;
    match ptx.contains(".visible .entry ") {
        true => Ok(ptx),
        false => Err("it has no kernel".into()),
    }
}

/// Kernels have line numbers for debuggers and profilers.
fn kernels_have_line_numbers() -> Result<(), Failed> {
    let program = files::repository().join("tests/gpu/vector_add.impala");
    let told = |options: &[&str]| Ok::<_, Failed>(ptx_for(&program, options)?.matches("\t.loc\t").count());
    match (told(&["-g"])?, told(&[])?) {
        (1.., 0) => Ok(()),
        counts => Err(format!("lines with and without `-g`: {counts:?}").into()),
    }
}

/// NVIDIA's functions take the place of our own.
fn with_libdevice(libdevice: Option<&Path>, ptxas: Option<&Path>) -> Result<(), Failed> {
    let libdevice = libdevice.ok_or("there is no libdevice")?;
    let program = files::repository().join("tests/gpu/functions.impala");
    let mut build = nyala();
    build.env("NYALA_LIBDEVICE", libdevice).args(["build", "--emit", "ptx", "-o", "-"]);
    let ptx = succeeded(output(build.args(sources(&program, "cuda"))))?.stdout;
    // One of its functions that is too large to be part of others.
    if !String::from_utf8_lossy(&ptx).contains("__internal_trig_reduction_slowpathd") {
        return Err("it has no function of libdevice".into());
    }
    assemble(ptxas.ok_or("there is no `ptxas`")?, "sm_70", &ptx)
}

/// Whether the code for a GPU is accepted, of the oldest, a middle and the newest generation.
fn assembled(path: &Path, ptxas: Option<&Path>) -> Result<(), Failed> {
    let assembler = ptxas.ok_or("there is no `ptxas`")?;
    for arch in ["sm_70", "sm_86", "sm_90"] {
        assemble(assembler, arch, ptx_for(path, &["--gpu-arch", arch])?.as_bytes())?;
    }
    Ok(())
}

fn assemble(assembler: &Path, arch: &str, ptx: &[u8]) -> Result<(), Failed> {
    let file = scratch("ptx");
    std::fs::write(&file, ptx)?;
    let done = output(Command::new(assembler).args(["-arch", arch, "-o", "/dev/null"]).arg(&file));
    std::fs::remove_file(&file)?;
    succeeded(done).map_err(|error| format!("{arch}: {}", error.message().unwrap_or_default()))?;
    Ok(())
}

fn ptx_name(path: &Path) -> PathBuf {
    Path::new(path.file_name().unwrap_or_default()).with_extension("ptx")
}

fn stored(path: &Path) -> Result<(), Failed> {
    let stored = files::repository().join("tests/gpu/ptx").join(ptx_name(path));
    Ok(snapshot::compare(&stored, &ptx(path)?)?)
}
