//! `cargo xtask device-bundle`: a folder of executables with kernels, and an archive of it, for machines that have
//! only a GPU and its driver.
//!
//! The programs are those of `tests/gpu` and `tests/published`, each for every platform of executables, and those
//! of `tests/run` that need a device. The script `bench/gpu/run.sh` runs them, compares their output, and measures
//! the kernels of `bench/gpu`, against CUDA C++ if there is a compiler for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use clap::Args;

use crate::{files, setup};

/// Create a folder of executables that test and measure the GPU of a machine
#[derive(Args)]
pub struct DeviceBundleArgs {
    /// The folder
    #[arg(short, long, value_name = "FOLDER", default_value = "target/device-bundle")]
    output: PathBuf,
    /// The GPU that kernels are compiled for
    #[arg(long, value_name = "ARCH", default_value = "sm_70")]
    gpu_arch: String,
    /// The compiler [default: a new build]
    #[arg(long, value_name = "FILE")]
    compiler: Option<PathBuf>,
}

/// The platforms of the programs.
const PLATFORMS: [&str; 2] = ["cuda", "opencl"];

/// The number of filters of `bench/gpu/filters.impala`.
const N_FILTERS: usize = 16;

/// The processor of the executables: every machine with a current GPU has it.
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
    with_tests(&nyala, args, &bundle)?;
    with_published(&nyala, args, &bundle)?;
    with_ordinary_tests(&nyala, args, &bundle)?;
    with_libdevice(&nyala, args, &bundle)?;
    with_benchmarks(&nyala, args, &bundle)?;
    let archive = pack(&bundle)?;
    println!("{}, and as one file {}", bundle.display(), archive.display());
    println!(
        "`./run.sh tests`, `./run.sh filters` and `./run.sh sanitizer` test a GPU, `./run.sh bench`, `./run.sh plain`, `./run.sh images` and `./run.sh rays` measure it"
    );
    Ok(())
}

/// The tests of kernels, for each platform, and what they print or report.
fn with_tests(nyala: &Path, args: &DeviceBundleArgs, bundle: &Path) -> anyhow::Result<()> {
    let tests = files::with_extension("tests/gpu", "impala")?;
    for program in tests.iter().filter(|file| !file.path.starts_with("tests/gpu/on")) {
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
            build(nyala, args, &sources, &folder.join(name).with_extension(platform))?;
        }
    }
    Ok(())
}

/// What is measured, with the programs in CUDA C++ beside it.
fn with_benchmarks(nyala: &Path, args: &DeviceBundleArgs, bundle: &Path) -> anyhow::Result<()> {
    let measure = Path::new("bench/gpu/measure.impala");
    for (name, others) in [("kernels", &[measure][..]), ("plain", &[measure]), ("align", &[])] {
        let source = Path::new("bench/gpu").join(name).with_extension("impala");
        let sources: Vec<&Path> = [&*source].into_iter().chain(others.iter().copied()).collect();
        build(nyala, args, &sources, &bundle.join("bench").join(name))?;
    }
    // Many pixels at once are many specializations. The peer is compiled with fast mathematics too.
    let options = ["--fast-math", "--pe-specializations", "5000000"];
    let images = Path::new("bench/gpu/images.impala");
    build_with(nyala, args, &options, Path::new("off"), &[images], &bundle.join("bench/images"))?;
    let filters = Path::new("bench/gpu/filters.impala");
    for platform in PLATFORMS {
        let on = Path::new("tests/gpu/on");
        let sources = [filters, &on.join("support.impala"), &on.join(format!("{platform}.impala"))];
        let program = bundle.join("filters").join(platform);
        build_with(nyala, args, &options[1..], Path::new("off"), &sources, &program)?;
    }
    // A library: the program in CUDA C++ measures both sides, also the host with its widest vectors.
    let options = ["--emit", "shared", "--target-cpu", "x86-64-v3,x86-64-v4"];
    let rays = Path::new("bench/gpu/rays.impala");
    build_with(nyala, args, &options, Path::new("off"), &[rays], &bundle.join("bench/librays.so"))?;
    fs::write(bundle.join("expected/filters"), format!("{N_FILTERS}\n"))?;
    for (from, to) in [
        ("measure.cuh", "bench/measure.cuh"),
        ("peers.cu", "bench/peers.cu"),
        ("plain.cu", "bench/plain.cu"),
        ("align.cu", "bench/align.cu"),
        ("images.cu", "bench/images.cu"),
        ("rays.cu", "bench/rays.cu"),
        ("run.sh", "run.sh"),
    ] {
        fs::copy(files::repository().join("bench/gpu").join(from), bundle.join(to))?;
    }
    Ok(())
}

/// The programs in the style of each edition, which choose their device by a file, too. Some bring their own prelude.
fn with_published(nyala: &Path, args: &DeviceBundleArgs, bundle: &Path) -> anyhow::Result<()> {
    for program in files::with_extension("tests/published", "impala")? {
        let on = program.path.with_file_name("on");
        if program.path.ends_with("platform.impala") || !on.join("cuda.impala").exists() {
            continue;
        }
        let edition = program.path.parent().and_then(Path::file_name).context("an edition has a folder")?;
        let name = program.path.file_stem().context("a source file has a name")?;
        let name = format!("{}_{}", edition.to_string_lossy(), name.to_string_lossy());
        fs::write(bundle.join("expected").join(&name), marked(&program.text, "// out: "))?;
        let prelude = program.path.with_file_name("platform.impala");
        let brings_prelude = files::repository().join(&prelude).exists();
        let options: &[&str] = if brings_prelude { &["--no-prelude"] } else { &[] };
        for platform in PLATFORMS {
            let device = on.join(format!("{platform}.impala"));
            let mut sources = vec![&*program.path, &*device];
            sources.extend(brings_prelude.then_some(&*prelude));
            let output = bundle.join("tests").join(&name).with_extension(platform);
            build_with(nyala, args, options, Path::new("off"), &sources, &output)?;
        }
    }
    Ok(())
}

/// The programs of the ordinary tests that launch kernels: without a device, these tests are skipped.
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

/// Mathematical functions are tested twice: with our own, and with NVIDIA's if `cargo xtask setup` has installed them.
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

/// The text of the lines of a program that start with a mark.
fn marked(source: &str, mark: &str) -> String {
    source.lines().filter_map(|line| line.strip_prefix(mark)).map(|line| format!("{line}\n")).collect()
}

/// Packs the folder into an archive beside it.
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

/// The release build of the compiler: its runtime becomes part of the programs, and launches are measured.
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
        .args(["build", "-O3", "--gpu-arch", &args.gpu_arch])
        .args(if options.contains(&"--target-cpu") { &[][..] } else { &["--target-cpu", CPU] })
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
