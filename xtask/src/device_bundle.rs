//! `cargo xtask device-bundle`: a folder of executables with kernels, for machines that have a
//! GPU and its driver and nothing else; and the folder as one archive.
//!
//! The programs are those of `tests/gpu`, each for every platform that executables can be made
//! for, and those of `tests/run` that need a device. The script `bench/gpu/run.sh` runs them and compares what they print with what they should, and
//! measures the kernels of `bench/gpu`, against CUDA C++ if there is a compiler for that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use clap::Args;

use crate::{files, setup};

/// Make a folder of executables that test and measure a machine's GPU
#[derive(Args)]
pub struct DeviceBundleArgs {
    /// Where to put it
    #[arg(short, long, value_name = "FOLDER", default_value = "target/device-bundle")]
    output: PathBuf,
    /// The GPU to make kernels for
    #[arg(long, value_name = "ARCH", default_value = "sm_70")]
    gpu_arch: String,
    /// The compiler to use [default: one that is built for it]
    #[arg(long, value_name = "FILE")]
    compiler: Option<PathBuf>,
}

/// The platforms that programs are made for.
const PLATFORMS: [&str; 2] = ["cuda", "opencl"];

/// How many filters `bench/gpu/filters.impala` tells of.
const N_FILTERS: usize = 16;

/// What every machine has that a GPU is in today.
const CPU: &str = "x86-64-v3";

pub fn run(args: &DeviceBundleArgs) -> anyhow::Result<()> {
    let nyala = match &args.compiler {
        Some(compiler) => compiler.canonicalize()?,
        None => build_compiler()?,
    };
    let bundle = files::repository().join(&args.output);
    if bundle.exists() {
        fs::remove_dir_all(&bundle)?;
    }
    for folder in ["tests", "errors", "expected", "bench", "filters"] {
        fs::create_dir_all(bundle.join(folder))?;
    }
    let tests = files::with_extension("tests/gpu", "impala")?;
    let is_part =
        |path: &Path| ["tests/gpu/on", "tests/gpu/library"].iter().any(|part| path.starts_with(part));
    for program in tests.iter().filter(|file| !is_part(&file.path)) {
        let name = program.path.file_stem().context("a source file has a name")?;
        let fails = program.path.starts_with("tests/gpu/errors");
        let expected = bundle.join("expected").join(name);
        match fails {
            true => fs::write(expected.with_extension("error"), marked(&program.text, "// error: "))?,
            false => fs::write(expected, marked(&program.text, "// out: "))?,
        }
        let is_for_cuda = program.path.components().any(|part| part.as_os_str() == "cuda");
        for platform in PLATFORMS.into_iter().filter(|platform| !is_for_cuda || *platform == "cuda") {
            let folder = bundle.join(if fails { "errors" } else { "tests" });
            let on = Path::new("tests/gpu/on");
            let sources =
                [&*program.path, &on.join("support.impala"), &on.join(format!("{platform}.impala"))];
            build(&nyala, args, &sources, &folder.join(name).with_extension(platform))?;
        }
    }
    with_ordinary_tests(&nyala, args, &bundle)?;
    with_libdevice(&nyala, args, &bundle)?;
    build(&nyala, args, &[Path::new("bench/gpu/kernels.impala")], &bundle.join("bench/kernels"))?;
    // Many pixels at once are many specializations. The peer is compiled with such mathematics too.
    let options = ["--fast-math", "--pe-specializations", "5000000"];
    let images = Path::new("bench/gpu/images.impala");
    build_with(&nyala, args, &options, Path::new("off"), &[images], &bundle.join("bench/images"))?;
    let filters = Path::new("bench/gpu/filters.impala");
    for platform in PLATFORMS {
        let on = Path::new("tests/gpu/on");
        let sources = [filters, &on.join("support.impala"), &on.join(format!("{platform}.impala"))];
        let program = bundle.join("filters").join(platform);
        build_with(&nyala, args, &options[1..], Path::new("off"), &sources, &program)?;
    }
    fs::write(bundle.join("expected/filters"), format!("{N_FILTERS}\n"))?;
    for (from, to) in [("peers.cu", "bench/peers.cu"), ("images.cu", "bench/images.cu"), ("run.sh", "run.sh")]
    {
        fs::copy(files::repository().join("bench/gpu").join(from), bundle.join(to))?;
    }
    let archive = pack(&bundle)?;
    println!("{}, and as one file {}", bundle.display(), archive.display());
    println!(
        "`./run.sh tests`, `./run.sh filters` and `./run.sh sanitizer` test a GPU, `./run.sh bench` and `./run.sh images` measure it"
    );
    Ok(())
}

