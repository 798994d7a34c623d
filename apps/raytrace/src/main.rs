//! `nyala-raytrace`: pictures of triangle meshes, by the library `traversal`.
//!
//! The command line ([`cli`]) names a scene ([`scene`]), a camera and a light ([`view`]). The app compiles its program in Impala ([`kernel`]), renders
//! pictures ([`picture`]) that get better with each sample, measures ([`mod@bench`]), or serves a page ([`serve`]). [`files`] reads and writes.
//! Errors on the command line end with status 2, all others with status 1.

mod bench;
mod cli;
mod files;
mod kernel;
mod picture;
mod scene;
mod serve;
mod view;

use std::process::ExitCode;
use std::thread;

use anyhow::Result;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use cli::Args;
use kernel::{Kernel, Sums};
use scene::Scene;

fn main() -> ExitCode {
    nyala_process::run("nyala-raytrace", run_args)
}

fn run_args() -> ExitCode {
    let mut args = Args::parse();
    match view::read_file(&mut args).and_then(|()| run(&args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let threads = match args.threads {
        0 => thread::available_parallelism().map_or(1, |n| n.get() as u32),
        n => n,
    };
    if args.show_program {
        return files::print(&kernel::program(threads, args.device.as_ref()));
    }
    if !args.bench && args.serve.is_none() {
        files::check_output(&args.output)?;
    }
    let scene = Scene::read(&args.scene)?;
    for warning in scene.warnings.iter().chain(&scene.textures.warnings) {
        eprintln!("warning: {warning}");
    }
    if args.bench {
        return bench::measure(args, &scene, threads);
    }
    let kernel = Kernel::compile(&scene, args.mode, threads, args.device.as_ref())?;
    let (camera, light) = view::from_args(args, kernel.bounds)?;
    let mut sums = Sums::new(args.mode, args.size)?;
    if let Some(port) = args.serve {
        return serve::serve(port, &kernel, camera, light, sums);
    }
    let bar = ProgressBar::new(u64::from(args.samples)).with_style(
        ProgressStyle::with_template("{bar:40} {pos}/{len} samples, {eta} left")
            .expect("the template is valid"),
    );
    while sums.n_samples < args.samples {
        kernel.render(&camera, &light, &mut sums);
        bar.inc(1);
        // Pictures while it runs: after 1, 2, 4, .. samples.
        if sums.n_samples.is_power_of_two() || sums.n_samples == args.samples {
            picture::write(&args.output, &sums)?;
        }
    }
    bar.finish();
    Ok(())
}
