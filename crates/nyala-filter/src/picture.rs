//! Pictures: planes of intensities with a margin.
//!
//! An intensity is a `f32` between 0 and 1, a multiple of 1 / [`Picture::max_value`]. Channels are planes, one after the
//! other. Each plane has a margin of [`Margin`] pixels on all sides, so that filters may access neighbours without
//! checks; [`Picture::fill_margin`] sets its pixels.

use crate::ranges::MAX_MARGIN;

/// What the pixels outside of a picture are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Boundary {
    /// The nearest pixel of the picture.
    #[default]
    Clamp,
    /// The picture, repeated.
    Wrap,
    /// The picture, mirrored at its edges.
    Mirror,
    /// There are none: an access is an error.
    Error,
}

impl Boundary {
    /// The index inside of a side of `size` pixels that stands for `index`.
    pub fn map(self, index: i32, size: i32) -> Option<i32> {
        if 0 <= index && index < size {
            return Some(index);
        }
        let (index, size) = (i64::from(index), i64::from(size));
        let mapped = match self {
            Boundary::Clamp => index.clamp(0, size - 1),
            Boundary::Wrap => index.rem_euclid(size),
            Boundary::Mirror => match index.rem_euclid(2 * size) {
                there if there < size => there,
                there => 2 * size - 1 - there,
            },
            Boundary::Error => return None,
        };
        Some(mapped as i32)
    }
}

/// The widths of a margin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Margin {
    /// Rows above and below.
    pub rows: usize,
    /// Columns to the left and to the right.
    pub cols: usize,
}

/// A picture. See the module.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// Columns; at least 1.
    pub width: usize,
    /// Rows; at least 1.
    pub height: usize,
    /// Channels: 1 gray, 2 gray and alpha, 3 colours, 4 colours and alpha.
    pub n_channels: usize,
    /// The largest integer intensity: 255 or 65535.
    pub max_value: u16,
    margin: Margin,
    samples: Vec<f32>,
}

/// The most samples of a picture, margins included, so that indices are of the type `i32`.
const MAX_SAMPLES: u64 = 1 << 30;

impl Picture {
    /// A black picture, if it is not too large.
    pub fn black(width: usize, height: usize, n_channels: usize, max_value: u16) -> Option<Picture> {
        let widest = 2 * MAX_MARGIN as u64;
        let size =
            (width as u64 + widest).checked_mul(height as u64 + widest)?.checked_mul(n_channels as u64)?;
        if size > MAX_SAMPLES || width == 0 || height == 0 || n_channels == 0 {
            return None;
        }
        let samples = vec![0.0; width * height * n_channels];
        Some(Picture { width, height, n_channels, max_value, margin: Margin::default(), samples })
    }

    /// A picture from integer intensities, pixel by pixel.
    pub fn from_interleaved(
        width: usize,
        height: usize,
        n_channels: usize,
        max_value: u16,
        value: impl Fn(usize) -> u16,
    ) -> Option<Picture> {
        let mut picture = Picture::black(width, height, n_channels, max_value)?;
        let scale = picture.scale();
        for channel in 0..n_channels {
            let plane = &mut picture.samples[channel * width * height..][..width * height];
            for (index, sample) in plane.iter_mut().enumerate() {
                *sample = f32::from(value(index * n_channels + channel)) * scale;
            }
        }
        Some(picture)
    }