/// The programs of the ordinary tests that launch kernels: where there is no device, these cannot show what they do.
fn with_ordinary_tests(nyala: &Path, args: &DeviceBundleArgs, bundle: &Path) -> anyhow::Result<()> {
    let list = fs::read_to_string(files::repository().join("crates/nyala/tests/native.txt"))?;
    for path in list.lines().filter_map(|line| line.strip_suffix(" device")).map(Path::new) {
        let name = path.file_stem().context("a source file has a name")?;
        let source = fs::read_to_string(files::repository().join(path))?;
        fs::write(bundle.join("expected").join(name), marked(&source, "// out: "))?;
        build(nyala, args, &[path], &bundle.join("tests").join(name).with_extension("run"))?;
    }
    Ok(())
}

/// Mathematical functions are tested twice: our own, and NVIDIA's where `cargo xtask setup` found them.
fn with_libdevice(nyala: &Path, args: &DeviceBundleArgs, bundle: &Path) -> anyhow::Result<()> {
    let Some(libdevice) = setup::libdevice() else {
        println!("without libdevice: `cargo xtask setup` installs it");
        return Ok(());
    };
    fs::copy(bundle.join("expected/functions"), bundle.join("expected/functions_libdevice"))?;
    let sources =
        ["functions", "on/support", "on/cuda"].map(|name| PathBuf::from(format!("tests/gpu/{name}.impala")));
    let sources = sources.each_ref().map(PathBuf::as_path);
    build_with(nyala, args, &[], &libdevice, &sources, &bundle.join("tests/functions_libdevice.cuda"))
}

/// What a program says about itself in lines that begin like this.
fn marked(source: &str, mark: &str) -> String {
    source.lines().filter_map(|line| line.strip_prefix(mark)).map(|line| format!("{line}\n")).collect()
}

/// The folder as one file beside it.
fn pack(bundle: &Path) -> anyhow::Result<PathBuf> {
    let archive = bundle.with_extension("tar.gz");
    let (folder, name) = (bundle.parent(), bundle.file_name());
    let (folder, name) = folder.zip(name).context("the output is a folder with a name")?;
    let packed = Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(folder).arg(name).status()?;
    match packed.success() {
        true => Ok(archive),
        false => bail!("{} cannot be packed", bundle.display()),
    }
}

/// The compiler, as users have it: the runtime inside of it goes into the programs, and launches are measured.
fn build_compiler() -> anyhow::Result<PathBuf> {
    let built = Command::new("cargo")
        .args(["build", "--release", "-q", "-p", "nyala"])
        .current_dir(files::repository())
        .status()?;
    match built.success() {
        true => Ok(files::repository().join("target/release/nyala")),
        false => bail!("the compiler cannot be built"),
    }
}

fn build(nyala: &Path, args: &DeviceBundleArgs, sources: &[&Path], output: &Path) -> anyhow::Result<()> {
    build_with(nyala, args, &[], Path::new("off"), sources, output)
}

/// Builds with more options and, if `libdevice` is not `off`, NVIDIA's mathematical functions.
fn build_with(
    nyala: &Path,
    args: &DeviceBundleArgs,
    options: &[&str],
    libdevice: &Path,
    sources: &[&Path],
    output: &Path,
) -> anyhow::Result<()> {
    let built = Command::new(nyala)
        .env("NYALA_LIBDEVICE", libdevice)
        .args(["build", "-O3", "--target-cpu", CPU, "--gpu-arch", &args.gpu_arch])
        .args(options)
        .arg("-o")
        .arg(output)
        .args(sources)
        .current_dir(files::repository())
        .output()?;
    match built.status.success() {
        true => Ok(()),
        false => bail!("{}: {}", output.display(), String::from_utf8_lossy(&built.stderr)),
    }
}
