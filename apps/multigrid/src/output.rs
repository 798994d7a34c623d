//! Pictures, animations and files for other programs. Of a space, pictures show the plane in its middle.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use image::codecs::gif::{GifEncoder, Repeat};
use image::{Frame, Rgb, RgbImage, Rgba, RgbaImage};

use crate::cli::Args;
use crate::problem::{Equation, Problem};

/// Rejects outputs that the problem cannot have, before it is solved.
pub fn check(args: &Args, problem: &Problem) -> Result<()> {
    let is_series = problem.equation != Equation::Poisson;
    if let Some(path) = &args.output {
        match path.extension().and_then(OsStr::to_str) {
            Some("png") => {}
            Some("gif") if is_series => {}
            Some("gif") => bail!("`{}`: only heat and wave problems have animations", path.display()),
            _ => bail!("`{}`: pictures end with `.png`, animations with `.gif`", path.display()),
        }
    }
    if args.frames.is_some() && !is_series {
        bail!("only heat and wave problems have frames");
    }
    Ok(())
}

pub fn write_result(args: &Args, problem: &Problem, state: &[f64]) -> Result<()> {
    if let Some(path) = &args.output {
        picture(problem, state, range(state)).save(path).with_context(|| cannot_write(path))?;
    }
    write_vtk(args, problem, state)
}

/// The least and the largest value.
pub fn range(state: &[f64]) -> (f64, f64) {
    state.iter().fold((f64::MAX, f64::MIN), |(least, most), &value| (least.min(value), most.max(value)))
}

/// Legacy VTK: points on a regular grid, as binary numbers.
pub fn write_vtk(args: &Args, problem: &Problem, state: &[f64]) -> Result<()> {
    let Some(path) = &args.vtk else { return Ok(()) };
    let (side, spacing) = (problem.side(), 1.0 / f64::from(problem.n));
    let depth = if problem.dims == 2 { 1 } else { side };
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        write!(
            file,
            "# vtk DataFile Version 3.0\nsolution\nBINARY\nDATASET STRUCTURED_POINTS\nDIMENSIONS {side} {side} {depth}\nORIGIN 0 0 0\n\
             SPACING {spacing} {spacing} {spacing}\nPOINT_DATA {}\nSCALARS u double 1\nLOOKUP_TABLE default\n",
            state.len()
        )?;
        for value in state {
            file.write_all(&value.to_be_bytes())?;
        }
        file.flush()
    };
    write().with_context(|| cannot_write(path))
}

/// The frames of a time series. All have the colours of one range, that of the first frame or a wider one given by later frames.
pub struct Animation<'a> {
    args: &'a Args,
    problem: &'a Problem,
    range: Option<(f64, f64)>,
    frames: Vec<RgbaImage>,
    last: Option<RgbImage>,
}

impl<'a> Animation<'a> {
    pub fn new(args: &'a Args, problem: &'a Problem) -> Result<Animation<'a>> {
        if let Some(folder) = &args.frames {
            std::fs::create_dir_all(folder).with_context(|| cannot_write(folder))?;
        }
        Ok(Animation { args, problem, range: None, frames: vec![], last: None })
    }

    pub fn add(&mut self, n_steps: u32, state: &[f64]) -> Result<()> {
        let all = *self.range.get_or_insert_with(|| wide_range(state));
        let picture = picture(self.problem, state, all);
        if let Some(folder) = &self.args.frames {
            let path = folder.join(format!("{n_steps:08}.png"));
            picture.save(&path).with_context(|| cannot_write(&path))?;
        }
        if self.is_gif() {
            let with_alpha = |x, y| {
                let Rgb([r, g, b]) = *picture.get_pixel(x, y);
                Rgba([r, g, b, 255])
            };
            self.frames.push(RgbaImage::from_fn(picture.width(), picture.height(), with_alpha));
        }
        self.last = Some(picture);
        Ok(())
    }

    pub fn finish(self) -> Result<()> {
        let Some(path) = &self.args.output else { return Ok(()) };
        if self.is_gif() {
            let file = File::create(path).with_context(|| cannot_write(path))?;
            let mut encoder = GifEncoder::new_with_speed(BufWriter::new(file), 20);
            encoder.set_repeat(Repeat::Infinite)?;
            let frames = self.frames.into_iter().map(Frame::new);
            encoder.encode_frames(frames).with_context(|| cannot_write(path))
        } else if let Some(picture) = self.last {
            picture.save(path).with_context(|| cannot_write(path))
        } else {
            Ok(())
        }
    }

    fn is_gif(&self) -> bool {
        self.args.output.as_ref().is_some_and(|path| path.extension() == Some(OsStr::new("gif")))
    }
}

/// A range around 0 that is as wide on both sides, since waves have both signs, unless all values have one sign.
fn wide_range(state: &[f64]) -> (f64, f64) {
    let (least, most) = range(state);
    if least < 0.0 { (-most.abs().max(-least), most.abs().max(-least)) } else { (least, most) }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write `{}`", path.display())
}

fn picture(problem: &Problem, state: &[f64], (least, most): (f64, f64)) -> RgbImage {
    let side = problem.side();
    let plane = if problem.dims == 2 { 0 } else { side / 2 * side * side };
    let scale = if most > least { 1.0 / (most - least) } else { 0.0 };
    RgbImage::from_fn(side as u32, side as u32, |x, y| {
        // Upwards, as in mathematics.
        let value = state[plane + (side - 1 - y as usize) * side + x as usize];
        color((value - least) * scale)
    })
}

/// Dark blue over red to pale yellow: brightness grows with the value.
fn color(value: f64) -> Rgb<u8> {
    const COLORS: [[f64; 3]; 5] = [
        [10.0, 10.0, 60.0],
        [90.0, 20.0, 120.0],
        [200.0, 50.0, 80.0],
        [245.0, 150.0, 50.0],
        [255.0, 250.0, 200.0],
    ];
    let place = value.clamp(0.0, 1.0) * (COLORS.len() - 1) as f64;
    let first = (place as usize).min(COLORS.len() - 2);
    let part = place - first as f64;
    Rgb(std::array::from_fn(|i| {
        (COLORS[first][i] * (1.0 - part) + COLORS[first + 1][i] * part).round() as u8
    }))
}
