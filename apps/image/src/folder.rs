//! Filters all pictures of a folder, with a progress bar. A failure does not stop the others.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use crate::kernel::Filtering;
use crate::picture::{self, Picture};

/// Filters the pictures of one folder into another, which is created if needed.
pub fn filter(filtering: &mut Filtering, input: &Path, output: &Path) -> Result<()> {
    let pictures = pictures(input)?;
    fs::create_dir_all(output).with_context(|| format!("cannot create `{}`", output.display()))?;
    let bar = ProgressBar::new(pictures.len() as u64);
    bar.set_style(style());
    let mut n_failed = 0;
    for path in &pictures {
        let name = path.file_name().unwrap_or_default();
        bar.set_message(name.to_string_lossy().into_owned());
        if let Err(error) = filter_one(filtering, path, &output.join(name)) {
            n_failed += 1;
            bar.suspend(|| eprintln!("error: {error:#}"));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    match n_failed {
        0 => Ok(()),
        _ => bail!("{n_failed} of {} pictures were not filtered", pictures.len()),
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
pub fn filter_one(filtering: &mut Filtering, input: &Path, output: &Path) -> Result<()> {
    let mut picture = Picture::read(input)?;
    // Check the output format before the computation.
    let kind = picture::Kind::of(output)?;
    let result = filtering.result(picture.format());
    kind.accepts(result).with_context(|| format!("`{}`", output.display()))?;
    filtering.prepare(picture.format())?;
    let filtered = filtering.apply(&mut picture).with_context(|| format!("`{}`", input.display()))?;
    filtered.write(output)
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
