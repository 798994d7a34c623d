//! Filters many pictures, with a progress bar. Files are read and written on all cores; one picture at a time is filtered, which uses all cores as well. A
//! failure does not stop the others.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use crate::kernel::Filtering;
use crate::picture::{self, Picture};

/// How long the parts of the work on a picture took.
#[derive(Default)]
pub struct Times {
    read: Duration,
    compile: Duration,
    filter: Duration,
    write: Duration,
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [read, compile, filter, write] =
            [self.read, self.compile, self.filter, self.write].map(|time| time.as_secs_f64() * 1e3);
        write!(f, "read {read:.1} ms, compile {compile:.1} ms, filter {filter:.1} ms, write {write:.1} ms")
    }
}

/// Filters pictures and those of folders into a folder, which is created if needed.
pub fn filter(filtering: Filtering, inputs: &[PathBuf], output: &Path, shows_times: bool) -> Result<()> {
    let pictures = all_pictures(inputs)?;
    fs::create_dir_all(output).with_context(|| format!("cannot create `{}`", output.display()))?;
    let bar = ProgressBar::new(pictures.len() as u64).with_style(style());
    let filtering = Mutex::new(filtering);
    let (next, n_failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(path) = pictures.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = path.file_name().unwrap_or_default();
            bar.set_message(name.to_string_lossy().into_owned());
            match filter_one(&filtering, path, &output.join(name)) {
                Ok(times) if shows_times => bar.suspend(|| eprintln!("{}: {times}", path.display())),
                Ok(_) => {}
                Err(error) => {
                    n_failed.fetch_add(1, Ordering::Relaxed);
                    bar.suspend(|| eprintln!("error: {error:#}"));
                }
            }
            bar.inc(1);
        }
    };
    let n_workers = thread::available_parallelism().map_or(1, usize::from).min(pictures.len());
    thread::scope(|scope| {
        for _ in 0..n_workers {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    match n_failed.into_inner() {
        0 => Ok(()),
        n_failed => bail!("{n_failed} of {} pictures were not filtered", pictures.len()),
    }
}

/// A short bar, so that a name fits beside it in narrow terminals. The remaining time is unknown before the first
/// picture is done.
fn style() -> ProgressStyle {
    let time_left = |state: &ProgressState, out: &mut dyn fmt::Write| {
        if state.pos() > 0 {
            // A failure of the terminal is ignored.
            let _ = write!(out, "{:#} left", HumanDuration(state.eta()));
        }
    };
    let style = ProgressStyle::with_template("{bar:20} {pos}/{len} {wide_msg} {time_left}");
    style.expect("the template is valid").with_key("time_left", time_left)
}

/// Filters one picture into a file.
pub fn filter_one(filtering: &Mutex<Filtering>, input: &Path, output: &Path) -> Result<Times> {
    let mut times = Times::default();
    let mut picture = timed(&mut times.read, || Picture::read(input))?;
    // Check the output format before the computation.
    let kind = picture::Kind::of(output)?;
    let filtered = {
        // A thread that panicked has left no picture behind.
        let mut filtering = filtering.lock().unwrap_or_else(PoisonError::into_inner);
        let result = filtering.result(picture.format());
        kind.accepts(result).with_context(|| format!("`{}`", output.display()))?;
        timed(&mut times.compile, || filtering.prepare(picture.format()))?;
        timed(&mut times.filter, || filtering.apply(&mut picture))
            .with_context(|| format!("`{}`", input.display()))?
    };
    timed(&mut times.write, || filtered.write(output))?;
    Ok(times)
}

fn timed<T>(time: &mut Duration, body: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = body();
    *time = start.elapsed();
    result
}

/// All pictures; their results need different names.
fn all_pictures(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = vec![];
    for input in inputs {
        if input.is_dir() { all.extend(pictures(input)?) } else { all.push(input.clone()) }
    }
    let mut names = HashMap::new();
    for path in &all {
        if let Some(first) = names.insert(path.file_name(), path) {
            bail!("`{}` and `{}` have the same name for the result", first.display(), path.display());
        }
    }
    Ok(all)
}

/// The files of a folder with names of pictures, sorted.
fn pictures(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("`{}`", folder.display()))?;
    let mut pictures = vec![];
    for entry in entries {
        let path = entry.with_context(|| format!("`{}`", folder.display()))?.path();
        if path.is_file() && picture::is_picture(&path) {
            pictures.push(path);
        }
    }
    if pictures.is_empty() {
        bail!("there is no picture in `{}`", folder.display());
    }
    pictures.sort();
    Ok(pictures)
}
