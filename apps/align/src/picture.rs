//! Pictures of a pair: words that both sequences have as dots, and the path of the alignment. The query goes to the right, the subject down.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use image::{ImageFormat, Rgb, RgbImage};

use crate::kernel::{Alignment, Step};
use crate::output::Pair;

/// The most pixels of a side.
const SIDE: usize = 1000;
/// Words that occur more often than this in the query are repeats and are left out.
const MOST_PLACES: usize = 64;

const BACKGROUND: Rgb<u8> = Rgb([255, 255, 255]);
const DOT: Rgb<u8> = Rgb([120, 130, 150]);
const PATH: Rgb<u8> = Rgb([200, 40, 30]);

/// The format of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Png,
    Svg,
}

impl Kind {
    pub fn of(path: &Path) -> Result<Kind> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("png") => Ok(Kind::Png),
            Some("svg") => Ok(Kind::Svg),
            _ => bail!("`{}`: the name of a picture ends with .png or .svg", path.display()),
        }
    }
}

/// Writes the picture of a pair.
pub fn write(path: &Path, pair: Pair, found: &Alignment) -> Result<()> {
    let picture = Picture::of(pair, found);
    let written = match Kind::of(path)? {
        Kind::Png => picture.png().save_with_format(path, ImageFormat::Png).map_err(anyhow::Error::from),
        Kind::Svg => fs::write(path, picture.svg()).map_err(anyhow::Error::from),
    };
    written.with_context(|| format!("cannot write `{}`", path.display()))
}

/// Dots, and corners of the path, in pixels.
struct Picture {
    width: usize,
    height: usize,
    dots: Vec<(usize, usize)>,
    corners: Vec<(usize, usize)>,
}

impl Picture {
    fn of(pair: Pair, found: &Alignment) -> Picture {
        let (n, m) = (pair.query.letters.len(), pair.subject.letters.len());
        let longest = n.max(m).max(1);
        let scale = |i: usize| if longest > SIDE { i * SIDE / longest } else { i };
        let (width, height) = (scale(n) + 1, scale(m) + 1);
        let mut is_set = vec![false; width * height];
        for (i, j) in common_words(pair) {
            is_set[scale(j) * width + scale(i)] = true;
        }
        let dots = (0..width * height).filter(|&at| is_set[at]).map(|at| (at % width, at / width)).collect();
        let (mut i, mut j) = (found.query.start, found.subject.start);
        let mut corners = vec![(scale(i), scale(j))];
        for &(step, length) in &found.path {
            i += if step == Step::Subject { 0 } else { length };
            j += if step == Step::Query { 0 } else { length };
            corners.push((scale(i), scale(j)));
        }
        corners.dedup();
        Picture { width, height, dots, corners }
    }

    fn png(&self) -> RgbImage {
        let mut image = RgbImage::from_pixel(self.width as u32, self.height as u32, BACKGROUND);
        for &(x, y) in &self.dots {
            image.put_pixel(x as u32, y as u32, DOT);
        }
        for ends in self.corners.windows(2) {
            let ((x, y), (to_x, to_y)) = (ends[0], ends[1]);
            let n = (to_x - x).max(to_y - y).max(1);
            for k in 0..=n {
                image.put_pixel((x + (to_x - x) * k / n) as u32, (y + (to_y - y) * k / n) as u32, PATH);
            }
        }
        image
    }

    fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let colour = |Rgb([red, green, blue]): Rgb<u8>| format!("rgb({red},{green},{blue})");
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n<path fill=\"{}\" d=\"",
            colour(BACKGROUND),
            colour(DOT)
        );
        for (x, y) in &self.dots {
            write!(text, "M{x} {y}h1v1h-1z").expect("strings take all text");
        }
        let points: Vec<String> = self.corners.iter().map(|(x, y)| format!("{x},{y}")).collect();
        let (points, path) = (points.join(" "), colour(PATH));
        write!(text, "\"/>\n<polyline fill=\"none\" stroke=\"{path}\" points=\"{points}\"/>\n</svg>\n")
            .expect("strings take all text");
        text
    }
}

/// Places of words that occur in both sequences: long words in long sequences, so that most are no accident.
fn common_words(pair: Pair) -> Vec<(usize, usize)> {
    let (query, subject) = (&pair.query.letters, &pair.subject.letters);
    let length = match query.len().max(subject.len()) {
        0..1_000 => 4,
        1_000..50_000 => 10,
        _ => 16,
    };
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (i, word) in query.windows(length).enumerate() {
        places.entry(word).or_default().push(i);
    }
    let mut found = vec![];
    for (j, word) in subject.windows(length).enumerate() {
        let here = places.get(word).filter(|here| here.len() <= MOST_PLACES);
        found.extend(here.into_iter().flatten().map(|&i| (i, j)));
    }
    found
}