    /// The integer intensities, pixel by pixel.
    pub fn interleaved(&self) -> impl Iterator<Item = u16> + '_ {
        let pixels = (0..self.height).flat_map(move |row| (0..self.width).map(move |col| (row, col)));
        let max = f32::from(self.max_value);
        pixels.flat_map(move |(row, col)| {
            (0..self.n_channels).map(move |channel| (self.at(row, col, channel) * max + 0.5) as u16)
        })
    }

    /// The step between integer intensities.
    pub fn scale(&self) -> f32 {
        1.0 / f32::from(self.max_value)
    }

    /// The distance between rows, in samples.
    pub fn stride(&self) -> usize {
        self.width + 2 * self.margin.cols
    }

    /// The distance between channels, in samples.
    pub fn plane(&self) -> usize {
        self.stride() * (self.height + 2 * self.margin.rows)
    }

    /// The margin.
    pub fn margin(&self) -> Margin {
        self.margin
    }

    fn index(&self, row: usize, col: usize, channel: usize) -> usize {
        channel * self.plane() + (row + self.margin.rows) * self.stride() + col + self.margin.cols
    }

    /// An intensity.
    pub fn at(&self, row: usize, col: usize, channel: usize) -> f32 {
        self.samples[self.index(row, col, channel)]
    }

    /// Sets an intensity: the nearest one that an integer stands for. NaN is black.
    pub fn set(&mut self, row: usize, col: usize, channel: usize, value: f32) {
        let max = f32::from(self.max_value);
        // As compiled filters do; see `render`.
        #[allow(clippy::manual_clamp)]
        let level = (value.max(0.0).min(1.0) * max + 0.5).floor();
        let index = self.index(row, col, channel);
        self.samples[index] = level * self.scale();
    }

    /// A row of a channel.
    fn row_mut(&mut self, row: usize, channel: usize) -> &mut [f32] {
        let (start, width) = (self.index(row, 0, channel), self.width);
        &mut self.samples[start..][..width]
    }

    /// The address of the first pixel of the first channel. Filters also access the margin before it.
    pub fn first_pixel(&mut self) -> *mut f32 {
        let start = self.index(0, 0, 0);
        self.samples.as_mut_ptr().wrapping_add(start)
    }

    /// All intensities, with the margin.
    pub(crate) fn samples_mut(&mut self) -> &mut [f32] {
        &mut self.samples
    }

    /// The same picture with a margin of at least this width. The pixels of the margin are not set.
    pub fn with_margin(self, margin: Margin) -> Picture {
        if self.margin.rows >= margin.rows && self.margin.cols >= margin.cols {
            return self;
        }
        let mut wide = Picture { margin, samples: vec![], ..self };
        wide.samples = vec![0.0; wide.plane() * wide.n_channels];
        for channel in 0..self.n_channels {
            for row in 0..self.height {
                let start = self.index(row, 0, channel);
                wide.row_mut(row, channel).copy_from_slice(&self.samples[start..][..self.width]);
            }
        }
        wide
    }

    /// Sets the pixels of the margin.
    pub fn fill_margin(&mut self, boundary: Boundary) {
        if self.margin == Margin::default() || boundary == Boundary::Error {
            return;
        }
        let map = |at: usize, margin: usize, size: usize| {
            let mapped = boundary.map(at as i32 - margin as i32, size as i32);
            mapped.expect("only `Error` has no pixel outside") as usize + margin
        };
        let (stride, rows, Margin { rows: above, cols: left }) =
            (self.stride(), self.height + 2 * self.margin.rows, self.margin);
        let right = left + self.width..stride;
        let outside: Vec<(usize, usize)> =
            (0..left).chain(right).map(|col| (col, map(col, left, self.width))).collect();
        for plane in self.samples.chunks_exact_mut(stride * rows) {
            for row in plane.chunks_exact_mut(stride).skip(above).take(self.height) {
                outside.iter().for_each(|&(to, from)| row[to] = row[from]);
            }
            for row in (0..above).chain(above + self.height..rows) {
                let from = map(row, above, self.height) * stride;
                plane.copy_within(from..from + stride, row * stride);
            }
        }
    }

    /// The picture with another number of channels, for a filter that writes `n_channels`: gray is copied to all colours.
    #[must_use]
    pub fn widened(self, n_channels: usize) -> Picture {
        if self.n_channels >= 3 || n_channels < 3 {
            return self;
        }
        let has_alpha = self.n_channels == 2;
        let n_channels = if has_alpha { 4 } else { 3 };
        let mut samples = Vec::with_capacity(self.plane() * n_channels);
        for channel in 0..n_channels {
            let from = if channel == 3 { 1 } else { 0 };
            samples.extend_from_slice(&self.samples[from * self.plane()..][..self.plane()]);
        }
        Picture { n_channels, samples, ..self }
    }

    /// The picture with the alpha channel of another one of the same size, if that has one and this has none.
    #[must_use]
    pub fn with_alpha_of(self, other: &Picture) -> Picture {
        let has_alpha = |picture: &Picture| picture.n_channels.is_multiple_of(2);
        if has_alpha(&self) || !has_alpha(other) {
            return self;
        }
        let mut samples = self.samples.clone();
        samples.resize(self.plane() * (self.n_channels + 1), 0.0);
        let mut wide = Picture { n_channels: self.n_channels + 1, samples, ..self };
        for row in 0..wide.height {
            let start = other.index(row, 0, other.n_channels - 1);
            let alpha = &other.samples[start..][..other.width];
            wide.row_mut(row, wide.n_channels - 1).copy_from_slice(alpha);
        }
        wide
    }
}
