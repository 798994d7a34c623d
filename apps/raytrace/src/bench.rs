//! `--bench`: how many rays each kind of picture traces in a second.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::cli::{Args, Mode};
use crate::files;
use crate::kernel::{Kernel, Sums};
use crate::scene::Scene;
use crate::view;

/// How long each kind is measured.
const TIME: Duration = Duration::from_secs(2);

/// Measures passes. The rays of a pass are one for each pixel, and for each further ray of each pixel that the mode may trace.
pub fn measure(args: &Args, scene: &Scene, threads: u32) -> Result<()> {
    for (mode, name, rays) in [
        (Mode::Primary, "primary", 1),
        (Mode::Ao, "primary and ambient occlusion", 2),
        (Mode::Path, "paths, with dead rays", 1 + 2 * args.bounces),
    ] {
        let start = Instant::now();
        let kernel = Kernel::compile(scene, mode, threads, args.device.as_ref())?;
        let ready = start.elapsed();
        let (camera, light) = view::from_args(args, kernel.bounds)?;
        let mut sums = Sums::new(mode, args.size)?;
        let (mut best, start) = (Duration::MAX, Instant::now());
        while sums.n_samples == 0 || start.elapsed() < TIME {
            let start = Instant::now();
            kernel.render(&camera, &light, &mut sums);
            best = best.min(start.elapsed());
        }
        let n = f64::from(args.size.0) * f64::from(args.size.1) * f64::from(rays);
        files::print(&format!(
            "{name}: {:.2} Mrays/s, best of {} passes; compiled and built in {:.0} ms, {:.1} MB for {} triangles\n",
            n / best.as_secs_f64() / 1e6,
            sums.n_samples,
            ready.as_secs_f64() * 1e3,
            kernel.bytes as f64 / 1e6,
            scene.triangles.len(),
        ))?;
    }
    Ok(())
}
