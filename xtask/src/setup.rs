//! `cargo xtask setup`: installs what tests need besides a Rust toolchain, as far as possible.
//!
//! * An OpenCL driver that runs on the CPU: PoCL, by the system's package manager (`apt-get`).
//! * Open MPI, in the same way, for programs of several processes.
//! * Chromium, in the same way, for tests of pages.
//! * `ptxas` and NVIDIA's mathematical functions: by pip, into an environment of Python below `target`,
//!   where the tests look for them.
//! * NumPy, in the same way.
//!
//! Nothing is installed twice. A failure is reported, but is not an error: tests that need the tool
//! report themselves as skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nyala_test_support::browser::browser;

use crate::{files, python};

/// The packages with an OpenCL driver for the CPU, and the loader of drivers.
const OPENCL: [&str; 2] = ["pocl-opencl-icd", "ocl-icd-libopencl1"];

/// The packages with Open MPI, and its compiler driver, which says what programs are linked with.
const MPI: [&str; 2] = ["openmpi-bin", "libopenmpi-dev"];

pub fn run() -> anyhow::Result<()> {
    print_result("an OpenCL driver", opencl());
    print_result("Open MPI", mpi());
    print_result("a browser", install(&["chromium"], || browser().is_some()));
    print_result("ptxas", ptxas());
    print_result("NumPy", numpy());
    Ok(())
}

/// Prints the result of an installation.
fn print_result(what: &str, found: Result<String, String>) {
    match found {
        Ok(how) => println!("{what}: {how}"),
        Err(why) => eprintln!("\nMISSING: {what}: {why}\nMISSING: tests that need it are SKIPPED\n"),
    }
}

fn opencl() -> Result<String, String> {
    install(&OPENCL, has_opencl_driver)
}

fn mpi() -> Result<String, String> {
    install(&MPI, || {
        succeeds(Command::new("mpirun").arg("--version"))
            && succeeds(Command::new("mpicc").arg("--showme:link"))
    })
}

/// Installs packages of the system, unless they are there.
fn install(packages: &[&str], is_there: impl Fn() -> bool) -> Result<String, String> {
    if is_there() {
        return Ok("is there".into());
    }
    if !cfg!(target_os = "linux") {
        return Err("this system has no package manager that is known here".into());
    }
    let apt = |args: &[&str]| {
        let is_root = succeeds(Command::new("test").args(["-w", "/usr/bin"]));
        let mut command = Command::new(if is_root { "apt-get" } else { "sudo" });
        if !is_root {
            command.args(["-n", "apt-get"]);
        }
        succeeds(command.args(args).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let install: Vec<&str> =
        ["install", "--yes", "--no-install-recommends"].iter().chain(packages).copied().collect();
    // The lists of packages may be old or missing.
    let is_done = apt(&install) || (apt(&["update"]) && apt(&install));
    match is_done && is_there() {
        true => Ok(format!("installed {}", packages.join(", "))),
        false => Err(format!("`apt-get install {}` fails", packages.join(" "))),
    }
}

/// Whether a driver is registered in the system.
fn has_opencl_driver() -> bool {
    let vendors = Path::new("/etc/OpenCL/vendors").read_dir();
    vendors.is_ok_and(|entries| {
        entries.flatten().any(|entry| entry.path().extension().is_some_and(|e| e == "icd"))
    })
}

fn ptxas() -> Result<String, String> {
    if succeeds(Command::new("ptxas").arg("--version")) {
        return Ok("is on the path".into());
    }
    let find = "import glob, sys; sys.exit(not glob.glob(sys.prefix + '/lib/python*/site-packages/nvidia/*/bin/ptxas'))";
    python::environment("cuda", &["nvidia-cuda-nvcc-cu12"], find)
        .map(|python| format!("is beside {}", python.display()))
        .ok_or_else(|| "the package `nvidia-cuda-nvcc-cu12` cannot be installed by pip".into())
}

fn numpy() -> Result<String, String> {
    python::environment("numpy", &["numpy"], "import numpy")
        .map(|python| format!("is for {}", python.display()))
        .ok_or_else(|| "the package `numpy` cannot be installed by pip".into())
}

/// NVIDIA's mathematical functions, if they were installed.
pub fn libdevice() -> Option<PathBuf> {
    let libraries = files::repository().join("target/bench/cuda/lib").read_dir().ok()?;
    let file = "site-packages/nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc";
    libraries.flatten().map(|python| python.path().join(file)).find(|file| file.exists())
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
