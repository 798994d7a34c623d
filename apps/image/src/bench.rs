//! Measures the speed of a chain of filters.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::kernel::Filtering;
use crate::picture::Picture;

/// The duration of a measurement.
const TIME: Duration = Duration::from_secs(2);

/// Filters a picture repeatedly and prints the best time. Returns the result.
pub fn measure(filtering: &mut Filtering, input: &Path) -> Result<Picture> {
    let start = Instant::now();
    let mut picture = Picture::read(input)?;
    let read = start.elapsed();
    let start = Instant::now();
    filtering.prepare(picture.format())?;
    let compile = start.elapsed();
    // The first run includes the allocation of memory.
    let mut result = filtering.apply(&mut picture)?;
    let (mut best, mut n, start) = (Duration::MAX, 0, Instant::now());
    while start.elapsed() < TIME {
        let start = Instant::now();
        filtering.apply_to(&mut picture, &mut result)?;
        best = best.min(start.elapsed());
        n += 1;
    }
    let pixels = f64::from(picture.width) * f64::from(picture.height);
    let per_second = pixels / best.as_secs_f64() / 1e6;
    println!(
        "{} x {}: {:.2} ms, {per_second:.1} Mpixel/s (best of {n}); read in {:.0} ms, compiled in {:.0} ms",
        picture.width,
        picture.height,
        millis(best),
        millis(read),
        millis(compile)
    );
    Ok(result)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
